/* SPDX-License-Identifier: MIT
 *
 * test_trial.c - reloads on trial, confirmations, and what the state file has at each moment.
 */
#include "trial_rig.h"

/* ---- a trial ---- */

static void mark_is_on_disk_before_the_trial_takes_effect(void **state)
{
	struct rig *rig = *state;

	rig->h.saves_late = true;
	assert_string_equal(reload(rig, 1, TRIAL), "");
	assert_string_equal(rig->h.trace, "began save ");
	assert_int_equal(rig->h.in_effect, 0);
	rig->h.has_saved = true;
	assert_int_equal(go_on(rig), rig->now_ns + TRIAL);
	assert_string_equal(rig->h.trace, "began save apply-1 fine ");
	assert_int_equal(start_from(rig), 0);
	assert_has(rig->c[0].text, "on trial: until ");
	assert_has(rig->c[0].text,
		   "'weir confirm' keeps generation 2, otherwise weir returns to generation 1\n");
	assert_has(rig->c[0].text, "\nreloaded: generation 2, 1 server added\n");
	assert_true(rig->c[0].done);
	assert_begins(rig->h.told, "generation 2 on trial until 20");
}

static void confirmation_is_answered_once_the_mark_is_gone_from_the_disk(void **state)
{
	struct rig *rig = *state;

	(void)reload(rig, 1, TRIAL);
	rig->h.saves_late = true;
	assert_string_equal(confirm(rig), "");
	assert_int_equal(start_from(rig), 0);
	rig->h.has_saved = true;
	assert_int_equal(go_on(rig), CLOCK_NEVER);
	assert_string_equal(rig->c[1].text, "confirmed: generation 2\n");
	assert_int_equal(start_from(rig), 1);
	assert_int_equal(number_of(&rig->h, rig->h.disk.text), 1);
	assert_string_equal(rig->h.told, "");
	rig->now_ns += 2 * TRIAL;
	assert_int_equal(go_on(rig), CLOCK_NEVER);
	assert_int_equal(rig->h.in_effect, 1);
	assert_begins(confirm(rig), "not confirmed: nothing is on trial: generation 2 is in effect since 20");
}

static void unconfirmed_trial_returns(void **state)
{
	struct rig *rig = *state;

	(void)reload(rig, 1, TRIAL);
	rig->now_ns += TRIAL - 1;
	assert_int_equal(go_on(rig), rig->now_ns + 1);
	assert_int_equal(rig->h.in_effect, 1);
	rig->now_ns += 1;
	assert_int_equal(go_on(rig), CLOCK_NEVER);
	assert_int_equal(rig->h.in_effect, 0);
	assert_int_equal(rig->r.generation, 3);
	assert_int_equal(rig->r.rollbacks, 1);
	assert_int_equal(start_from(rig), 0);
	assert_int_equal(rig->h.disk.marks[0].reason, CONFIRMED_EXPIRED);
	assert_string_equal(rig->h.told, "");
	assert_true(rig->h.has_left);
	assert_int_equal(rig->h.left, CONFIRMED_EXPIRED);
	assert_begins(confirm(rig), "not confirmed: nothing is on trial: ");
}

/* Until the text changes, or somebody accepts it. */
static void returned_text_is_refused(void **state)
{
	struct rig *rig = *state;

	(void)reload(rig, 1, TRIAL);
	rig->now_ns += TRIAL;
	(void)go_on(rig);
	assert_begins(reload(rig, 1, 0),
		      "not reloaded: this text was not confirmed in time (generation 2, 20");
	assert_has(rig->c[0].text, "; change it, try it again with 'weir reload --confirm 60s', or accept it "
				   "with 'weir confirm --file'\n");
	assert_int_equal(rig->h.in_effect, 0);
	ask(rig, &rig->c[1], &(struct reload_wish){.kind = WISH_PLAN});
	assert_begins(rig->c[1].text, "a plain reload is refused now: this text was not confirmed in time ");
	ask(rig, &rig->c[1], &(struct reload_wish){.kind = WISH_PLAN, .json = true});
	assert_string_equal(rig->c[1].text, "would change: yes\n"); /* nothing but the object */
	assert_string_equal(reload(rig, 2, 0), "reloaded: generation 4, 1 server added\n");
	assert_int_equal(number_of(&rig->h, rig->h.disk.text), 2); /* saved while there are marks */
	assert_begins(reload(rig, 1, 0), "not reloaded: ");
	assert_has(reload(rig, 1, TRIAL), "reloaded: generation 5, ");
	assert_string_equal(confirm(rig), "confirmed: generation 5\n");
	assert_int_equal(start_from(rig), 1);
	assert_string_equal(reload(rig, 2, 0), "reloaded: generation 6, 1 server added\n");
}

static void returned_text_can_be_accepted(void **state)
{
	struct rig *rig = *state;

	(void)reload(rig, 1, TRIAL);
	rig->now_ns += TRIAL;
	(void)go_on(rig);
	assert_string_equal(confirm_file(rig), "confirmed: generation 4, 1 server added\n");
	assert_int_equal(rig->h.in_effect, 1);
	assert_int_equal(start_from(rig), 1);
	assert_int_equal(rig->h.disk.mark_count, 0);
	assert_false(rig->h.has_left);
}

static void second_reload_is_refused_during_a_trial(void **state)
{
	struct rig *rig = *state;

	(void)reload(rig, 1, TRIAL);
	ask(rig, &rig->c[1], &(struct reload_wish){.kind = WISH_RELOAD});
	assert_begins(rig->c[1].text, "not reloaded: generation 2 is on trial until 20");
	assert_has(rig->c[1].text, "; keep it with 'weir confirm', or return with 'weir rollback'\n");
	assert_begins(confirm_file(rig), "not confirmed: generation 2 is on trial until 20");
	reload_hang_up(&rig->r);
	(void)go_on(rig);
	assert_int_equal(rig->r.refused, 2); /* reloads only */
	ask(rig, &rig->c[1], &(struct reload_wish){.kind = WISH_PLAN});
	assert_begins(rig->c[1].text, "a plain reload is refused now: generation 2 is on trial until 20");
	assert_has(rig->c[1].text, "'weir rollback'\nwould change: yes\n");
	assert_int_equal(rig->h.in_effect, 1);
	assert_string_equal(confirm(rig), "confirmed: generation 2\n");
}

static void trial_of_the_text_in_effect_is_none(void **state)
{
	struct rig *rig = *state;

	assert_string_equal(reload(rig, 0, TRIAL),
			    "on trial: nothing: the text of generation 1 has not changed\n"
			    "reloaded: generation 2, 1 server added\n");
	assert_int_equal(go_on(rig), CLOCK_NEVER);
	assert_int_equal(rig->h.saves, 0);
}

static void trial_that_cannot_be_marked_is_refused(void **state)
{
	struct rig *rig = *state;

	rig->h.save_err = -ENOSPC;
	assert_begins(reload(rig, 1, TRIAL), "not reloaded: ");
	assert_has(rig->c[0].text, "/state/confirmed");
	assert_int_equal(rig->h.in_effect, 0);
	rig->h.save_err = 0;
	rig->h.save_begin_err = -EAGAIN;
	assert_begins(reload(rig, 1, TRIAL), "not reloaded: ");
	rig->h.save_begin_err = 0;
	assert_int_equal(rig->h.in_effect, 0);
	assert_string_equal(reload(rig, 1, 0), "reloaded: generation 2, 1 server added\n");
	assert_int_equal(start_from(rig), 1);
}

static void save_that_hangs_refuses_the_trial_and_takes_its_mark_back_later(void **state)
{
	struct rig *rig = *state;

	rig->h.saves_late = true;
	(void)reload(rig, 1, TRIAL);
	rig->now_ns += RELOAD_SAVE_S * SEC;
	(void)go_on(rig);
	assert_begins(rig->c[0].text, "not reloaded: writing /state/confirmed takes more than 30 s");
	assert_int_equal(rig->h.in_effect, 0);
	rig->h.saves_late = false;
	rig->h.has_saved = true;
	(void)go_on(rig);
	(void)go_on(rig);
	assert_int_equal(rig->h.saves, 2);
	assert_int_equal(start_from(rig), 1);
}

static void trial_that_cannot_be_applied_leaves_no_mark(void **state)
{
	struct rig *rig = *state;

	rig->h.apply_err = -EADDRINUSE;
	assert_string_equal(reload(rig, 1, TRIAL), "not reloaded: cannot listen on :80\n");
	assert_int_equal(rig->h.saves, 2);
	assert_int_equal(start_from(rig), 1);
	assert_int_equal(go_on(rig), CLOCK_NEVER);
	assert_int_equal(rig->r.generation, 1);
}

static void mark_that_could_not_be_taken_back_is_with_the_next_reload(void **state)
{
	struct rig *rig = *state;

	rig->h.apply_err = -EADDRINUSE;
	rig->h.fail_from = 1; /* the first save marks */
	assert_begins(reload(rig, 1, TRIAL), "weir: warning: cannot write /state/confirmed");
	assert_has(rig->c[0].text, "\nnot reloaded: cannot listen on :80\n");
	assert_int_equal(start_from(rig), 0);
	rig->h.apply_err = 0;
	rig->h.fail_from = 0;
	assert_string_equal(reload(rig, 1, 0), "reloaded: generation 2, 1 server added\n");
	assert_int_equal(start_from(rig), 1);
	rig->h.saves = 0;
	(void)reload(rig, 2, 0);
	assert_int_equal(rig->h.saves, 0);
}

static void confirmation_that_cannot_be_saved_is_refused_and_the_trial_goes_on(void **state)
{
	struct rig *rig = *state;

	(void)reload(rig, 1, TRIAL);
	rig->h.save_err = -EROFS;
	assert_begins(confirm(rig), "not confirmed: ");
	assert_int_equal(start_from(rig), 0);
	assert_int_equal(rig->r.keeper.now.mark_count, 1);
	assert_int_equal(go_on(rig), rig->now_ns + TRIAL);
	rig->h.save_err = 0;
	assert_string_equal(confirm(rig), "confirmed: generation 2\n");
	assert_int_equal(start_from(rig), 1);
}

static void without_a_folder_marks_are_in_memory(void **state)
{
	struct rig *rig = *state;

	reload_free(&rig->r);
	begin(rig, NULL);
	assert_has(reload(rig, 1, TRIAL),
		   "weir: warning: there is no usable $STATE_DIRECTORY, so a restart starts from the new "
		   "text even if nobody confirms it; ");
	rig->now_ns += TRIAL;
	(void)go_on(rig);
	assert_int_equal(rig->h.in_effect, 0);
	assert_begins(reload(rig, 1, 0), "not reloaded: this text was not confirmed in time");
	assert_has(reload(rig, 1, TRIAL), "reloaded: ");
	assert_string_equal(confirm(rig), "confirmed: generation 4\n");
	assert_int_equal(rig->h.saves, 0);
}

/* A message that does not fit into memory is left out; nothing else changes. */
static void without_memory_everything_goes_on(void **state)
{
	struct rig *rig = *state;

	fail_allocations_from(0);
	assert_string_equal(reload(rig, 1, TRIAL), "reloaded: generation 2, 1 server added\n");
	assert_int_equal(start_from(rig), 0);
	assert_string_equal(confirm(rig), "confirmed: generation 2\n");
	assert_int_equal(start_from(rig), 1);
	assert_string_equal(roll_back(rig, 0),
			    "rolled back: generation 3, as generation 1, 1 server added\n");
	rig->h.apply_err = -ENOMEM;
	assert_string_equal(reload(rig, 2, TRIAL), "not reloaded: cannot listen on :80\n");
	rig->h.apply_err = 0;
	(void)reload(rig, 2, TRIAL);
	rig->now_ns += TRIAL;
	(void)go_on(rig);
	fail_allocations_from(-1);
	assert_int_equal(rig->h.in_effect, 0);
	assert_int_equal(start_from(rig), 0);
}

/* ---- a client that holds ---- */

static void holder_is_told_the_end(void **state)
{
	struct rig *rig = *state;

	hold(rig, 1);
	assert_has(rig->c[0].text, "reloaded: generation 2, 1 server added\n");
	assert_false(rig->c[0].done);
	(void)confirm(rig);
	assert_true(rig->c[0].done);
	assert_has(rig->c[0].text, "reloaded: generation 2, 1 server added\nconfirmed: generation 2\n");
	hold(rig, 2);
	rig->now_ns += TRIAL;
	(void)go_on(rig);
	assert_true(rig->c[0].done);
	assert_has(rig->c[0].text, "\nreturned: generation 4, as generation 2, 1 server added\n");
}

static void trial_ends_when_its_holder_leaves(void **state)
{
	struct rig *rig = *state;

	hold(rig, 1);
	rig->r.asker.forget(rig->r.asker.arg, &rig->c[0].wish);
	assert_int_equal(go_on(rig), CLOCK_NEVER);
	assert_int_equal(rig->h.in_effect, 0);
	/* before the reload is in effect, too */
	rig->h.saves_late = true;
	hold(rig, 2);
	rig->r.asker.forget(rig->r.asker.arg, &rig->c[0].wish);
	rig->h.saves_late = false;
	rig->h.has_saved = true;
	(void)go_on(rig);
	assert_int_equal(rig->h.in_effect, 0);
	assert_int_equal(rig->r.rollbacks, 2);
	assert_has(rig->h.trace, "apply-2 fine began apply-0 ");
}

static void held_trial_without_a_change_ends_at_once(void **state)
{
	struct rig *rig = *state;

	hold(rig, 0);
	assert_true(rig->c[0].done);
	rig->r.asker.forget(rig->r.asker.arg, &rig->c[0].wish);
	assert_int_equal(go_on(rig), CLOCK_NEVER);
}

static void stop_ends_a_trial_without_a_return(void **state)
{
	struct rig *rig = *state;

	hold(rig, 1);
	reload_stop(&rig->r);
	assert_true(rig->c[0].done);
	assert_has(rig->c[0].text, "\nnot confirmed: the daemon is stopping\n");
	assert_int_equal(rig->h.in_effect, 1);
	assert_int_equal(start_from(rig), 0);
	assert_string_equal(confirm(rig), "not confirmed: the daemon is stopping\n");
	assert_string_equal(roll_back(rig, 0), "not rolled back: the daemon is stopping\n");
}

static void stop_during_a_save_drops_what_was_read(void **state)
{
	struct rig *rig = *state;

	rig->h.saves_late = true;
	(void)reload(rig, 1, TRIAL);
	reload_stop(&rig->r);
	assert_string_equal(rig->c[0].text, "not reloaded: the daemon is stopping\n");
	assert_null(rig->h.reading);
	reload_free(&rig->r);
	assert_false(rig->h.saving);
}

static void stop_during_the_save_of_a_confirmation_is_not_a_refusal(void **state)
{
	struct rig *rig = *state;

	hold(rig, 1);
	rig->h.saves_late = true;
	(void)confirm(rig);
	reload_stop(&rig->r);
	assert_begins(rig->c[1].text, "perhaps confirmed: the daemon is stopping while it writes ");
	assert_true(rig->c[1].done && rig->c[0].done);
	assert_has(rig->c[0].text, "\nperhaps confirmed: ");
}

static void stop_during_a_save_gives_up_a_reading_that_hangs(void **state)
{
	struct rig *rig = *state;

	(void)reload(rig, 1, 10 * TRIAL);
	rig->h.reads_late = true;
	ask(rig, &rig->c[2], &(struct reload_wish){.kind = WISH_PLAN});
	rig->now_ns += RELOAD_READ_S * SEC;
	(void)go_on(rig);
	assert_true(rig->c[2].done);
	assert_non_null(rig->h.reading);
	rig->h.saves_late = true;
	(void)confirm(rig);
	reload_stop(&rig->r);
	assert_begins(rig->c[1].text, "perhaps confirmed: ");
	assert_null(rig->h.reading);
}

static void stop_after_the_save_of_a_confirmation_says_so(void **state)
{
	struct rig *rig = *state;

	hold(rig, 1);
	rig->h.saves_late = true;
	(void)confirm(rig);
	rig->h.has_saved = true;
	reload_stop(&rig->r);
	assert_string_equal(rig->c[1].text, "confirmed: generation 2\n");
	assert_has(rig->c[0].text, "\nconfirmed: generation 2\n");
	assert_int_equal(start_from(rig), 1);
}

static void stop_after_a_save_that_failed_confirms_nothing(void **state)
{
	struct rig *rig = *state;

	(void)reload(rig, 1, TRIAL);
	rig->h.saves_late = true;
	(void)confirm(rig);
	rig->h.has_saved = true;
	rig->h.save_err = -EROFS;
	reload_stop(&rig->r);
	assert_string_equal(rig->c[1].text, "not confirmed: the daemon is stopping\n");
	assert_int_equal(start_from(rig), 0);
}

static void stop_during_the_save_of_a_rollback_says_what_may_follow(void **state)
{
	struct rig *rig = *state;

	(void)reload(rig, 1, 0);
	rig->h.saves_late = true;
	(void)roll_back(rig, 0);
	reload_stop(&rig->r);
	assert_begins(rig->c[2].text, "not rolled back: the daemon is stopping; but the next start may ");
	assert_null(rig->h.reading);
	assert_int_equal(rig->h.in_effect, 1);
}

static void end_during_a_save_drops_it_all(void **state)
{
	struct rig *rig = *state;

	rig->h.saves_late = true;
	(void)reload(rig, 1, TRIAL);
	reload_free(&rig->r);
	assert_null(rig->h.reading);
	assert_false(rig->h.saving);
	assert_int_equal(rig->c[0].answers, 0);
}

/* ---- what an earlier process left ---- */

static void start_that_finds_marks_saves_the_text_that_it_started_from(void **state)
{
	struct rig *rig = *state;
	struct confirmed loaded = {.text = config_text_hold(rig->h.texts[1])};
	const struct confirmed_mark mark = {.text = config_text_hash(rig->h.texts[2]),
					    .generation = 8,
					    .wall_ns = SEC,
					    .reason = CONFIRMED_ON_TRIAL};
	struct reload_origin origin = {
		.text = rig->h.texts[0], .confirmed = &loaded, .folder = "/state"};

	confirmed_add_mark(&loaded, &mark);
	reload_free(&rig->r);
	reload_init(&rig->r, &steps, &rig->h);
	reload_set_origin(&rig->r, &origin);
	assert_null(loaded.text);
	(void)go_on(rig);
	assert_int_equal(rig->h.saves, 1);
	assert_int_equal(number_of(&rig->h, rig->h.disk.text), 0);
	assert_begins(reload(rig, 2, 0),
		      "not reloaded: this text was never confirmed (generation 8, 1970-01-01T");
}

static void start_from_the_confirmed_text_leaves_the_file_alone(void **state)
{
	struct rig *rig = *state;
	struct confirmed loaded = {.text = config_text_hold(rig->h.texts[0])};
	const struct confirmed_mark mark = {.text = config_text_hash(rig->h.texts[1]),
					    .reason = CONFIRMED_EXPIRED};
	struct reload_origin origin = {.text = rig->h.texts[0],
				       .confirmed = &loaded,
				       .folder = "/state",
				       .from_confirmed = true};

	confirmed_add_mark(&loaded, &mark);
	reload_free(&rig->r);
	reload_init(&rig->r, &steps, &rig->h);
	reload_set_origin(&rig->r, &origin);
	(void)go_on(rig);
	assert_int_equal(rig->h.saves, 0);
	assert_has(show_dateless(rig, false), "start, in effect, text kept: the confirmed text, as that of "
					      "the files was not confirmed\n");
	assert_begins(reload(rig, 1, 0), "not reloaded: this text was not confirmed in time");
	assert_string_equal(confirm_file(rig), "confirmed: generation 2, 1 server added\n");
	assert_int_equal(rig->h.disk.mark_count, 0);
}

static void put_figure(void *to, const struct figure *row, uint64_t value)
{
	struct text *out = to;

	if (strcmp(row->name, "trial_left_s") == 0 || strcmp(row->name, "texts_marked") == 0 ||
	    strcmp(row->name, "rollbacks") == 0)
		text_printf(out, "%s=%llu ", row->name, (unsigned long long)value);
}

static void figures_show_the_trial(void **state)
{
	struct rig *rig = *state;
	char bytes[256];
	struct text out;

	rig->now_ns = clock_mono_ns();
	(void)reload(rig, 1, 3600 * SEC);
	text_over(&out, bytes, sizeof(bytes));
	reload_publish(&rig->r, put_figure, &out);
	assert_begins(bytes, "rollbacks=0 trial_left_s=3");
	assert_has(bytes, "texts_marked=1");
	rig->now_ns += 3600 * SEC;
	(void)go_on(rig);
	text_over(&out, bytes, sizeof(bytes));
	reload_publish(&rig->r, put_figure, &out);
	assert_string_equal(bytes, "rollbacks=1 trial_left_s=0 texts_marked=1 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(mark_is_on_disk_before_the_trial_takes_effect),
		test(confirmation_is_answered_once_the_mark_is_gone_from_the_disk),
		test(unconfirmed_trial_returns),
		test(returned_text_is_refused),
		test(returned_text_can_be_accepted),
		test(second_reload_is_refused_during_a_trial),
		test(trial_of_the_text_in_effect_is_none),
		test(trial_that_cannot_be_marked_is_refused),
		test(save_that_hangs_refuses_the_trial_and_takes_its_mark_back_later),
		test(trial_that_cannot_be_applied_leaves_no_mark),
		test(mark_that_could_not_be_taken_back_is_with_the_next_reload),
		test(confirmation_that_cannot_be_saved_is_refused_and_the_trial_goes_on),
		test(without_a_folder_marks_are_in_memory),
		test(without_memory_everything_goes_on),
		test(holder_is_told_the_end),
		test(trial_ends_when_its_holder_leaves),
		test(held_trial_without_a_change_ends_at_once),
		test(stop_ends_a_trial_without_a_return),
		test(stop_during_a_save_drops_what_was_read),
		test(stop_during_the_save_of_a_confirmation_is_not_a_refusal),
		test(stop_during_a_save_gives_up_a_reading_that_hangs),
		test(stop_after_the_save_of_a_confirmation_says_so),
		test(stop_after_a_save_that_failed_confirms_nothing),
		test(stop_during_the_save_of_a_rollback_says_what_may_follow),
		test(end_during_a_save_drops_it_all),
		test(start_that_finds_marks_saves_the_text_that_it_started_from),
		test(start_from_the_confirmed_text_leaves_the_file_alone),
		test(figures_show_the_trial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
