/* SPDX-License-Identifier: MIT
 *
 * load.h - one reading of the configuration: what config_read() and its files share.
 *
 * Everything lives in the arena, also what is open at a moment, so that running out of memory
 * leaves nothing behind. Main thread.
 */
#ifndef WEIR_SETTINGS_LOAD_H
#define WEIR_SETTINGS_LOAD_H

#include <setjmp.h>

#include "weir/config/arena.h"
#include "weir/config/document.h"

struct load {
	struct arena arena;    /* of the reading */
	struct arena snapshot; /* of its result */
	jmp_buf no_memory;
	const char *name; /* what the summary is about */
	struct diag diag;
	struct document doc;
	unsigned include_count;
	unsigned depth; /* of includes, now */
};

/* Reads a file or a directory that the command line names. */
void load_path(struct load *l, const char *path);
/* Reads what `source` itself includes. */
void load_includes_of(struct load *l, const struct source *source);

#endif
