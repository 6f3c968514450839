/* SPDX-License-Identifier: MIT
 *
 * test_rollback.c - returns from a trial that fail, rollbacks, and the generations that are shown.
 */
#include "trial_rig.h"

/* ---- a return that fails ---- */

static void return_that_fails_is_tried_again(void **state)
{
	struct rig *rig = *state;

	(void)reload(rig, 1, TRIAL);
	rig->h.apply_err = -EADDRINUSE;
	rig->now_ns += TRIAL;
	assert_int_equal(go_on(rig), rig->now_ns + RELOAD_AGAIN_S * SEC);
	assert_int_equal(rig->h.in_effect, 1);
	assert_string_equal(rig->h.told,
			    "generation 2 was not confirmed, and the return to generation 1 fails");
	assert_begins((ask(rig, &rig->c[1], &(struct reload_wish){.kind = WISH_RELOAD}), rig->c[1].text),
		      "not reloaded: generation 2 was not confirmed, and the return to generation 1 fails: ");
	for (int i = 0; i < 3; i++) {
		rig->now_ns += RELOAD_AGAIN_S * SEC;
		assert_int_equal(go_on(rig), rig->now_ns + RELOAD_AGAIN_S * SEC);
	}
	assert_int_equal(start_from(rig), 0);
	rig->h.apply_err = 0;
	rig->now_ns += RELOAD_AGAIN_S * SEC;
	assert_int_equal(go_on(rig), CLOCK_NEVER);
	assert_int_equal(rig->h.in_effect, 0);
	assert_string_equal(rig->h.told, "");
}

static void confirmation_remains_possible_while_the_return_fails(void **state)
{
	struct rig *rig = *state;

	(void)reload(rig, 1, TRIAL);
	rig->h.begin_err = -EAGAIN;
	rig->now_ns += TRIAL;
	(void)go_on(rig);
	rig->now_ns += RELOAD_AGAIN_S * SEC; /* it is due when the confirmation comes */
	assert_string_equal(confirm(rig), "confirmed: generation 2\n");
	rig->h.begin_err = 0;
	rig->now_ns += TRIAL;
	assert_int_equal(go_on(rig), CLOCK_NEVER);
	assert_int_equal(rig->h.in_effect, 1);
	assert_int_equal(start_from(rig), 1);
}

static void return_does_not_wait_for_a_plan(void **state)
{
	struct rig *rig = *state;

	(void)reload(rig, 1, TRIAL / 2);
	rig->h.reads_late = true;
	ask(rig, &rig->c[1], &(struct reload_wish){.kind = WISH_PLAN});
	rig->now_ns += TRIAL / 4;
	assert_int_equal(go_on(rig), rig->now_ns + TRIAL / 4);
	rig->h.reads_late = false;
	rig->now_ns += TRIAL / 4;
	(void)go_on(rig);
	assert_int_equal(rig->h.in_effect, 0);
	assert_begins(rig->c[1].text, "not planned: ");
}

/* Nor does anybody who has weir go back or stay: the plan may hang, and its client may have gone. */
static void operator_does_not_wait_for_a_plan(void **state)
{
	struct rig *rig = *state;

	(void)reload(rig, 1, TRIAL);
	rig->h.reads_late = true;
	ask(rig, &rig->c[2], &(struct reload_wish){.kind = WISH_PLAN});
	assert_string_equal(confirm(rig), "confirmed: generation 2\n");
	assert_begins(rig->c[2].text, "not planned: ");
	ask(rig, &rig->c[1], &(struct reload_wish){.kind = WISH_PLAN});
	rig->r.asker.forget(rig->r.asker.arg, &rig->c[1].wish);
	assert_string_equal(roll_back(rig, 0), "");
	assert_has(rig->h.trace, "drop "); /* the plan; and the kept text is being read */
	assert_int_equal(number_of(&rig->h, rig->h.reading), 0);
	rig->h.has_read = true;
	(void)go_on(rig);
	assert_begins(rig->c[2].text, "rolled back: ");
	assert_int_equal(rig->h.in_effect, 0);
}

static void reload_waits_for_a_plan(void **state)
{
	struct rig *rig = *state;

	rig->h.reads_late = true;
	ask(rig, &rig->c[1], &(struct reload_wish){.kind = WISH_PLAN});
	assert_string_equal(reload(rig, 1, 0), "");
	assert_string_equal(rig->c[1].text, "");
	rig->h.reads_late = false;
	rig->h.has_read = true;
	(void)go_on(rig);
	assert_has(rig->c[1].text, "would change: yes\n");
	assert_begins(rig->c[0].text, "reloaded: ");
}

static void return_goes_before_what_waits_when_it_is_due(void **state)
{
	struct rig *rig = *state;

	(void)reload(rig, 1, TRIAL);
	rig->now_ns += TRIAL;
	rig->h.trace[0] = '\0';
	ask(rig, &rig->c[1], &(struct reload_wish){.kind = WISH_PLAN});
	assert_has(rig->h.trace, "apply-0 ");
	assert_has(strstr(rig->h.trace, "apply-0 "), "describe ");
	assert_has(rig->c[1].text, "\nwould change: yes\n");
}

/* Also not for one whose reading was given up. */
static void return_abandons_a_reading_that_hangs(void **state)
{
	struct rig *rig = *state;

	(void)reload(rig, 1, 2 * TRIAL);
	rig->h.reads_late = true;
	ask(rig, &rig->c[1], &(struct reload_wish){.kind = WISH_PLAN});
	rig->now_ns += RELOAD_READ_S * SEC;
	(void)go_on(rig);
	assert_true(rig->c[1].done);
	assert_true(rig->r.late);
	rig->h.reads_late = false;
	rig->now_ns += 2 * TRIAL;
	(void)go_on(rig);
	assert_int_equal(rig->h.in_effect, 0);
}

static void return_whose_reading_hangs_is_waited_for(void **state)
{
	struct rig *rig = *state;

	(void)reload(rig, 1, TRIAL);
	rig->h.reads_late = true;
	rig->now_ns += TRIAL;
	(void)go_on(rig);
	rig->now_ns += RELOAD_READ_S * SEC;
	assert_int_equal(go_on(rig), CLOCK_NEVER); /* until the reading ends */
	rig->now_ns += RELOAD_READ_S * SEC;
	(void)go_on(rig);
	assert_true(rig->r.late);
	rig->h.reads_late = false;
	rig->h.has_read = true;
	(void)go_on(rig);
	assert_int_equal(rig->h.in_effect, 0);
}

/* ---- rollbacks ---- */

static void rollback_of_a_trial_returns_at_once(void **state)
{
	struct rig *rig = *state;

	hold(rig, 1);
	assert_begins(roll_back(rig, 5), "not rolled back: generation 2 is on trial, and can only return to "
					 "generation 1\n");
	assert_string_equal(roll_back(rig, 0),
			    "rolled back: generation 3, as generation 1, 1 server added\n");
	assert_int_equal(rig->h.in_effect, 0);
	assert_true(rig->c[0].done);
	assert_has(rig->c[0].text, "\nrolled back: generation 3, as generation 1, 1 server added\n");
	assert_int_equal(rig->h.disk.marks[0].reason, CONFIRMED_ROLLED_BACK);
	assert_int_equal(start_from(rig), 0);
	assert_int_equal(go_on(rig), CLOCK_NEVER);
}

static void rollback_that_fails_during_a_trial_ends_it_all_the_same(void **state)
{
	struct rig *rig = *state;

	(void)reload(rig, 1, TRIAL);
	rig->h.apply_err = -EADDRINUSE;
	assert_string_equal(roll_back(rig, 0), "not rolled back: cannot listen on :80\n");
	rig->h.apply_err = 0;
	rig->now_ns += RELOAD_AGAIN_S * SEC;
	(void)go_on(rig);
	assert_int_equal(rig->h.in_effect, 0);
}

static void rollback_goes_to_the_generation_before_and_marks_what_it_left(void **state)
{
	struct rig *rig = *state;

	(void)reload(rig, 1, 0);
	assert_int_equal(rig->h.saves, 0);
	rig->h.saves_late = true;
	(void)roll_back(rig, 0);
	assert_int_equal(rig->h.in_effect, 1);
	rig->h.has_saved = true;
	(void)go_on(rig);
	assert_string_equal(rig->c[2].text, "rolled back: generation 3, as generation 1, 1 server added\n");
	assert_int_equal(rig->h.in_effect, 0);
	assert_int_equal(start_from(rig), 0);
	assert_int_equal(rig->h.left, CONFIRMED_ROLLED_BACK);
	assert_begins(reload(rig, 1, 0), "not reloaded: this text was rolled back (generation 2, 20");
}

static void second_rollback_names_the_texts_that_are_kept(void **state)
{
	struct rig *rig = *state;

	for (int i = 1; i <= 3; i++)
		(void)reload(rig, i, 0);
	assert_begins(roll_back(rig, 0), "rolled back: generation 5, as generation 3, ");
	rig->h.saves = 0;
	assert_string_equal(roll_back(rig, 0),
			    "not rolled back: generation 5 is itself the result of a rollback; name where to "
			    "go: 'weir rollback N'; texts are kept of 1, 2 and 4\n");
	assert_string_equal(roll_back(rig, 3),
			    "not rolled back: generation 3 has the text that is in effect\n");
	assert_string_equal(roll_back(rig, 77),
			    "not rolled back: the text of generation 77 is not kept; texts are kept of 1, 2 "
			    "and 4\n");
	assert_int_equal(rig->h.saves, 0);
	/* to a text that is marked: that is a way to accept it */
	assert_begins(roll_back(rig, 4), "rolled back: generation 6, as generation 4, ");
	assert_int_equal(rig->h.in_effect, 3);
	assert_int_equal(start_from(rig), 3);
	assert_null(confirmed_find(&rig->h.disk, config_text_hash(rig->h.texts[3])));
	assert_begins(roll_back(rig, 1), "rolled back: generation 7, as generation 1, ");
	assert_int_equal(rig->h.in_effect, 0);
	assert_int_equal(start_from(rig), 0);
}

static void first_generation_has_none_before(void **state)
{
	struct rig *rig = *state;

	assert_string_equal(roll_back(rig, 0),
			    "not rolled back: there is no earlier generation with another text that is "
			    "kept\n");
	(void)reload(rig, 0, 0);
	assert_begins(roll_back(rig, 0), "not rolled back: there is no earlier generation");
}

static void rollback_passes_over_generations_with_the_same_text(void **state)
{
	struct rig *rig = *state;

	(void)reload(rig, 1, 0);
	(void)reload(rig, 1, 0);
	assert_begins(roll_back(rig, 0), "rolled back: generation 4, as generation 1, ");
	assert_has(roll_back(rig, 99), "; texts are kept of 3\n"); /* 2 has the same */
}

static void rollback_goes_on_if_its_mark_cannot_be_saved(void **state)
{
	struct rig *rig = *state;

	(void)reload(rig, 1, 0);
	rig->h.save_err = -ENOSPC;
	assert_begins(roll_back(rig, 0), "weir: warning: ");
	assert_has(rig->c[2].text, "\nrolled back: generation 3, as generation 1, 1 server added\n");
	assert_int_equal(rig->h.in_effect, 0);
	rig->h.save_err = 0;
	(void)reload(rig, 2, 0); /* saves, as there is a mark */
	rig->h.file = 1;
	assert_int_equal(start_from(rig), 2);
}

static void rollback_that_fails_leaves_everything(void **state)
{
	struct rig *rig = *state;

	(void)reload(rig, 1, 0);
	rig->h.apply_err = -EADDRINUSE;
	assert_string_equal(roll_back(rig, 0), "not rolled back: cannot listen on :80\n");
	assert_int_equal(start_from(rig), 1);
	assert_int_equal(go_on(rig), CLOCK_NEVER); /* only returns are repeated */
	rig->h.apply_err = 0;
	rig->h.unusable = true;
	assert_string_equal(roll_back(rig, 0), "weir.ini:1:1: error: wrong\n"
					       "not rolled back: the configuration cannot be used\n");
	rig->h.unusable = false;
	assert_begins(roll_back(rig, 0), "rolled back: generation 3, ");
}

/* ---- generations ---- */

static void generations_are_shown_with_what_became_of_them(void **state)
{
	struct rig *rig = *state;

	(void)reload(rig, 1, 0);
	rig->h.file = 2;
	reload_hang_up(&rig->r);
	(void)go_on(rig);
	(void)roll_back(rig, 0);
	(void)reload(rig, 3, TRIAL);
	assert_string_equal(
		show_dateless(rig, false),
		"generation 1, DATE, start, replaced, text kept\n"
		"generation 2, DATE, reload by uid 7, replaced, text kept: 1 server added\n"
		"generation 3, DATE, SIGHUP, rolled back, text kept: 1 server added\n"
		"generation 4, DATE, rollback by uid 7 to generation 2, replaced, text kept: 1 server added\n"
		"generation 5, DATE, reload by uid 7, on trial until DATE, text kept: 1 server added\n");
	rig->now_ns += TRIAL;
	(void)go_on(rig);
	assert_has(show_dateless(rig, false),
		   "generation 5, DATE, reload by uid 7, returned, text kept: 1 server added\n"
		   "generation 6, DATE, return to generation 4, in effect, text kept: 1 server added\n");
	assert_has(show_dateless(rig, true),
		   "{\"generation\":6,\"time\":\"DATE\",\"how\":\"return\",\"uid\":null,\"as\":4,\"state\":"
		   "\"in effect\",\"until\":null,\"text_kept\":true,\"changed\":\"1 server added\"}]");
	(void)reload(rig, 4, TRIAL);
	(void)confirm(rig);
	assert_has(show_dateless(rig, false), "generation 7, DATE, reload by uid 7, in effect, text kept");
}

static void texts_of_ten_generations_are_kept(void **state)
{
	struct rig *rig = *state;

	for (int i = 1; i < TEXTS; i++)
		(void)reload(rig, i, 0);
	assert_has(show_dateless(rig, false),
		   "generation 6, DATE, reload by uid 7, replaced, text not kept: 1 server added\n"
		   "generation 7, DATE, reload by uid 7, replaced, text kept: 1 server added\n");
	assert_begins(roll_back(rig, 6), "not rolled back: the text of generation 6 is not kept; texts are "
					 "kept of 7, 8, 9, 10, 11, 12, 13, 14 and 15\n");
	for (int i = 0; i < 2 * GENERATIONS_MAX; i++)
		(void)reload(rig, 1 + i % 2, 0);
	assert_int_equal(rig->r.generations.count, GENERATIONS_MAX);
	assert_begins(roll_back(rig, 0), "rolled back: ");
	assert_int_equal(rig->h.in_effect, 1);
}

/* Nothing was saved, and nothing has to be: the second look at the save finds no error. */
static void rollback_that_fails_twice_warns_once(void **state)
{
	struct rig *rig = *state;
	const char *first;

	(void)reload(rig, 1, 0);
	rig->h.save_begin_err = -ENOMEM;
	rig->h.apply_err = -EADDRINUSE;
	first = strstr(roll_back(rig, 0), "weir: warning: ");
	assert_non_null(first);
	assert_null(strstr(first + 1, "weir: warning: "));
	assert_non_null(strstr(first, "not rolled back: cannot listen on :80\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(return_that_fails_is_tried_again),
		test(rollback_that_fails_twice_warns_once),
		test(confirmation_remains_possible_while_the_return_fails),
		test(return_does_not_wait_for_a_plan),
		test(operator_does_not_wait_for_a_plan),
		test(reload_waits_for_a_plan),
		test(return_goes_before_what_waits_when_it_is_due),
		test(return_abandons_a_reading_that_hangs),
		test(return_whose_reading_hangs_is_waited_for),
		test(rollback_of_a_trial_returns_at_once),
		test(rollback_that_fails_during_a_trial_ends_it_all_the_same),
		test(rollback_goes_to_the_generation_before_and_marks_what_it_left),
		test(second_rollback_names_the_texts_that_are_kept),
		test(first_generation_has_none_before),
		test(rollback_passes_over_generations_with_the_same_text),
		test(rollback_goes_on_if_its_mark_cannot_be_saved),
		test(rollback_that_fails_leaves_everything),
		test(generations_are_shown_with_what_became_of_them),
		test(texts_of_ten_generations_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
