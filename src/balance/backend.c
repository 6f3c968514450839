/* SPDX-License-Identifier: MIT
 *
 * backend.c - the servers of a backend at run time, and its current roster.
 *
 * Owns the servers, one reference to the roster, and the queue. Opens no sockets. Built, changed and freed by
 * control; backend_roster() is for any thread.
 */
#include "weir/balance/backend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/balance/change_log.h"
#include "weir/base/check.h"
#include "server_change.h"
#include "server_parts.h"

static int backend_init(struct backend *b, const struct config_backend *config)
{
	int err;

	b->config = config;
	spinlock_init(&b->roster_lock);
	err = queue_init(&b->queue, config->server_count);
	if (err)
		return err;
	if (config->server_count > 0) {
		/* The cache lines shared by workers are aligned, which malloc(3) does not guarantee. */
		b->servers = aligned_alloc(_Alignof(struct server),
					   config->server_count * sizeof(struct server));
		if (b->servers == NULL)
			return -ENOMEM;
	}
	for (; b->server_count < config->server_count; b->server_count++) {
		err = server_init(&b->servers[b->server_count], b, (unsigned)b->server_count);
		if (err)
			return err;
		if (config->servers[b->server_count].maxconn > 0)
			atomic_store(&b->limited, true);
	}
	b->told_usable = b->usable; /* nothing has gone down yet */
	return backend_refresh(b);
}

struct backend *backends_new(const struct config *c)
{
	/* One more than needed, so that having no backend does not look like running out of memory. */
	const size_t bytes = (c->backend_count + 1) * sizeof(struct backend);
	struct backend *backends = aligned_alloc(_Alignof(struct backend), bytes);

	if (backends == NULL)
		return NULL;
	memset(backends, 0, bytes);
	for (size_t i = 0; i < c->backend_count; i++) {
		if (backend_init(&backends[i], &c->backends[i]) != 0) {
			backends_free(backends, i + 1);
			return NULL;
		}
	}
	return backends;
}

void backends_free(struct backend *backends, size_t count)
{
	if (backends == NULL)
		return;
	for (size_t i = 0; i < count; i++) {
		struct backend *b = &backends[i];

		for (size_t j = 0; j < b->server_count; j++)
			server_free(&b->servers[j]);
		free(b->servers);
		queue_free(&b->queue);
		if (b->roster != NULL)
			roster_unref(b->roster);
	}
	free(backends);
}

/* Servers that stay are not touched: a queue that looks meanwhile would skip them. */
static void mark_chosen(struct backend *b, const struct roster *r)
{
	size_t next = 0;

	for (size_t i = 0; i < b->server_count; i++) {
		struct server *s = &b->servers[i];
		const bool chosen = next < r->count && r->by_place[next].server == s;

		next += chosen;
		if (atomic_load_explicit(&s->in_roster, memory_order_relaxed) != chosen)
			atomic_store(&s->in_roster, chosen);
	}
	check(next == r->count);
}

int backend_refresh(struct backend *b)
{
	const uint64_t number = atomic_load_explicit(&b->roster_number, memory_order_relaxed) + 1;
	struct roster *next = roster_new(b, number);
	struct roster *previous;

	if (next == NULL)
		return -ENOMEM;
	mark_chosen(b, next);
	spinlock_lock(&b->roster_lock);
	previous = b->roster;
	b->roster = next;
	atomic_store_explicit(&b->roster_number, number, memory_order_release);
	spinlock_unlock(&b->roster_lock);
	if (previous != NULL)
		roster_unref(previous);
	/* Even when nobody waits: its lock orders these changes before any client that begins to wait now. */
	queue_rearrange(b);
	b->stale = false;
	return 0;
}

int backend_changed(struct backend *b)
{
	if (!b->held)
		return backend_refresh(b);
	b->stale = true;
	return 0;
}

void backend_tell_last_one(struct backend *b)
{
	const size_t before = b->told_usable;
	const size_t used = b->roster->count;

	if (b->stale)
		return; /* logged with the pending roster */
	b->told_usable = b->usable;
	if (before == 0 || b->usable > 0)
		return;
	change_log_backend_down(b, used);
}

void backend_hold(struct backend *b)
{
	b->held = true;
}

int backend_release(struct backend *b)
{
	if (b->stale) {
		const int err = backend_refresh(b);

		if (err)
			return err;
		backend_tell_last_one(b);
	}
	b->held = false;
	return 0;
}

struct roster *backend_roster(struct backend *b)
{
	struct roster *r;

	spinlock_lock(&b->roster_lock);
	r = roster_ref(b->roster);
	spinlock_unlock(&b->roster_lock);
	return r;
}
