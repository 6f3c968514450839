/* SPDX-License-Identifier: MIT
 *
 * persist.c - the server that a client wants to come back to, as `persist` of its backend says.
 *
 * What the client has sent is in its extra, so a session without one costs a look at a pointer. A worker's
 * thread.
 */
#include "persist.h"

#include "weir/balance/backend.h"
#include "weir/balance/server.h"
#include "extra.h"
#include "session.h"

struct server *persist_home(const struct session *s)
{
	const struct session_extra *x = s->extra;

	if (likely(x == NULL) || x->home.port == 0 || s->tries > 0)
		return NULL;
	if (s->back->config->persist != CONFIG_PERSIST_RDP)
		return NULL;
	return roster_find_home(backend_roster(s->back->backend), x->home.ip, x->home.port);
}

/* One that drains has no queue. */
bool persist_may_go_home(const struct session *s)
{
	const struct server *home = persist_home(s);

	if (home == NULL || atomic_load_explicit(&home->in_roster, memory_order_relaxed))
		return home != NULL;
	return server_has_place(home);
}
