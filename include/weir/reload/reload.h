/* SPDX-License-Identifier: MIT
 *
 * reload.h - who wants a reload, when one runs, what is answered, and the way back.
 *
 * One run at a time: a reload, a plan, a rollback or a confirmation. A wish that comes during a run is served
 * by one that begins afterwards, because the file may have changed in between. Plain reloads that wait share
 * one run. Owns no watchers and does none of the work itself: control hands it the steps, and calls
 * reload_wake().
 *
 * The answer to a wish: what `weir -c` would print about the configuration, a line "needs a restart: ..." if
 * options have changed that only a restart changes, and then one of
 *
 *   reloaded: generation 2, frontend web changed, 1 server added
 *   rolled back: generation 4, as generation 2, 1 server removed
 *   confirmed: generation 3
 *   not reloaded: the configuration cannot be used     (or: not rolled back, not confirmed, not planned)
 *
 * A plan is its own answer; a line "a plain reload is refused now: ..." precedes it where that is so.
 *
 * A wish that waits gets one more line once everything that left has been freed, or after RELOAD_RETIRE_S:
 *
 *   retired: nothing of the earlier configuration is left
 *   retired: not yet: 3 sessions of server app/a
 *
 * A reload may be on trial. Before it takes effect its text is marked in the state file (confirmed.h), so
 * that a restart does not start from it; a confirmation removes the mark before it is answered. Without one
 * in time, or if the client that holds the trial leaves, weir returns to the generation before: it reads the
 * text of that, which is kept, and applies it. If that fails it is tried again every RELOAD_AGAIN_S, and a
 * confirmation remains possible. A wish that holds the trial gets one more line when it ends:
 *
 *   confirmed: generation 3
 *   returned: generation 4, as generation 2, 1 server removed
 *   not confirmed: the daemon is stopping
 *
 * Except for plans, the line with the result is also written to the log, and for SIGHUP all lines are. Main
 * thread.
 */
#ifndef WEIR_RELOAD_RELOAD_H
#define WEIR_RELOAD_RELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/admin/reload_wish.h"
#include "weir/base/figure.h"
#include "weir/base/list.h"
#include "weir/base/log.h"
#include "weir/base/text.h"
#include "weir/reload/confirmed.h"
#include "weir/reload/generations.h"
#include "weir/reload/keeper.h"

#define RELOAD_READ_S	60 /* a reading that takes longer is given up, and its result thrown away */
#define RELOAD_SAVE_S	30 /* a save that takes longer has failed, for the run that needs it */
#define RELOAD_RETIRE_S 30 /* how long a wish waits for what has left */
#define RELOAD_AGAIN_S	5  /* between two attempts to return from a trial */
#define RELOAD_TEXT_MAX 1024u
/* "reloaded: generation N, as generation N, ", and a newline with its NUL. */
#define RELOAD_LINE_MAX (RELOAD_TEXT_MAX + 128u)

struct config;

/* Where a reading gets the configuration from. All NULL = from the files that the daemon was started with. */
struct reload_source {
	struct config_text *kept; /* borrows: this text, and nothing from the disk */
	const char *path;	  /* borrows: this file or directory instead */
	bool plan;		  /* it will be described and not applied: nothing is opened for it */
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
 * `wake` also when a wish comes or goes. None calls back into this. */
struct reload_steps {
	/* Begins to read the configuration on another thread. `from` is borrowed for the call. reload_wake()
	 * must be called once that has ended. 0, or -errno: there is no thread. */
	int (*begin_reading)(void *arg, const struct reload_source *from);
	/* Has the reading ended? */
	bool (*has_read)(void *arg);
	/* After has_read() and before take_reading(): the text that was read, with its reference; NULL =
	 * there is none (config_reading.h). */
	struct config_text *(*take_text)(void *arg);
	/* After has_read(): appends the messages and returns the configuration, which the caller then owns;
	 * NULL if it cannot be used. */
	struct config *(*take_reading)(void *arg, struct text *messages);
	/* Instead of take_reading() (`next` is NULL), or after it instead of apply() and describe() (takes
	 * `next`): nobody wants the result. The reading may not have ended. */
	void (*drop_reading)(void *arg, struct config *next);
	/* Puts `next` into effect, all of it or nothing. Takes `next` in either case. 0, or -errno with
	 * out->why. */
	int (*apply)(void *arg, struct config *next, const struct reload_outcome *out);
	/* Instead of apply(): adds to out->lines what it would do, as text or, if wish->json, as one JSON
	 * object on a line, messages included. That is the whole answer. Changes nothing; takes `next`. 0, or
	 * -errno with out->why. */
	int (*describe)(void *arg, struct config *next, const struct reload_wish *wish,
			const struct reload_outcome *out);
	/* Begins to save a copy of `what` in the state file on another thread. reload_wake() must be called
	 * once that has ended. 0, or -errno: there is no thread. Not called without a folder. */
	int (*begin_saving)(void *arg, const struct confirmed *what);
	bool (*has_saved)(void *arg);
	/* After has_saved(), which ends it: 0 or -errno. */
	int (*take_saved)(void *arg);
	/* Instead: abandons it. */
	void (*drop_saving)(void *arg);
	/* Is everything freed that left with this generation or an earlier one? If not, and `left` is not
	 * NULL, appends what remains, in words and without a newline: "3 sessions of server app/a". */
	bool (*is_retired)(void *arg, uint64_t generation, struct text *left);
	/* A run that may take effect begins: the service manager is notified. */
	void (*began)(void *arg);
	/* It has ended. */
	void (*ended)(void *arg, bool fine);
	/* For the status: `trial` says that the generation in effect is on trial ("" = it is not); `left` is
	 * the mark of the text that a rollback has left (NULL = none: the files are in effect). */
	void (*tell)(void *arg, const char *trial, const struct confirmed_mark *left);
	/* reload_wake() is wanted soon, but not from within this call. As daemon_notify(). */
	void (*wake)(void *arg);
};

enum reload_state {
	RELOAD_IDLE,
	RELOAD_READING,
	RELOAD_SAVING, /* the state file is written, before or after the run takes effect */
	RELOAD_STOPPED,
};

/* The run that is under way. */
struct reload_run {
	enum reload_kind kind;
	bool is_return;	    /* ROLLBACK: nobody has confirmed */
	bool from_trial;    /* ROLLBACK: of what is on trial */
	bool by_signal;	    /* SIGHUP asked, too */
	bool hold;	    /* RELOAD: a client holds the trial */
	bool began;	    /* steps->began() has been called */
	bool decided;	    /* RELOAD_SAVING: it only remains to be answered */
	bool took_effect;   /* as a new generation */
	bool begins_trial;  /* the same, on trial */
	uid_t uid;
	int64_t confirm_ns; /* RELOAD: as wished; 0 = no trial, or none is needed */
	uint64_t to;	    /* ROLLBACK: the generation whose text it takes */
	int64_t until_ns;   /* READING, SAVING: monotonic */
	struct config_text *text; /* shared: one reference; what was read */
	struct config *next;	  /* owns while it waits for a save */
	struct confirmed before;  /* owns: what the keeper had */
	bool marks_changed;	  /* `before` is set */
	struct text messages;	  /* of the reading */
	struct text lines;	  /* whole lines of the answer; the last one too once it is complete */
	char last[RELOAD_LINE_MAX]; /* the last line, with its newline */
	bool unsure; /* a confirmation that a stop met while the state file was written */
	enum log_level level;	    /* of the other lines in the log */
	bool fine;
};

/* The generation in effect is on trial. */
struct reload_trial {
	uint64_t generation;   /* 0 = none */
	uint64_t from;	       /* the one to return to */
	int64_t return_ns;     /* monotonic: when to return, or to try again */
	int64_t until_wall_ns; /* the time that was given */
	unsigned failures;     /* of returns */
	struct list holder;    /* borrows: the wish that holds it, if any */
};

struct reload {
	struct reload_asker asker; /* for struct admin_context */
	const struct reload_steps *steps;
	void *steps_arg;
	enum reload_state state;
	struct list waiting;  /* borrows: wishes for the next runs */
	struct list served;   /* borrows: wishes of the run that is under way */
	struct list watching; /* borrows: wishes that were answered but for the line "retired:" */
	struct reload_wish signal; /* SIGHUP; in `waiting`, or nowhere */
	struct reload_run run;
	struct reload_trial trial;
	struct generations generations;
	struct keeper keeper;
	bool late;	  /* a reading was given up, and its thread has not ended */
	bool late_return; /* it was that of a return */
	uint64_t generation;   /* in effect; 1 = as started */
	uint64_t reloads;      /* that took effect */
	uint64_t rollbacks;    /* the same, returns included */
	uint64_t refused;      /* runs that did not */
	int64_t last_s;	       /* wall clock at the end of the last run; 0 = none */
	bool last_fine;
};

/* The first generation, and what an earlier process left. */
struct reload_origin {
	struct config_text *text;    /* borrows for the call: in effect at the start; NULL = unknown */
	struct confirmed *confirmed; /* taken, and left all zero: as loaded; NULL = nothing */
	const char *folder; /* borrows until reload_free(): of the state file; NULL = there is none */
	bool from_confirmed; /* it is the confirmed text, because that of the files is marked */
};

/* `steps` is static, `arg` is borrowed until reload_free(). Wishes may come from now on, and are served once
 * reload_wake() is called. */
void reload_init(struct reload *r, const struct reload_steps *steps, void *arg);
/* Once, before reload_wake() is called. */
void reload_set_origin(struct reload *r, const struct reload_origin *origin);
/* SIGHUP: a wish whose answer goes to the log. */
void reload_hang_up(struct reload *r);
/* Goes on as far as possible: call it when woken, when a reading or a save has ended, when something that
 * left has been freed, and at the returned time (monotonic; CLOCK_NEVER = not needed). May answer wishes. */
int64_t reload_wake(struct reload *r, int64_t now_ns);
/* The daemon drains or stops: every wish, now and later, is answered "not reloaded: the daemon is stopping";
 * later ones by reload_wake(). A trial ends without a return; its mark remains. Harmless if called again. */
void reload_stop(struct reload *r);
/* Forgets all wishes without an answer. A reading or a save that is under way is dropped. Harmless after
 * memset(0). */
void reload_free(struct reload *r);

/* For figure_source.publish with a struct reload: generation, reloads, rollbacks, reloads_refused,
 * last_reload_time_s, last_reload_ok, trial_left_s, texts_marked. */
void reload_publish(void *reload, figure_report *report, void *to);

#endif
