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

#include "weir/account/close_reason.h"

struct io_op;
struct session;

/* The outcome of a look at the bytes. */
enum preface_step {
	PREFACE_MORE,   /* it is incomplete */
	PREFACE_WHOLE,  /* it is complete, and its content was taken over */
	PREFACE_CLOSED, /* the session is closing */
};

struct preface_kind {
	/* Looks at all bytes that have arrived, lent until it returns. For a complete preface `*used` is how
	 * many of them go no further; 0 unless set. */
	enum preface_step (*look)(struct session *s, const uint8_t *bytes, size_t len, uint32_t *used);
	/* The callback of its reads: preface_read_done() with this kind. */
	void (*read_done)(struct io_op *op, int result);
	enum close_reason truncated; /* the client ended within it */
};

/* A session has just begun, and its client owes a preface: reads what has arrived of it. When the preface is
 * complete, the session goes on with admission_enter(); it closes when none arrives. It may be in any later
 * state afterwards. */
void preface_begin(struct session *s, const struct preface_kind *kind);
void preface_read_done(struct io_op *op, int result, const struct preface_kind *kind);

#endif
