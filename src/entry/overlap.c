/* SPDX-License-Identifier: MIT
 *
 * overlap.c - transactions of endpoints, and new addresses beside those that they overlap with.
 *
 * Owns which sockets share their port, and which are bound and do not listen yet. A wildcard and one address
 * may have the same port: the kernel lets both listen only while both share it. Control thread.
 */
#include <errno.h>
#include <stdlib.h>
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

/* Clients of one address go there, and all others to the wildcard; but two that are alike would share the
 * clients of both, whoever they are for. */
static bool are_alike(const struct endpoint *a, const struct endpoint *b)
{
	const struct addr_reach x = reach_of(a), y = reach_of(b);

	return overlap(a, b) && !addr_is_narrower(&x, &y) && !addr_is_narrower(&y, &x);
}

static int share(struct entries *e, struct endpoint *ep)
{
	int err;

	if (!list_empty(&ep->lent_link))
		return 0;
	err = sock_share_port(ep->fd);
	if (!err)
		lend(e, ep);
	return err;
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
			err = other->inherited ? 0 : share(e, other);
			if (err)
				return err;
		}
	}
	return 0;
}

/* Another one of this transaction that is bound to the same address; `*beside` says whether it overlaps with
 * any. */
static const struct endpoint *find_bound(const struct entries *e, const struct endpoint *ep, bool *beside)
{
	*beside = false;
	for (const struct list *l = e->bound.next; l != &e->bound; l = l->next) {
		const struct endpoint *other = list_entry(l, struct endpoint, bound_link);

		if (!overlap(ep, other))
			continue;
		*beside = true;
		if (are_alike(ep, other))
			return other;
	}
	return NULL;
}

/* With others of this transaction. None of them listens yet, so that bind(2) needs no option for it, and
 * refuses what another process has. */
static int share_with_bound(struct entries *e, struct endpoint *ep)
{
	int err = 0;

	for (struct list *l = e->bound.next; l != &e->bound && !err; l = l->next) {
		struct endpoint *other = list_entry(l, struct endpoint, bound_link);

		if (!overlap(ep, other))
			continue;
		err = share(e, other);
		if (!err)
			err = share(e, ep);
	}
	return err;
}

/* ---- binding ---- */

static int bind_beside(struct entries *e, struct endpoint *ep, struct entry_error *error)
{
	const struct endpoint *in_way = NULL;
	bool beside;
	int err;

	error->in_way = find_bound(e, ep, &beside);
	if (error->in_way != NULL)
		return -EADDRINUSE;
	err = share_with(e, &e->frontends, ep, &in_way);
	if (!err)
		err = share_with(e, &e->leaving, ep, &in_way);
	if (!err)
		err = endpoint_bind(ep, in_way != NULL);
	if (err == -EADDRINUSE)
		error->in_way = in_way;
	if (err)
		return err;
	if (in_way != NULL)
		lend(e, ep);
	return beside ? share_with_bound(e, ep) : 0;
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

/* ---- at the start ---- */

static bool is_wildcard(const struct endpoint *ep)
{
	const struct addr_reach r = reach_of(ep);

	return addr_covers(&r, &r);
}

static int compare_hosts(const struct addr *a, const struct addr *b)
{
	struct addr_brief x, y;

	addr_to_brief(&a->sa, a->len, &x);
	addr_to_brief(&b->sa, b->len, &y);
	if (x.family != y.family)
		return x.family < y.family ? -1 : 1;
	return memcmp(x.ip, y.ip, sizeof(x.ip));
}

/* By port; then wildcards, and the others by address. */
static int compare(const void *left, const void *right)
{
	const struct endpoint *a = *(struct endpoint *const *)left, *b = *(struct endpoint *const *)right;

	if (addr_port(&a->addr) != addr_port(&b->addr))
		return addr_port(&a->addr) < addr_port(&b->addr) ? -1 : 1;
	if (is_wildcard(a) != is_wildcard(b))
		return is_wildcard(a) ? -1 : 1;
	return compare_hosts(&a->addr, &b->addr);
}

/* Those of TCP that we have bound, sorted. NULL when out of memory; the caller frees it. */
static struct endpoint **sort_bound(struct entries *e, size_t *count)
{
	struct endpoint **list = calloc((size_t)e->endpoint_count + 1, sizeof(struct endpoint *));

	*count = 0;
	if (list == NULL)
		return NULL;
	entries_foreach_frontend(e, fe) {
		frontend_foreach_endpoint(fe, ep)
			if (ep->fd >= 0 && !ep->inherited && !addr_is_unix(&ep->addr))
				list[(*count)++] = ep;
	}
	qsort(list, *count, sizeof(struct endpoint *), compare);
	return list;
}

/* The wildcard list[0] with all others of its port, which are behind it. 0, or -errno with `*failed`. */
static int share_port(struct entries *e, struct endpoint *const *list, size_t count, struct endpoint **failed)
{
	const uint16_t port = addr_port(&list[0]->addr);

	for (size_t i = 1; i < count && addr_port(&list[i]->addr) == port; i++) {
		int err = 0;

		if (!overlap(list[0], list[i]))
			continue;
		/* Also where the kernel chose the port of one. */
		if (are_alike(list[0], list[i]) || are_alike(list[i - 1], list[i]))
			err = -EADDRINUSE;
		if (!err)
			err = share(e, list[0]);
		if (!err)
			err = share(e, list[i]);
		if (!err)
			continue;
		*failed = list[i];
		return err;
	}
	return 0;
}

static int share_all(struct entries *e, struct endpoint **failed)
{
	size_t count;
	struct endpoint **list = sort_bound(e, &count);
	int err = list == NULL ? -ENOMEM : 0;

	for (size_t i = 0; i < count && !err; i++)
		if (is_wildcard(list[i]))
			err = share_port(e, &list[i], count - i, failed);
	free(list);
	return err;
}

static int bind_alone(struct endpoint *ep)
{
	return endpoint_bind(ep, false);
}

/* Does so with each endpoint whose socket is not passed to us: one that was not passed has been refused. */
static int with_each(struct entries *e, int (*act)(struct endpoint *ep), struct endpoint **failed)
{
	entries_foreach_frontend(e, fe) {
		frontend_foreach_endpoint(fe, ep) {
			const int err = ep->config->addr.kind != ADDR_FD ? act(ep) : 0;

			if (err) {
				*failed = ep;
				return err;
			}
		}
	}
	return 0;
}

int entries_bind(struct entries *e, struct endpoint **failed)
{
	int err = with_each(e, bind_alone, failed);

	if (!err)
		err = share_all(e, failed);
	if (!err)
		err = with_each(e, endpoint_listen, failed);
	take_back(e);
	return err;
}
