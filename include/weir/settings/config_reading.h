/* SPDX-License-Identifier: MIT
 *
 * config_reading.h - one reading of an input: the snapshot that it gave, and what there is to say about it.
 *
 * Prints nothing by itself: who has asked for the reading knows where its messages belong. One thread at a
 * time.
 */
#ifndef WEIR_SETTINGS_CONFIG_READING_H
#define WEIR_SETTINGS_CONFIG_READING_H

#include <stdbool.h>
#include <stdio.h>

#include "weir/config/arena.h"
#include "weir/config/config.h"
#include "weir/config/diag.h"
#include "weir/settings/config_input.h"

/* How messages look. */
enum config_style {
	CONFIG_STYLE_PLAIN,
	CONFIG_STYLE_COLOUR, /* for a terminal */
	CONFIG_STYLE_JSON,   /* one object for all: weir(8), --format=json */
};

/* Stays where it is until it is freed: `diag` points into it. */
struct config_reading {
	struct config *config; /* owns; NULL = it cannot be used, and the messages say why */
	const char *name;      /* borrows from the input or from `memory`: what the messages are about */
	struct diag diag;      /* the messages */
	struct arena memory;   /* owns: theirs */
	bool no_memory;        /* instead of all messages that there may have been */
};

/* Reads, checks and builds what `input` (not empty, borrowed until config_reading_free()) names, into `r`,
 * whatever that held before. Opens nothing but the files named. May wait: for a FIFO on the command line, and
 * for those who know the numbers of users and groups. Whatever is wrong, also a lack of memory, is a message
 * and `r->config` == NULL; warnings alone leave it usable. */
void config_read(const struct config_input *input, struct config_reading *r);
/* Writes every message (errors, warnings, the closing count when it cannot be used) to `out` in the format
 * of weir(8); with CONFIG_STYLE_JSON the one object, also when there is nothing to say. Allocates nothing.
 * Comes before config_reading_take(): the object counts what the snapshot has. */
void config_reading_print(struct config_reading *r, FILE *out, enum config_style style);
/* The snapshot, the caller's from now on, who frees it by config_free(); NULL when there is none. It borrows
 * nothing from the reading or its input. */
struct config *config_reading_take(struct config_reading *r);
/* Frees the messages, and the snapshot that nobody has taken. */
void config_reading_free(struct config_reading *r);

#endif
