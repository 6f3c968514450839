/* SPDX-License-Identifier: MIT
 *
 * extra.c - what only some sessions have, made when first needed.
 *
 * A worker's thread.
 */
#include "extra.h"

#include <stddef.h>
#include <string.h>

#include "weir/base/check.h"
#include "server_port.h"
#include "session.h"
#include "worker.h"

_Static_assert(offsetof(struct session_extra, link) == 0, "the slab's list while it is free");

static const struct slab_kind extra_kind = {.bytes = sizeof(struct session_extra)};

void session_extras_init(struct slab *slab)
{
	slab_init(slab, &extra_kind);
}

struct session_extra *session_extra(struct session *s)
{
	struct session_extra *x = s->extra;

	if (x != NULL)
		return x;
	x = slab_get(&s->worker->extras);
	if (x == NULL)
		return NULL;
	memset(x, 0, sizeof(*x));
	x->session = s;
	s->extra = x;
	return x;
}

void session_extra_drop_bufs(struct session *s)
{
	struct session_extra *x = s->extra;

	check(x->session == s);
	if (x->head != NULL)
		buf_put(&s->worker->loop.bufs, x->head);
	x->head = NULL;
	if (x->proxy != NULL)
		buf_put(&s->worker->loop.bufs, x->proxy);
	x->proxy = NULL;
}

void session_extra_put(struct session *s)
{
	struct session_extra *x = s->extra;

	check(x->session == s);
	check(x->waiter.state == WAITER_NONE);
	check(x->source == NULL && x->wait.waiter.entry == NULL);
	check(x->head == NULL && x->proxy == NULL);
	server_port_drop(s);
	session_name_drop(s);
	s->extra = NULL;
	x->session = NULL;
	slab_put(&s->worker->extras, x);
}
