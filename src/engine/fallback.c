/* SPDX-License-Identifier: MIT
 *
 * fallback.c - a session leaves a backend that has no server for the fallback-backend.
 *
 * From then on it is a session of that backend: its settings apply, and it counts there. Nothing brings it
 * back. A worker's thread.
 */
#include "fallback.h"

#include "weir/balance/fallback.h"
#include "weir/base/check.h"
#include "persist.h"
#include "session.h"
#include "stuck.h"
#include "worker.h"

bool fallback_follow(struct session *s)
{
	const struct backend *from = s->back->backend;
	const bool counted = s->backend_counted;
	const struct backend *to;

	check(!s->server_counted);
	if (likely(backend_fallback(from) == NULL) || s->tries > 0)
		return false;
	check(s->at == NULL);
	to = backend_serving(from);
	if (to == from)
		return backend_roster(from)->count > 0; /* again; if it has none, the links form a circle */
	if (stuck_has_server(s) || persist_may_go_home(s))
		return true; /* drained as it is */
	if (atomic_load_explicit(&to->removed, memory_order_acquire))
		return true; /* it was unlinked before */
	if (counted)
		tally_backend_left(s);
	session_use_backend(s, to);
	if (counted)
		tally_backend_entered(s);
	return true;
}
