/* SPDX-License-Identifier: MIT
 *
 * sd_service.h - what the service manager is told, and when: ready, status, reloading, draining, alive.
 *
 * Without NOTIFY_SOCKET every function here does nothing. Never wakes an idle daemon: the status is refreshed
 * when something else has woken the loop. A timer runs only while draining, or if the manager wants a
 * watchdog. Main thread.
 */
#ifndef WEIR_HOST_SD_SERVICE_H
#define WEIR_HOST_SD_SERVICE_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

#include "weir/engine/engine.h"
#include "weir/host/sd_notify.h"

#define SD_SERVICE_TEXT_MAX   256
#define SD_SERVICE_NOTE_MAX   192
/* With words about reloads and the note before it. */
#define SD_SERVICE_STATUS_MAX (SD_SERVICE_TEXT_MAX + SD_SERVICE_NOTE_MAX + 32)

struct sd_service {
	struct sd_notify notify;
	struct ev_loop *loop;	/* borrows; NULL = not ready yet */
	struct engine *engine;	/* borrows; const except for its pings */
	struct ev_prepare look; /* runs each time before the loop sleeps */
	struct ev_timer drain;
	struct ev_timer watchdog;
	struct ev_timer again; /* runs until the manager has taken READY or RELOADING */
	bool reloading;
	bool refused;	 /* the last reload: the status says so */
	bool closing;	 /* leaving, draining or stopping: the status says so */
	bool leaving;	 /* `closing`, and still takes new sessions */
	char note[SD_SERVICE_NOTE_MAX]; /* before the status; "" = nothing */
	bool alive_told; /* the last round of pings was complete and has been reported */
	ev_tstamp told_at;
	char told[SD_SERVICE_STATUS_MAX]; /* the last status sent */
};

/* Reads the environment; an unusable socket causes one warning. */
void sd_service_open(struct sd_service *s);
/* Every worker listens. `loop` and `e` must live until sd_service_close(). */
void sd_service_ready(struct sd_service *s, struct ev_loop *loop, struct engine *e);
/* A reload begins: `systemctl reload` of a unit with Type=notify-reload waits until it has ended. */
void sd_service_reloading(struct sd_service *s);
/* It has ended. The status shows that it was refused, if so, until another one is not. */
void sd_service_reloaded(struct sd_service *s, bool fine);
/* From now on the status begins with `note` ("" = nothing), which is copied, and truncated if it is longer
 * than SD_SERVICE_NOTE_MAX. Sent with the next status. Allowed before sd_service_ready(). */
void sd_service_note(struct sd_service *s, const char *note);
/* It will stop, but still takes new sessions: the manager is told, as by sd_service_draining(). */
void sd_service_leaving(struct sd_service *s);
/* No new sessions from now on: periodically reports how many are left and extends the manager's timeout. */
void sd_service_draining(struct sd_service *s);
/* The remaining sessions are being closed. */
void sd_service_stopping(struct sd_service *s);
/* The daemon cannot continue: `systemctl status` shows `text`. */
void sd_service_failed(struct sd_service *s, const char *text);
void sd_service_close(struct sd_service *s);

/* Writes "2 frontends, 4/5 servers usable, 1240 sessions" to `buf`, preceded by "no server up: web, db; " if
 * backends are down. `room` is at least SD_SERVICE_TEXT_MAX. Returns `buf`. */
const char *sd_service_status(struct engine *e, char *buf, size_t room);

#endif
