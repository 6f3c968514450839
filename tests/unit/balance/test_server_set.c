/* SPDX-License-Identifier: MIT
 *
 * test_server_set.c - the servers of a set come, change, drain and return as the addresses of its name do.
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
#include "weir/balance/server_set.h"

static struct config_of_servers c;
static struct backend *b;
static struct server_set *set;
static struct updates_by_hand hand;
static struct server_updates *const u = &hand.updates;
static struct chunks counts; /* as a worker has them */
static struct server_observer observer;
static int added, left;
static int64_t now_ns;

static void on_added(void *arg, struct server *s)
{
	(void)arg;
	assert_ptr_equal(s->set, set);
	added++;
}

static void on_leaves(void *arg, struct server *s)
{
	(void)arg;
	(void)s;
	left++;
}

/* A backend with the server "a", and the set "pod". */
static void start_with(enum config_set kind)
{
	struct config_server *line = &c.servers[1];

	line->set = kind;
	(void)snprintf(line->name, sizeof(line->name), "pod");
	line->addr = (struct addr_spec){.kind = ADDR_NAME, .port = 80, .host = "app.test"};
	line->max = 4;
	line->weight = kind == CONFIG_SET_SRV ? 1 : 3;
	c.servers[0].backup = true;
	b = backend_by_hand(&c.config);
	assert_non_null(b);
	set = server_set_at(b->sets.next);
	chunks_init(&counts, sizeof(counted_entry));
	assert_int_equal(slot_space_add_table(&b->live->versions, &counts), 0);
	updates_by_hand_init(&hand, &b, 1);
	observer = (struct server_observer){.server_added = on_added, .server_leaves = on_leaves};
	server_updates_observe(u, &observer);
	added = 0;
	left = 0;
	now_ns = clock_mono_ns();
}

static int setup(void **state)
{
	(void)state;
	config_of_servers_init(&c, (unsigned[]){1, 1}, 2);
	c.backend.balance.algorithm = CONFIG_BALANCE_SOURCE;
	c.backend.balance.hash = CONFIG_HASH_CONSISTENT;
	start_with(CONFIG_SET_DNS);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	until_failure = -1;
	server_updates_unobserve(&observer);
	server_updates_free(u);
	slot_space_remove_table(&b->live->versions, &counts);
	chunks_free(&counts);
	backend_by_hand_free(b);
	return 0;
}

static int setup_srv(void **state)
{
	(void)state;
	config_of_servers_init(&c, (unsigned[]){1, 1}, 2);
	start_with(CONFIG_SET_SRV);
	return 0;
}

static struct set_address at(unsigned n)
{
	struct set_address a = {.weight = 1};

	a.addr.len = sizeof(a.addr.in);
	a.addr.in.sin_family = AF_INET;
	a.addr.in.sin_port = htons(80);
	a.addr.in.sin_addr.s_addr = htonl(0x0a000000u + n);
	return a;
}

static void end_turn(void)
{
	updates_by_hand_turn(&hand, now_ns);
	retire_go_on(&b->live->retire);
}

/* Two seconds later. */
static void pass(void)
{
	now_ns += 2 * NS_PER_SEC;
	end_turn();
	end_turn();
}

/* The allocation of this number fails while an answer is taken; -1 = none. */
static long fail_at = -1;

static void answer(const struct set_address *list, size_t count)
{
	struct set_address *copy = NULL;

	if (count > 0) {
		copy = calloc(count, sizeof(*copy));
		memcpy(copy, list, count * sizeof(*copy));
	}
	until_failure = fail_at;
	server_set_answer(u, set, count > 0 ? NULL : "there is none", copy, count);
}

static void answer_hosts(const unsigned *hosts, size_t count)
{
	struct set_address list[16];

	for (size_t i = 0; i < count; i++)
		list[i] = at(hosts[i]);
	answer(list, count);
	end_turn();
}

#define ANSWER(...)                                                                                          \
	answer_hosts((const unsigned[]){__VA_ARGS__},                                                        \
		     sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

static struct server *named(const char *name)
{
	for (size_t i = 0; i < b->server_count; i++)
		if (strcmp(b->servers[i]->config->name, name) == 0)
			return b->servers[i];
	return NULL;
}

static enum server_state state_of(const struct server *s)
{
	return (enum server_state)atomic_load(&s->state);
}

static void members_come_with_the_words_of_their_line(void **state)
{
	struct server *s;

	(void)state;
	assert_int_equal(b->server_count, 1);
	ANSWER(2, 1);
	assert_int_equal(b->server_count, 3);
	assert_int_equal(added, 2);
	s = named("pod1");
	assert_int_equal(ntohl(server_addr(s)->in.sin_addr.s_addr), 0x0a000001u);
	assert_int_equal(s->weight, 3);
	assert_int_equal(s->config->set, CONFIG_SET_NONE);
	assert_int_equal(state_of(s), SERVER_UP);
	assert_true(atomic_load(&s->in_roster));
	assert_false(s->added);
	assert_int_equal(s->id, 2);
	assert_int_equal(backend_roster(b)->count, 2);
}

static void all_changes_of_an_answer_get_one_roster(void **state)
{
	const uint64_t number = backend_roster(b)->number;

	(void)state;
	ANSWER(1, 2, 3);
	assert_int_equal(backend_roster(b)->number, number + 1);
	ANSWER(2, 3, 4);
	assert_int_equal(backend_roster(b)->number, number + 2);
	ANSWER(4, 3, 2);
	assert_int_equal(backend_roster(b)->number, number + 2); /* nothing has changed */
}

static void an_address_that_goes_drains_and_leaves_when_it_is_empty(void **state)
{
	struct server *s;

	(void)state;
	ANSWER(1, 2);
	s = named("pod1");
	assert_true(server_enter(s));
	ANSWER(2);
	assert_int_equal(state_of(s), SERVER_DRAIN);
	assert_true(atomic_load(&s->drains));
	assert_false(atomic_load(&s->in_roster));
	pass();
	assert_ptr_equal(named("pod1"), s);
	server_leave(s);
	pass();
	assert_null(named("pod1"));
	assert_int_equal(left, 1);
	assert_int_equal(retire_count(&b->live->retire), 0);
	ANSWER(2, 9);
	assert_int_equal(ntohl(server_addr(named("pod1"))->in.sin_addr.s_addr), 0x0a000009u);
}

static void an_address_that_returns_is_the_same_server(void **state)
{
	struct server *s;

	(void)state;
	ANSWER(1, 2);
	s = named("pod1");
	atomic_store(&s->total, 7);
	ANSWER(2);
	end_turn(); /* it drains for a second at least */
	ANSWER(1, 2);
	assert_ptr_equal(named("pod1"), s);
	assert_int_equal(state_of(s), SERVER_UP);
	assert_false(atomic_load(&s->drains));
	assert_int_equal(atomic_load(&s->total), 7);
	pass();
	assert_ptr_equal(named("pod1"), s);
	assert_int_equal(added, 2);
	assert_int_equal(left, 0);
}

static void what_an_administrator_set_stays(void **state)
{
	struct server *s;

	(void)state;
	ANSWER(1, 2);
	s = named("pod1");
	assert_int_equal(server_updates_set_admin(u, s, SERVER_ADMIN_MAINT, "test"), 0);
	assert_int_equal(server_updates_set_weight(u, named("pod2"), 9, "test"), 0);
	ANSWER(2, 3);
	assert_int_equal(state_of(s), SERVER_MAINT);
	ANSWER(1, 2, 3);
	assert_int_equal(state_of(s), SERVER_MAINT);
	assert_int_equal(named("pod2")->weight, 9);
}

static void health_is_what_it_was_after_a_return(void **state)
{
	struct server *s;

	(void)state;
	ANSWER(1, 2);
	s = named("pod1");
	server_updates_set_health(u, s, false, "test");
	end_turn();
	ANSWER(2);
	assert_int_equal(state_of(s), SERVER_DOWN);
	ANSWER(1, 2);
	assert_int_equal(state_of(s), SERVER_DOWN);
}

static void no_answer_empties_a_backend(void **state)
{
	(void)state;
	ANSWER(1, 2);
	answer(NULL, 0);
	end_turn();
	assert_int_equal(state_of(named("pod1")), SERVER_UP);
	assert_string_equal(set->trouble, "there is none");
	pass();
	assert_int_equal(b->server_count, 3);
	ANSWER(1);
	assert_null(set->trouble);
}

static void no_answer_drains_all_if_wished(void **state)
{
	struct backend_settings *v;
	int err;

	(void)state;
	c.backend.on_empty = CONFIG_ON_EMPTY_DRAIN;
	v = backend_prepare_change(b, &c.backend, &err);
	assert_non_null(v);
	backend_commit_change(u, v);
	ANSWER(1, 2);
	answer(NULL, 0);
	end_turn();
	assert_int_equal(state_of(named("pod1")), SERVER_DRAIN);
	pass();
	assert_int_equal(b->server_count, 1);
}

static void removed_sessions_end_if_wished(void **state)
{
	struct backend_settings *v;
	struct server *s;
	int err;

	(void)state;
	c.backend.timeouts.on_removed = CONFIG_ON_REMOVED_CLOSE;
	v = backend_prepare_change(b, &c.backend, &err);
	assert_non_null(v);
	backend_commit_change(u, v);
	ANSWER(1, 2);
	s = named("pod1");
	assert_true(server_enter(s));
	ANSWER(2);
	assert_null(named("pod1"));
	assert_true(s->closes);
	server_leave(s);
	end_turn();
}

static void more_addresses_than_max_are_counted(void **state)
{
	(void)state;
	ANSWER(1, 2, 3, 4, 5, 6);
	assert_int_equal(b->server_count, 5);
	assert_int_equal(server_sets_surplus(u), 2);
	ANSWER(1, 2, 3);
	assert_int_equal(server_sets_surplus(u), 0);
}

static void a_changed_line_changes_its_set(void **state)
{
	struct config_server next = c.servers[1];

	(void)state;
	ANSWER(1, 2, 3);
	next.max = 2;
	assert_int_equal(server_set_prepare_change(set, &next), 0);
	server_set_undo_change(set);
	assert_int_equal(server_set_prepare_change(set, &next), 0);
	server_set_commit_change(u, set);
	pass();
	assert_int_equal(state_of(named("pod2")), SERVER_UP);
	pass();
	assert_null(named("pod3"));
	assert_int_equal(server_sets_surplus(u), 1);
}

static void the_key_of_a_member_is_its_address(void **state)
{
	uint64_t key;

	(void)state;
	ANSWER(1, 2, 3);
	key = named("pod3")->key;
	ANSWER(9);
	pass();
	ANSWER(3, 9);
	assert_string_equal(named("pod1")->config->name, "pod1");
	assert_int_equal(ntohl(server_addr(named("pod1"))->in.sin_addr.s_addr), 0x0a000003u);
	assert_true(named("pod1")->key == key);
}

static void names_of_members_are_reserved(void **state)
{
	const struct mark me = mark_now(0);
	struct config_server other = c.servers[0];
	struct server *s = NULL;
	const char *why;

	(void)state;
	ANSWER(1);
	assert_ptr_equal(server_set_of_name(b, "pod7"), set);
	assert_null(server_set_of_name(b, "pod"));
	assert_null(server_set_of_name(b, "pod07"));
	assert_null(server_set_of_name(b, "pod7x"));
	assert_null(server_set_of_name(b, "pot7"));
	(void)snprintf(other.name, sizeof(other.name), "pod7");
	assert_int_equal(run_time_add_server(u, b, &other, &me, &s), -EEXIST);
	s = named("pod1");
	assert_int_equal(server_updates_set_admin(u, s, SERVER_ADMIN_MAINT, "test"), 0);
	assert_false(run_time_is_removable(s, &why));
	assert_int_equal(run_time_delete_server(u, s, &me), -EBUSY);
}

static void a_newcomer_starts_slowly_but_the_first_do_not(void **state)
{
	struct config_server next = c.servers[1];

	(void)state;
	c.backend.balance.algorithm = CONFIG_BALANCE_ROUNDROBIN;
	next.slowstart_ns = 60 * NS_PER_SEC;
	assert_int_equal(server_set_prepare_change(set, &next), 0);
	server_set_commit_change(u, set);
	ANSWER(1);
	assert_int_equal(named("pod1")->slow_since_ns, 0);
	ANSWER(1, 2);
	assert_int_not_equal(named("pod2")->slow_since_ns, 0);
	assert_int_equal(named("pod1")->slow_since_ns, 0);
}

static void weights_and_priorities_of_records_are_followed(void **state)
{
	struct set_address list[] = {at(1), at(2)};
	struct server *s;

	(void)state;
	list[0].weight = 20;
	list[1].priority = 7;
	answer(list, 2);
	end_turn();
	s = named("pod1");
	assert_int_equal(s->weight, 20);
	assert_false(s->config->backup);
	assert_true(named("pod2")->config->backup);
	list[0].weight = 30;
	list[1].priority = 0;
	answer(list, 2);
	end_turn();
	assert_ptr_equal(named("pod1"), s);
	assert_int_equal(s->weight, 30);
	assert_false(named("pod2")->config->backup);
	assert_int_equal(server_updates_set_weight(u, named("pod2"), 5, "test"), 0);
	list[0].weight = 40;
	answer(list, 2);
	end_turn();
	assert_int_equal(named("pod2")->weight, 5); /* its record has not changed */
	assert_int_equal(named("pod1")->weight, 40);
}

static void whatever_finds_no_memory_is_done_later(void **state)
{
	const struct set_address first[] = {at(1), at(2), at(3)}, second[] = {at(2), at(4), at(5)};
	int failures = 0;

	(void)state;
	for (long n = 0;; n++) {
		bool failed;

		answer(first, 3);
		end_turn();
		pass();
		fail_at = n;
		answer(second, 3);
		failed = until_failure < 0; /* it was reached */
		until_failure = fail_at = -1;
		failures += failed;
		pass();
		pass();
		assert_false(set->due);
		assert_int_equal(b->server_count, 4);
		assert_int_equal(backend_roster(b)->count, 3);
		if (!failed)
			break;
	}
	assert_true(failures > 5);
}

int main(void)
{
#define TEST(function)	   cmocka_unit_test_setup_teardown(function, setup, teardown)
#define TEST_SRV(function) cmocka_unit_test_setup_teardown(function, setup_srv, teardown)
	const struct CMUnitTest tests[] = {
		TEST(members_come_with_the_words_of_their_line),
		TEST(all_changes_of_an_answer_get_one_roster),
		TEST(an_address_that_goes_drains_and_leaves_when_it_is_empty),
		TEST(an_address_that_returns_is_the_same_server),
		TEST(what_an_administrator_set_stays),
		TEST(health_is_what_it_was_after_a_return),
		TEST(no_answer_empties_a_backend),
		TEST(no_answer_drains_all_if_wished),
		TEST(removed_sessions_end_if_wished),
		TEST(more_addresses_than_max_are_counted),
		TEST(a_changed_line_changes_its_set),
		TEST(the_key_of_a_member_is_its_address),
		TEST(names_of_members_are_reserved),
		TEST(a_newcomer_starts_slowly_but_the_first_do_not),
		TEST(whatever_finds_no_memory_is_done_later),
		TEST_SRV(weights_and_priorities_of_records_are_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
