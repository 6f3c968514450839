/* SPDX-License-Identifier: MIT
 *
 * test_plan.c - what a plan finds in pairs of configurations.
 */
#include "plan_rig.h"
#include "weir/balance/live_change.h"

#define APP	"[backend app]\nserver a = 10.1.0.1:1\n"
#define WEB(b)	"[frontend web]\n" b "default-backend = app\n"
#define FEED(b) "[frontend feed]\n" b "default-backend = app\n"
#define BASE	WEB("bind = :80\n") APP

struct row {
	const char *now;
	const char *next;
	const char *shown;     /* show_plan() */
	const char *described; /* plan_describe() */
};

static void check_row(const struct row *row)
{
	struct plan_rig r;

	rig_open(&r, row->now);
	rig_plan(&r, row->next);
	assert_plan(&r.plan, row->shown);
	assert_described(&r.plan, row->described);
	rig_plan(&r, row->now); /* the same again changes nothing */
	assert_described(&r.plan, "nothing has changed");
	rig_close(&r);
}

static void check_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check_row(&rows[i]);
}

/* ---- backends and servers ---- */

static void backends_meet_by_name_and_servers_by_name_and_address(void **state)
{
	static const struct row rows[] = {
		{BASE, BASE, "web kept: *:80 kept;\napp kept: a kept;\n", "nothing has changed"},
		{BASE, "# moved down\n\n" BASE, "web kept: *:80 kept;\napp kept: a kept;\n",
		 "nothing has changed"},
		{BASE, BASE "server b = 10.1.0.2:1\n", "web kept: *:80 kept;\napp kept: a kept; b added;\n",
		 "server app/b added"},
		{BASE, BASE "server b = 10.1.0.2:1\nserver c = 10.1.0.3:1\nserver d = 10.1.0.4:1\n",
		 "web kept: *:80 kept;\napp kept: a kept; b added; c added; d added;\n",
		 "servers app/b, app/c and app/d added"},
		{BASE,
		 BASE "server b = 10.1.0.2:1\nserver c = 10.1.0.3:1\nserver d = 10.1.0.4:1\n"
		      "server e = 10.1.0.5:1\n",
		 "web kept: *:80 kept;\napp kept: a kept; b added; c added; d added; e added;\n",
		 "4 servers added"},
		{BASE, WEB("bind = :80\n") "[backend app]\nserver a = 10.1.0.1:1 weight=7\n",
		 "web kept: *:80 kept;\napp kept: a changed;\n", "server app/a changed"},
		{BASE, WEB("bind = :80\n") "[backend app]\nserver a = 10.1.0.9:1\n",
		 "web kept: *:80 kept;\napp kept: a added; a removed;\n",
		 "server app/a added, server app/a removed"},
		{BASE, WEB("bind = :80\n") "[backend app]\nbalance = leastconn\nserver a = 10.1.0.1:1\n",
		 "web kept: *:80 kept;\napp changed: a kept;\n", "backend app changed"},
		{BASE "server b = 10.1.0.2:1\n",
		 WEB("bind = :80\n") "[backend app]\nserver b = 10.1.0.2:1\nserver c = 10.1.0.1:1\n",
		 "web kept: *:80 kept;\napp kept: b kept; c added; a removed;\n",
		 "server app/c added, server app/a removed"},
		{BASE, "[backend other]\nserver a = 10.1.0.1:1\n" BASE,
		 "web kept: *:80 kept;\nother added: a added;\napp kept: a kept;\n", "backend other added"},
		{"[backend other]\nserver a = 10.1.0.1:1\n" BASE, BASE,
		 "web kept: *:80 kept;\napp kept: a kept;\nother removed: a removed;\n",
		 "backend other removed"},
	};

	(void)state;
	check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

static void nothing_at_end(void *arg)
{
	(void)arg;
}

static void nothing_at(void *arg, int64_t at_ns)
{
	(void)arg;
	(void)at_ns;
}

/* Though its sessions go on, and it is not freed. */
static void what_was_removed_is_never_met_again(void **state)
{
	static const struct server_updates_loop loop = {.at_end = nothing_at_end, .at = nothing_at};
	struct server_updates updates;
	struct backend *app, *third;
	struct plan_rig r;

	(void)state;
	rig_open(&r, BASE "server b = 10.1.0.2:1\n[backend third]\nserver a = 10.1.0.3:1\n");
	server_updates_init(&updates, r.engine.backends, r.engine.backend_count, &loop);
	app = r.engine.backends[0];
	third = r.engine.backends[1];
	assert_int_equal(server_prepare_remove(app->servers[0]), 0);
	server_remove(&updates, app->servers[0]);
	assert_int_equal(backend_prepare_remove(third), 0);
	engine_drop_backend(&r.engine, third);
	backend_remove(&updates, third);
	server_updates_publish(&updates);
	assert_false(list_empty(&app->left));
	rig_plan(&r, BASE "server b = 10.1.0.2:1\n[backend third]\nserver a = 10.1.0.3:1\n");
	assert_plan(&r.plan,
		    "web kept: *:80 kept;\napp kept: a added; b kept;\nthird added: a added;\n");
	assert_described(&r.plan, "backend third added, server app/a added");
	rig_plan(&r, WEB("bind = :80\n") "[backend app]\nserver b = 10.1.0.2:1\n");
	assert_described(&r.plan, "nothing has changed");
	server_updates_free(&updates);
	rig_close(&r);
}

/* ---- frontends ---- */

#define OTHER "[backend other]\nserver a = 10.1.0.1:1\n"

static void frontend_is_kept_while_its_clients_go_where_they_went(void **state)
{
	static const struct row rows[] = {
		/* The same backend under another number, and another under the same. */
		{BASE OTHER, OTHER BASE,
		 "web kept: *:80 kept;\nother kept: a kept;\napp kept: a kept;\n", "nothing has changed"},
		{BASE OTHER, "[frontend web]\nbind = :80\ndefault-backend = other\n" OTHER APP,
		 "web changed: *:80 kept;\nother kept: a kept;\napp kept: a kept;\n", "frontend web changed"},
		{WEB("bind = :80\nuse-backend other = dst-port=80\n") APP OTHER,
		 WEB("bind = :80\nuse-backend other = dst-port=80\n") OTHER APP,
		 "web kept: *:80 kept;\nother kept: a kept;\napp kept: a kept;\n", "nothing has changed"},
		{WEB("bind = :80\nuse-backend other = dst-port=80\n") APP OTHER,
		 WEB("bind = :80\nuse-backend app = dst-port=80\n") OTHER APP,
		 "web changed: *:80 kept;\nother kept: a kept;\napp kept: a kept;\n", "frontend web changed"},
		{WEB("bind = :80\nuse-backend other = dst-port=80\n") APP OTHER,
		 WEB("bind = :80\nuse-backend third = dst-port=80\n") APP
		 "[backend third]\nserver a = 10.1.0.1:1\n",
		 "web changed: *:80 kept;\napp kept: a kept;\nthird added: a added;\n"
		 "other removed: a removed;\n",
		 "frontend web changed, backend third added, backend other removed"},
		{BASE, WEB("bind = :80\nmaxconn = 5\n") APP, "web changed: *:80 kept;\napp kept: a kept;\n",
		 "frontend web changed"},
		{BASE, "[listen app]\nbind = :80\nserver a = 10.1.0.1:1\n",
		 "app added: *:80 added from web [::]:80;\nweb removed:\napp kept: a kept;\n",
		 "frontend app added, frontend web removed, address *:80 moved"},
		{BASE, BASE FEED("bind = :90\n"),
		 "web kept: *:80 kept;\nfeed added: *:90 added;\napp kept: a kept;\n", "frontend feed added"},
		{BASE FEED("bind = :90\nbind = :91\n"), BASE,
		 "web kept: *:80 kept;\nfeed removed: *:90 removed; *:91 removed;\napp kept: a kept;\n",
		 "frontend feed removed"},
	};

	(void)state;
	check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

/* ---- addresses ---- */

static void bind_meets_the_socket_of_its_address(void **state)
{
	static const struct row rows[] = {
		{BASE, WEB("bind = :80\nbind = :81\n") APP,
		 "web kept: *:80 kept; *:81 added;\napp kept: a kept;\n", "address *:81 added"},
		{WEB("bind = :80\nbind = :81\n") APP, WEB("bind = :81\n") APP,
		 "web kept: *:81 kept; *:80 removed;\napp kept: a kept;\n", "address *:80 removed"},
		{WEB("bind = :80\nbind = :81\n") APP, WEB("bind = :81\nbind = :80\n") APP,
		 "web kept: *:81 kept; *:80 kept;\napp kept: a kept;\n", "nothing has changed"},
		{BASE, WEB("bind = :80 backlog=100\n") APP, "web kept: *:80 changed;\napp kept: a kept;\n",
		 "address *:80 changed"},
		{BASE, WEB("bind first = :80\n") APP, "web kept: *:80 changed;\napp kept: a kept;\n",
		 "address *:80 changed"},
		/* What only a new socket can have. */
		{WEB("bind = 10.0.0.1:80\n") APP, WEB("bind = 10.0.0.1:80 mptcp\n") APP,
		 "web kept: 10.0.0.1:80 added; 10.0.0.1:80 removed;\napp kept: a kept;\n",
		 "address 10.0.0.1:80 added, address 10.0.0.1:80 removed"},
		{WEB("bind = 10.0.0.1:80\n") APP, WEB("bind = 10.0.0.1:80 interface=lo\n") APP,
		 "web kept: 10.0.0.1:80 added; 10.0.0.1:80 removed;\napp kept: a kept;\n",
		 "address 10.0.0.1:80 added, address 10.0.0.1:80 removed"},
		{WEB("bind = unix:/run/a\n") APP, WEB("bind = unix:/run/a mode=600\n") APP,
		 "web kept: unix:/run/a changed;\napp kept: a kept;\n", "address unix:/run/a changed"},
		{WEB("bind = unix:/run/a\n") APP, WEB("bind = unix:@/run/a\n") APP,
		 "web kept: unix:@/run/a added; unix:/run/a removed;\napp kept: a kept;\n",
		 "address unix:@/run/a added, address unix:/run/a removed"},
		/* Without a port each bind has a socket of its own, in their order. */
		{WEB("bind = 127.0.0.1:0\nbind = 127.0.0.1:0 backlog=7\n") APP,
		 WEB("bind = 127.0.0.1:0 backlog=7\nbind = 127.0.0.1:0 backlog=7\nbind = 127.0.0.1:0\n") APP,
		 "web kept: 127.0.0.1:0 changed; 127.0.0.1:0 kept; 127.0.0.1:0 added;\napp kept: a kept;\n",
		 "address 127.0.0.1:0 added, address 127.0.0.1:0 changed"},
	};

	(void)state;
	check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

static void socket_moves_to_another_frontend(void **state)
{
	static const struct row rows[] = {
		{BASE, FEED("bind = :80\n") APP,
		 "feed added: *:80 added from web [::]:80;\nweb removed:\napp kept: a kept;\n",
		 "frontend feed added, frontend web removed, address *:80 moved"},
		/* Two frontends exchange what they have. */
		{WEB("bind = :80\n") FEED("bind = 10.0.0.1:90\n") APP,
		 WEB("bind = 10.0.0.1:90\n") FEED("bind = :80\n") APP,
		 "web kept: 10.0.0.1:90 added from feed 10.0.0.1:90;\n"
		 "feed kept: *:80 added from web [::]:80;\napp kept: a kept;\n",
		 "addresses 10.0.0.1:90 and *:80 moved"},
		/* Whoever keeps it keeps it: without a port, the same address is there twice. */
		{FEED("bind = 127.0.0.1:0\n") APP,
		 WEB("bind = 127.0.0.1:0\n") FEED("bind = 127.0.0.1:0\n") APP,
		 "web added: 127.0.0.1:0 added;\nfeed kept: 127.0.0.1:0 kept;\napp kept: a kept;\n",
		 "frontend web added"},
		{BASE FEED("bind = unix:/run/a\n"), WEB("bind = unix:/run/a\n") FEED("bind = :81\n") APP,
		 "web kept: unix:/run/a added from feed unix:/run/a; *:80 removed;\nfeed kept: *:81 added;\n"
		 "app kept: a kept;\n",
		 "address *:81 added, address unix:/run/a moved, address *:80 removed"},
		/* One that cannot become it does not move. */
		{WEB("bind = 10.0.0.1:80\n") APP, FEED("bind = 10.0.0.1:80 mptcp\n") APP,
		 "feed added: 10.0.0.1:80 added;\nweb removed: 10.0.0.1:80 removed;\napp kept: a kept;\n",
		 "frontend feed added, frontend web removed"},
	};

	(void)state;
	check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

static void wildcard_takes_over_what_it_covers(void **state)
{
	static const struct row rows[] = {
		{WEB("bind = 10.0.0.1:80\nbind = 10.0.0.2:80\nbind = 10.0.0.1:81\n") APP,
		 WEB("bind = :80\n") APP,
		 "web kept: *:80 added; *:80 added from web 10.0.0.1:80; *:80 added from web 10.0.0.2:80; "
		 "10.0.0.1:81 removed;\napp kept: a kept;\n",
		 "address *:80 added, addresses 10.0.0.1:80, 10.0.0.2:80 and 10.0.0.1:81 removed"},
		{FEED("bind = 10.0.0.1:80\nbind = [::1]:80\n") APP, WEB("bind = 0.0.0.0:80\n") APP,
		 "web added: 0.0.0.0:80 added; 0.0.0.0:80 added from feed 10.0.0.1:80;\n"
		 "feed removed: [::1]:80 removed;\napp kept: a kept;\n",
		 "frontend web added, frontend feed removed"},
		{WEB("bind = 10.0.0.1:80\nbind = [::1]:80\n") APP, WEB("bind = [::]:80 v6only\n") APP,
		 "web kept: [::]:80 added; [::]:80 added from web [::1]:80; 10.0.0.1:80 removed;\n"
		 "app kept: a kept;\n",
		 "address [::]:80 added, addresses [::1]:80 and 10.0.0.1:80 removed"},
		/* The same address with another socket. */
		{WEB("bind = :80\n") APP, WEB("bind = :80 freebind\n") APP,
		 "web kept: *:80 added; *:80 added from web [::]:80;\napp kept: a kept;\n",
		 "address *:80 changed"},
		/* The wildcard was there. */
		{WEB("bind = 0.0.0.0:80\nbind = [::1]:80\n") APP, WEB("bind = :80\n") APP,
		 "web kept: *:80 added; *:80 added from web 0.0.0.0:80; *:80 added from web [::1]:80;\n"
		 "app kept: a kept;\n",
		 "address *:80 added, addresses 0.0.0.0:80 and [::1]:80 removed"},
		/* From a wildcard to less. */
		{BASE, WEB("bind = 10.0.0.1:80\n") APP,
		 "web kept: 10.0.0.1:80 added; *:80 removed;\napp kept: a kept;\n",
		 "address 10.0.0.1:80 added, address *:80 removed"},
		{WEB("bind = 10.0.0.1:80\n") APP, WEB("bind = :80 interface=lo\n") APP,
		 "web kept: *:80 added; 10.0.0.1:80 removed;\napp kept: a kept;\n",
		 "address *:80 added, address 10.0.0.1:80 removed"},
	};

	(void)state;
	check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

/* After a takeover, its sockets are parts of the wildcard. */
static void parts_of_a_bind_stay_together(void **state)
{
	struct plan_rig r;
	struct endpoint *ep;

	(void)state;
	rig_open(&r, BASE);
	ep = rig_endpoint(rig_frontend(&r, "web"), 0);
	(void)rig_add_part(&r, ep, "10.0.0.1:80", 2);
	(void)rig_add_part(&r, ep, "10.0.0.2:80", 3);
	rig_plan(&r, BASE);
	assert_plan(&r.plan, "web kept: *:80 kept; *:80 kept part 10.0.0.1:80; *:80 kept part 10.0.0.2:80;\n"
			     "app kept: a kept;\n");
	assert_described(&r.plan, "nothing has changed");
	rig_plan(&r, WEB("bind = :80 backlog=9\n") APP);
	assert_plan(&r.plan, "web kept: *:80 changed; *:80 changed part 10.0.0.1:80; "
			     "*:80 changed part 10.0.0.2:80;\napp kept: a kept;\n");
	assert_described(&r.plan, "address *:80 changed");
	rig_plan(&r, FEED("bind = :80\n") APP);
	assert_plan(&r.plan, "feed added: *:80 added from web [::]:80; *:80 added from web 10.0.0.1:80; "
			     "*:80 added from web 10.0.0.2:80;\nweb removed:\napp kept: a kept;\n");
	assert_described(&r.plan, "frontend feed added, frontend web removed, address *:80 moved");
	rig_close(&r);
}

/* And each may become what it was before. */
static void part_becomes_a_bind_of_its_own_address(void **state)
{
	struct plan_rig r;
	struct endpoint *ep;

	(void)state;
	rig_open(&r, BASE);
	ep = rig_endpoint(rig_frontend(&r, "web"), 0);
	(void)rig_add_part(&r, ep, "10.0.0.1:80", 2);
	(void)rig_add_part(&r, ep, "[::1]:80", 3);
	rig_plan(&r, WEB("bind = 10.0.0.1:80\nbind = [::1]:80 v6only\nbind = 10.0.0.2:80\n") APP);
	assert_plan(&r.plan, "web kept: 10.0.0.1:80 added from web 10.0.0.1:80; [::1]:80 added from web "
			     "[::1]:80; 10.0.0.2:80 added; *:80 removed;\napp kept: a kept;\n");
	assert_described(&r.plan, "addresses 10.0.0.1:80, [::1]:80 and 10.0.0.2:80 added, "
				  "address *:80 removed");
	rig_plan(&r, WEB("bind = 10.0.0.1:80 mptcp\nbind = [::1]:81\n") APP);
	assert_plan(&r.plan, "web kept: 10.0.0.1:80 added; [::1]:81 added; *:80 removed; "
			     "*:80 removed part 10.0.0.1:80; *:80 removed part [::1]:80;\n"
			     "app kept: a kept;\n");
	assert_described(&r.plan, "addresses 10.0.0.1:80 and [::1]:81 added, address *:80 removed");
	rig_close(&r);
}

#define BOTH WEB("bind = :80\n") FEED("bind = 10.0.0.1:80\n") APP

static void address_comes_and_goes_beside_a_wildcard(void **state)
{
	static const struct row rows[] = {
		{BASE, BOTH, "web kept: *:80 kept;\nfeed added: 10.0.0.1:80 added;\napp kept: a kept;\n",
		 "frontend feed added"},
		/* Its socket stays, and belongs to the wildcard. */
		{BOTH, BASE, "web kept: *:80 kept; *:80 added from feed 10.0.0.1:80;\nfeed removed:\n"
			     "app kept: a kept;\n",
		 "frontend feed removed"},
		{BOTH, WEB("bind = 10.0.0.1:80\n") FEED("bind = :80\n") APP,
		 "web kept: 10.0.0.1:80 added from feed 10.0.0.1:80;\n"
		 "feed kept: *:80 added from web [::]:80;\napp kept: a kept;\n",
		 "addresses 10.0.0.1:80 and *:80 moved"},
		/* A socket that cannot go on is no part of the wildcard: another has its address now. */
		{BOTH, WEB("bind = :80\n") FEED("bind = 10.0.0.1:80 mptcp\n") APP,
		 "web kept: *:80 kept;\nfeed kept: 10.0.0.1:80 added; 10.0.0.1:80 removed;\n"
		 "app kept: a kept;\n",
		 "address 10.0.0.1:80 added, address 10.0.0.1:80 removed"},
	};

	(void)state;
	check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

/* In whatever frontend, of whatever order. */
static void part_goes_to_the_bind_of_its_address(void **state)
{
	struct plan_rig r;

	(void)state;
	rig_open(&r, BASE);
	(void)rig_add_part(&r, rig_endpoint(rig_frontend(&r, "web"), 0), "10.0.0.1:80", 2);
	rig_plan(&r, BOTH);
	assert_plan(&r.plan, "web kept: *:80 kept;\nfeed added: 10.0.0.1:80 added from web 10.0.0.1:80;\n"
			     "app kept: a kept;\n");
	rig_plan(&r, WEB("bind = :80\nbind = 10.0.0.1:80\n") APP);
	assert_plan(&r.plan, "web kept: *:80 kept; 10.0.0.1:80 added from web 10.0.0.1:80;\n"
			     "app kept: a kept;\n");
	rig_plan(&r, FEED("bind = :80\n") WEB("bind = 10.0.0.1:80\n") APP);
	assert_plan(&r.plan, "feed added: *:80 added from web [::]:80;\n"
			     "web kept: 10.0.0.1:80 added from web 10.0.0.1:80;\napp kept: a kept;\n");
	rig_plan(&r, WEB("bind = :80\n") FEED("bind = 10.0.0.1:80 mptcp\n") APP);
	assert_plan(&r.plan, "web kept: *:80 kept; *:80 removed part 10.0.0.1:80;\n"
			     "feed added: 10.0.0.1:80 added;\napp kept: a kept;\n");
	assert_described(&r.plan, "frontend feed added");
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(backends_meet_by_name_and_servers_by_name_and_address),
		cmocka_unit_test(what_was_removed_is_never_met_again),
		cmocka_unit_test(frontend_is_kept_while_its_clients_go_where_they_went),
		cmocka_unit_test(bind_meets_the_socket_of_its_address),
		cmocka_unit_test(socket_moves_to_another_frontend),
		cmocka_unit_test(wildcard_takes_over_what_it_covers),
		cmocka_unit_test(parts_of_a_bind_stay_together),
		cmocka_unit_test(part_becomes_a_bind_of_its_own_address),
		cmocka_unit_test(address_comes_and_goes_beside_a_wildcard),
		cmocka_unit_test(part_goes_to_the_bind_of_its_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
