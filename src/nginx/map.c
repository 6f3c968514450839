/* SPDX-License-Identifier: MIT
 *
 * map.c - reads a map or geo.
 *
 * nginx takes the most specific entry: the exact name, then the longest *.NAME, then the first regular
 * expression. weir takes the first line that fits, so the entries are put in that order. Main thread.
 */
#include "map.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "variable.h"
#include "weir/base/check.h"
#include "weir/base/text.h"
#include "weir/draft/pattern.h"
#include "weir/net/host_pattern.h"

const char *nginx_subject_word(enum nginx_subject subject)
{
	static const char *const words[] = {"sni", "proto", "alpn", "src", "dst-port", ""};

	return words[subject];
}

static bool makes_variable(const struct old_line *line)
{
	return line->block &&
	       (strcmp(line->words[0], "map") == 0 || strcmp(line->words[0], "geo") == 0);
}

struct old_line *nginx_map_find(const struct nginx *n, const char *name)
{
	for (size_t i = 0; i < n->stream->count; i++) {
		struct old_line *line = n->stream->list[i];

		if (makes_variable(line) && line->words[line->count - 1][0] == '$' &&
		    strcasecmp(line->words[line->count - 1] + 1, name) == 0)
			return line;
	}
	return NULL;
}

const char *nginx_map_source(const struct old_line *block)
{
	return block->count > 2 ? block->words[1] : "$remote_addr";
}

/* ---- entries ---- */

void nginx_map_add(struct nginx_map *m, struct old_line *line, const char *key, enum nginx_rank rank)
{
	m->entries = arena_grow(m->n->arena, m->entries, m->count, sizeof(*m->entries));
	m->entries[m->count++] = (struct nginx_entry){line, key, old_word(line, 1), rank, strlen(key)};
}

/* The variable has the name as the client wrote it, and "~" regards case. nginx makes the name of a client
 * small before it looks for a server block. */
static void note_case(struct nginx_map *m, struct old_line *line, const char *names)
{
	bool has_small = false, has_capital = false;

	for (const char *c = names; *c != '\0'; c++) {
		has_small = has_small || islower((unsigned char)*c);
		has_capital = has_capital || isupper((unsigned char)*c);
	}
	if (has_capital)
		old_set(m->n->arena, line, OLD_DIFFERENT,
			"nginx's '~' regards case, and clients write names in lower case: weir takes both");
	else if (has_small && strcmp(names, "any") != 0)
		work_note(m->n->work,
			  "a '~' in a map of nginx's regards case: a client that writes a name with capital "
			  "letters does not get what its pattern says; in weir it does");
}

/* Do all clients that a pattern might take get the same without it? nginx tries patterns last, in order. */
static bool is_of_default(const struct nginx_map *m)
{
	return m->rest != NULL && (m->last_other == NULL || m->past_other);
}

static bool is_name(const char *text)
{
	struct host_pattern pattern;
	const char *why;

	return host_pattern_parse(text, &pattern, &why) == 0;
}

/* Those of a list that a client may ask for. */
static const char *only_names(struct arena *a, const char *names)
{
	struct work_list list = {.count = 0};
	size_t count = 0;

	work_list_split(a, &list, names);
	for (size_t i = 0; i < list.count; i++)
		if (is_name(list.items[i]))
			list.items[count++] = list.items[i];
	return count == list.count ? names : work_joined(a, list.items, count, ",");
}

static void take_pattern(struct nginx_map *m, struct old_line *line, const char *text)
{
	const bool any_case = text[0] == '*';
	const char *differs = NULL;
	const char *names = pattern_names(m->n->arena, "nginx", text + any_case, &differs);

	names = names != NULL ? only_names(m->n->arena, names) : NULL;
	if (names == NULL && is_of_default(m)) {
		old_set(m->n->arena, line, OLD_CARRIED, NULL);
		return;
	}
	if (names == NULL) {
		old_set(m->n->arena, line, OLD_LOST, "a regular expression: write the names, or *.NAME");
		return;
	}
	if (names[0] == '\0') {
		old_set(m->n->arena, line, OLD_NO_EFFECT,
			"no name fits it, and nginx tries no pattern where a client gives none");
		return;
	}
	nginx_map_add(m, line, names, RANK_PATTERN);
	m->entries[m->count - 1].value = nginx_whole_group(m->n->arena, text + any_case, old_word(line, 1));
	if (differs != NULL)
		old_set(m->n->arena, line, OLD_DIFFERENT, "%s", differs);
	if (!any_case && m->block != NULL)
		note_case(m, line, names);
}

/* A word that has another meaning in sni=. */
static bool is_word_of_ours(const char *name)
{
	return strcmp(name, "any") == 0 || strcmp(name, "none") == 0;
}

/* Why no client asks for a name; NULL: one may. */
static const char *no_name(const struct nginx_map *m, const char *name)
{
	if (strpbrk(name, "\\^$()|") != NULL)
		return "no client asks for this as a name: a regular expression begins with '~'";
	if (!m->hostnames && (name[0] == '*' || name[0] == '.' || name[strlen(name) - 1] == '*'))
		return "without 'hostnames' before it, nginx takes this for the name itself, and no client "
		       "asks for it";
	/* weir takes a name with a dot behind it for the name itself. */
	return is_name(name) && name[strlen(name) - 1] != '.' ? NULL : "no client asks for this as a name";
}

static void take_name(struct nginx_map *m, struct old_line *line, const char *key)
{
	const char *name = key[0] == '\\' ? key + 1 : key;
	struct arena *a = m->n->arena;

	if (key[0] == '\0')
		nginx_map_add(m, line, "none", RANK_EXACT);
	else if (key[0] == '~')
		take_pattern(m, line, key + 1);
	else if (m->hostnames && name[0] != '\0' && name[strlen(name) - 1] == '*')
		old_set(a, line, OLD_LOST,
			"weir's names may begin in any way (*.NAME), not end: write them out");
	else if (is_word_of_ours(name))
		old_set(a, line, OLD_LOST, "sni=%s has another meaning in weir", name);
	else if (name[0] == '\0' || no_name(m, name) != NULL)
		old_set(a, line, OLD_NO_EFFECT, "%s", no_name(m, key));
	else
		nginx_map_add(m, line, name, name[0] == '*' || name[0] == '.' ? RANK_WILD : RANK_EXACT);
}

/* Is the key a text that nginx has for no client? */
static bool is_no_version(const char *key)
{
	static const char *const all[] = {"",	     "SSLv2",	"SSLv3",  "TLSv1",
					  "TLSv1.1", "TLSv1.2", "TLSv1.3"};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (strcasecmp(key[0] == '\\' ? key + 1 : key, all[i]) == 0)
			return false;
	return key[0] != '~';
}

static void take_protocol(struct nginx_map *m, struct old_line *line, const char *key)
{
	if (is_no_version(key)) {
		old_set(m->n->arena, line, OLD_NO_EFFECT,
			"nginx has another text for each version: TLSv1, TLSv1.1, TLSv1.2 or TLSv1.3");
		return;
	}
	if (key[0] != '\0' && m->old_versions) {
		old_set(m->n->arena, line, OLD_DIFFERENT,
			"weir does not tell versions of TLS apart: all clients get what nginx has for "
			"those of TLS 1.3, the default");
		return;
	}
	if (key[0] != '\0' && !nginx_is_of_today(key)) {
		if (strcmp(m->today, old_word(line, 1)) != 0)
			old_set(m->n->arena, line, OLD_LOST,
				"weir does not tell versions of TLS apart, and this is not 1.2 or 1.3");
		else
			old_set(m->n->arena, line, OLD_CARRIED, NULL);
		return;
	}
	for (size_t i = 0; i < m->count && key[0] != '\0'; i++) {
		if (strcmp(m->entries[i].key, "tls") != 0)
			continue;
		if (strcmp(m->entries[i].value, old_word(line, 1)) == 0)
			break; /* as all others have */
		old_set(m->n->arena, line, OLD_LOST, "weir does not tell versions of TLS apart");
		return;
	}
	nginx_map_add(m, line, key[0] == '\0' ? "http,ssh,other" : "tls", RANK_EXACT);
	if (key[0] == '~' && nginx_fits(key, "TLSv1") == FITS && nginx_fits(key, "TLSv1.1") == FITS &&
	    nginx_fits(key, "TLSv1.2") == FITS && nginx_fits(key, "TLSv1.3") == FITS)
		return;
	if (key[0] != '\0' && (m->rest == NULL || strcmp(m->rest, old_word(line, 1)) != 0))
		old_set(m->n->arena, line, OLD_DIFFERENT, "weir does not tell versions of TLS apart");
}

/* "~\bh2\b"; a dot, as in http/1.1, is usually not escaped. Other keys are compared with the whole list. */
static void take_alpn(struct nginx_map *m, struct old_line *line, const char *key)
{
	const bool any_case = key[0] == '~' && key[1] == '*';
	const char *text = key[0] == '~' ? key + 1 + any_case : key;
	char *out = arena_strndup(m->n->arena, text, strlen(text));
	const bool begins = strncmp(text, "\\b", 2) == 0;
	size_t len = 0;

	if (key[0] == '\0' && m->rest != NULL && strcmp(m->rest, old_word(line, 1)) == 0) {
		old_set(m->n->arena, line, OLD_CARRIED, NULL); /* who offers nothing gets the default */
		return;
	}
	while (strncmp(text, "\\b", 2) == 0 || *text == '^')
		text += *text == '^' ? 1 : 2;
	for (; *text != '\0' && *text != ',' && *text != '$' && strncmp(text, "\\b", 2) != 0; text++)
		if (*text != '\\')
			out[len++] = *text;
	out[len] = '\0';
	if (len == 0 || strpbrk(out, "^$*+?()[]{}|") != NULL ||
	    (*text != '\0' && strcmp(text, "$") != 0 && strcmp(text, "\\b") != 0)) {
		old_set(m->n->arena, line, OLD_LOST, "write alpn=PROTOCOL for each");
		return;
	}
	/* All that clients offer is in lower case. */
	nginx_map_add(m, line, any_case ? work_lower_case(m->n->arena, out) : out, RANK_PATTERN);
	if (!begins || strcmp(text, "\\b") != 0)
		old_set(m->n->arena, line, OLD_DIFFERENT,
			"nginx compares this with all that a client offers: weir takes a client that offers "
			"'%s', whatever else it offers",
			out);
}

bool nginx_map_is_parameter(const struct old_line *line)
{
	static const char *const words[] = {"hostnames", "volatile", "include", "ranges"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(line->words[0], words[i]) == 0)
			return true;
	return false;
}

static void take_port(struct nginx_map *m, struct old_line *line, const char *key)
{
	const size_t digits = strspn(key, "0123456789");

	if (key[0] == '~')
		old_set(m->n->arena, line, OLD_LOST, "a regular expression: write the ports");
	else if (digits == 0 || digits > 5 || key[digits] != '\0' || key[0] == '0' ||
		 strtol(key, NULL, 10) > 65535)
		old_set(m->n->arena, line, OLD_NO_EFFECT, "it is no port");
	else
		nginx_map_add(m, line, key, RANK_EXACT);
}

/* 'hostnames' holds for whatever a map looks up: "10.1.*" fits addresses. */
static bool is_wildcard(const struct nginx_map *m, const char *key)
{
	const size_t len = strlen(key);

	return m->hostnames && (key[0] == '.' || strncmp(key, "*.", 2) == 0 ||
				(len > 2 && strcmp(key + len - 2, ".*") == 0));
}

static void take_key(struct nginx_map *m, struct old_line *line, const char *key)
{
	if (m->subject != BY_SNI && key[0] != '~' && is_wildcard(m, key))
		old_set(m->n->arena, line, OLD_LOST, "a wildcard that is not of names: write what it fits");
	else if (m->subject == BY_SNI)
		take_name(m, line, key);
	else if (m->subject == BY_PROTOCOL)
		take_protocol(m, line, key);
	else if (m->subject == BY_ALPN)
		take_alpn(m, line, key);
	else if (m->subject == BY_SOURCE)
		nginx_map_take_network(m, line, key);
	else
		take_port(m, line, key);
}

/* ---- texts around a variable ---- */

/* Nobody is behind a pattern that takes all, but who has an entry without one. */
static void end_map(struct nginx_map *m, struct old_line *line, const char *value)
{
	m->ended = true;
	m->otherwise = value;
	m->otherwise_line = line;
}

/* A byte that a pattern has at `*at`, which stands for itself once; '\0' = there is none. */
static char take_literal(const char **at)
{
	const char *c = *at;
	const bool escaped = c[0] == '\\' && ispunct((unsigned char)c[1]);

	c += escaped;
	if (*c == '\0' || (!escaped && strchr("\\.[]()*+?{}|^$", *c) != NULL) ||
	    (c[1] != '\0' && strchr("*+?{", c[1]) != NULL))
		return '\0';
	*at = c + 1;
	return *c;
}

/* A pattern over a text and the variable behind it: what is left of it is for the variable. If nobody knows
 * whom it takes, those who might be its clients are refused. */
static void take_text_pattern(struct nginx_map *m, struct old_line *line, const char *before,
			      const char *after)
{
	const char *at = line->words[0] + 1;
	const bool any_case = *at == '*';
	bool known = at[any_case] == '^' && strchr(at, '|') == NULL;

	at += any_case + known;
	for (; known && *before != '\0' && *at != '\0'; before++) {
		const char byte = take_literal(&at);

		known = byte != '\0';
		if (known && (any_case ? tolower((unsigned char)byte) != tolower((unsigned char)*before)
				       : byte != *before))
			return;
	}
	if (known && *at == '\0')
		end_map(m, line, line->words[1]);
	else if (known && *after == '\0')
		take_key(m, line, arena_printf(m->n->arena, "~%s^%s", any_case ? "*" : "", at));
	else {
		old_set(m->n->arena, line, OLD_LOST,
			"a regular expression over several variables: its clients, and those of the "
			"entries that nginx tries after it, are refused");
		end_map(m, NULL, "");
	}
}

/* `before` and `after` are around the variable of the subject in the source of the map. */
static void take_line(struct nginx_map *m, struct old_line *line, const char *before, const char *after)
{
	const char *key = line->words[0];
	const size_t len = strlen(key), begin = strlen(before), end = strlen(after);

	if (nginx_map_is_parameter(line)) {
		m->hostnames = m->hostnames || strcmp(key, "hostnames") == 0;
		old_set(m->n->arena, line, OLD_CARRIED, NULL);
	} else if (line->count != 2) {
		old_set(m->n->arena, line, OLD_LOST, "an entry has a value");
	} else if (strcmp(key, "default") == 0) {
		nginx_geo_take_default(m);
		if (!m->ended) {
			m->otherwise = line->words[1];
			m->otherwise_line = line;
		}
	} else if (begin + end == 0) {
		take_key(m, line, key);
	} else if (key[0] == '~') {
		if (!m->ended)
			take_text_pattern(m, line, before, after);
	} else if (len >= begin + end && strncmp(key, before, begin) == 0 &&
		   strcmp(key + len - end, after) == 0) {
		take_key(m, line, arena_strndup(m->n->arena, key + begin, len - begin - end));
	}
}

/* What is not TLS has no name either, and gets the entry of "". In weir it goes to default-backend: that
 * becomes the entry of "", and the default is for every hello with a name. */
static void settle_nameless(struct nginx_map *m)
{
	for (size_t i = 0; i < m->count && m->subject == BY_SNI; i++) {
		const struct nginx_entry e = m->entries[i];
		struct old_line *line = m->otherwise_line != NULL ? m->otherwise_line : e.line;
		const char *otherwise = m->otherwise != NULL ? m->otherwise : "";

		if (strcmp(e.key, "none") != 0)
			continue;
		if (strcmp(e.value, otherwise) == 0)
			return;
		m->entries[i] = (struct nginx_entry){line, "any", otherwise, RANK_REST, e.len};
		m->otherwise = e.value;
		m->otherwise_line = e.line;
		return;
	}
}

static int compare(const void *one, const void *other)
{
	const struct nginx_entry *a = one, *b = other;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->rank == RANK_WILD && a->len != b->len)
		return a->len > b->len ? -1 : 1;
	return (a->place > b->place) - (a->place < b->place);
}

void nginx_map_sort(struct nginx_map *m)
{
	struct index values = {.count = 0}; /* the last entry so far with each value */

	for (size_t i = 0; i < m->count; i++)
		m->entries[i].place = i;
	if (m->count > 0)
		qsort(m->entries, m->count, sizeof(*m->entries), compare);
	for (size_t i = 0; i < m->count; i++) {
		struct nginx_entry *e = &m->entries[i], *before = index_find(&values, e->value);

		e->place = i;
		e->same = NULL;
		if (before != NULL)
			before->same = e;
		index_put(m->n->arena, &values, e->value, e);
	}
}

void nginx_map_read(struct nginx *n, struct old_line *block, enum nginx_subject subject, const char *before,
		    const char *after, struct nginx_map *m)
{
	*m = (struct nginx_map){.n = n, .block = block, .subject = subject};
	m->is_geo = strcmp(block->words[0], "geo") == 0;
	m->ranges = m->is_geo && nginx_find(&block->inside, NULL, "ranges") != NULL;
	nginx_map_survey(m);
	for (size_t i = 0; i < block->inside.count; i++) {
		take_line(m, block->inside.list[i], before, after);
		m->past_other |= block->inside.list[i] == m->last_other;
	}
	settle_nameless(m);
	nginx_geo_settle(m);
	nginx_map_sort(m);
}

void nginx_map_add_name(struct nginx_map *m, struct old_line *line, const char *name, const char *value)
{
	const size_t from = m->count;

	take_name(m, line, name);
	for (size_t i = from; i < m->count; i++)
		m->entries[i].value = value;
}

/* ---- lines of several entries ---- */

/* Other entries with the value may be on the line if no line in between changes who gets them. Exact names
 * cannot overlap. */
const char *nginx_map_join(struct nginx_map *m, size_t i)
{
	const struct nginx_entry *e = &m->entries[i];
	const bool is_exact = e->rank == RANK_EXACT;
	const char *list = e->key;
	size_t next = i + 1;
	struct text text;

	text_init(&text);
	text_printf(&text, "%s", list);
	for (struct nginx_entry *other = e->same; other != NULL && strcmp(list, "none") != 0;
	     other = other->same) {
		const bool follows = other->place == next;

		next += follows;
		if (!follows && !(is_exact && other->rank == RANK_EXACT))
			break;
		if (other->key[0] == '\0' || strcmp(other->key, "none") == 0 || other->rank == RANK_REST)
			continue;
		if (strcmp(list, other->key) != 0)
			text_printf(&text, ",%s", other->key);
		old_set(m->n->arena, other->line, OLD_CARRIED, NULL);
		other->key = "";
		other->joined = e;
	}
	list = text.failed ? list : arena_strndup(m->n->arena, text.bytes, text.len);
	text_free(&text);
	return list;
}
