/* SPDX-License-Identifier: MIT
 *
 * check.c - the end of a process whose own rules are broken.
 *
 * Writes one line with write(2) alone, so that a broken heap or a held lock cannot stop it, and
 * aborts. Refuses to return. Any thread. Floor 0.
 */
#include "weir/base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

_Noreturn void check_failed(const char *file, int line, const char *cond)
{
	char text[512];
	int n = snprintf(text, sizeof(text), "weir: %s:%d: check failed: %s\n", file, line, cond);

	if (n >= (int)sizeof(text)) {
		n = (int)sizeof(text) - 1;
		text[n - 1] = '\n';
	}
	/* Nobody is left to be told when stderr is gone too; the core file still says where. */
	if (n > 0 && write(STDERR_FILENO, text, (size_t)n) < 0)
		abort();
	abort();
}
