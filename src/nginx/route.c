/* SPDX-License-Identifier: MIT
 *
 * route.c - proxy_pass with variables becomes use-backend lines.
 *
 * The target is a text with variables. Those of maps are replaced by each of their values in turn, and what
 * the map looked up becomes the condition of a line. A map that looks up the values of other maps has no
 * condition of its own: its source is replaced until it has no variables left, and is then looked up here.
 * Main thread.
 */
#include <string.h>

#include "branch.h"
#include "server.h"
#include "variable.h"
#include "weir/base/check.h"
#include "weir/base/digit.h"
#include "weir/config/options.h"
#include "weir/config/reader.h"

#define BRANCHES_MAX (WORK_MAP_MAX + 100)

/* Around the name and the source of a map, in a text whose source still has variables. No word of a file
 * has these bytes: nginx_read() refuses them. */
#define LOOK_UP '\1'
#define SOURCE '\2'
#define LOOK_UP_END '\3'

#define COMPARED_MAX 4000000 /* pairs of an entry and a key that it may have clients of */
#define TOO_MANY "its entries are compared with those of another map, and there are too many of them"

static void branch_off(struct routing *r, const struct branch *b);

/* ---- branches ---- */

/* A list that is too long for a line becomes a file. NULL after saying why. */
static const char *list_or_file(struct routing *r, struct nginx_map *m, const struct nginx_entry *e,
				const char *list)
{
	struct work *w = r->n->work;
	const char *word = nginx_subject_word(m->subject), *name = e->value;

	if (strlen(list) < READER_LINE_MAX / 4)
		return list;
	if (!w->with_files || (m->subject != BY_SNI && m->subject != BY_SOURCE)) {
		old_set(w->arena, e->line, OLD_LOST,
			"a list that is too long for a line: convert with -o DIR, or write %s=@FILE, with "
			"one entry per line",
			word);
		return NULL;
	}
	name = nginx_clean_name(w->arena, name);
	list = work_file(w, arena_printf(w->arena, "lists/%s.%s", name, word), work_lines(w->arena, list));
	return arena_printf(w->arena, "@%s", list);
}

/* Where the values of a map go: in place of each use of its variable, or between two texts. */
struct place {
	const char *name; /* NULL = between the texts */
	const char *before;
	const char *after;
};

static const char *put(struct arena *a, const char *text, const struct place *place, const char *value)
{
	if (place->name != NULL)
		return nginx_replace(a, text, place->name, value);
	return arena_printf(a, "%s%s%s", place->before, value, place->after);
}

/* Nothing of the entry, and of those on its line, is in the result. */
static void lose_entry(struct routing *r, const struct nginx_entry *e)
{
	static const char why[] = "what its value leads to is lost";

	if (e->line->fate != OLD_LOST)
		old_set(r->n->arena, e->line, OLD_LOST, why);
	for (const struct nginx_entry *other = e->same; other != NULL; other = other->same)
		if (other->joined == e)
			old_set(r->n->arena, other->line, OLD_LOST, why);
}

/* A branch for each entry of a map. */
static void branch_by_entries(struct routing *r, const struct branch *b, const struct place *place,
			      struct nginx_map *m)
{
	for (size_t i = 0; i < m->count; i++) {
		struct nginx_entry *e = &m->entries[i];
		struct branch next = *b;
		const size_t ends = r->ends;
		const char *list, *written;

		if (e->key[0] == '\0')
			continue;
		if (r->branches > BRANCHES_MAX)
			return;
		list = nginx_map_join(m, i);
		written = list_or_file(r, m, e, list);
		if (written == NULL) {
			r->refused = true;
			continue;
		}
		next.depth++;
		branch_set_keys(&next, m->subject, list, written);
		branch_know(r, &next, m->block, e->value);
		next.target = put(r->n->arena, b->target, place, e->value);
		next.line = e->line;
		old_set(r->n->arena, e->line, OLD_CARRIED, NULL);
		branch_off(r, &next);
		if (r->ends == ends)
			lose_entry(r, e);
	}
}

/* A branch for the clients of no entry; `rest`: those keys of the branch that no entry has, NULL = all. */
static void branch_by_default(struct routing *r, const struct branch *b, const struct place *place,
			      struct nginx_map *m, const char *rest)
{
	const char *value = m->otherwise != NULL ? m->otherwise : "";
	struct branch next = *b;

	next.depth++;
	if (rest != NULL && strcmp(rest, b->keys[m->subject]) != 0)
		branch_set_keys(&next, m->subject, rest,
			 strlen(rest) < READER_LINE_MAX / 4 ? rest : b->written[m->subject]);
	next.target = put(r->n->arena, b->target, place, value);
	branch_know(r, &next, m->block, value);
	if (m->otherwise_line != NULL) {
		next.line = m->otherwise_line;
		old_set(r->n->arena, m->otherwise_line, OLD_CARRIED, NULL);
	}
	branch_off(r, &next);
}

/* The clients of the branch are some of those that the map tells apart. Returns the keys that it has no entry
 * for; NULL after saying why. */
static const char *narrow(struct routing *r, const struct branch *b, struct nginx_map *m)
{
	const char *keys = b->keys[m->subject];

	if (m->subject == BY_ALPN) {
		old_set(r->n->arena, m->block, OLD_LOST,
			"a use-backend line compares what a client offers once: make one map of both");
		return NULL;
	}
	r->compared += (m->count + 1) * (strlen(keys) / 2 + 1);
	if (r->compared > COMPARED_MAX) {
		old_set(r->n->arena, m->block, OLD_LOST, TOO_MANY);
		return NULL;
	}
	keys = nginx_map_narrow(m, keys);
	nginx_map_sort(m);
	return keys;
}

/* Has nginx nothing in this variable, in this server block? */
static bool is_unread(const struct routing *r, const char *name)
{
	static const char *const names[] = {"ssl_preread_server_name", "ssl_preread_protocol",
					    "ssl_preread_alpn_protocols"};

	for (size_t i = 0; i < ARRAY_LEN(names) && !r->preread; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return strcmp(name, "proxy_protocol_addr") == 0 && r->pass->sides != NULL && !r->pass->sides->proxy;
}

/* The text with nothing in place of what nginx does not read. */
static const char *without_unread(struct routing *r, const char *text)
{
	struct nginx_variable v;
	const char *from = text;

	while (nginx_find_variable(r->n->arena, text, from, &v)) {
		from = v.after;
		if (!is_unread(r, v.name))
			continue;
		work_note(r->n->work,
			  "'$%s' is empty where '%s' is missing: all clients get what the map has for that, "
			  "as with nginx",
			  v.name, v.name[0] == 's' ? "ssl_preread on" : "proxy_protocol' of 'listen");
		from = text = nginx_replace(r->n->arena, text, v.name, "");
	}
	return text;
}

/* A map whose source has one variable, of a subject. Returns false if the source has others. */
static bool branch_by_subject(struct routing *r, const struct branch *b, struct old_line *block,
			      const char *source, const struct place *place)
{
	struct arena *a = r->n->arena;
	enum nginx_subject subject;
	struct nginx_variable v, second;
	const char *rest = NULL;
	struct nginx_map m;

	if (!nginx_find_variable(a, source, source, &v) ||
	    nginx_find_variable(a, source, v.after, &second))
		return false;
	subject = nginx_subject_of(arena_printf(a, "$%s", v.name));
	if (subject == BY_OTHER || is_unread(r, v.name))
		return false;
	old_set(a, block, OLD_CARRIED, NULL);
	if (strcmp(v.name, "binary_remote_addr") == 0)
		old_set(a, block, OLD_DIFFERENT,
			"nginx compares its keys with the bytes of an address, so that all clients get the "
			"default: weir goes by the address");
	if (strcmp(v.name, "remote_addr") == 0 && strcmp(block->words[0], "map") == 0 &&
	    nginx_takes_both_families(r->pass->block))
		old_set(a, block, OLD_DIFFERENT,
			"at '[::]' with ipv6only=off, nginx writes the address of a client of IPv4 as "
			"::ffff:ADDRESS, which no key without that fits: weir goes by the address");
	if (r->compared > COMPARED_MAX) {
		old_set(a, block, OLD_LOST, TOO_MANY);
		branch_refuse(r, b);
		return true;
	}
	nginx_map_read(r->n, block, subject, v.before, v.after, &m);
	for (size_t i = 0; i < block->inside.count && !r->refused; i++)
		r->refused = block->inside.list[i]->fate == OLD_LOST;
	if (m.count > WORK_MAP_MAX) {
		old_set(a, block, OLD_LOST, "a map of more than %d entries: write a list per backend, @FILE",
			WORK_MAP_MAX);
		branch_refuse(r, b);
		return true;
	}
	if (b->keys[subject] != NULL) {
		rest = narrow(r, b, &m);
		if (rest == NULL) {
			branch_refuse(r, b);
			return true;
		}
	}
	r->sniff = r->sniff || subject == BY_SNI || subject == BY_ALPN;
	r->protocol = r->protocol || subject == BY_PROTOCOL;
	branch_by_entries(r, b, place, &m);
	if (rest == NULL || rest[0] != '\0')
		branch_by_default(r, b, place, &m, rest);
	return true;
}

/* A `listen` that is ours. */
static bool is_bind(const struct old_line *line)
{
	return strcmp(line->words[0], "listen") == 0 && !old_has_word(line, 2, "udp") &&
	       !old_has_word(line, 2, "ssl");
}

/* $server_port: a branch for each port of the block. */
static void branch_by_port(struct routing *r, const struct branch *b)
{
	const struct old_lines *lines = &r->pass->block->inside;
	struct arena *a = r->n->arena;
	struct branch next = *b;
	size_t listens = 0;

	next.depth++;
	for (size_t i = 0; i < lines->count; i++)
		listens += is_bind(lines->list[i]);
	for (size_t i = 0; i < lines->count; i++) {
		const char *port = old_word(lines->list[i], 1), *colon = strrchr(port, ':');

		if (!is_bind(lines->list[i]))
			continue;
		port = colon != NULL ? colon + 1 : port;
		if (strchr(port, '-') != NULL) {
			branch_lose(r, b, "'$server_port' of a range of ports");
			return;
		}
		if (b->keys[BY_PORT] != NULL && strcmp(b->keys[BY_PORT], port) != 0)
			continue;
		next.target = nginx_replace(a, b->target, "server_port", port);
		if (listens > 1)
			branch_set_keys(&next, BY_PORT, port, port);
		branch_off(r, &next);
		next = *b;
		next.depth++;
	}
}

/* Looks up the texts that have no variables left. NULL after saying why. */
static const char *look_up_all(struct routing *r, struct branch *b, const char *text)
{
	struct arena *a = r->n->arena;

	for (;;) {
		const char *end = strchr(text, LOOK_UP_END), *open = NULL, *source;
		struct old_line *block;
		const char *value;

		for (const char *c = text; end != NULL && c < end; c++)
			open = *c == LOOK_UP ? c : open;
		if (open == NULL)
			return text;
		source = memchr(open, SOURCE, (size_t)(end - open));
		check(source != NULL);
		if (memchr(source, '$', (size_t)(end - source)) != NULL)
			return text;
		block = nginx_map_find(r->n, arena_strndup(a, open + 1, (size_t)(source - open - 1)));
		check(block != NULL);
		value = nginx_map_look_up(r->n, block,
					  arena_strndup(a, source + 1, (size_t)(end - source - 1)), &b->line);
		if (value == NULL)
			return NULL;
		branch_know(r, b, block, value);
		text = arena_printf(a, "%.*s%s%s", (int)(open - text), text, value, end + 1);
	}
}

/* A variable that the end of a branch may have, outside the source of a map. */
static bool stays(const struct routing *r, const struct nginx_variable *v)
{
	const size_t len = strlen(v->before);

	if (strchr(v->before, LOOK_UP) != NULL)
		return false;
	if (strcmp(v->name, "server_port") == 0)
		return v->after[0] == '\0' && len > 0 && v->before[len - 1] == ':';
	return strcmp(v->name, "ssl_preread_server_name") == 0 ||
	       nginx_find_split(r->n, arena_printf(r->n->arena, "$%s", v->name)) != NULL;
}

/* A subject inside the source of a map that is not looked up yet: the values go in place of that map. Returns
 * false if the variable is not inside of one, or if it is not the only one there. */
static bool branch_by_source(struct routing *r, const struct branch *b, const struct nginx_variable *v)
{
	struct arena *a = r->n->arena;
	const char *open = strrchr(v->before, LOOK_UP), *source, *end;
	struct place place;

	if (open == NULL)
		return false;
	source = strchr(open, SOURCE);
	end = strchr(v->after, LOOK_UP_END);
	check(source != NULL);
	check(end != NULL);
	place = (struct place){.before = arena_strndup(a, v->before, (size_t)(open - v->before)),
			       .after = end + 1};
	return branch_by_subject(
	    r, b, nginx_map_find(r->n, arena_strndup(a, open + 1, (size_t)(source - open - 1))),
	    arena_printf(a, "%s$%s%.*s", source + 1, v->name, (int)(end - v->after), v->after), &place);
}

/* A variable of a map. */
static void branch_by_variable(struct routing *r, const struct branch *b, const char *name,
			       struct old_line *block)
{
	const struct place place = {.name = name};
	const char *source = nginx_map_source(block);
	struct arena *a = r->n->arena;
	struct branch next = *b;

	next.depth++;
	for (const struct known *known = b->known; known != NULL; known = known->next)
		if (known->block == block) {
			next.target = nginx_replace(a, b->target, name, known->value);
			branch_off(r, &next);
			return;
		}
	if (branch_by_subject(r, b, block, source, &place))
		return;
	old_set(a, block, OLD_CARRIED, NULL);
	next.target = nginx_replace(a, b->target, name,
			      arena_printf(a, "%c%s%c%s%c", LOOK_UP, name, SOURCE, source, LOOK_UP_END));
	branch_off(r, &next);
}

static void branch_by(struct routing *r, const struct branch *b, const struct nginx_variable *v)
{
	struct old_line *block = nginx_map_find(r->n, v->name);

	if (block != NULL)
		branch_by_variable(r, b, v->name, block);
	else if (strcmp(v->name, "server_port") == 0)
		branch_by_port(r, b);
	else if (branch_by_source(r, b, v))
		return;
	else if (is_digit(v->name[0]))
		branch_lose(r, b, "weir does not take parts of names");
	else if (nginx_is_set(r->n, r->pass->block, v->name))
		branch_lose(r, b,
			    arena_printf(r->n->arena, "'$%s' depends on itself, or on too many others",
					 v->name));
	else
		branch_lose(r, b,
			    arena_printf(r->n->arena,
					 "no map or geo here makes '$%s', and weir does not choose by it",
					 v->name));
}

/* The next variable to get rid of: first those that have values here. */
static bool choose_variable(struct routing *r, const char *text, struct nginx_variable *v)
{
	struct arena *a = r->n->arena;

	for (unsigned any = 0; any < 2; any++)
		for (const char *from = text; nginx_find_variable(a, text, from, v); from = v->after)
			if (!stays(r, v) && (any == 1 || strcmp(v->name, "server_port") == 0 ||
					     nginx_map_find(r->n, v->name) != NULL))
				return true;
	return false;
}

static void branch_off(struct routing *r, const struct branch *b)
{
	struct branch next = *b;
	struct nginx_variable v;

	if (b->depth > NGINX_DEPTH_MAX || ++r->branches > BRANCHES_MAX) {
		old_set(r->n->arena, r->pass->pass, OLD_LOST, "its variables depend on too many others");
		if (r->branches <= BRANCHES_MAX)
			branch_refuse(r, b);
		return;
	}
	/* A value that is looked up may have variables, too. */
	for (const char *before = NULL; next.target != before;) {
		before = without_unread(r, nginx_fold(r->n, r->pass->block, next.target));
		next.target = look_up_all(r, &next, before);
		if (next.target == NULL) {
			branch_refuse(r, b);
			return;
		}
	}
	if (choose_variable(r, next.target, &v))
		branch_by(r, &next, &v);
	else
		branch_end(r, &next);
}

/* One line for all blocks of the frontend. */
static void add_sniff(struct routing *r)
{
	struct nginx *n = r->n;
	struct ini_line *known = ini_find(r->pass->s, "sniff");
	const char *kind = r->protocol ? "auto" : "tls";
	const char *text = arena_printf(n->arena, "%s timeout=%s", kind, r->pass->timeout);

	if (known == NULL)
		ini_add(n->ini, r->pass->s,
			r->protocol ? NULL : nginx_find(n->stream, NULL, "ssl_preread"), "sniff", "%s", text);
	else if (r->protocol)
		known->value = text;
}

bool nginx_routes(struct nginx *n, const struct nginx_passing *pass)
{
	struct routing r = {.n = n, .pass = pass};
	struct branch all = {.target = pass->target,
				   .line = pass->pass};

	if (pass->names[0] != '\0')
		branch_set_keys(&all, BY_SNI, pass->names, pass->names);
	r.preread = pass->names[0] != '\0' ||
		    serving_is_on(nginx_find(&pass->block->inside, n->stream, "ssl_preread"));
	branch_off(&r, &all);
	if (r.lines == 0 && !r.has_default && r.ends > 0 && !r.refused) {
		/* nginx has no address for anybody, and closes all. */
		ini_add(n->ini, pass->s, pass->pass, "default-backend", "%s", nginx_closed(n));
		r.has_default = true;
	}
	if (r.lines == 0 && !r.has_default) {
		if (pass->pass->fate < OLD_LOST)
			old_set(n->arena, pass->pass, OLD_LOST, "its map is lost");
		return false;
	}
	old_set(n->arena, pass->pass, OLD_CARRIED, NULL);
	if (r.protocol || r.sniff || pass->names[0] != '\0')
		add_sniff(&r);
	return true;
}

void nginx_refuse(struct nginx *n, const struct nginx_passing *pass)
{
	struct routing r = {.n = n, .pass = pass};
	struct branch all = {.target = "", .line = pass->pass};

	check(pass->names[0] != '\0');
	branch_set_keys(&all, BY_SNI, pass->names, pass->names);
	branch_refuse(&r, &all);
	add_sniff(&r);
}
