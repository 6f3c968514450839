/* SPDX-License-Identifier: MIT
 *
 * lookup.h - a thread that calls getaddrinfo(3), one request at a time.
 *
 * Requests and answers pass between control and the thread through two lists under one lock. Of control's
 * state the thread touches only the wake-up callback, under the lock and only while it is still wanted, so
 * control can abandon a thread that hangs in a lookup.
 */
#ifndef WEIR_NAMES_LOOKUP_H
#define WEIR_NAMES_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/base/list.h"
#include "weir/names/resolver.h"
#include "weir/net/addr.h"

#define LOOKUP_ADDRS_MAX 16

struct lookup;

/* A request, and later its answer. Control owns it except while it is submitted; then it belongs to whoever
 * takes it from a list. */
struct lookup_job {
	struct list link; /* under the lock */
	bool waits;       /* the same: the thread has not begun */
	void *who;        /* chosen by the requester, who alone reads it */
	char host[256];
	uint16_t port;
	int family;
	int error;        /* of getaddrinfo; 0 = success */
	int system_errno; /* with EAI_SYSTEM */
	unsigned count;
	struct addr addrs[LOOKUP_ADDRS_MAX];
};

/* Starts the thread, which calls `wake`, under the lock, when an answer is ready. NULL on failure, with
 * `*err` = -errno. */
struct lookup *lookup_new(const struct resolver_calls *calls, void (*wake)(void *), void *wake_arg, int *err);
/* Ends the thread and frees everything. A thread that hangs in a lookup is abandoned and frees itself if it
 * ever returns. */
void lookup_free(struct lookup *l);
/* Takes ownership of `job`. */
void lookup_ask(struct lookup *l, struct lookup_job *job);
/* Nobody wants the answer of a submitted job any more. It is freed if the thread has not begun; else its
 * answer is for nobody: `who` is NULL. */
void lookup_withdraw(struct lookup *l, struct lookup_job *job);
/* Returns an answer, which the caller then owns; NULL if there is none. */
struct lookup_job *lookup_take(struct lookup *l);

#endif
