/* SPDX-License-Identifier: MIT
 *
 * portrait.h - everything that control knows of live objects, as text: a change that fails changes nothing.
 *
 * Without what workers count, and without memory that only grows: tables, and room in arrays. Main thread.
 */
#ifndef WEIR_TESTS_LIVE_PORTRAIT_H
#define WEIR_TESTS_LIVE_PORTRAIT_H

#include <stdbool.h>
#include <stddef.h>

#include "memory.h"
#include "rig.h"

#define PORTRAIT_MAX	   (512u << 10)
#define PORTRAIT_FILES_MAX 8192u

struct portrait {
	struct memory_own own; /* less tables and room */
	size_t len;
	char text[PORTRAIT_MAX];
	char files[PORTRAIT_FILES_MAX];
};

/* `folder` is that of Unix sockets. */
void portrait_draw(struct portrait *p, struct rig *r, const char *folder);
/* True if both are the same; else prints the first lines that differ. A file may have gone: a socket on which
 * nobody listens any more is removed before its name is used again. */
bool portrait_same(const struct portrait *before, const struct portrait *after);

#endif
