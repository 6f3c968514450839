/* SPDX-License-Identifier: MIT
 *
 * setting_line.c - options whose value is a line of words: addresses, keepalive, CPUs.
 *
 * Rejects addresses of a kind that cannot be used in their place. Main thread.
 */
#include "setting.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/values.h"

int setting_address(const struct setting *s, const struct word *w, struct addr_spec *spec)
{
	return setting_address_ports(s, w, ADDR_PORTS_ONE, spec);
}

int setting_address_ports(const struct setting *s, const struct word *w, unsigned ports,
			  struct addr_spec *spec)
{
	const char *why = NULL;
	size_t at = 0;

	if (addr_parse_ports(w->text, ports, spec, &why, &at) != 0) {
		diag_error(s->diag, DIAG_BAD_ADDRESS, word_at(w, at < w->len ? at : 0),
			   "'%s' is not a valid address", w->text);
		diag_hint(s->diag, "%s", why != NULL ? why : "write HOST:PORT or unix:/PATH");
		return -EINVAL;
	}
	return 0;
}

void setting_print_address(const struct addr_spec *spec, FILE *out)
{
	char buf[ADDR_TEXT_MAX];
	const struct sockaddr_un *un = &spec->addr.un;
	size_t len;

	if (spec->kind == ADDR_FD) {
		words_print_quoted(addr_spec_format(spec, buf), out);
		return;
	}
	if (spec->kind != ADDR_UNIX) {
		fputs(addr_spec_format(spec, buf), out);
		return;
	}
	/* addr_spec_format() escapes paths for logs; here they must read back. */
	len = spec->addr.len - offsetof(struct sockaddr_un, sun_path);
	check(len > 0);
	check(len <= sizeof(un->sun_path));
	if (un->sun_path[0] == '\0')
		(void)snprintf(buf, sizeof(buf), "unix:@%.*s", (int)len - 1, un->sun_path + 1);
	else
		(void)snprintf(buf, sizeof(buf), "unix:%.*s", (int)len, un->sun_path);
	words_print_quoted(buf, out); /* 107 bytes and a prefix always fit */
}

/* "3" or "0-3" at `*text`, added to the list of CPUs. */
static int take_cpus(const struct setting *s, const char **text, struct config_global *g)
{
	char part[16];
	size_t len = strcspn(*text, ","), dash;
	uint64_t first = 0, last = 0;

	if (len == 0 || len >= sizeof(part))
		return -EINVAL;
	memcpy(part, *text, len);
	part[len] = '\0';
	dash = strcspn(part, "-");
	if (part[dash] == '-') {
		part[dash] = '\0';
		if (value_number(part + dash + 1, &last) != 0)
			return -EINVAL;
	}
	if (value_number(part, &first) != 0)
		return -EINVAL;
	if (dash == len)
		last = first;
	if (last < first || last > (uint64_t)s->option->max)
		return -EINVAL;
	for (; first <= last; first++) {
		if (g->cpu_count == CONFIG_CPUS_MAX)
			return -EINVAL;
		g->cpus[g->cpu_count++] = (unsigned)first;
	}
	*text += len;
	if (**text == ',' && (*text)[1] != '\0')
		(*text)++;
	return 0;
}

/* The words of the kinds that are not a list. */
static const char *const affinity_words[] = {
	[CONFIG_AFFINITY_AUTO] = "auto",
	[CONFIG_AFFINITY_OFF] = "off",
};

int setting_parse_cpus(const struct setting *s, void *field)
{
	struct config_global *g = s->base;
	const struct word *w = &s->words.list[0];
	const char *text = w->text;

	check(field == &g->affinity);
	g->cpu_count = 0;
	for (size_t i = 0; i < ARRAY_LEN(affinity_words); i++) {
		if (strcmp(text, affinity_words[i]) != 0)
			continue;
		g->affinity = (enum config_affinity)i;
		return 0;
	}
	g->affinity = CONFIG_AFFINITY_LIST;
	do {
		if (take_cpus(s, &text, g) != 0) {
			(void)setting_bad(s, w, 0, "is not a list of CPUs");
			diag_hint(s->diag, "write auto, off or a list such as 0-3,6");
			return -EINVAL;
		}
	} while (*text != '\0');
	return 0;
}

void setting_print_cpus(const void *field, const struct option *option, FILE *out)
{
	const struct config_global *g =
		container_of((const enum config_affinity *)field, struct config_global, affinity);

	(void)option; /* there is one row */
	if (g->affinity != CONFIG_AFFINITY_LIST) {
		fputs(affinity_words[g->affinity], out);
		return;
	}
	for (unsigned i = 0; i < g->cpu_count; i++)
		fprintf(out, "%s%u", i > 0 ? "," : "", g->cpus[i]);
}

int setting_parse_keepalive(const struct setting *s, void *field)
{
	struct config_tcp *tcp = field;
	struct word *w = &s->words.list[0];
	struct setting words = *s;
	int64_t ns = 0;

	setting_defaults(s->diag->arena, IN_KEEPALIVE, tcp);
	tcp->keepalive = false;
	tcp->keepalive_idle_s = 0;
	words.base = tcp;
	if (strcmp(w->text, "on") == 0) {
		tcp->keepalive = true;
		tcp->keepalive_interval_s = 0;
		tcp->keepalive_count = 0;
	} else if (value_duration(w->text, &ns) != 0 || ns != 0) {
		/* The idle time is read as any whole number of seconds in the row's range. */
		struct option seconds = *s->option;
		struct setting idle = {s->diag, &seconds, {w, 1}, tcp};

		seconds.type = OPT_SECONDS;
		seconds.offset = offsetof(struct config_tcp, keepalive_idle_s);
		tcp->keepalive = true;
		if (setting_parse(&idle) != 0)
			return -EINVAL;
	} else if (s->words.count > 1) {
		return setting_bad(s, &s->words.list[1], 0, "is off and takes no options");
	}
	return setting_parse_words(&words, 1, IN_KEEPALIVE);
}

int setting_parse_keepalives(const struct setting *s, void *field)
{
	struct config_proxy *set = s->base;
	const int err = setting_parse_keepalive(s, field);

	check(field == &set->tcp);
	set->client_keepalive = set->tcp;
	set->server_keepalive = set->tcp;
	return err;
}

void setting_print_keepalive(const void *field, const struct option *option, FILE *out)
{
	const struct config_tcp *tcp = field;

	(void)option; /* there is one row */
	if (!tcp->keepalive) {
		fputs("off", out);
		return;
	}
	if (tcp->keepalive_idle_s > 0)
		fprintf(out, "%ds", tcp->keepalive_idle_s);
	else
		fputs("on", out);
	setting_print_words(IN_KEEPALIVE, tcp, out);
}
