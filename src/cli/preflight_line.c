/* SPDX-License-Identifier: MIT
 *
 * preflight_line.c - the lines that a preflight collects, one per test.
 *
 * Main thread.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preflight.h"

struct preflight_line *preflight_add(struct preflight *p, const char *what)
{
	struct preflight_line *more = realloc(p->lines, (p->count + 1) * sizeof(*more));

	if (more == NULL) {
		p->no_memory = true;
		return NULL;
	}
	p->lines = more;
	memset(&more[p->count], 0, sizeof(*more));
	more[p->count].what = what;
	return &more[p->count++];
}

void preflight_fail(struct preflight *p, struct preflight_line *line, const char *fmt, ...)
{
	va_list ap;

	line->failed = true;
	p->failed++;
	va_start(ap, fmt);
	(void)vsnprintf(line->words, sizeof(line->words), fmt, ap); /* may be truncated */
	va_end(ap);
}
