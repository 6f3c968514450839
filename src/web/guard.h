/* SPDX-License-Identifier: MIT
 *
 * guard.h - lets requests pass to the HTTP endpoint, or refuses them: which paths need a password, and what
 * clients without one get.
 *
 * Passwords are judged by auth.h; this file knows HTTP. Main thread.
 */
#ifndef WEIR_WEB_GUARD_H
#define WEIR_WEB_GUARD_H

#include <ev.h>
#include <microhttpd.h>

#include "auth.h"
#include "weir/web/web.h"
#include "wish.h"

struct guard {
	struct ev_loop *loop; /* borrows, as the next two */
	struct web_totals *totals;
	const struct web_socket *socket; /* its configuration says who needs a password */
	struct auth *auth;		 /* owns; NULL = nobody has needed a password yet */
};

/* One request. `waiter.link` is initialised once, and `waiter.done` is the owner's. */
struct guest {
	struct auth_waiter waiter;
	enum auth_verdict verdict;	   /* AUTH_NONE at the beginning of a request */
	struct MHD_Connection *connection; /* borrows */
	int fd;
};

/* Nobody may wait. */
void guard_free(struct guard *g);
/* Sets `verdict` of a request for this route (NULL = for an unknown path). AUTH_NONE: waiter.done is called
 * later, unless guard_forget() is called first. */
void guard_judge(struct guard *g, struct guest *guest, const struct route_row *route);
void guard_forget(struct guard *g, struct guest *guest);
/* The response for a verdict other than AUTH_PASS, and its status; NULL when out of memory. */
struct MHD_Response *guard_refuse(const struct guard *g, const struct guest *guest, unsigned *status);

#endif
