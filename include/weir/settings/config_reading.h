/* SPDX-License-Identifier: MIT
 *
 * config_reading.h - one reading of an input: the resulting snapshot, and the messages about it.
 *
 * Prints nothing by itself: the caller knows where the messages belong. One thread at a time.
 */
#ifndef WEIR_SETTINGS_CONFIG_READING_H
#define WEIR_SETTINGS_CONFIG_READING_H

#include <stdbool.h>
#include <stdio.h>

#include "weir/config/arena.h"
#include "weir/config/config.h"
#include "weir/config/diag.h"
#include "weir/settings/config_input.h"

/* The format of messages. */
enum config_style {
	CONFIG_STYLE_PLAIN,
	CONFIG_STYLE_COLOUR, /* for a terminal */
	CONFIG_STYLE_JSON,   /* one object for all messages: weir(8), --format=json */
};

/* Must not be moved or copied until it is freed: `diag` points into it. */
struct config_reading {
	struct config *config; /* owns; NULL = the input cannot be used, and the messages say why */
	const char *name;      /* borrows from the input or `memory`: the name of the input in messages */
	struct diag diag;      /* the messages */
	struct arena memory;   /* owns: the memory of the messages */
	bool no_memory;        /* out of memory: this is reported instead of all other messages */
	unsigned workers;      /* set by the caller, for costs in CONFIG_STYLE_JSON; 0 = leave them out */
	/* Shared: one reference. What was read; NULL = some of it could not be read, memory ran out, or it is
	 * longer than CONFIG_TEXT_BYTES_MAX. There is one, too, if only its contents are invalid. */
	struct config_text *text;
};

/* Reads and validates the configuration that `input` names, and builds its snapshot in `r`, whose previous
 * contents are ignored. `input` must not be empty and is borrowed until config_reading_free(). Opens only the
 * files named. May block: on a FIFO named on the command line, and on the name service that knows users and
 * groups. After any error, running out of memory included, there is a message and `r->config` is NULL;
 * warnings alone do not prevent a snapshot. */
void config_read(const struct config_input *input, struct config_reading *r);
/* Writes every message to `out` in the format of weir(8): errors, warnings, and the final count if the input
 * cannot be used. CONFIG_STYLE_JSON always writes its one object, even without messages. Allocates nothing.
 * Call before config_reading_take(): the object has counts from the snapshot. */
void config_reading_print(struct config_reading *r, FILE *out, enum config_style style);
/* Returns the snapshot, or NULL if there is none. The caller owns it and frees it with config_free(). It
 * borrows nothing from the reading or its input. */
struct config *config_reading_take(struct config_reading *r);
/* Returns `r->text` with its reference, which the caller then owns (config_text_drop()); NULL if there is
 * none, or it has been taken. */
struct config_text *config_reading_take_text(struct config_reading *r);
/* Frees the messages, and the snapshot and the text unless they were taken. */
void config_reading_free(struct config_reading *r);

#endif
