/* SPDX-License-Identifier: MIT
 *
 * map.c - use_backend with a map of names: %[req.ssl_sni,lower,map(FILE,DEFAULT)].
 *
 * The file is read now. Of `map`, whose names are whole, the first line with a name counts; of `map_end` and
 * `map_dom`, the first line that fits, however long it is. Without a map, a backend has the name of its
 * clients: %[req.ssl_sni,lower]. Main thread.
 */
#include <string.h>

#include "route.h"
#include "sections.h"
#include "weir/base/check.h"
#include "weir/config/reader.h"

#define BACKENDS (1u << PROXY_BACKEND | 1u << PROXY_LISTEN)

struct name_map {
	struct haproxy *h;
	struct proxy *p;
	struct old_line *line;
	const char *kind; /* "map", "map_end", "map_dom" */
	bool lowered; /* the name is, before it is looked up */
	const char *file;
	const char *otherwise; /* "" = none */
	struct group *groups;
	size_t count;
	size_t entries;
	struct index targets; /* the group of each, of whole names */
	struct index seen;    /* whole names */
};

/* Names of one backend that are one line. */
struct group {
	const char *target;
	struct work_list names; /* in our words */
};

/* Reads the expression; false if it is another one. */
static bool read_expression(struct name_map *m, const char *text)
{
	static const char *const begins[] = {"%[req.ssl_sni,", "%[req_ssl_sni,"};
	const char *at = NULL, *open, *comma, *close;
	struct arena *a = m->h->arena;

	for (size_t i = 0; i < ARRAY_LEN(begins); i++)
		if (strncmp(text, begins[i], strlen(begins[i])) == 0)
			at = text + strlen(begins[i]);
	m->lowered = at != NULL && strncmp(at, "lower,", 6) == 0;
	if (m->lowered)
		at += 6;
	open = at != NULL ? strchr(at, '(') : NULL;
	close = open != NULL ? strchr(open, ')') : NULL;
	if (close == NULL || strcmp(close, ")]") != 0)
		return false;
	m->kind = arena_strndup(a, at, (size_t)(open - at));
	comma = memchr(open, ',', (size_t)(close - open));
	m->file = arena_strndup(a, open + 1, (size_t)((comma != NULL ? comma : close) - open) - 1);
	m->otherwise = comma != NULL ? arena_strndup(a, comma + 1, (size_t)(close - comma) - 1) : "";
	return strcmp(m->kind, "map") == 0 || strcmp(m->kind, "map_str") == 0 ||
	       strcmp(m->kind, "map_end") == 0 || strcmp(m->kind, "map_dom") == 0;
}

static bool is_whole(const struct name_map *m)
{
	return strcmp(m->kind, "map") == 0 || strcmp(m->kind, "map_str") == 0;
}

static const char *our_name(const struct name_map *m, const char *key)
{
	struct arena *a = m->h->arena;

	if (strcmp(m->kind, "map_dom") == 0)
		return arena_printf(a, ".%s", key[0] == '.' ? key + 1 : key);
	if (strcmp(m->kind, "map_end") == 0 && key[0] == '.')
		return arena_printf(a, "*%s", key);
	if (strcmp(m->kind, "map_end") != 0)
		return key;
	old_set(a, m->line, OLD_DIFFERENT, "'%s': only the name itself and the names below it", key);
	return arena_printf(a, ".%s", key);
}

/* The group of whole names whose order does not matter, or the last one if it has the same target. */
static struct group *group_of(struct name_map *m, const char *target)
{
	size_t *at = is_whole(m) ? index_find(&m->targets, target) : NULL;

	if (at != NULL)
		return &m->groups[*at];
	if (!is_whole(m) && m->count > 0 && strcmp(m->groups[m->count - 1].target, target) == 0)
		return &m->groups[m->count - 1];
	m->groups = arena_grow(m->h->arena, m->groups, m->count, sizeof(*m->groups));
	m->groups[m->count] = (struct group){.target = target};
	at = arena_alloc(m->h->arena, sizeof(*at));
	*at = m->count++;
	if (is_whole(m))
		index_put(m->h->arena, &m->targets, target, at);
	return &m->groups[*at];
}

/* A line "KEY VALUE" of the file. */
static void take_entry(struct name_map *m, char *text)
{
	char *key = text + strspn(text, " \t\r"), *value;
	const size_t len = strcspn(key, " \t\r");

	value = key + len + strspn(key + len, " \t\r");
	value[strcspn(value, " \t\r")] = '\0';
	if (len == 0 || key[0] == '#' || value[0] == '\0' || m->entries > WORK_MAP_MAX)
		return;
	key[len] = '\0';
	m->entries++;
	if (m->lowered && strpbrk(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != NULL) {
		old_set(m->h->arena, m->line, OLD_DIFFERENT,
			"without '%s': HAProxy looks for a name in lower case", key);
		return;
	}
	if (is_whole(m) && (key[0] == '.' || strchr(key, '*') != NULL)) {
		old_set(m->h->arena, m->line, OLD_DIFFERENT,
			"without '%s': HAProxy compares it letter by letter, and no client asks for it", key);
		return;
	}
	if (is_whole(m) && index_find(&m->seen, key) != NULL)
		return;
	index_put(m->h->arena, &m->seen, key, key);
	work_list_add(m->h->arena, &group_of(m, value)->names, our_name(m, key));
}

static bool read_file(struct name_map *m)
{
	char *text;
	size_t len;

	if (source_read_file(m->h->arena, m->file, true, &text, &len) != 0)
		return false;
	text[len] = '\0';
	while (*text != '\0') {
		char *end = text + strcspn(text, "\n");
		const bool more = *end == '\n';

		*end = '\0';
		take_entry(m, text);
		text = end + more;
	}
	return m->count > 0;
}

static void add_line(struct name_map *m, const char *target, const char *list)
{
	const struct proxy *to = haproxy_find(m->h, BACKENDS, target);
	struct work *w = m->h->work;
	struct ini_line *line;
	const bool is_long = strlen(list) >= READER_LINE_MAX / 4;

	if (to == NULL || to->out == NULL) {
		old_set(m->h->arena, m->line, OLD_LOST, "its backend '%s' is not converted", target);
		return;
	}
	if (is_long && !w->with_files) {
		old_set(m->h->arena, m->line, OLD_LOST, "a long list: convert with -o DIR");
		return;
	}
	if (is_long)
		list = arena_printf(m->h->arena, "@%s",
				    work_file(w, arena_printf(m->h->arena, "lists/%s.sni", target),
					      work_lines(m->h->arena, list)));
	line =
		ini_add(m->h->ini, m->p->out, m->line,
			arena_printf(m->h->arena, "use-backend %s", to->out->name),
		       "sni=%s", list);
	if (is_long)
		line->stand_in = work_without_files(m->h->arena, line->value);
}

static void take_map(struct haproxy *h, struct proxy *p, struct old_line *line)
{
	struct name_map m = {.h = h, .p = p, .line = line};

	check(read_expression(&m, old_word(line, 1)));
	if (!read_file(&m)) {
		old_set(h->arena, line, OLD_LOST, "the map '%s' cannot be read: convert where it is", m.file);
		return;
	}
	if (m.entries > WORK_MAP_MAX) {
		old_set(h->arena, line, OLD_LOST,
			"a map of more than %d names: write a list per backend, sni=@FILE", WORK_MAP_MAX);
		return;
	}
	for (size_t i = 0; i < m.count; i++)
		add_line(&m, m.groups[i].target,
			 work_joined(h->arena, m.groups[i].names.items, m.groups[i].names.count, ","));
	if (strcmp(m.kind, "map_dom") == 0)
		old_set(h->arena, line, OLD_DIFFERENT, "a domain in the middle of a name does not count");
	if (m.otherwise[0] != '\0') {
		const struct proxy *to = haproxy_find(h, BACKENDS, m.otherwise);

		if (to == NULL || to->out == NULL)
			old_set(h->arena, line, OLD_LOST, "its backend '%s' is not converted", m.otherwise);
		else if (ini_find(p->out, "default-backend") == NULL)
			ini_add(h->ini, p->out, line, "default-backend", "%s", to->out->name);
	}
	old_set(h->arena, line, OLD_CARRIED, NULL);
}

/* ---- %[req.ssl_sni,lower] ---- */

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

#define LOOKS_MAX 20000 /* of all rules at the name of a section */

/* What is around the name of a client in that of a backend. */
struct own_name {
	const char *before, *behind;
	bool lower;
};

static bool read_own_name(struct arena *a, const char *text, struct own_name *n)
{
	static const char *const samples[] = {"req.ssl_sni", "req_ssl_sni"};
	const char *open = strstr(text, "%["), *close = open != NULL ? strchr(open, ']') : NULL, *inside;

	if (close == NULL || memchr(text, '%', (size_t)(open - text)) != NULL || strchr(close, '%') != NULL)
		return false;
	n->before = arena_strndup(a, text, (size_t)(open - text));
	n->behind = close + 1;
	inside = arena_strndup(a, open + 2, (size_t)(close - open) - 2);
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		const size_t len = strlen(samples[i]);

		n->lower = strncmp(inside, samples[i], len) == 0 && strcmp(inside + len, ",lower") == 0;
		if (n->lower || strcmp(inside, samples[i]) == 0)
			return true;
	}
	return false;
}

/* The name whose clients have the backend of this name; NULL: there are none. */
static const char *name_of_clients(struct arena *a, const struct own_name *n, const char *backend)
{
	const size_t before = strlen(n->before), behind = strlen(n->behind), len = strlen(backend);
	const char *name;

	if (len <= before + behind || strncmp(backend, n->before, before) != 0 ||
	    strcmp(backend + len - behind, n->behind) != 0)
		return NULL;
	name = arena_strndup(a, backend + before, len - before - behind);
	if (strspn(name, LOWER UPPER "0123456789.-") != strlen(name) || strchr(".-", name[0]) != NULL ||
	    strstr(name, "..") != NULL)
		return NULL;
	return name;
}

/* Adds a line per backend that has the name of a server; false if there is none. */
static bool take_own_names(struct haproxy *h, struct proxy *p, struct old_line *line)
{
	struct name_map m = {.h = h, .p = p, .line = line};
	struct own_name n;
	bool any = false;

	check(read_own_name(h->arena, old_word(line, 1), &n));
	h->own_names += h->count;
	for (size_t i = 0; i < h->count && h->own_names <= LOOKS_MAX; i++) {
		const struct proxy *to = h->proxies[i];
		const char *name = IS_BACK(to) ? name_of_clients(h->arena, &n, to->name) : NULL;
		const bool upper = name != NULL && strpbrk(name, UPPER) != NULL;

		if (name == NULL || (upper && n.lower) || haproxy_find(h, BACKENDS, to->name) != to)
			continue;
		if (upper)
			old_set(h->arena, line, OLD_DIFFERENT, "'%s' has no line: weir's names have no case",
				name);
		else if (to->is_page || (to->out == NULL && strstr(haproxy_why_not(to), "weir") != NULL))
			old_set(h->arena, line, OLD_DIFFERENT, "'%s' has no line: %s", name,
				haproxy_why_not(to));
		else
			add_line(&m, to->name, name);
		any = true;
	}
	if (any)
		old_set(h->arena, line, OLD_CARRIED, NULL);
	return any;
}

bool haproxy_named_backend(struct haproxy *h, struct proxy *p, struct old_line *line, bool *tls,
			   bool *always)
{
	const struct old_lines *rules = &p->lists[LIST_ROUTE];
	struct name_map m = {.h = h};
	struct own_name n;
	const bool map = read_expression(&m, old_word(line, 1));
	struct condition c;

	if (!map && !read_own_name(h->arena, old_word(line, 1), &n))
		return false;
	haproxy_line_terms(h, p, line, &c);
	if (!condition_has_name(&c)) {
		if (map)
			old_set(h->arena, line, OLD_LOST,
				"a map with a condition: write a use-backend line per backend, with sni= and "
				"it");
		return map;
	}
	if (map)
		take_map(h, p, line);
	else if (!take_own_names(h, p, line))
		return false;
	*tls = true;
	condition_carried(h, &c);
	*always = ini_find(p->out, "default-backend") != NULL;
	if (*always && line->count > 2)
		old_set(h->arena, line, OLD_DIFFERENT,
			"its condition is left out: a name in the map decides, for all others its default");
	else if (!*always && line != rules->list[rules->count - 1])
		old_set(h->arena, line, OLD_DIFFERENT,
			"names without a backend go on to the lines below: HAProxy's to default_backend");
	return true;
}
