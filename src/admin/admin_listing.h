/* SPDX-License-Identifier: MIT
 *
 * admin_listing.h - the answer to `show sess` and its like, generated while it is being written.
 *
 * Requests the next few sessions (question.h) only after the previous ones have been written, so a client
 * that does not read stalls only its own listing. Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_LISTING_H
#define WEIR_ADMIN_ADMIN_LISTING_H

#include <stdbool.h>

#include "weir/admin/admin_commands.h"
#include "weir/base/json.h"
#include "weir/stats/question.h"

struct admin_listing {
	struct question *question;      /* borrows */
	const struct admin_question *q; /* borrows: which sessions, and how they are shown */
	struct json json; /* for the array, which begins with the first session */
	unsigned shown; /* how many sessions of the slice are in the answer */
	bool any;       /* there was a session; the array has begun */
};

enum admin_listing_step {
	LISTING_WAITS, /* waiting for a worker */
	LISTING_WRITE, /* write the answer so far, then continue */
	LISTING_OVER,
};

/* `question` is not open; it is asked by admin_listing_go_on(). */
void admin_listing_begin(struct admin_listing *l, struct question *question, const struct admin_question *q);
/* Adds lines to `out`, until that has `enough` bytes or a worker must be asked; asks only when `out` is
 * empty. */
enum admin_listing_step admin_listing_go_on(struct admin_listing *l, struct text *out, size_t enough);

#endif
