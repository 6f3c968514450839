/* SPDX-License-Identifier: MIT
 *
 * explain_server.c - a server in the answer of `explain`. Main thread.
 */
#include "explain_server.h"

#include <stdio.h>

#include "weir/account/close_reason.h"
#include "weir/engine/egress.h"
#include "weir/entry/rules.h"
#include "admin_steps.h"

void explain_server(const struct admin_call *c, const struct server *s, enum preview_fate fate)
{
	const unsigned limit = atomic_load_explicit(&s->limit, memory_order_relaxed);
	const int sessions = atomic_load_explicit(&s->sessions, memory_order_relaxed);
	const char *state = server_state_text((enum server_state)atomic_load_explicit(&s->state,
										      memory_order_relaxed));
	const struct addr *a = server_addr(s);
	char text[ADDR_TEXT_MAX], most[32] = "";

	if (limit != 0)
		(void)snprintf(most, sizeof(most), " of %u", limit); /* fits */
	steps_server(c, s, preview_word(fate), "%s, %s, weight %u, %d%s sessions, %d queued: %s",
		     a != NULL ? addr_format(a, text) : "no address", state, server_weight_now(s), sessions,
		     most, atomic_load_explicit(&s->queued, memory_order_relaxed), preview_text(fate));
}

const char *explain_name(const struct server *s, const struct rules_hello *hello)
{
	char name[EGRESS_NAME_MAX];
	enum close_reason why;

	if (s->config->addr.kind != ADDR_SNI)
		return NULL;
	why = egress_name_reason(s->backend, (const uint8_t *)hello->name, hello->came ? hello->name_len : 0,
				 name);
	return why != CLOSE_NORMAL ? close_reason_row(why)->words : NULL;
}
