/* SPDX-License-Identifier: MIT
 *
 * process.h - the rows of process.tbl.h.
 *
 * Main thread.
 */
#ifndef WEIR_WEB_PROCESS_H
#define WEIR_WEB_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#include "weir/web/web.h"
#include "metrics.h"

struct process_row {
	const char *name;
	enum metric_type type;
	const char *help;
	uint64_t (*value)(const struct web_context *ctx);
};

/* Row number `i`; NULL after the last. */
const struct process_row *process_row(size_t i);

#endif
