/* SPDX-License-Identifier: MIT
 *
 * setting_sniff.c - `sniff`, and what it reads: the names and protocols of use-backend lines.
 *
 * Rejects what no TLS client can send. Main thread.
 */
#include <errno.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/net/client_hello.h"
#include "weir/net/host_pattern.h"
#include "setting.h"

static const char *const kind_words[] = {
	[CONFIG_SNIFF_OFF] = "off",
	[CONFIG_SNIFF_TLS] = "tls",
	[CONFIG_SNIFF_AUTO] = "auto",
	[CONFIG_SNIFF_RDP] = "rdp",
};

int setting_parse_sniff(const struct setting *s, void *field)
{
	struct config_sniff sniff = {.timeout_ns = -1};
	const struct word *w = &s->words.list[0];
	struct setting words = *s;

	words.base = &sniff;
	while (sniff.kind < ARRAY_LEN(kind_words) && strcmp(w->text, kind_words[sniff.kind]) != 0)
		sniff.kind++;
	if (sniff.kind == ARRAY_LEN(kind_words)) {
		diag_error(s->diag, DIAG_BAD_VALUE, w->at, "'%s' is not 'tls', 'auto', 'rdp' or 'off'",
			   w->text);
		diag_hint(s->diag, "for example: %s", s->option->example);
		return -EINVAL;
	}
	if (sniff.kind == CONFIG_SNIFF_OFF && s->words.count > 1)
		return setting_bad(s, &s->words.list[1], 0, "is off and takes no options");
	if (setting_parse_words(&words, 1, IN_SNIFF) != 0)
		return -EINVAL;
	if (sniff.kind == CONFIG_SNIFF_AUTO && sniff.required) {
		diag_error(s->diag, DIAG_CONFLICT, w->at, "'required' goes with 'sniff = tls'");
		diag_hint(s->diag, "leave out 'default-backend' and write use-backend lines with proto=: "
				   "others are closed");
		return -EINVAL;
	}
	memcpy(field, &sniff, sizeof(sniff));
	return 0;
}

void setting_print_sniff(const void *field, const struct option *option, FILE *out)
{
	const struct config_sniff *sniff = field;

	(void)option; /* there is one row */
	fputs(kind_words[sniff->kind], out);
	if (sniff->timeout_ns >= 0) {
		fputs(" timeout=", out);
		setting_print(option_find(IN_SNIFF, "timeout").option, sniff, out);
	}
	if (sniff->required)
		fputs(" required", out);
}

/* ---- lists of words ---- */

static struct config_text_item *add_item(const struct setting *s, struct config_text_item *list,
					 size_t *count, const char *text)
{
	list = arena_grow(s->diag->arena, list, *count, sizeof(*list));
	list[(*count)++].text = arena_strndup(s->diag->arena, text, strlen(text));
	return list;
}

static int validate_length(const struct setting *s, const struct word *w)
{
	if (w->len <= SETTING_NAMES_BYTES_MAX)
		return 0;
	diag_error(s->diag, DIAG_TOO_LONG, w->at, "a list of '%s' has at most %d bytes", s->option->key,
		   SETTING_NAMES_BYTES_MAX);
	diag_hint(s->diag, "%s", s->option->type == OPT_NAMES ?
		  "write them into a file, one per line, and sni=@FILE" :
		  "write another use-backend line for the rest");
	return -EINVAL;
}

/* Calls `add` for each part of the word. */
static int each_part(const struct setting *s, int (*add)(const struct setting *s, const struct word *part,
							  void *field), void *field)
{
	const struct word *w = &s->words.list[0];
	int result = validate_length(s, w);

	for (size_t at = 0; at <= w->len;) {
		struct word part = word_part(s->diag, w, at, strcspn(w->text + at, ","));

		if (part.len == 0) {
			diag_error(s->diag, DIAG_BAD_VALUE, word_at(w, at), "'%s' has an empty item",
				   s->option->key);
			return -EINVAL;
		}
		if (add(s, &part, field) != 0)
			result = -EINVAL;
		at += part.len + 1;
	}
	return result;
}

int setting_name(const struct setting *s, struct at at, const char *text, struct host_pattern *pattern)
{
	const char *why = NULL;

	if (host_pattern_parse(text, pattern, &why) == 0)
		return 0;
	diag_error(s->diag, DIAG_BAD_VALUE, at, "'%s' is not a valid server name", text);
	diag_hint(s->diag, "%s", why);
	return -EINVAL;
}

int setting_add_name(const struct setting *s, const struct word *part, struct config_names *names)
{
	char text[HOST_PATTERN_TEXT_MAX];
	struct host_pattern pattern;

	if (part->text[0] == '@')
		return setting_add_list(s, part, LIST_NAMES, &names->files, &names->file_count);
	if (setting_name(s, part->at, part->text, &pattern) != 0)
		return -EINVAL;
	names->list = add_item(s, names->list, &names->count, host_pattern_format(&pattern, text));
	return 0;
}

static int add_name(const struct setting *s, const struct word *part, void *field)
{
	struct config_names *names = field;

	if (strcmp(part->text, "any") == 0) {
		names->any = true;
		return 0;
	}
	if (strcmp(part->text, "none") == 0) {
		names->none = true;
		return 0;
	}
	return setting_add_name(s, part, names);
}

int setting_parse_names(const struct setting *s, void *field)
{
	return each_part(s, add_name, field);
}

/* Any byte may be in the name of a protocol, but those that have one are of these. */
static int add_protocol(const struct setting *s, const struct word *part, void *field)
{
	struct route_protocols *p = field;

	for (size_t i = 0; i < part->len; i++) {
		if (part->text[i] > ' ' && part->text[i] <= '~')
			continue;
		diag_error(s->diag, DIAG_BAD_VALUE, word_at(part, i), "'%s' is not a valid ALPN protocol",
			   part->text);
		diag_hint(s->diag, "for example alpn=h2,http/1.1");
		return -EINVAL;
	}
	if (part->len > CLIENT_HELLO_PROTOCOL_MAX) {
		diag_error(s->diag, DIAG_TOO_LONG, part->at, "an ALPN protocol has at most %d bytes",
			   CLIENT_HELLO_PROTOCOL_MAX);
		return -EINVAL;
	}
	p->list = add_item(s, p->list, &p->count, part->text);
	return 0;
}

int setting_parse_protocols(const struct setting *s, void *field)
{
	return each_part(s, add_protocol, field);
}

static const char *const proto_words[] = {"tls", "http", "ssh", "other"};

static int add_proto(const struct setting *s, const struct word *part, void *field)
{
	unsigned *protos = field, i = 0;

	while (i < ARRAY_LEN(proto_words) && strcmp(part->text, proto_words[i]) != 0)
		i++;
	if (i < ARRAY_LEN(proto_words)) {
		*protos |= 1u << i;
		return 0;
	}
	diag_error(s->diag, DIAG_BAD_VALUE, part->at, "'%s' is not 'tls', 'http', 'ssh' or 'other'",
		   part->text);
	diag_hint(s->diag, "for example: %s", s->option->example);
	return -EINVAL;
}

int setting_parse_protos(const struct setting *s, void *field)
{
	return each_part(s, add_proto, field);
}

static void print_protos(unsigned protos, FILE *out)
{
	const char *before = " proto=";

	for (unsigned i = 0; i < ARRAY_LEN(proto_words); i++) {
		if ((protos & 1u << i) == 0)
			continue;
		fprintf(out, "%s%s", before, proto_words[i]);
		before = ",";
	}
}

static void print_items(const struct config_text_item *list, size_t count, const char *before, FILE *out)
{
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%s%s", i > 0 ? "," : before, list[i].text);
}

static void print_sni(const struct config_names *names, FILE *out)
{
	bool begun = names->any || names->none;

	if (names->any)
		fputs(" sni=any", out);
	if (names->none)
		fprintf(out, "%snone", names->any ? "," : " sni=");
	print_items(names->list, names->count, begun ? "," : " sni=", out);
	begun = begun || names->count > 0;
	for (size_t i = 0; i < names->file_count; i++) {
		fputs(begun || i > 0 ? "," : " sni=", out);
		setting_print_list(&names->files[i], out);
	}
}

/* A protocol may have quotes in its name. */
static void print_alpn(const struct config_route *r, FILE *out)
{
	char list[SETTING_NAMES_BYTES_MAX + 1];
	size_t len = 0;

	for (size_t i = 0; i < r->alpn_count; i++) {
		const int n = snprintf(list + len, sizeof(list) - len, "%s%s", i > 0 ? "," : "",
				       r->alpn[i].text);

		check(n > 0 && (size_t)n < sizeof(list) - len);
		len += (size_t)n;
	}
	if (len == 0)
		return;
	fputs(" alpn=", out);
	words_print_quoted(list, out);
}

void setting_print_tls_words(const struct config_route *r, FILE *out)
{
	print_sni(&r->sni, out);
	print_alpn(r, out);
	print_protos(r->protos, out);
}

static bool same_items(const struct config_text_item *a, size_t a_count, const struct config_text_item *b,
		       size_t b_count)
{
	bool same = a_count == b_count;

	for (size_t i = 0; same && i < a_count; i++)
		same = strcmp(a[i].text, b[i].text) == 0;
	return same;
}

bool setting_same_tls_words(const struct config_route *a, const struct config_route *b)
{
	return a->protos == b->protos && a->sni.any == b->sni.any && a->sni.none == b->sni.none &&
	       same_items(a->sni.list, a->sni.count, b->sni.list, b->sni.count) &&
	       setting_same_lists(a->sni.files, a->sni.file_count, b->sni.files, b->sni.file_count) &&
	       same_items(a->alpn, a->alpn_count, b->alpn, b->alpn_count);
}
