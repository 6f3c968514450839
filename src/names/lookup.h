/* SPDX-License-Identifier: MIT
 *
 * lookup.h - a thread that asks getaddrinfo(3), one question after the other.
 *
 * The questions and answers cross between control and the thread in two lists under one lock. The
 * thread touches nothing of control's but the wake-up, and that only under the lock while it is
 * wanted: so it can be left behind when a lookup hangs.
 */
#ifndef WEIR_NAMES_LOOKUP_H
#define WEIR_NAMES_LOOKUP_H

#include <stdint.h>

#include "weir/names/resolver.h"
#include "weir/net/addr.h"

#define LOOKUP_ADDRS_MAX 16

struct lookup;

/* A question, and later its answer. Control owns it while it asks nothing; whoever takes it from a
 * list owns it meanwhile. */
struct lookup_job {
	struct lookup_job *next;
	size_t who; /* the asker's own number */
	char host[256];
	uint16_t port;
	int family;
	int error;        /* of getaddrinfo, 0 = fine */
	int system_errno; /* with EAI_SYSTEM */
	unsigned count;
	struct addr addrs[LOOKUP_ADDRS_MAX];
};

/* Starts the thread. `wake` is called by it, under the lock, when an answer lies ready. NULL with
 * `*err` = -errno. */
struct lookup *lookup_new(const struct resolver_calls *calls, void (*wake)(void *), void *wake_arg, int *err);
/* Ends the thread and frees all; while it hangs in a lookup it is left behind and frees itself if
 * ever it comes back. */
void lookup_free(struct lookup *l);
/* Takes `job`. */
void lookup_ask(struct lookup *l, struct lookup_job *job);
/* An answer, which is the caller's from now on; NULL when there is none. */
struct lookup_job *lookup_take(struct lookup *l);

#endif
