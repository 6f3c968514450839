/* SPDX-License-Identifier: MIT
 *
 * global.c - `global`.
 *
 * Main thread.
 */
#include <stdlib.h>
#include <string.h>

#include "sections.h"
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

static bool is_unix(const char *address)
{
	return address[0] == '/' || strncmp(address, "unix@", 5) == 0 || strncmp(address, "abns@", 5) == 0;
}

/* What a 'stats socket' line says of a Unix socket. */
struct socket {
	const char *text; /* the value of ours */
	bool owned;	  /* it names an owner or a group */
	bool shared;	  /* others than root may get to it */
};

/* Without a mode, a socket has that of HAProxy's umask: its owner alone may write, and that is root. */
static struct socket read_socket(struct haproxy *h, const struct old_line *line)
{
	static const char *const owners[] = {"user", "group", "uid", "gid"};
	struct socket s = {.text = "unix:" WORK_ADMIN_SOCKET};
	const char *owner = "root";
	bool group = false, by_group = false, by_all = false;

	for (size_t i = 3; i + 1 < line->count; i++) {
		const char *word = line->words[i], *value = line->words[i + 1];

		if (strcmp(word, "mode") == 0) {
			const unsigned long mode = strtoul(value, NULL, 8);

			by_group = (mode & 020) != 0;
			by_all = (mode & 02) != 0;
		}
		if (strcmp(word, "user") == 0 || strcmp(word, "uid") == 0)
			owner = value;
		if (strcmp(word, "group") == 0 || strcmp(word, "gid") == 0)
			group = strcmp(value, "root") != 0 && strcmp(value, "0") != 0;
		for (size_t n = 0; n < ARRAY_LEN(owners); n++)
			s.owned = s.owned || strcmp(word, owners[n]) == 0;
		if (strcmp(word, "mode") == 0 || strcmp(word, "level") == 0)
			s.text = arena_printf(h->arena, "%s %s=%s", s.text, word, line->words[++i]);
	}
	s.shared = by_all || (by_group && group) || (strcmp(owner, "root") != 0 && strcmp(owner, "0") != 0);
	return s;
}

/* A second socket: ours is one, and root may do everything there, so it is enough for one of root's. */
static void take_second(struct haproxy *h, struct old_line *line, const struct socket *s,
			struct ini_line *before)
{
	static const char *const roots = "it is root's, who may do everything at the socket of line %u";
	const struct old_line *first = before->from;

	if (strcmp(before->value, s->text) == 0) {
		old_set(h->arena, line, OLD_NO_EFFECT, "weir is one process with one admin socket");
	} else if (!s->shared) {
		old_set(h->arena, line, OLD_NO_EFFECT, roots, first->line);
	} else if (!read_socket(h, first).shared) {
		old_set(h->arena, before->from, OLD_NO_EFFECT, roots, line->line);
		before->value = s->text;
		before->from = line;
		old_set(h->arena, line, OLD_CARRIED, NULL);
	} else {
		old_set(h->arena, line, OLD_LOST,
			"weir has one admin socket: that of the other line; allow-uid= and allow-gid= on it "
			"say who else may what");
	}
}

/* Ours is where weir.service has it: that of HAProxy may still be in use, and in a folder that weir may not
 * write to. */
static void take_socket(struct haproxy *h, struct old_line *line, const char *key)
{
	const char *address = haproxy_address(h->arena, old_word(line, 2), true);
	struct ini_line *before = ini_find(global(h), key);
	struct socket s;

	if (strncmp(address, "unix:", 5) != 0) {
		old_lines_add(h->arena, &h->tcp_sockets, line);
		return;
	}
	s = read_socket(h, line);
	if (before != NULL)
		take_second(h, line, &s, before);
	else
		ini_add(h->ini, global(h), line, key, "%s", s.text);
	if (s.owned && line->fate == OLD_CARRIED)
		old_set(h->arena, line, OLD_DIFFERENT,
			"its owner is weir's user: group= names another group");
	work_note(h->work, "the admin socket is %s, because HAProxy may still listen at its own",
		  WORK_ADMIN_SOCKET);
}

static void take_nothing(struct haproxy *h, struct old_line *line, const char *why)
{
	old_set(h->arena, line, OLD_NO_EFFECT, "%s", why);
}

static void take_other(struct haproxy *h, struct old_line *line, const char *why)
{
	old_set(h->arena, line, OLD_DIFFERENT, "%s", why);
}

/* What HAProxy connects to is below it: server_words.c needs it. */
static void take_chroot(struct haproxy *h, struct old_line *line, const char *key)
{
	(void)key;
	if (old_word(line, 1)[0] == '/' && old_word(line, 1)[1] != '\0')
		h->chroot = old_word(line, 1);
}

static void take_low_ports(struct haproxy *h, struct old_line *line, const char *key)
{
	(void)key;
	if (strcmp(old_word(line, 1), "on") == 0)
		old_set(h->arena, line, OLD_DIFFERENT, "weir accepts connections from low ports");
}

static void take_processes(struct haproxy *h, struct old_line *line, const char *key)
{
	(void)key;
	if (strtoul(old_word(line, 1), NULL, 10) > 1)
		old_set(h->arena, line, OLD_DIFFERENT,
			"weir is one process: a limit, such as maxconn, holds for all of it, and not for "
			"each of %s", old_word(line, 1));
	else
		old_set(h->arena, line, OLD_NO_EFFECT, "weir is one process with threads");
}

static void take_host(struct haproxy *h, struct old_line *line, const char *key)
{
	(void)key;
	old_set(h->arena, line, line->count > 1 ? OLD_DIFFERENT : OLD_NO_EFFECT,
		"a log host is told the name of this machine, and a local syslog knows it");
}

/* Does a line of a section that forwards TCP name a script? */
static bool tcp_names_lua(const struct haproxy *h)
{
	for (size_t i = 0; i < h->count; i++) {
		const struct proxy *p = h->proxies[i];

		if (p->kind == PROXY_GLOBAL || p->kind == PROXY_OTHER || p->why_not != NULL)
			continue;
		for (size_t l = 0; l < p->all.count; l++)
			for (size_t w = 0; w < p->all.list[l]->count; w++)
				if (strstr(p->all.list[l]->words[w], "lua.") != NULL)
					return true;
	}
	return false;
}

static void take_lua(struct haproxy *h, struct old_line *line, const char *key)
{
	(void)key;
	if (!tcp_names_lua(h)) /* else the table says what it is */
		old_set(h->arena, line, OLD_NOT_OURS,
			"weir has no Lua: no section that forwards TCP uses it, but tasks that it starts by "
			"itself are missing");
}

/* Read later, with the logs of all sections. */
static void take_log(struct haproxy *h, struct old_line *line, const char *key)
{
	(void)h;
	(void)line;
	(void)key;
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

#define GLOBAL_VARIABLE "a variable has an effect where it is used: those lines say which"

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
	{"nbproc", NULL, take_processes, NULL},
	{"chroot", NULL, take_chroot, NULL},
	{"harden.reject-privileged-ports.tcp", NULL, take_low_ports, NULL},
	{"unix-bind", NULL, take_unix_bind, NULL},
	{"server-state-file", NULL, take_other, HAPROXY_STATE_FILE},
	{"server-state-base", NULL, take_other, HAPROXY_STATE_FILE},
	{"log-tag", NULL, take_other, "syslog is told that the lines are weir's"},
	{"log-send-hostname", NULL, take_host, NULL},
	{"stats", "timeout", take_nothing, "the admin socket closes idle clients by itself"},
	{"thread-groups", NULL, take_nothing, "every thread of weir serves every listener"},
	{"thread-group", NULL, take_nothing, "every thread of weir serves every listener"},
	{"debug", NULL, take_nothing, "it shows what HTTP clients send; weir stays in the foreground"},
	{"quiet", NULL, take_nothing, "weir -q prints nothing at its start"},
	{"set-dumpable", NULL, take_nothing, "LimitCORE= in the unit allows core files"},
	{"localpeer", NULL, take_nothing, "weir has no 'peers' sections"},
	{"anonkey", NULL, take_nothing, "it is for what the admin socket prints"},
	{"numa-cpu-mapping", NULL, take_nothing, "weir pins its threads by itself: cpu-affinity = auto"},
	{"nopoll", NULL, take_nothing, "weir uses epoll or io_uring"},
	{"set-var", NULL, take_nothing, GLOBAL_VARIABLE},
	{"set-var-fmt", NULL, take_nothing, GLOBAL_VARIABLE},
	{"lua-load", NULL, take_lua, NULL},
	{"lua-load-per-thread", NULL, take_lua, NULL},
	{"lua-prepend-path", NULL, take_nothing, "it loads nothing: the lines that do say what is lost"},
	{"cpu-policy", NULL, take_other, "weir pins its threads by itself: cpu-affinity = auto"},
	{"limited-quic", NULL, take_nothing, "weir does not forward UDP"},
	{"no-quic", NULL, take_nothing, "weir does not forward UDP"},
	{"setcap", NULL, take_nothing, "the unit says which capabilities weir has"},
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
