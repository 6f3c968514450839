/* SPDX-License-Identifier: MIT
 *
 * small_engine.h - a real engine for unit tests, from a configuration of the test, with workers that have no
 * thread. What a session keeps of what it came in by and goes to is set here alone.
 */
#ifndef WEIR_TESTS_SMALL_ENGINE_H
#define WEIR_TESTS_SMALL_ENGINE_H

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "weir/base/check.h"
#include "weir/engine/engine.h"
#include "engine/session.h"
#include "engine/worker.h"

#define SMALL_MAXCONN 100u

/* One frontend with one bind, one backend with one server. */
struct small_config {
	struct config config;
	struct config_frontend frontend;
	struct config_bind bind;
	struct config_backend backend;
	struct config_server server;
};

static inline void small_addr(struct addr_spec *a)
{
	a->kind = ADDR_IP;
	a->addr.in.sin_family = AF_INET;
	a->addr.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a->addr.len = sizeof(a->addr.in);
}

static inline void small_config_init(struct small_config *c)
{
	memset(c, 0, sizeof(*c));
	c->config.global.pipe_cycle_ns = INT64_C(10000000000);
	c->config.frontends = &c->frontend;
	c->config.frontend_count = 1;
	c->config.backends = &c->backend;
	c->config.backend_count = 1;
	c->frontend.name[0] = 'f';
	c->frontend.binds = &c->bind;
	c->frontend.bind_count = 1;
	small_addr(&c->bind.addr);
	c->backend.name[0] = 'b';
	c->backend.servers = &c->server;
	c->backend.server_count = 1;
	c->server.name[0] = 'a';
	c->server.weight = 1;
	small_addr(&c->server.addr);
}

/* With room for workers; nothing is bound. */
static inline void small_engine_open(struct engine *e, const struct config *c, unsigned workers,
				     void (*notify)(void *arg))
{
	const struct engine_limits limits = {.maxconn = SMALL_MAXCONN, .maxpipes = 16, .pipe_bytes = 65536,
					     .pipe_budget_bytes = 1 << 20, .buf_budget_bytes = 1 << 20};

	check(workers > 0);
	check(engine_init(e, c, notify, NULL) == 0);
	pipe_pool_init(&e->pipes, limits.maxpipes, limits.pipe_bytes, limits.pipe_budget_bytes);
	buf_pool_init(&e->bufs, limits.buf_budget_bytes);
	engine_set_limits(e, &limits);
	e->workers = calloc(workers, sizeof(*e->workers));
	check(e->workers != NULL);
	e->worker_count = workers;
}

/* Sockets that stand in for those of endpoints, where nobody comes in: nothing is bound. */
static inline void small_engine_stand_in(struct engine *e)
{
	entries_foreach_frontend(&e->entries, fe) {
		frontend_foreach_endpoint(fe, ep) {
			check(ep->fd < 0);
			ep->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
			check(ep->fd >= 0);
		}
	}
}

/* A worker that does not listen; engine_free() frees it. Each endpoint must have a socket. */
static inline struct worker *small_engine_worker(struct engine *e, unsigned index)
{
	int err;

	check(index < e->worker_count);
	e->workers[index] = worker_make(e, index, &io_epoll_driver, &err);
	check(e->workers[index] != NULL);
	return e->workers[index];
}

static inline struct frontend *first_frontend(const struct engine *e)
{
	check(!list_empty(&e->entries.frontends));
	return list_entry(e->entries.frontends.next, struct frontend, link);
}

static inline struct endpoint *first_endpoint(const struct engine *e)
{
	const struct frontend *fe = first_frontend(e);

	check(!list_empty(&fe->endpoints));
	return list_entry(fe->endpoints.next, struct endpoint, link);
}

static inline struct server *first_server(const struct engine *e)
{
	return e->backends[0]->servers[0];
}

/* What session_start() notes of the endpoint. */
static inline void session_comes_in(struct session *s, struct worker *w, struct endpoint *ep)
{
	s->worker = w;
	s->entry = endpoint_settings(ep);
	counted_take(&w->counts, &s->entry->counted);
	session_use_backend(s, s->entry->front->backend);
}

static inline void session_goes_to(struct session *s, const struct server *server)
{
	session_use_server(s, server);
}

/* Gives back what is counted for it. */
static inline void session_goes_away(struct session *s)
{
	session_use_nothing(s);
}

/* Does no session count in any worker's table? */
static inline bool small_engine_is_unused(const struct engine *e)
{
	entries_foreach_frontend(&e->entries, fe) {
		frontend_foreach_endpoint(fe, ep) {
			if (counted_sum(&e->live.versions, &endpoint_settings(ep)->counted) > 0)
				return false;
		}
	}
	return true;
}

#endif
