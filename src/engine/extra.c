/* SPDX-License-Identifier: MIT
 *
 * extra.c - what only some sessions have: made when first needed, kept by the worker for the next one.
 *
 * A worker's thread. Floor 4.
 */
#include "weir/engine/extra.h"

#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/engine/session.h"
#include "weir/engine/worker.h"

struct session_extra *session_extra(struct session *s)
{
	struct worker *w = s->worker;
	struct session_extra *x;

	if (s->extra != NULL)
		return s->extra;
	if (list_empty(&w->extras)) {
		x = malloc(sizeof(*x));
		if (x == NULL)
			return NULL;
	} else {
		x = list_entry(w->extras.next, struct session_extra, link);
		list_remove(&x->link);
	}
	memset(x, 0, sizeof(*x));
	x->session = s;
	s->extra = x;
	return x;
}

void session_extra_put(struct session *s)
{
	struct session_extra *x = s->extra;

	check(x->waiter.state == WAITER_NONE);
	check(x->source == NULL && x->wait.waiter.entry == NULL);
	check(x->head == NULL && x->proxy == NULL);
	s->extra = NULL;
	x->session = NULL;
	list_push_back(&s->worker->extras, &x->link);
}

void session_extras_free(struct worker *w)
{
	while (!list_empty(&w->extras)) {
		struct session_extra *x = list_entry(w->extras.next, struct session_extra, link);

		list_remove(&x->link);
		free(x);
	}
}
