/* SPDX-License-Identifier: MIT
 *
 * entries.c - where clients come in: all frontends and their endpoints.
 *
 * Owns them and their order. Control thread.
 */
#include "weir/entry/entries.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/balance/backend.h"
#include "weir/base/check.h"
#include "weir/config/bind_range.h"
#include "parts.h"

int entries_init(struct entries *e, struct live *live)
{
	memset(e, 0, sizeof(*e));
	e->live = live;
	list_init(&e->frontends);
	list_init(&e->leaving);
	list_init(&e->deaf);
	list_init(&e->bound);
	list_init(&e->lent);
	chunks_init(&e->by_slot, sizeof(_Atomic(struct endpoint *)));
	return slot_space_add_table(&live->endpoints, &e->by_slot);
}

/* ---- from a configuration ---- */

void entries_publish(struct entries *e, struct endpoint *ep, struct list *before)
{
	list_push_back(before, &ep->link); /* in front of it */
	e->endpoint_count++;
	atomic_store_explicit((_Atomic(struct endpoint *) *)chunks_at(&e->by_slot, ep->slot), ep,
			      memory_order_release);
}

void entries_withdraw(struct entries *e, struct endpoint *ep)
{
	atomic_store_explicit((_Atomic(struct endpoint *) *)chunks_at(&e->by_slot, ep->slot), NULL,
			      memory_order_release);
	check(e->endpoint_count > 0);
	e->endpoint_count--;
}

static int build_endpoints(struct entries *e, struct frontend *fe, const struct config_frontend *config)
{
	unsigned lines = 0;

	for (size_t i = 0; i < config->bind_count; i++) {
		struct endpoint *ep = endpoint_new(e, fe->settings, &config->binds[i]);

		if (ep == NULL)
			return -ENOMEM;
		lines += i == 0 || !bind_shares_line(&config->binds[i - 1], &config->binds[i]);
		ep->number = lines;
		entries_publish(e, ep, &fe->endpoints);
	}
	return 0;
}

static int build_frontend(struct entries *e, const struct config_frontend *config,
			  struct backend *const *backends)
{
	struct backend **routes = calloc(config->route_count + 1, sizeof(struct backend *));
	struct frontend *fe;

	if (routes == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < config->route_count; i++)
		routes[i] = backends[config->routes[i].backend];
	fe = frontend_new(e, config, backends[config->backend], routes);
	free(routes);
	if (fe == NULL)
		return -ENOMEM;
	list_push_back(&e->frontends, &fe->link);
	return build_endpoints(e, fe, config);
}

/* A [listen] takes the number of its frontend, and leaves a gap among those of backends. */
static void number(struct entries *e, struct backend *const *backends, size_t count)
{
	unsigned next = 0;

	entries_foreach_frontend(e, fe) {
		fe->iid = ++next;
		if (fe->config->listen)
			fe->settings->backend->iid = fe->iid;
	}
	e->live->last_iid = next;
	for (size_t i = 0; i < count; i++) {
		next++;
		if (backends[i]->iid == 0)
			e->live->last_iid = backends[i]->iid = next;
	}
}

int entries_build(struct entries *e, const struct config *c, struct backend *const *backends)
{
	for (size_t i = 0; i < c->frontend_count; i++) {
		int err;

		check(c->frontends[i].backend < c->backend_count);
		err = build_frontend(e, &c->frontends[i], backends);
		if (err)
			return err;
	}
	number(e, backends, c->backend_count);
	return 0;
}

/* ---- sockets ---- */

static struct endpoint *find_bind(const struct entries *e, const struct config_bind *b)
{
	entries_foreach_frontend(e, fe) {
		frontend_foreach_endpoint(fe, ep) {
			if (ep->origin == b)
				return ep;
		}
	}
	return NULL;
}

/* One more endpoint of the same bind, after `ep`. */
static struct endpoint *add_part(struct entries *e, struct endpoint *ep)
{
	struct endpoint *more = endpoint_new(e, ep->frontend->settings, ep->origin);

	if (more == NULL)
		return NULL;
	more->number = ep->number;
	entries_publish(e, more, ep->link.next);
	return more;
}

int entries_adopt(struct entries *e, const struct config_bind *b, int *fds, size_t count)
{
	struct endpoint *ep = find_bind(e, b);

	check(count > 0);
	check(b->addr.kind == ADDR_FD);
	check(ep != NULL);
	check(ep->fd < 0);
	for (size_t i = 0; i < count; i++) {
		int err;

		if (i > 0)
			ep = add_part(e, ep);
		if (ep == NULL)
			return -ENOMEM;
		ep->part = count > 1 ? (unsigned)i + 1 : 0;
		err = endpoint_adopt(ep, fds[i]);
		fds[i] = -1;
		if (err)
			return err;
	}
	return 0;
}

static void close_all(struct list *frontends)
{
	for (struct list *l = frontends->next; l != frontends; l = l->next) {
		struct frontend *fe = list_entry(l, struct frontend, link);

		frontend_foreach_endpoint(fe, ep)
			endpoint_close(ep);
	}
}

void entries_close(struct entries *e)
{
	close_all(&e->frontends);
	close_all(&e->leaving);
}

/* ---- freeing, finding ---- */

static void free_endpoints(struct entries *e, struct frontend *fe)
{
	while (!list_empty(&fe->endpoints)) {
		struct endpoint *ep = list_entry(fe->endpoints.next, struct endpoint, link);

		entries_withdraw(e, ep);
		endpoint_free(e, ep);
	}
}

void entries_free(struct entries *e)
{
	check(list_empty(&e->leaving));
	while (!list_empty(&e->frontends)) {
		struct frontend *fe = list_entry(e->frontends.next, struct frontend, link);

		free_endpoints(e, fe);
		frontend_free(e, fe);
	}
	check(e->endpoint_count == 0);
	slot_space_remove_table(&e->live->endpoints, &e->by_slot);
	chunks_free(&e->by_slot);
}

struct frontend *entries_find(const struct entries *e, const char *name)
{
	entries_foreach_frontend(e, fe) {
		if (strcmp(fe->config->name, name) == 0)
			return fe;
	}
	return NULL;
}

bool entries_have_fd(const struct entries *e, int fd)
{
	entries_foreach_frontend(e, fe) {
		frontend_foreach_endpoint(fe, ep) {
			if (ep->fd == fd)
				return true;
		}
	}
	return false;
}
