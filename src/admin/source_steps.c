/* SPDX-License-Identifier: MIT
 *
 * source_steps.c - what the limits per source mean for a client, as steps of `explain`.
 *
 * Takes no place and counts nothing. Main thread.
 */
#include "source_steps.h"

#include <stdio.h>

#include "weir/admin/admin_answers.h"
#include "weir/base/clock.h"
#include "weir/config/values.h"
#include "weir/entry/rules.h"
#include "weir/net/source_table.h"
#include "admin_steps.h"

static bool explain_rate(const struct admin_call *c, struct frontend *fe, const struct addr_brief *client,
			 char *why, size_t room)
{
	struct source_rates *rates = atomic_load_explicit(&fe->source_rates, memory_order_acquire);
	const struct config_source_rate *r = &fe->settings->config->source_rate;
	char period[VALUE_TEXT_MAX], wait[VALUE_TEXT_MAX];
	int64_t wait_ns;

	if (r->count == 0 || rates == NULL)
		return true;
	(void)value_format_duration(r->period_ns, period);
	wait_ns = source_rates_wait_ns(rates, client, &fe->settings->source_rate, clock_mono_ns());
	if (wait_ns == 0) {
		steps_add(c, "rate-limit-per-source", "%u connections in %s, burst %u: the source may "
			  "open one", r->count, period, r->burst);
		return true;
	}
	wait_ns = (wait_ns + NS_PER_MS - 1) / NS_PER_MS * NS_PER_MS;
	(void)snprintf(why, room, "the source has opened %u connections in %s, burst %u, and may open the "
		       "next one after %s (rate-limit-per-source)", r->count, period, r->burst,
		       value_format_duration(wait_ns, wait)); /* what is cut does not mislead */
	return false;
}

static bool explain_sessions(const struct admin_call *c, const struct frontend *fe,
			     const struct addr_brief *client, char *why, size_t room)
{
	struct source_table *sources = atomic_load_explicit(&fe->sources, memory_order_acquire);
	const unsigned limit = fe->settings->config->maxconn_per_source;
	unsigned count;

	if (limit == 0 || sources == NULL)
		return true;
	count = source_table_count(sources, client);
	if (count < limit) {
		steps_add(c, "maxconn-per-source", "the source has %u of %u sessions", count, limit);
		return true;
	}
	(void)snprintf(why, room, "the source has %u of %u sessions (maxconn-per-source)", count, limit);
	return false;
}

bool source_steps_explain(const struct admin_call *c, struct frontend *fe, const struct addr_brief *client,
			  char *why, size_t room)
{
	const struct config_frontend *rules = fe->settings->config;

	if (!rules_has_ip(client))
		return true;
	if (!rules_limit_source(rules, client)) {
		steps_add(c, "limit-exempt", "contains the address: no limit per source applies");
		return true;
	}
	return explain_rate(c, fe, client, why, room) && explain_sessions(c, fe, client, why, room);
}
