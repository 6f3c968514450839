/* SPDX-License-Identifier: MIT
 *
 * admin_refuse.c - messages and refusals: in HAProxy's words for its tools, or in ours with what to do.
 *
 * Main thread.
 */
#include <stdarg.h>

#include "weir/admin/admin_answers.h"

void admin_begin_message(const struct admin_call *c, enum admin_says kind)
{
	static const char *const words[] = {
		[ADMIN_SAYS_ERROR] = "err",
		[ADMIN_SAYS_WARNING] = "warning",
		[ADMIN_SAYS_NOTICE] = "notice",
		[ADMIN_SAYS_INFO] = "info",
	};

	if (c->ours || c->peer->severity == ADMIN_SEVERITY_NONE)
		return;
	if (c->peer->severity == ADMIN_SEVERITY_NUMBER)
		text_printf(c->out, "[%d]: ", (int)kind);
	else
		text_printf(c->out, "[%s]: ", words[kind]);
}

void admin_vsay(const struct admin_call *c, enum admin_says kind, const char *fmt, va_list ap)
{
	admin_begin_message(c, kind);
	text_vprintf(c->out, fmt, ap);
	text_add(c->out, "\n", 1);
}

void admin_say(const struct admin_call *c, enum admin_says kind, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	admin_vsay(c, kind, fmt, ap);
	va_end(ap);
}

void admin_refuse(const struct admin_call *c, const char *haproxy, const char *fmt, ...)
{
	va_list ap;

	if (!c->ours && haproxy != NULL) {
		admin_say(c, ADMIN_SAYS_ERROR, "%s", haproxy);
		return;
	}
	admin_begin_message(c, ADMIN_SAYS_ERROR);
	text_printf(c->out, "error: ");
	va_start(ap, fmt);
	text_vprintf(c->out, fmt, ap);
	va_end(ap);
	text_add(c->out, "\n", 1);
}
