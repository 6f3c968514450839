/* SPDX-License-Identifier: MIT
 *
 * startup.h - the parts of a running daemon, and how they are set up in order.
 *
 * Only for daemon.c, which runs and takes down what startup.c sets up. Main thread, except for
 * daemon_notify().
 */
#ifndef WEIR_CONTROL_STARTUP_H
#define WEIR_CONTROL_STARTUP_H

#include <ev.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "weir/admin/admin.h"
#include "weir/admin/daemon_state.h"
#include "weir/control/daemon.h"
#include "weir/engine/engine.h"
#include "weir/health/agents.h"
#include "weir/health/observing.h"
#include "weir/health/prober.h"
#include "weir/host/driver_choice.h"
#include "weir/host/limits.h"
#include "weir/host/listen_fds.h"
#include "weir/host/memory_guard.h"
#include "weir/host/pidfile.h"
#include "weir/host/privileges.h"
#include "weir/host/sd_service.h"
#include "weir/host/tcp_aborts.h"
#include "weir/logging/logwriter.h"
#include "weir/names/resolver.h"
#include "weir/names/set_watch.h"
#include "weir/stats/process_figures.h"
#include "weir/stats/question.h"
#include "ageing.h"
#include "log_names.h"
#include "newcomers.h"
#include "origin.h"
#include "reloading.h"
#include "retiring.h"
#include "unlistening.h"
#include "updates_loop.h"
#include "web_moving.h"

#define DAEMON_SIGNALS 4
#define DAEMON_FIGURE_SOURCES 10

struct daemon {
	struct config_input input; /* owns: what the configuration was read from */
	struct origin origin;      /* what it started from */
	struct config *config;     /* owns: in effect; not NULL once it has been read */
	struct config *started;    /* owns: in effect at the start; may be the same */
	const struct daemon_options *options; /* borrows */
	enum daemon_state state;
	enum exit_code exit_code;
	struct ev_loop *loop;  /* owns */
	struct log_ring *ring; /* owns; this thread's */
	struct logwriter *log; /* owns */
	struct privileges privileges;
	struct limits_facts facts;
	struct listen_fds passed; /* owns those that no endpoint has taken */
	const char *passed_why;   /* static: what is wrong with them; NULL = nothing */
	struct sd_service service;
	bool engine_made;
	bool engine_started;
	struct pidfile pidfile;
	struct admin_socket admin_socket;
	struct admin_socket control_socket;
	char control_address[ADDR_TEXT_MAX];
	struct driver_choice driver; /* for the workers; chosen before they start */
	struct admin_context admin_context;
	struct admin_totals admin_totals;
	struct process_source process; /* of the last of `figures` */
	struct figure_source figures[DAEMON_FIGURE_SOURCES];
	struct stats *stats;       /* owns */
	struct admin *admin;       /* owns */
	struct web_socket web_socket;
	struct web *web;           /* owns */
	struct resolver *resolver; /* owns */
	struct set_watches sets;
	struct log_names log_names;
	struct prober *prober;     /* owns */
	struct observing observing;
	struct agents *agents;     /* owns */
	struct ageing ageing;
	struct tcp_aborts tcp_aborts;
	struct memory_guard memory;
	struct retiring retiring;
	struct unlistening unlistening;
	struct newcomers newcomers;
	struct reloading reloading;
	struct updates_loop updates; /* through which admin, resolver and prober change servers */
	struct ev_signal signals[DAEMON_SIGNALS];
	struct ev_timer shutdown_delay;
	struct ev_timer hard_stop;
	struct ev_periodic far_away;
	struct ev_async news;
	atomic_bool news_sent; /* a worker has sent a notification that we have not seen yet */
	struct engine engine;  /* owns */
};

/* Sets up log, listeners, admin socket, privileges, limits, workers and services, in this order. On failure
 * the reason has been logged, and daemon_run() takes down what was set up. If workers are already running,
 * the result is EXIT_FINE: they are being stopped, and the exit code is in `d->exit_code`. */
enum exit_code daemon_start(struct daemon *d);
/* The only function that changes the state. */
void daemon_set_state(struct daemon *d, enum daemon_state to);
/* Reports why the daemon cannot continue, in the log, and on stderr for the person who started it. Returns
 * `code`. */
enum exit_code daemon_fail(struct daemon *d, enum exit_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Wakes the loop, once for any number of calls. Any thread. */
void daemon_notify(void *arg);

#endif
