/* SPDX-License-Identifier: MIT
 *
 * preface.h - what a client must send before it gets a server: its state, its deadline, its bytes.
 *
 * The kind of preface, for example proxy_preface.c, decides what the bytes mean. A worker's thread.
 */
#ifndef WEIR_ENGINE_PREFACE_H
#define WEIR_ENGINE_PREFACE_H

#include <stddef.h>
#include <stdint.h>

#include "weir/account/session_state.h"

struct io_op;
struct session;

/* The outcome of a look at the bytes. */
enum preface_step {
	PREFACE_MORE,   /* it is incomplete */
	PREFACE_WHOLE,  /* it is complete, or will never be, and its content was taken over */
	PREFACE_CLOSED, /* the session is closing */
};

struct preface_kind {
	enum session_state state; /* of a session that waits for it */
	/* Looks at all bytes that have arrived, lent until it returns. For PREFACE_WHOLE `*used` is how many
	 * of them go no further; 0 unless set. */
	enum preface_step (*look)(struct session *s, const uint8_t *bytes, size_t len, uint32_t *used);
	/* The client ended before it was complete (0), or a read failed (-errno). Not PREFACE_MORE. */
	enum preface_step (*ended)(struct session *s, int result);
	/* The callback of its reads: preface_read_done() with this kind. */
	void (*read_done)(struct io_op *op, int result);
	void (*go_on)(struct session *s); /* after PREFACE_WHOLE; may close the session */
};

/* A session's client owes a preface: reads what has arrived of it, until `timeout_ns` after the accept (0 =
 * no limit). What was held for the server is part of it. When it is complete, the session goes on. It may be
 * in any later state afterwards. */
void preface_begin(struct session *s, const struct preface_kind *kind, int64_t timeout_ns);
void preface_read_done(struct io_op *op, int result, const struct preface_kind *kind);

#endif
