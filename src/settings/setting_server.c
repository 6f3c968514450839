/* SPDX-License-Identifier: MIT
 *
 * setting_server.c - words of a server line that are not scalars: source, check-addr, proxy-v2-options.
 *
 * Rejects anything that is not a local address. Main thread.
 */
#include "setting.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "weir/base/check.h"

/* More would not fit on a line of -T. */
#define SOURCES_MAX 64

/* "10.0.0.200" or "::1"; false for anything else. */
static bool take_ip(const char *text, struct addr *addr)
{
	struct in6_addr six;
	struct in_addr four;

	memset(addr, 0, sizeof(*addr)); /* copies are compared byte by byte, gaps included */
	if (inet_pton(AF_INET, text, &four) == 1) {
		addr->in.sin_family = AF_INET;
		addr->in.sin_addr = four;
		addr->len = sizeof(addr->in);
	} else if (inet_pton(AF_INET6, text, &six) == 1) {
		addr->in6.sin6_family = AF_INET6;
		addr->in6.sin6_addr = six;
		addr->len = sizeof(addr->in6);
	}
	return addr->len > 0;
}

/* One local address: "10.0.0.200", "[::1]:4000". */
static int take_source(const struct setting *s, const struct word *w, struct addr *addr)
{
	struct addr_spec spec = {.kind = ADDR_NONE};

	if (take_ip(w->text, addr))
		return 0;
	if (addr_parse(w->text, &spec, NULL, NULL) != 0 || spec.kind != ADDR_IP) {
		diag_error(s->diag, DIAG_BAD_ADDRESS, w->at,
			   "'source' takes an IP address, with or without a port");
		diag_hint(s->diag, "write 10.0.0.200, several separated by commas, or client");
		return -EINVAL;
	}
	*addr = spec.addr;
	return 0;
}

int setting_parse_source(const struct setting *s, void *field)
{
	const struct word *w = &s->words.list[0];
	struct config_sources *sources = field;
	size_t at = 0;

	*sources = (struct config_sources){.client = strcmp(w->text, "client") == 0};
	while (!sources->client && at <= w->len) {
		struct word part = word_part(s->diag, w, at, strcspn(w->text + at, ","));
		struct addr addr = {0};

		if (sources->count == SOURCES_MAX) {
			diag_error(s->diag, DIAG_OUT_OF_RANGE, part.at, "'source' takes at most %d addresses",
				   SOURCES_MAX);
			return -EINVAL;
		}
		if (take_source(s, &part, &addr) != 0)
			return -EINVAL;
		sources->list = arena_grow(s->diag->arena, sources->list, sources->count, sizeof(addr));
		sources->list[sources->count++] = addr;
		at += part.len + 1;
	}
	return 0;
}

/* Without the port if any port will do. */
static const char *source_text(const struct addr *a, char *buf)
{
	const bool six = a->sa.sa_family == AF_INET6;
	const void *ip = six ? (const void *)&a->in6.sin6_addr : (const void *)&a->in.sin_addr;

	if ((six ? a->in6.sin6_port : a->in.sin_port) != 0 || (six && a->in6.sin6_scope_id != 0))
		return addr_format(a, buf);
	check(inet_ntop(a->sa.sa_family, ip, buf, ADDR_TEXT_MAX) != NULL);
	return buf;
}

void setting_print_source(const void *field, const struct option *option, FILE *out)
{
	const struct config_sources *sources = field;
	char buf[ADDR_TEXT_MAX];

	(void)option; /* the same for every row */
	if (sources->client)
		fputs("client", out);
	for (size_t i = 0; i < sources->count; i++)
		fprintf(out, "%s%s", i > 0 ? "," : "", source_text(&sources->list[i], buf));
}

bool setting_source_is_set(const void *field)
{
	const struct config_sources *sources = field;

	return sources->client || sources->count > 0;
}

int setting_parse_ip(const struct setting *s, void *field)
{
	const struct word *w = &s->words.list[0];

	if (take_ip(w->text, field))
		return 0;
	diag_error(s->diag, DIAG_BAD_ADDRESS, w->at, "'%s' takes an IP address: '%s' is not one",
		   s->option->key, w->text);
	diag_hint(s->diag, "write 10.0.0.9 or ::1; a port is another word: check-port=PORT");
	return -EINVAL;
}

void setting_print_ip(const void *field, const struct option *option, FILE *out)
{
	char text[ADDR_TEXT_MAX];

	(void)option; /* the same for every row */
	fputs(source_text(field, text), out);
}

bool setting_ip_is_set(const void *field)
{
	return ((const struct addr *)field)->len > 0;
}

/* The words of proxy-v2-options. */
static const struct {
	const char *word;
	size_t offset; /* of a bool in struct config_server */
} proxy_tlvs[] = {
	{"crc32c", offsetof(struct config_server, proxy_crc32c)},
	{"unique-id", offsetof(struct config_server, proxy_unique_id)},
	{"pass", offsetof(struct config_server, proxy_pass)},
};

static bool *proxy_tlv(const struct config_server *server, size_t i)
{
	return (bool *)((char *)server + proxy_tlvs[i].offset);
}

static bool take_proxy_tlv(struct config_server *server, const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(proxy_tlvs); i++) {
		if (strcmp(proxy_tlvs[i].word, word) != 0)
			continue;
		*proxy_tlv(server, i) = true;
		return true;
	}
	return false;
}

int setting_parse_proxy_tlvs(const struct setting *s, void *field)
{
	const struct word *w = &s->words.list[0];
	struct config_server *server = s->base;

	check(field == &server->proxy_crc32c);
	for (size_t at = 0; at <= w->len;) {
		struct word part = word_part(s->diag, w, at, strcspn(w->text + at, ","));

		if (!take_proxy_tlv(server, part.text)) {
			diag_error(s->diag, DIAG_BAD_VALUE, part.at, "'%s' cannot be '%s'", s->option->key,
				   part.text);
			diag_hint(s->diag, "write crc32c, unique-id, pass, or several separated by commas");
			return -EINVAL;
		}
		at += part.len + 1;
	}
	return 0;
}

static const struct config_server *server_of(const void *field)
{
	return container_of((const bool *)field, struct config_server, proxy_crc32c);
}

void setting_print_proxy_tlvs(const void *field, const struct option *option, FILE *out)
{
	const char *comma = "";

	(void)option; /* there is one row */
	for (size_t i = 0; i < ARRAY_LEN(proxy_tlvs); i++) {
		if (!*proxy_tlv(server_of(field), i))
			continue;
		fprintf(out, "%s%s", comma, proxy_tlvs[i].word);
		comma = ",";
	}
}

bool setting_proxy_tlvs_is_set(const void *field)
{
	for (size_t i = 0; i < ARRAY_LEN(proxy_tlvs); i++)
		if (*proxy_tlv(server_of(field), i))
			return true;
	return false;
}

void setting_set_family(struct config_server *server, enum config_resolve_family family)
{
	static const int families[] = {
		[CONFIG_RESOLVE_ANY] = AF_UNSPEC,
		[CONFIG_RESOLVE_IPV4] = AF_INET,
		[CONFIG_RESOLVE_IPV6] = AF_INET6,
	};

	const enum addr_kind kind = server->addr.kind;

	if ((kind == ADDR_NAME || kind == ADDR_SNI) && server->addr.family == AF_UNSPEC &&
	    server->set != CONFIG_SET_SRV)
		server->addr.family = families[family];
}
