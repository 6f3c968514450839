/* SPDX-License-Identifier: MIT
 *
 * question.h - a question to all workers; reports query workers in no other way.
 *
 * The asker owns the question: its kind, a consumer to call on news, a deadline per worker it waits for, and
 * a token, which is new each time the question is asked and comes with each answer. Sessions arrive in
 * slices; the next slice is requested only after the previous one has been used. Sums arrive all at once;
 * everyone who asks at the same time shares one walk through the sessions (tally_begin_walk()). The asker
 * knows no worker, and workers know no question. Nothing blocks, and answers allocate no memory. Control
 * thread.
 */
#ifndef WEIR_STATS_QUESTION_H
#define WEIR_STATS_QUESTION_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/account/tally.h"
#include "weir/base/list.h"
#include "weir/stats/cursor.h"

/* How long to wait for a worker; and for each further one once a worker has timed out, as it may hang too. */
#define QUESTION_WAIT_S	     5.
#define QUESTION_NEXT_WAIT_S 0.5
/* The same for a report that comes again and again, once there are sums that it can show instead. */
#define QUESTION_RECENT_WAIT_S 1.

/* Receives the questions: one per engine. */
struct stats;
struct stat_bases;
struct stat_pace;

enum question_kind {
	QUESTION_NONE, /* not asked, or finished */
	QUESTION_SESSIONS,
	QUESTION_TALLIES,
};

enum answer_kind {
	ANSWER_PENDING,  /* waiting for a worker: the consumer will be called */
	ANSWER_SESSIONS, /* call question_go_on() after using them */
	ANSWER_TALLIES,  /* the complete answer */
	ANSWER_OVER,     /* nothing follows; see `silent` */
};

struct answer {
	uint64_t token; /* of the question */
	bool is_old;    /* these tallies are from before the question, since a worker does not answer */
	enum answer_kind kind;
	union {
		struct {
			const struct session_facts *facts; /* valid until question_go_on() */
			unsigned count;
			bool last; /* the last slice: no worker will be asked again */
		} sessions;
		/* struct tally_sum, by the slots of what lives; valid until the consumer returns. */
		const struct chunks *tallies;
		/* Workers that did not answer. A list lacks their sessions; there are no sums. */
		unsigned silent;
	};
};

struct question {
	struct list link;    /* in the list of waiting questions; else unlinked */
	struct stats *stats; /* borrows */
	enum question_kind kind;
	uint64_t token;
	void (*consumer)(void *arg);
	void *arg;
	struct ev_timer deadline; /* active while waiting for a worker */
	struct cursor cursor;     /* for sessions */
	uint64_t round;           /* for tallies: the walk that answers it; see stat_gather.h */
	bool late;                /* for tallies: the walk did not finish in time */
	bool recent;              /* for tallies: earlier sums will do, too */
};

/* NULL if out of memory. `e` and `loop` must live until stats_free(). */
struct stats *stats_new(struct ev_loop *loop, struct engine *e);
/* No question may be open, and the workers must have ended or never have run. NULL is harmless. */
void stats_free(struct stats *s);
/* What outlives a question, for reports; borrowed until stats_free(). */
struct stat_bases *stats_bases(struct stats *s);
struct stat_pace *stats_pace(struct stats *s);
/* A walk that is under way may add bytes to the slot of what has left: when the mark is passed, no walk that
 * had begun then runs any more. */
uint64_t stats_mark(const struct stats *s);
bool stats_has_passed(const struct stats *s, uint64_t mark);
/* A worker may have answered, or someone has asked for sums: calls the consumers that have news. Call it on
 * each wake-up of control, and after asking, before returning to the loop. Consumers need not call it. */
void stats_take_answers(struct stats *s);

/* Borrows `stats`. `consumer` is called from the loop when question_answer() has more to return. It may ask
 * and withdraw any question. */
void question_init(struct question *q, struct stats *stats, void (*consumer)(void *arg), void *arg);
bool question_is_open(const struct question *q);
/* Asks the question, which must not be open. Returns its token, never 0. */
uint64_t question_ask(struct question *q, enum question_kind kind);
/* Asks for tallies that may be up to 100 ms old, and, while a worker does not answer, as old as the last that
 * were complete: for reports that come again and again. Whoever asks within that time shares one walk. */
uint64_t question_ask_recent(struct question *q);
/* Asks for the sessions that `f` wants, or to end one of them. */
uint64_t question_ask_sessions(struct question *q, const struct inquiry_filter *f);
/* What is known so far. Returning ANSWER_TALLIES or ANSWER_OVER closes the question. */
struct answer question_answer(struct question *q);
/* The caller has used the sessions of the answer; the next question_answer() requests more. */
void question_go_on(struct question *q);
/* Closes the question without an answer; does nothing if it is not open. */
void question_withdraw(struct question *q);

#endif
