/* SPDX-License-Identifier: MIT
 *
 * log_figures.c - what the log writer publishes about itself.
 *
 * Control thread.
 */
#include "weir/base/clock.h"
#include "weir/logging/logwriter.h"

void logwriter_publish(void *writer, figure_report *report, void *to)
{
	static const struct figure dropped = {"log_dropped", FIGURE_TOTAL, "log lines lost"};
	static const struct figure slow = {"log_dropped_slow", FIGURE_TOTAL,
					   "log lines lost because a target was too slow"};
	static const struct figure waiting = {"log_waiting_ms", FIGURE_GAUGE,
					      "how long control has waited for the slowest target"};
	const struct logwriter *w = writer;

	report(to, &dropped, logwriter_dropped(w));
	report(to, &slow, logwriter_dropped_slow(w));
	report(to, &waiting, (uint64_t)(logwriter_waiting_ns(w) / NS_PER_MS));
}
