/* SPDX-License-Identifier: MIT
 *
 * test_run_time.c - an administrator adds, deletes and moves servers: all of a command or nothing, and what
 * becomes of it when the file changes.
 *
 * Linked with --wrap of the allocator, so that each allocation can fail in turn, and all are counted.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../base/alloc_fail.h"
#include "config_of_servers.h"
#include "live_by_hand.h"
#include "updates_by_hand.h"
#include "weir/balance/live_change.h"
#include "weir/balance/run_time.h"
#include "weir/balance/tombstone.h"
#include "weir/config/same.h"

#define CYCLES 10000

static const struct mark me = {.wall_ns = 77, .by = 1000};

static struct config_of_servers c;
static struct config_server other; /* of a server that comes */
static struct backend *b;
static struct live *live;
static struct updates_by_hand hand;
static struct server_updates *const u = &hand.updates;
static struct chunks counts; /* as a worker has them */
static long at_setup;	     /* `allocated` */

/* Two observers that take something for a server that is added; the second may refuse. */
static struct taker {
	struct server_observer observer;
	int err;
	int taken;
	int added, left, changed, in_force;
} takers[2];

static int on_prepare(void *arg, const struct backend *of, const struct config_server *config)
{
	struct taker *t = arg;

	assert_ptr_equal(of, b);
	assert_non_null(config);
	t->taken += t->err == 0;
	return t->err;
}

static void on_settle(void *arg, const struct backend *of, const struct config_server *config)
{
	struct taker *t = arg;

	assert_ptr_equal(of, b);
	assert_non_null(config);
	t->taken--;
}

static void on_added(void *arg, struct server *s)
{
	struct taker *t = arg;

	assert_int_equal(t->taken, 1);
	assert_true(s->added);
	t->added++;
}

static void on_changed(void *arg, struct server *s)
{
	(void)s;
	((struct taker *)arg)->changed++;
}

static void on_leaves(void *arg, struct server *s)
{
	(void)s;
	((struct taker *)arg)->left++;
}

static void on_in_force(void *arg)
{
	((struct taker *)arg)->in_force++;
}

static int setup(void **state)
{
	(void)state;
	at_setup = allocated;
	config_of_servers_init(&c, (unsigned[]){1, 2, 3}, 3);
	other = c.servers[0];
	(void)snprintf(other.name, sizeof(other.name), "other");
	other.weight = 7;
	b = backend_by_hand(&c.config);
	assert_non_null(b);
	live = b->live;
	chunks_init(&counts, sizeof(counted_entry));
	assert_int_equal(slot_space_add_table(&live->versions, &counts), 0);
	updates_by_hand_init(&hand, &b, 1);
	memset(takers, 0, sizeof(takers));
	for (size_t i = 0; i < ARRAY_LEN(takers); i++) {
		takers[i].observer = (struct server_observer){.prepare_add = on_prepare,
							      .settle_add = on_settle,
							      .server_added = on_added,
							      .server_changed = on_changed,
							      .server_leaves = on_leaves,
							      .in_force = on_in_force,
							      .arg = &takers[i]};
		server_updates_observe(u, &takers[i].observer);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	until_failure = -1;
	for (size_t i = 0; i < ARRAY_LEN(takers); i++) {
		assert_int_equal(takers[i].taken, 0);
		server_updates_unobserve(&takers[i].observer);
	}
	server_updates_free(u);
	slot_space_remove_table(&live->versions, &counts);
	chunks_free(&counts);
	backend_by_hand_free(b);
	assert_int_equal(allocated, at_setup);
	return 0;
}

static void end_turn(void)
{
	updates_by_hand_turn(&hand, clock_mono_ns());
	retire_go_on(&live->retire);
}

static struct server *add(void)
{
	struct server *s = NULL;

	assert_int_equal(run_time_add_server(u, b, &other, &me, &s), 0);
	end_turn();
	return s;
}

static void set_admin(struct server *s, enum server_admin admin)
{
	assert_int_equal(server_updates_set_admin(u, s, admin, "by test"), 0);
	run_time_mark(s, SERVER_MARK_STATE, &me);
}

static void delete(struct server *s)
{
	set_admin(s, SERVER_ADMIN_MAINT);
	assert_int_equal(run_time_delete_server(u, s, &me), 0);
	end_turn();
	assert_int_equal(retire_count(&live->retire), 0);
}

static struct addr at(const char *text)
{
	struct addr_spec spec;

	assert_int_equal(addr_parse(text, &spec, NULL, NULL), 0);
	return spec.addr;
}

static bool is_at(const struct server *s, const char *text)
{
	const struct addr a = at(text);

	return server_addr(s) != NULL && addr_equal(server_addr(s), &a);
}

static void move(struct server *s, const char *text)
{
	struct addr a;

	if (text != NULL)
		a = at(text);
	assert_int_equal(run_time_set_addr(u, s, text != NULL ? &a : NULL, &me), 0);
}

static bool is_marked(const struct server *s, enum server_mark what)
{
	const struct mark *m = &s->marks[what];

	assert_true(!mark_is_set(m) || (m->wall_ns == me.wall_ns && m->by == me.by));
	return mark_is_set(m);
}

/* What the file says of `s` from now on. */
static void change(struct server *s, const struct config_server *config)
{
	int err;
	struct server_settings *v = server_prepare_change(s, config, &err);

	assert_non_null(v);
	until_failure = 0; /* a commit takes no memory */
	server_commit_change(u, v);
	until_failure = -1;
	end_turn();
	assert_int_equal(retire_count(&live->retire), 0);
	assert_true(config_server_same(s->config, config));
}

/* ---- a server comes ---- */

static void server_comes_in_maintenance_as_the_last_of_its_backend(void **state)
{
	struct server *s = add();

	(void)state;
	assert_ptr_equal(b->servers[3], s);
	assert_int_equal(s->id, 4);
	assert_int_equal(s->admin, SERVER_ADMIN_MAINT);
	assert_int_equal(atomic_load(&s->state), SERVER_MAINT);
	assert_true(s->added);
	assert_true(is_marked(s, SERVER_MARK_ADDED));
	assert_true(config_server_same(s->config, &other));
	assert_int_equal(backend_roster(b)->count, 3);
	assert_int_equal(b->usable, 3);
	for (size_t i = 0; i < ARRAY_LEN(takers); i++)
		assert_int_equal(takers[i].added, 1);
	set_admin(s, SERVER_ADMIN_READY);
	assert_int_equal(backend_roster(b)->count, 4);
	assert_int_equal(backend_roster(b)->by_place[3].weight, 7 * SERVER_WEIGHT_SCALE);
}

static void name_that_is_there_is_refused(void **state)
{
	struct server *s = NULL;

	(void)state;
	assert_int_equal(run_time_add_server(u, b, &c.servers[1], &me, &s), -EEXIST);
	assert_null(s);
	assert_int_equal(b->server_count, 3);
	assert_true(updates_by_hand_idle(&hand));
}

static void observer_that_finds_no_room_refuses_the_server(void **state)
{
	struct server *s = NULL;

	(void)state;
	takers[1].err = -EMFILE;
	assert_int_equal(run_time_add_server(u, b, &other, &me, &s), -EMFILE);
	assert_null(s);
	assert_int_equal(b->server_count, 3);
	assert_int_equal(b->prepared, 0);
	assert_int_equal(takers[0].added, 0);
}

/* ---- a server goes ---- */

static void assert_stays(const struct server *s, const char *because)
{
	const char *why = NULL;

	assert_false(run_time_is_removable(s, &why));
	assert_string_equal(why, because);
	assert_int_equal(run_time_delete_server(u, (struct server *)s, &me), -EBUSY);
	assert_int_equal(b->server_count, 3);
	assert_true(list_empty(&b->tombstones));
}

static void on_wake(void *arg)
{
	(void)arg;
}

static void server_in_use_is_not_deleted(void **state)
{
	static const char *const attached = "Server still has connections attached to it, cannot remove it.";
	struct server *s = b->servers[0];
	struct waiter w = {.grants = NULL};
	struct queue_grants grants;
	const char *why;

	(void)state;
	assert_stays(s, "Only servers in maintenance mode can be deleted.");
	set_admin(s, SERVER_ADMIN_DRAIN);
	assert_stays(s, "Only servers in maintenance mode can be deleted.");
	set_admin(s, SERVER_ADMIN_READY);
	queue_grants_init(&grants, on_wake, NULL);
	assert_int_equal(server_updates_set_maxconn(u, s, 1, "by test"), 0);
	assert_true(server_enter(s));
	assert_int_equal(queue_enter(b, &w, s, &grants), 0);
	s->admin = SERVER_ADMIN_MAINT; /* no roster has moved the client yet */
	assert_stays(s, attached);
	assert_null(queue_leave(&w));
	assert_stays(s, attached);
	server_leave(s);
	assert_true(run_time_is_removable(s, &why));
	s->admin = SERVER_ADMIN_READY;
}

static void server_of_the_file_leaves_a_tombstone(void **state)
{
	struct tombstone *t;

	(void)state;
	atomic_store(&b->servers[1]->total, 5);
	delete(b->servers[1]);
	assert_int_equal(b->server_count, 2);
	t = tombstone_find(b, "b");
	assert_non_null(t);
	assert_true(config_server_same(t->config, &c.servers[1]));
	assert_int_equal(t->by.by, 1000);
	assert_null(tombstone_find(b, "a"));
	assert_int_equal(backend_totals(b).total, 5);
	assert_int_equal(takers[0].left, 1);
	/* Another of that name, and the first one is still the file's. */
	other = c.servers[1];
	other.addr.addr = at("127.0.0.9:9");
	delete(add());
	assert_ptr_equal(tombstone_find(b, "b"), t);
	tombstone_free(t);
	assert_true(list_empty(&b->tombstones));
}

static void server_that_was_added_leaves_nothing(void **state)
{
	(void)state;
	delete(add());
	assert_true(list_empty(&b->tombstones));
	assert_int_equal(b->server_count, 3);
	assert_int_equal(add()->id, 4);
}

static void servers_come_and_go_without_a_trace(void **state)
{
	uint64_t total = 0;
	long before;

	(void)state;
	delete(add());
	before = allocated;
	for (int i = 0; i < CYCLES; i++) {
		struct server *s = add();

		atomic_fetch_add(&s->total, 1);
		move(s, i % 2 == 0 ? "127.0.0.9:9" : NULL);
		delete(s);
		assert_int_equal(backend_totals(b).total, ++total);
	}
	assert_int_equal(allocated, before);
	assert_true(slot_space_peak(&live->objects) < 8);
	assert_true(slot_space_peak(&live->versions) < 8);
}

/* ---- a server moves ---- */

static void server_moves_and_comes_back(void **state)
{
	struct server *s = b->servers[0];

	(void)state;
	move(s, NULL);
	assert_null(s->moved);
	move(s, "127.0.0.9:9");
	assert_true(is_at(s, "127.0.0.9:9"));
	assert_true(is_marked(s, SERVER_MARK_ADDR));
	assert_true(config_server_same(s->config, &c.servers[0]));
	assert_true(addr_equal(server_found_addr(s), &c.servers[0].addr.addr));
	move(s, "127.0.0.9:10");
	assert_true(is_at(s, "127.0.0.9:10"));
	/* To where the file says, by its words or by none. */
	move(s, "127.0.0.1:1001");
	assert_true(is_at(s, "127.0.0.1:1001"));
	assert_null(s->moved);
	assert_false(is_marked(s, SERVER_MARK_ADDR));
	move(s, "127.0.0.9:9");
	move(s, NULL);
	assert_true(is_at(s, "127.0.0.1:1001"));
	assert_false(is_marked(s, SERVER_MARK_ADDR));
	end_turn();
	assert_int_equal(retire_count(&live->retire), 0);
	assert_int_equal(live->versions.count, 4);
}

static void server_with_a_name_comes_back_to_what_the_name_is_by_then(void **state)
{
	struct config_server named = c.servers[0];
	struct addr a = at("127.0.0.7:80");
	struct server *s = b->servers[0];

	(void)state;
	assert_int_equal(addr_parse("name:80", &named.addr, NULL, NULL), 0);
	change(s, &named);
	move(s, "127.0.0.9:9"); /* it has no other */
	assert_int_equal(atomic_load(&s->state), SERVER_UP);
	assert_null(server_found_addr(s));
	move(s, NULL);
	assert_null(server_addr(s));
	assert_int_equal(atomic_load(&s->state), SERVER_UNRESOLVED);
	move(s, "127.0.0.9:9");
	assert_int_equal(server_updates_set_addr(u, s, &a), 0);
	assert_true(is_at(s, "127.0.0.9:9"));
	move(s, "127.0.0.9:10");
	move(s, NULL);
	assert_true(is_at(s, "127.0.0.7:80"));
	move(s, "127.0.0.7:80"); /* the name may have another tomorrow */
	assert_non_null(s->moved);
	a = at("127.0.0.8:80");
	assert_int_equal(server_updates_set_addr(u, s, &a), 0);
	assert_true(is_at(s, "127.0.0.7:80"));
	change(s, &named);
	assert_true(is_at(s, "127.0.0.7:80"));
	move(s, NULL);
	assert_true(is_at(s, "127.0.0.8:80"));
	end_turn();
}

/* ---- together ---- */

static void changes_of_one_line_get_one_roster(void **state)
{
	const uint64_t number = backend_roster(b)->number;
	struct server *s;

	(void)state;
	run_time_begin(u);
	assert_int_equal(server_updates_set_admin(u, b->servers[0], SERVER_ADMIN_MAINT, "by test"), 0);
	assert_int_equal(server_updates_set_weight(u, b->servers[1], 9, "by test"), 0);
	assert_int_equal(server_updates_set_maxconn(u, b->servers[1], 3, "by test"), 0);
	assert_int_equal(run_time_delete_server(u, b->servers[0], &me), 0);
	assert_int_equal(run_time_add_server(u, b, &other, &me, &s), 0);
	assert_int_equal(server_updates_set_admin(u, s, SERVER_ADMIN_READY, "by test"), 0);
	move(s, "127.0.0.9:9");
	assert_int_equal(backend_roster(b)->number, number);
	assert_int_equal(takers[1].in_force, 0);
	assert_int_equal(run_time_end(u), 0);
	assert_int_equal(takers[1].in_force, 1); /* before anybody is told */
	assert_int_equal(backend_roster(b)->number, number + 1);
	assert_int_equal(backend_roster(b)->count, 3);
	assert_int_equal(backend_roster(b)->by_place[0].weight, 9 * SERVER_WEIGHT_SCALE);
	end_turn();
	assert_int_equal(backend_roster(b)->number, number + 1);
	assert_int_equal(server_updates_set_weight(u, b->servers[1], 8, "by test"), 0);
	assert_int_equal(backend_roster(b)->number, number + 2);
	end_turn();
	assert_int_equal(retire_count(&live->retire), 0);
}

static void changes_of_one_line_that_find_no_memory_come_later(void **state)
{
	const uint64_t number = backend_roster(b)->number;

	(void)state;
	run_time_begin(u);
	until_failure = 0;
	assert_int_equal(server_updates_set_weight(u, b->servers[1], 9, ""), 0);
	until_failure = 0;
	assert_int_equal(run_time_end(u), -EAGAIN);
	assert_int_equal(takers[1].in_force, 0);
	until_failure = -1;
	assert_int_equal(backend_roster(b)->number, number);
	assert_true(hand.due_ns != CLOCK_NEVER);
	updates_by_hand_turn(&hand, hand.due_ns);
	assert_int_equal(backend_roster(b)->number, number + 1);
	assert_int_equal(b->servers[1]->weight, 9);
	end_turn();
}

/* ---- the file changes ---- */

static void what_is_set_stays_while_the_file_says_the_same(void **state)
{
	struct config_server one = c.servers[0];
	struct server *s = b->servers[0];
	struct addr check_at = at("127.0.0.9:0");

	(void)state;
	assert_int_equal(server_updates_set_weight(u, s, 50, "by test"), 0);
	run_time_mark(s, SERVER_MARK_WEIGHT, &me);
	assert_int_equal(server_updates_set_maxconn(u, s, 5, "by test"), 0);
	run_time_mark(s, SERVER_MARK_MAXCONN, &me);
	set_admin(s, SERVER_ADMIN_DRAIN);
	move(s, "127.0.0.9:9");
	assert_int_equal(run_time_set_check_addr(u, s, &check_at, &me), 0);
	run_time_set_check_port(u, s, 99, &me);
	run_time_set_checks(u, s, false, &me);
	run_time_set_agent(u, s, false, &me);
	assert_int_equal(takers[0].changed, 4);
	one.maxqueue = 4;
	change(s, &one);
	assert_int_equal(server_settings(s)->config->maxqueue, 4);
	assert_int_equal(s->weight, 50);
	assert_int_equal(s->maxconn, 5);
	assert_int_equal(s->admin, SERVER_ADMIN_DRAIN);
	assert_true(is_at(s, "127.0.0.9:9"));
	assert_true(addr_equal(s->check_addr, &check_at));
	assert_int_equal(s->check_port, 99);
	assert_true(s->checks_off && s->agent_off);
	for (int what = 0; what < SERVER_MARKS; what++)
		assert_int_equal(is_marked(s, (enum server_mark)what),
				 what != SERVER_MARK_ADDED && what != SERVER_MARK_HEALTH);
	/* Each by itself. */
	one.weight = 60;
	change(s, &one);
	assert_int_equal(s->weight, 60);
	assert_false(is_marked(s, SERVER_MARK_WEIGHT));
	assert_true(is_marked(s, SERVER_MARK_MAXCONN));
	one.maxconn = 7;
	change(s, &one);
	assert_int_equal(s->maxconn, 7);
	assert_false(is_marked(s, SERVER_MARK_MAXCONN));
	one.disabled = true;
	change(s, &one);
	assert_int_equal(s->admin, SERVER_ADMIN_MAINT);
	assert_false(is_marked(s, SERVER_MARK_STATE));
	one.check_port = 98;
	change(s, &one);
	assert_int_equal(s->check_port, 0);
	assert_false(is_marked(s, SERVER_MARK_CHECK_PORT));
	one.check = true;
	change(s, &one);
	assert_false(s->checks_off);
	assert_false(is_marked(s, SERVER_MARK_CHECKS));
	assert_true(is_at(s, "127.0.0.9:9"));
	one.addr.addr = at("127.0.0.1:2000");
	change(s, &one);
	assert_true(is_at(s, "127.0.0.1:2000"));
	assert_null(s->moved);
	assert_false(is_marked(s, SERVER_MARK_ADDR));
	assert_true(is_marked(s, SERVER_MARK_AGENT));
	assert_true(is_marked(s, SERVER_MARK_CHECK_ADDR));
}

static void change_that_is_under_way_follows_a_move(void **state)
{
	struct config_server one = c.servers[0];
	struct server *s = b->servers[0];
	struct server_settings *v;
	int err;

	(void)state;
	one.maxqueue = 4;
	v = server_prepare_change(s, &one, &err);
	assert_non_null(v);
	move(s, "127.0.0.9:9");
	server_commit_change(u, v);
	assert_true(is_at(s, "127.0.0.9:9"));
	assert_int_equal(s->config->maxqueue, 4);
	one.maxqueue = 5;
	v = server_prepare_change(s, &one, &err);
	move(s, NULL);
	server_commit_change(u, v);
	assert_true(is_at(s, "127.0.0.1:1001"));
	v = server_prepare_change(s, &c.servers[0], &err);
	move(s, "127.0.0.9:9");
	server_undo_change(v);
	assert_true(is_at(s, "127.0.0.9:9"));
	end_turn();
	assert_int_equal(retire_count(&live->retire), 0);
	assert_int_equal(live->versions.count, 4);
}

static void mark_goes_with_the_difference(void **state)
{
	struct config_server one = c.servers[0];
	struct server *s = b->servers[0];

	(void)state;
	assert_int_equal(server_updates_set_weight(u, s, 50, "by test"), 0);
	run_time_mark(s, SERVER_MARK_WEIGHT, &me);
	one.weight = 50; /* the file has caught up */
	change(s, &one);
	assert_false(is_marked(s, SERVER_MARK_WEIGHT));
	set_admin(s, SERVER_ADMIN_MAINT);
	assert_true(is_marked(s, SERVER_MARK_STATE));
	set_admin(s, SERVER_ADMIN_READY);
	assert_false(is_marked(s, SERVER_MARK_STATE));
	run_time_set_check_port(u, s, 99, &me);
	run_time_set_check_port(u, s, 0, &me);
	assert_false(is_marked(s, SERVER_MARK_CHECK_PORT));
	run_time_set_checks(u, s, false, &me);
	run_time_set_checks(u, s, true, &me);
	assert_false(is_marked(s, SERVER_MARK_CHECKS));
	for (int what = 0; what < SERVER_MARKS; what++)
		assert_non_null(run_time_mark_word((enum server_mark)what));
	assert_string_equal(run_time_mark_word(SERVER_MARK_CHECK_ADDR), "check-addr");
}

static void port_for_checks_of_the_backend_is_of_the_file_too(void **state)
{
	struct config_backend other_port = c.backend;
	struct config_server own = c.servers[1];
	struct backend_settings *v;
	int err;

	(void)state;
	own.check_port = 5;
	change(b->servers[1], &own);
	run_time_set_check_port(u, b->servers[0], 99, &me);
	run_time_set_check_port(u, b->servers[1], 99, &me);
	other_port.retries = 9;
	v = backend_prepare_change(b, &other_port, &err);
	assert_non_null(v);
	backend_commit_change(u, v);
	assert_int_equal(b->servers[0]->check_port, 99);
	other_port.check.port = 6;
	v = backend_prepare_change(b, &other_port, &err);
	assert_non_null(v);
	backend_commit_change(u, v);
	end_turn();
	assert_int_equal(b->servers[0]->check_port, 0);
	assert_false(is_marked(b->servers[0], SERVER_MARK_CHECK_PORT));
	assert_int_equal(b->servers[1]->check_port, 99);
}

/* Its administrative state is the operator's. */
static void file_that_names_it_adopts_a_server(void **state)
{
	struct config_server line = other;
	struct server *s = add();

	(void)state;
	atomic_store(&s->total, 5);
	server_updates_set_health(u, s, false, "by test");
	assert_int_equal(server_updates_set_weight(u, s, 50, "by test"), 0);
	run_time_mark(s, SERVER_MARK_WEIGHT, &me);
	assert_int_equal(server_updates_set_maxconn(u, s, 9, "by test"), 0);
	run_time_mark(s, SERVER_MARK_MAXCONN, &me);
	move(s, "127.0.0.9:9");
	run_time_set_check_port(u, s, 99, &me);
	run_time_set_checks(u, s, false, &(struct mark){.wall_ns = 78, .by = 1000});
	line.addr.addr = at("127.0.0.9:9");
	change(s, &line);
	assert_false(s->added);
	assert_null(s->moved);
	assert_true(is_at(s, "127.0.0.9:9"));
	assert_int_equal(s->weight, 7);
	assert_int_equal(s->maxconn, 0);
	assert_int_equal(s->check_port, 0);
	assert_true(s->checks_off);
	assert_false(s->healthy);
	assert_int_equal(s->admin, SERVER_ADMIN_MAINT);
	assert_int_equal(atomic_load(&s->total), 5);
	for (int what = 0; what < SERVER_MARKS; what++)
		assert_int_equal(mark_is_set(&s->marks[what]),
				 what == SERVER_MARK_STATE || what == SERVER_MARK_CHECKS);
	/* From here on it is like any other. */
	line.weight = 3;
	change(s, &line);
	assert_int_equal(s->weight, 3);
	assert_int_equal(s->admin, SERVER_ADMIN_MAINT);
	delete(s);
	assert_non_null(tombstone_find(b, "other"));
}

static void server_in_use_that_is_adopted_stays_in_use(void **state)
{
	struct server *s = add();

	(void)state;
	run_time_set_checks(u, s, false, &me); /* by the command that has added it */
	set_admin(s, SERVER_ADMIN_READY);
	assert_true(is_marked(s, SERVER_MARK_STATE)); /* no file says that it is ready */
	assert_true(server_enter(s));
	change(s, &other);
	assert_int_equal(atomic_load(&s->state), SERVER_UP);
	assert_false(is_marked(s, SERVER_MARK_STATE));
	assert_false(s->checks_off);
	assert_false(is_marked(s, SERVER_MARK_CHECKS));
	assert_int_equal(atomic_load(&s->sessions), 1);
	server_leave(s);
}

/* ---- without memory ---- */

/* Everything that takes memory, on servers that stay as they are. True if all of it was made. */
static bool try_all(struct server *s)
{
	const struct addr a = at("127.0.0.9:9");
	struct server *more = NULL;
	bool fine;

	fine = run_time_add_server(u, b, &other, &me, &more) == 0;
	fine = fine && run_time_set_addr(u, s, &a, &me) == 0;
	fine = fine && run_time_set_check_addr(u, s, &a, &me) == 0;
	fine = fine && run_time_delete_server(u, b->servers[2], &me) == 0;
	until_failure = -1;
	end_turn();
	return fine;
}

static void take_back(struct server *s)
{
	move(s, NULL);
	assert_int_equal(run_time_set_check_addr(u, s, NULL, &me), 0);
	for (size_t i = b->server_count; i > 3; i--)
		delete(b->servers[i - 1]);
	end_turn();
}

static void move_that_finds_no_memory_is_not_seen(void **state)
{
	const struct addr a = at("127.0.0.9:9");
	struct server *s = b->servers[0];
	const struct server_settings *settings = server_settings(s);
	const struct roster *r = backend_roster(b);
	long n;

	(void)state;
	c.backend.balance.hash_key = CONFIG_HASH_KEY_ADDRESS; /* a roster follows */
	for (n = 0;; n++) {
		int err;

		until_failure = n;
		err = run_time_set_addr(u, s, &a, &me);
		until_failure = -1;
		if (!err)
			break;
		assert_int_equal(err, -ENOMEM);
		assert_ptr_equal(server_settings(s), settings);
		assert_ptr_equal(backend_roster(b), r);
		assert_null(s->moved);
		assert_null(b->spare);
		assert_false(b->held);
		assert_int_equal(b->prepared, 0);
		assert_int_equal(live->versions.count, 4);
		assert_int_equal(retire_count(&live->retire), 0);
		assert_true(updates_by_hand_idle(&hand));
	}
	assert_true(n >= 6);
	end_turn();
}

static void each_allocation_that_fails_leaves_all_as_it_was(void **state)
{
	struct server *s = b->servers[0];
	bool fine = false;
	long before, n;

	(void)state;
	set_admin(b->servers[2], SERVER_ADMIN_MAINT);
	delete(add()); /* what tables keep is there from now on */
	history_free(&s->history);
	before = allocated;
	for (n = 0; !fine; n++) {
		until_failure = n;
		fine = try_all(s);
		if (fine)
			break;
		assert_int_equal(b->server_count, b->servers[b->server_count - 1]->added ? 4 : 3);
		assert_true(list_empty(&b->tombstones));
		assert_int_equal(b->prepared, 0);
		assert_int_equal(s->moved != NULL, is_at(s, "127.0.0.9:9"));
		assert_int_equal(s->moved != NULL, is_marked(s, SERVER_MARK_ADDR));
		assert_int_equal(s->check_addr != NULL, is_marked(s, SERVER_MARK_CHECK_ADDR));
		take_back(s);
		assert_int_equal(allocated, before);
		assert_int_equal(live->versions.count, 4);
		assert_int_equal(live->objects.count, 4);
		assert_int_equal(retire_count(&live->retire), 0);
		assert_true(updates_by_hand_idle(&hand));
	}
	assert_true(n > 15);
	assert_non_null(tombstone_find(b, "c"));
}

#define RUN_TIME_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN_TIME_TEST(server_comes_in_maintenance_as_the_last_of_its_backend),
		RUN_TIME_TEST(name_that_is_there_is_refused),
		RUN_TIME_TEST(observer_that_finds_no_room_refuses_the_server),
		RUN_TIME_TEST(server_in_use_is_not_deleted),
		RUN_TIME_TEST(server_of_the_file_leaves_a_tombstone),
		RUN_TIME_TEST(server_that_was_added_leaves_nothing),
		RUN_TIME_TEST(servers_come_and_go_without_a_trace),
		RUN_TIME_TEST(server_moves_and_comes_back),
		RUN_TIME_TEST(server_with_a_name_comes_back_to_what_the_name_is_by_then),
		RUN_TIME_TEST(changes_of_one_line_get_one_roster),
		RUN_TIME_TEST(changes_of_one_line_that_find_no_memory_come_later),
		RUN_TIME_TEST(what_is_set_stays_while_the_file_says_the_same),
		RUN_TIME_TEST(change_that_is_under_way_follows_a_move),
		RUN_TIME_TEST(mark_goes_with_the_difference),
		RUN_TIME_TEST(port_for_checks_of_the_backend_is_of_the_file_too),
		RUN_TIME_TEST(file_that_names_it_adopts_a_server),
		RUN_TIME_TEST(server_in_use_that_is_adopted_stays_in_use),
		RUN_TIME_TEST(move_that_finds_no_memory_is_not_seen),
		RUN_TIME_TEST(each_allocation_that_fails_leaves_all_as_it_was),
	};

	log_set_level((enum log_level)0); /* thousands of changes are no news */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
