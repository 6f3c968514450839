/* SPDX-License-Identifier: MIT
 *
 * admin_refuse.c - refusals: in HAProxy's words for its tools, or in ours with what to do.
 *
 * Main thread.
 */
#include <stdarg.h>

#include "weir/admin/admin_answers.h"

void admin_refuse(const struct admin_call *c, const char *haproxy, const char *fmt, ...)
{
	va_list ap;

	if (!c->ours && haproxy != NULL) {
		text_printf(c->out, "%s\n", haproxy);
		return;
	}
	text_printf(c->out, "error: ");
	va_start(ap, fmt);
	text_vprintf(c->out, fmt, ap);
	va_end(ap);
	text_add(c->out, "\n", 1);
}
