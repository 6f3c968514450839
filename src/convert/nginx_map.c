/* SPDX-License-Identifier: MIT
 *
 * nginx_map.c - proxy_pass with the variable of a map or geo becomes use-backend lines.
 *
 * nginx takes the most specific entry: the exact name, then the longest *.NAME, then the first regular
 * expression. weir takes the first line that fits, so the lines are written in that order. Main thread.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "nginx.h"
#include "weir/base/check.h"
#include "weir/base/digit.h"
#include "weir/config/reader.h"

enum subject { BY_SNI, BY_PROTOCOL, BY_ALPN, BY_SOURCE, BY_PORT, BY_OTHER };

/* How early an entry must be tried. */
enum rank { RANK_EXACT, RANK_WILD, RANK_PATTERN };

struct map_entry {
	struct old_line *line;
	const char *key; /* in our words */
	const char *target;
	enum rank rank;
	size_t len;
};

struct map {
	struct nginx *n;
	struct ini_section *s;
	struct old_line *block;
	const struct nginx_sides *sides;
	enum subject subject;
	bool hostnames;
	struct map_entry *entries;
	size_t count;
	const char *otherwise; /* of "default" */
	struct old_line *otherwise_line;
	bool tls_differs;
};

static enum subject subject_of(const struct old_line *block)
{
	const char *source = block->count > 2 ? block->words[1] : "$remote_addr";

	if (strcmp(source, "$ssl_preread_server_name") == 0)
		return BY_SNI;
	if (strcmp(source, "$ssl_preread_protocol") == 0)
		return BY_PROTOCOL;
	if (strcmp(source, "$ssl_preread_alpn_protocols") == 0)
		return BY_ALPN;
	if (strcmp(source, "$remote_addr") == 0 || strcmp(source, "$binary_remote_addr") == 0)
		return BY_SOURCE;
	return strcmp(source, "$server_port") == 0 ? BY_PORT : BY_OTHER;
}

static struct old_line *find_map(const struct nginx *n, const char *variable)
{
	for (size_t i = 0; i < n->stream->count; i++) {
		struct old_line *line = n->stream->list[i];

		if (line->block &&
		    (strcmp(line->words[0], "map") == 0 || strcmp(line->words[0], "geo") == 0) &&
		    strcmp(line->words[line->count - 1], variable) == 0)
			return line;
	}
	return NULL;
}

static void add_entry(struct map *m, struct old_line *line, const char *key, enum rank rank)
{
	m->entries = arena_grow(m->n->arena, m->entries, m->count, sizeof(*m->entries));
	m->entries[m->count++] = (struct map_entry){line, key, old_word(line, 1), rank, strlen(key)};
}

static void take_name(struct map *m, struct old_line *line, const char *key)
{
	struct arena *a = m->n->arena;

	if (key[0] == '\0') {
		add_entry(m, line, "none", RANK_EXACT);
	} else if (key[0] == '~') {
		const char *name = work_name_of_pattern(a, key + 1 + (key[1] == '*'));

		if (name == NULL)
			old_set(a, line, OLD_LOST, "a regular expression: write the names, or *.NAME");
		else
			add_entry(m, line, name, RANK_PATTERN);
	} else if (key[0] == '*' || key[0] == '.') {
		add_entry(m, line, key, RANK_WILD);
		if (!m->hostnames)
			old_set(a, line, OLD_DIFFERENT,
				"without 'hostnames', nginx takes this for the name itself; weir for those "
				"below it");
	} else if (key[strlen(key) - 1] == '*') {
		old_set(a, line, OLD_LOST, "weir's names may end in any way, not begin: write them out");
	} else {
		add_entry(m, line, key[0] == '\\' ? key + 1 : key, RANK_EXACT);
	}
}

static void take_protocol(struct map *m, struct old_line *line, const char *key)
{
	const struct old_line *otherwise = nginx_find(&m->block->inside, NULL, "default");

	for (size_t i = 0; i < m->count && key[0] != '\0'; i++) {
		if (strcmp(m->entries[i].key, "tls") != 0 ||
		    strcmp(m->entries[i].target, old_word(line, 1)) == 0)
			continue;
		old_set(m->n->arena, line, OLD_LOST, "weir does not tell versions of TLS apart");
		return;
	}
	add_entry(m, line, key[0] == '\0' ? "http,ssh,other" : "tls", RANK_EXACT);
	if (key[0] != '\0' && (otherwise == NULL || strcmp(old_word(otherwise, 1), old_word(line, 1)) != 0))
		old_set(m->n->arena, line, OLD_DIFFERENT, "weir does not tell versions of TLS apart");
}

static void take_alpn(struct map *m, struct old_line *line, const char *key)
{
	const char *text = key[0] == '~' ? key + 1 + (key[1] == '*') : key;
	size_t len;

	while (strncmp(text, "\\b", 2) == 0)
		text += 2;
	len = strcspn(text, "\\,");
	if (len == 0 || strpbrk(text, "^$.*+?()[]{}|") != NULL)
		old_set(m->n->arena, line, OLD_LOST, "write alpn=PROTOCOL for each");
	else
		add_entry(m, line, arena_strndup(m->n->arena, text, len), RANK_PATTERN);
}

/* Longer prefixes first: their length counts as the rank's. */
static void take_network(struct map *m, struct old_line *line, const char *key)
{
	const char *slash = strchr(key, '/');

	if (!is_digit(key[0]) && strchr(key, ':') == NULL) {
		old_set(m->n->arena, line, OLD_LOST, "not a network");
		return;
	}
	add_entry(m, line, key, RANK_WILD);
	m->entries[m->count - 1].len = slash != NULL ? (size_t)strtoul(slash + 1, NULL, 10) : 128;
}

static void take_line(struct map *m, struct old_line *line)
{
	const char *key = line->words[0];

	if (strcmp(key, "hostnames") == 0 || strcmp(key, "volatile") == 0 || strcmp(key, "include") == 0 ||
	    strcmp(key, "ranges") == 0) {
		old_set(m->n->arena, line, OLD_CARRIED, NULL);
		return;
	}
	if (line->count != 2) {
		old_set(m->n->arena, line, OLD_LOST, "an entry has a value");
		return;
	}
	if (strcmp(key, "default") == 0) {
		m->otherwise = line->words[1];
		m->otherwise_line = line;
	} else if (m->subject == BY_SNI) {
		take_name(m, line, key);
	} else if (m->subject == BY_PROTOCOL) {
		take_protocol(m, line, key);
	} else if (m->subject == BY_ALPN) {
		take_alpn(m, line, key);
	} else if (m->subject == BY_SOURCE) {
		take_network(m, line, key);
	} else {
		add_entry(m, line, key, RANK_EXACT);
	}
}

static bool comes_before(const struct map_entry *a, const struct map_entry *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank;
	return a->rank == RANK_WILD && a->len > b->len;
}

static void put_in_order(struct map *m)
{
	for (size_t i = 1; i < m->count; i++) {
		const struct map_entry e = m->entries[i];
		size_t at = i;

		while (at > 0 && comes_before(&e, &m->entries[at - 1])) {
			m->entries[at] = m->entries[at - 1];
			at--;
		}
		m->entries[at] = e;
	}
}

/* May `b` be on the line of `a`: would no line in between change who gets it? Exact names cannot overlap. */
static bool may_join(const struct map *m, size_t a, size_t b)
{
	if (strcmp(m->entries[a].target, m->entries[b].target) != 0)
		return false;
	if (strcmp(m->entries[a].key, "none") == 0 || strcmp(m->entries[b].key, "none") == 0)
		return false;
	if (m->entries[a].rank == RANK_EXACT && m->entries[b].rank == RANK_EXACT)
		return true;
	for (size_t i = a; i < b; i++)
		if (strcmp(m->entries[i].target, m->entries[b].target) != 0)
			return false;
	return true;
}

static const char *const words[] = {"sni", "proto", "alpn", "src", "dst-port", ""};

/* Joins the keys of entry `i` and of those that can be on the same line. */
static const char *join_keys(struct map *m, size_t i, const char *between)
{
	const char *list = m->entries[i].key;
	struct text text;

	text_init(&text);
	text_printf(&text, "%s", list);
	for (size_t k = i + 1; k < m->count; k++) {
		struct map_entry *other = &m->entries[k];

		if (other->key[0] == '\0' || !may_join(m, i, k))
			continue;
		if (strcmp(list, other->key) != 0)
			text_printf(&text, "%s%s", between, other->key);
		old_set(m->n->arena, other->line, OLD_CARRIED, NULL);
		other->key = "";
	}
	list = text.failed ? list : arena_strndup(m->n->arena, text.bytes, text.len);
	text_free(&text);
	return list;
}

/* The line for entry `i`: with a list in a file if it is long. */
static void add_line(struct map *m, size_t i)
{
	struct map_entry *e = &m->entries[i];
	const char *name = nginx_backend(m->n, e->line, e->target, m->sides), *list;
	const char *word = words[m->subject];
	struct ini_line *line;

	if (name == NULL)
		return;
	list = join_keys(m, i, ",");
	if (strlen(list) >= READER_LINE_MAX / 4) {
		if (!m->n->work->wish->with_files || (m->subject != BY_SNI && m->subject != BY_SOURCE)) {
			old_set(m->n->arena, e->line, OLD_LOST,
				"a list that is too long for a line: convert with -o DIR, or write %s=@FILE, "
				"with "
				"one entry per line",
				word);
			return;
		}
		list = work_file(m->n->work, arena_printf(m->n->arena, "lists/%s.%s", name, word),
				 work_lines(m->n->arena, list));
		list = arena_printf(m->n->arena, "@%s", list);
	}
	line = ini_add(m->n->ini, m->s, e->line, arena_printf(m->n->arena, "use-backend %s", name), "%s=%s",
		       word, list);
	if (list[0] == '@')
		line->stand_in = work_without_files(m->n->arena, line->value);
}

static void add_default(struct map *m)
{
	const char *name;

	if (m->otherwise == NULL || m->otherwise[0] == '\0') {
		if (m->otherwise_line != NULL)
			old_set(m->n->arena, m->otherwise_line, OLD_CARRIED, NULL);
		return;
	}
	name = nginx_backend(m->n, m->otherwise_line, m->otherwise, m->sides);
	if (name != NULL)
		ini_add(m->n->ini, m->s, m->otherwise_line, "default-backend", "%s", name);
}

static void add_sniff(struct map *m, const char *timeout)
{
	if (m->subject == BY_SNI || m->subject == BY_ALPN)
		ini_add(m->n->ini, m->s, nginx_find(m->n->stream, NULL, "ssl_preread"), "sniff",
			"tls timeout=%s", timeout);
	else if (m->subject == BY_PROTOCOL)
		ini_add(m->n->ini, m->s, NULL, "sniff", "auto timeout=%s", timeout);
}

bool nginx_routes(struct nginx *n, struct ini_section *s, struct old_line *pass, const char *timeout,
		  const struct nginx_sides *sides)
{
	struct map m = {.n = n, .s = s, .sides = sides, .block = find_map(n, old_word(pass, 1))};

	if (m.block == NULL) {
		old_set(n->arena, pass, OLD_LOST, "no map or geo here makes '%s'", old_word(pass, 1));
		return false;
	}
	m.subject = subject_of(m.block);
	if (m.subject == BY_OTHER) {
		old_set(n->arena, m.block, OLD_LOST,
			"weir chooses by SNI, ALPN, protocol, network and port, not by '%s'",
			m.block->words[1]);
		old_set(n->arena, pass, OLD_LOST, "its map is lost");
		return false;
	}
	old_set(n->arena, m.block, OLD_CARRIED, NULL);
	old_set(n->arena, pass, OLD_CARRIED, NULL);
	m.hostnames = nginx_find(&m.block->inside, NULL, "hostnames") != NULL;
	for (size_t i = 0; i < m.block->inside.count; i++)
		take_line(&m, m.block->inside.list[i]);
	if (m.count > WORK_MAP_MAX) {
		old_set(n->arena, pass, OLD_LOST,
			"a map of more than %d entries: write a list per backend, @FILE", WORK_MAP_MAX);
		return false;
	}
	put_in_order(&m);
	add_sniff(&m, timeout);
	for (size_t i = 0; i < m.count; i++)
		if (m.entries[i].key[0] != '\0')
			add_line(&m, i);
	add_default(&m);
	return true;
}
