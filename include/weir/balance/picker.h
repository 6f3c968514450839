/* SPDX-License-Identifier: MIT
 *
 * picker.h - one worker's choice among the servers of one backend.
 *
 * Holds a roster, and places of its own where an algorithm needs some (smooth weighted round robin, the
 * state of its random numbers), so that choosing takes no lock. A worker's thread.
 */
#ifndef WEIR_BALANCE_PICKER_H
#define WEIR_BALANCE_PICKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct backend;
struct roster;
struct server;

enum pick {
	PICK_SERVER, /* `*out` has been entered: server_leave() is the caller's */
	PICK_FULL,   /* wait: in the queue of `*out`, or of the backend when that is NULL */
	PICK_NONE,   /* no server may be used */
};

struct pick_request {
	uint64_t key;               /* hash of the client's address, for the algorithms that hash */
	const struct server *avoid; /* not this one unless it is the only one; NULL = any */
};

struct picker {
	struct backend *backend; /* borrows */
	struct roster *roster;   /* holds a reference */
	int64_t *current;        /* owns: what each server of the backend has saved up (roundrobin) */
	bool *tried;             /* owns: of one choice, by place in by_key (those that hash) */
	size_t turn;             /* whose turn it is among equals (leastconn) */
	uint64_t random;         /* how many random numbers were drawn */
	uint64_t seed;           /* of them */
};

/* `skip` picks are made in advance, so that workers do not all begin at the same server. 0 or -ENOMEM. */
int picker_init(struct picker *p, struct backend *b, unsigned skip);
void picker_free(struct picker *p);
/* Does its algorithm look at `key`? Others need not make one. */
bool picker_wants_key(const struct picker *p);
/* Chooses a server by the backend's algorithm and takes a place at it. A server that is full, or that
 * somebody waits for already, is passed over by the algorithms that look at load or take turns; those that
 * hash let the client wait for the server that its address belongs to, until that server's maxqueue is
 * full. `*out` is NULL where no server is named. Who keeps the place counts it (chosen_total). */
enum pick picker_choose(struct picker *p, const struct pick_request *q, struct server **out);

#endif
