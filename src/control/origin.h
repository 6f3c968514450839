/* SPDX-License-Identifier: MIT
 *
 * origin.h - what the daemon starts from: its files, or the text that was confirmed last.
 *
 * A text that was on trial when the process ended, that nobody confirmed in time, or that was rolled back, is
 * marked in $STATE_DIRECTORY/confirmed. A start that finds a marked text in its files starts from the
 * confirmed text instead and says so; so does the next one, until the files change or somebody accepts them.
 * Only for daemon.c, startup.c and reloading.c. Main thread.
 */
#ifndef WEIR_CONTROL_ORIGIN_H
#define WEIR_CONTROL_ORIGIN_H

#include <limits.h>
#include <stdbool.h>

#include "weir/control/daemon.h"
#include "weir/reload/confirmed.h"

#define ORIGIN_NOTE_MAX 192
#define ORIGIN_WHY_MAX	512

struct daemon;

/* All zero = nothing has been read. */
struct origin {
	char folder[PATH_MAX];	    /* of the state file; "" = there is none */
	struct confirmed confirmed; /* owns: what was in it; all zero = nothing */
	struct config_text *text;   /* shared: one reference: that it starts from; NULL = it is not kept */
	bool from_confirmed;
	bool marked; /* the text of the files is, with `mark` */
	struct confirmed_mark mark;
	int load_err;		  /* of the state file; 0 also if there was none */
	char why[ORIGIN_WHY_MAX]; /* why the confirmed text could not be used; "" = it was, or need not be */
	char note[ORIGIN_NOTE_MAX]; /* for `show info` and the service status: "" = the files are in effect */
};

/* Reads the configuration, and shows the messages about what the daemon starts from. On success d->config
 * is set. Before anything is open, and while a signal still ends the process at once. */
enum exit_code origin_read(struct daemon *d);
/* Once there is a log, and it is known which user the daemon becomes: says what it starts from, unless that
 * is simply its files. */
void origin_tell(struct daemon *d);
/* Since this text was left, its files are not what is in effect: `show info` and the service manager get a
 * note. NULL: they are. */
void origin_set_note(struct daemon *d, const struct confirmed_mark *left);
/* The same with other words: about a trial. */
void origin_set_words(struct daemon *d, const char *words);
/* Leaves it all zero. */
void origin_free(struct origin *o);

#endif
