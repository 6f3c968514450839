/* SPDX-License-Identifier: MIT
 *
 * test_plan_shown.c - plans in words and as JSON, and without memory.
 *
 * Linked with --wrap of the allocator and of streams into memory, so that each can fail in turn.
 */
#include <stdio.h>

#include "../base/alloc_fail.h"
#include "plan_rig.h"
#include "weir/balance/run_time.h"
#include "weir/base/clock.h"

FILE *__real_open_memstream(char **bytes, size_t *len);
FILE *__wrap_open_memstream(char **bytes, size_t *len);

/* Its bytes are freed by our code, and so counted. */
FILE *__wrap_open_memstream(char **bytes, size_t *len)
{
	FILE *stream = allocation_fails() ? NULL : __real_open_memstream(bytes, len);

	allocated += stream != NULL;
	return stream;
}

#define APP	"[backend app]\nserver a = 10.1.0.1:1\nserver b = 10.1.0.2:1\n"
#define WEB(b)	"[frontend web]\n" b "default-backend = app\n"
#define FEED(b) "[frontend feed]\n" b "default-backend = app\n"
#define BASE	WEB("bind = :80\n") APP

static struct plan_input input_of(const struct plan_rig *r)
{
	return (struct plan_input){.next = r->next,
				   .started = &r->now->global,
				   .now = &r->now->global,
				   .engine = (struct engine *)(uintptr_t)&r->engine,
				   .log = r->log};
}

/* Without the first line, the summary. */
static void assert_text(const struct plan_rig *r, const char *wanted)
{
	const struct plan_input in = input_of(r);
	struct text out, first;

	text_init(&first);
	text_init(&out);
	text_printf(&first, "plan: ");
	plan_describe(&r->plan, &first);
	text_printf(&first, "\n");
	assert_int_equal(plan_print_text(&r->plan, &in, &out), 0);
	assert_false(out.failed);
	assert_true(out.len > first.len);
	assert_memory_equal(out.bytes, first.bytes, first.len);
	assert_string_equal(out.bytes + first.len, wanted);
	text_free(&first);
	text_free(&out);
}

static void assert_json(const struct plan_rig *r, const char *messages, const char *wanted)
{
	const struct plan_input in = input_of(r);
	struct text out;

	text_init(&out);
	assert_int_equal(plan_print_json(&r->plan, &in, messages, &out), 0);
	assert_false(out.failed);
	assert_string_equal(out.bytes, wanted);
	text_free(&out);
}

struct row {
	const char *now;
	const char *next;
	const char *text;
};

static void check_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct plan_rig r;

		rig_open(&r, rows[i].now);
		rig_plan(&r, rows[i].next);
		assert_text(&r, rows[i].text);
		rig_close(&r);
	}
}

#define NONE_OPEN "sessions: 0 open, 0 of removed frontends, 0 of removed servers\n"
#define YES	  NONE_OPEN "would change: yes\n"
#define NO	  NONE_OPEN "would change: no\n"

/* ---- words ---- */

static void nothing_changes(void **state)
{
	static const struct row rows[] = {
		{BASE, BASE, "kept: 1 frontend, 1 address, 1 backend, 2 servers, 1 log target\n" NO},
		{BASE, "# moved down\n" BASE,
		 "kept: 1 frontend, 1 address, 1 backend, 2 servers, 1 log target\n" NO},
		{"[global]\nlog = stderr\nlog = stderr level=error\n" BASE FEED("bind = :81\nbind = :82\n"),
		 "[global]\nlog = stderr\nlog = stderr level=error\n" BASE FEED("bind = :81\nbind = :82\n"),
		 "kept: 2 frontends, 3 addresses, 1 backend, 2 servers, 2 log targets\n" NO},
	};

	(void)state;
	check_rows(rows, ARRAY_LEN(rows));
}

static void backends_and_servers_change(void **state)
{
	static const struct row rows[] = {
		{BASE,
		 WEB("bind = :80\n") "[backend app]\nretries = 9\nserver a = 10.1.0.1:1 weight=3 backup\n"
				     "server c = 10.1.0.3:1 maxconn=5\n",
		 "~ backend app\n"
		 "    retries: 3 -> 9\n"
		 "~ backend app: server a\n"
		 "    weight: 1 -> 3\n"
		 "    backup: off -> on\n"
		 "+ backend app: server c = 10.1.0.3:1 weight=1 maxconn=5\n"
		 "- backend app: server b = 10.1.0.2:1 weight=1\n"
		 "kept: 1 frontend, 1 address, 1 log target\n" YES},
		/* An address is part of what a server is. */
		{BASE, WEB("bind = :80\n") "[backend app]\nserver a = 10.9.0.1:1\nserver b = 10.1.0.2:1\n",
		 "+ backend app: server a = 10.9.0.1:1 weight=1\n"
		 "- backend app: server a = 10.1.0.1:1 weight=1\n"
		 "kept: 1 frontend, 1 address, 1 backend, 1 server, 1 log target\n" YES},
		{BASE "[backend old]\ncheck = tcp\nserver z = 10.2.0.1:1\nserver y = 10.2.0.2:1 check=off\n",
		 BASE "[backend new]\nserver z = 10.2.0.1:1\n",
		 "+ backend new\n"
		 "+ backend new: server z = 10.2.0.1:1 weight=1\n"
		 "- backend old\n"
		 "- backend old: server z = 10.2.0.1:1 weight=1\n"
		 "- backend old: server y = 10.2.0.2:1 weight=1 check=off\n"
		 "kept: 1 frontend, 1 address, 1 backend, 2 servers, 1 log target\n" YES},
	};

	(void)state;
	check_rows(rows, ARRAY_LEN(rows));
}

static void frontends_and_addresses_change(void **state)
{
	static const struct row rows[] = {
		{BASE, WEB("bind = :80 backlog=9\nbind = unix:/run/x mode=600\nmaxconn = 5\n") APP,
		 "~ frontend web\n"
		 "    maxconn: auto -> 5\n"
		 "~ frontend web: bind = *:80\n"
		 "    backlog: not set -> 9\n"
		 "+ frontend web: bind = unix:/run/x mode=600\n"
		 "kept: 1 backend, 2 servers, 1 log target\n" YES},
		{BASE "[backend other]\nserver z = 10.2.0.1:1\n",
		 "[frontend web]\nbind = :80\ndefault-backend = other\nuse-backend app = dst-port=7\n" APP
		 "[backend other]\nserver z = 10.2.0.1:1\n",
		 "~ frontend web\n"
		 "    use-backend: not set -> app dst-port=7\n"
		 "    default-backend: app -> other\n"
		 "kept: 1 address, 2 backends, 3 servers, 1 log target\n" YES},
		/* With other options of a new socket; one that a wildcard covers goes on. */
		{WEB("bind = 10.0.0.1:80\nbind = :81\n") APP,
		 WEB("bind = 10.0.0.1:80 freebind\nbind = :81 freebind\n") APP,
		 "+ frontend web: bind = 10.0.0.1:80 freebind\n"
		 "~ frontend web: bind = *:81 (bound anew)\n"
		 "    freebind: off -> on\n"
		 "- frontend web: bind = 10.0.0.1:80\n"
		 "kept: 1 frontend, 1 backend, 2 servers, 1 log target\n" YES},
		/* A socket goes to another frontend; another one takes over what it covers. */
		{WEB("bind = :80\n") FEED("bind = 10.0.0.1:90\nbind = 10.0.0.1:91\n") APP,
		 WEB("bind = :90\n") FEED("bind one = :80\n") APP,
		 "+ frontend web: bind = *:90\n"
		 "- frontend feed: bind = 10.0.0.1:90\n"
		 "> frontend feed: bind one = *:80 (with its socket, from frontend web)\n"
		 "    name: not set -> one\n"
		 "- frontend feed: bind = 10.0.0.1:91\n"
		 "kept: 2 frontends, 1 backend, 2 servers, 1 log target\n" YES},
		{BASE, FEED("bind = :81\n") APP,
		 "+ frontend feed\n"
		 "+ frontend feed: bind = *:81\n"
		 "- frontend web\n"
		 "- frontend web: bind = *:80\n"
		 "kept: 1 backend, 2 servers, 1 log target\n" YES},
	};

	(void)state;
	check_rows(rows, ARRAY_LEN(rows));
}

static void global_options_change(void **state)
{
	static const struct row rows[] = {
		{BASE, "[global]\nmaxconn = 77\nlog = stderr level=debug\nadmin-socket = unix:/run/a\n" BASE,
		 "+ global: log = stderr level=debug format=text\n"
		 "- global: log = auto level=info format=text\n"
		 "~ global\n"
		 "    maxconn: auto -> 77\n"
		 "    admin-socket: not set -> unix:/run/a level=operator\n"
		 "kept: 1 frontend, 1 address, 1 backend, 2 servers\n" YES},
		{"[global]\nthreads = 1\n" BASE, "[global]\nthreads = 2\ncpu-affinity = 0,1\n" BASE,
		 "! global: threads: 1 -> 2 (needs a restart)\n"
		 "! global: cpu-affinity: auto -> 0,1 (needs a restart)\n"
		 "kept: 1 frontend, 1 address, 1 backend, 2 servers, 1 log target\n" NO},
	};

	(void)state;
	check_rows(rows, ARRAY_LEN(rows));
}

/* ---- sessions ---- */

static void set_sessions(struct plan_rig *r)
{
	rig_frontend(r, "web")->sessions = 5;
	rig_frontend(r, "feed")->sessions = 2;
	r->engine.backends[0]->servers[0]->sessions = 3;
	r->engine.backends[0]->servers[1]->sessions = 1;
}

static void unset_sessions(struct plan_rig *r)
{
	rig_frontend(r, "web")->sessions = 0;
	rig_frontend(r, "feed")->sessions = 0;
	r->engine.backends[0]->servers[0]->sessions = 0;
	r->engine.backends[0]->servers[1]->sessions = 0;
}

/* By the new configuration of the backend, if it stays. */
static void sessions_of_what_is_removed_are_counted(void **state)
{
	static const struct {
		const char *option;
		const char *feed;
		const char *changed;
		const char *b;
	} rows[] = {
		{"", "", "", "goes on"},
		{"on-removed = close\n", "on-removed = close\n",
		 "~ backend app\n    on-removed: keep -> close\n", "is closed"},
		{"drain = idle\n", "", "~ backend app\n    drain: wait -> idle\n", "is closed once idle"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct plan_rig r;
		char now[1024], next[1024], wanted[1024];

		(void)snprintf(now, sizeof(now), WEB("bind = :80\n") "%s%s" APP, FEED("bind = :81\n"),
			       rows[i].feed);
		(void)snprintf(next, sizeof(next), WEB("bind = :80\n") "[backend app]\n%s"
								       "server a = 10.1.0.1:1\n",
			       rows[i].option);
		(void)snprintf(wanted, sizeof(wanted),
			       "- frontend feed (2 sessions %s)\n"
			       "- frontend feed: bind = *:81\n"
			       "%s"
			       "- backend app: server b = 10.1.0.2:1 weight=1 (1 session %s)\n"
			       "kept: 1 frontend, 1 address, %s1 server, 1 log target\n"
			       "sessions: 7 open, 2 of removed frontends, 1 of removed servers\n"
			       "would change: yes\n",
			       rows[i].feed[0] != '\0' ? "are closed" : "go on", rows[i].changed, rows[i].b,
			       rows[i].changed[0] != '\0' ? "" : "1 backend, ");
		rig_open(&r, now);
		set_sessions(&r);
		rig_plan(&r, next);
		assert_text(&r, wanted);
		unset_sessions(&r);
		rig_close(&r);
	}
}

/* ---- what was set at run time ---- */

#define AT_0 "by uid 0 at 2026-11-23T16:05:00Z"

static const struct mark root = {.wall_ns = 1795449900 * NS_PER_SEC, .by = 0};

static void at_end(void *arg)
{
	(void)arg;
}

static void at(void *arg, int64_t at_ns)
{
	(void)arg;
	(void)at_ns;
}

static void override_all(struct plan_rig *r, struct server_updates *u)
{
	static const struct server_updates_loop loop = {.at_end = at_end, .at = at};
	struct backend *app = r->engine.backends[0];
	struct server *a = app->servers[0], *c;
	struct frontend *web = rig_frontend(r, "web");
	struct config_server config = *app->servers[1]->config;

	server_updates_init(u, r->engine.backends, r->engine.backend_count, &loop);
	assert_int_equal(server_updates_set_weight(u, a, 7, "test"), 0);
	run_time_mark(a, SERVER_MARK_WEIGHT, &root);
	assert_int_equal(server_updates_set_maxconn(u, a, 9, "test"), 0);
	run_time_mark(a, SERVER_MARK_MAXCONN, &root);
	assert_int_equal(server_updates_set_admin(u, a, SERVER_ADMIN_DRAIN, "test"), 0);
	run_time_mark(a, SERVER_MARK_STATE, &root);
	run_time_set_check_port(u, a, 99, &root);
	assert_int_equal(server_updates_set_admin(u, app->servers[1], SERVER_ADMIN_MAINT, "test"), 0);
	assert_int_equal(run_time_delete_server(u, app->servers[1], &root), 0);
	(void)snprintf(config.name, sizeof(config.name), "c");
	assert_int_equal(run_time_add_server(u, app, &config, &root, &c), 0);
	r->engine.maxconn_set = 50;
	r->engine.marks[ENGINE_MARK_MAXCONN] = root;
	web->set_limit = 5;
	web->marks[FRONTEND_MARK_MAXCONN] = root;
}

#define STAYS(line) "    " line "\n"

/* The same rules as those of a reload, which its own tests show. */
static void what_was_set_at_run_time_stays_until_the_file_changes_it(void **state)
{
	static const struct row rows[] = {
		{NULL, BASE,
		 "= frontend web\n" STAYS("maxconn stays 5, set " AT_0 "; the file says auto")
		 "= backend app: server a\n" STAYS("state stays drain, set " AT_0 "; the file says ready")
		 STAYS("weight stays 7, set " AT_0 "; the file says 1")
		 STAYS("maxconn stays 9, set " AT_0 "; the file says 0")
		 STAYS("check-port stays 99, set " AT_0)
		 "= backend app: server b\n" STAYS("deleted at run time, " AT_0 ", and stays so")
		 "= backend app: server c\n" STAYS("added at run time, " AT_0 ", and stays so")
		 "= global\n" STAYS("maxconn stays 50, set " AT_0 "; the file says auto")
		 "kept: 1 frontend, 1 address, 1 backend, 3 servers, 1 log target\n" NO},
		/* Another value in the file counts. One for the port of all checks does not, if none has been
		 * set for the server alone. */
		{NULL,
		 "[global]\nmaxconn = 70\n" WEB("bind = :80\nmaxconn = 6\n")
		 "[backend app]\ncheck = tcp port=7\nserver a = 10.1.0.1:1 weight=2 disabled check=off\n"
		 "server b = 10.1.0.2:1 weight=5 check=off\n",
		 "~ frontend web\n    maxconn: auto -> 6\n"
		 "~ backend app\n    check: off -> tcp port=7\n"
		 "~ backend app: server a\n    weight: 1 -> 2\n    disabled: off -> on\n"
		 STAYS("maxconn stays 9, set " AT_0 "; the file says 0")
		 "+ backend app: server b = 10.1.0.2:1 weight=5 check=off\n"
		 "= backend app: server c\n" STAYS("added at run time, " AT_0 ", and stays so")
		 "~ global\n    maxconn: auto -> 70\n"
		 "kept: 1 address, 1 server, 1 log target\n" YES},
		/* The file comes to name one that was added, and no longer names the one that was deleted. */
		{NULL,
		 WEB("bind = :80\n") "[backend app]\nserver a = 10.1.0.1:1\n"
				     "server c = 10.1.0.2:1 weight=4\n",
		 "= frontend web\n" STAYS("maxconn stays 5, set " AT_0 "; the file says auto")
		 "= backend app: server a\n" STAYS("state stays drain, set " AT_0 "; the file says ready")
		 STAYS("weight stays 7, set " AT_0 "; the file says 1")
		 STAYS("maxconn stays 9, set " AT_0 "; the file says 0")
		 STAYS("check-port stays 99, set " AT_0)
		 "~ backend app: server c (added at run time; the file names it now)\n"
		 "    weight: 1 -> 4\n" STAYS("state stays maint, set " AT_0 "; the file says ready")
		 "= global\n" STAYS("maxconn stays 50, set " AT_0 "; the file says auto")
		 "kept: 1 frontend, 1 address, 1 backend, 1 server, 1 log target\n" YES},
	};
	struct server_updates updates;
	struct plan_rig r;

	(void)state;
	rig_open(&r, BASE);
	override_all(&r, &updates);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		rig_plan(&r, rows[i].next);
		assert_text(&r, rows[i].text);
	}
	plan_free(&r.plan);
	server_updates_publish(&updates);
	server_updates_free(&updates);
	rig_close(&r);
}

static void a_frontend_stays_out_of_service_until_its_section_changes(void **state)
{
	struct plan_rig r;
	struct frontend *web;

	(void)state;
	rig_open(&r, BASE);
	web = rig_frontend(&r, "web");
	web->admin = FRONTEND_ADMIN_SHUT;
	web->marks[FRONTEND_MARK_STATE] = root;
	rig_plan(&r, BASE);
	assert_text(&r, "= frontend web\n" STAYS("state stays shut-down, set " AT_0 "; the file says enabled")
		    "kept: 1 frontend, 1 address, 1 backend, 2 servers, 1 log target\n" NO);
	rig_plan(&r, WEB("bind = :80\nmaxconn = 6\n") APP);
	assert_text(&r, "~ frontend web (shut down at run time; in service again)\n"
			"    maxconn: auto -> 6\n"
			"kept: 1 address, 1 backend, 2 servers, 1 log target\n" YES);
	rig_close(&r);
}

static void json_has_what_stays(void **state)
{
	static const char wanted[] =
		"\"name\": \"c\", \"adopted\": true, \"sessions\": 0, \"sessions_then\": \"stay\", "
		"\"options\": [{\"key\": \"weight\", \"before\": \"1\", \"after\": \"4\"}], "
		"\"stays\": [{\"what\": \"state\", \"now\": \"maint\", \"file\": \"ready\", "
		"\"by_uid\": 0, \"since\": \"2026-11-23T16:05:00Z\"}]},\n";
	struct server_updates updates;
	struct plan_input in;
	struct plan_rig r;
	struct text out;

	(void)state;
	rig_open(&r, BASE);
	override_all(&r, &updates);
	rig_plan(&r, WEB("bind = :80\n") "[backend app]\nserver c = 10.1.0.2:1 weight=4\n");
	in = input_of(&r);
	text_init(&out);
	assert_int_equal(plan_print_json(&r.plan, &in, "", &out), 0);
	if (strstr(out.bytes, wanted) == NULL)
		fail_msg("not in:\n%s", out.bytes);
	text_free(&out);
	plan_free(&r.plan);
	server_updates_publish(&updates);
	server_updates_free(&updates);
	rig_close(&r);
}

/* ---- JSON ---- */

static void json_has_all_of_it(void **state)
{
	struct plan_rig r;

	(void)state;
	rig_open(&r, "[global]\nthreads = 1\n" WEB("bind = :80\n") FEED("bind = :81\n") APP);
	set_sessions(&r);
	rig_plan(&r, "[global]\nthreads = 2\n" WEB("bind = :80\nbind = :81 backlog=9\nmaxconn = 5\n")
			     "[backend app]\nserver a = 10.1.0.1:1 weight=2\n");
	assert_json(&r, "t.ini:1: warning: \"x\"\n  1 | x\n",
		    "{\n"
		    "  \"would_change\": true,\n"
		    "  \"summary\": \"frontend web changed, frontend feed removed, address *:81 moved, "
		    "server app/a changed, server app/b removed\",\n"
		    "  \"items\": [\n"
		    "    {\"kind\": \"frontend\", \"what\": \"changed\", \"name\": \"web\", \"sessions\": 5, "
		    "\"sessions_then\": \"stay\", \"options\": [{\"key\": \"maxconn\", \"before\": \"auto\", "
		    "\"after\": \"5\"}]},\n"
		    "    {\"kind\": \"address\", \"what\": \"kept\", \"frontend\": \"web\", \"name\": "
		    "\"*:80\"},\n"
		    "    {\"kind\": \"address\", \"what\": \"moved\", \"frontend\": \"web\", \"name\": "
		    "\"*:81\", \"line\": \"bind = *:81 backlog=9\", \"socket_of\": {\"frontend\": \"feed\", "
		    "\"address\": \"*:81\"}, \"options\": [{\"key\": \"backlog\", \"before\": null, "
		    "\"after\": \"9\"}]},\n"
		    "    {\"kind\": \"frontend\", \"what\": \"removed\", \"name\": \"feed\", "
		    "\"sessions\": 2, \"sessions_then\": \"go-on\"},\n"
		    "    {\"kind\": \"backend\", \"what\": \"kept\", \"name\": \"app\", \"sessions\": 4, "
		    "\"sessions_then\": \"stay\"},\n"
		    "    {\"kind\": \"server\", \"what\": \"changed\", \"backend\": \"app\", "
		    "\"name\": \"a\", \"sessions\": 3, "
		    "\"sessions_then\": \"stay\", \"options\": [{\"key\": \"weight\", "
		    "\"before\": \"1\", \"after\": \"2\"}]},\n"
		    "    {\"kind\": \"server\", \"what\": \"removed\", \"backend\": \"app\", "
		    "\"name\": \"b\", "
		    "\"line\": \"server b = 10.1.0.2:1 weight=1\", \"sessions\": 1, \"sessions_then\": "
		    "\"go-on\"},\n"
		    "    {\"kind\": \"log\", \"what\": \"kept\"},\n"
		    "    {\"kind\": \"global\", \"what\": \"kept\"}\n"
		    "  ],\n"
		    "  \"needs_restart\": [{\"key\": \"threads\", \"running\": \"1\", \"next\": \"2\"}],\n"
		    "  \"sessions\": {\"open\": 7, \"of_removed_frontends\": 2, \"of_removed_servers\": 1},\n"
		    "  \"messages\": [\"t.ini:1: warning: \\\"x\\\"\", \"  1 | x\"]\n"
		    "}\n");
	unset_sessions(&r);
	rig_close(&r);
}

static void json_of_no_change(void **state)
{
	struct plan_rig r;

	(void)state;
	rig_open(&r, "[listen web]\nbind = unix:/t\nserver a = 10.1.0.1:1\n");
	rig_plan(&r, "[listen web]\nbind = unix:/t\nserver a = 10.1.0.1:1\n");
	assert_json(&r, "",
		    "{\n"
		    "  \"would_change\": false,\n"
		    "  \"summary\": \"nothing has changed\",\n"
		    "  \"items\": [\n"
		    "    {\"kind\": \"frontend\", \"what\": \"kept\", \"name\": \"web\", \"sessions\": 0, "
		    "\"sessions_then\": \"stay\"},\n"
		    "    {\"kind\": \"address\", \"what\": \"kept\", \"frontend\": \"web\", \"name\": "
		    "\"unix:/t\"},\n"
		    "    {\"kind\": \"backend\", \"what\": \"kept\", \"name\": \"web\", \"sessions\": 0, "
		    "\"sessions_then\": \"stay\"},\n"
		    "    {\"kind\": \"server\", \"what\": \"kept\", \"backend\": \"web\", \"name\": \"a\", "
		    "\"sessions\": 0, \"sessions_then\": \"stay\"},\n"
		    "    {\"kind\": \"log\", \"what\": \"kept\"},\n"
		    "    {\"kind\": \"global\", \"what\": \"kept\"}\n"
		    "  ],\n"
		    "  \"needs_restart\": [],\n"
		    "  \"sessions\": {\"open\": 0, \"of_removed_frontends\": 0, \"of_removed_servers\": 0},\n"
		    "  \"messages\": []\n"
		    "}\n");
	rig_close(&r);
}

/* ---- without memory ---- */

static bool print_fails(const struct plan_rig *r, bool json, long at)
{
	const struct plan_input in = input_of(r);
	const long before = allocated;
	struct text out;
	bool failed;
	int err;

	text_init(&out);
	fail_allocations_from(at);
	err = json ? plan_print_json(&r->plan, &in, "x\n", &out) : plan_print_text(&r->plan, &in, &out);
	fail_allocations_from(-1);
	failed = err != 0 || out.failed;
	assert_true(err == 0 || err == -ENOMEM);
	text_free(&out);
	assert_int_equal(allocated, before);
	return failed;
}

static void running_out_of_memory_is_reported(void **state)
{
	struct plan_rig r;

	(void)state;
	rig_open(&r, "[global]\nthreads = 1\nlog = stderr\n" WEB("bind = :80\n") FEED("bind = :81\n") APP);
	rig_plan(&r, "[global]\nthreads = 2\nmaxconn = 5\n" WEB("bind = :80 backlog=9\nbind = :82\n")
			     "[backend app]\nretries = 5\nserver a = 10.1.0.1:1 weight=2\n");
	for (int json = 0; json < 2; json++) {
		long n = 0;

		while (print_fails(&r, json != 0, n))
			n++;
		assert_true(n > 10);
	}
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_changes),
		cmocka_unit_test(backends_and_servers_change),
		cmocka_unit_test(frontends_and_addresses_change),
		cmocka_unit_test(global_options_change),
		cmocka_unit_test(sessions_of_what_is_removed_are_counted),
		cmocka_unit_test(what_was_set_at_run_time_stays_until_the_file_changes_it),
		cmocka_unit_test(a_frontend_stays_out_of_service_until_its_section_changes),
		cmocka_unit_test(json_has_what_stays),
		cmocka_unit_test(json_has_all_of_it),
		cmocka_unit_test(json_of_no_change),
		cmocka_unit_test(running_out_of_memory_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
