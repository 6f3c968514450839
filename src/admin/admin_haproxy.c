/* SPDX-License-Identifier: MIT
 *
 * admin_haproxy.c - what HAProxy's tools ask for, and of which there is little to say here.
 *
 * Main thread.
 */
#include <stdio.h>
#include <time.h>

#include "weir/admin/admin_answers.h"
#include "weir/base/clock.h"

#define DATE_MAX 32

void admin_show_version(const struct admin_call *c)
{
	admin_say(c, ADMIN_SAYS_INFO, "%s", WEIR_VERSION);
}

/* HAProxy keeps requests and responses of HTTP that it could not read. There are none here; our clients are
 * shown failures of sessions. */
void admin_show_errors(const struct admin_call *c)
{
	const int64_t now_ns = clock_wall_ns();
	const time_t now = (time_t)(now_ns / NS_PER_SEC);
	char date[DATE_MAX];
	unsigned iid;
	struct tm tm;

	if (c->ours || c->json != NULL) {
		admin_show_failures(c);
		return;
	}
	if (c->arg_count > 0 && admin_proxy_iid(c->ctx->engine, c->args[0]) == 0 &&
	    (!admin_read_number(c->args[0], INT32_MAX, &iid) || iid == 0)) {
		admin_refuse_proxy(c, c->args[0]);
		return;
	}
	if (localtime_r(&now, &tm) == NULL || strftime(date, sizeof(date), "%d/%b/%Y:%H:%M:%S", &tm) == 0)
		(void)snprintf(date, sizeof(date), "-"); /* short */
	text_printf(c->out, "Total events captured on [%s.%03d] : 0\n", date,
		    (int)(now_ns % NS_PER_SEC / NS_PER_MS));
}
