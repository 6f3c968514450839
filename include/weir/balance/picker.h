/* SPDX-License-Identifier: MIT
 *
 * picker.h - one worker's choice among the servers of one backend.
 *
 * Holds a roster, and private state where an algorithm needs it (smooth weighted round robin, random
 * numbers), so that choosing takes no lock. Worker thread.
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
	PICK_SERVER, /* a place at `*out` is taken: the caller must call server_leave() */
	PICK_FULL,   /* wait in the queue of `*out`, or of the backend if that is NULL */
	PICK_NONE,   /* no server is usable */
};

struct pick_request {
	uint64_t key;               /* hash of the client's address, for the algorithms that hash */
	const struct server *avoid; /* not this server unless it is the only one; NULL = any */
};

struct picker {
	struct backend *backend; /* borrows */
	struct roster *roster;   /* holds a reference */
	int64_t *current;        /* owns: the credit of each server of the backend (roundrobin) */
	bool *tried;             /* owns: tried in one choice, by index in by_key (algorithms that hash) */
	size_t turn;             /* next among equals (leastconn) */
	uint64_t random;         /* number of random numbers drawn */
	uint64_t seed;           /* of the random numbers */
};

/* Makes `skip` picks in advance, so that workers do not all begin with the same server. 0 or -ENOMEM. */
int picker_init(struct picker *p, struct backend *b, unsigned skip);
void picker_free(struct picker *p);
/* Does its algorithm use `key`? If not, the caller need not compute one. */
bool picker_wants_key(const struct picker *p);
/* Chooses a server by the backend's algorithm and takes a place at it. Algorithms based on load or turns skip
 * a server that is full or that clients already wait for. Algorithms that hash let the client wait for the
 * server of its address, until that server's maxqueue is reached. `*out` is NULL where no server is named. A
 * caller that keeps the place counts it (chosen_total). */
enum pick picker_choose(struct picker *p, const struct pick_request *q, struct server **out);

#endif
