/* SPDX-License-Identifier: MIT
 *
 * ring_engine.h - a small engine that does with sockets whatever a byte string says, and judges the driver.
 *
 * It keeps to its half of the contract of io.h (one op in each place, no close with an op pending, nothing
 * freed before its callback) and aborts when the driver breaks the other half. With an honest kernel it also
 * counts every byte and every client. ring_acts.c decides what is done, ring_engine.c does it and judges.
 * One thread. Tests only.
 */
#ifndef FUZZ_RING_ENGINE_H
#define FUZZ_RING_ENGINE_H

#include "weir/io/io.h"

#define SIDES 5
#define LISTENERS 2
#define KEPT 16

enum side_state {
	SIDE_NONE,       /* no descriptor */
	SIDE_CONNECTING, /* IO_CONNECT is pending */
	SIDE_OPEN,
	SIDE_FAILED, /* an error came: it can only be closed */
	SIDE_ENDING, /* IO_RESET or IO_CLOSE is pending */
};

struct probe {
	struct io_op op; /* first: the callback gets it */
	struct side *side;
	bool pending;
	bool cancelled; /* its end was asked for: once is enough */
	uint16_t gen; /* of the socket when it was started */
	int kept;     /* what is being written, of engine.kept; -1 */
	uint64_t sum; /* of the bytes that are being written */
};

struct side {
	struct io_sock sock;
	struct probe rd;
	struct probe wr;
	enum side_state state;
	bool listens;
	struct pipe *pipe; /* owns */
	uint32_t key;      /* of the stream that it reads */
	uint64_t got;      /* bytes read */
	uint64_t put;      /* bytes written */
	uint32_t clients;  /* accepted */
};

struct kept {
	struct buf *buf; /* owns */
	uint64_t sum;
	bool busy; /* a write of it is pending */
};

struct engine {
	struct io_loop *loop;
	struct side sides[SIDES];
	struct side listeners[LISTENERS];
	struct io_op yielded;
	bool is_yielded;
	struct kept kept[KEPT];
	bool calling; /* within io_start() or io_cancel() */
	bool lent;    /* bytes are lent to us: nobody may read meanwhile */
	bool in_done; /* within a callback */
};

extern struct engine engine;

/* Lives until the bytes of ring_shim.h are used up, then ends all that it began; with `settles`, only after
 * everything that can end has ended by itself. ring_acts.c. */
void engine_run(struct io_loop *loop, bool settles);
/* Does whatever the bytes say, within a callback or not. ring_acts.c. */
void engine_act(void);
/* Something is done with what a read has lent, which stays as it is meanwhile. ring_acts.c. */
void engine_use_lent(struct probe *p);

/* io_start(), and one io_cancel() of what is pending, with what must be true around them. */
int engine_start(struct probe *p);
void engine_cancel(struct probe *p);
/* Gives a side a descriptor that nobody knows, or one that is connected. */
void engine_open(struct side *s, int fd, bool tcp);
void engine_attach(struct side *s, int fd, bool tcp);
/* Ends a side with nothing pending, by IO_CLOSE or IO_RESET; does nothing with another. */
void engine_end(struct side *s, enum io_kind kind, uint8_t flags);
void engine_fail(struct side *s);

/* A place of engine.kept that is used and not busy, or is not used; -1. */
int engine_find_kept(bool used);
/* Keeps the bytes from `from` of what a read lent: its place, or -1 when that cannot be. */
int engine_keep(struct probe *rd, uint32_t from);
void engine_put(int at);

/* Results, whichever way they came. */
bool engine_is_errno(int r);
void engine_judge_read(struct probe *p, int r);
void engine_judge_written(struct probe *p, int r);
void engine_judge_ready(const struct probe *p, int r);
void engine_judge_connected(struct side *s, int r);

#endif
