/* SPDX-License-Identifier: MIT
 *
 * test_preview.c - where a client would go, compared with where a picker sends it; and why not elsewhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "balance/server_change.h"
#include "pick_fixture.h"
#include "weir/balance/preview.h"
#include "weir/base/clock.h"

#define SERVERS 5
#define ROUNDS	4000

static const unsigned weights[SERVERS] = {3, 1, 20, 5, 2};

static const enum config_balance algorithms[] = {
	CONFIG_BALANCE_ROUNDROBIN, CONFIG_BALANCE_LEASTCONN, CONFIG_BALANCE_RANDOM,
	CONFIG_BALANCE_FIRST,	   CONFIG_BALANCE_SOURCE,    CONFIG_BALANCE_MAGLEV,
};

/* How every server fares, and how many may take the client. */
static size_t fates_of(const struct backend *b, struct preview p, enum preview_fate *fates)
{
	size_t takers = 0;

	for (size_t i = 0; i < b->server_count; i++) {
		fates[i] = preview_next(&p, b->servers[i]);
		takers += fates[i] == PREVIEW_TAKEN || fates[i] == PREVIEW_CANDIDATE;
	}
	return takers;
}

static void compare(struct pick_fixture *f, uint64_t key, struct server **kept)
{
	const struct preview p = preview_client(f->b, key);
	const struct pick_request q = {.key = key};
	enum preview_fate fates[SERVERS];
	const size_t takers = fates_of(f->b, p, fates);
	struct server *s;
	const enum pick pick = picker_choose(&f->p[key % TEST_PICKERS], &q, &s);

	assert_int_equal(pick, p.pick);
	*kept = pick == PICK_SERVER ? s : NULL;
	if (pick != PICK_SERVER) {
		assert_ptr_equal(s, p.server);
		assert_int_equal(takers, 0);
		return;
	}
	assert_int_equal(takers, p.candidates);
	if (p.server != NULL)
		assert_ptr_equal(s, p.server);
	assert_int_equal(fates[s->id - 1], p.server != NULL ? PREVIEW_TAKEN : PREVIEW_CANDIDATE);
}

/* Clients come and go, and now and then all servers are full. */
static void try_algorithm(enum config_balance algorithm, enum config_hash hash, unsigned factor)
{
	struct server *kept[64] = {NULL};
	struct pick_fixture f;

	pick_fixture_init(&f, weights, SERVERS, algorithm);
	f.c.backend.balance.hash = hash;
	f.c.backend.balance.balance_factor = factor;
	for (unsigned i = 0; i < SERVERS; i++)
		f.c.servers[i].maxconn = 1 + 3 * i;
	pick_fixture_start(&f);
	for (uint64_t n = 0; n < ROUNDS; n++) {
		struct server **place = &kept[hash_nth(7, n) % ARRAY_LEN(kept)];

		if (*place != NULL)
			server_leave(*place);
		*place = NULL;
		if (hash_nth(9, n) % 5 != 0)
			compare(&f, key_of_client(n), place);
	}
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		if (kept[i] != NULL)
			server_leave(kept[i]);
	pick_fixture_finish(&f);
}

static void a_picker_does_what_was_predicted(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(algorithms); i++) {
		try_algorithm(algorithms[i], CONFIG_HASH_MODULO, 0);
		try_algorithm(algorithms[i], CONFIG_HASH_CONSISTENT, 0);
		try_algorithm(algorithms[i], CONFIG_HASH_CONSISTENT, 120);
	}
}

static void nothing_is_taken_or_moved(void **state)
{
	struct pick_fixture f;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(algorithms); i++) {
		pick_fixture_init(&f, weights, SERVERS, algorithms[i]);
		pick_fixture_start(&f);
		for (uint64_t n = 0; n < 10; n++)
			(void)preview_client(f.b, key_of_client(n));
		for (size_t j = 0; j < SERVERS; j++) {
			assert_int_equal(atomic_load(&f.b->servers[j]->sessions), 0);
			assert_int_equal(atomic_load(&f.b->servers[j]->chosen_total), 0);
		}
		pick_fixture_finish(&f);
	}
}

static enum preview_fate fate_of(const struct backend *b, size_t at)
{
	enum preview_fate fates[SERVERS];

	(void)fates_of(b, preview_client(b, 1), fates);
	return fates[at];
}

static void a_server_that_takes_no_client_has_its_reason(void **state)
{
	struct pick_fixture f;

	(void)state;
	pick_fixture_init(&f, weights, SERVERS, CONFIG_BALANCE_LEASTCONN);
	f.c.servers[4].backup = true;
	config_of_servers_unresolve(&f.c, 3);
	pick_fixture_start(&f);
	assert_int_equal(fate_of(f.b, 4), PREVIEW_BACKUP);
	assert_int_equal(fate_of(f.b, 3), PREVIEW_UNRESOLVED);
	assert_int_equal(server_set_admin(f.b->servers[0], SERVER_ADMIN_MAINT, "test", 1), 0);
	assert_int_equal(fate_of(f.b, 0), PREVIEW_MAINT);
	assert_int_equal(server_set_admin(f.b->servers[0], SERVER_ADMIN_DRAIN, "test", 1), 0);
	assert_int_equal(fate_of(f.b, 0), PREVIEW_DRAIN);
	assert_int_equal(server_set_health(f.b->servers[1], false, "test", 1), 0);
	assert_int_equal(fate_of(f.b, 1), PREVIEW_DOWN);
	assert_int_equal(fate_of(f.b, 2), PREVIEW_TAKEN);
	assert_int_equal(server_set_weight(f.b->servers[2], 0, "test", 1), 0);
	assert_int_equal(fate_of(f.b, 2), PREVIEW_NO_WEIGHT);
	assert_int_equal(fate_of(f.b, 4), PREVIEW_TAKEN);
	assert_int_equal(server_set_health(f.b->servers[4], false, "test", 1), 0);
	assert_int_equal(preview_client(f.b, 1).pick, PICK_NONE);
	pick_fixture_finish(&f);
}

static void the_load_decides_and_a_full_server_is_full(void **state)
{
	struct pick_fixture f;

	(void)state;
	pick_fixture_init(&f, (unsigned[]){1, 1}, 2, CONFIG_BALANCE_LEASTCONN);
	f.c.servers[0].maxconn = 1;
	pick_fixture_start(&f);
	assert_int_equal(fate_of(f.b, 0), PREVIEW_CANDIDATE);
	assert_int_equal(fate_of(f.b, 1), PREVIEW_CANDIDATE);
	assert_true(server_enter(f.b->servers[1]));
	assert_int_equal(fate_of(f.b, 0), PREVIEW_TAKEN);
	assert_int_equal(fate_of(f.b, 1), PREVIEW_BUSIER);
	assert_true(server_enter(f.b->servers[0]));
	assert_int_equal(fate_of(f.b, 0), PREVIEW_FULL);
	assert_int_equal(fate_of(f.b, 1), PREVIEW_TAKEN);
	server_leave(f.b->servers[0]);
	server_leave(f.b->servers[1]);
	pick_fixture_finish(&f);
}

/* With loads that do not change, every server is drawn into a choice in the end. */
static void who_may_win_a_draw_does(void **state)
{
	static const unsigned equal[SERVERS] = {1, 1, 1, 1, 1};
	struct pick_fixture f;

	(void)state;
	for (unsigned draws = 1; draws <= SERVERS + 1; draws++) {
		enum preview_fate fates[SERVERS];
		bool taken[SERVERS] = {false};
		struct server *s;

		pick_fixture_init(&f, equal, SERVERS, CONFIG_BALANCE_RANDOM);
		f.c.backend.balance.draws = draws;
		f.c.servers[1].maxconn = 1;
		pick_fixture_start(&f);
		for (unsigned i = 0; i < SERVERS; i++)
			atomic_store(&f.b->servers[i]->sessions, (int)i);
		for (unsigned n = 0; n < 500; n++) {
			s = pick_keep(&f.p[0], n, NULL);
			taken[s->id - 1] = true;
			server_leave(s);
		}
		(void)fates_of(f.b, preview_client(f.b, 1), fates);
		for (unsigned i = 0; i < SERVERS; i++)
			assert_int_equal(taken[i],
					 fates[i] == PREVIEW_CANDIDATE || fates[i] == PREVIEW_TAKEN);
		assert_int_equal(fates[1], PREVIEW_FULL);
		for (unsigned i = 0; i < SERVERS; i++)
			atomic_store(&f.b->servers[i]->sessions, 0);
		pick_fixture_finish(&f);
	}
}

static void a_full_queue_refuses_a_client(void **state)
{
	struct queue_grants grants;
	struct pick_fixture f;
	struct waiter first = {.state = WAITER_NONE}, second = {.state = WAITER_NONE};

	(void)state;
	queue_grants_init(&grants, NULL, NULL);
	pick_fixture_init(&f, (unsigned[]){1}, 1, CONFIG_BALANCE_SOURCE);
	f.c.servers[0].maxconn = 1;
	f.c.servers[0].maxqueue = 1;
	f.c.backend.maxqueue = 2;
	f.c.backend.redispatch = true;
	pick_fixture_start(&f);
	assert_true(server_enter(f.b->servers[0]));
	assert_ptr_equal(preview_client(f.b, 1).server, f.b->servers[0]);
	assert_int_equal(queue_enter(f.b, &first, f.b->servers[0], &grants), 0);
	assert_null(preview_client(f.b, 1).server); /* its own queue is full: any server's */
	assert_false(preview_client(f.b, 1).refused);
	assert_int_equal(queue_enter(f.b, &second, NULL, &grants), 0);
	assert_int_equal(preview_client(f.b, 1).pick, PICK_FULL);
	assert_true(preview_client(f.b, 1).refused);
	(void)queue_leave(&first);
	(void)queue_leave(&second);
	server_leave(f.b->servers[0]);
	pick_fixture_finish(&f);
}

static void nobody_overtakes_the_queue(void **state)
{
	struct queue_grants grants;
	struct pick_fixture f;
	struct waiter w = {.state = WAITER_NONE};
	struct preview p;

	(void)state;
	queue_grants_init(&grants, NULL, NULL);
	pick_fixture_init(&f, (unsigned[]){1}, 1, CONFIG_BALANCE_ROUNDROBIN);
	f.c.servers[0].maxconn = 1;
	pick_fixture_start(&f);
	assert_true(server_enter(f.b->servers[0]));
	assert_int_equal(queue_enter(f.b, &w, NULL, &grants), 0);
	atomic_store(&f.b->servers[0]->sessions, 0); /* a place that is about to be granted */
	p = preview_client(f.b, 1);
	assert_int_equal(p.pick, PICK_FULL);
	assert_true(p.behind);
	assert_int_equal(fate_of(f.b, 0), PREVIEW_BEHIND);
	(void)queue_leave(&w);
	pick_fixture_finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_picker_does_what_was_predicted),
		cmocka_unit_test(nothing_is_taken_or_moved),
		cmocka_unit_test(a_server_that_takes_no_client_has_its_reason),
		cmocka_unit_test(the_load_decides_and_a_full_server_is_full),
		cmocka_unit_test(who_may_win_a_draw_does),
		cmocka_unit_test(a_full_queue_refuses_a_client),
		cmocka_unit_test(nobody_overtakes_the_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
