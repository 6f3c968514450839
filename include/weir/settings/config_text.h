/* SPDX-License-Identifier: MIT
 *
 * config_text.h - what one reading of the configuration found on disk, kept so that it can be read again.
 *
 * Holds, in the order of reading, the bytes of every file (those of `@FILE` included) under the name by which
 * it was read, and the files that each directory and each include pattern stood for. Immutable and
 * counted: several generations, jobs and the state file share one text. Not in it: the -o arguments and the
 * environment, which belong to the input. Any thread.
 */
#ifndef WEIR_SETTINGS_CONFIG_TEXT_H
#define WEIR_SETTINGS_CONFIG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base/text.h"

/* A longer text is not kept: config_reading_take_text() returns NULL. There is room for the largest list. */
#define CONFIG_TEXT_BYTES_MAX (80u << 20)

struct config_text;

/* Which text it is. Equal texts have equal hashes; different ones do not, for all practical purposes. */
struct config_text_hash {
	uint64_t sum;
	uint64_t bytes; /* its length as config_text_write() has it; 0 = no text */
};

static inline bool config_text_hash_same(struct config_text_hash a, struct config_text_hash b)
{
	return a.sum == b.sum && a.bytes == b.bytes;
}

/* One more reference to `t`, which is returned; NULL is allowed. */
struct config_text *config_text_hold(struct config_text *t);
/* One reference fewer; the last one frees it. NULL is allowed. */
void config_text_drop(struct config_text *t);
/* Not NULL. Cheap: it was computed when the text was made. */
struct config_text_hash config_text_hash(const struct config_text *t);

/* Appends the text in a form that config_text_parse() reads: config_text_hash().bytes bytes, NULs possibly
 * among them. If memory runs out, `out->failed` is set. */
void config_text_write(const struct config_text *t, struct text *out);
/* Makes a text from all of `len` bytes; `*out` then has one reference. 0; -ENOMEM; -EBADMSG: these are not
 * the bytes of a text. `*out` is NULL after an error. */
int config_text_parse(const char *bytes, size_t len, struct config_text **out);

#endif
