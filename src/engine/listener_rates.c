/* SPDX-License-Identifier: MIT
 *
 * listener_rates.c - the rates that limit a listener: that of its frontend, and that of the process.
 *
 * Owns which of them a place was taken of. A worker's thread.
 */
#include "listener_rates.h"

bool listener_rate_has_place(const struct listener *l, enum listener_limit why)
{
	struct rate *rate = why == LIMIT_PROCESS_RATE ? &l->worker->engine->rate : &l->frontend->rate;

	return rate_has_room(rate, l->worker->loop.now_ns);
}

void listener_force_rates(struct listener *l)
{
	const int64_t now_ns = l->worker->loop.now_ns;

	l->rated = listener_has_own_rate(l);
	l->process_rated = listener_has_process_rate(l);
	if (l->rated)
		rate_force(&l->frontend->rate, now_ns);
	if (l->process_rated)
		rate_force(&l->worker->engine->rate, now_ns);
}

void listener_give_back_rates(struct listener *l)
{
	const int64_t now_ns = l->worker->loop.now_ns;

	if (l->rated)
		rate_give_back(&l->frontend->rate, now_ns);
	if (l->process_rated)
		rate_give_back(&l->worker->engine->rate, now_ns);
	l->rated = false;
	l->process_rated = false;
}

enum listener_limit listener_take_rates(struct listener *l, int64_t *due_ns)
{
	const int64_t now_ns = l->worker->loop.now_ns;

	if (listener_has_own_rate(l)) {
		*due_ns = rate_take(&l->frontend->rate, now_ns);
		if (*due_ns > 0)
			return LIMIT_RATE;
		l->rated = true;
	}
	if (!listener_has_process_rate(l))
		return LIMIT_NONE;
	*due_ns = rate_take(&l->worker->engine->rate, now_ns);
	l->process_rated = *due_ns == 0;
	if (l->process_rated)
		return LIMIT_NONE;
	listener_give_back_rates(l); /* nobody is woken: no other listener has room, either */
	return LIMIT_PROCESS_RATE;
}
