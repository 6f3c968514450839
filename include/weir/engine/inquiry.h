/* SPDX-License-Identifier: MIT
 *
 * inquiry.h - control asks workers for their sessions, a slice at a time: the only way in which it queries
 * them.
 *
 * An inquiry belongs to control and has a fixed buffer. inquiry_ask() lends it to one worker, which copies
 * the facts of a few sessions into it, or for a sum the bytes of more, in one turn of its loop, and gives it
 * back. Control then asks for the next slice when it is ready for it, and finally asks the next worker. So
 * an answer takes as much memory, and as much of a worker's turn, with ten sessions as with a million, and a
 * reader that does not take its answer delays only that answer. `show sess` prints the facts; `show stat`
 * adds up the bytes and reads the rest from tallies (tally.h), which any thread may read. Counters are
 * published, so no worker is asked for them. A sign of life (engine_ping()) is not an inquiry: it goes to all
 * workers at once, so that one hung worker does not hide another.
 *
 * The slices of one worker, from place 0 to the end, guarantee this: a session that lives throughout is in
 * exactly one of them, and one that begins or ends meanwhile is in at most one. A session never leaves its
 * worker, so the same holds for all workers in turn. A connection that was accepted and is on its way to
 * another worker is not a session yet: it is in no slice until it has begun there. Between two slices, the
 * places of a slab may be reused, and its memory may come and go.
 *
 * Nothing blocks and nothing is allocated. A hung worker keeps the inquiry until it is withdrawn; a worker
 * that has ended has no sessions, and its answer is made at once. Control thread, unless stated otherwise.
 */
#ifndef WEIR_ENGINE_INQUIRY_H
#define WEIR_ENGINE_INQUIRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/account/session_facts.h"
#include "weir/base/list.h"
#include "weir/base/spinlock.h"

/* Limits for one turn of a worker: sessions copied, places visited. */
#define INQUIRY_SESSIONS_MAX 32u
#define INQUIRY_PLACES_MAX   512u

struct engine;
struct worker;

/* The sessions that an inquiry is about; all zero = all of them. */
struct inquiry_filter {
	uint64_t session;   /* this one alone: session_key(); 0 = all */
	int64_t min_age_ns; /* those at least as old */
	bool kill; /* ends the session `session`, which is in the slice all the same (reason KILLED) */
};

/* What one session has moved. */
struct inquiry_bytes {
	uint64_t to_server;
	uint64_t to_client;
	uint64_t spliced; /* part of these */
	uint32_t frontend_slot;
	uint32_t backend_slot; /* INQUIRY_NO_SLOT = not admitted */
	uint32_t server_slot;  /* INQUIRY_NO_SLOT = none */
};

#define INQUIRY_NO_SLOT UINT32_MAX

struct inquiry {
	struct list link; /* in a worker's list, under its lock */
	/* A worker owns it, with all that follows except `worker` and `sums`. The lock of the worker's list
	 * hands it over, and this flag (release, acquire) gives it back. */
	atomic_bool lent;
	unsigned worker; /* the worker that was asked last */
	bool sums;       /* adds up bytes (tally_begin_walk()): one per engine, and never withdrawn */
	struct inquiry_filter filter; /* without `sums`; set by whoever asks */
	uint32_t place;  /* where the next slice begins; 0 = the first */
	bool over;       /* nothing follows this slice, which may be empty even if something does */
	unsigned count;
	union { /* the slice: `count` of them */
		struct session_facts sessions[INQUIRY_SESSIONS_MAX];
		struct inquiry_bytes moved[INQUIRY_PLACES_MAX]; /* with `sums` */
	};
};

/* A worker's side: the inquiries it was asked to answer. */
struct inquiry_list {
	struct spinlock lock;
	struct list waiting; /* borrows inquiries; under the lock, as is `closed` */
	bool closed;         /* the worker has ended */
};

void inquiry_init(struct inquiry *q, bool sums);
/* Lends `q`, which control must own, to worker number `worker` for the slice at q->place. When it is
 * answered, the engine's notify() is called, and from then on inquiry_is_lent() is false. For a worker that
 * has ended, the answer is there when this returns. */
void inquiry_ask(struct engine *e, unsigned worker, struct inquiry *q);
/* Does a worker still own it? Once this is false, control reads the whole answer. */
bool inquiry_is_lent(const struct inquiry *q);
/* Wants no answer any more; does nothing if it is not lent. False when its worker is filling it at this
 * moment: it then comes back as an answer, very soon, and must not be touched until then. */
bool inquiry_withdraw(struct engine *e, struct inquiry *q);

void inquiry_list_init(struct inquiry_list *l);
/* MAIL_ASKED arrived: answers one inquiry, and the others in later turns. The worker's thread. */
void inquiry_answer(struct worker *w);
/* The worker ends, without any session: answers all its inquiries; later ones are answered at once. The
 * worker's thread. */
void inquiry_list_close(struct worker *w);

#endif
