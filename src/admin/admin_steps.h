/* SPDX-License-Identifier: MIT
 *
 * admin_steps.h - an answer made of steps: a line each, or an object each in JSON.
 *
 * Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_STEPS_H
#define WEIR_ADMIN_ADMIN_STEPS_H

#include "weir/admin/admin_answers.h"
#include "weir/balance/server.h"

void steps_begin(const struct admin_call *c);
/* "STEP: text", or {"step", "text"}. */
void steps_add(const struct admin_call *c, const char *step, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same about a server; `word` says how it fares, and is a member of its own in JSON. */
void steps_server(const struct admin_call *c, const struct server *s, const char *word, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The last step, "result"; `outcome` is a member of its own in JSON. */
void steps_end(const struct admin_call *c, const char *outcome, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void steps_close(const struct admin_call *c);

#endif
