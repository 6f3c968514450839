/* SPDX-License-Identifier: MIT
 *
 * admin_listing.h - the answer to `show sess`, made while it is being written.
 *
 * Asks workers for the next few sessions (inquiry.h) when those before have been written, and no sooner. So
 * a client that does not read stops its own listing. Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_LISTING_H
#define WEIR_ADMIN_ADMIN_LISTING_H

#include <stdbool.h>

#include "weir/base/text.h"
#include "weir/engine/inquiry.h"

struct engine;

struct admin_listing {
	struct engine *engine; /* borrows */
	struct inquiry inquiry;
	bool asked;      /* the inquiry is for this listing: not one that was left */
	bool json;
	unsigned worker; /* that is asked, or is next */
	unsigned silent; /* workers that did not answer */
	unsigned shown;  /* sessions of the inquiry that are in the answer */
	bool any;        /* at least one is in the answer */
};

enum admin_listing_step {
	LISTING_WAITS, /* for a worker */
	LISTING_WRITE, /* the answer so far is to be written first */
	LISTING_OVER,
};

void admin_listing_init(struct admin_listing *l, struct engine *e);
void admin_listing_begin(struct admin_listing *l, bool json);
/* Adds lines to `out`, until that has `enough` bytes or a worker must be asked; asks only when `out` is
 * empty. */
enum admin_listing_step admin_listing_go_on(struct admin_listing *l, struct text *out, size_t enough);
/* Would admin_listing_go_on() do anything while a worker is waited for? */
bool admin_listing_is_answered(const struct admin_listing *l);
/* The worker that is waited for does not answer: goes on without it. */
void admin_listing_skip(struct admin_listing *l);
/* Whoever asked has left. */
void admin_listing_leave(struct admin_listing *l);

#endif
