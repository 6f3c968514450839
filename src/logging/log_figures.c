/* SPDX-License-Identifier: MIT
 *
 * log_figures.c - what the log writer publishes about itself.
 *
 * Control thread.
 */
#include "weir/base/clock.h"
#include "weir/logging/logwriter.h"
#include "writer.h"

void logwriter_note_dropped(struct logwriter *w)
{
	const uint64_t dropped = logwriter_dropped(w);

	if (dropped == w->dropped_seen)
		return;
	w->dropped_seen = dropped;
	w->dropped_ns = clock_wall_ns();
}

void logwriter_publish(void *writer, figure_report *report, void *to)
{
	static const struct figure dropped = {"log_dropped", FIGURE_TOTAL, "log lines lost"};
	static const struct figure slow = {"log_dropped_slow", FIGURE_TOTAL,
					   "log lines lost because a target was too slow"};
	static const struct figure waiting = {"log_waiting_ms", FIGURE_GAUGE,
					      "how long control has waited for the slowest target"};
	static const struct figure last_s = {"log_last_dropped_time_s", FIGURE_GAUGE,
					     "Unix time when lost log lines were last noticed; 0 = never"};
	struct logwriter *w = writer;

	logwriter_note_dropped(w);
	report(to, &dropped, logwriter_dropped(w));
	report(to, &slow, logwriter_dropped_slow(w));
	report(to, &waiting, (uint64_t)(logwriter_waiting_ns(w) / NS_PER_MS));
	report(to, &last_s, (uint64_t)(w->dropped_ns / NS_PER_SEC));
}
