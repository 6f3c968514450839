/* SPDX-License-Identifier: MIT
 *
 * preface.h - what a client must say before it gets a server: its state, its deadline, its bytes.
 *
 * What the bytes mean is for a kind of preface to say, for example proxy_preface.c. A worker's thread.
 */
#ifndef WEIR_ENGINE_PREFACE_H
#define WEIR_ENGINE_PREFACE_H

#include <stddef.h>
#include <stdint.h>

#include "weir/account/close_reason.h"

struct io_op;
struct session;

/* What came of a look at the bytes. */
enum preface_step {
	PREFACE_MORE,   /* it is not whole yet */
	PREFACE_WHOLE,  /* what it says was taken over */
	PREFACE_CLOSED, /* the session is closing */
};

struct preface_kind {
	/* Looks at all bytes that have come, lent until it returns. Of a whole preface `*used` is how many go
	 * no further, 0 unless it is set. */
	enum preface_step (*look)(struct session *s, const uint8_t *bytes, size_t len, uint32_t *used);
	/* The callback of its reads: preface_read_done() with this kind. */
	void (*read_done)(struct io_op *op, int result);
	enum close_reason truncated; /* the client ended within it */
};

/* A session has just begun, and its client owes a preface: reads it, as far as it has come. When it is whole
 * the session goes on with admission_enter(); it closes when none arrives. It may be in any later state
 * afterwards. */
void preface_begin(struct session *s, const struct preface_kind *kind);
void preface_read_done(struct io_op *op, int result, const struct preface_kind *kind);

#endif
