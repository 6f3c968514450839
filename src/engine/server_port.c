/* SPDX-License-Identifier: MIT
 *
 * server_port.c - where a session connects to: the address of its server, with the client's port if the
 * server has none of its own.
 *
 * Owns the addresses made of both; the driver reads one until its connect has ended. Other sessions connect
 * to the address in the settings of their server, and cost nothing here. A worker's thread.
 */
#include "server_port.h"

#include <errno.h>
#include <stddef.h>

#include "weir/base/check.h"
#include "weir/base/log.h"
#include "weir/config/bind_range.h"
#include "weir/engine/engine.h"
#include "weir/entry/endpoint.h"
#include "weir/entry/frontend.h"
#include "weir/io/slab.h"
#include "weir/sys/sys.h"
#include "egress.h"
#include "worker.h"

/* As server_sock.c: above every errno, and above its own kinds of trouble. */
#define TROUBLE_NO_PORT (1u << 17)

_Static_assert(offsetof(struct ported_addr, link) == 0, "the slab's list while it is free");

static const struct slab_kind ported_kind = {.bytes = sizeof(struct ported_addr)};

void server_port_init_slab(struct slab *slab)
{
	slab_init(slab, &ported_kind);
}

/* ---- the client's port ---- */

/* Does `fe` listen at this port now? */
static bool listens_at(const struct session *s, uint16_t port)
{
	struct engine *e = s->worker->engine;
	const struct frontend *fe = s->entry->frontend;
	const uint32_t peak = slot_space_peak(&e->live.endpoints);

	for (uint32_t slot = 0; slot < peak; slot++) {
		struct endpoint *ep = entries_at(&e->entries, slot);

		if (ep != NULL && ep->frontend == fe && addr_port(&ep->addr) == port &&
		    atomic_load_explicit(&ep->order, memory_order_relaxed) == ENDPOINT_LISTEN)
			return true;
	}
	return false;
}

/* A header comes only from those in `trusted`. It may name any port, but only those where clients could have
 * come in reach a server: the first ones that are asked are those of the client's own bind. */
static bool is_header_port(const struct session *s, uint16_t port)
{
	const struct config_bind *own = s->entry->config;

	if (port == 0 || own->accept_proxy == CONFIG_ACCEPT_PROXY_OFF)
		return false;
	if (port == addr_port(&s->entry->endpoint->addr))
		return true;
	return (bind_is_in_range(own) && port >= own->first_port && port <= own->last_port) ||
	       listens_at(s, port);
}

static uint16_t socket_port(const struct session *s)
{
	struct addr a = {.len = sizeof(a.un)};

	/* A transparent listener accepts connections to many addresses. */
	if (likely(!s->entry->config->transparent))
		return addr_port(&s->entry->endpoint->addr);
	if (sys_getsockname(s->sides[SIDE_CLIENT].sock.fd, &a.sa, &a.len) != 0)
		return 0;
	return addr_port(&a);
}

static uint16_t client_port(const struct session *s)
{
	const struct session_extra *x = s->extra;

	return is_header_port(s, x->dst.port) ? x->dst.port : socket_port(s);
}

static void log_no_port(struct session *s)
{
	if (log_limit_ok(server_line_limit(s), LOG_CAUSE_SOURCE, TROUBLE_NO_PORT, s->worker->loop.now_ns, 1))
		log_line(LOG_LEVEL_WARNING,
			 "server %s/%s has the client's port (%s*), and clients of frontend %s have none: "
			 "they come by a Unix socket; give the server a port",
			 s->back->config->name, s->at->config->name, s->at->takes_client_name ? "sni@" : ":",
			 s->entry->front->config->name);
}

uint16_t server_port_wanted(struct session *s)
{
	const uint16_t own = addr_port(&s->at->addr);
	const uint16_t port = own != 0 ? own : client_port(s);

	if (port == 0)
		log_no_port(s);
	return port;
}

/* ---- a try ---- */

int server_port_choose(struct session *s)
{
	struct session_extra *x;
	struct ported_addr *to;

	check(s->at != NULL);
	if (likely(!s->at->takes_client_port))
		return 0;
	x = session_extra(s);
	if (x == NULL)
		return -ENOMEM;
	to = x->to != NULL ? x->to : slab_get(&s->worker->ported);
	if (to == NULL)
		return -ENOMEM;
	x->to = to;
	if (s->at->takes_client_name) {
		egress_choose(s, &to->addr);
		x->server_port = x->at.port;
		return 0;
	}
	x->server_port = server_port_wanted(s);
	to->addr = s->at->addr;
	addr_set_port(&to->addr, x->server_port);
	return x->server_port != 0 ? 0 : -EAFNOSUPPORT;
}

void server_port_drop(struct session *s)
{
	struct session_extra *x = s->extra;

	egress_drop(s);
	if (x == NULL || x->to == NULL)
		return;
	slab_put(&s->worker->ported, x->to);
	x->to = NULL;
}

struct addr server_port_shown(const struct session *s)
{
	struct addr a = s->at->addr;
	const uint16_t port = server_port_last(s);
	const struct addr_brief found = server_port_found(s);

	if (unlikely(found.family != 0))
		addr_of_brief(&a, &found);
	else if (unlikely(port != 0))
		addr_set_port(&a, port);
	return a;
}
