/* SPDX-License-Identifier: MIT
 *
 * confirmed.h - the text that was confirmed last, which texts were not, and the file that remembers both.
 *
 * The file is $STATE_DIRECTORY/confirmed. A start that finds a marked text in the configuration file starts
 * from the confirmed text instead. The file is replaced as a whole: whoever reads it finds the state before
 * or after a save, whatever ends the process or the machine in between. One thread at a time for a struct;
 * the functions with a folder may block on the disk, so control leaves a save to a saving_job (below).
 */
#ifndef WEIR_RELOAD_CONFIRMED_H
#define WEIR_RELOAD_CONFIRMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base/text.h"
#include "weir/settings/config_text.h"

#define CONFIRMED_MARKS_MAX 10
#define CONFIRMED_NAME	    "confirmed"

/* Why a text is marked. */
enum confirmed_reason {
	CONFIRMED_ON_TRIAL,    /* it is in effect and not confirmed yet; or the process ended before it was */
	CONFIRMED_EXPIRED,     /* nobody confirmed it in time */
	CONFIRMED_ROLLED_BACK, /* an operator left it */
	CONFIRMED_REASONS
};

struct confirmed_mark {
	struct config_text_hash text;
	int64_t wall_ns;     /* when it got the mark: CLOCK_REALTIME */
	uint64_t generation; /* that it was, in the process that marked it */
	enum confirmed_reason reason;
};

/* All zero = nothing is known. */
struct confirmed {
	struct config_text *text; /* shared: one reference; NULL = none */
	struct confirmed_mark marks[CONFIRMED_MARKS_MAX]; /* the oldest first; no two of the same text */
	unsigned mark_count;
};

/* ---- in memory: none of these can fail ---- */

/* From now on `t` (NULL = none) is the confirmed text: takes a reference of its own and drops that to the
 * text before. Removes no mark: see confirmed_unmark(). */
void confirmed_set_text(struct confirmed *c, struct config_text *t);
/* Marks a text, as the newest. A text that was marked has only the new mark. Beyond CONFIRMED_MARKS_MAX the
 * oldest mark is forgotten. */
void confirmed_add_mark(struct confirmed *c, const struct confirmed_mark *mark);
/* Removes the mark of a text. Was there one? */
bool confirmed_unmark(struct confirmed *c, struct config_text_hash text);
/* The mark of a text, valid until the marks change; NULL = it is not marked. */
const struct confirmed_mark *confirmed_find(const struct confirmed *c, struct config_text_hash text);
/* Makes `copy`, whose previous contents are ignored, the same, with a reference of its own. */
void confirmed_copy(struct confirmed *copy, const struct confirmed *c);
/* Drops the reference and leaves it all zero. Harmless if it is all zero. */
void confirmed_free(struct confirmed *c);
/* Appends what happened to the text, to follow "this text": "was not confirmed in time (generation 3,
 * 2026-11-23T16:05:00Z)". */
void confirmed_describe(const struct confirmed_mark *mark, struct text *out);

/* ---- on disk ---- */

/* The first folder of $STATE_DIRECTORY as systemd sets it (`variable`; may be NULL), in `path`. False if
 * there is none, or its name is not absolute or does not fit. */
bool confirmed_folder(const char *variable, char *path, size_t room);
/* Reads the file into `c`, whose previous contents are ignored and which is all zero after an error. 0;
 * -ENOENT: there is none; -EBADMSG: it is damaged; -EPERM: it belongs to somebody else than root and this
 * user, or has a second name; -EINVAL: it is not a regular file; -EFBIG; -ENOMEM; or another -errno. */
int confirmed_load(const char *folder, struct confirmed *c);
/* Replaces the file by one with `c`, mode 600, and returns once it is on disk. Saves of several threads or
 * processes follow one another. After an error the file is as it was, unless the very last step failed, which
 * forces the new name to the disk: then either may be found. 0 or -errno. */
int confirmed_save(const char *folder, const struct confirmed *c);
/* What a failed save means, in one line without its end: "cannot write /var/lib/weir/confirmed: No space
 * left on device; ...". Returns `why`. */
const char *confirmed_explain(const char *folder, int err, char *why, size_t room);

#endif
