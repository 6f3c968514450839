/* SPDX-License-Identifier: MIT
 *
 * haproxy_rows.c - sorts the lines of HAProxy's sections by the table, and reads what they hold.
 *
 * Main thread.
 */
#include <stdlib.h>
#include <string.h>

#include "haproxy.h"
#include "weir/base/check.h"
#include "weir/base/digit.h"
#include "weir/config/haproxy_time.h"

static const struct row {
	const char *words;
	bool is_list;
	unsigned place;
} rows[] = {
#define SLOT_ROW(words, slot) {words, false, slot},
#define LIST_ROW(words, list) {words, true, list},
#include "haproxy_rows.tbl.h"
#undef SLOT_ROW
#undef LIST_ROW
};

/* How many words of the line, from `at` on, are those of the row; 0 if they differ. */
static size_t matches(const struct old_line *line, size_t at, const char *words)
{
	size_t count = 0;

	while (*words != '\0') {
		const size_t len = strcspn(words, " ");
		const char *word = old_word(line, at + count);

		if (strncmp(word, words, len) != 0 || word[len] != '\0')
			return 0;
		count++;
		words += len + (words[len] == ' ');
	}
	return count;
}

static const struct row *find_row(const struct old_line *line, bool *off, size_t *behind)
{
	const struct row *best = NULL;
	const size_t at = strcmp(line->words[0], "no") == 0 ? 1 : 0;

	*off = at == 1;
	*behind = 0;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const size_t count = matches(line, at, rows[i].words);

		if (count > 0 && at + count > *behind) {
			best = &rows[i];
			*behind = at + count;
		}
	}
	return best;
}

bool haproxy_knows(const struct old_line *line)
{
	bool off;
	size_t behind;

	return find_row(line, &off, &behind) != NULL;
}

void haproxy_take(struct haproxy *h, struct proxy *p, struct old_line *line)
{
	bool off;
	size_t behind;
	const struct row *row = find_row(line, &off, &behind);

	if (row == NULL || (row->is_list && off))
		return;
	if (row->is_list) {
		struct old_lines *to = &p->lists[row->place];

		to->list = arena_grow(h->arena, to->list, to->count, sizeof(struct old_line *));
		to->list[to->count++] = line;
		return;
	}
	struct slot_value *slot = &p->slots[row->place];
	const bool of_own =
	    slot->line != NULL && (p->from == NULL || slot->line != p->from->slots[row->place].line);

	/* Stacked conditions: the first table, the last of everything else. */
	if (of_own && row->place != SLOT_CHECK)
		old_set(h->arena, slot->line, OLD_NO_EFFECT, "line %u takes its place", line->line);
	*slot = (struct slot_value){.line = line, .off = off, .at = behind};
}

const char *slot_word(const struct proxy *p, enum slot slot, size_t i)
{
	const struct slot_value *s = &p->slots[slot];

	return s->line != NULL && !s->off ? old_word(s->line, s->at + i) : "";
}

bool slot_on(const struct proxy *p, enum slot slot)
{
	return p->slots[slot].line != NULL && !p->slots[slot].off;
}

long long slot_ms(struct haproxy *h, const struct proxy *p, enum slot slot)
{
	const char *text = slot_word(p, slot, 0), *stray;
	int64_t ms = 0;

	(void)h;
	if (text[0] == '\0' || haproxy_time(text, &ms, &stray) != HAPROXY_TIME_FINE)
		return 0;
	return ms;
}

void slot_add(struct haproxy *h, struct proxy *p, enum slot slot, const char *key, const char *value)
{
	ini_add(h->ini, p->out, p->slots[slot].line, key, "%s", value);
}

const char *haproxy_duration(struct arena *a, const char *text)
{
	const char *stray;
	int64_t ms;

	if (strchr(text, '$') != NULL)
		return text;
	if (haproxy_time(text, &ms, &stray) != HAPROXY_TIME_FINE)
		return NULL;
	return ms == 0 && text[0] != '0' ? NULL : work_duration(a, ms);
}

static bool is_address_family(const char *text, const char *family)
{
	return strncmp(text, family, strlen(family)) == 0;
}

/* HOST:PORT; HAProxy takes the last colon for the port, and needs no brackets around IPv6. */
static const char *inet_address(struct arena *a, const char *text, bool is_bind)
{
	const char *colon = strrchr(text, ':'), *port;
	const char *brace = strrchr(text, '}'), *host;
	size_t len;

	if (colon != NULL && brace != NULL && brace > colon)
		colon = NULL; /* inside ${NAME:-DEFAULT} */
	len = colon != NULL ? (size_t)(colon - text) : strlen(text);
	port = colon != NULL ? colon + 1 : "";
	host = arena_strndup(a, text, len);
	if (strcmp(host, "*") == 0)
		host = "";
	if (host[0] == '[') {
		/* as ours */
	} else if (strchr(host, ':') != NULL && strchr(host, '$') == NULL) {
		host = arena_printf(a, "[%s]", host);
	} else if (host[0] == '\0') {
		host = "0.0.0.0";
	}
	if (is_bind)
		return arena_printf(a, "%s:%s", host, port);
	/* A variable may have the port, too. */
	if (colon == NULL && host[0] == '$')
		return host;
	if (port[0] == '\0' || strcmp(port, "+0") == 0 || strcmp(port, "0") == 0)
		return arena_printf(a, "%s:*", host);
	return arena_printf(a, "%s:%s", host, port);
}

const char *haproxy_address(struct arena *a, const char *text, bool is_bind)
{
	if (is_address_family(text, "unix@"))
		return arena_printf(a, "unix:%s", text + 5);
	if (is_address_family(text, "abns@"))
		return arena_printf(a, "unix:@%s", text + 5);
	if (text[0] == '/')
		return arena_printf(a, "unix:%s", text);
	if (is_address_family(text, "fd@"))
		return text;
	if (is_address_family(text, "tcp@") || is_address_family(text, "tcp4@"))
		return inet_address(a, strchr(text, '@') + 1, is_bind);
	if (is_address_family(text, "ipv4@") || is_address_family(text, "ipv6@")) {
		const char *inner = inet_address(a, text + 5, is_bind);

		if (is_bind && text[3] == '6' && strncmp(inner, "0.0.0.0:", 8) == 0)
			return arena_printf(a, "[::]%s", inner + 7);
		/* Ours knows the words before names; an address needs none. */
		return is_digit(inner[0]) || inner[0] == '[' ? inner : arena_printf(a, "%.5s%s", text, inner);
	}
	return inet_address(a, text, is_bind);
}
