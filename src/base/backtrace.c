/* SPDX-License-Identifier: MIT
 *
 * backtrace.c - the calling thread's stack, by backtrace(3). Any thread.
 */
#include "backtrace.h"

#include <execinfo.h>

int backtrace_take(void **out, int max)
{
	return backtrace(out, max);
}
