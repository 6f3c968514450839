/* SPDX-License-Identifier: MIT
 *
 * reloader.h - a reload of the demo's daemon: asks for it, and keeps what the answer says.
 *
 * Main thread of the parent.
 */
#ifndef WEIR_DEMO_RELOADER_H
#define WEIR_DEMO_RELOADER_H

#include <stdbool.h>
#include <stdint.h>

#include "asker.h"

#define RELOADER_LINE_MAX   160
#define RELOADER_PATIENCE_S 20

struct reloader {
	struct asker asker;
	int64_t began_ns; /* CLOCK_MONOTONIC; 0 = none has begun since the last answer */
	bool sent;
	bool answered;
	char error[RELOADER_LINE_MAX]; /* the text of the first error in the answer; "" = no error */
	char last[RELOADER_LINE_MAX];	/* the last line of the answer, or why there is none */
};

/* `admin` is a name in the form that `weir ctl -s` takes. */
void reloader_init(struct reloader *r, struct ev_loop *loop, const char *admin);
/* Asks for a reload, unless one is in progress. Call it until it returns true: then `error` and `last` are
 * those of this reload. */
bool reloader_go_on(struct reloader *r);
/* Is there one that has begun and has no answer yet? */
bool reloader_is_busy(const struct reloader *r);
/* Ends a reload without an answer, for the reason `why`. */
void reloader_give_up(struct reloader *r, const char *why);
/* Keeps what `text`, a whole answer, says. */
void reloader_take(struct reloader *r, const char *text);
/* Does the last line say that the configuration was refused? */
bool reloader_is_refused(const struct reloader *r);
/* Does it say that the configuration is in effect, and `change` a part of what has changed? */
bool reloader_has_changed(const struct reloader *r, const char *change);
void reloader_stop(struct reloader *r);

#endif
