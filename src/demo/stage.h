/* SPDX-License-Identifier: MIT
 *
 * stage.h - the parts of a running demo: processes, clients, numbers, and where the show stands.
 *
 * Shared by demo.c, which sets up and takes down, stage.c, which moves people on and off, story.c,
 * which knows what happens when, and table.c, which draws. Main thread of the parent.
 */
#ifndef WEIR_DEMO_STAGE_H
#define WEIR_DEMO_STAGE_H

#include <ev.h>

#include "weir/demo/demo.h"
#include "child.h"
#include "info.h"
#include "load.h"
#include "plan.h"
#include "report.h"
#include "screen.h"
#include "server.h"

enum stage_phase {
	PHASE_STARTING,	 /* the daemon gets ready */
	PHASE_PLAYING,	 /* clients run, the story is told */
	PHASE_FINISHING, /* clients finish what they have */
	PHASE_SETTLING,	 /* the daemon's last sessions end, its last numbers are asked for */
	PHASE_STOPPING,	 /* daemon and servers are told to go */
	PHASE_OVER,
};

struct stage {
	const struct demo_options *options; /* borrows */
	struct plan plan;
	char *config_text;    /* owns */
	struct ev_loop *loop; /* owns */
	int log_fd;	      /* owns; memory, what daemon and servers write to stderr */
	int ready_fds[2];     /* owns; the daemon writes a byte when it is ready */
	int signal_fd;	      /* owns */
	struct child daemon;
	struct child servers[PLAN_SERVERS];
	bool leaving[PLAN_SERVERS]; /* it was told to */
	size_t starts[PLAN_SERVERS];
	struct server_stats (*stats)[REPORT_STARTS_MAX]; /* owns; shared with the servers */
	struct ev_io ready;
	struct ev_io signals;
	struct ev_timer tick;
	unsigned ticks;
	struct asker asker;
	bool heard; /* `info` is filled */
	struct info info;
	struct info before; /* the answer before it: rates are the difference */
	struct load *load;  /* owns */
	struct screen screen;
	char *table; /* owns; as it was drawn last */
	struct report report;
	enum stage_phase phase;
	int64_t phase_ns; /* when it began, CLOCK_MONOTONIC */
	int64_t began_ns; /* the show; 0 = not yet */
	size_t act;	  /* the next row of the story */
	unsigned interrupts;
};

/* The one function that changes the phase, and does what each begins with. */
void stage_set_phase(struct stage *s, enum stage_phase to);
/* Something went wrong that no counter knows; `fmt` tells it to people, once. */
void stage_fail(struct stage *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Seconds since the show began. */
double stage_seconds(const struct stage *s);
/* An event of the story. */
void stage_say(struct stage *s, enum screen_style style, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

int stage_start_daemon(struct stage *s);
/* Also again: 0 or -errno. */
int stage_start_server(struct stage *s, size_t i);
void stage_stop_server(struct stage *s, size_t i);
/* Connections of clients at the present start of a server. */
uint64_t stage_server_connections(const struct stage *s, size_t i);
/* Children may have ended. */
void stage_reap(struct stage *s);

/* story.c: does what is due. */
void story_go_on(struct stage *s);

/* table.c: the lines above the table, and a frame. */
void table_header(struct stage *s);
void table_frame(struct stage *s);

#endif
