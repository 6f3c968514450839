/* SPDX-License-Identifier: MIT
 *
 * ring_luck.h - what the ring of ring_shim.c is made of, for ring_luck.c, which decides what happens to it.
 *
 * One thread. Tests only.
 */
#ifndef FUZZ_RING_LUCK_H
#define FUZZ_RING_LUCK_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/sys/ring.h"
#include "ring_shim.h"

#define SQ_MAX 4096
#define ENTRIES_MAX 512
#define CQ_MAX 8192
#define PAST_MAX 64

struct entry {
	struct io_uring_sqe sqe;
	struct io_uring_sqe then; /* of a poll: the read that is linked to it, */
	bool linked;              /* if there is one */
	bool let_go;              /* such a read, whose poll has fired: a cancel does not find it */
	bool cancelled; /* its end was asked for, and is on its way */
	bool lied;      /* a lie was told about it: what the driver thinks of it is no matter */
	uint32_t key;   /* of the stream of its descriptor */
	uint64_t sum;   /* of what it sends */
};

struct lent {
	uint8_t *data;
	uint32_t len;
	uint64_t order; /* 0: not lent */
	bool burnt;     /* a lie has named it while it was not lent: whose it is, nobody can tell */
};

struct ring {
	struct ring_shape shape;
	bool on;
	struct io_uring_sqe sq[SQ_MAX]; /* filled in, not submitted */
	uint32_t filled;
	uint32_t room; /* so many of them, once it is on */
	struct io_uring_sqe link; /* the entry before the next, */
	bool linking;             /* when it is linked to that */
	struct entry entries[ENTRIES_MAX];
	uint32_t count;
	struct ring_done cq[CQ_MAX]; /* a circle */
	uint32_t head, shown, tail;
	struct lent *bufs;
	uint32_t burnt; /* so many of them may be */
	uint32_t lent_first; /* how many were, at the first ring_enter() */
	bool entered;        /* ring_enter() was called */
	bool astray;         /* a lie may have taken one away for good */
	uint64_t lends;        /* so far */
	uint64_t lends_seen;   /* of them, before the last ring_enter() */
	struct ring_done past[PAST_MAX]; /* completions that were posted: a circle */
	uint32_t past_count;
	uint64_t ended[PAST_MAX]; /* user_data of entries that ended by a lie: a circle */
	uint32_t ended_count;
};

/* The entry completes, as a kernel may say it; without IORING_CQE_F_MORE it is gone, and `e` another one. */
void ring_settle(struct ring *r, struct entry *e, int32_t res, uint32_t flags);
/* The poll has fired, and its read is in its place: it completes later. */
void ring_let_go(struct entry *e);
/* A completion beside an entry that stays: the driver may think that this one has ended. */
void ring_lie_beside(struct ring *r, struct entry *e, int32_t res, uint32_t flags);
/* A completion that was made up, whose user_data may be somebody's. */
void ring_lie(struct ring *r, struct ring_done done);
/* The buffer that was lent `skip` after the oldest; shape.bufs when there is none. */
uint32_t ring_pick_lent(const struct ring *r, unsigned skip);
/* The next bytes of the descriptor's stream go to a buffer that is lent. */
void ring_fill(struct ring *r, uint32_t id, int fd, uint32_t len);
/* One of the sockets of the engine; NULL when it has none. */
const struct io_sock *shim_known(unsigned which);

/* Something happens to somebody. */
void luck_event(struct ring *r);
/* A result for this entry, as a kernel may give it. */
void luck_complete(struct ring *r, struct entry *e);
/* Whatever waits for nothing but luck has it: shim_give(). */
void luck_give(struct ring *r);

#endif
