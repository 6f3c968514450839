/* SPDX-License-Identifier: MIT
 *
 * doctor.c - collects what the configuration asks of this machine, and logs what the machine lacks.
 *
 * Judging is in doctor_items.c, reading in doctor_facts.c. Main thread.
 */
#include "weir/host/doctor.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/base/log.h"
#include "weir/host/driver_choice.h"

#define DEFAULT_BACKLOG 4096u
#define LOW_PORTS	1024u

static unsigned bind_port(const struct config_bind *b)
{
	return b->addr.kind == ADDR_IP || b->addr.kind == ADDR_ANY ? b->addr.port : 0;
}

static void wish_binds(const struct config *c, struct doctor_wish *wish)
{
	for (size_t i = 0; i < c->frontend_count; i++) {
		for (size_t k = 0; k < c->frontends[i].bind_count; k++) {
			const struct config_bind *b = &c->frontends[i].binds[k];
			const unsigned backlog = b->backlog > 0 ? (unsigned)b->backlog : DEFAULT_BACKLOG;
			const unsigned port = bind_port(b);

			wish->fds++;
			if (b->addr.kind == ADDR_FD && b->backlog == 0)
				continue; /* keeps the backlog its creator chose */
			if (backlog >= wish->backlog) {
				wish->backlog = backlog;
				wish->backlog_given = b->backlog > 0;
			}
			if (port > 0 && port < LOW_PORTS && (wish->low_port == 0 || port < wish->low_port))
				wish->low_port = port;
		}
	}
}

/* What needs CAP_NET_ADMIN. A frontend's mark is set before privileges are dropped, but needs it too. */
static void wish_options(const struct config *c, struct doctor_wish *wish)
{
	for (size_t i = 0; i < c->frontend_count; i++) {
		const struct config_frontend *f = &c->frontends[i];

		if (f->tcp.mark != 0)
			wish->net_admin = "mark";
		for (size_t k = 0; k < f->bind_count; k++) {
			wish->tfo |= f->binds[k].tfo;
			if (f->binds[k].transparent)
				wish->net_admin = "transparent";
		}
	}
	for (size_t i = 0; i < c->backend_count; i++) {
		const struct config_backend *b = &c->backends[i];

		if (b->tcp.mark != 0)
			wish->net_admin = "mark";
		for (size_t k = 0; k < b->server_count; k++)
			if (b->servers[k].source.client)
				wish->net_admin = "source=client";
	}
}

/* A list that is part of another counts as different, so the hint may promise too many ports. */
static bool same_source(const struct config_sources *x, const struct config_sources *y)
{
	if (x->count != y->count || x->client != y->client)
		return false;
	for (size_t i = 0; i < x->count; i++)
		if (!addr_equal(&x->list[i], &y->list[i]))
			return false;
	return true;
}

static bool same_route(const struct config_server *x, const struct config_server *y)
{
	if (x->addr.kind != y->addr.kind || !same_source(&x->source, &y->source))
		return false;
	if (x->addr.kind == ADDR_NAME)
		return x->addr.port == y->addr.port && strcmp(x->addr.host, y->addr.host) == 0;
	return addr_equal(&x->addr.addr, &y->addr.addr);
}

/* Pairs of source and server with a port range of their own; 0 if a Unix server takes any number, or each
 * client brings its own range. */
static size_t count_routes(const struct config_backend *b)
{
	size_t routes = 0;

	for (size_t i = 0; i < b->server_count; i++) {
		bool seen = false;

		if (b->servers[i].addr.kind == ADDR_UNIX || b->servers[i].source.client)
			return 0;
		for (size_t k = 0; k < i && !seen; k++)
			seen = same_route(&b->servers[k], &b->servers[i]);
		if (!seen)
			routes += b->servers[i].source.count > 1 ? b->servers[i].source.count : 1;
	}
	return routes;
}

/* Maximum sessions that the frontends of a backend admit. */
static uint64_t sessions_of(const struct config *c, size_t backend, uint64_t maxconn)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < c->frontend_count; i++) {
		const struct config_frontend *f = &c->frontends[i];

		if (f->backend == backend)
			sum += f->maxconn > 0 ? f->maxconn : maxconn;
	}
	return sum < maxconn ? sum : maxconn;
}

static void wish_ports(const struct config *c, struct doctor_wish *wish)
{
	for (size_t i = 0; i < c->backend_count; i++) {
		const size_t routes = count_routes(&c->backends[i]);
		const uint64_t sessions = sessions_of(c, i, wish->maxconn);

		if (routes > 0 && (sessions + routes - 1) / routes > wish->ports)
			wish->ports = (sessions + routes - 1) / routes;
	}
}

void doctor_wish_of(const struct config *c, const struct limits_plan *plan, unsigned workers,
		    struct doctor_wish *wish)
{
	const struct config_global *g = &c->global;

	memset(wish, 0, sizeof(*wish));
	wish->maxconn = g->maxconn > 0 ? g->maxconn : plan->engine.maxconn;
	wish->maxconn_given = g->maxconn > 0;
	wish->splice = g->splice != CONFIG_SPLICE_OFF && g->maxpipes != 0;
	wish->pipes_given = g->maxpipes > 0;
	if (wish->splice)
		wish->pipes = g->maxpipes > 0 ? (uint64_t)g->maxpipes : wish->maxconn / 4;
	wish->pipe_bytes = g->pipe_size;
	wish->workers = workers;
	wish->ring = driver_wants_ring(g->driver, DRIVER_OF_AUTO);
	wish->ring_given = g->driver == CONFIG_DRIVER_IO_URING;
	/* An automatic number of pipes gives way to connections. */
	wish->fds = 2 * (wish->maxconn + (wish->pipes_given ? wish->pipes : 0)) + LIMITS_RESERVED_FDS +
		    (uint64_t)LIMITS_FDS_PER_WORKER * workers;
	wish_binds(c, wish);
	wish_ports(c, wish);
	wish_options(c, wish);
}

void doctor_judge(const struct doctor_item *item, const struct doctor_facts *facts,
		  const struct doctor_wish *wish, struct doctor_finding *f)
{
	memset(f, 0, sizeof(*f));
	f->verdict = DOCTOR_UNKNOWN;
	item->judge(facts, wish, f);
	if (f->verdict == DOCTOR_UNKNOWN && f->current[0] == '\0')
		memcpy(f->current, "unknown", sizeof("unknown"));
	if (f->verdict == DOCTOR_OK || f->verdict == DOCTOR_UNKNOWN)
		f->fix[0] = '\0';
}

const char *doctor_verdict_word(enum doctor_verdict v)
{
	static const char *const words[] = {
	    [DOCTOR_OK] = "ok",
	    [DOCTOR_HINT] = "hint",
	    [DOCTOR_WARN] = "warn",
	    [DOCTOR_UNKNOWN] = "unknown",
	};

	check(v <= DOCTOR_UNKNOWN);
	return words[v];
}

void doctor_log(const struct doctor_facts *facts, const struct doctor_wish *wish)
{
	struct doctor_finding f;

	for (size_t i = 0; i < doctor_item_count; i++) {
		doctor_judge(&doctor_items[i], facts, wish, &f);
		if (f.verdict == DOCTOR_WARN)
			log_line(LOG_LEVEL_WARNING, "doctor: %s is %s, wanted: %s; fix: %s",
				 doctor_items[i].name, f.current, f.wanted, f.fix);
	}
}
