/* SPDX-License-Identifier: MIT
 *
 * test_session.c - the size and the memory of sessions, and the table of close reasons.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/engine/session.h"
#include "weir/engine/session_slab.h"

static void an_idle_session_costs_at_most_512_bytes(void **state)
{
	(void)state;
	assert_true(sizeof(struct session) + sizeof(struct timer_entry) <= 512);
}

static void every_close_reason_has_words_and_known_letters(void **state)
{
	int i;
	int k;

	(void)state;
	for (i = 0; i < CLOSE_REASONS; i++) {
		const struct close_reason_row *row = close_reason_row((enum close_reason)i);

		assert_true(strlen(row->words) > 3);
		assert_int_equal(strspn(row->name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"),
				 strlen(row->name));
		assert_non_null(strchr("CSPLRIDUKcs-", row->letter1));
		assert_true(row->letter2 == 0 || strchr("RQCHDLT-", row->letter2) != NULL);
		for (k = 0; k < i; k++)
			assert_string_not_equal(row->words,
						close_reason_row((enum close_reason)k)->words);
	}
}

static void a_session_used_again_keeps_only_its_generations(void **state)
{
	struct session_slab slab;
	struct session *s;
	struct session *again;

	(void)state;
	session_slab_init(&slab);
	s = session_slab_get(&slab);
	assert_non_null(s);
	assert_true(slab.slots > 0);
	s->sides[0].sock.gen = 7;
	s->sides[1].sock.gen = 65535;
	s->tries = 3;
	s->flows[0].bytes_in = 9;
	session_slab_put(&slab, s);
	again = session_slab_get(&slab);
	assert_ptr_equal(again, s);
	assert_int_equal(s->sides[0].sock.gen, 7);
	assert_int_equal(s->sides[1].sock.gen, 65535);
	assert_int_equal(s->tries, 0);
	assert_int_equal(s->flows[0].bytes_in, 0);
	session_slab_put(&slab, again);
	session_slab_free(&slab);
}

static void the_slab_grows_and_hands_out_each_slot_once(void **state)
{
	struct session_slab slab;
	struct session *all[1000];
	int i;
	int k;

	(void)state;
	session_slab_init(&slab);
	for (i = 0; i < 1000; i++) {
		all[i] = session_slab_get(&slab);
		assert_non_null(all[i]);
		all[i]->number = (uint32_t)i;
	}
	for (k = 0; k < 1000; k++) {
		assert_int_equal(all[k]->number, k);
		session_slab_put(&slab, all[k]);
	}
	assert_in_range(slab.slots, 1000, 1063);
	session_slab_free(&slab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_idle_session_costs_at_most_512_bytes),
		cmocka_unit_test(every_close_reason_has_words_and_known_letters),
		cmocka_unit_test(a_session_used_again_keeps_only_its_generations),
		cmocka_unit_test(the_slab_grows_and_hands_out_each_slot_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
