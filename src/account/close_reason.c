/* SPDX-License-Identifier: MIT
 *
 * close_reason.c - why a session ended: the table.
 *
 * Any thread.
 */
#include "weir/account/close_reason.h"

#include "weir/base/check.h"

static const struct close_reason_row close_reason_rows[CLOSE_REASONS] = {
#define REASON(name, letter1, letter2, is_error, words) {#name, letter1, letter2, is_error, words},
#include "weir/account/close_reasons.tbl.h"
#undef REASON
};

const struct close_reason_row *close_reason_row(enum close_reason reason)
{
	check((unsigned)reason < CLOSE_REASONS);
	return &close_reason_rows[reason];
}
