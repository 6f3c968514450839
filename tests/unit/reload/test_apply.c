/* SPDX-License-Identifier: MIT
 *
 * test_apply.c - plans take effect in a running engine: what comes, changes and goes, and who is served.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <netinet/in.h>

#include "apply_rig.h"
#include "weir/balance/run_time.h"
#include "weir/entry/halt.h"

#define GLOBAL "[global]\nuser = root\npipe-cycle = 100ms\nlog = file:/dev/null\n"
#define TIMES  "timeout-connect = 10s\ntimeout-server = 10m\n"
#define FRONT  "timeout-client = 10m\n"
#define WEB    "[frontend web]\nbind in = 127.0.0.1:0\ndefault-backend = app\n" FRONT
#define APP    "[backend app]\nserver a = ECHO0\n" TIMES
#define BASE   GLOBAL WEB APP

static struct rig_state before;

static int set_up(void **state)
{
	(void)state;
	apply_rig_open(BASE);
	reload_fine(BASE); /* now with the limits as planned */
	apply_settle();
	rig.took_effect = 0;
	rig_look(&rig.rig, &before);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	apply_rig_close();
	return 0;
}

/* Everything is as it was at the start, once what has left is gone. */
static void assert_back(void)
{
	struct rig_state after;
	const int64_t end_ns = clock_mono_ns() + APPLY_WAIT_NS;

	reload_fine(BASE);
	apply_settle();
	do {
		rig_rest(&rig.rig, NS_PER_MS);
		rig_look(&rig.rig, &after);
		/* The servers, too, may close what was reset only now. */
	} while ((after.sessions > before.sessions || after.timers > before.timers ||
		  after.pending_ops > before.pending_ops || after.fds > before.fds || echo_open() > 0) &&
		 clock_mono_ns() < end_ns);
	assert_int_equal(after.fds, before.fds);
	assert_int_equal(after.objects, before.objects);
	assert_int_equal(after.endpoints, before.endpoints);
	assert_int_equal(after.versions, before.versions);
	assert_int_equal(after.sessions, before.sessions);
	assert_int_equal(after.timers, before.timers);
	assert_int_equal(after.pending_ops, before.pending_ops);
	assert_int_equal(after.frontends, before.frontends);
	assert_int_equal(after.backends, before.backends);
}

/* ---- nothing ---- */

static void the_same_configuration_changes_nothing(void **state)
{
	static struct portrait was, is;
	const struct config *old = rig.rig.config;

	(void)state;
	portrait_draw(&was, &rig.rig, rig.folder);
	reload_fine(BASE);
	portrait_draw(&is, &rig.rig, rig.folder);
	assert_ptr_not_equal(rig.rig.engine.config, old);
	assert_int_equal(rig.took_effect, 1);
	/* Of another configuration, as it is the same. */
	assert_string_equal(was.text + strcspn(was.text, "\n"), is.text + strcspn(is.text, "\n"));
	assert_true(is_served(&live_endpoint("web", "in")->addr));
}

/* ---- frontends and addresses ---- */

static void a_frontend_comes_and_goes(void **state)
{
	struct addr more;
	int staying;

	(void)state;
	reload_fine(BASE "[frontend more]\nbind in = 127.0.0.2:0\nbind path = unix:FOLDER/more\n"
			 "default-backend = app\n" FRONT);
	more = live_endpoint("more", "in")->addr;
	assert_true(is_served(&more));
	assert_true(is_served(&live_endpoint("more", "path")->addr));
	staying = client_connect(&more);
	assert_true(client_talk(staying));
	reload_fine(BASE);
	assert_null(live_frontend("more"));
	while (rig.rig.engine.entries.endpoint_count > 1)
		rig_rest(&rig.rig, 10 * NS_PER_MS);
	assert_int_equal(client_connect(&more), -1);
	assert_true(client_talk(staying)); /* its session goes on */
	close(staying);
	assert_true(is_served(&live_endpoint("web", "in")->addr));
	assert_back();
}

static void a_frontend_changes_under_its_sessions(void **state)
{
	const struct endpoint *ep = live_endpoint("web", "in");
	const int fd = client_connect(&ep->addr);

	(void)state;
	assert_true(client_talk(fd));
	reload_fine(GLOBAL "[frontend web]\nbind in = 127.0.0.1:0\ndefault-backend = app\n"
			   "timeout-client = 5m\nmaxconn = 7\n" APP);
	assert_ptr_equal(live_endpoint("web", "in"), ep);
	assert_int_equal(frontend_limit(live_frontend("web")), 7);
	assert_int_equal(live_frontend("web")->config->timeouts.client_ns, 300 * NS_PER_SEC);
	assert_true(client_talk(fd));
	assert_true(is_served(&ep->addr));
	close(fd);
	assert_back();
}

static void an_address_comes_and_goes(void **state)
{
	const struct endpoint *first = live_endpoint("web", "in");
	struct addr second;

	(void)state;
	reload_fine(GLOBAL "[frontend web]\nbind in = 127.0.0.1:0\nbind two = 127.0.0.2:0\n"
			   "default-backend = app\n" FRONT APP);
	assert_ptr_equal(live_endpoint("web", "in"), first);
	second = live_endpoint("web", "two")->addr;
	assert_true(is_served(&second));
	reload_fine(BASE);
	assert_null(live_endpoint("web", "two"));
	while (rig.rig.engine.entries.endpoint_count > 1)
		rig_rest(&rig.rig, 10 * NS_PER_MS);
	assert_int_equal(client_connect(&second), -1);
	assert_true(is_served(&first->addr));
	assert_back();
}

static void an_address_stays_after_all(void **state)
{
	const struct endpoint *ep = live_endpoint("web", "in");
	const struct addr addr = ep->addr;

	(void)state;
	reload_fine(GLOBAL "[frontend web]\nbind two = 127.0.0.2:0\ndefault-backend = app\n" FRONT APP);
	assert_int_not_equal(ep->stage, ENDPOINT_OPEN);
	reload_fine(BASE);
	assert_ptr_equal(live_endpoint("web", "in"), ep);
	assert_true(is_served(&addr));
	assert_back();
}

/* ---- backends and servers ---- */

static void backends_come_and_go_with_their_routes(void **state)
{
	const struct addr *in = &live_endpoint("web", "in")->addr;
	const struct server *b;

	(void)state;
	reload_fine(GLOBAL "[frontend web]\nbind in = 127.0.0.1:0\ndefault-backend = app\n"
			   "use-backend new = src=127.0.0.0/8\n" FRONT APP
			   "[backend new]\nserver b = ECHO1\n" TIMES);
	b = live_server("new", "b");
	assert_non_null(b);
	assert_true(is_served(in));
	assert_int_equal(atomic_load(&b->total), 1);
	reload_fine(BASE);
	assert_null(live_backend("new"));
	assert_true(is_served(in));
	assert_back();
}

static void a_default_backend_is_replaced(void **state)
{
	const struct addr *in = &live_endpoint("web", "in")->addr;
	const int fd = client_connect(in);

	(void)state;
	assert_true(client_talk(fd));
	reload_fine(GLOBAL "[frontend web]\nbind in = 127.0.0.1:0\ndefault-backend = new\n" FRONT
			   "[backend new]\nserver b = ECHO1\n" TIMES);
	assert_null(live_backend("app"));
	assert_true(is_served(in));
	assert_int_equal(atomic_load(&live_server("new", "b")->total), 1);
	assert_true(client_talk(fd));
	close(fd);
	assert_back();
}

static void servers_come_change_and_go(void **state)
{
	const struct addr *in = &live_endpoint("web", "in")->addr;
	struct server *a = live_server("app", "a");

	(void)state;
	server_updates_set_weight(&rig.rig.updates.updates, a, 77, "test");
	reload_fine(GLOBAL WEB "[backend app]\nserver a = ECHO0 maxconn=9\n"
			       "server b = ECHO1 weight=5\n" TIMES);
	assert_ptr_equal(live_server("app", "a"), a);
	assert_int_equal(a->maxconn, 9);
	assert_int_equal(a->weight, 77); /* as set at run time: the file has not changed it */
	assert_int_equal(live_server("app", "b")->weight, 5);
	reload_fine(GLOBAL WEB "[backend app]\nserver b = ECHO1\n" TIMES);
	assert_null(live_server("app", "a"));
	assert_int_equal(live_server("app", "b")->weight, 1);
	assert_true(is_served(in));
	assert_int_equal(atomic_load(&live_server("app", "b")->total), 1);
	assert_back();
}

static void a_server_moves_to_another_address(void **state)
{
	const struct addr *in = &live_endpoint("web", "in")->addr;
	const struct server *a = live_server("app", "a");

	(void)state;
	reload_fine(GLOBAL WEB "[backend app]\nserver a = ECHO2\n" TIMES);
	assert_ptr_not_equal(live_server("app", "a"), a);
	assert_true(addr_equal(server_addr(live_server("app", "a")), echo_addr(2)));
	assert_true(is_served(in));
	assert_back();
}

static void a_backend_changes(void **state)
{
	(void)state;
	reload_fine(GLOBAL WEB "[backend app]\nbalance = leastconn\nserver a = ECHO0\nretries = 7\n" TIMES);
	assert_int_equal(live_backend("app")->config->balance.algorithm, CONFIG_BALANCE_LEASTCONN);
	assert_int_equal(live_backend("app")->config->retries, 7);
	assert_true(is_served(&live_endpoint("web", "in")->addr));
	assert_back();
}

static void checks_and_names_follow(void **state)
{
	const struct server *a = live_server("app", "a");

	(void)state;
	assert_null(a->probe);
	reload_fine(GLOBAL WEB "[backend app]\ncheck = tcp\nserver a = ECHO0\nserver b = ECHO1 check=off\n"
			       "server c = localhost:9\n" TIMES);
	assert_non_null(a->probe);
	assert_null(live_server("app", "b")->probe);
	assert_non_null(live_server("app", "c")->probe);
	assert_non_null(live_server("app", "c")->name);
	/* At the same time its server's `check` goes and that of another comes. */
	reload_fine(GLOBAL WEB "[backend app]\ncheck = tcp\ncheck-interval = 7s\nserver a = ECHO0 check=off\n"
			       "server b = ECHO1\n" TIMES);
	assert_null(a->probe);
	assert_non_null(live_server("app", "b")->probe);
	assert_null(live_server("app", "c"));
	reload_fine(BASE);
	assert_null(live_server("app", "b"));
	reload_fine(GLOBAL WEB APP "[backend new]\ncheck = tcp\nserver x = ECHO1\nserver y = ECHO2\n" TIMES);
	assert_non_null(live_server("new", "y")->probe);
	reload_fine(BASE);
}

static struct server_updates *updates(void)
{
	return &rig.rig.updates.updates;
}

static const struct mark me = {.wall_ns = 1, .by = 1000};

/* As an administrator does it, ready for clients. */
static struct server *add_at_run_time(const char *name, const char *address)
{
	struct config_server config = *live_server("app", "a")->config;
	struct server *s = NULL;

	(void)snprintf(config.name, sizeof(config.name), "%s", name); /* fits */
	assert_int_equal(addr_parse(address, &config.addr, NULL, NULL), 0);
	assert_int_equal(run_time_add_server(updates(), live_backend("app"), &config, &me, &s), 0);
	assert_int_equal(server_updates_set_admin(updates(), s, SERVER_ADMIN_READY, "by test"), 0);
	rig_turn(&rig.rig);
	return s;
}

static void delete_at_run_time(struct server *s)
{
	assert_int_equal(server_updates_set_admin(updates(), s, SERVER_ADMIN_MAINT, "by test"), 0);
	while (atomic_load(&s->sessions) > 0)
		rig_rest(&rig.rig, NS_PER_MS);
	assert_int_equal(run_time_delete_server(updates(), s, &me), 0);
	rig_turn(&rig.rig);
}

static const char *echo_text(unsigned i)
{
	static char text[ADDR_TEXT_MAX];

	return addr_format(echo_addr(i), text);
}

static void a_server_added_at_run_time_stays_until_it_is_named(void **state)
{
	const struct addr *in = &live_endpoint("web", "in")->addr;
	struct server *b = add_at_run_time("b", echo_text(1));
	int fds[16];
	unsigned count = 0;
	uint64_t total;

	(void)state;
	/* Each worker takes turns of its own: two clients may both be served by `a`. */
	while (atomic_load(&b->sessions) == 0) {
		assert_true(count < ARRAY_LEN(fds));
		fds[count] = client_connect(in);
		assert_true(client_talk(fds[count++]));
	}
	total = atomic_load(&b->total);
	reload_fine(BASE);
	assert_ptr_equal(live_server("app", "b"), b);
	reload_fine(GLOBAL WEB "[backend app]\nserver a = ECHO0\nserver b = ECHO1 weight=7\n" TIMES);
	assert_ptr_equal(live_server("app", "b"), b);
	assert_false(b->added);
	assert_int_equal(b->weight, 7);
	assert_int_equal(atomic_load(&b->total), total);
	for (unsigned i = 0; i < count; i++) {
		assert_true(client_talk(fds[i]));
		close(fds[i]);
	}
	assert_back(); /* the file no longer names it: it goes */
	assert_null(live_server("app", "b"));
}

static void a_server_deleted_at_run_time_stays_deleted_until_its_line_changes(void **state)
{
	static const char two[] = GLOBAL WEB "[backend app]\nserver a = ECHO0\nserver b = ECHO1\n" TIMES;

	(void)state;
	reload_fine(two);
	delete_at_run_time(live_server("app", "b"));
	reload_fine(two);
	assert_null(live_server("app", "b"));
	reload_fine(GLOBAL WEB "[backend app]\nretries = 9\nserver a = ECHO0\nserver b = ECHO1\n" TIMES);
	reload_fine(GLOBAL WEB "[backend app]\nretries = 9\ncheck = tcp\ncheck-interval = 1h\n"
			       "server a = ECHO0\nserver b = ECHO1 check=off\n" TIMES);
	assert_null(live_server("app", "b"));
	assert_true(is_served(&live_endpoint("web", "in")->addr));
	reload_fine(GLOBAL WEB "[backend app]\nserver a = ECHO0\nserver b = ECHO1 weight=7\n" TIMES);
	assert_int_equal(live_server("app", "b")->weight, 7);
	delete_at_run_time(live_server("app", "b"));
	reload_fine(BASE); /* no line, no memory of it */
	reload_fine(two);
	assert_non_null(live_server("app", "b"));
	assert_back();
}

static void a_server_moved_at_run_time_stays_there(void **state)
{
	struct server *a = live_server("app", "a");

	(void)state;
	assert_int_equal(run_time_set_addr(updates(), a, echo_addr(2), &me), 0);
	reload_fine(GLOBAL WEB "[backend app]\nserver a = ECHO0 weight=7\n" TIMES);
	assert_ptr_equal(live_server("app", "a"), a);
	assert_int_equal(a->weight, 7);
	assert_true(addr_equal(server_addr(a), echo_addr(2)));
	assert_true(is_served(&live_endpoint("web", "in")->addr));
	reload_fine(GLOBAL WEB "[backend app]\nserver a = ECHO3\n" TIMES);
	assert_true(addr_equal(server_addr(live_server("app", "a")), echo_addr(3)));
	assert_back();
}

static void servers_added_at_run_time_are_checked_and_looked_up(void **state)
{
	const char *checked = GLOBAL WEB "[backend app]\ncheck = tcp\nserver a = ECHO0\n" TIMES;
	struct server *b, *c;

	(void)state;
	reload_fine(checked);
	b = add_at_run_time("b", echo_text(1));
	c = add_at_run_time("c", "localhost:9");
	assert_non_null(b->probe);
	assert_non_null(c->probe);
	assert_non_null(c->name);
	reload_fine(checked);
	assert_non_null(b->probe);
	delete_at_run_time(b);
	delete_at_run_time(c);
	b = add_at_run_time("b", echo_text(1));
	reload_fine(BASE);
	assert_non_null(b->probe); /* its own words ask for it */
	delete_at_run_time(b);
	b = add_at_run_time("b", echo_text(1));
	reload_fine(checked);
	assert_null(b->probe);
	delete_at_run_time(b);
	reload_fine(BASE);
}

#define MANY_BACKENDS 200u
#define MANY_SERVERS  5u

/* Servers from number `first` on, of this weight. */
static const char *many(unsigned first, unsigned weight)
{
	static char text[APPLY_TEXT_MAX];
	size_t len = (size_t)snprintf(text, sizeof(text), BASE);

	for (unsigned b = 0; b < MANY_BACKENDS; b++) {
		len += (size_t)snprintf(text + len, sizeof(text) - len, "[backend b%u]\n" TIMES, b);
		for (unsigned s = first; s < first + MANY_SERVERS; s++)
			len += (size_t)snprintf(text + len, sizeof(text) - len,
						"server s%u = 127.0.0.1:%u weight=%u\n", s, 1000 + s, weight);
		check(len < sizeof(text));
	}
	return text;
}

static void reload_many(const char *what, unsigned first, unsigned weight)
{
	struct plan p;
	int64_t begin_ns, planned_ns, applied_ns;

	rig.next = apply_read(many(first, weight));
	begin_ns = clock_mono_ns();
	assert_int_equal(apply_make_plan(&p), 0);
	planned_ns = clock_mono_ns();
	assert_int_equal(apply_plan(&rig.parts, &p, NULL, rig.why, sizeof(rig.why)), 0);
	applied_ns = clock_mono_ns();
	print_message("%s: planned in %lld us, applied in %lld us\n", what,
		      (long long)(planned_ns - begin_ns) / 1000, (long long)(applied_ns - planned_ns) / 1000);
	plan_free(&p);
	apply_end(0);
	rig_turn(&rig.rig);
	assert_int_equal(rig.rig.engine.backend_count, 1 + MANY_BACKENDS);
	assert_int_equal(live_server("b199", "s2")->weight, weight);
}

static void a_thousand_servers_change_at_once(void **state)
{
	(void)state;
	reload_many("1000 servers added", 0, 1);
	reload_many("1000 servers changed", 0, 2);
	reload_many("400 servers added and 400 removed", 2, 2);
	assert_null(live_server("b0", "s1"));
	assert_non_null(live_server("b0", "s6"));
	reload_many("nothing", 2, 2);
	assert_back();
}

/* ---- what an administrator has set ---- */

static const struct mark by = {.wall_ns = 1, .by = 0};

/* Until its addresses are left. */
static void wait_until_left(const struct frontend *fe)
{
	frontend_foreach_endpoint(fe, ep)
		while (ep->stage != ENDPOINT_AWAY)
			rig_rest(&rig.rig, 10 * NS_PER_MS);
}

static void a_disabled_frontend_stays_so(void **state)
{
	const struct unlisten_rights none = {.raise = NULL};
	struct frontend *web = live_frontend("web");
	const struct addr at = live_endpoint("web", "in")->addr;
	const struct endpoint *failed;

	(void)state;
	entries_disable(&rig.rig.engine.entries, web, &by, clock_mono_ns());
	wait_until_left(web);
	reload_fine(BASE);
	reload_fine(GLOBAL "[frontend web]\nbind in = 127.0.0.1:0\nbind more = unix:FOLDER/more\n"
			   "maxconn = 9\ndefault-backend = app\n" FRONT APP);
	rig_rest(&rig.rig, 10 * NS_PER_MS);
	assert_ptr_equal(live_frontend("web"), web);
	assert_null(live_endpoint("web", "in"));
	assert_null(live_endpoint("web", "more"));
	assert_int_equal(client_connect(&at), -1);
	assert_int_equal(frontend_limit(web), 9);
	assert_int_equal(entries_enable(&rig.rig.engine.entries, web, &none, &failed), 0);
	assert_true(is_served(&at)); /* the port that it had */
	assert_true(is_served(&live_endpoint("web", "more")->addr));
	assert_back();
}

static void a_frontend_is_shut_down_until_its_section_changes(void **state)
{
	struct frontend *web = live_frontend("web");
	const struct addr at = live_endpoint("web", "in")->addr;
	const int staying = client_connect(&at);

	(void)state;
	assert_true(client_talk(staying));
	entries_shut_down(&rig.rig.engine.entries, web, &by, clock_mono_ns());
	wait_until_left(web);
	reload_fine(BASE "server b = ECHO1\n");
	assert_int_equal(web->admin, FRONTEND_ADMIN_SHUT);
	assert_int_equal(client_connect(&at), -1);
	assert_true(client_talk(staying));
	reload_fine(GLOBAL "[frontend web]\nbind in = 127.0.0.1:0 backlog=9\nbind more = unix:FOLDER/more\n"
			   "default-backend = app\n" FRONT APP);
	assert_int_equal(web->admin, FRONTEND_ADMIN_READY);
	assert_false(mark_is_set(&web->marks[FRONTEND_MARK_STATE]));
	assert_true(is_served(&at));
	assert_true(is_served(&live_endpoint("web", "more")->addr));
	assert_true(client_talk(staying));
	close(staying);
	assert_back();
}

/* Its addresses have not left yet, or another process has one of them. */
static void a_frontend_is_back_at_once_or_not_at_all(void **state)
{
	struct frontend *web = live_frontend("web");
	struct addr at = live_endpoint("web", "in")->addr;
	int fd;

	(void)state;
	entries_shut_down(&rig.rig.engine.entries, web, &by, clock_mono_ns());
	reload_fine(GLOBAL "[frontend web]\nbind in = 127.0.0.1:0\nmaxconn = 9\ndefault-backend = app\n" FRONT
			   APP);
	assert_true(is_served(&at));
	entries_shut_down(&rig.rig.engine.entries, web, &by, clock_mono_ns());
	wait_until_left(web);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, &at.sa, at.len), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(reload(BASE), -EADDRINUSE);
	assert_int_equal(web->admin, FRONTEND_ADMIN_SHUT);
	close(fd);
	reload_fine(BASE);
	assert_true(is_served(&at));
	assert_back();
}

#define BASE_MAXCONN(n) GLOBAL "maxconn = " n "\n" WEB APP

static void limits_that_were_set_hold_until_the_file_changes_them(void **state)
{
	struct engine *e = &rig.rig.engine;
	struct frontend *web = live_frontend("web");

	(void)state;
	reload_fine(BASE_MAXCONN("200"));
	assert_int_equal(engine_override_maxconn(e, 201, &by), -ERANGE);
	assert_int_equal(engine_override_maxconn(e, 20, &by), 0);
	engine_override_rate(e, 1000, &by);
	frontend_override_limit(web, 5, &by);
	reload_fine(BASE_MAXCONN("200") "server b = ECHO1\n");
	assert_int_equal(atomic_load(&e->settings.maxconn), 20);
	assert_int_equal(atomic_load(&e->settings.rate_limit), 1000);
	assert_int_equal(frontend_limit(web), 5);
	assert_int_equal(e->limits.maxconn, 200);
	assert_true(mark_is_set(&e->marks[ENGINE_MARK_MAXCONN]));
	reload_fine(BASE_MAXCONN("300"));
	assert_int_equal(atomic_load(&e->settings.maxconn), 300);
	assert_false(mark_is_set(&e->marks[ENGINE_MARK_MAXCONN]));
	assert_int_equal(frontend_limit(web), 5);
	assert_int_equal(atomic_load(&e->settings.rate_limit), 1000);
	assert_int_equal(engine_override_maxconn(e, 250, &by), 0);
	assert_int_equal(engine_override_maxconn(e, 0, &by), 0);
	assert_int_equal(atomic_load(&e->settings.maxconn), 300);
	assert_true(is_served(&live_endpoint("web", "in")->addr));
	engine_override_rate(e, 0, &by);
	assert_false(mark_is_set(&e->marks[ENGINE_MARK_RATE_LIMIT]));
	assert_back();
}

/* ---- the process ---- */

static void settings_of_the_process_follow(void **state)
{
	const struct engine *e = &rig.rig.engine;

	(void)state;
	reload_fine("[global]\nuser = root\nlog = file:/dev/null\nmaxconn = 123\nsplice = off\n"
		    "pipe-cycle = 3s\n" WEB APP);
	assert_int_equal(e->limits.maxconn, 123);
	assert_int_equal(atomic_load(&e->settings.maxconn), 123);
	assert_int_equal(frontend_limit(live_frontend("web")), 123);
	assert_int_equal(atomic_load(&e->settings.splice), CONFIG_SPLICE_OFF);
	assert_int_equal(atomic_load(&e->settings.pipe_cycle_ns), 3 * NS_PER_SEC);
	assert_true(is_served(&live_endpoint("web", "in")->addr));
}

static bool has_line(const char *name, const char *line)
{
	char path[128], text[4096];
	size_t len;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", rig.folder, name); /* fits */
	f = fopen(path, "r");
	if (f == NULL)
		return false;
	len = fread(text, 1, sizeof(text) - 1, f);
	text[len] = '\0';
	fclose(f);
	return strstr(text, line) != NULL;
}

static void targets_of_the_log_come_and_go(void **state)
{
	(void)state;
	reload_fine("[global]\nuser = root\nlog = file:/dev/null\nlog = file:FOLDER/log\n" WEB APP);
	log_line(LOG_LEVEL_NOTICE, "the first line");
	assert_true(logwriter_flush(rig.rig.log, 10000));
	while (!has_line("log", "the first line"))
		rig_rest(&rig.rig, NS_PER_MS);
	reload_fine(BASE);
	log_line(LOG_LEVEL_NOTICE, "the second line");
	assert_true(logwriter_flush(rig.rig.log, 10000));
	assert_false(has_line("log", "the second line"));
}

/* ---- refused ---- */

static struct portrait was, is;

/* `text` is refused, with words in which `part` occurs, and leaves no trace. */
static void assert_refused(const char *text, const char *part)
{
	portrait_draw(&was, &rig.rig, rig.folder);
	assert_true(reload(text) < 0);
	portrait_draw(&is, &rig.rig, rig.folder);
	if (strstr(rig.why, part) == NULL)
		fail_msg("'%s' is not in '%s'", part, rig.why);
	assert_true(portrait_same(&was, &is));
	assert_int_equal(rig.took_effect, 0);
	assert_true(is_served(&live_endpoint("web", "in")->addr));
}

static void an_address_in_use_is_refused(void **state)
{
	struct addr taken = {.in = {.sin_family = AF_INET}, .len = sizeof(taken.in)};
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[2048], part[64];

	(void)state;
	taken.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, &taken.sa, taken.len), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, &taken.sa, &taken.len), 0);
	(void)snprintf(text, sizeof(text),
		       BASE "[frontend more]\nbind in = 127.0.0.2:0\nbind = 127.0.0.1:%u\n"
			    "default-backend = new\n" FRONT "[backend new]\nserver b = ECHO1\n" TIMES,
		       ntohs(taken.in.sin_port)); /* fits */
	(void)snprintf(part, sizeof(part), "127.0.0.1:%u (test:", ntohs(taken.in.sin_port)); /* fits */
	assert_refused(text, part);
	assert_non_null(strstr(rig.why, "address already in use"));
	close(fd);
}

static void limits_that_do_not_fit_are_refused(void **state)
{
	(void)state;
	assert_refused("[global]\nuser = root\nlog = file:/dev/null\nmaxconn = 1000000\n" WEB APP,
		       "maxconn 1000000 does not fit into 20000 descriptors");
}

static void a_log_that_cannot_be_opened_is_refused(void **state)
{
	(void)state;
	assert_refused("[global]\nuser = root\nlog = file:/dev/null\nlog = file:FOLDER/none/log\n" WEB APP,
		       "cannot open the log file");
}

/* What the admin socket is asked to become. */
struct admin_calls {
	int err;
	unsigned prepared, committed, undone;
	const struct config_global *global;
};

static int prepare_admin(void *arg, const struct config_global *g, char *why, size_t room)
{
	struct admin_calls *a = arg;

	if (a->err)
		(void)snprintf(why, room, "no admin socket");
	else
		a->prepared++;
	a->global = g;
	return a->err;
}

static void commit_admin(void *arg)
{
	struct admin_calls *a = arg;

	a->committed++;
}

static void undo_admin(void *arg)
{
	struct admin_calls *a = arg;

	a->undone++;
}

static void the_admin_socket_goes_along(void **state)
{
	struct admin_calls a = {0};

	(void)state;
	rig.parts.admin = (struct apply_admin){prepare_admin, commit_admin, undo_admin, &a};
	a.err = -EACCES;
	assert_refused(BASE "[backend new]\nserver b = ECHO1\n" TIMES, "no admin socket");
	a.err = 0;
	assert_refused(BASE "[frontend more]\nbind = 192.0.2.1:81\ndefault-backend = app\n" FRONT,
		       "no interface of this machine has that address");
	assert_int_equal(a.prepared, 1);
	assert_int_equal(a.undone, 1);
	reload_fine(BASE);
	assert_int_equal(a.prepared, 2);
	assert_int_equal(a.committed, 1);
	assert_ptr_equal(a.global, &rig.rig.config->global);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_same_configuration_changes_nothing),
		TEST(a_frontend_comes_and_goes),
		TEST(a_frontend_changes_under_its_sessions),
		TEST(an_address_comes_and_goes),
		TEST(an_address_stays_after_all),
		TEST(backends_come_and_go_with_their_routes),
		TEST(a_default_backend_is_replaced),
		TEST(servers_come_change_and_go),
		TEST(a_server_moves_to_another_address),
		TEST(a_backend_changes),
		TEST(checks_and_names_follow),
		TEST(a_server_added_at_run_time_stays_until_it_is_named),
		TEST(a_server_deleted_at_run_time_stays_deleted_until_its_line_changes),
		TEST(a_server_moved_at_run_time_stays_there),
		TEST(servers_added_at_run_time_are_checked_and_looked_up),
		TEST(a_thousand_servers_change_at_once),
		TEST(a_disabled_frontend_stays_so),
		TEST(a_frontend_is_shut_down_until_its_section_changes),
		TEST(a_frontend_is_back_at_once_or_not_at_all),
		TEST(limits_that_were_set_hold_until_the_file_changes_them),
		TEST(settings_of_the_process_follow),
		TEST(targets_of_the_log_come_and_go),
		TEST(an_address_in_use_is_refused),
		TEST(limits_that_do_not_fit_are_refused),
		TEST(a_log_that_cannot_be_opened_is_refused),
		TEST(the_admin_socket_goes_along),
	};

	const int skipped = apply_choose_driver(argc, argv);

	return skipped ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
