/* SPDX-License-Identifier: MIT
 *
 * extra.h - what only some sessions have: a place in a queue, a PROXY header, a TLS hello, a count for their
 * source.
 *
 * A session gets one when it first needs it, so that others stay small. Owned by its session; the memory
 * comes from a slab of the worker (slab.h). A worker's thread.
 */
#ifndef WEIR_ENGINE_EXTRA_H
#define WEIR_ENGINE_EXTRA_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/balance/queue.h"
#include "weir/base/list.h"
#include "weir/io/buf_pool.h"
#include "weir/net/addr.h"
#include "weir/net/client_hello.h"
#include "weir/net/opening.h"
#include "weir/net/proxy.h"
#include "weir/net/rdp_request.h"
#include "weir/net/source_table.h"
#include "session_name.h"

struct egress_question;
struct session;
struct slab;
struct worker;

/* source_wait.c: a wait for a place in the session's source. */
struct source_wait {
	struct list link; /* in the worker's source_waits, while it waits */
	struct source_waiter waiter;
	uint64_t asked; /* the workers that must look: source_worker_bit() */
	uint32_t round; /* the round of looking */
};

/* server_port.c: what a connect that is under way goes to. */
struct ported_addr {
	struct list link; /* for the slab while it is free */
	struct addr addr;
	uint32_t fill; /* a slot has a multiple of 8 bytes */
};

struct session_extra {
	struct list link;        /* for the slab while the extra is free */
	struct session *session; /* borrows */
	struct waiter waiter;    /* queueing.c */
	int64_t queued_ns;       /* when it began to wait */
	uint64_t wait_ns;        /* total time in queues */
	struct addr_brief dst;   /* the address that the client connected to; family 0 = not queried yet */
	struct source_entry *source; /* admission.c: where it is counted; NULL = nowhere */
	bool ending;                 /* admission.c: its source knows that it is about to leave */
	bool over_limit; /* admission.c: its source was full when it owed a header; not counted there */
	struct source_wait wait;
	/* server_port.c, of a server with the client's port */
	uint16_t server_port;    /* the port of the last try; 0 = none */
	struct ported_addr *to;  /* owns; NULL unless it connects */
	/* egress.c, of a server sni@ */
	struct egress_question *question; /* lends it to control until answered, then owns; NULL = none */
	struct addr_brief at;    /* where the last try went; family 0 = there was none */
	uint8_t skipped;         /* tries that do not count: egress_skips() */
	struct buf *head;        /* preface.c; owns: an incomplete preface */
	/* sniff.c */
	union {
		struct client_hello_reader hello;
		struct rdp_reader rdp;
	};
	struct opening_reader opening;
	struct rdp_cookie home;  /* where it wants to come back to: persist.c; port 0 = nowhere */
	uint8_t proto;           /* enum config_proto: what the client speaks; 0 = not known, or silent */
	bool sniffed_late;       /* the timeout is over: what has arrived must do */
	struct session_name name;
	/* proxy_preface.c, greeting.c */
	struct buf *proxy;       /* owns: the client's header, until a server has been sent it; NULL = none */
	bool tlvs_trusted;       /* the TLVs of the sender of `proxy` may be passed on */
	uint32_t header_sent;    /* bytes in the flow to the server that are our own header, not the
				  * client's */
	uint8_t unique_id_len;   /* 0 = none */
	uint8_t unique_id[PROXY_UNIQUE_ID_MAX]; /* made here for a server, or from the client's header */
};

static inline const struct addr *session_ported_addr(const struct session_extra *x)
{
	return &x->to->addr;
}

/* The session's extra, which is made if it has none. NULL without memory. */
struct session_extra *session_extra(struct session *s);
/* Frees the memory of the preface and of the client's header: nothing reads them any more, because the server
 * has been sent them or the session ends. */
void session_extra_drop_bufs(struct session *s);
/* Returns the extra to the worker at the session's end; its parts must have returned what they own before. */
void session_extra_put(struct session *s);
/* Prepares a worker's slab of extras. */
void session_extras_init(struct slab *slab);

#endif
