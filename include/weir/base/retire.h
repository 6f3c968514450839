/* SPDX-License-Identifier: MIT
 *
 * retire.h - what left is freed once nobody can refer to it: the only way in which anything shared is freed.
 *
 * Quiescent-state-based reclamation (as in liburcu's QSBR flavour). A worker may use whatever it finds
 * published until the end of its turn, and longer only if it counts that (counted.h). A *round* is over when
 * every worker has passed the end of a turn that began after the round, with the letters read that it had.
 * A worker notes the round first, then reads its letters, and passes that round when the turn ends; one that
 * leaves letters unread does not pass, and one that sleeps is woken, as it has to forget.
 * What leaves goes through these stages:
 *
 *   GRACE    two rounds: in the first one a worker may still have posted a letter that names the thing to a
 *            worker that had already passed; that letter is read in the second. Whoever got a name from a
 *            letter must not post another with it, in this turn or later, unless a count of its own stays
 *            until the reader has taken one.
 *   HELD     while sessions use it; control is told when the last one ends
 *   CONFIRM  one more round, at whose end it must still not be in use: a session may have posted a letter
 *            before it ended
 *   READ     until the records that name it are read: log rings hold names of what has ended
 *   FORGET   one round in which each worker clears what it kept of the thing under its number
 *
 * Nothing blocks: control goes on whenever a round is over, a count has fallen or a record was read. While
 * nothing leaves there is no round, and an idle process makes no system call. Control thread, except for
 * retire_forget().
 */
#ifndef WEIR_BASE_RETIRE_H
#define WEIR_BASE_RETIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base/list.h"

enum retire_stage { RETIRE_NONE, RETIRE_GRACE, RETIRE_HELD, RETIRE_CONFIRM, RETIRE_READ, RETIRE_FORGET };

struct retired;

/* What a kind of thing needs; static. Each function but `free` may be NULL. */
struct retired_kind {
	/* Is it in use? Control thread. */
	bool (*is_held)(const struct retired *item);
	/* Clears what the worker `arg` kept of it. The thread of that worker, once for each. */
	void (*forget)(const struct retired *item, void *arg);
	/* Nobody refers to it. It may retire others. Control thread. */
	void (*free)(struct retired *item);
	bool is_logged; /* records may name it */
	/* Nobody uses it any more, and no worker has forgotten it: reads what they kept of it. Control
	 * thread. */
	void (*settle)(const struct retired *item);
	/* Nobody can find it any more, and it is in use; at most once. Must not retire anything. Control
	 * thread. */
	void (*held)(const struct retired *item);
};

/* Part of a thing that may leave. */
struct retired {
	struct list link;
	const struct retired_kind *kind;
	enum retire_stage stage;
	uint64_t due; /* GRACE, CONFIRM, FORGET: the round whose end it waits for */
};

/* What it needs of its surroundings; each function is called on the control thread. */
struct retire_rounds {
	/* Asks every worker to pass; must not call back. Whatever control wrote before, a worker that passes
	 * must see (release here, acquire where it notes the round). */
	void (*begin)(void *arg, uint64_t round);
	/* Have all of them passed `round`? True at once while there are none. Whatever a worker did before it
	 * passed, control must see (release there, acquire here); letters to control that name something are
	 * read before this is true. */
	bool (*is_over)(void *arg, uint64_t round);
	/* Notes what the records hold now. */
	void (*mark)(void *arg);
	/* Have all records been read that were there at the mark? If not, retire_go_on() is called once they
	 * have. */
	bool (*is_read)(void *arg);
	/* Something has left and no round runs: retire_go_on() is to be called soon, not by this. NULL =
	 * whoever calls retire_add() sees to that. */
	void (*wanted)(void *arg);
	void *arg;
};

struct retire {
	struct retire_rounds rounds;
	struct list waiting; /* GRACE, CONFIRM, or FORGET in a round to come */
	struct list held;
	struct list to_read; /* after the next mark */
	struct list reading; /* after the present one */
	struct list forgetting; /* in the round that runs; workers walk it */
	uint64_t round; /* the latest that has begun */
	bool running;
	bool going_on; /* retire_go_on() runs: what is freed may retire more */
	size_t count;
};

void retire_init(struct retire *r, const struct retire_rounds *rounds);
/* Takes `item`, which nobody can find any more and which is zero but for what its owner keeps in it. Needs no
 * memory, and frees nothing yet: retire_go_on() must be called some time after, see `wanted`. */
void retire_add(struct retire *r, struct retired *item, const struct retired_kind *kind);
/* Takes it back, because it is published again: until it was freed it could be.
 * Only for a kind without `forget`. */
void retire_take_back(struct retire *r, struct retired *item);
/* Something is about to leave, or a use of what has left ended and no worker tells: asks for retire_go_on(),
 * as retire_add() does. */
void retire_want(struct retire *r);
/* Goes on as far as possible. Call when anything that it waits for may have happened. */
void retire_go_on(struct retire *r);
/* No worker runs any more, and all records are read: frees everything. What is held only by others that left
 * is freed after them; what is held for ever, last. */
void retire_end(struct retire *r);
/* How many things have left and are not freed. */
size_t retire_count(const struct retire *r);
/* A worker that passes: forgets what this round is for. The worker's thread, before it says so. */
void retire_forget(const struct retire *r, void *worker);

#endif
