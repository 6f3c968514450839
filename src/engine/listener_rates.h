/* SPDX-License-Identifier: MIT
 *
 * listener_rates.h - the rates that limit a listener: that of its frontend, and that of the process.
 *
 * A worker's thread.
 */
#ifndef WEIR_ENGINE_LISTENER_RATES_H
#define WEIR_ENGINE_LISTENER_RATES_H

#include "weir/engine/engine.h"
#include "listener.h"
#include "worker.h"

static inline bool listener_has_own_rate(const struct listener *l)
{
	return rate_limit(&l->frontend->rate) > 0;
}

static inline bool listener_has_process_rate(const struct listener *l)
{
	return atomic_load_explicit(&l->worker->engine->settings.rate_limit, memory_order_relaxed) > 0;
}

/* Does any rate limit it? */
static inline bool listener_has_rate(const struct listener *l)
{
	return unlikely(listener_has_own_rate(l)) || unlikely(listener_has_process_rate(l));
}

/* Has the rate that `why` names a place? */
bool listener_rate_has_place(const struct listener *l, enum listener_limit why);
/* Takes a place of each, for the next client. LIMIT_NONE; or the rate that has none, with the time of its
 * next one, and none is taken. */
enum listener_limit listener_take_rates(struct listener *l, int64_t *due_ns);
/* Takes them whether there are any or not. */
void listener_force_rates(struct listener *l);
/* No client has come for those that were taken. */
void listener_give_back_rates(struct listener *l);

#endif
