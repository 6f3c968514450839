/* SPDX-License-Identifier: MIT
 *
 * admin_cause.h - who wants a change, for the log, the history and marks; and why one failed.
 *
 * Only a number: looking up user names may take arbitrarily long. Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_CAUSE_H
#define WEIR_ADMIN_ADMIN_CAUSE_H

#include <stdio.h>

#include "weir/admin/admin_answers.h"
#include "weir/base/mark.h"

#define ADMIN_CAUSE_MAX 48

static inline const char *admin_cause(const struct admin_call *c, char buf[static ADMIN_CAUSE_MAX])
{
	if (c->peer->uid == (uid_t)-1)
		(void)snprintf(buf, ADMIN_CAUSE_MAX, "over the admin socket"); /* short, like the one below */
	else
		(void)snprintf(buf, ADMIN_CAUSE_MAX, "by uid %u over the admin socket",
			       (unsigned)c->peer->uid);
	return buf;
}

static inline struct mark admin_mark(const struct admin_call *c)
{
	return mark_now(c->peer->uid);
}

#endif
