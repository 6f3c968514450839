/* SPDX-License-Identifier: MIT
 *
 * rows.c - sorts the lines of HAProxy's sections by the table, and reads what they hold.
 *
 * Main thread.
 */
#include <stdlib.h>
#include <string.h>

#include "sections.h"
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
#include "rows.tbl.h"
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

/* Is it a step of a check, and not a flag that HAProxy keeps beside them? */
static bool is_step(const struct old_line *line)
{
	return strcmp(old_word(line, 1), "disable-on-404") != 0 &&
	       strcmp(old_word(line, 1), "send-state") != 0;
}

/* The first step that a section says itself takes the place of all those of its defaults section. */
static void begin_steps(struct proxy *p, const char *word)
{
	struct old_lines *steps = &p->lists[LIST_CHECK];
	bool *begun = &p->has_steps[word[0] == 'h'];
	size_t kept = 0;

	for (size_t i = 0; !*begun && i < steps->count; i++)
		if (strcmp(steps->list[i]->words[0], word) != 0 || !is_step(steps->list[i]))
			steps->list[kept++] = steps->list[i];
	if (!*begun)
		steps->count = kept;
	*begun = true;
}

static void take_in_list(struct haproxy *h, struct proxy *p, enum list list, struct old_line *line, bool off)
{
	if (off && list == LIST_LOG) {
		p->lists[list].count = 0;
		p->no_log = line;
	}
	if (off)
		return;
	if (list == LIST_CHECK && is_step(line))
		begin_steps(p, line->words[0]);
	old_lines_add(h->arena, &p->lists[list], line);
}

/* Of these, the last one said counts. */
static void clear_rival(struct haproxy *h, struct proxy *p, enum slot slot, const struct old_line *line)
{
	const enum slot other = slot == SLOT_TCPLOG ? SLOT_LOG_FORMAT : SLOT_TCPLOG;
	struct slot_value *rival = &p->slots[other];

	if ((slot != SLOT_TCPLOG && slot != SLOT_LOG_FORMAT) || rival->line == NULL)
		return;
	if (p->from == NULL || rival->line != p->from->slots[other].line)
		old_set(h->arena, rival->line, OLD_NO_EFFECT, "line %u takes its place", line->line);
	*rival = (struct slot_value){.line = NULL};
}

void haproxy_take(struct haproxy *h, struct proxy *p, struct old_line *line)
{
	bool off;
	size_t behind;
	const struct row *row = find_row(line, &off, &behind);

	if (row == NULL)
		return;
	if (row->is_list) {
		take_in_list(h, p, (enum list)row->place, line, off);
		return;
	}
	struct slot_value *slot = &p->slots[row->place];
	const bool of_own =
	    slot->line != NULL && (p->from == NULL || slot->line != p->from->slots[row->place].line);

	/* Stacked conditions: the first table, the last of everything else. */
	if (of_own && row->place != SLOT_CHECK)
		old_set(h->arena, slot->line, OLD_NO_EFFECT, "line %u takes its place", line->line);
	if (row->place == SLOT_CHECK && strcmp(old_word(line, 1), "httpchk") == 0)
		begin_steps(p, "http-check");
	if (!off)
		clear_rival(h, p, (enum slot)row->place, line);
	off = off || strcmp(line->words[0], "enabled") == 0;
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

const char *slot_duration(struct haproxy *h, const struct proxy *p, enum slot slot)
{
	const char *text = slot_word(p, slot, 0);

	haproxy_say_duration(h, p->slots[slot].line, text);
	return strstr(text, "${") != NULL ? haproxy_duration(h->arena, text)
					   : work_duration(h->arena, slot_ms(h, p, slot));
}

void slot_add(struct haproxy *h, struct proxy *p, enum slot slot, const char *key, const char *value)
{
	ini_add(h->ini, p->out, p->slots[slot].line, key, "%s", value);
}

/* The text with the default of its variable in our words: "${T:-5000}" is "${T:-5s}". */
static const char *duration_of_variable(struct arena *a, const char *text)
{
	const char *minus = strstr(text, ":-"), *end = strchr(text, '}'), *value;

	if (strncmp(text, "${", 2) != 0 || end == NULL || end[1] != '\0' || minus == NULL)
		return text;
	value = arena_strndup(a, minus + 2, (size_t)(end - minus - 2));
	value = strchr(value, '$') == NULL ? haproxy_duration(a, value) : NULL;
	return value != NULL ? arena_printf(a, "%.*s%s}", (int)(minus + 2 - text), text, value) : text;
}

void haproxy_say_duration(struct haproxy *h, struct old_line *line, const char *text)
{
	if (strstr(text, "${") != NULL)
		old_set(h->arena, line, OLD_DIFFERENT,
			"set the variable to a duration with a unit: 5s or 5000ms, where HAProxy takes 5000");
}

const char *haproxy_duration(struct arena *a, const char *text)
{
	const char *stray;
	int64_t ms;

	if (strchr(text, '$') != NULL)
		return duration_of_variable(a, text);
	if (haproxy_time(text, &ms, &stray) != HAPROXY_TIME_FINE)
		return NULL;
	return ms == 0 && text[0] != '0' ? NULL : work_duration(a, ms);
}

static bool is_address_family(const char *text, const char *family)
{
	return strncmp(text, family, strlen(family)) == 0;
}

/* The last colon that is not inside ${NAME:-DEFAULT}, or NULL. */
static const char *last_colon(const char *text)
{
	const char *colon = NULL;

	for (const char *c = text; *c != '\0'; c++) {
		if (strncmp(c, "${", 2) == 0 && strchr(c, '}') != NULL)
			c = strchr(c, '}');
		else if (*c == ':')
			colon = c;
	}
	return colon;
}

/* HOST:PORT; HAProxy takes the last colon for the port, and needs no brackets around IPv6. */
static const char *inet_address(struct arena *a, const char *text, bool is_bind)
{
	const char *colon = last_colon(text), *port, *host;
	size_t len;

	len = colon != NULL ? (size_t)(colon - text) : strlen(text);
	port = colon != NULL ? colon + 1 : "";
	host = arena_strndup(a, text, len);
	if (strcmp(host, "*") == 0)
		host = "";
	else if (is_bind && strcmp(host, "localhost") == 0)
		host = "127.0.0.1"; /* ours takes no name */
	if (host[0] == '[') {
		/* as ours */
	} else if (strchr(host, ':') != NULL && strchr(host, '$') == NULL) {
		host = arena_printf(a, "[%s]", host);
	} else if (host[0] == '\0') {
		host = "0.0.0.0";
	}
	/* A variable may have the port, too. */
	if (colon == NULL && host[0] == '$')
		return host;
	if (is_bind)
		return arena_printf(a, "%s:%s", host, port);
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
	if (is_address_family(text, "tcp6@"))
		text = arena_printf(a, "ipv6@%s", text + 5);
	if (is_address_family(text, "ipv4@") || is_address_family(text, "ipv6@")) {
		const char *inner = inet_address(a, text + 5, is_bind);

		if (is_bind && text[3] == '6' && strncmp(inner, "0.0.0.0:", 8) == 0)
			return arena_printf(a, "[::]%s", inner + 7);
		/* Ours knows the words before names; an address needs none. */
		return is_digit(inner[0]) || inner[0] == '[' ? inner : arena_printf(a, "%.5s%s", text, inner);
	}
	return inet_address(a, text, is_bind);
}
