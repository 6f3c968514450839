/* SPDX-License-Identifier: MIT
 *
 * shared.h - things that never change, made once for all that want the same: found by a key, with a count of
 * who holds each.
 *
 * The node is embedded in the thing. A set borrows its things; whoever drops a thing last frees it. All
 * functions lock the set: any thread.
 */
#ifndef WEIR_BASE_SHARED_H
#define WEIR_BASE_SHARED_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "weir/base/list.h"

struct shared {
	struct list link;
	size_t references;
};

struct shared_set {
	pthread_mutex_t lock;
	struct list all; /* borrows; guarded by `lock`, as are the references */
	bool (*is)(const struct shared *s, const void *key);
};

/* The initial value of the static variable `name`; `is` tells whether a thing has a key. */
#define SHARED_SET(name, is) {PTHREAD_MUTEX_INITIALIZER, {&(name).all, &(name).all}, is}

/* The thing with this key, which the caller then holds, too; NULL = none. */
struct shared *shared_find(struct shared_set *set, const void *key);
/* Publishes `made`, which has this key, and which the caller then holds. If somebody was faster: returns that
 * thing instead, held by the caller, who frees `made`. */
struct shared *shared_publish(struct shared_set *set, struct shared *made, const void *key);
/* One more holds it. */
void shared_hold(struct shared_set *set, struct shared *s);
/* One fewer holds it. True for the last one: nobody can find it any more, and the caller frees it. */
bool shared_drop(struct shared_set *set, struct shared *s);

#endif
