/* SPDX-License-Identifier: MIT
 *
 * process_figures.c - figures of the process that are not counters of workers: rates, pools, ports.
 *
 * Owns nothing. Control thread.
 */
#include "weir/stats/process_figures.h"

#include "weir/balance/sticky.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/engine/engine.h"
#include "weir/engine/pulse.h"
#include "weir/stats/port_use.h"
#include "weir/stats/process_rates.h"

struct process_facts {
	struct engine *e; /* borrows */
	struct process_rates rates;
	uint64_t busy_ns;
	uint32_t ports;
	struct port_use most;
};

static void take_busy_time(struct process_facts *x)
{
	struct worker_pulse pulse;

	for (unsigned i = 0; i < x->e->worker_count; i++) {
		engine_pulse(x->e, i, &pulse);
		x->busy_ns += pulse.busy_ns;
	}
}

static uint64_t sticky_entries(const struct engine *e)
{
	const int64_t now_ns = clock_mono_ns();
	uint64_t used = 0;

	for (size_t i = 0; i < e->backend_count; i++)
		used += backend_sticky_used(e->backends[i], now_ns);
	return used;
}

static const struct figure rows[] = {
#define PROCESS(name, kind, help, value) {#name, FIGURE_##kind, help},
#include "process_figures.tbl.h"
#undef PROCESS
};

const struct figure *process_figure(size_t i)
{
	return i < ARRAY_LEN(rows) ? &rows[i] : NULL;
}

static void report_all(const struct process_facts *x, figure_report *report, void *to)
{
	const uint64_t values[] = {
#define PROCESS(name, kind, help, value) (uint64_t)(value),
#include "process_figures.tbl.h"
#undef PROCESS
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		report(to, &rows[i], values[i]);
}

void process_publish(void *from, figure_report *report, void *to)
{
	const struct process_source *source = from;
	struct process_facts x = {.e = source->engine};

	if (x.e->workers != NULL)
		take_busy_time(&x);
	x.rates = process_rates_now(x.e, source->pace);
	x.ports = port_range();
	x.most = port_use_most(x.e, x.ports);
	report_all(&x, report, to);
}
