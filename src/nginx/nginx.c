/* SPDX-License-Identifier: MIT
 *
 * nginx.c - nginx's configuration: the main context, and what is directly in stream { }.
 *
 * Main thread.
 */
#include "blocks.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/digit.h"
#include "weir/config/options.h"

struct old_line *nginx_find(const struct old_lines *block, const struct old_lines *up, const char *name)
{
	struct old_line *found = NULL;

	if (block->last != NULL)
		return index_find(block->last, name);
	for (size_t i = 0; i < block->count; i++)
		if (strcmp(block->list[i]->words[0], name) == 0)
			found = block->list[i];
	return found == NULL && up != NULL ? nginx_find(up, NULL, name) : found;
}

long long nginx_milliseconds(const char *text)
{
	static const struct {
		const char *unit;
		long long ms;
	} units[] = {{"ms", 1},	       {"s", 1000},	  {"m", 60000},	      {"h", 3600000}, {"d", 86400000},
		     {"w", 604800000}, {"M", 2592000000}, {"y", 31536000000}, {"", 1000}};
	long long sum = 0;

	if (!is_digit(text[0]))
		return -1;
	while (*text != '\0') {
		char *end;
		const long long number = strtoll(text, &end, 10);
		bool known = false;

		if (end == text || number > 10000000000)
			return -1;
		for (size_t i = 0; i < ARRAY_LEN(units) && !known; i++) {
			const size_t len = strlen(units[i].unit);

			known = strncmp(end, units[i].unit, len) == 0 && !isalpha((unsigned char)end[len]);
			sum += known ? number * units[i].ms : 0;
			text = known ? end + len : text;
		}
		if (!known)
			return -1;
		text += strspn(text, " ");
	}
	return sum;
}

const char *nginx_duration(struct arena *a, const char *text)
{
	const long long ms = nginx_milliseconds(text);

	return ms >= 0 ? work_duration(a, ms) : NULL;
}

const char *nginx_clean_name(struct arena *a, const char *text)
{
	char *clean = arena_strndup(a, text, strlen(text) < 40 ? strlen(text) : 40);

	for (char *c = clean; *c != '\0'; c++)
		if (!isalnum((unsigned char)*c) && *c != '_' && *c != '.')
			*c = '-';
	return clean[0] != '\0' ? clean : "stream";
}

const char *nginx_name(struct nginx *n, const char *text)
{
	const char *first = nginx_clean_name(n->arena, text), *name = first;
	struct nginx_used_name *used;

	used = index_find(&n->names, first);
	while (used != NULL && index_find(&n->names, name) != NULL)
		name = arena_printf(n->arena, "%s-%u", first, used->next++);
	used = arena_alloc(n->arena, sizeof(*used));
	used->next = 2;
	index_put(n->arena, &n->names, name, used);
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

/* A mask per worker: weir has a list of CPUs. */
static void take_affinity(struct nginx *n, struct old_line *line)
{
	const char *list = "";

	if (strcmp(old_word(line, 1), "auto") == 0 && line->count == 2) {
		ini_add(n->ini, global(n), line, "cpu-affinity", "auto");
		return;
	}
	for (size_t i = 1; i < line->count; i++) {
		const char *mask = line->words[i], *one = strchr(mask, '1');

		if (one == NULL || strchr(one + 1, '1') != NULL || strspn(mask, "01") != strlen(mask)) {
			work_by_table(n->work, line, 0);
			return;
		}
		list = arena_printf(n->arena, "%s%s%zu", list, i > 1 ? "," : "", strlen(one + 1));
	}
	ini_add(n->ini, global(n), line, "cpu-affinity", "%s", list);
}

static void take_threads(struct nginx *n, struct old_line *line)
{
	old_set(n->arena, line, OLD_NO_EFFECT, "its threads read files: stream reads none");
}

static void take_shutdown(struct nginx *n, struct old_line *line)
{
	const char *time = nginx_duration(n->arena, old_word(line, 1));

	ini_add(n->ini, global(n), line, "hard-stop-after", "%s", time != NULL ? time : old_word(line, 1));
}

static const struct row {
	const char *word;
	void (*take)(struct nginx *n, struct old_line *line);
} rows[] = {
	{"worker_processes", take_workers},
	{"worker_cpu_affinity", take_affinity},
	{"thread_pool", take_threads},
	{"worker_shutdown_timeout", take_shutdown},
	{"error_log", nginx_log},
	{"access_log", nginx_log},
	{"resolver", nginx_resolver},
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
	if (strcmp(line->words[0], "server") == 0)
		nginx_mark(n, line, OLD_LOST, "the default server block of its addresses is not converted");
	else if (strcmp(line->words[0], "upstream") == 0)
		nginx_mark(n, line, OLD_NO_EFFECT, "no server block that is converted uses it");
	else if (strcmp(line->words[0], "map") == 0 || strcmp(line->words[0], "geo") == 0 ||
		 strcmp(line->words[0], "split_clients") == 0)
		nginx_mark(n, line, OLD_NO_EFFECT, "no proxy_pass that is converted uses it");
	else if (strcmp(line->words[0], "match") == 0)
		nginx_mark(n, line, OLD_NO_EFFECT, "no health_check that is converted uses it");
}

/* What is left of a map. */
static void finish_map(struct nginx *n, struct old_line *block)
{
	const bool lost = block->fate == OLD_LOST;

	for (size_t i = 0; i < block->inside.count; i++)
		if (block->inside.list[i]->fate == OLD_OPEN)
			old_set(n->arena, block->inside.list[i], lost ? OLD_LOST : OLD_NO_EFFECT, "%s",
				lost ? "its map is lost" : "no client that is converted gets this value");
}

/* A directive that server blocks have unless they say otherwise, and that server.c carries. */
static bool is_inherited(const struct nginx *n, const struct old_line *line)
{
	static const char *const words[] = {"proxy_timeout",	   "proxy_connect_timeout",
					    "proxy_protocol",	   "proxy_protocol_timeout",
					    "proxy_bind",	   "proxy_next_upstream",
					    "preread_timeout",	   "proxy_next_upstream_tries",
					    "ssl_preread",	   "proxy_socket_keepalive",
					    "limit_conn",	   "limit_conn_zone",
					    "set_real_ip_from",	   "set",
					    "health_check",	   "health_check_timeout",
					    "proxy_upload_rate",   "proxy_download_rate",
					    "server_names_hash_bucket_size", "proxy_session_drop",
					    "allow",		   "deny",
					    "tcp_nodelay",	   "proxy_half_close",
					    "proxy_next_upstream_timeout"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(line->words[0], words[i]) == 0)
			return true;
	return n->served == 0 && strncmp(line->words[0], "ssl_", 4) != 0 &&
	       strncmp(line->words[0], "proxy_ssl", 9) != 0;
}

/* Does any block speak TLS to its servers? */
static bool has_proxy_ssl(const struct old_lines *lines)
{
	bool found = false;

	for (size_t i = 0; i < lines->count && !found; i++)
		found = has_proxy_ssl(&lines->list[i]->inside) ||
			(strcmp(lines->list[i]->words[0], "proxy_ssl") == 0 &&
			 strcmp(old_word(lines->list[i], 1), "on") == 0);
	return found;
}

static void finish(struct nginx *n, const struct old_lines *lines)
{
	const bool proxy_ssl = has_proxy_ssl(lines);

	for (size_t i = 0; i < lines->count; i++) {
		struct old_line *line = lines->list[i];

		if (line->fate == OLD_OPEN && line->block)
			finish_block(n, line);
		else if ((line->fate == OLD_CARRIED || line->fate == OLD_LOST) && line->block &&
			 strcmp(line->words[0], "server") != 0)
			finish_map(n, line);
		else if (line->fate == OLD_OPEN && strcmp(line->words[0], "log_format") == 0)
			old_set(n->arena, line, OLD_DIFFERENT,
				"weir's own format; log = ... format=\"{client} {server}\" makes another");
		else if (line->fate == OLD_OPEN && !proxy_ssl && strncmp(line->words[0], "proxy_ssl", 9) == 0)
			old_set(n->arena, line, OLD_NO_EFFECT, "proxy_ssl is not on");
		else if (line->fate == OLD_OPEN && is_inherited(n, line))
			old_set(n->arena, line, OLD_NO_EFFECT, "no server block that is converted uses it");
	}
}

/* The resolver of stream comes first, then those of blocks. */
static void take_resolvers(struct nginx *n, const struct old_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++) {
		const struct old_line *block = lines->list[i];

		for (size_t k = 0; k < block->inside.count; k++)
			if (strcmp(block->inside.list[k]->words[0], "resolver") == 0)
				nginx_resolver(n, block->inside.list[k]);
	}
}

static void convert_stream(struct nginx *n, const struct old_lines *lines)
{
	nginx_index(n, lines);
	for (size_t i = 0; i < lines->count; i++)
		if (!lines->list[i]->block)
			take_line(n, lines->list[i]);
	take_resolvers(n, lines);
	for (size_t i = 0; i < lines->count; i++)
		if (lines->list[i]->block && strcmp(lines->list[i]->words[0], "server") == 0)
			nginx_server(n, lines->list[i]);
	finish(n, lines);
}

static bool is_http(const struct old_lines *lines)
{
	static const char *const words[] = {"location", "root", "fastcgi_pass", "index", "rewrite"};

	for (size_t i = 0; i < lines->count; i++) {
		/* That of stream has a text. */
		if (strcmp(lines->list[i]->words[0], "return") == 0 &&
		    is_digit(old_word(lines->list[i], 1)[0]))
			return true;
		for (size_t w = 0; w < ARRAY_LEN(words); w++)
			if (strcmp(lines->list[i]->words[0], words[w]) == 0)
				return true;
	}
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
	work_note(n->work,
		  "nginx sends FIN when the other side resets or cannot be reached, at a timeout and to a "
		  "client that is denied: weir resets the connection");
	if (ini_find(s, "log") == NULL)
		work_note(n->work,
			  "nginx logs no sessions without access_log: weir does, to the journal or to "
			  "stderr; log = auto level=warning for errors alone");
	if (has_main && nginx_find(&n->work->reading->lines, NULL, "worker_processes") == NULL)
		work_note(n->work,
			  "nginx has one worker unless worker_processes says more: weir has one per CPU");
	if (ini_find(s, "hard-stop-after") == NULL)
		work_note(n->work,
			  "nginx waits for connections when it stops, unless worker_shutdown_timeout is set: "
			  "weir does for 30s (hard-stop-after)");
}

/* Has all been read that is included? */
static bool is_whole(const struct old_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		if ((strcmp(lines->list[i]->words[0], "include") == 0 &&
		     lines->list[i]->fate != OLD_CARRIED) ||
		    !is_whole(&lines->list[i]->inside))
			return false;
	return true;
}

void nginx_convert(struct work *w)
{
	struct nginx n = {.work = w, .arena = w->arena, .ini = &w->ini};
	const struct old_lines *lines = &w->reading->lines, *judged = NULL;

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
			n.whole = is_whole(&line->inside);
			convert_stream(&n, &line->inside);
			judged = &line->inside;
		} else if (strcmp(line->words[0], "events") == 0) {
			nginx_mark(&n, line, OLD_NO_EFFECT, "weir sizes itself from the machine's limits");
		} else {
			nginx_mark(&n, line, OLD_NOT_OURS, "weir forwards TCP: stream { } is converted");
		}
	}
	if (judged != NULL)
		nginx_judge_logs(&n, lines, judged);
	add_notes(&n, true);
}
