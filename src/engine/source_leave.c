/* SPDX-License-Identifier: MIT
 *
 * source_leave.c - a session leaves its source: first it announces that, then its place is free.
 *
 * admission.c decides who is counted, source_table.c who gets the place. A worker's thread.
 */
#include "source_leave.h"

#include "weir/base/check.h"
#include "weir/engine/engine.h"
#include "weir/net/source_table.h"
#include "extra.h"
#include "session.h"

void source_leave_soon(struct session *s)
{
	struct session_extra *x = s->extra;

	if (likely(x == NULL) || x->source == NULL || x->ending)
		return;
	check(s->entry->frontend->sources != NULL);
	check(x->session == s);
	x->ending = true;
	source_table_ending(s->entry->frontend->sources, x->source);
}

bool source_leave(struct session *s)
{
	struct session_extra *x = s->extra;
	bool is_passed_on;

	if (likely(x == NULL) || x->source == NULL)
		return false;
	check(s->entry->frontend->sources != NULL);
	check(!s->slotless); /* it has the slot of the session that left it the place */
	is_passed_on = source_table_leave(s->entry->frontend->sources, x->source, x->ending);
	x->source = NULL;
	return is_passed_on;
}
