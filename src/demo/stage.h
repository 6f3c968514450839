/* SPDX-License-Identifier: MIT
 *
 * stage.h - the parts of a running demo: processes, clients, numbers, and the phase of the show.
 *
 * Shared by demo.c, which sets up and takes down, stage.c, which starts and stops processes, story.c, which
 * knows what happens when, and table.c, which draws. Main thread of the parent.
 */
#ifndef WEIR_DEMO_STAGE_H
#define WEIR_DEMO_STAGE_H

#include <ev.h>

#include "weir/demo/demo.h"
#include "child.h"
#include "asker.h"
#include "command.h"
#include "info.h"
#include "load.h"
#include "plan.h"
#include "report.h"
#include "screen.h"
#include "server.h"

enum stage_phase {
	PHASE_STARTING,	 /* the daemon is starting */
	PHASE_PLAYING,	 /* clients run, the story plays */
	PHASE_FINISHING, /* clients finish what they have begun */
	PHASE_SETTLING,	 /* the daemon's last sessions end, its final numbers are requested */
	PHASE_STOPPING,	 /* daemon and servers are told to exit */
	PHASE_OVER,
};

struct stage {
	const struct demo_options *options; /* borrows */
	struct demo_plan plan;
	int config_fd;	      /* owns; memory that the daemon reads as its file */
	struct ev_loop *loop; /* owns */
	int log_fd;	      /* owns; memory that receives the stderr of daemon and servers */
	int ready_fds[2];     /* owns; the daemon writes a byte when it is ready */
	int signal_fd;	      /* owns */
	struct child daemon;
	struct child servers[PLAN_SERVERS];
	bool leaving[PLAN_SERVERS]; /* the server was told to exit */
	size_t starts[PLAN_SERVERS];
	struct server_stats (*stats)[REPORT_STARTS_MAX]; /* owns; shared with the servers */
	struct ev_io ready;
	struct ev_io signals;
	struct ev_timer tick;
	unsigned ticks;
	struct asker asker;
	bool heard; /* `info` has been filled in */
	struct info info;
	struct info before; /* the previous answer: rates come from the difference */
	struct command command;
	bool on_trial; /* the daemon has begun a trial that nobody will confirm */
	struct load *load; /* owns */
	struct screen screen;
	char *table; /* owns; as last drawn */
	struct report report;
	enum stage_phase phase;
	int64_t phase_ns; /* when the phase began, CLOCK_MONOTONIC */
	int64_t began_ns; /* when the show began; 0 = not yet */
	size_t act;	  /* the next row of the story */
	unsigned interrupts;
};

/* The only function that changes the phase. It also does what each phase begins with. */
void stage_set_phase(struct stage *s, enum stage_phase to);
/* Records a failure that no counter shows; `fmt` describes it for people, once. */
void stage_fail(struct stage *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Seconds since the show began. */
double stage_seconds(const struct stage *s);
/* An event of the story. */
void stage_say(struct stage *s, enum screen_style style, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Replaces the contents of the file that the daemon reads. 0 or -errno. */
int stage_write_config(struct stage *s, enum plan_stage which);
/* Replaces them, and sends `words`, a reload. Call it until it returns true: the answer is in s->command. */
bool stage_reload(struct stage *s, enum plan_stage which, const char *words);
int stage_start_daemon(struct stage *s);
/* Also restarts one: 0 or -errno. */
int stage_start_server(struct stage *s, size_t i);
void stage_stop_server(struct stage *s, size_t i);
/* Client connections since the last start of a server. */
uint64_t stage_server_connections(const struct stage *s, size_t i);
/* Collects children that may have ended. */
void stage_reap(struct stage *s);

/* story.c: performs the acts that are due. */
void story_go_on(struct stage *s);

/* table.c: the lines above the table, and a frame. */
void table_header(struct stage *s);
void table_frame(struct stage *s);

#endif
