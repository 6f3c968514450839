/* SPDX-License-Identifier: MIT
 *
 * haproxy_map.c - use_backend with a map of names: %[req.ssl_sni,lower,map(FILE,DEFAULT)].
 *
 * The file is read now. `map` has whole names; `map_end` takes the longest end that fits, and `map_dom` a
 * domain, so names come first, then the longest. Main thread.
 */
#include <string.h>

#include "haproxy.h"
#include "weir/base/check.h"
#include "weir/config/reader.h"

#define BACKENDS (1u << PROXY_BACKEND | 1u << PROXY_LISTEN)

struct name_map {
	struct haproxy *h;
	struct proxy *p;
	struct old_line *line;
	const char *kind; /* "map", "map_end", "map_dom" */
	const char *file;
	const char *otherwise; /* "" = none */
	const char **names;    /* in our words */
	const char **targets;
	size_t count;
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
	if (at != NULL && strncmp(at, "lower,", 6) == 0)
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

static const char *our_name(const struct name_map *m, const char *key)
{
	struct arena *a = m->h->arena;

	if (strcmp(m->kind, "map_dom") == 0)
		return arena_printf(a, ".%s", key[0] == '.' ? key + 1 : key);
	if (strcmp(m->kind, "map_end") == 0)
		return key[0] == '.' ? arena_printf(a, "*%s", key) : arena_printf(a, ".%s", key);
	return key;
}

/* A line "KEY VALUE" of the file. */
static void take_entry(struct name_map *m, char *text)
{
	char *key = text + strspn(text, " \t\r"), *value;
	const size_t len = strcspn(key, " \t\r");

	value = key + len + strspn(key + len, " \t\r");
	value[strcspn(value, " \t\r")] = '\0';
	if (len == 0 || key[0] == '#' || value[0] == '\0' || m->count > WORK_MAP_MAX)
		return;
	key[len] = '\0';
	m->names = arena_grow(m->h->arena, m->names, m->count, sizeof(*m->names));
	m->targets = arena_grow(m->h->arena, m->targets, m->count, sizeof(*m->targets));
	m->names[m->count] = our_name(m, key);
	m->targets[m->count++] = value;
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

static bool comes_before(const struct name_map *m, size_t a, size_t b)
{
	return strlen(m->names[a]) > strlen(m->names[b]);
}

/* The longest first: whole names cannot overlap, so their order does not matter. */
static void put_in_order(struct name_map *m)
{
	for (size_t i = 1; i < m->count && strcmp(m->kind, "map") != 0; i++)
		for (size_t k = i; k > 0 && comes_before(m, k, k - 1); k--) {
			const char *name = m->names[k], *target = m->targets[k];

			m->names[k] = m->names[k - 1];
			m->targets[k] = m->targets[k - 1];
			m->names[k - 1] = name;
			m->targets[k - 1] = target;
		}
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
	if (is_long && !w->wish->with_files) {
		old_set(m->h->arena, m->line, OLD_LOST, "a long list: convert with -o DIR");
		return;
	}
	if (is_long)
		list = arena_printf(m->h->arena, "@%s",
				    work_file(w, arena_printf(m->h->arena, "lists/%s.sni", target),
					      work_lines(m->h->arena, list)));
	line = ini_add(m->h->ini, m->p->out, m->line, arena_printf(m->h->arena, "use-backend %s", target),
		       "sni=%s", list);
	if (is_long)
		line->stand_in = work_without_files(m->h->arena, line->value);
}

/* All names of one target, as far as no other target comes in between; whole names have no order. */
static void add_lines(struct name_map *m)
{
	const bool whole = strcmp(m->kind, "map") == 0 || strcmp(m->kind, "map_str") == 0;

	for (size_t i = 0; i < m->count; i++) {
		const char *target = m->targets[i];
		struct text list;

		if (target == NULL)
			continue;
		text_init(&list);
		text_printf(&list, "%s", m->names[i]);
		for (size_t k = i + 1; k < m->count; k++) {
			if (m->targets[k] == NULL)
				continue;
			if (strcmp(m->targets[k], target) == 0) {
				text_printf(&list, ",%s", m->names[k]);
				m->targets[k] = NULL;
			} else if (!whole) {
				break;
			}
		}
		if (!list.failed)
			add_line(m, target, arena_strndup(m->h->arena, list.bytes, list.len));
		text_free(&list);
	}
}

bool haproxy_name_map(struct haproxy *h, struct proxy *p, struct old_line *line)
{
	struct name_map m = {.h = h, .p = p, .line = line};

	if (!read_expression(&m, old_word(line, 1)))
		return false;
	if (!read_file(&m)) {
		old_set(h->arena, line, OLD_LOST, "the map '%s' cannot be read: convert where it is", m.file);
		return true;
	}
	if (m.count > WORK_MAP_MAX) {
		old_set(h->arena, line, OLD_LOST,
			"a map of more than %d names: write a list per backend, sni=@FILE", WORK_MAP_MAX);
		return true;
	}
	put_in_order(&m);
	add_lines(&m);
	if (strcmp(m.kind, "map_dom") == 0)
		old_set(h->arena, line, OLD_DIFFERENT, "a domain in the middle of a name does not count");
	if (m.otherwise[0] != '\0') {
		const struct proxy *to = haproxy_find(h, BACKENDS, m.otherwise);

		if (to != NULL && to->out != NULL && ini_find(p->out, "default-backend") == NULL)
			ini_add(h->ini, p->out, line, "default-backend", "%s", m.otherwise);
	}
	old_set(h->arena, line, OLD_CARRIED, NULL);
	return true;
}
