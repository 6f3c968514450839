/* SPDX-License-Identifier: MIT
 *
 * test_live_change.c - servers and backends come, change and go: all of a change or nothing, and nothing is
 * left behind.
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
#include "weir/balance/sticky.h"
#include "weir/config/same.h"

#define TIMES 100000

static struct config_of_servers c;
static struct config_server other; /* of a server that comes */
static struct backend *b;
static struct live *live;
static struct updates_by_hand hand;
static struct server_updates *const u = &hand.updates;
static struct chunks counts; /* as a worker has them */
static struct server_observer observer;
static int told[3]; /* added, changed, left */

static void on_added(void *arg, struct server *s)
{
	(void)arg;
	(void)s;
	told[0]++;
}

static void on_changed(void *arg, struct server *s)
{
	(void)arg;
	(void)s;
	told[1]++;
}

static void on_leaves(void *arg, struct server *s)
{
	(void)arg;
	assert_int_equal(b->slot, s->owner->slot);
	told[2]++;
}

static int setup(void **state)
{
	(void)state;
	config_of_servers_init(&c, (unsigned[]){1, 2, 3}, 3);
	c.backend.balance.algorithm = CONFIG_BALANCE_SOURCE;
	c.backend.balance.hash = CONFIG_HASH_CONSISTENT;
	other = c.servers[0];
	(void)snprintf(other.name, sizeof(other.name), "other");
	other.weight = 7;
	b = backend_by_hand(&c.config);
	assert_non_null(b);
	live = b->live;
	chunks_init(&counts, sizeof(counted_entry));
	assert_int_equal(slot_space_add_table(&live->versions, &counts), 0);
	updates_by_hand_init(&hand, &b, 1);
	observer = (struct server_observer){
		.server_added = on_added, .server_changed = on_changed, .server_leaves = on_leaves};
	server_updates_observe(u, &observer);
	memset(told, 0, sizeof(told));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	until_failure = -1;
	server_updates_unobserve(&observer);
	server_updates_free(u);
	slot_space_remove_table(&live->versions, &counts);
	chunks_free(&counts);
	backend_by_hand_free(b);
	return 0;
}

static void end_turn(void)
{
	updates_by_hand_turn(&hand, clock_mono_ns());
	retire_go_on(&live->retire);
}

static struct server *add(void)
{
	int err;
	struct server *s = server_prepare(b, &other, &err);

	assert_non_null(s);
	server_commit_add(u, s);
	end_turn();
	return s;
}

static void removal(struct server *s)
{
	assert_int_equal(server_prepare_remove(s), 0);
	server_remove(u, s);
	end_turn();
}

static void server_comes_and_goes(void **state)
{
	const uint64_t sum = backend_roster(b)->checksum;
	struct server *s;

	(void)state;
	s = add();
	assert_int_equal(b->server_count, 4);
	assert_int_equal(s->id, 4);
	assert_true(atomic_load(&s->in_roster));
	assert_int_equal(backend_roster(b)->count, 4);
	assert_int_equal(b->usable, 4);
	assert_true(backend_roster(b)->checksum != sum);
	removal(s);
	assert_int_equal(retire_count(&live->retire), 0);
	assert_int_equal(b->server_count, 3);
	assert_int_equal(b->usable, 3);
	assert_true(backend_roster(b)->checksum == sum);
	assert_true(list_empty(&b->left));
	assert_int_equal(told[0], 1);
	assert_int_equal(told[2], 1);
}

static void server_stays_while_sessions_have_it_and_its_totals_stay_for_ever(void **state)
{
	struct server *s = b->servers[1];
	struct server_totals t;

	(void)state;
	assert_true(server_enter(s));
	atomic_store(&s->total, 5);
	removal(s);
	assert_int_equal(retire_count(&live->retire), 1);
	atomic_store(&s->total, 6);
	atomic_store(&s->chosen_total, 9);
	t = backend_totals(b);
	assert_int_equal(t.total, 6);
	server_leave(s);
	retire_go_on(&live->retire);
	assert_int_equal(retire_count(&live->retire), 0);
	t = backend_totals(b);
	assert_int_equal(t.total, 6);
	assert_int_equal(t.chosen, 9);
	assert_int_equal(add()->id, 2); /* the lowest that is free */
}

static void on_wake(void *arg)
{
	(void)arg;
}

static void who_waits_for_a_server_that_goes_waits_for_any(void **state)
{
	struct server *s = b->servers[0];
	struct queue_grants grants;
	struct waiter w = {.grants = NULL};

	(void)state;
	queue_grants_init(&grants, on_wake, NULL);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(server_updates_set_maxconn(u, b->servers[i], 1, "by test"), 0);
		assert_true(server_enter(b->servers[i]));
	}
	assert_int_equal(queue_enter(b, &w, s, &grants), 0);
	removal(s);
	assert_null(w.server);
	assert_int_equal(atomic_load(&b->queue.waiting_any), 1);
	server_leave(s); /* nobody gets its place */
	assert_null(queue_take_granted(&grants));
	server_leave(b->servers[0]);
	assert_ptr_equal(queue_take_granted(&grants), &w);
	server_leave(b->servers[0]);
	server_leave(b->servers[1]);
	retire_go_on(&live->retire);
	assert_int_equal(retire_count(&live->retire), 0);
}

static void change_keeps_what_the_administrator_has_set(void **state)
{
	struct config_server one = c.servers[0], two;
	struct server *s = b->servers[0];
	struct server_settings *v;
	int err;

	(void)state;
	assert_int_equal(server_updates_set_weight(u, s, 50, "by test"), 0);
	one.maxconn = 9;
	v = server_prepare_change(s, &one, &err);
	assert_non_null(v);
	assert_true(config_server_same(s->config, &c.servers[0]));
	server_commit_change(u, v);
	end_turn();
	assert_true(config_server_same(server_settings(s)->config, &one));
	assert_ptr_equal(s->config, server_settings(s)->config);
	assert_int_equal(s->weight, 50);
	assert_int_equal(atomic_load(&s->limit), 9);
	two = one;
	two.weight = 4;
	two.addr.addr.in.sin_port = htons(99);
	server_commit_change(u, server_prepare_change(s, &two, &err));
	end_turn();
	assert_int_equal(s->weight, 4);
	assert_int_equal(addr_port(server_addr(s)), 99);
	assert_int_equal(told[1], 2);
	assert_int_equal(retire_count(&live->retire), 0);
	server_undo_change(server_prepare_change(s, &c.servers[0], &err));
	server_commit_change(u, server_prepare_change(s, &c.servers[0], &err));
	end_turn();
	assert_int_equal(retire_count(&live->retire), 0);
}

static struct addr resolved_to(const char *text)
{
	struct addr_spec spec;

	assert_int_equal(addr_parse(text, &spec, NULL, NULL), 0);
	return spec.addr;
}

static void commit(struct server_settings *v)
{
	assert_non_null(v);
	server_commit_change(u, v);
	end_turn();
}

/* Whatever has changed since the prepare: two changes of one content, and the one that is given up. */
static void commit_takes_the_address_that_the_name_has_by_then(void **state)
{
	struct config_server named = c.servers[0], renamed, plain;
	struct addr a = resolved_to("127.0.0.7:80");
	struct server_settings *first, *second, *third;
	struct server *s = b->servers[0];
	int err;

	(void)state;
	assert_int_equal(addr_parse("name:80", &named.addr, NULL, NULL), 0);
	commit(server_prepare_change(s, &named, &err));
	assert_null(server_addr(s));
	plain = renamed = named;
	named.maxconn = 5;
	first = server_prepare_change(s, &named, &err);
	second = server_prepare_change(s, &named, &err);
	third = server_prepare_change(s, &plain, &err);
	assert_int_equal(server_updates_set_addr(u, s, &a), 0);
	end_turn();
	until_failure = 0;
	server_commit_change(u, first);
	until_failure = -1;
	end_turn();
	assert_true(addr_equal(server_addr(s), &a));
	assert_int_equal(server_settings(s)->config->maxconn, 5);
	a = resolved_to("127.0.0.8:80");
	assert_int_equal(server_updates_set_addr(u, s, &a), 0);
	end_turn();
	commit(second);
	assert_true(addr_equal(server_addr(s), &a));
	server_undo_change(third);
	/* Another port, and then another name. */
	assert_int_equal(addr_parse("name:81", &plain.addr, NULL, NULL), 0);
	commit(server_prepare_change(s, &plain, &err));
	a = resolved_to("127.0.0.8:81");
	assert_true(addr_equal(server_addr(s), &a));
	assert_int_equal(addr_parse("other:81", &renamed.addr, NULL, NULL), 0);
	commit(server_prepare_change(s, &renamed, &err));
	assert_null(server_addr(s));
	commit(server_prepare_change(s, &c.servers[0], &err));
	assert_true(addr_equal(server_addr(s), &c.servers[0].addr.addr));
	assert_int_equal(retire_count(&live->retire), 0);
	assert_int_equal(live->versions.count, 4);
}

/* The same for whatever is set meanwhile by health checks and the administrator. */
static void commit_keeps_what_was_set_since_the_prepare(void **state)
{
	struct config_server one = c.servers[0];
	struct server *s = b->servers[0];
	struct server_settings *v;
	int err;

	(void)state;
	one.check_port = 7;
	v = server_prepare_change(s, &one, &err);
	assert_non_null(v);
	assert_int_equal(server_updates_set_weight(u, s, 50, "by test"), 0);
	assert_int_equal(server_updates_set_maxconn(u, s, 4, "by test"), 0);
	assert_int_equal(server_updates_set_admin(u, s, SERVER_ADMIN_DRAIN, "by test"), 0);
	server_updates_set_health(u, s, false, "by test");
	commit(v);
	assert_int_equal(s->config->check_port, 7);
	assert_int_equal(s->weight, 50);
	assert_int_equal(s->maxconn, 4);
	assert_int_equal(s->admin, SERVER_ADMIN_DRAIN);
	assert_int_equal(atomic_load(&s->state), SERVER_DOWN);
	one.disabled = true;
	commit(server_prepare_change(s, &one, &err));
	assert_int_equal(s->admin, SERVER_ADMIN_MAINT);
	assert_int_equal(s->weight, 50);
	assert_false(s->healthy);
}

static void backend_comes_changes_and_goes(void **state)
{
	struct config_backend other_backend = c.backend, changed = c.backend;
	const long before = allocated;
	struct backend *mine = b, *more;
	int err;

	(void)state;
	changed.balance.algorithm = CONFIG_BALANCE_MAGLEV;
	more = backend_prepare(live, &other_backend, &err);
	assert_non_null(more);
	backend_commit_add(u, more);
	assert_int_equal(told[0], 3);
	backend_commit_change(u, backend_prepare_change(more, &changed, &err));
	end_turn();
	assert_non_null(backend_roster(more)->maglev);
	assert_true(server_enter(more->servers[0]));
	assert_int_equal(backend_prepare_remove(more), 0);
	b = more; /* for on_leaves() */
	backend_remove(u, more);
	b = mine;
	end_turn();
	assert_int_equal(told[2], 3);
	assert_int_equal(backend_roster(more)->count, 0);
	server_leave(list_entry(more->left.prev, struct server, link));
	retire_go_on(&live->retire);
	assert_int_equal(retire_count(&live->retire), 0);
	assert_in_range(allocated, before - 1, before + 1); /* but for a map of numbers that has grown */
}

static void who_is_on_his_way_to_a_backend_that_goes_finds_its_servers(void **state)
{
	struct backend *const mine = b, *more;
	int err;

	(void)state;
	more = backend_prepare(live, &c.backend, &err);
	assert_non_null(more);
	backend_commit_add(u, more);
	end_turn();
	more->frontends = 1; /* settings that somebody came in by still name it */
	assert_int_equal(backend_prepare_remove(more), 0);
	b = more; /* for on_leaves() */
	backend_remove(u, more);
	b = mine;
	end_turn();
	assert_true(backend_roster(more)->count > 0);
	assert_int_equal(retire_count(&live->retire), 1);
	more->frontends = 0;
	retire_go_on(&live->retire);
	assert_int_equal(retire_count(&live->retire), 0);
}

static bool prepare_and_undo_all(const struct config_server *change)
{
	struct config_backend maglev = c.backend;
	struct backend_settings *back = NULL;
	struct server_settings *v = NULL;
	struct backend *more = NULL;
	struct server *s;
	bool removes = false;
	bool all;
	int err;

	maglev.balance.algorithm = CONFIG_BALANCE_MAGLEV;
	s = server_prepare(b, &other, &err);
	if (s != NULL)
		v = server_prepare_change(b->servers[0], change, &err);
	if (v != NULL)
		removes = server_prepare_remove(b->servers[1]) == 0;
	if (removes)
		back = backend_prepare_change(b, &maglev, &err);
	if (back != NULL)
		more = backend_prepare(live, &c.backend, &err);
	all = more != NULL;
	until_failure = -1;
	backend_undo_add(more);
	if (back != NULL)
		backend_undo_change(back);
	if (removes)
		server_undo_remove(b->servers[1]);
	if (v != NULL)
		server_undo_change(v);
	if (s != NULL)
		server_undo_add(s);
	return all;
}

static void each_allocation_that_fails_leaves_all_as_it_was(void **state)
{
	const struct config_server change = c.servers[1];
	const struct roster *r = backend_roster(b);
	long before;
	long n = 0;

	(void)state;
	(void)prepare_and_undo_all(&change); /* what tables keep is there from now on */
	before = allocated;
	for (bool all = false; !all; n++) {
		until_failure = n;
		all = prepare_and_undo_all(&change);
		assert_int_equal(allocated, before);
		assert_ptr_equal(backend_roster(b), r);
		assert_int_equal(b->server_count, 3);
		assert_int_equal(b->usable, 3);
		assert_int_equal(b->prepared, 0);
		assert_int_equal(live->versions.count, 4);
		assert_int_equal(live->objects.count, 4);
		assert_int_equal(retire_count(&live->retire), 0);
		assert_true(updates_by_hand_idle(&hand));
	}
	assert_true(n > 30);
}

static void commit_needs_no_memory(void **state)
{
	struct config_server change = c.servers[0];
	struct server_settings *v;
	struct server *s;
	int err;

	(void)state;
	change.weight = 200;
	s = server_prepare(b, &other, &err);
	v = server_prepare_change(b->servers[0], &change, &err);
	assert_int_equal(server_prepare_remove(b->servers[1]), 0);
	until_failure = 0;
	server_commit_add(u, s);
	until_failure = 0;
	server_commit_change(u, v);
	until_failure = 0;
	server_remove(u, b->servers[1]);
	until_failure = 0;
	updates_by_hand_turn(&hand, clock_mono_ns());
	assert_int_equal(backend_roster(b)->count, 3);
	assert_true(atomic_load(&s->in_roster));
	until_failure = -1;
	end_turn();
	assert_int_equal(retire_count(&live->retire), 0);
}

/* The change of the backend is prepared first: what follows must leave room for its tables. */
static void commit_needs_no_memory_for_the_tables_of_another_change(void **state)
{
	static const struct config_balancing ways[] = {
		{.algorithm = CONFIG_BALANCE_MAGLEV},
		{.algorithm = CONFIG_BALANCE_SOURCE, .hash = CONFIG_HASH_CONSISTENT},
		{.algorithm = CONFIG_BALANCE_ROUNDROBIN},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		struct config_backend way = c.backend;
		struct backend_settings *v;
		struct server *s;
		int err;

		way.balance = ways[i];
		way.persist = i % 2 == 0 ? CONFIG_PERSIST_RDP : CONFIG_PERSIST_OFF;
		v = backend_prepare_change(b, &way, &err);
		s = server_prepare(b, &other, &err);
		assert_non_null(v);
		assert_non_null(s);
		until_failure = 0;
		backend_commit_change(u, v);
		until_failure = 0;
		server_commit_add(u, s);
		until_failure = 0;
		updates_by_hand_turn(&hand, clock_mono_ns());
		until_failure = -1;
		assert_false(b->held);
		assert_null(b->spare);
		assert_int_equal(backend_roster(b)->how.algorithm, ways[i].algorithm);
		assert_true(i % 2 != 0 || backend_roster(b)->homes != NULL);
		end_turn();
		removal(s);
		assert_int_equal(b->tables, 0);
	}
}

#define CLIENTS 4000

static struct sticky_key client(uint32_t n)
{
	return (struct sticky_key){.network = n, .family = AF_INET};
}

static void change_sticky(enum config_sticky_by by, uint32_t size)
{
	struct config_backend way = c.backend;
	struct backend_settings *v;
	int err;

	way.sticky = (struct config_sticky){.by = by, .size = size, .expire_ns = 1};
	v = backend_prepare_change(b, &way, &err);
	assert_non_null(v);
	backend_commit_change(u, v);
}

static void assert_clients_are_known(void)
{
	for (uint32_t n = 0; n < CLIENTS; n += 7) {
		const struct sticky_key k = client(n);

		assert_int_equal(sticky_table_look(b->sticky, &k, 0), n + 1);
		assert_int_equal(sticky_table_look(backend_roster(b)->sticky, &k, 0), n + 1);
	}
	assert_int_equal(sticky_table_used(b->sticky), CLIENTS);
}

/* A large table would take seconds, in which nothing else was done. */
static void clients_move_to_another_table_in_many_turns(void **state)
{
	unsigned turns = 0;

	(void)state;
	change_sticky(CONFIG_STICKY_SRC, CLIENTS * 2);
	end_turn();
	assert_false(backend_sticky_moves(b));
	for (uint32_t n = 0; n < CLIENTS; n++) {
		const struct sticky_change to = {.to = n + 1, .expires_ns = n + 1};
		const struct sticky_key k = client(n);
		bool evicted;

		assert_int_equal(sticky_table_set(b->sticky, &k, &to, &evicted), n + 1);
	}
	change_sticky(CONFIG_STICKY_SRC, CLIENTS * 10);
	for (; backend_sticky_moves(b); turns++) {
		assert_int_equal(sticky_table_size(b->sticky), CLIENTS * 10);
		if (turns % 8 == 0)
			assert_clients_are_known();
		end_turn();
	}
	assert_true(turns > 20);
	assert_clients_are_known();
	assert_ptr_equal(b->sticky, backend_roster(b)->sticky);
	assert_true(updates_by_hand_idle(&hand));
	/* Twice, and none at all, while clients move. */
	change_sticky(CONFIG_STICKY_SRC, CLIENTS * 5);
	end_turn();
	change_sticky(CONFIG_STICKY_SRC, CLIENTS * 10);
	assert_clients_are_known();
	end_turn();
	assert_true(backend_sticky_moves(b));
	change_sticky(CONFIG_STICKY_DST, CLIENTS * 10); /* the keys mean something else */
	assert_false(backend_sticky_moves(b));
	assert_int_equal(sticky_table_used(b->sticky), 0);
	change_sticky(CONFIG_STICKY_DST, CLIENTS);
	assert_true(backend_sticky_moves(b));
	end_turn();
	assert_int_equal(sticky_table_keys(backend_roster(b)->sticky), STICKY_DESTINATIONS);
	change_sticky(CONFIG_STICKY_SRC, CLIENTS);
	assert_false(backend_sticky_moves(b));
	change_sticky(CONFIG_STICKY_OFF, 0);
	end_turn();
	end_turn();
	assert_null(backend_roster(b)->sticky);
	assert_int_equal(retire_count(&live->retire), 0);
}

static void hundred_thousand_servers_come_and_go(void **state)
{
	uint64_t total = 0;
	long before;

	(void)state;
	c.backend.balance.algorithm = CONFIG_BALANCE_ROUNDROBIN; /* the tables of a ring take their time */
	removal(add());
	before = allocated;
	for (int i = 0; i < TIMES; i++) {
		struct server *s = add();

		assert_true(server_enter(s));
		atomic_fetch_add(&s->total, 1);
		removal(s);
		assert_int_equal(backend_totals(b).total, ++total);
		server_leave(s);
		retire_go_on(&live->retire);
		assert_int_equal(backend_totals(b).total, total);
	}
	assert_int_equal(allocated, before);
	assert_true(slot_space_peak(&live->objects) < 8);
	assert_true(slot_space_peak(&live->versions) < 8);
}

#define LIVE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE_TEST(server_comes_and_goes),
		LIVE_TEST(server_stays_while_sessions_have_it_and_its_totals_stay_for_ever),
		LIVE_TEST(who_waits_for_a_server_that_goes_waits_for_any),
		LIVE_TEST(change_keeps_what_the_administrator_has_set),
		LIVE_TEST(commit_takes_the_address_that_the_name_has_by_then),
		LIVE_TEST(commit_keeps_what_was_set_since_the_prepare),
		LIVE_TEST(backend_comes_changes_and_goes),
		LIVE_TEST(who_is_on_his_way_to_a_backend_that_goes_finds_its_servers),
		LIVE_TEST(commit_needs_no_memory_for_the_tables_of_another_change),
		LIVE_TEST(clients_move_to_another_table_in_many_turns),
		LIVE_TEST(each_allocation_that_fails_leaves_all_as_it_was),
		LIVE_TEST(commit_needs_no_memory),
		LIVE_TEST(hundred_thousand_servers_come_and_go),
	};

	log_set_level((enum log_level)0); /* thousands of changes are no news */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
