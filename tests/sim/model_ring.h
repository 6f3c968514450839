/* SPDX-License-Identifier: MIT
 *
 * model_ring.h - what the parts of the modelled io_uring share: model_ring.c has its queues, the lent buffers
 * and the wait, model_ring_ops.c has the ops, model_ring_rules.c what an entry may say.
 *
 * One thread. Tests only.
 */
#ifndef SIM_MODEL_RING_H
#define SIM_MODEL_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/sys/ring.h"
#include "model.h"

#define MODEL_RING_OPS 512
#define MODEL_RING_DONE 4096
/* The kernel's APOLL_MAX_RETRY is 128; seeds are short. */
#define MODEL_RING_TRIES 32

/* A wake-up by a mark without bytes is one; the poll behind it waits. */
#define MODEL_RING_VAIN 4

enum mop_state {
	MOP_NONE,
	MOP_ARMED,  /* waits for its file: a cancel finds it */
	MOP_RUNS,   /* its file was ready when it began: it is queued, a cancel does not find it */
	MOP_LINKED, /* the poll before it has fired: as above */
	MOP_CANCELLED,
};

/* An entry that has not come to its end. It holds its file, as the kernel's does. */
struct mop {
	enum mop_state state;
	struct io_uring_sqe sqe;
	struct io_uring_sqe then;   /* of a poll that is linked: the read that it lets go */
	bool linked;
	bool wrong;                 /* it was woken for nothing, by bad luck */
	struct msock *sock;         /* or */
	struct mlistener *listener; /* or neither: an eventfd, a timerfd */
	int fd;                     /* of the latter */
	uint32_t serial;            /* of its file then */
	uint32_t wakes;             /* of a poll, since it was looked at */
	uint32_t key;               /* the bits that the first of them named, 0 = none */
	int64_t at_ns;              /* of a timeout */
	uint32_t tries;             /* that found its file ready, in vain */
	bool dying;                 /* a cancel came while it ran: it ends in any case */
};

enum mbuf_state { MBUF_OURS, MBUF_ON_ITS_WAY, MBUF_LENT };

/* A buffer that the program may lend. */
struct mbuf {
	enum mbuf_state state;
	uint8_t *data;
	uint32_t len;
};

struct mdone {
	struct ring_done done;
	uint8_t opcode;
	bool last; /* its op has ended */
};

struct ring {
	bool on;
	struct ring_shape shape;
	struct io_uring_sqe *sq; /* owns */
	uint32_t sq_count;
	uint32_t sq_room;
	struct io_uring_sqe link; /* the entry before the one that is submitted now, */
	bool linking;             /* when it is linked to it */
	struct mbuf *bufs;   /* owns */
	uint16_t *lent;      /* owns: ids in the order of lending, a ring */
	uint32_t lent_head;
	uint32_t lent_count; /* of them the kernel sees */
	uint32_t lent_new;   /* so many behind those */
	struct mop ops[MODEL_RING_OPS];
	int op_top; /* no place at or above it is used */
	struct mdone done[MODEL_RING_DONE]; /* a ring */
	uint32_t done_head;
	uint32_t done_count;
	uint32_t room;    /* so many of them the program sees at once */
	uint32_t visible; /* sees now */
	/* the seed's luck, in percent */
	uint32_t late;      /* what is ready waits for the next enter */
	uint32_t ends;      /* a multishot ends by itself */
	uint32_t no_bufs;   /* others have just taken the lent buffers, and give them back */
	uint32_t already;   /* a cancel finds its target running */
	bool unix_says_more; /* kernels differ */
};

/* ---- model_ring.c ---- */
bool mring_coin(uint32_t percent);
/* Queues a completion; false when it is one of several and there is no room. */
bool mring_post(struct ring *r, const struct mop *op, int32_t res, uint32_t flags);
/* The oldest lent buffer; NULL when there is none. */
struct mbuf *mring_first_buf(struct ring *r, uint16_t *id);
void mring_take_buf(struct ring *r);
/* Fails the seed when memory that is lent overlaps this. */
void mring_check_memory(const struct ring *r, const uint8_t *data, uint32_t len, const char *what);

/* ---- model_ring_rules.c ---- */
/* Does it have to wait, maybe, so that a cancel may speak of it? */
bool mrule_waits(uint8_t opcode);
/* Fail the seed when the driver may not ask for this: an entry, and one that is linked to the one before. */
void mrule_entry(const struct ring *r, const struct io_uring_sqe *sqe);
void mrule_link(const struct io_uring_sqe *poll, const struct io_uring_sqe *read);

/* ---- model_ring_ops.c ---- */
void mop_execute(struct ring *r, const struct io_uring_sqe *sqe);
/* Gives a pending op its chance; false when it was put off. */
bool mop_visit(struct ring *r, struct mop *op);
void mop_release(struct mop *op);
/* True when it woke a poll that a wake-up is for alone. */
bool mop_wake(struct ring *r, int fd, uint32_t keys);
/* Will a visit move it? */
bool mop_is_due(const struct mop *op);
/* When the next timeout is over, in ns from now; -1: there is none. */
int64_t mop_next_timeout(const struct ring *r);

#endif
