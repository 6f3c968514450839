/* SPDX-License-Identifier: MIT
 *
 * run_time_view.h - what differs from the configuration in effect because somebody changed it at run time.
 *
 * Changes nothing, allocates nothing. Control thread.
 */
#ifndef WEIR_ENGINE_RUN_TIME_VIEW_H
#define WEIR_ENGINE_RUN_TIME_VIEW_H

#include "weir/base/mark.h"
#include "weir/base/text.h"
#include "weir/engine/engine.h"

struct tombstone;

enum run_time_kind { RUN_TIME_GLOBAL, RUN_TIME_FRONTEND, RUN_TIME_SERVER };

/* Instead of a mark's number: the server was deleted. */
#define RUN_TIME_DELETED (-1)

/* One thing that differs. All of it is borrowed for the call that gets it. */
struct run_time_value {
	enum run_time_kind kind;
	const char *backend; /* SERVER: its backend; else NULL */
	const char *name;    /* of the FRONTEND or SERVER; else NULL */
	/* enum engine_mark, enum frontend_mark or enum server_mark, by its kind; or RUN_TIME_DELETED. */
	int what;
	const char *word;    /* "weight" */
	const char *now;     /* its value; NULL for "added" and "deleted" */
	const char *file;    /* that of the configuration; NULL = that has none */
	const struct mark *mark;
};

typedef void run_time_report(void *arg, const struct run_time_value *v);

/* Reports everything: of the process, then of each frontend, then of each server, with the deleted ones of a
 * backend behind the others. */
void run_time_view(const struct engine *e, run_time_report *report, void *arg);
/* What differs of the process, of one frontend, of one server. */
void run_time_view_global(const struct engine *e, run_time_report *report, void *arg);
void run_time_view_frontend(const struct frontend *fe, run_time_report *report, void *arg);
void run_time_view_server(const struct server *s, run_time_report *report, void *arg);
/* A server of `b` that was deleted although the file names it. */
void run_time_view_deleted(const struct backend *b, const struct tombstone *t, run_time_report *report,
			   void *arg);

/* "ready", "drain", "maint"; static. */
const char *run_time_admin_word(enum server_admin admin);
/* "by uid 0 at 2026-11-23T16:05:00Z", into `buf`, which is returned. */
#define RUN_TIME_BY_MAX 80
const char *run_time_by(const struct mark *m, char buf[static RUN_TIME_BY_MAX]);

#endif
