/* SPDX-License-Identifier: MIT
 *
 * test_plan_sockets.c - plans while sockets leave, and for sockets that were passed at the start.
 */
#include "plan_rig.h"
#include "weir/entry/halt.h"

#define APP	"[backend app]\nserver a = 10.1.0.1:1\n"
#define WEB(b)	"[frontend web]\n" b "default-backend = app\n"
#define FEED(b) "[frontend feed]\n" b "default-backend = app\n"
#define BASE	WEB("bind = :80\n") APP
#define NOW_NS	INT64_C(1000000000)

#define NOT_OPEN                                                                                             \
	"weir gets passed sockets only when it starts, and has none with this name open; restart it, or "    \
	"write an address"

static void leave(struct plan_rig *r, struct endpoint *ep)
{
	entries_leave(&r->engine.entries, ep, NOW_NS);
	assert_int_not_equal(ep->stage, ENDPOINT_OPEN);
}

/* ---- leaving ---- */

static void socket_that_leaves_is_wanted_again(void **state)
{
	struct plan_rig r;

	(void)state;
	rig_open(&r, WEB("bind = :80\nbind = unix:@weir-a\n") APP);
	leave(&r, rig_endpoint(rig_frontend(&r, "web"), 0));
	leave(&r, rig_endpoint(rig_frontend(&r, "web"), 1));
	assert_int_equal(rig_endpoint(rig_frontend(&r, "web"), 0)->stage, ENDPOINT_DEAF);
	assert_int_equal(rig_endpoint(rig_frontend(&r, "web"), 1)->stage, ENDPOINT_LEAVING);
	rig_plan(&r, WEB("bind = :80\nbind = unix:@weir-a\n") APP);
	assert_plan(&r.plan, "web kept: *:80 changed (leaving); unix:@weir-a changed (leaving);\n"
			     "app kept: a kept;\n");
	assert_described(&r.plan, "addresses *:80 and unix:@weir-a added");
	rig_close(&r);
}

static void socket_that_leaves_is_not_removed_twice(void **state)
{
	struct plan_rig r;

	(void)state;
	rig_open(&r, WEB("bind = :80\nbind = :81\n") APP);
	leave(&r, rig_endpoint(rig_frontend(&r, "web"), 1));
	rig_plan(&r, BASE);
	assert_plan(&r.plan, "web kept: *:80 kept;\napp kept: a kept;\n");
	assert_described(&r.plan, "nothing has changed");
	rig_close(&r);
}

/* What leaves and what stays have one address: the one that is open is met. */
static void open_socket_comes_before_one_that_leaves(void **state)
{
	struct plan_rig r;
	struct endpoint *first;

	(void)state;
	rig_open(&r, WEB("bind = 127.0.0.1:0\nbind = 127.0.0.1:0\n") APP);
	first = rig_endpoint(rig_frontend(&r, "web"), 0);
	leave(&r, first);
	rig_plan(&r, WEB("bind = 127.0.0.1:0\n") APP);
	assert_plan(&r.plan, "web kept: 127.0.0.1:0 kept;\napp kept: a kept;\n");
	assert_ptr_not_equal(r.plan.frontends[0].binds[0].live, first);
	rig_plan(&r, WEB("bind = 127.0.0.1:0\nbind = 127.0.0.1:0\n") APP);
	assert_plan(&r.plan, "web kept: 127.0.0.1:0 kept; 127.0.0.1:0 changed (leaving);\n"
			     "app kept: a kept;\n");
	assert_ptr_equal(r.plan.frontends[0].binds[1].live, first);
	rig_close(&r);
}

/* Neither the sockets of one address in one frontend nor those in two are one bind, if not all are open. */
static void sockets_that_leave_at_one_address_are_not_one_bind(void **state)
{
	struct plan_rig r;
	struct frontend *web;

	(void)state;
	rig_open(&r, WEB("bind = 10.0.0.1:80\n") FEED("bind = 10.0.0.1:90\n") APP);
	web = rig_frontend(&r, "web");
	leave(&r, rig_add_part(&r, rig_endpoint(web, 0), "10.0.0.1:80", 0));
	rig_plan(&r, WEB("bind = 10.0.0.1:80\n") APP);
	assert_plan(&r.plan, "web kept: 10.0.0.1:80 kept;\nfeed removed: 10.0.0.1:90 removed;\n"
			     "app kept: a kept;\n");
	rig_stand_in(rig_add(&r, rig_frontend(&r, "feed"), rig_endpoint(web, 0)->config));
	entries_remove_frontend(&r.engine.entries, rig_frontend(&r, "feed"), NOW_NS);
	leave(&r, rig_endpoint(web, 0));
	entries_remove_frontend(&r.engine.entries, web, NOW_NS);
	rig_plan(&r, "[frontend tail]\nbind = 10.0.0.1:80\ndefault-backend = app\n" APP);
	assert_plan(&r.plan, "tail added: 10.0.0.1:80 added from feed 10.0.0.1:80 (leaving);\n"
			     "app kept: a kept;\n");
	rig_close(&r);
}

/* A part is not the whole of a bind. */
static void bind_without_its_own_socket_is_bound_anew(void **state)
{
	struct plan_rig r;
	struct endpoint *ep;

	(void)state;
	rig_open(&r, BASE);
	ep = rig_endpoint(rig_frontend(&r, "web"), 0);
	(void)rig_add_part(&r, ep, "10.0.0.1:80", 2);
	leave(&r, ep);
	endpoint_close(ep);
	rig_plan(&r, BASE);
	assert_plan(&r.plan, "web kept: *:80 added; *:80 added from web 10.0.0.1:80;\napp kept: a kept;\n");
	rig_close(&r);
}

/* Which part of a bind a socket is says nothing of its address. */
static void bind_gets_no_socket_of_another_address(void **state)
{
	struct plan_rig r;
	struct endpoint *ep;

	(void)state;
	rig_open(&r, WEB("bind = 0.0.0.0:80\n") APP);
	ep = rig_endpoint(rig_frontend(&r, "web"), 0);
	(void)rig_add_part(&r, ep, "10.0.0.1:80", 0);
	rig_plan(&r, WEB("bind = 10.0.0.1:80\n") APP);
	assert_plan(&r.plan, "web kept: 10.0.0.1:80 added from web 10.0.0.1:80; 0.0.0.0:80 removed;\n"
			     "app kept: a kept;\n");
	rig_close(&r);
}

static void wildcard_takes_over_what_leaves(void **state)
{
	struct plan_rig r;

	(void)state;
	rig_open(&r, WEB("bind = 10.0.0.1:80\nbind = :81\n") APP);
	leave(&r, rig_endpoint(rig_frontend(&r, "web"), 0));
	rig_plan(&r, WEB("bind = :80\nbind = :81\n") APP);
	assert_plan(&r.plan, "web kept: *:80 added; *:80 added from web 10.0.0.1:80 (leaving); *:81 kept;\n"
			     "app kept: a kept;\n");
	assert_described(&r.plan, "address *:80 added");
	rig_close(&r);
}

/* It left because it could not become what was wanted; that is wanted no longer. */
static void socket_that_leaves_is_met_if_the_open_one_cannot_be(void **state)
{
	struct plan_rig r;
	struct endpoint *ep;

	(void)state;
	rig_open(&r, WEB("bind = 10.0.0.1:80\n") APP);
	ep = rig_endpoint(rig_frontend(&r, "web"), 0);
	rig_plan(&r, WEB("bind = 10.0.0.1:80 interface=lo\n") APP);
	rig_stand_in(rig_add(&r, ep->frontend, &r.next->frontends[0].binds[0]));
	leave(&r, ep);
	rig_plan(&r, WEB("bind = 10.0.0.1:80\n") APP);
	assert_plan(&r.plan, "web kept: 10.0.0.1:80 changed (leaving); 10.0.0.1:80 removed;\n"
			     "app kept: a kept;\n");
	rig_close(&r);
}

static void closed_socket_is_not_met(void **state)
{
	struct plan_rig r;
	struct endpoint *ep;

	(void)state;
	rig_open(&r, BASE);
	ep = rig_endpoint(rig_frontend(&r, "web"), 0);
	leave(&r, ep);
	(void)entries_wake(&r.engine.entries, INT64_MAX);
	endpoint_close(ep);
	rig_plan(&r, BASE);
	assert_plan(&r.plan, "web kept: *:80 added;\napp kept: a kept;\n");
	assert_described(&r.plan, "address *:80 added");
	rig_close(&r);
}

static void socket_of_a_removed_frontend_moves(void **state)
{
	struct plan_rig r;
	struct frontend *web;

	(void)state;
	rig_open(&r, BASE FEED("bind = 10.0.0.1:90\n"));
	web = rig_frontend(&r, "web");
	entries_remove_frontend(&r.engine.entries, web, NOW_NS);
	rig_plan(&r, FEED("bind = 10.0.0.1:90\n") APP);
	assert_described(&r.plan, "nothing has changed");
	/* One with the same name is another. */
	rig_plan(&r, BASE FEED("bind = :90\n"));
	assert_plan(&r.plan, "web added: *:80 added from web [::]:80 (leaving);\n"
			     "feed kept: *:90 added; *:90 added from feed 10.0.0.1:90;\napp kept: a kept;\n");
	assert_ptr_equal(r.plan.frontends[0].binds[0].from->frontend, web);
	assert_described(&r.plan,
			 "frontend web added, address *:90 added, address 10.0.0.1:90 removed");
	rig_close(&r);
}

/* What another endpoint has taken over is there twice for a moment, and belongs to that one alone. */
static void socket_that_was_given_away_is_not_met(void **state)
{
	struct plan_rig r;
	struct endpoint *heir;
	struct entry_error error;

	(void)state;
	rig_open(&r, BASE FEED("bind = 10.0.0.1:90\n"));
	heir = entries_prepare_endpoint(&r.engine.entries, rig_frontend(&r, "feed"), NULL,
					rig_endpoint(rig_frontend(&r, "web"), 0)->config,
					rig_endpoint(rig_frontend(&r, "web"), 0), &error);
	assert_non_null(heir);
	entries_commit_endpoint(&r.engine.entries, heir);
	rig_plan(&r, WEB("bind = 10.0.0.1:90\n") FEED("bind = :80\n") APP);
	assert_plan(&r.plan, "web kept: 10.0.0.1:90 added from feed 10.0.0.1:90;\nfeed kept: *:80 kept;\n"
			     "app kept: a kept;\n");
	assert_described(&r.plan, "address 10.0.0.1:90 moved");
	rig_close(&r);
}

/* ---- passed sockets ---- */

static void passed_socket_stays_where_its_name_stays(void **state)
{
	struct plan_rig r;

	(void)state;
	rig_open(&r, WEB("bind = fd@web\nbind = :81\n") APP);
	(void)rig_add_part(&r, rig_endpoint(rig_frontend(&r, "web"), 0), "10.0.0.1:80", 2);
	rig_plan(&r, WEB("bind = fd@web\nbind = :81\n") APP);
	assert_plan(&r.plan, "web kept: fd@web kept; fd@web kept part 10.0.0.1:80; *:81 kept;\n"
			     "app kept: a kept;\n");
	rig_plan(&r, FEED("bind = fd@web\n") WEB("bind = :81\n") APP);
	assert_plan(&r.plan, "feed added: fd@web added from web -; fd@web added from web 10.0.0.1:80;\n"
			     "web kept: *:81 kept;\napp kept: a kept;\n");
	assert_described(&r.plan, "frontend feed added, address fd@web moved");
	/* Nobody but its name has it, and it is never part of another. */
	rig_plan(&r, WEB("bind = :80\nbind = 10.0.0.2:81\n") APP);
	assert_plan(&r.plan, "web kept: *:80 added; 10.0.0.2:81 added; fd@web removed; *:81 removed; "
			     "fd@web removed part 10.0.0.1:80;\napp kept: a kept;\n");
	rig_close(&r);
}

static void passed_socket_that_was_not_kept_is_refused(void **state)
{
	struct plan_rig r;

	(void)state;
	rig_open(&r, WEB("bind = fd@web\n") APP);
	assert_int_equal(rig_try(&r, WEB("bind = fd@web\nbind = fd@feed\n") APP), -EINVAL);
	assert_string_equal(r.why, "cannot listen on fd@feed (t.ini:3): " NOT_OPEN);
	assert_null(r.plan.frontends);
	assert_null(r.plan.backends);
	assert_int_equal(r.plan.frontend_count, 0);
	assert_true(plan_is_empty(&r.plan));
	/* A passed socket is not one of an address that is written. */
	assert_int_equal(rig_try(&r, WEB("bind = :80\n") FEED("bind = fd@feed\n") APP), -EINVAL);
	rig_plan(&r, WEB("bind = fd@web\n") APP);
	assert_string_equal(r.why, "");
	rig_close(&r);
}

/* Several sockets of one name are had together or not at all. */
static void passed_socket_that_is_partly_closed_is_refused(void **state)
{
	struct plan_rig r;
	struct endpoint *first, *second;

	(void)state;
	rig_open(&r, WEB("bind = fd@web\nbind = :81\n") APP);
	first = rig_endpoint(rig_frontend(&r, "web"), 0);
	second = rig_add_part(&r, first, "10.0.0.1:80", 2);
	leave(&r, second);
	rig_plan(&r, WEB("bind = fd@web\nbind = :81\n") APP);
	assert_described(&r.plan, "nothing has changed");
	leave(&r, first);
	rig_plan(&r, WEB("bind = fd@web\nbind = :81\n") APP);
	assert_plan(&r.plan, "web kept: fd@web changed (leaving); "
			     "fd@web changed part 10.0.0.1:80 (leaving); *:81 kept;\napp kept: a kept;\n");
	endpoint_close(second);
	assert_int_equal(entries_stay(&r.engine.entries, first), 0);
	rig_plan(&r, WEB("bind = fd@web\nbind = :81\n") APP);
	assert_described(&r.plan, "nothing has changed");
	leave(&r, first);
	assert_int_equal(rig_try(&r, WEB("bind = fd@web\nbind = :81\n") APP), -EINVAL);
	assert_string_equal(r.why, "cannot listen on fd@web (t.ini:2): " NOT_OPEN);
	rig_close(&r);
}

/* ---- frontends out of service ---- */

static const struct mark by = {.wall_ns = 1, .by = 0};

/* Out of service, and its sockets are closed, but for inherited ones. */
static void take_out(struct plan_rig *r, const char *name, bool for_good)
{
	struct frontend *fe = rig_frontend(r, name);

	if (for_good)
		entries_shut_down(&r->engine.entries, fe, &by, NOW_NS);
	else
		entries_disable(&r->engine.entries, fe, &by, NOW_NS);
	(void)entries_wake(&r->engine.entries, INT64_MAX);
	frontend_foreach_endpoint(fe, ep) {
		ep->stage = ENDPOINT_AWAY;
		if (!ep->inherited)
			endpoint_close(ep);
	}
}

static void disabled_frontend_takes_no_socket_of_others(void **state)
{
	struct plan_rig r;

	(void)state;
	rig_open(&r, WEB("bind = :80\n") FEED("bind = 10.0.0.1:90\nbind = :91\n") APP);
	take_out(&r, "web", false);
	rig_plan(&r, WEB("bind = :80\n") FEED("bind = 10.0.0.1:90\nbind = :91\n") APP);
	assert_described(&r.plan, "nothing has changed");
	rig_plan(&r, WEB("bind = :80\nbind = :90\n") FEED("bind = :91\n") APP);
	assert_plan(&r.plan, "web kept: *:80 kept (leaving); *:90 added;\n"
			     "feed kept: *:91 kept; 10.0.0.1:90 removed;\napp kept: a kept;\n");
	rig_plan(&r, WEB("bind = :80\nbind = :91\n") FEED("bind = 10.0.0.1:90\n") APP);
	assert_plan(&r.plan, "web kept: *:80 kept (leaving); *:91 added;\n"
			     "feed kept: 10.0.0.1:90 kept; *:91 removed;\napp kept: a kept;\n");
	/* Its address is free for another. */
	rig_plan(&r, WEB("bind = :82\n") FEED("bind = 10.0.0.1:90\nbind = :91\nbind = :80\n") APP);
	assert_plan(&r.plan, "web kept: *:82 added; *:80 removed (leaving);\n"
			     "feed kept: 10.0.0.1:90 kept; *:91 kept; *:80 added;\napp kept: a kept;\n");
	rig_close(&r);
}

static void frontend_that_is_shut_down_is_back_when_its_section_changes(void **state)
{
	static const struct {
		const char *next;
		const char *shown;
		bool revives;
	} rows[] = {
		{WEB("bind = :80\nbind = :81\n") APP,
		 "web kept: *:80 kept (leaving); *:81 kept (leaving);\napp kept: a kept;\n", false},
		{WEB("bind = :81\nbind = :80\n") APP,
		 "web kept: *:81 kept (leaving); *:80 kept (leaving);\napp kept: a kept;\n", false},
		{WEB("bind = :80\nbind = :81\n") APP "server b = 10.1.0.2:1\n",
		 "web kept: *:80 kept (leaving); *:81 kept (leaving);\napp kept: a kept; b added;\n", false},
		{WEB("bind = :80\nbind = :81\nmaxconn = 3\n") APP,
		 "web changed: *:80 kept (leaving); *:81 kept (leaving);\napp kept: a kept;\n", true},
		{WEB("bind = :80\n") APP,
		 "web changed: *:80 kept (leaving); *:81 removed (leaving);\napp kept: a kept;\n", true},
		{WEB("bind = :80\nbind = :81 backlog=9\n") APP,
		 "web changed: *:80 kept (leaving); *:81 changed (leaving);\napp kept: a kept;\n", true},
		{WEB("bind = :80\nbind = :81\nbind = :82\n") APP,
		 "web changed: *:80 kept (leaving); *:81 kept (leaving); *:82 added;\napp kept: a kept;\n",
		 true},
		{"[frontend web]\nbind = :80\nbind = :81\ndefault-backend = other\n"
		 "[backend other]\nserver a = 10.1.0.1:1\n" APP,
		 "web changed: *:80 kept (leaving); *:81 kept (leaving);\nother added: a added;\n"
		 "app kept: a kept;\n", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct plan_rig r;

		rig_open(&r, WEB("bind = :80\nbind = :81\n") APP);
		take_out(&r, "web", true);
		rig_plan(&r, rows[i].next);
		assert_plan(&r.plan, rows[i].shown);
		assert_int_equal(r.plan.frontends[0].revives, rows[i].revives);
		rig_close(&r);
	}
}

static void passed_socket_of_a_frontend_that_is_out_is_kept(void **state)
{
	struct plan_rig r;

	(void)state;
	rig_open(&r, WEB("bind = fd@web\n") FEED("bind = fd@feed\n") APP);
	take_out(&r, "web", true);
	rig_plan(&r, WEB("bind = fd@web\nmaxconn = 3\n") FEED("bind = fd@feed\n") APP);
	assert_plan(&r.plan, "web changed: fd@web kept (leaving);\nfeed kept: fd@feed kept;\n"
			     "app kept: a kept;\n");
	/* It may go to another, and another's may come to it. */
	rig_plan(&r, FEED("bind = fd@web\nbind = fd@feed\n") APP);
	assert_plan(&r.plan, "feed kept: fd@web added from web - (leaving); fd@feed kept;\nweb removed:\n"
			     "app kept: a kept;\n");
	rig_frontend(&r, "web")->admin = FRONTEND_ADMIN_DISABLED;
	rig_plan(&r, WEB("bind = fd@web\nbind = fd@feed\n") APP);
	assert_plan(&r.plan, "web kept: fd@web kept (leaving); fd@feed added from feed -;\nfeed removed:\n"
			     "app kept: a kept;\n");
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(socket_that_leaves_is_wanted_again),
		cmocka_unit_test(socket_that_leaves_is_not_removed_twice),
		cmocka_unit_test(open_socket_comes_before_one_that_leaves),
		cmocka_unit_test(socket_that_leaves_is_met_if_the_open_one_cannot_be),
		cmocka_unit_test(sockets_that_leave_at_one_address_are_not_one_bind),
		cmocka_unit_test(bind_without_its_own_socket_is_bound_anew),
		cmocka_unit_test(bind_gets_no_socket_of_another_address),
		cmocka_unit_test(wildcard_takes_over_what_leaves),
		cmocka_unit_test(closed_socket_is_not_met),
		cmocka_unit_test(socket_of_a_removed_frontend_moves),
		cmocka_unit_test(socket_that_was_given_away_is_not_met),
		cmocka_unit_test(passed_socket_stays_where_its_name_stays),
		cmocka_unit_test(passed_socket_that_was_not_kept_is_refused),
		cmocka_unit_test(passed_socket_that_is_partly_closed_is_refused),
		cmocka_unit_test(disabled_frontend_takes_no_socket_of_others),
		cmocka_unit_test(frontend_that_is_shut_down_is_back_when_its_section_changes),
		cmocka_unit_test(passed_socket_of_a_frontend_that_is_out_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
