/* SPDX-License-Identifier: MIT
 *
 * reload_figures.c - the figures of reloads for `show info`.
 *
 * Main thread.
 */
#include "weir/base/clock.h"
#include "reload_parts.h"

/* In whole seconds, at least 1 while there is a trial. */
static uint64_t trial_left_s(const struct reload *r)
{
	const int64_t left_ns = r->trial.return_ns - clock_mono_ns();

	if (!trial_is_on(r))
		return 0;
	return left_ns > NS_PER_SEC ? (uint64_t)(left_ns / NS_PER_SEC) : 1;
}

void reload_publish(void *reload, figure_report *report, void *to)
{
	static const struct figure generation = {
		"generation", FIGURE_TOTAL, "generation of the configuration in effect; 1 as started"};
	static const struct figure reloads = {"reloads", FIGURE_TOTAL, "reloads that took effect"};
	static const struct figure rollbacks = {"rollbacks", FIGURE_TOTAL,
						"rollbacks that took effect, returns from a trial included"};
	static const struct figure refused = {"reloads_refused", FIGURE_TOTAL, "reloads that were refused"};
	static const struct figure last_s = {"last_reload_time_s", FIGURE_GAUGE,
					     "Unix time of the last reload, refused or not; 0 = none"};
	static const struct figure last_ok = {"last_reload_ok", FIGURE_GAUGE,
					      "0 = the last reload was refused; else 1"};
	static const struct figure left_s = {
		"trial_left_s", FIGURE_GAUGE,
		"seconds left to confirm the generation in effect; 0 = it is not on trial"};
	static const struct figure marked = {
		"texts_marked", FIGURE_GAUGE,
		"texts of the configuration that were not confirmed, or were rolled back"};
	const struct reload *r = reload;

	report(to, &generation, r->generation);
	report(to, &reloads, r->reloads);
	report(to, &rollbacks, r->rollbacks);
	report(to, &refused, r->refused);
	report(to, &last_s, (uint64_t)r->last_s);
	report(to, &last_ok, r->last_s == 0 || r->last_fine);
	report(to, &left_s, trial_left_s(r));
	report(to, &marked, r->keeper.now.mark_count);
}
