/* SPDX-License-Identifier: MIT
 *
 * question.h - what control wants to know of all workers: the one way in which reports ask them.
 *
 * A question is the asker's. It has a kind, a consumer that is called when there is news, a deadline for each
 * worker that is waited for, and a token, another one each time that it is asked, which its answers carry. An
 * answer has a type: sessions come in slices, and the next one is not asked for before the one before has
 * been used; sums come all at once, and all who ask at the same time share one walk through the sessions
 * (tally_begin_walk()). Whoever asks knows no worker, and workers know no question. Nothing blocks, and no
 * memory is allocated for an answer. Control thread.
 */
#ifndef WEIR_STATS_QUESTION_H
#define WEIR_STATS_QUESTION_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/account/tally.h"
#include "weir/base/list.h"
#include "weir/stats/cursor.h"

/* For a worker to answer; and when another one has not, as this one may hang as well. */
#define QUESTION_WAIT_S	     5.
#define QUESTION_NEXT_WAIT_S 0.5

/* Whom questions are put to: one for an engine. */
struct stats;

enum question_kind {
	QUESTION_NONE, /* not asked, or over */
	QUESTION_SESSIONS,
	QUESTION_TALLIES,
};

enum answer_kind {
	ANSWER_PENDING,  /* a worker is waited for: the consumer will be called */
	ANSWER_SESSIONS, /* question_go_on() when they have been used */
	ANSWER_TALLIES,  /* all of it */
	ANSWER_OVER,     /* nothing follows; `silent` says what is missing */
};

struct answer {
	uint64_t token; /* of the question */
	enum answer_kind kind;
	union {
		struct {
			const struct session_facts *facts; /* until question_go_on() */
			unsigned count;
			bool last; /* no worker has to be asked for what follows */
		} sessions;
		const struct tally_sum *tallies; /* tally_count() of them, until the consumer returns */
		unsigned silent; /* workers that did not answer: a list lacks theirs, sums are not given */
	};
};

struct question {
	struct list link;    /* among those that wait; else alone */
	struct stats *stats; /* borrows */
	enum question_kind kind;
	uint64_t token;
	void (*consumer)(void *arg);
	void *arg;
	struct ev_timer deadline; /* active while a worker is waited for */
	struct cursor cursor;     /* of sessions */
	uint64_t round;           /* of tallies: the walk that answers it; see stat_gather.h */
	bool late;                /* of tallies: that did not end in time */
};

/* NULL without memory. `e` must live until stats_free(), and `loop` too. */
struct stats *stats_new(struct ev_loop *loop, struct engine *e);
/* No question is open, and the workers have ended, or never ran. NULL is harmless. */
void stats_free(struct stats *s);
/* A worker may have answered, or somebody has asked for sums: calls the consumers of what has news. For each
 * wake-up of control, and for whoever has asked, before going back to the loop; consumers need not. */
void stats_take_answers(struct stats *s);

/* Borrows `stats`. `consumer` is called from the loop when question_answer() has more to say; it may ask, and
 * withdraw any question. */
void question_init(struct question *q, struct stats *stats, void (*consumer)(void *arg), void *arg);
bool question_is_open(const struct question *q);
/* Asks; it must not be open. Returns its token, never 0. */
uint64_t question_ask(struct question *q, enum question_kind kind);
/* What is known by now. With tallies, or ANSWER_OVER, the question is not open any more. */
struct answer question_answer(struct question *q);
/* The sessions of the answer have been used; the next question_answer() asks for more. */
void question_go_on(struct question *q);
/* Nobody wants an answer any more; nothing happens when it is not open. */
void question_withdraw(struct question *q);

#endif
