/* SPDX-License-Identifier: MIT
 *
 * health.c - HAProxy's counter of good and bad health checks.
 *
 * A pure state machine: no clock, no socket. Control thread.
 */
#include "weir/balance/health.h"

#include "weir/base/check.h"
#include "weir/config/config.h"

void health_init(struct health *h, unsigned rise, unsigned fall)
{
	check(rise > 0 && fall > 0);
	h->rise = rise;
	h->fall = fall;
	h->health = rise;
}

bool health_is_up(const struct health *h)
{
	return h->health >= h->rise;
}

enum health_change health_good(struct health *h)
{
	const bool was_up = health_is_up(h);

	if (h->health < h->rise + h->fall - 1)
		h->health++;
	if (h->health >= h->rise)
		h->health = h->rise + h->fall - 1;
	return !was_up && health_is_up(h) ? HEALTH_WENT_UP : HEALTH_SAME;
}

enum health_change health_bad(struct health *h)
{
	const bool was_up = health_is_up(h);

	if (h->health > 0)
		h->health--;
	if (h->health < h->rise)
		h->health = 0;
	return was_up && !health_is_up(h) ? HEALTH_WENT_DOWN : HEALTH_SAME;
}

void health_rescale(struct health *h, unsigned rise, unsigned fall)
{
	const bool up = health_is_up(h);
	const unsigned failures = h->rise + h->fall - 1 - h->health;

	check(rise > 0 && fall > 0);
	h->rise = rise;
	h->fall = fall;
	if (up)
		h->health = rise + fall - 1 - (failures < fall ? failures : fall - 1);
	else if (h->health > rise - 1)
		h->health = rise - 1;
}

int64_t health_interval_ns(const struct health *h, const struct config_check *c)
{
	if (h->health == h->rise + h->fall - 1)
		return c->interval_ns;
	if (h->health == 0 && c->down_ns > 0)
		return c->down_ns;
	return c->fast_ns > 0 && h->health != 0 ? c->fast_ns : c->interval_ns;
}
