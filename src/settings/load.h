/* SPDX-License-Identifier: MIT
 *
 * load.h - one reading of the configuration: shared by config_read() and its files.
 *
 * The arena owns everything, including open files, so that running out of memory leaves nothing behind. Main
 * thread.
 */
#ifndef WEIR_SETTINGS_LOAD_H
#define WEIR_SETTINGS_LOAD_H

#include <setjmp.h>

#include "weir/config/arena.h"
#include "weir/config/document.h"
#include "reading_files.h"

struct load {
	struct arena arena;    /* arena of the reading */
	struct arena snapshot; /* arena of its result */
	jmp_buf no_memory;
	const char *name; /* the name in the summary */
	struct diag diag;
	struct document doc;
	struct reading_files files;
	struct config_text *text; /* shared: one reference; NULL = not yet, or there is none */
	unsigned include_count;
	unsigned depth; /* current depth of includes */
};

/* Reads a file or directory named on the command line. */
void load_path(struct load *l, const char *path);
/* Reads a whole text in place of a file, and what it includes. */
void load_text(struct load *l, const char *name, const char *text);

#endif
