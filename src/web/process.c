/* SPDX-License-Identifier: MIT
 *
 * process.c - numbers about the process, from process.tbl.h.
 *
 * Only reads. Main thread.
 */
#include "process.h"

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/stats/fd_use.h"

#define PROCESS(name, type, help, value)                                                                     \
	static uint64_t process_##name(const struct web_context *ctx)                                        \
	{                                                                                                    \
		const struct engine *e = ctx->engine;                                                        \
                                                                                                             \
		(void)e;                                                                                     \
		return (uint64_t)(value);                                                                    \
	}
#include "process.tbl.h"
#undef PROCESS

static const struct process_row rows[] = {
#define PROCESS(name, type, help, value) {#name, METRIC_##type, help, process_##name},
#include "process.tbl.h"
#undef PROCESS
};

const struct process_row *process_row(size_t i)
{
	return i < ARRAY_LEN(rows) ? &rows[i] : NULL;
}
