/* SPDX-License-Identifier: MIT
 *
 * sd_service.h - what the service manager is told, and when: ready, status, draining, alive.
 *
 * Without NOTIFY_SOCKET every function here does nothing. It never wakes an idle daemon: the status
 * is looked at when something else has woken the loop; a timer runs only while draining, and for a
 * watchdog that asks for it. Main thread.
 */
#ifndef WEIR_HOST_SD_SERVICE_H
#define WEIR_HOST_SD_SERVICE_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

#include "weir/engine/engine.h"
#include "weir/host/sd_notify.h"

#define SD_SERVICE_TEXT_MAX 256

struct sd_service {
	struct sd_notify notify;
	struct ev_loop *loop;	/* borrows; NULL = not ready yet */
	struct engine *engine;	/* borrows; const but for its pings */
	struct ev_prepare look; /* each time before the loop sleeps */
	struct ev_timer drain;
	struct ev_timer watchdog;
	struct ev_timer again; /* runs while the manager has not taken READY */
	bool closing;	 /* draining or stopping: the status is that */
	bool alive_told; /* the last round of pings was complete, and the manager has heard so */
	ev_tstamp told_at;
	char told[SD_SERVICE_TEXT_MAX]; /* the last status */
};

/* Reads the environment; a socket of no use is one warning. */
void sd_service_open(struct sd_service *s);
/* Every worker listens. `loop` and `e` must last until sd_service_close(). */
void sd_service_ready(struct sd_service *s, struct ev_loop *loop, struct engine *e);
/* No new sessions from now on: tells how many are left and asks for patience, again and again. */
void sd_service_draining(struct sd_service *s);
/* The sessions that are left are being ended. */
void sd_service_stopping(struct sd_service *s);
/* The daemon cannot go on: `text` is what `systemctl status` shows. */
void sd_service_failed(struct sd_service *s, const char *text);
void sd_service_close(struct sd_service *s);

/* "2 frontends, 4/5 servers usable, 1240 sessions" into `buf`, with "no server up: web, db; " before it when
 * backends are down. `room` is at least SD_SERVICE_TEXT_MAX. Returns `buf`. */
const char *sd_service_status(struct engine *e, char *buf, size_t room);

#endif
