/* SPDX-License-Identifier: MIT
 *
 * haproxy_global.c - `global`, logs, and resolvers.
 *
 * Main thread.
 */
#include <stdlib.h>
#include <string.h>

#include "haproxy.h"
#include "weir/base/check.h"
#include "weir/base/digit.h"
#include "weir/config/options.h"

static struct ini_section *global(struct haproxy *h)
{
	return ini_only(h->ini, IN_GLOBAL);
}

/* ---- one function per line ---- */

static void take_same(struct haproxy *h, struct old_line *line, const char *key)
{
	ini_add(h->ini, global(h), line, key, "%s", old_word(line, 1));
}

static void take_time(struct haproxy *h, struct old_line *line, const char *key)
{
	const char *time = haproxy_duration(h->arena, old_word(line, 1));

	ini_add(h->ini, global(h), line, key, "%s", time != NULL ? time : old_word(line, 1));
}

static void take_off(struct haproxy *h, struct old_line *line, const char *key)
{
	ini_add(h->ini, global(h), line, key, "off");
}

static void take_affinity(struct haproxy *h, struct old_line *line, const char *key)
{
	const char *cpus = old_word(line, 2);

	if (line->count != 3 || ini_find(global(h), key) != NULL) {
		old_set(h->arena, line, OLD_DIFFERENT,
			"weir pins its threads by itself: cpu-affinity = auto");
		return;
	}
	ini_add(h->ini, global(h), line, key, "%s", cpus);
	if (strncmp(old_word(line, 1), "auto", 4) != 0 && strchr(old_word(line, 1), '-') == NULL)
		old_set(h->arena, line, OLD_DIFFERENT, "the list is for all threads, one CPU each");
}

/* Ours is where weir.service has it: that of HAProxy may still be in use, and in a folder that weir may not
 * write to. */
static void take_socket(struct haproxy *h, struct old_line *line, const char *key)
{
	static const char *const owners[] = {"user", "group", "uid", "gid"};
	const char *address = haproxy_address(h->arena, old_word(line, 2), true);
	const char *text = "unix:" WORK_ADMIN_SOCKET;
	const struct ini_line *before = ini_find(global(h), key);
	bool owned = false;

	if (strncmp(address, "unix:", 5) != 0) {
		old_set(h->arena, line, OLD_LOST,
			"weir has no admin socket over TCP: write admin-socket = unix:%s; [stats] has what "
			"only reads",
			WORK_ADMIN_SOCKET);
		return;
	}
	for (size_t i = 3; i + 1 < line->count; i++) {
		const char *word = line->words[i];

		if (strcmp(word, "mode") == 0 || strcmp(word, "level") == 0)
			text = arena_printf(h->arena, "%s %s=%s", text, word, line->words[++i]);
		for (size_t n = 0; n < ARRAY_LEN(owners); n++)
			owned = owned || strcmp(word, owners[n]) == 0;
	}
	if (before != NULL && strcmp(before->value, text) != 0) {
		old_set(h->arena, line, OLD_LOST,
			"weir has one admin socket: that of the other line; allow-uid= and allow-gid= on it "
			"say who else may what");
		return;
	}
	if (before == NULL)
		ini_add(h->ini, global(h), line, key, "%s", text);
	old_set(h->arena, line, OLD_DIFFERENT,
		"it is %s, in the folder that weir.service makes; make /run/weir to start weir by hand%s",
		WORK_ADMIN_SOCKET, owned ? "; its owner is weir's user: group= names another group" : "");
}

static void take_nothing(struct haproxy *h, struct old_line *line, const char *why)
{
	old_set(h->arena, line, OLD_NO_EFFECT, "%s", why);
}

/* Read later, with the logs of all sections. */
static void take_log(struct haproxy *h, struct old_line *line, const char *key)
{
	(void)h;
	(void)line;
	(void)key;
}

static bool is_unix(const char *address)
{
	return address[0] == '/' || strncmp(address, "unix@", 5) == 0 || strncmp(address, "abns@", 5) == 0;
}

/* Words for all Unix listeners that have none of their own. */
static void take_unix_bind(struct haproxy *h, struct old_line *line, const char *key)
{
	(void)key;
	for (size_t i = 0; i < h->count; i++)
		for (size_t b = 0; b < h->proxies[i]->lists[LIST_BIND].count; b++)
			if (is_unix(old_word(h->proxies[i]->lists[LIST_BIND].list[b], 1)))
				return; /* the table says what to write */
	old_set(h->arena, line, OLD_NO_EFFECT, "no bind line is a Unix socket");
}

static const struct row {
	const char *word;
	const char *second; /* NULL = any */
	void (*take)(struct haproxy *h, struct old_line *line, const char *key);
	const char *key;
} rows[] = {
	{"maxconn", NULL, take_same, "maxconn"},
	{"maxpipes", NULL, take_same, "maxpipes"},
	{"nbthread", NULL, take_same, "threads"},
	{"cpu-map", NULL, take_affinity, "cpu-affinity"},
	{"hard-stop-after", NULL, take_time, "hard-stop-after"},
	{"grace", NULL, take_time, "shutdown-delay"},
	{"nosplice", NULL, take_off, "splice"},
	{"tune.pipesize", NULL, take_same, "pipe-size"},
	{"stats", "socket", take_socket, "admin-socket"},
	{"log", NULL, take_log, NULL},
	{"external-check", NULL, take_nothing, "'exec-checks' allows programs"},
	{"insecure-fork-wanted", NULL, take_nothing, "'exec-checks' allows programs"},
	{"insecure-setuid-wanted", NULL, take_nothing, "programs gain no rights"},
	{"nbproc", NULL, take_nothing, "weir is one process with threads"},
	{"unix-bind", NULL, take_unix_bind, NULL},
	{"stats", "timeout", take_nothing, "the admin socket closes idle clients by itself"},
};

void haproxy_global(struct haproxy *h, struct proxy *p)
{
	old_set(h->arena, p->head, OLD_CARRIED, NULL);
	if (p->head->above_count > 0 && global(h)->above_count == 0) {
		global(h)->above = p->head->above;
		global(h)->above_count = p->head->above_count;
	}
	for (size_t i = 0; i < p->all.count; i++) {
		struct old_line *line = p->all.list[i];

		for (size_t n = 0; n < ARRAY_LEN(rows); n++) {
			if (strcmp(rows[n].word, line->words[0]) != 0 ||
			    (rows[n].second != NULL && strcmp(rows[n].second, old_word(line, 1)) != 0))
				continue;
			rows[n].take(h, line, rows[n].key);
			break;
		}
	}
}

/* ---- logs ---- */

static const char *level_of(const char *word)
{
	static const char *const levels[][2] = {
	    {"emerg", "alert"},	    {"alert", "alert"},	  {"crit", "error"}, {"err", "error"},
	    {"warning", "warning"}, {"notice", "notice"}, {"info", "info"},  {"debug", "debug"}};

	for (size_t i = 0; i < ARRAY_LEN(levels); i++)
		if (strcmp(word, levels[i][0]) == 0)
			return levels[i][1];
	return NULL;
}

static bool is_stream(const char *target)
{
	return strcmp(target, "stdout") == 0 || strcmp(target, "stderr") == 0 ||
	       strcmp(target, "fd@1") == 0 || strcmp(target, "fd@2") == 0;
}

static bool is_known_log(struct haproxy *h, const char *value)
{
	for (size_t i = 0; i < global(h)->count; i++)
		if (strcmp(global(h)->lines[i].key, "log") == 0 &&
		    strncmp(global(h)->lines[i].value, value, strlen(value)) == 0)
			return true;
	return false;
}

static void add_log(struct haproxy *h, struct old_line *line)
{
	const char *target = old_word(line, 1), *text, *level = NULL, *facility = "";

	for (size_t i = 2; i < line->count; i++) {
		const char *word = line->words[i];

		if (strcmp(word, "len") == 0 || strcmp(word, "format") == 0 || strcmp(word, "sample") == 0 ||
		    strcmp(word, "profile") == 0) {
			i++;
		} else if (facility[0] == '\0') {
			facility = word;
		} else if (level == NULL && level_of(word) != NULL) {
			level = level_of(word);
		}
	}
	if (is_stream(target))
		text = "auto";
	else
		text = arena_printf(h->arena, "syslog:%s facility=%s",
				    strncmp(target, "udp@", 4) == 0 ? target + 4 : target, facility);
	if (is_known_log(h, text)) {
		old_set(h->arena, line, OLD_NO_EFFECT, "weir logs there already");
		return;
	}
	if (level != NULL)
		text = arena_printf(h->arena, "%s level=%s", text, level);
	if (h->tcplog)
		text = arena_printf(h->arena, "%s format=tcplog", text);
	ini_add(h->ini, global(h), line, "log", "%s", text)->stand_in = strchr(text, '$') != NULL ? "" : NULL;
	if (strcmp(target, "stdout") == 0)
		old_set(h->arena, line, OLD_DIFFERENT, "to stderr, or to the journal under systemd");
}

static void add_logs_of(struct haproxy *h, const struct proxy *p)
{
	for (size_t i = 0; p->kind == PROXY_GLOBAL && i < p->all.count; i++)
		if (strcmp(p->all.list[i]->words[0], "log") == 0)
			add_log(h, p->all.list[i]);
	for (size_t i = 0; p->out != NULL && i < p->lists[LIST_LOG].count; i++) {
		struct old_line *line = p->lists[LIST_LOG].list[i];

		if (line->fate != OLD_OPEN)
			continue;
		if (strcmp(old_word(line, 1), "global") == 0)
			old_set(h->arena, line, OLD_CARRIED, NULL);
		else
			add_log(h, line);
	}
}

void haproxy_log(struct haproxy *h)
{
	for (size_t i = 0; i < h->count; i++)
		add_logs_of(h, h->proxies[i]);
	if (!h->exec)
		return;
	ini_add(h->ini, global(h), NULL, "exec-checks", "4")->stand_in = "";
	work_note(h->work, "a weir that stays root runs no programs: for a start by root, and not by "
			   "weir.service, name a 'user' in [global]");
}

/* ---- resolvers ---- */

static void take_name_server(struct haproxy *h, struct old_line *line)
{
	const char *address = old_word(line, 2);
	struct ini_line *known = ini_find(global(h), "resolvers");
	const size_t len = strlen(address);

	if (strchr(address, '@') != NULL)
		address = strchr(address, '@') + 1;
	if (len > 3 && strcmp(old_word(line, 2) + len - 3, ":53") == 0)
		address = arena_strndup(h->arena, address, strlen(address) - 3);
	if (known == NULL) {
		ini_add(h->ini, global(h), line, "resolvers", "%s", address);
		return;
	}
	if (strstr(known->value, address) == NULL)
		known->value = arena_printf(h->arena, "%s %s", known->value, address);
	old_set(h->arena, line, OLD_CARRIED, NULL);
}

/* How long an answer holds: for all backends, as one section of resolvers does. */
static void take_hold(struct haproxy *h, struct old_line *line)
{
	static const char *const kinds[] = {"nx", "timeout", "refused", "other", "obsolete"};
	struct ini_section *defaults = ini_only(h->ini, IN_DEFAULTS);
	const char *time = haproxy_duration(h->arena, old_word(line, 2));

	if (strcmp(old_word(line, 1), "valid") == 0 && time != NULL) {
		if (ini_find(defaults, "resolve-interval") == NULL)
			ini_add(h->ini, defaults, line, "resolve-interval", "%s", time);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const char *key = arena_printf(h->arena, "hold-%s", kinds[i]);

		if (strcmp(old_word(line, 1), kinds[i]) != 0 || time == NULL)
			continue;
		if (ini_find(defaults, key) == NULL)
			ini_add(h->ini, defaults, line, key, "%s", time);
		else
			old_set(h->arena, line, OLD_DIFFERENT, "one %s for all resolvers", key);
		return;
	}
	old_set(h->arena, line, OLD_LOST,
		"weir has hold-nx, hold-timeout, hold-refused, hold-other, hold-obsolete");
}

void haproxy_resolvers(struct haproxy *h, struct proxy *p)
{
	old_set(h->arena, p->head, OLD_CARRIED, NULL);
	for (size_t i = 0; i < p->all.count; i++) {
		struct old_line *line = p->all.list[i];

		if (strcmp(line->words[0], "nameserver") == 0)
			take_name_server(h, line);
		else if (strcmp(line->words[0], "parse-resolv-conf") == 0)
			old_set(h->arena, line, OLD_CARRIED, NULL);
		else if (strcmp(line->words[0], "hold") == 0)
			take_hold(h, line);
		else
			old_set(h->arena, line, OLD_NO_EFFECT, "weir asks name servers in its own way");
	}
}
