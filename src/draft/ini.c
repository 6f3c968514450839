/* SPDX-License-Identifier: MIT
 *
 * ini.c - builds and writes the INI.
 *
 * Main thread.
 */
#include "weir/draft/ini.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/options.h"
#include "weir/config/reader.h"
#include "weir/draft/index.h"

#define ALIGN_MAX 24

struct ini_section *ini_section(struct ini *ini, unsigned kind, const char *name, struct old_line *from)
{
	struct ini_section *s = arena_alloc(ini->arena, sizeof(*s));

	*s = (struct ini_section){.kind = kind, .name = name, .from = from};
	if (from != NULL) {
		s->above = from->above;
		s->above_count = from->above_count;
		from->above_count = 0;
	}
	ini->sections = arena_grow(ini->arena, ini->sections, ini->count, sizeof(struct ini_section *));
	ini->sections[ini->count++] = s;
	return s;
}

struct ini_section *ini_only(struct ini *ini, unsigned kind)
{
	struct ini_section *found = NULL;
	size_t at = 0;

	for (; at < ARRAY_LEN(ini->only) && ini->only[at] != NULL; at++)
		if (ini->only[at]->kind == kind)
			return ini->only[at];
	for (size_t i = 0; i < ini->count && found == NULL; i++)
		if (ini->sections[i]->kind == kind)
			found = ini->sections[i];
	if (found == NULL)
		found = ini_section(ini, kind, NULL, NULL);
	check(at < ARRAY_LEN(ini->only));
	ini->only[at] = found;
	return found;
}

struct ini_line *ini_add(struct ini *ini, struct ini_section *s, struct old_line *from, const char *key,
			 const char *fmt, ...)
{
	struct ini_line *line;
	va_list ap;

	s->lines = arena_grow(ini->arena, s->lines, s->count, sizeof(*s->lines));
	line = &s->lines[s->count++];
	*line = (struct ini_line){.key = key, .from = from};
	va_start(ap, fmt);
	line->value = arena_vprintf(ini->arena, fmt, ap);
	va_end(ap);
	/* What variables stand for is known on the target machine. */
	if (strstr(line->value, "${") != NULL)
		line->stand_in = "";
	if (from != NULL && from->fate < OLD_CARRIED)
		old_set(ini->arena, from, OLD_CARRIED, NULL);
	if (from != NULL) {
		line->above = from->above;
		line->above_count = from->above_count;
		line->behind = from->behind;
		from->above_count = 0;
		from->behind = NULL;
	}
	return line;
}

struct ini_line *ini_find(const struct ini_section *s, const char *key)
{
	for (size_t i = 0; i < s->count; i++)
		if (!s->lines[i].left_out && strcmp(s->lines[i].key, key) == 0)
			return &s->lines[i];
	return NULL;
}

const char *ini_join(struct arena *a, const char *first, const char *second)
{
	if (strlen(first) > READER_LINE_MAX)
		return first;
	return first[0] == '\0'	   ? second
	       : second[0] == '\0' ? first
				   : arena_printf(a, "%s %s", first, second);
}

const char *ini_quote(struct arena *a, const char *bytes, size_t len)
{
	char *out = arena_alloc(a, len * 4 + 3), *at = out;

	*at++ = '"';
	for (size_t i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)bytes[i];

		if (c == '"' || c == '\\') {
			*at++ = '\\';
			*at++ = (char)c;
		} else if (c == '\r' || c == '\n' || c == '\t') {
			*at++ = '\\';
			*at++ = c == '\r' ? 'r' : c == '\n' ? 'n' : 't';
		} else if (c < ' ' || c >= 0x7f) {
			*at++ = '\\';
			*at++ = 'x';
			*at++ = "0123456789abcdef"[c >> 4];
			*at++ = "0123456789abcdef"[c & 15];
		} else {
			*at++ = (char)c;
		}
	}
	*at++ = '"';
	*at = '\0';
	return out;
}

/* ---- shortening ---- */

static const struct option *option_of(const struct ini_section *s, const char *key)
{
	return option_find(s->kind, key).option;
}

/* Can the line move to [defaults]: is its key allowed there, and not one of those that add up? */
static bool may_move(const struct ini_section *s, const struct ini_line *line)
{
	const struct option *o = option_of(s, line->key);

	return !line->left_out && line->key[0] != '\0' && strcmp(line->key, "sniff") != 0 && o != NULL &&
	       (o->sections & IN_DEFAULTS) != 0 && (o->flags & (OPT_REPEAT | OPT_NAMED)) == 0;
}

/* What the sections say about a key. */
struct key_use {
	size_t sections;     /* that have it, and that it has an effect on */
	size_t all;	     /* that it has an effect on; 0 = not counted yet */
	struct index values; /* to how many of these have the value: struct value_use */
};

struct value_use {
	size_t sections;
};

static void count_line(struct ini *ini, struct index *keys, const struct ini_section *s,
		       const struct ini_line *line)
{
	struct key_use *key = index_find(keys, line->key);
	struct value_use *value;

	if (key == NULL) {
		key = arena_alloc(ini->arena, sizeof(*key));
		index_put(ini->arena, keys, line->key, key);
	}
	if (s->left_out || (s->kind & option_of(s, line->key)->effect) == 0)
		return;
	key->sections++;
	value = index_find(&key->values, line->value);
	if (value == NULL) {
		value = arena_alloc(ini->arena, sizeof(*value));
		index_put(ini->arena, &key->values, line->value, value);
	}
	value->sections++;
}

static void count_lines(struct ini *ini, struct index *keys)
{
	for (size_t i = 0; i < ini->count; i++) {
		const struct ini_section *s = ini->sections[i];

		for (size_t l = 0; (s->kind & IN_PROXIES) != 0 && l < s->count; l++)
			if (may_move(s, &s->lines[l]) && ini_find(s, s->lines[l].key) == &s->lines[l])
				count_line(ini, keys, s, &s->lines[l]);
	}
}

/* Do several sections have this very line, and have all that it has an effect on a line of the key? */
static bool is_shared(const struct ini *ini, const struct index *keys, const struct option *o,
		      const struct ini_line *line)
{
	struct key_use *key = index_find(keys, line->key);
	const struct value_use *value = key != NULL ? index_find(&key->values, line->value) : NULL;

	if (value == NULL || value->sections < 2)
		return false;
	for (size_t i = 0; i < ini->count && (i > 0 || key->all == 0); i++) {
		const struct ini_section *s = ini->sections[i];

		key->all += !s->left_out && (s->kind & IN_PROXIES & o->effect) != 0;
	}
	return key->sections == key->all;
}

static void move_to_defaults(struct ini *ini, const struct ini_line *line)
{
	struct ini_section *defaults = ini_only(ini, IN_DEFAULTS);
	const struct ini_line moved = *line;

	defaults->lines = arena_grow(ini->arena, defaults->lines, defaults->count, sizeof(*defaults->lines));
	defaults->lines[defaults->count++] = moved;
	for (size_t i = 0; i < ini->count; i++) {
		struct ini_section *s = ini->sections[i];
		struct ini_line *other = s != defaults ? ini_find(s, moved.key) : NULL;

		if (other != NULL && (s->kind & IN_PROXIES) != 0 && strcmp(other->value, moved.value) == 0)
			other->left_out = true;
	}
}

static void hoist(struct ini *ini)
{
	const size_t count = ini->count;
	struct index keys = {.count = 0};

	count_lines(ini, &keys);
	for (size_t i = 0; i < count; i++) {
		struct ini_section *s = ini->sections[i];

		for (size_t l = 0; (s->kind & IN_PROXIES) != 0 && l < s->count; l++) {
			struct ini_line *line = &s->lines[l];

			if (!may_move(s, line) || ini_find(ini_only(ini, IN_DEFAULTS), line->key) != NULL)
				continue;
			if (is_shared(ini, &keys, option_of(s, line->key), line))
				move_to_defaults(ini, line);
		}
	}
}

/* Nanoseconds of a plain duration, -1 for anything else. */
static long long duration_of(const char *text)
{
	static const struct {
		const char *unit;
		long long ns;
	} units[] = {{"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000}};
	char *end;
	const long long n = strtoll(text, &end, 10);

	for (size_t i = 0; i < ARRAY_LEN(units) && end > text; i++)
		if (strcmp(end, units[i].unit) == 0)
			return n * units[i].ns;
	return -1;
}

static bool same_value(const char *a, const char *b)
{
	return strcmp(a, b) == 0 || (duration_of(a) >= 0 && duration_of(a) == duration_of(b));
}

/* Is the value our default, and nothing in [defaults] says otherwise? */
static bool is_default(struct ini *ini, const struct ini_section *s, const struct ini_line *line)
{
	const struct option *o = option_of(s, line->key);

	if (o == NULL || o->def == NULL || !same_value(o->def, line->value))
		return false;
	if (s->kind == IN_DEFAULTS)
		return true;
	if ((strcmp(line->key, "timeout-client") == 0 || strcmp(line->key, "timeout-server") == 0) &&
	    ini_find(ini_only(ini, IN_DEFAULTS), "timeout-idle") != NULL)
		return false;
	return ini_find(ini_only(ini, IN_DEFAULTS), line->key) == NULL;
}

/* ---- order ---- */

/* Keys in the order in which a person writes them; a '*' stands for the rest of a word. */
static const char *const order[] = {
	"bind*",	       "maxconn",	   "maxconn-per-source",
	"rate-limit*",     "limit-exempt",	   "trusted",
	"allow-from",      "deny-from",	   "sniff",
	"use-backend *",   "default-backend",  "fallback-backend",
	"balance",	       "sticky",	   "persist",
	"send-proxy",      "proxy-*",	   "check",
	"check-*",	       "observe",	   "on-marked-down",
	"retries",	       "redispatch",	   "allbackups",
	"resolve-*",       "timeout-*",	   "tcp-*",
	"client-*",	       "server-keepalive", "log-*",
	"server-defaults", "server*",	   "servers*",
};

static size_t place(const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		const size_t len = strlen(order[i]);

		if (order[i][len - 1] == '*' ? strncmp(key, order[i], len - 1) == 0
					     : strcmp(key, order[i]) == 0)
			return i;
	}
	return 0;
}

/* Equal ones keep their order. */
static void put_in_order(struct ini *ini, struct ini_section *s)
{
	size_t from[ARRAY_LEN(order) + 1] = {0};
	struct ini_line *lines = arena_alloc(ini->arena, (s->count + 1) * sizeof(*lines));

	for (size_t i = 0; i < s->count; i++)
		from[place(s->lines[i].key) + 1]++;
	for (size_t i = 1; i < ARRAY_LEN(order); i++)
		from[i] += from[i - 1];
	for (size_t i = 0; i < s->count; i++)
		lines[from[place(s->lines[i].key)]++] = s->lines[i];
	for (size_t i = 0; i < s->count; i++)
		s->lines[i] = lines[i];
}

/* Two lines become the one that means both. */
static void join_idle(struct ini_section *s)
{
	struct ini_line *client = ini_find(s, "timeout-client"), *server = ini_find(s, "timeout-server");

	if (client == NULL || server == NULL || strcmp(client->value, server->value) != 0)
		return;
	client->key = "timeout-idle";
	server->left_out = true;
}

void ini_shorten(struct ini *ini)
{
	ini_only(ini, IN_DEFAULTS);
	hoist(ini);
	for (size_t i = 0; i < ini->count; i++)
		if ((ini->sections[i]->kind & (IN_PROXIES | IN_DEFAULTS)) != 0)
			put_in_order(ini, ini->sections[i]);
	for (size_t pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < ini->count; i++) {
			struct ini_section *s = ini->sections[i];

			for (size_t l = 0; (pass == 0) == (s->kind == IN_DEFAULTS) && l < s->count; l++)
				if (is_default(ini, s, &s->lines[l]))
					s->lines[l].left_out = true;
		}
		if (pass == 0)
			join_idle(ini_only(ini, IN_DEFAULTS));
	}
}

/* "[::]:443 v6only OPTIONS" for "0.0.0.0:443 OPTIONS". */
static const char *other_family(struct arena *a, const char *value)
{
	const char *port = value + strlen("0.0.0.0");
	const size_t len = strcspn(port, " ");

	return arena_printf(a, "[::]%.*s v6only%s", (int)len, port, port + len);
}

void ini_join_families(struct ini *ini, struct ini_section *s)
{
	struct index sixes = {.count = 0};

	for (size_t i = s->count; i > 0; i--)
		if (strcmp(s->lines[i - 1].key, "bind") == 0 && s->lines[i - 1].value[0] == '[')
			index_put(ini->arena, &sixes, s->lines[i - 1].value, &s->lines[i - 1]);
	for (size_t i = 0; i < s->count; i++) {
		struct ini_line *four = &s->lines[i], *six;

		if (strcmp(four->key, "bind") != 0 || strncmp(four->value, "0.0.0.0:", 8) != 0)
			continue;
		six = index_find(&sixes, other_family(ini->arena, four->value));
		if (six == NULL || six->left_out)
			continue;
		six->left_out = true;
		four->value += strlen("0.0.0.0");
	}
}

/* ---- writing ---- */

static bool is_empty(const struct ini_section *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (!s->lines[i].left_out)
			return false;
	return true;
}

static bool is_written(const struct ini_section *s)
{
	return !s->left_out && ((s->kind & IN_PROXIES) != 0 || !is_empty(s));
}

static void write_head(const struct ini_section *s, struct text *out)
{
	text_printf(out, "[%s%s%s]\n", section_word(s->kind), s->name != NULL ? " " : "",
		    s->name != NULL ? s->name : "");
}

static void write_comments(struct text *out, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		text_printf(out, "#%s%s\n", list[i][0] != '\0' ? " " : "", list[i]);
}

static void write_section(const struct ini_section *s, struct text *out)
{
	size_t width = 0;

	if (out->len > 0)
		text_printf(out, "\n");
	write_comments(out, s->above, s->above_count);
	write_head(s, out);
	for (size_t i = 0; i < s->count; i++) {
		const size_t len = strlen(s->lines[i].key);

		if (!s->lines[i].left_out && len > width && len <= ALIGN_MAX)
			width = len;
	}
	for (size_t i = 0; i < s->count; i++) {
		const struct ini_line *line = &s->lines[i];

		if (line->left_out)
			continue;
		write_comments(out, line->above, line->above_count);
		if (line->key[0] == '\0')
			text_printf(out, "# %s", line->value);
		else
			text_printf(out, "%-*s = %s", (int)width, line->key, line->value);
		if (line->behind != NULL && line->behind[0] != '\0')
			text_printf(out, "  # %s", line->behind);
		text_printf(out, "\n");
	}
}

/* The order of sections: what holds for all comes first. */
static unsigned rank(const struct ini_section *s)
{
	return s->kind == IN_GLOBAL ? 0 : s->kind == IN_STATS ? 1 : s->kind == IN_DEFAULTS ? 2 : 3;
}

void ini_write(struct ini *ini, struct text *out)
{
	for (unsigned r = 0; r < 4; r++)
		for (size_t i = 0; i < ini->count; i++)
			if (rank(ini->sections[i]) == r && is_written(ini->sections[i]))
				write_section(ini->sections[i], out);
}

static void add_to_map(struct ini *ini, struct ini_origin **map, size_t *count, struct ini_origin origin)
{
	*map = arena_grow(ini->arena, *map, *count, sizeof(**map));
	(*map)[(*count)++] = origin;
}

/* Is it judged here: does it depend on nothing that only the target machine has, and has this build its key?
 */
static bool is_judged(const struct ini_section *s, const struct ini_line *line)
{
	return !line->left_out && line->key[0] != '\0' &&
	       (line->stand_in == NULL || line->stand_in[0] != '\0') && option_of(s, line->key) != NULL;
}

void ini_write_judged(struct ini *ini, struct text *out, struct ini_origin **map, size_t *map_count)
{
	*map = NULL;
	*map_count = 0;
	for (size_t i = 0; i < ini->count; i++) {
		struct ini_section *s = ini->sections[i];

		if (!is_written(s))
			continue;
		write_head(s, out);
		add_to_map(ini, map, map_count, (struct ini_origin){NULL, s});
		for (size_t l = 0; l < s->count; l++) {
			struct ini_line *line = &s->lines[l];

			if (!is_judged(s, line))
				continue;
			text_printf(out, "%s = %s\n", line->key,
				    line->stand_in != NULL ? line->stand_in : line->value);
			add_to_map(ini, map, map_count, (struct ini_origin){line, s});
		}
	}
}
