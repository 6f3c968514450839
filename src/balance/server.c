/* SPDX-License-Identifier: MIT
 *
 * server.c - one server as it is at run time: its state, its places, its addresses.
 *
 * Owns every address that the server ever had, because a worker may still be reading one that control has
 * replaced. Places are taken and given back by any thread; all else is control's. Floor 3.
 */
#include "sluice/balance/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sluice/balance/backend.h"
#include "sluice/balance/server_parts.h"
#include "sluice/base/check.h"
#include "sluice/base/clock.h"
#include "sluice/base/log.h"

struct server_addr {
	struct server_addr *next;
	struct addr addr;
};

/* ---- places ---- */

bool server_enter(struct server *s)
{
	const unsigned limit = atomic_load_explicit(&s->limit, memory_order_relaxed);

	if (!s->owner->limited) {
		atomic_fetch_add_explicit(&s->sessions, 1, memory_order_relaxed);
		return true;
	}
	if ((unsigned)atomic_fetch_add(&s->sessions, 1) < limit || limit == 0)
		return true;
	server_leave(s); /* somebody may have begun to wait because of this one */
	return false;
}

void server_leave(struct server *s)
{
	if (!s->owner->limited) {
		atomic_fetch_sub_explicit(&s->sessions, 1, memory_order_relaxed);
		return;
	}
	atomic_fetch_sub(&s->sessions, 1);
	if (atomic_load(&s->owner->queue.waiting) > 0)
		queue_serve(s);
}

bool server_usable(const struct server *s)
{
	return atomic_load_explicit(&s->state, memory_order_acquire) == SERVER_UP;
}

const char *server_state_text(enum server_state state)
{
	static const char *const texts[] = {
		[SERVER_UP] = "UP",	  [SERVER_DRAIN] = "DRAIN",
		[SERVER_DOWN] = "DOWN",	  [SERVER_UNRESOLVED] = "DOWN (unresolved)",
		[SERVER_MAINT] = "MAINT",
	};

	return texts[state];
}

/* ---- the state ---- */

static enum server_state state_of(const struct server *s)
{
	if (s->admin == SERVER_ADMIN_MAINT)
		return SERVER_MAINT;
	if (atomic_load_explicit(&s->addr, memory_order_relaxed) == NULL)
		return SERVER_UNRESOLVED;
	if (!s->healthy)
		return SERVER_DOWN;
	return s->admin == SERVER_ADMIN_DRAIN ? SERVER_DRAIN : SERVER_UP;
}

static void set_weight(struct server *s)
{
	atomic_store_explicit(&s->eweight, s->weight * SERVER_WEIGHT_SCALE, memory_order_relaxed);
}

static int update(struct server *s)
{
	set_weight(s);
	atomic_store_explicit(&s->state, (int)state_of(s), memory_order_release);
	return backend_refresh(s->owner);
}

int server_set_health(struct server *s, bool healthy, const char *cause, int64_t now_ns)
{
	(void)cause;
	(void)now_ns;
	s->healthy = healthy;
	return update(s);
}

int server_set_admin(struct server *s, enum server_admin admin, const char *cause, int64_t now_ns)
{
	(void)cause;
	(void)now_ns;
	s->admin = admin;
	return update(s);
}

int server_set_weight(struct server *s, unsigned weight, int64_t now_ns)
{
	(void)now_ns;
	s->weight = weight;
	return update(s);
}

int server_set_maxconn(struct server *s, unsigned maxconn)
{
	atomic_store_explicit(&s->limit, maxconn, memory_order_relaxed);
	return update(s);
}

int64_t server_slowstart_step(struct server *s, int64_t now_ns)
{
	(void)s;
	(void)now_ns;
	return INT64_MAX;
}

unsigned server_throttle(const struct server *s, int64_t now_ns)
{
	(void)s;
	(void)now_ns;
	return 100;
}

/* ---- addresses ---- */

/* The address among those that the server had: a name that changes to and fro costs nothing. */
static const struct addr *find_addr(const struct server *s, const struct addr *a)
{
	for (const struct server_addr *known = s->addrs; known != NULL; known = known->next)
		if (known->addr.len == a->len && memcmp(&known->addr.sa, &a->sa, a->len) == 0)
			return &known->addr;
	return NULL;
}

static int publish_addr(struct server *s, const struct addr *a)
{
	const struct addr *known = find_addr(s, a);

	check(a->len != 0);
	if (known == NULL) {
		struct server_addr *more = malloc(sizeof(*more));

		if (more == NULL)
			return -ENOMEM;
		more->addr = *a;
		more->next = s->addrs;
		s->addrs = more;
		known = &more->addr;
	}
	/* Before the state: who sees the server up sees an address too. */
	atomic_store_explicit(&s->addr, known, memory_order_release);
	return 0;
}

int server_set_addr(struct server *s, const struct addr *a)
{
	const int err = publish_addr(s, a);

	return err ? err : update(s);
}

/* ---- life ---- */

int server_init(struct server *s, struct backend *owner, unsigned index)
{
	const struct config_server *config = &owner->config->servers[index];

	memset(s, 0, sizeof(*s));
	s->config = config;
	s->backend = owner->config;
	s->owner = owner;
	s->index = index;
	s->healthy = true;
	s->admin = config->disabled ? SERVER_ADMIN_MAINT : SERVER_ADMIN_READY;
	s->weight = config->weight;
	atomic_init(&s->limit, config->maxconn);
	set_weight(s);
	if (config->addr.kind != ADDR_NAME) {
		const int err = publish_addr(s, &config->addr.addr);

		if (err)
			return err;
	}
	atomic_init(&s->state, (int)state_of(s));
	return 0;
}

void server_free(struct server *s)
{
	struct server_addr *a;

	check(atomic_load_explicit(&s->sessions, memory_order_relaxed) == 0);
	while ((a = s->addrs) != NULL) {
		s->addrs = a->next;
		free(a);
	}
	history_free(&s->history);
}
