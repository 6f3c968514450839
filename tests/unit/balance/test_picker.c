/* SPDX-License-Identifier: MIT
 *
 * test_picker.c - smooth weighted round robin: the order, the shares, and who is left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config_of_servers.h"
#include "live_by_hand.h"
#include "balance/server_change.h"
#include "weir/balance/backend.h"

struct fixture {
	struct config_of_servers c;
	struct backend *b;
	struct picker p;
};

static void start(struct fixture *f, const unsigned *weights, size_t count, unsigned skip)
{
	config_of_servers_init(&f->c, weights, count);
	f->b = backend_by_hand(&f->c.config);
	assert_non_null(f->b);
	picker_by_hand(&f->p, f->b, skip);
}

static void finish(struct fixture *f)
{
	picker_by_hand_free(&f->p);
	backend_by_hand_free(f->b);
}

/* Chosen, and its place given back at once; NULL = none. */
static struct server *next_server(struct picker *p, const struct server *avoid)
{
	const struct pick_request q = {.avoid = avoid};
	struct server *s;

	if (picker_choose(p, &q, &s) != PICK_SERVER)
		return NULL;
	server_leave(s);
	return s;
}

/* The names of the next `n`, '-' for none. */
static const char *next(struct fixture *f, int n, const struct server *avoid)
{
	static char names[64];

	assert_true(n < (int)sizeof(names));
	for (int i = 0; i < n; i++) {
		const struct server *s = next_server(&f->p, avoid);

		names[i] = s != NULL ? s->config->name[0] : '-';
	}
	names[n] = '\0';
	return names;
}

static void weights_are_spread_smoothly_as_nginx_does(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, (unsigned[]){5, 1, 1}, 3, 0);
	assert_string_equal(next(&f, 14, NULL), "aabacaaaabacaa");
	finish(&f);
}

static void equal_weights_go_in_turn(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, (unsigned[]){7, 7, 7}, 3, 0);
	assert_string_equal(next(&f, 7, NULL), "abcabca");
	finish(&f);
}

static void share_of_each_server_is_exactly_its_weight(void **state)
{
	static const unsigned weights[] = {256, 1, 10, 100};
	unsigned got[4] = {0};
	struct fixture f;

	(void)state;
	start(&f, weights, 4, 0);
	for (int i = 0; i < 3 * 367; i++)
		got[next_server(&f.p, NULL)->id - 1]++;
	for (int i = 0; i < 4; i++)
		assert_int_equal(got[i], 3 * weights[i]);
	finish(&f);
}

static void workers_begin_at_different_servers(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, (unsigned[]){1, 1, 1}, 3, 2);
	assert_string_equal(next(&f, 3, NULL), "cab");
	finish(&f);
}

static void weight_of_zero_is_never_chosen(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, (unsigned[]){0, 1, 0}, 3, 0);
	assert_string_equal(next(&f, 3, NULL), "bbb");
	finish(&f);
	start(&f, (unsigned[]){0, 0}, 2, 0);
	assert_string_equal(next(&f, 2, NULL), "--");
	assert_string_equal(next(&f, 2, f.b->servers[0]), "--");
	finish(&f);
}

static void empty_backend_has_no_server(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, NULL, 0, 3);
	assert_null(next_server(&f.p, NULL));
	finish(&f);
}

static void unresolved_server_is_left_out_until_it_has_an_address(void **state)
{
	struct fixture f;
	struct addr_spec spec;

	(void)state;
	config_of_servers_init(&f.c, (unsigned[]){1, 1}, 2);
	config_of_servers_unresolve(&f.c, 0);
	f.b = backend_by_hand(&f.c.config);
	picker_by_hand(&f.p, f.b, 0);
	assert_string_equal(next(&f, 3, NULL), "bbb");
	assert_int_equal(addr_parse("10.0.0.1:80", &spec, NULL, NULL), 0);
	assert_int_equal(server_set_addr(f.b->servers[0], &spec.addr), 0);
	assert_string_equal(next(&f, 4, NULL), "abab");
	finish(&f);
}

static void avoided_server_is_chosen_only_when_no_other_is_usable(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, (unsigned[]){5, 1, 1}, 3, 0);
	assert_string_equal(next(&f, 4, f.b->servers[0]), "bcbc");
	finish(&f);
	start(&f, (unsigned[]){1, 0}, 2, 0);
	assert_string_equal(next(&f, 2, f.b->servers[0]), "aa");
	finish(&f);
}

static void avoiding_does_not_shift_what_the_others_get_later(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, (unsigned[]){1, 1, 1}, 3, 0);
	(void)next(&f, 2, f.b->servers[0]);
	/* b and c had one each: the next three are one of each. */
	assert_string_equal(next(&f, 3, NULL), "abc");
	finish(&f);
}

/* Over four workers, with the roster unchanged: exactly by weight. */
static void shares_over_workers_go_by_weight(void **state)
{
	struct picker p[4];
	unsigned got[3] = {0};
	struct fixture f;

	(void)state;
	start(&f, (unsigned[]){1, 2, 3}, 3, 0);
	for (unsigned i = 0; i < 4; i++)
		picker_by_hand(&p[i], f.b, i);
	for (unsigned i = 0; i < 60000; i++)
		got[next_server(&p[i % 4], NULL)->id - 1]++;
	for (unsigned i = 0; i < 3; i++) {
		assert_in_range(got[i], 9900 * (i + 1), 10100 * (i + 1));
		picker_by_hand_free(&p[i]);
	}
	picker_by_hand_free(&p[3]);
	finish(&f);
}

/* A pick may be given back, to those who wait: who keeps it counts it. */
static void picks_and_turns_in_advance_are_not_counted(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, (unsigned[]){1}, 1, 7);
	(void)next_server(&f.p, NULL);
	assert_int_equal(atomic_load(&f.b->servers[0]->chosen_total), 0);
	assert_false(picker_wants_key(&f.p));
	finish(&f);
}

/* A server that is full for a while neither saves up turns nor pays for them. */
static void full_server_takes_no_part(void **state)
{
	struct fixture f;

	(void)state;
	config_of_servers_init(&f.c, (unsigned[]){50, 1, 1}, 3);
	f.c.servers[0].maxconn = 1;
	f.b = backend_by_hand(&f.c.config);
	picker_by_hand(&f.p, f.b, 0);
	assert_true(server_enter(f.b->servers[0]));
	assert_string_equal(next(&f, 20, NULL), "bcbcbcbcbcbcbcbcbcbc");
	server_leave(f.b->servers[0]);
	assert_string_equal(next(&f, 8, NULL), "aaaaaaaa");
	finish(&f);
}

/* What was saved up under large weights would keep a server away for hundreds of turns. */
static void weights_that_shrink_count_at_once(void **state)
{
	struct fixture f;
	unsigned got[2] = {0};

	(void)state;
	start(&f, (unsigned[]){256, 200}, 2, 0);
	for (int round = 0; round < 10; round++) {
		(void)next(&f, 7, NULL);
		assert_int_equal(server_set_weight(f.b->servers[0], 1, "by test", 1), 0);
		assert_int_equal(server_set_weight(f.b->servers[1], 1, "by test", 1), 0);
		memset(got, 0, sizeof(got));
		for (int i = 0; i < 10; i++)
			got[next_server(&f.p, NULL)->id - 1]++;
		assert_in_range(got[0], 4, 6);
		assert_int_equal(server_set_weight(f.b->servers[0], 256, "by test", 1), 0);
		assert_int_equal(server_set_weight(f.b->servers[1], 200, "by test", 1), 0);
	}
	finish(&f);
}

static void places_are_kept_when_the_roster_changes(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, (unsigned[]){1, 1, 1}, 3, 0);
	for (int i = 0; i < 4; i++) {
		assert_string_equal(next(&f, 1, NULL), "a");
		assert_int_equal(backend_refresh(f.b), 0);
		assert_string_equal(next(&f, 1, NULL), "b");
		assert_int_equal(backend_refresh(f.b), 0);
		assert_string_equal(next(&f, 1, NULL), "c");
	}
	finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights_are_spread_smoothly_as_nginx_does),
		cmocka_unit_test(equal_weights_go_in_turn),
		cmocka_unit_test(share_of_each_server_is_exactly_its_weight),
		cmocka_unit_test(workers_begin_at_different_servers),
		cmocka_unit_test(weight_of_zero_is_never_chosen),
		cmocka_unit_test(empty_backend_has_no_server),
		cmocka_unit_test(unresolved_server_is_left_out_until_it_has_an_address),
		cmocka_unit_test(avoided_server_is_chosen_only_when_no_other_is_usable),
		cmocka_unit_test(avoiding_does_not_shift_what_the_others_get_later),
		cmocka_unit_test(shares_over_workers_go_by_weight),
		cmocka_unit_test(picks_and_turns_in_advance_are_not_counted),
		cmocka_unit_test(full_server_takes_no_part),
		cmocka_unit_test(weights_that_shrink_count_at_once),
		cmocka_unit_test(places_are_kept_when_the_roster_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
