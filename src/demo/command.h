/* SPDX-License-Identifier: MIT
 *
 * command.h - a command that changes the demo's daemon: sends it, and keeps what the answer says.
 *
 * Main thread of the parent.
 */
#ifndef WEIR_DEMO_COMMAND_H
#define WEIR_DEMO_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "asker.h"

#define COMMAND_MAX	   128 /* bytes of a command */
#define COMMAND_LINE_MAX   160
#define COMMAND_PATIENCE_S 20

struct command {
	struct asker asker;
	int64_t began_ns; /* CLOCK_MONOTONIC; 0 = none has begun since the last answer */
	bool sent;
	bool answered;
	char question[COMMAND_MAX];
	char error[COMMAND_LINE_MAX]; /* the text of the first error in the answer; "" = no error */
	char last[COMMAND_LINE_MAX];  /* the answer's last line that is not empty, or why there is none */
};

/* `admin` is a name in the form that `weir ctl -s` takes. */
void command_init(struct command *c, struct ev_loop *loop, const char *admin);
/* Sends `words`, without a newline, unless a command is in progress. Call it until it returns true: then
 * `error` and `last` are those of this command. */
bool command_go_on(struct command *c, const char *words);
/* Is there one that has begun and has no answer yet? */
bool command_is_busy(const struct command *c);
/* Ends a command without an answer, for the reason `why`. */
void command_give_up(struct command *c, const char *why);
/* Keeps what `text`, a whole answer, says. */
void command_take(struct command *c, const char *text);
/* Does the last line say that a reload was refused? */
bool command_is_refused(const struct command *c);
/* What it says behind "reloaded: ", if `change` is a part of that: the configuration is in effect, and that
 * has changed. Else NULL. */
const char *command_change(const struct command *c, const char *change);
void command_stop(struct command *c);

#endif
