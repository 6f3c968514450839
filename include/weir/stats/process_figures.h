/* SPDX-License-Identifier: MIT
 *
 * process_figures.h - figures of the process that are not counters of workers: rates, pools, ports.
 *
 * A source of figures (figure.h), so that each is a key of `show info` and in every other report. Asks no
 * worker. Control thread.
 */
#ifndef WEIR_STATS_PROCESS_FIGURES_H
#define WEIR_STATS_PROCESS_FIGURES_H

#include <stddef.h>

#include "weir/base/figure.h"

struct engine;
struct stat_pace;

struct process_source {
	struct engine *engine;  /* borrows */
	struct stat_pace *pace; /* borrows; NULL = not measured */
};

/* The row at `i`, in the order in which they are published; NULL past the last. Any thread. */
const struct figure *process_figure(size_t i);
/* For a figure_source whose `from` is a struct process_source. */
void process_publish(void *from, figure_report *report, void *to);

#endif
