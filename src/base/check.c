/* SPDX-License-Identifier: MIT
 *
 * check.c - ends a process in which an assertion failed.
 *
 * Builds its line without the C library, so that a corrupt heap or a held lock cannot stop it, and aborts.
 * Never returns. Any thread.
 */
#include "weir/base/check.h"

#include <stdlib.h>

#include "weir/base/last_words.h"
#include "last_text.h"

_Noreturn void check_failed(const char *file, int line, const char *cond)
{
	struct last_text cause;

	last_text_begin(&cause);
	last_text_put(&cause, file);
	last_text_put(&cause, ":");
	last_text_number(&cause, line > 0 ? (uint64_t)line : 0, 10);
	last_text_put(&cause, ": check failed: ");
	last_text_put(&cause, cond);
	last_words_check(cause.bytes);
	abort();
}
