/* SPDX-License-Identifier: MIT
 *
 * admin_answers.h - the answers of the admin protocol, one function each.
 *
 * For admin_commands.c, which knows when to call which. They only read. Main thread. Floor 5.
 */
#ifndef SLUICE_CONTROL_ADMIN_ANSWERS_H
#define SLUICE_CONTROL_ADMIN_ANSWERS_H

#include "sluice/control/admin_commands.h"
#include "sluice/engine/tally.h"

/* Lines of "name: value": ours first, then the same under HAProxy's names. */
void admin_show_info(const struct admin_context *ctx, struct text *out);
void admin_show_pools(const struct admin_context *ctx, struct text *out);
/* HAProxy's CSV, or with `q->json` an array of objects; `sums` has tally_count() rows. */
void admin_show_stat(const struct admin_context *ctx, const struct admin_question *q,
		     const struct tally_sum *sums, struct text *out);

/* An object of lines of "name: value"; an array of objects of lines of sessions. Whole numbers become
 * numbers, all else text. */
void admin_json_of_lines(const char *lines, struct text *out);
void admin_json_of_sessions(const char *lines, struct text *out);
/* `text`, `len` bytes of it, as a JSON string; or as a number when it is a whole one. */
void admin_json_string(const char *text, size_t len, struct text *out);
void admin_json_value(const char *text, size_t len, struct text *out);

#endif
