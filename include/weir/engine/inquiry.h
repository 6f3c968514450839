/* SPDX-License-Identifier: MIT
 *
 * inquiry.h - control asks workers for their sessions, a slice at a time: the one way in which it asks them
 * for anything.
 *
 * An inquiry is control's, with a fixed buffer. inquiry_ask() lends it to one worker, which copies the
 * facts of a few sessions into it, in one turn of its loop, and gives it back; then control asks for the
 * next slice, when it likes to, and at last another worker. So an answer takes as much memory and as much
 * of a worker's turn with ten sessions as with a million, and whoever does not read an answer stops nothing
 * but that answer. `show sess` shows the facts; `show stat` adds up their bytes, and reads the rest from
 * tallies (tally.h), which anybody may read. Counters are published, and nobody is asked for them. A sign
 * of life (engine_ping()) is no question: it goes to all workers at once, so that one that hangs hides no
 * other.
 *
 * What is promised of the slices of a worker, from place 0 to the end: a session that lives all the while
 * is in exactly one of them, one that comes or goes meanwhile in one at most. A session never leaves its
 * worker, so the same holds for all workers one after the other. A connection that was accepted and is on
 * its way to another worker is no session yet: it is in no slice until it has begun there. The places of a
 * slab may be used again, and its memory may come and go, between two slices.
 *
 * Nothing blocks and nothing is allocated. A worker that hangs keeps the inquiry until it is withdrawn; one
 * that has ended has no sessions, and is answered for at once. Control's thread, unless it says otherwise.
 */
#ifndef WEIR_ENGINE_INQUIRY_H
#define WEIR_ENGINE_INQUIRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/account/session_facts.h"
#include "weir/base/list.h"
#include "weir/base/spinlock.h"

/* What a worker does in one turn: so many sessions are copied, so many places looked at. */
#define INQUIRY_SESSIONS_MAX 64u
#define INQUIRY_PLACES_MAX   512u

struct engine;
struct worker;

struct inquiry {
	struct list link; /* among those of a worker, under its lock */
	/* It is the worker's, with all that follows but `worker` and `sums`. The lock of the worker's list
	 * hands it over, and this (released, acquired) gives it back. */
	atomic_bool lent;
	unsigned worker; /* that was asked last */
	bool sums;       /* adds up bytes (tally_begin_walk()): one for an engine, and never withdrawn */
	uint32_t place;  /* where the next slice begins; 0 = the first */
	bool over;       /* nothing is behind this slice */
	unsigned count;
	struct session_facts sessions[INQUIRY_SESSIONS_MAX]; /* the slice: `count` of them */
};

/* A worker's side: what it was asked for. */
struct inquiry_list {
	struct spinlock lock;
	struct list waiting; /* borrows inquiries; under the lock, as the following */
	bool closed;         /* it has ended */
};

void inquiry_init(struct inquiry *q, bool sums);
/* Lends `q` (which is control's) to worker number `worker` for the slice at q->place. The engine's notify()
 * comes when it is answered, and inquiry_is_lent() is false from then on. Of a worker that has ended the
 * answer is there when this returns. */
void inquiry_ask(struct engine *e, unsigned worker, struct inquiry *q);
/* Is it still a worker's? What control reads of it after a false is the whole answer. */
bool inquiry_is_lent(const struct inquiry *q);
/* Wants no answer any more; nothing happens when it is not lent. False when its worker fills it in this
 * moment: then it comes back as an answer, very soon, and may not be touched until then. */
bool inquiry_withdraw(struct engine *e, struct inquiry *q);

void inquiry_list_init(struct inquiry_list *l);
/* MAIL_ASKED came: answers one of them, and the others in later turns. The worker's thread. */
void inquiry_answer(struct worker *w);
/* The worker ends, without any session: answers all, and whoever asks from now on. The worker's thread. */
void inquiry_list_close(struct worker *w);

#endif
