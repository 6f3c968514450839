/* SPDX-License-Identifier: MIT
 *
 * admin_listing.h - the answer to `show sess`, made while it is being written.
 *
 * Asks for the next few sessions (question.h) when those before have been written, and no sooner. So a client
 * that does not read stops its own listing. Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_LISTING_H
#define WEIR_ADMIN_ADMIN_LISTING_H

#include <stdbool.h>

#include "weir/base/json.h"
#include "weir/stats/question.h"

struct admin_listing {
	struct question *question; /* borrows */
	bool as_json;
	struct json json; /* of an array that has begun with the first session */
	unsigned shown; /* sessions of the slice that are in the answer */
	bool any;       /* the array has begun */
};

enum admin_listing_step {
	LISTING_WAITS, /* for a worker */
	LISTING_WRITE, /* the answer so far is to be written first */
	LISTING_OVER,
};

/* `q` is not open; it is asked by admin_listing_go_on(). */
void admin_listing_begin(struct admin_listing *l, struct question *q, bool as_json);
/* Adds lines to `out`, until that has `enough` bytes or a worker must be asked; asks only when `out` is
 * empty. */
enum admin_listing_step admin_listing_go_on(struct admin_listing *l, struct text *out, size_t enough);

#endif
