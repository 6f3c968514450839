/* SPDX-License-Identifier: MIT
 *
 * picker.h - one worker's choice among the servers of one backend.
 *
 * Its state for each server (smooth weighted round robin, and which servers it has tried) lies in a table of
 * the worker, by the server's number. So choosing takes no lock and needs no memory, and nothing is lost when
 * servers come and go. Worker thread.
 */
#ifndef WEIR_BALANCE_PICKER_H
#define WEIR_BALANCE_PICKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct backend;
struct chunks;
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

/* An entry of the worker's table, for one server; all zero = not chosen from yet. */
struct pick_mark {
	int64_t credit;     /* roundrobin */
	uint64_t of_weight; /* the sum of the weights that `credit` is for */
	uint64_t tried;     /* the walk in which it was tried (algorithms that hash) */
};

/* Owns nothing. */
struct picker {
	struct backend *backend;     /* borrows */
	const struct chunks *marks;  /* borrows: of struct pick_mark, with room for all servers */
	const struct roster *roster; /* borrows; only during a choice */
	size_t turn;                 /* next among equals (leastconn) */
	uint64_t random;             /* number of random numbers drawn */
	uint64_t seed;               /* of the random numbers */
	uint64_t walks;              /* number of walks so far; see pick_mark */
};

/* Makes `skip` picks in advance, so that workers do not all begin with the same server. Cannot fail. */
void picker_init(struct picker *p, struct backend *b, const struct chunks *marks, unsigned skip);
/* Does its algorithm use `key`? If not, the caller need not compute one. */
bool picker_wants_key(const struct picker *p);
/* Chooses a server by the backend's algorithm and takes a place at it. Algorithms based on load or turns skip
 * a server that is full or that clients already wait for. Algorithms that hash let the client wait for the
 * server of its address, until that server's maxqueue is reached. `*out` is NULL where no server is named. A
 * caller that keeps the place counts it (chosen_total). */
enum pick picker_choose(struct picker *p, const struct pick_request *q, struct server **out);

#endif
