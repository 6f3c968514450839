/* SPDX-License-Identifier: MIT
 *
 * reloading.h - the steps of a reload in this daemon.
 *
 * What reload/reload.h decides, this does: it reads on a thread, makes the plan, applies it, and tells the
 * service manager. Only for daemon.c and startup.c. Main thread.
 */
#ifndef WEIR_CONTROL_RELOADING_H
#define WEIR_CONTROL_RELOADING_H

#include <ev.h>

#include "weir/reload/reading_job.h"
#include "weir/reload/reload.h"
#include "weir/reload/saving_job.h"
#include "turn_watch.h"
#include "web_moving.h"
#include "admin_moving.h"

struct daemon;

struct reloading {
	struct reload reload;
	struct daemon *daemon;	 /* borrows; NULL = not begun */
	struct reading_job *job; /* owns; NULL = nothing is being read */
	struct saving_job *saving; /* owns; NULL = nothing is being saved */
	struct config *next;	 /* owns while it is applied */
	struct admin_moving admin;
	struct web_moving web;
	struct turn_watch turns;
	struct ev_timer timer;	 /* set while a reload waits for something */
};

/* Wishes are taken from now on. Call once workers and services have been started. */
void reloading_init(struct reloading *r, struct daemon *d);
/* Something may have happened that a reload waits for. */
void reloading_wake(struct reloading *r);
/* Harmless if reloading_init() was not called. */
void reloading_free(struct reloading *r);

#endif
