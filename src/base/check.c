/* SPDX-License-Identifier: MIT
 *
 * check.c - ends a process in which an assertion failed.
 *
 * Builds its line without the C library, so that a corrupt heap or a held lock cannot stop it, and aborts.
 * Never returns. Any thread.
 */
#include "weir/base/check.h"

#include <stdlib.h>

#include "weir/base/crash_report.h"
#include "crash_text.h"

_Noreturn void check_failed(const char *file, int line, const char *cond)
{
	struct crash_text cause;

	crash_text_begin(&cause);
	crash_text_put(&cause, file);
	crash_text_put(&cause, ":");
	crash_text_number(&cause, line > 0 ? (uint64_t)line : 0, 10);
	crash_text_put(&cause, ": check failed: ");
	crash_text_put(&cause, cond);
	crash_report_cause(cause.bytes);
	abort();
}
