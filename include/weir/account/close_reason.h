/* SPDX-License-Identifier: MIT
 *
 * close_reason.h - why a session ended; one row each in close_reasons.tbl.h. Any thread.
 */
#ifndef WEIR_ACCOUNT_CLOSE_REASON_H
#define WEIR_ACCOUNT_CLOSE_REASON_H

#include <stdbool.h>

enum close_reason {
#define REASON(name, letter1, letter2, is_error, words) CLOSE_##name,
#include "weir/account/close_reasons.tbl.h"
#undef REASON
	CLOSE_REASONS
};

struct close_reason_row {
	const char *name; /* the row's name in upper case; logs show it in lower case, and it never changes */
	char letter1;
	char letter2; /* 0 = by the state that the session was in */
	bool is_error; /* false for an end requested by both sides, a client in time or an order */
	const char *words;
};

/* The row of `reason`, static: for logs, and for reports that separate good ends from bad ones. */
const struct close_reason_row *close_reason_row(enum close_reason reason);

#endif
