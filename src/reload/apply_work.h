/* SPDX-License-Identifier: MIT
 *
 * apply_work.h - a plan on its way to take effect: what has been prepared so far, for apply*.c.
 *
 * Each thing that is prepared is a step, which is later committed or undone. Steps are undone in the reverse
 * order, and committed kind after kind, in the order of enum step_kind. Control thread.
 */
#ifndef WEIR_SRC_RELOAD_APPLY_WORK_H
#define WEIR_SRC_RELOAD_APPLY_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/balance/live_change.h"
#include "weir/reload/apply.h"

/* In the order of a commit: a frontend finds its backends, and nothing leads to what is removed. */
enum step_kind {
	STEP_ADD_BACKEND,
	STEP_CHANGE_BACKEND,
	STEP_FALLBACKS, /* of all backends */
	STEP_ADD_SET,
	STEP_CHANGE_SET,
	STEP_ADD_SERVER,
	STEP_CHANGE_SERVER,
	STEP_DROP_TOMBSTONE,
	STEP_CHANGE_FRONTEND,
	STEP_ADD_FRONTEND,
	STEP_ADD_ENDPOINT,
	STEP_STAY_ENDPOINT,
	STEP_LEAVE_ENDPOINT,
	STEP_REMOVE_FRONTEND,
	STEP_SOCKETS, /* the bracket around all that is bound */
	STEP_RIGHTS,  /* to bind */
	STEP_REMOVE_SERVER,
	STEP_REMOVE_SET, /* after its members */
	STEP_REMOVE_BACKEND,
	STEP_WATCH_SETS, /* of backends that are added */
	STEP_ADD_LOG,
	STEP_REMOVE_LOG,
	STEP_ADMIN,
	STEP_WEB,
	STEP_LIMITS,
	STEP_GLOBAL, /* other settings of the process */
	STEP_PROBES,
	STEP_EXECS,
	STEP_AGENTS,
	STEP_NAMES,
	STEP_KINDS,
};

struct step;
struct work;

/* What becomes of a step; static. NULL: nothing. */
struct step_way {
	enum step_kind kind;
	void (*commit)(struct work *w, struct step *s);
	void (*undo)(struct work *w, struct step *s);
};

struct step {
	const struct step_way *way;
	union {
		struct backend *backend;
		struct backend_settings *backend_settings;
		struct server *server;
		struct server_settings *server_settings;
		struct server_set *set;
		struct tombstone *tombstone;
		struct frontend *frontend;
		struct entry_change change;
		struct endpoint *endpoint;
		struct log_outlet *outlet;
		struct engine_limits limits;
		size_t count;
	};
};

struct work {
	const struct apply_parts *parts; /* borrows, as the rest of these */
	const struct plan *plan;
	const struct apply_logs *logs; /* NULL = none are open */
	struct backend **backends; /* owns the array: for each of the plan, what is to be there */
	struct step *steps;	   /* owns; never moves */
	size_t count, room;
	/* Own the arrays: lists of one frontend at a time, as long as the longest. */
	struct backend **routes;
	const struct config_bind **binds;
	const struct endpoint **endpoints;
	struct endpoint **from;
	int64_t now_ns;
	char *why;
	size_t why_room;
};

/* Adds what has been prepared; the rest of the step is zero. There is room for it. */
struct step *work_add(struct work *w, const struct step_way *way);
/* The step that was added last has not been prepared after all. */
void work_drop(struct work *w);
/* Writes what cannot be done, then why and what to do about it. Returns `err`. */
int work_refuse(const struct work *w, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Each prepares its part, and has its steps. 0, or -errno with w->why. */
int work_prepare_backends(struct work *w);  /* apply_backends.c */
int work_prepare_services(struct work *w);  /* apply_services.c */
int work_prepare_limits(struct work *w);    /* apply_limits.c */
int work_prepare_logs(struct work *w);	    /* apply_logs.c */
int work_prepare_frontends(struct work *w); /* apply_entries.c */

/* Can this daemon look up the names of all sets? 0, or -errno with w->why. In apply_sets.c, like the next. */
int work_validate_sets(const struct work *w);
/* A line `servers` of a backend that lives; its members are beside it in the plan. And all of a backend that
 * has been prepared. */
int work_prepare_set(struct work *w, struct backend *b, const struct plan_server *s);
int work_prepare_sets(struct work *w, struct backend *b);

#endif
