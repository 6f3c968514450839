/* SPDX-License-Identifier: MIT
 *
 * exec_result.h - what came of a program that checks a server, in HAProxy's codes and in words.
 *
 * Pure code. Any thread.
 */
#ifndef WEIR_HEALTH_EXEC_RESULT_H
#define WEIR_HEALTH_EXEC_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/balance/probe_view.h"
#include "exec_output.h"

struct exec_result {
	enum probe_code code;
	unsigned status;     /* its exit status */
	int64_t duration_ns; /* since it was started */
	char detail[PROBE_REASON_MAX];
};

/* Sets the detail, cut if it is too long. */
void exec_result_say(struct exec_result *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* It ended with this status (waitpid(2)) and this output. */
void exec_result_of_end(struct exec_result *r, int status, const struct exec_output *o);
/* It is still running; the duration is set. */
void exec_result_of_timeout(struct exec_result *r, const struct exec_output *o);
/* It could not be started; `of_program`: because of the program, see exec_child_start(). */
void exec_result_of_error(struct exec_result *r, int err, bool of_program);

#endif
