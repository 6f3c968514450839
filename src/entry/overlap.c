/* SPDX-License-Identifier: MIT
 *
 * overlap.c - transactions of endpoints, and new addresses beside those that they overlap with.
 *
 * Owns which sockets share their port, and which are bound and do not listen yet. Control thread.
 */
#include <errno.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/net/addr_reach.h"
#include "weir/net/sock_leave.h"
#include "parts.h"

/* ---- which addresses overlap ---- */

static struct addr_reach reach_of(const struct endpoint *ep)
{
	return (struct addr_reach){.addr = &ep->addr, .v6only = ep->config->v6only};
}

static bool overlap(const struct endpoint *a, const struct endpoint *b)
{
	const struct addr_reach x = reach_of(a), y = reach_of(b);
	const char *there = a->config->interface, *here = b->config->interface;

	/* Sockets of different interfaces do not meet. */
	if (there != NULL && here != NULL && strcmp(there, here) != 0)
		return false;
	return addr_overlaps(&x, &y);
}

static void lend(struct entries *e, struct endpoint *ep)
{
	list_remove(&ep->lent_link);
	list_push_back(&e->lent, &ep->lent_link);
}

static void take_back(struct entries *e)
{
	while (!list_empty(&e->lent)) {
		struct endpoint *ep = list_entry(e->lent.next, struct endpoint, lent_link);

		/* One that fails would let in another socket of our own user that asks for it. */
		if (ep->fd >= 0)
			(void)sock_unshare_port(ep->fd);
		list_remove(&ep->lent_link);
	}
}

/* Lets `ep` be bound beside those of these frontends that it overlaps with; `*in_way` is one of them, an
 * inherited one if there is any. 0 or -errno. */
static int share_with(struct entries *e, struct list *frontends, const struct endpoint *ep,
		      const struct endpoint **in_way)
{
	for (struct list *l = frontends->next; l != frontends; l = l->next) {
		struct frontend *fe = list_entry(l, struct frontend, link);

		frontend_foreach_endpoint(fe, other) {
			int err;

			if (other->fd < 0 || !overlap(ep, other))
				continue;
			if (*in_way == NULL || !(*in_way)->inherited)
				*in_way = other;
			if (other->inherited || !list_empty(&other->lent_link))
				continue;
			err = sock_share_port(other->fd);
			if (err)
				return err;
			lend(e, other);
		}
	}
	return 0;
}

/* Another one of this transaction, which would refuse it at listen(2). */
static const struct endpoint *find_bound(const struct entries *e, const struct endpoint *ep)
{
	for (const struct list *l = e->bound.next; l != &e->bound; l = l->next) {
		const struct endpoint *other = list_entry(l, struct endpoint, bound_link);

		if (overlap(ep, other))
			return other;
	}
	return NULL;
}

/* ---- binding ---- */

static int bind_beside(struct entries *e, struct endpoint *ep, struct entry_error *error)
{
	const struct endpoint *in_way = NULL;
	int err;

	error->in_way = find_bound(e, ep);
	if (error->in_way != NULL)
		return -EADDRINUSE;
	err = share_with(e, &e->frontends, ep, &in_way);
	if (!err)
		err = share_with(e, &e->leaving, ep, &in_way);
	if (!err)
		err = endpoint_bind(ep, in_way != NULL);
	if (err == -EADDRINUSE)
		error->in_way = in_way;
	if (!err && in_way != NULL)
		lend(e, ep);
	return err;
}

int endpoint_bind_beside(struct entries *e, struct endpoint *ep, struct entry_error *error)
{
	int err = bind_beside(e, ep, error);

	if (!err && e->is_open)
		list_push_back(&e->bound, &ep->bound_link);
	if (e->is_open)
		return err;
	if (!err)
		err = endpoint_listen(ep);
	take_back(e);
	return err;
}

/* ---- transactions ---- */

void entries_begin(struct entries *e)
{
	check(!e->is_open);
	check(list_empty(&e->bound) && list_empty(&e->lent));
	e->is_open = true;
}

int entries_listen(struct entries *e, struct endpoint **failed)
{
	check(e->is_open);
	while (!list_empty(&e->bound)) {
		struct endpoint *ep = list_entry(e->bound.next, struct endpoint, bound_link);
		const int err = endpoint_listen(ep);

		if (err) {
			*failed = ep;
			return err;
		}
		list_remove(&ep->bound_link);
	}
	return 0;
}

void entries_end(struct entries *e)
{
	check(e->is_open);
	check(list_empty(&e->bound)); /* all was committed or undone */
	e->is_open = false;
	take_back(e);
}
