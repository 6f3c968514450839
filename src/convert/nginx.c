/* SPDX-License-Identifier: MIT
 *
 * nginx.c - nginx's configuration: the main context, and what is directly in stream { }.
 *
 * Main thread.
 */
#include "nginx.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/digit.h"
#include "weir/config/options.h"

struct old_line *nginx_find(const struct old_lines *block, const struct old_lines *up, const char *name)
{
	struct old_line *found = NULL;

	for (size_t i = 0; i < block->count; i++)
		if (strcmp(block->list[i]->words[0], name) == 0)
			found = block->list[i];
	return found == NULL && up != NULL ? nginx_find(up, NULL, name) : found;
}

struct old_line *nginx_block(const struct nginx *n, const char *kind, const char *name)
{
	for (size_t i = 0; i < n->stream->count; i++) {
		struct old_line *line = n->stream->list[i];

		if (line->block && strcmp(line->words[0], kind) == 0 && strcmp(old_word(line, 1), name) == 0)
			return line;
	}
	return NULL;
}

const char *nginx_duration(struct arena *a, const char *text)
{
	static const struct {
		const char *unit;
		long long ms;
	} units[] = {{"ms", 1},	       {"s", 1000},	  {"m", 60000},	      {"h", 3600000}, {"d", 86400000},
		     {"w", 604800000}, {"M", 2592000000}, {"y", 31536000000}, {"", 1000}};
	long long sum = 0;

	if (!is_digit(text[0]))
		return NULL;
	while (*text != '\0') {
		char *end;
		const long long number = strtoll(text, &end, 10);
		bool known = false;

		if (end == text || number > 10000000000)
			return NULL;
		for (size_t i = 0; i < ARRAY_LEN(units) && !known; i++) {
			const size_t len = strlen(units[i].unit);

			known = strncmp(end, units[i].unit, len) == 0 && !isalpha((unsigned char)end[len]);
			sum += known ? number * units[i].ms : 0;
			text = known ? end + len : text;
		}
		if (!known)
			return NULL;
		text += strspn(text, " ");
	}
	return work_duration(a, sum);
}

static struct nginx_used_name *find_name(struct nginx *n, const char *name)
{
	for (size_t i = 0; i < n->name_count; i++)
		if (strcmp(n->names[i].name, name) == 0)
			return &n->names[i];
	return NULL;
}

const char *nginx_name(struct nginx *n, const char *text)
{
	char *clean = arena_strndup(n->arena, text, strlen(text) < 40 ? strlen(text) : 40);
	const char *first = clean[0] != '\0' ? clean : "stream", *name = first;
	struct nginx_used_name *used;

	for (char *c = clean; *c != '\0'; c++)
		if (!isalnum((unsigned char)*c) && *c != '_' && *c != '.')
			*c = '-';
	used = find_name(n, first);
	while (used != NULL && find_name(n, name) != NULL)
		name = arena_printf(n->arena, "%s-%u", first, used->next++);
	n->names = arena_grow(n->arena, n->names, n->name_count, sizeof(*n->names));
	n->names[n->name_count++] = (struct nginx_used_name){name, 2};
	return name;
}

void nginx_mark(struct nginx *n, struct old_line *block, enum old_fate fate, const char *why)
{
	if (block->fate == OLD_OPEN || fate > block->fate)
		old_set(n->arena, block, fate, "%s", why);
	for (size_t i = 0; i < block->inside.count; i++)
		nginx_mark(n, block->inside.list[i], fate, why);
}

/* ---- the main context ---- */

static struct ini_section *global(struct nginx *n)
{
	return ini_only(n->ini, IN_GLOBAL);
}

static void take_workers(struct nginx *n, struct old_line *line)
{
	if (strcmp(old_word(line, 1), "auto") == 0)
		old_set(n->arena, line, OLD_CARRIED, NULL);
	else
		ini_add(n->ini, global(n), line, "threads", "%s", old_word(line, 1));
}

static void take_shutdown(struct nginx *n, struct old_line *line)
{
	const char *time = nginx_duration(n->arena, old_word(line, 1));

	ini_add(n->ini, global(n), line, "hard-stop-after", "%s", time != NULL ? time : old_word(line, 1));
}

static const char *level_of(const char *word)
{
	static const char *const levels[][2] = {{"debug", "debug"},  {"info", "info"},	 {"notice", "notice"},
						{"warn", "warning"}, {"error", "error"}, {"crit", "error"},
						{"alert", "alert"},  {"emerg", "alert"}};

	for (size_t i = 0; i < ARRAY_LEN(levels); i++)
		if (strcmp(word, levels[i][0]) == 0)
			return levels[i][1];
	return NULL;
}

/* "syslog:server=ADDRESS,facility=local7,..." */
static const char *syslog_target(struct nginx *n, const char *text)
{
	const char *server = strstr(text, "server="), *facility = strstr(text, "facility=");
	const char *out;

	if (server == NULL)
		return NULL;
	server += 7;
	out = arena_printf(n->arena, "syslog:%.*s", (int)strcspn(server, ","), server);
	if (facility == NULL)
		return arena_printf(n->arena, "%s facility=local7", out);
	facility += 9;
	return arena_printf(n->arena, "%s facility=%.*s", out, (int)strcspn(facility, ","), facility);
}

/* error_log and access_log. */
static void take_log(struct nginx *n, struct old_line *line)
{
	const bool access = line->words[0][0] == 'a';
	const char *path = old_word(line, 1), *text, *level = access ? NULL : level_of(old_word(line, 2));

	if (strcmp(path, "off") == 0) {
		old_set(n->arena, line, OLD_DIFFERENT,
			"weir always logs sessions: log-sample = errors for fewer");
		return;
	}
	if (strcmp(path, "stderr") == 0 || strcmp(path, "/dev/stderr") == 0 ||
	    strcmp(path, "/dev/stdout") == 0)
		text = "auto";
	else if (strncmp(path, "syslog:", 7) == 0)
		text = syslog_target(n, path);
	else
		text = arena_printf(n->arena, "file:%s%s", path[0] == '/' ? "" : "/var/log/nginx/", path);
	if (text == NULL || strchr(path, '$') != NULL) {
		work_by_table(n->work, line, 0);
		return;
	}
	for (size_t i = 0; i < global(n)->count; i++) {
		const struct ini_line *known = &global(n)->lines[i];

		if (strcmp(known->key, "log") != 0 || strncmp(known->value, text, strlen(text)) != 0)
			continue;
		old_set(n->arena, line, OLD_NO_EFFECT, "weir logs there already");
		return;
	}
	if (level != NULL)
		text = arena_printf(n->arena, "%s level=%s", text, level);
	ini_add(n->ini, global(n), line, "log", "%s", text)->stand_in = "";
	if (access)
		old_set(n->arena, line, OLD_DIFFERENT,
			"in weir's format; format=\"{client} ...\" makes another");
}

static void take_resolver(struct nginx *n, struct old_line *line)
{
	const char *text = "";

	for (size_t i = 1; i < line->count; i++) {
		if (strncmp(line->words[i], "valid=", 6) == 0)
			continue;
		if (strcmp(line->words[i], "ipv6=off") == 0 || strcmp(line->words[i], "ipv4=off") == 0) {
			struct ini_section *defaults = ini_only(n->ini, IN_DEFAULTS);

			if (ini_find(defaults, "resolve-family") == NULL)
				ini_add(n->ini, defaults, line, "resolve-family", "%s",
					line->words[i][3] == '6' ? "ipv4" : "ipv6");
		} else if (strchr(line->words[i], '=') == NULL) {
			text = ini_join(n->arena, text, line->words[i]);
		}
	}
	if (text[0] != '\0' && ini_find(global(n), "resolvers") == NULL)
		ini_add(n->ini, global(n), line, "resolvers", "%s", text);
	old_set(n->arena, line, OLD_CARRIED, NULL);
}

static const struct row {
	const char *word;
	void (*take)(struct nginx *n, struct old_line *line);
} rows[] = {
	{"worker_processes", take_workers},
	{"worker_shutdown_timeout", take_shutdown},
	{"error_log", take_log},
	{"access_log", take_log},
	{"resolver", take_resolver},
};

/* A directive of the main context or of stream that is one line. */
static void take_line(struct nginx *n, struct old_line *line)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strcmp(line->words[0], rows[i].word) != 0)
			continue;
		rows[i].take(n, line);
		return;
	}
}

/* ---- stream ---- */

static void finish_block(struct nginx *n, struct old_line *line)
{
	if (strcmp(line->words[0], "upstream") == 0)
		nginx_mark(n, line, OLD_NO_EFFECT, "no server block that is converted uses it");
	else if (strcmp(line->words[0], "map") == 0 || strcmp(line->words[0], "geo") == 0)
		nginx_mark(n, line, OLD_NO_EFFECT, "no proxy_pass that is converted uses it");
}

static void finish(struct nginx *n, const struct old_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++) {
		struct old_line *line = lines->list[i];

		if (line->fate == OLD_OPEN && line->block)
			finish_block(n, line);
		else if (line->fate == OLD_OPEN && strcmp(line->words[0], "log_format") == 0)
			old_set(n->arena, line, OLD_DIFFERENT,
				"weir's own format; log = ... format=\"{client} {server}\" makes another");
	}
}

static void convert_stream(struct nginx *n, const struct old_lines *lines)
{
	n->stream = lines;
	for (size_t i = 0; i < lines->count; i++)
		if (!lines->list[i]->block)
			take_line(n, lines->list[i]);
	for (size_t i = 0; i < lines->count; i++)
		if (lines->list[i]->block && strcmp(lines->list[i]->words[0], "server") == 0)
			nginx_server(n, lines->list[i]);
	finish(n, lines);
}

static bool is_http(const struct old_lines *lines)
{
	static const char *const words[] = {"location", "root", "fastcgi_pass", "index", "return", "rewrite"};

	for (size_t i = 0; i < lines->count; i++)
		for (size_t w = 0; w < ARRAY_LEN(words); w++)
			if (strcmp(lines->list[i]->words[0], words[w]) == 0)
				return true;
	return false;
}

/* A file that is included in stream { }, without that. */
static bool is_inside_of_stream(const struct old_lines *lines)
{
	bool servers = false;

	for (size_t i = 0; i < lines->count; i++) {
		const struct old_line *line = lines->list[i];

		if (strcmp(line->words[0], "stream") == 0 || strcmp(line->words[0], "http") == 0 ||
		    strcmp(line->words[0], "events") == 0 || is_http(&line->inside))
			return false;
		servers = servers || (line->block && strcmp(line->words[0], "server") == 0);
	}
	return servers;
}

/* Defaults of nginx's that a person would not want to keep, and that are therefore not written. */
static void add_notes(struct nginx *n, bool has_main)
{
	const struct ini_section *s = global(n);

	work_note(n->work,
		  "nginx closes both directions when one side has finished, unless proxy_half_close is on: "
		  "weir keeps the other one open, for timeout-half-closed");
	if (has_main && nginx_find(&n->work->reading->lines, NULL, "worker_processes") == NULL)
		work_note(n->work,
			  "nginx has one worker unless worker_processes says more: weir has one per CPU");
	if (ini_find(s, "hard-stop-after") == NULL)
		work_note(n->work,
			  "nginx waits for connections when it stops, unless worker_shutdown_timeout is set: "
			  "weir does for 30s (hard-stop-after)");
}

void convert_nginx(struct work *w)
{
	struct nginx n = {.work = w, .arena = w->arena, .ini = &w->ini};
	const struct old_lines *lines = &w->reading->lines;

	ini_only(&w->ini, IN_GLOBAL);
	if (is_inside_of_stream(lines)) {
		convert_stream(&n, lines);
		add_notes(&n, false);
		return;
	}
	for (size_t i = 0; i < lines->count; i++) {
		struct old_line *line = lines->list[i];

		if (!line->block) {
			take_line(&n, line);
		} else if (strcmp(line->words[0], "stream") == 0) {
			old_set(n.arena, line, OLD_CARRIED, NULL);
			convert_stream(&n, &line->inside);
		} else if (strcmp(line->words[0], "events") == 0) {
			nginx_mark(&n, line, OLD_NO_EFFECT, "weir sizes itself from the machine's limits");
		} else {
			nginx_mark(&n, line, OLD_NOT_OURS, "weir forwards TCP: stream { } is converted");
		}
	}
	add_notes(&n, true);
}
