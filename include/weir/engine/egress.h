/* SPDX-License-Identifier: MIT
 *
 * egress.h - questions of workers about names that clients ask for, and answers of control.
 *
 * A session that is to be connected to such a name (`server a = sni@443`) asks, and waits in its worker. The
 * question belongs to control until it is answered, also if the session has left meanwhile; then to the
 * worker, which judges the addresses (net/egress.h) and connects to the very ones that it has judged.
 */
#ifndef WEIR_ENGINE_EGRESS_H
#define WEIR_ENGINE_EGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/account/close_reason.h"
#include "weir/base/list.h"
#include "weir/base/spinlock.h"
#include "weir/net/addr.h"
#include "weir/net/egress.h"

/* Maximum addresses of one answer; those beyond are left out. */
#define EGRESS_ADDRESSES_MAX 16

struct config_backend;
struct engine;
struct session;
struct worker;

enum egress_outcome {
	EGRESS_FOUND,
	EGRESS_NOTHING,  /* the name does not exist, or has no address */
	EGRESS_FAILED,   /* no name server gives a usable answer */
	EGRESS_TOO_MANY, /* too many questions are under way, or too many of this source */
};

struct egress_address {
	struct addr_brief addr; /* without a port */
	enum egress_route route;
};

struct egress_question {
	struct list link;        /* of the slab, of those asked, of those answered */
	struct worker *worker;   /* borrows: who asks */
	struct session *session; /* borrows; the worker's alone: NULL = nobody waits any more */
	_Atomic bool left;       /* the same for control, which need not answer any more */
	char name[EGRESS_NAME_MAX];
	uint16_t family; /* AF_UNSPEC, or only AF_INET or AF_INET6 */
	uint16_t port;   /* that is going to be connected to */
	struct addr_brief client;
	/* The answer. */
	enum egress_outcome outcome;
	unsigned count;
	unsigned next; /* the worker's: the first address that was not tried yet */
	struct egress_address list[EGRESS_ADDRESSES_MAX];
};

/* Questions on their way to control: shared by all threads under the lock. Part of struct engine. */
struct egress_desk {
	struct spinlock lock;
	struct list asked;
};

/* Answered questions on their way back to a worker, likewise. Part of struct worker. */
struct egress_tray {
	struct spinlock lock;
	struct list answered;
};

/* May clients of `b`, whose server is sni@, ask for this name? `name` is that of a TLS hello, `len` bytes of
 * any kind; `len` 0: there was no hello, or none with a name. CLOSE_NORMAL, with the name in `out`; else the
 * reason for which they are closed. Any thread. */
enum close_reason egress_name_reason(const struct config_backend *b, const uint8_t *name, size_t len,
				     char out[static EGRESS_NAME_MAX]);

/* The oldest question that was asked, which the caller then owns until it answers; NULL if there is none.
 * Control thread; workers notify it. */
struct egress_question *engine_egress_take(struct engine *e);
/* Gives it back, with its answer. Also when its worker has ended. Control thread. */
void engine_egress_answer(struct egress_question *q);

#endif
