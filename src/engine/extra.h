/* SPDX-License-Identifier: MIT
 *
 * extra.h - what only some sessions have: a place in a queue, a PROXY header, a count for their source.
 *
 * A session gets it when it first needs it, so that others stay small. Owned by its session; its
 * memory is of a slab of the worker's (slab.h). A worker's thread.
 */
#ifndef WEIR_ENGINE_EXTRA_H
#define WEIR_ENGINE_EXTRA_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/balance/queue.h"
#include "weir/base/list.h"
#include "weir/io/buf_pool.h"
#include "weir/net/addr.h"
#include "weir/net/proxy.h"
#include "weir/net/source_table.h"

struct session;
struct slab;
struct worker;

/* source_wait.c: a wait for a place among those of its source. */
struct source_wait {
	struct list link; /* in the worker's source_waits, while it waits */
	struct source_waiter waiter;
	uint64_t asked; /* the workers that are to look: source_worker_bit() */
	uint32_t round; /* of looking */
};

struct session_extra {
	struct list link;        /* the slab's while it is free */
	struct session *session; /* borrows */
	struct waiter waiter;    /* queueing.c */
	int64_t queued_ns;       /* when it began to wait */
	uint64_t wait_ns;        /* in queues, in all */
	struct addr_brief dst;   /* the address that the client connected to; family 0 = not asked yet */
	struct source_entry *source; /* admission.c: counted there; NULL = not */
	bool ending;                 /* admission.c: its source was told that it is about to leave */
	bool over_limit; /* admission.c: its source was full when it owed a header; not counted there */
	struct source_wait wait;
	struct buf *head;        /* preface.c; owns: a preface that is not whole yet */
	/* proxy_preface.c, greeting.c */
	struct buf *proxy;       /* owns: the client's header, until a server was told of it; NULL = none */
	bool tlvs_trusted;       /* the sender of `proxy` may have its TLVs passed on */
	uint32_t header_sent;    /* bytes of our own header in the flow to the server: not the client's */
	uint8_t unique_id_len;   /* 0 = none */
	uint8_t unique_id[PROXY_UNIQUE_ID_MAX]; /* made here for a server, else of the client's header */
};

/* The session's extra, made when it has none. NULL without memory. */
struct session_extra *session_extra(struct session *s);
/* No preface and no header of the client's is read any more, as the server has been told or the session ends:
 * gives their memory back. */
void session_extra_drop_bufs(struct session *s);
/* Gives it back to the worker at the session's end; what its parts own has been given back before. */
void session_extra_put(struct session *s);
/* Prepares a worker's slab of them. */
void session_extras_init(struct slab *slab);

#endif
