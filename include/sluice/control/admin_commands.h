/* SPDX-License-Identifier: MIT
 *
 * admin_commands.h - what the admin protocol answers, as text.
 *
 * A command is words; an answer is lines. Knows no socket and no loop. Main thread. Floor 5.
 */
#ifndef SLUICE_CONTROL_ADMIN_COMMANDS_H
#define SLUICE_CONTROL_ADMIN_COMMANDS_H

#include <stdint.h>

#include "sluice/control/logwriter.h"
#include "sluice/control/text.h"
#include "sluice/engine/engine.h"

/* What the answers are made of. */
struct admin_context {
	struct engine *engine;             /* borrows */
	const struct logwriter *logwriter; /* borrows */
	const char *driver;                /* static */
	const char *state;                 /* static: "starting", "ready", "draining", "stopping" */
	int64_t started_ns;                /* CLOCK_MONOTONIC */
};

enum admin_verdict {
	ADMIN_ANSWERED, /* the answer has been added */
	ADMIN_ASK,      /* the caller asks the workers for their sessions; their lines are the answer */
};

/* Runs one command and adds its answer to `out`. White space around and between words is free. */
enum admin_verdict admin_command(const struct admin_context *ctx, const char *command, struct text *out);

#endif
