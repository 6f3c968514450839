/* SPDX-License-Identifier: MIT
 *
 * reload_wish.h - a client of the admin protocol asks for a reload, a plan, a way back or to keep what is on
 * trial, and gets its answer later.
 *
 * The daemon's control hands the function that takes wishes to admin through struct admin_context; the
 * answer comes through the wish. Main thread.
 */
#ifndef WEIR_ADMIN_RELOAD_WISH_H
#define WEIR_ADMIN_RELOAD_WISH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "weir/base/json.h"
#include "weir/base/list.h"
#include "weir/base/text.h"

/* How long a trial may be. */
#define WISH_CONFIRM_MIN_NS (INT64_C(1) * 1000000000)
#define WISH_CONFIRM_MAX_NS (INT64_C(24) * 3600 * 1000000000)

enum reload_kind {
	WISH_RELOAD,
	WISH_PLAN,     /* what a reload would do */
	WISH_ROLLBACK, /* to an earlier generation; back from a trial */
	WISH_CONFIRM,  /* keep what is on trial */
};

struct reload_wish {
	struct list link; /* in the reload's list while it waits; list_init() before it is asked */
	enum reload_kind kind;
	uid_t uid;	    /* who asks; (uid_t)-1 = unknown */
	bool wait;	    /* RELOAD: also until what left has been retired, at most 30 s */
	int64_t confirm_ns; /* RELOAD: on trial for this long; 0 = no trial */
	bool hold;	    /* RELOAD on trial: the answer ends with the trial; to forget the wish ends it */
	bool json;	    /* PLAN */
	const char *path;   /* PLAN: what this file would do; borrows; NULL = the daemon's own files */
	uint64_t to;	    /* ROLLBACK: to this generation; 0 = the one before */
	bool file;	    /* CONFIRM: reload, and accept a text that was not confirmed in time */
	/* More of the answer, whole lines; the last call has `last` set, and the wish is forgotten by then.
	 * Not called from within reload_asker.ask(). The first lines may be messages. The line that says how
	 * it went begins with "reloaded: ", "rolled back: " or "confirmed: ", or with "not reloaded: ",
	 * "not planned: ", "not rolled back: " or "not confirmed: "; a plan is its own answer. Only what
	 * `wait` or `hold` waited for follows that line. `text` is borrowed for the call. */
	void (*answer)(struct reload_wish *wish, const char *text, bool last);
	uint64_t generation; /* the reload's own, while the wish waits for what left */
	int64_t until_ns;    /* the same: monotonic */
};

/* Who takes wishes. */
struct reload_asker {
	/* Takes the wish (borrowed until its last answer, or until it is forgotten). */
	void (*ask)(void *arg, struct reload_wish *wish);
	/* The client has gone: no answer any more. Harmless on a wish that was answered. */
	void (*forget)(void *arg, struct reload_wish *wish);
	/* Appends the generations to `out`: a table, or an array if `json` (which writes to `out`) is not
	 * NULL. */
	void (*show)(void *arg, struct text *out, struct json *json);
	void *arg;
};

#endif
