/* SPDX-License-Identifier: MIT
 *
 * shares.h - answers that are made once for everyone who asks for the same at the same time.
 *
 * Sums and lists of sessions are asked of all workers (stats/question.h), once for all who wait. They are
 * asked for at least WEB_SNAPSHOT_MS apart; an answer that is younger than that is given again. So at most
 * WEB_ANSWERS_MAX different answers are made in that time, and the other wishes wait for the next. Answers
 * that slow clients still take have WEB_HELD_BYTES together; beyond that no other is made. Knows nothing of
 * HTTP. Main thread.
 */
#ifndef WEIR_WEB_SHARES_H
#define WEIR_WEB_SHARES_H

#include <ev.h>

#include "weir/base/list.h"
#include "weir/stats/question.h"
#include "weir/web/web.h"
#include "session_list.h"
#include "wish.h"

/* Not changed once it is made. */
struct share {
	struct shares *shares; /* borrows */
	unsigned users; /* the cache and each holder */
	struct wish wish;
	unsigned status; /* of HTTP */
	struct text text; /* owns */
	int64_t made_ns; /* monotonic */
};

/* One that waits for an answer. */
struct share_waiter {
	struct list link; /* unlinked: it does not wait */
	struct wish wish;
	/* Gets the answer, which is then the waiter's to release; NULL: a worker did not answer in time, or
	 * memory is short. It must not call any function below except share_release(). */
	void (*answered)(struct share_waiter *w, struct share *answer);
};

struct shares {
	struct ev_loop *loop; /* borrows, as the next */
	const struct web_context *ctx;
	struct question question; /* for sums */
	struct session_list list;
	struct list waiting;
	struct ev_timer timer; /* set for WEB_SNAPSHOT_MS after an answer was made */
	struct share *kept[WEB_ANSWERS_MAX]; /* made since the timer was set; NULL = none */
	size_t bytes; /* of all answers that exist */
};

void shares_init(struct shares *s, struct ev_loop *loop, const struct web_context *ctx);
/* Nobody may wait or hold an answer. */
void shares_free(struct shares *s);
/* Makes an answer that needs nothing of the workers. The caller releases it; NULL = memory is short. */
struct share *shares_make(struct shares *s, const struct wish *wish);
/* A fresh answer to the wish, for the caller to release; NULL = there is none. */
struct share *shares_find(struct shares *s, const struct wish *wish);
/* Waits for an answer to w->wish; shares_go_on() gets it. `w` is borrowed until it is answered or
 * forgotten. */
void shares_wait(struct shares *s, struct share_waiter *w);
/* Harmless if it does not wait. */
void shares_forget(struct shares *s, struct share_waiter *w);
/* Asks the workers if someone waits and the time has come. Call it after shares_wait(), not from within
 * answered(). */
void shares_go_on(struct shares *s);
/* NULL is harmless. */
void share_release(struct share *a);

#endif
