/* SPDX-License-Identifier: MIT
 *
 * reload.h - who wants a reload, when one runs, and what is answered.
 *
 * One reload runs at a time. A wish that comes while the configuration is being read is answered by a run
 * that begins afterwards, because the file may have changed in between. Wishes that wait share one run.
 * Owns no watchers and does none of the work itself: control hands it the steps, and calls reload_wake().
 *
 * The answer to a wish: what `weir -c` would print about the configuration, a line "needs a restart: ..." if
 * options have changed that only a restart changes, and then one of
 *
 *   reloaded: generation 2, frontend web changed, 1 server added
 *   not reloaded: the configuration cannot be used
 *
 * A wish that waits gets one more line once everything that left has been freed, or after RELOAD_RETIRE_S:
 *
 *   retired: nothing of the earlier configuration is left
 *   retired: not yet: 3 sessions of server app/a
 *
 * The "reloaded:" or "not reloaded:" line is also written to the log, and for SIGHUP all lines are.
 * Main thread.
 */
#ifndef WEIR_RELOAD_RELOAD_H
#define WEIR_RELOAD_RELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/admin/reload_wish.h"
#include "weir/base/figure.h"
#include "weir/base/list.h"
#include "weir/base/text.h"

#define RELOAD_READ_S	60 /* a reading that takes longer is given up, and its result thrown away */
#define RELOAD_RETIRE_S 30 /* how long a wish waits for what has left */
#define RELOAD_TEXT_MAX 1024u

struct config;
struct config_text;

/* Where a reading gets the configuration from. All NULL = from the files that the daemon was started with. */
struct reload_source {
	const struct config_text *kept; /* borrows: this text, and nothing from the disk */
	const char *path;		/* borrows: this file or directory instead */
};

/* What a new configuration came to. */
struct reload_outcome {
	const char *messages; /* borrows: what `weir -c` prints about it; "" = nothing */
	struct text *lines;   /* whole lines before the last one: "needs a restart: threads, user\n"; they
			       * begin with the messages, unless the answer is JSON */
	struct text *changed; /* after success, plan_describe(); its buffer has RELOAD_TEXT_MAX bytes */
	char *why;	      /* after an error, one line without its end: what is wrong and what to do */
	size_t why_room;
};

/* What control does for a reload; none is NULL. Called from reload_wake(), reload_stop() and reload_free();
 * `wake` also when a wish comes. None calls back into this. */
struct reload_steps {
	/* Begins to read the configuration on another thread. `from` is borrowed for the call. reload_wake()
	 * must be called once that has ended. 0, or -errno: there is no thread. */
	int (*begin_reading)(void *arg, const struct reload_source *from);
	/* Has the reading ended? */
	bool (*has_read)(void *arg);
	/* After has_read(): appends the messages and returns the configuration, which the caller then owns;
	 * NULL if it cannot be used. */
	struct config *(*take_reading)(void *arg, struct text *messages);
	/* Instead of take_reading(): nobody wants the result. The reading has ended, or the daemon stops. */
	void (*drop_reading)(void *arg);
	/* Puts `next` into effect, all of it or nothing. Takes `next` in either case. 0, or -errno with
	 * out->why. */
	int (*apply)(void *arg, struct config *next, const struct reload_outcome *out);
	/* Instead of apply(): adds to out->lines what it would do, as text or, if wish->json, as one JSON
	 * object on a line, messages included. That is the whole answer. Changes nothing; takes `next`. 0, or
	 * -errno with out->why. */
	int (*describe)(void *arg, struct config *next, const struct reload_wish *wish,
			const struct reload_outcome *out);
	/* Is everything freed that left with this generation or an earlier one? If not, and `left` is not
	 * NULL, appends what remains, in words and without a newline: "3 sessions of server app/a". */
	bool (*is_retired)(void *arg, uint64_t generation, struct text *left);
	/* A run begins: the service manager is notified. */
	void (*began)(void *arg);
	/* It has ended. */
	void (*ended)(void *arg, bool fine);
	/* reload_wake() is wanted soon, but not from within this call. As daemon_notify(). */
	void (*wake)(void *arg);
};

enum reload_state {
	RELOAD_IDLE,
	RELOAD_READING,
	RELOAD_LATE, /* the reading was given up, and its thread has not ended */
	RELOAD_STOPPED,
};

struct reload {
	struct reload_asker asker; /* for struct admin_context */
	const struct reload_steps *steps;
	void *steps_arg;
	enum reload_state state;
	struct list waiting;  /* borrows: wishes for the next run */
	struct list served;   /* borrows: wishes of the run that is under way */
	struct list watching; /* borrows: wishes that were answered but for the line "retired:" */
	bool signal_waits;    /* SIGHUP asked for the next run */
	bool signal_served;
	int64_t read_until_ns; /* READING: monotonic */
	uint64_t generation;   /* in effect; 1 = as started */
	uint64_t reloads;      /* that took effect */
	uint64_t refused;      /* runs that did not */
	int64_t last_s;	       /* wall clock at the end of the last run; 0 = none */
	bool last_fine;
};

/* `steps` is static, `arg` is borrowed until reload_free(). Wishes may come from now on, and are served once
 * reload_wake() is called. */
void reload_init(struct reload *r, const struct reload_steps *steps, void *arg);
/* SIGHUP: a wish whose answer goes to the log. */
void reload_hang_up(struct reload *r);
/* Goes on as far as possible: call it when woken, when the reading has ended, when something that left has
 * been freed, and at the returned time (monotonic; CLOCK_NEVER = not needed). May answer wishes. */
int64_t reload_wake(struct reload *r, int64_t now_ns);
/* The daemon drains or stops: every wish, now and later, is answered "not reloaded: the daemon is stopping";
 * later ones by reload_wake(). Harmless if called again. */
void reload_stop(struct reload *r);
/* Forgets all wishes without an answer. A reading that is under way is dropped. Harmless after memset(0). */
void reload_free(struct reload *r);

/* For figure_source.publish with a struct reload: generation, reloads, reloads_refused, last_reload_time_s,
 * last_reload_ok. */
void reload_publish(void *reload, figure_report *report, void *to);

#endif
