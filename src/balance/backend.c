/* SPDX-License-Identifier: MIT
 *
 * backend.c - the runtime side of servers: built from a snapshot, given addresses by control.
 *
 * Owns the servers and every address that one of them ever had, because a worker may still be
 * reading an address that control has replaced. Opens no sockets. Built, changed and freed by
 * control; server_usable() is for any thread. Floor 3.
 */
#include "sluice/balance/backend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/base/check.h"

struct server_addr {
	struct server_addr *next;
	struct addr addr;
};

static int server_init(struct server *s, const struct config_backend *backend, unsigned index)
{
	const struct config_server *config = &backend->servers[index];

	memset(s, 0, sizeof(*s));
	s->config = config;
	s->backend = backend;
	s->index = index;
	atomic_init(&s->state, SERVER_UNRESOLVED);
	if (config->addr.kind == ADDR_NAME)
		return 0;
	check(config->addr.addr.len != 0);
	return server_set_addr(s, &config->addr.addr);
}

static void server_free(struct server *s)
{
	struct server_addr *a;

	check(atomic_load_explicit(&s->sessions, memory_order_relaxed) == 0);
	while ((a = s->addrs) != NULL) {
		s->addrs = a->next;
		free(a);
	}
}

static int backend_init(struct backend *b, const struct config_backend *config)
{
	b->config = config;
	if (config->server_count == 0)
		return 0;
	/* The lines that workers share are aligned, so malloc(3) alone does not do. */
	b->servers = aligned_alloc(_Alignof(struct server), config->server_count * sizeof(struct server));
	if (b->servers == NULL)
		return -ENOMEM;
	for (; b->server_count < config->server_count; b->server_count++) {
		int err = server_init(&b->servers[b->server_count], config, (unsigned)b->server_count);

		if (err)
			return err;
	}
	return 0;
}

struct backend *backends_new(const struct config *c)
{
	/* One more than asked for: no backend at all is no lack of memory. */
	struct backend *backends = calloc(c->backend_count + 1, sizeof(*backends));

	if (backends == NULL)
		return NULL;
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
		for (size_t j = 0; j < backends[i].server_count; j++)
			server_free(&backends[i].servers[j]);
		free(backends[i].servers);
	}
	free(backends);
}

/* The address among those that the server had: a name that changes to and fro costs nothing. */
static const struct addr *find_addr(const struct server *s, const struct addr *a)
{
	for (const struct server_addr *known = s->addrs; known != NULL; known = known->next)
		if (known->addr.len == a->len && memcmp(&known->addr.sa, &a->sa, a->len) == 0)
			return &known->addr;
	return NULL;
}

int server_set_addr(struct server *s, const struct addr *a)
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
	/* Released in this order: who sees the server up sees an address too. */
	atomic_store_explicit(&s->addr, known, memory_order_release);
	atomic_store_explicit(&s->state, SERVER_UP, memory_order_release);
	return 0;
}

bool server_usable(const struct server *s)
{
	return atomic_load_explicit(&s->state, memory_order_acquire) == SERVER_UP;
}
