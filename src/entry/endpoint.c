/* SPDX-License-Identifier: MIT
 *
 * endpoint.c - a bound address: its socket and its settings, and what is logged when an option is missing.
 *
 * Owns its descriptor and the versions of its settings. Control thread, except for endpoint_accepted().
 */
#include "weir/entry/endpoint.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/log.h"
#include "weir/config/copy.h"
#include "weir/config/same.h"
#include "weir/entry/frontend.h"
#include "weir/sys/sys.h"
#include "parts.h"

/* TCP_DEFER_ACCEPT: a client that sends nothing for this long is accepted all the same. */
#define DEFER_ACCEPT_S 5

struct sock_tcp sock_tcp_of(const struct config_tcp *tcp)
{
	return (struct sock_tcp){
		.nodelay = tcp->nodelay,
		.keepalive = tcp->keepalive,
		.keepalive_idle_s = tcp->keepalive_idle_s,
		.keepalive_interval_s = tcp->keepalive_interval_s,
		.keepalive_count = tcp->keepalive_count,
#define SOCK_TCP_OPTION(which, word, capability, kind, member, ...) .member = tcp->member,
#include "weir/net/sock_options.tbl.h"
	};
}

struct sock_listen sock_listen_of(const struct config_frontend *fe, const struct config_bind *b)
{
	return (struct sock_listen){
		.backlog = b->backlog,
		.v6only = b->v6only,
		.defer_accept_s = b->defer_accept ? DEFER_ACCEPT_S : 0,
		.interface = b->interface,
		.freebind = b->freebind,
		.transparent = b->transparent,
		.tfo = b->tfo,
		.mptcp = b->mptcp,
		.mode = b->owner.mode,
		.uid = b->owner.uid,
		.gid = b->owner.gid,
		.tcp = sock_tcp_of(&fe->tcp),
	};
}

/* ---- settings ---- */

struct endpoint_settings *endpoint_settings_new(struct entries *e, struct endpoint *ep,
						struct frontend_settings *front,
						const struct config_bind *config)
{
	struct endpoint_settings *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	if (slot_space_take(&e->live->versions, &s->counted.slot) != 0) {
		free(s);
		return NULL;
	}
	s->config = config_bind_copy(config);
	if (s->config == NULL) {
		slot_space_put(&e->live->versions, s->counted.slot);
		free(s);
		return NULL;
	}
	s->endpoint = ep;
	s->frontend = ep->frontend;
	s->front = front;
	front->users++;
	list_push_back(&ep->versions, &s->link);
	return s;
}

void endpoint_settings_free(struct entries *e, struct endpoint_settings *s)
{
	list_remove(&s->link);
	slot_space_put(&e->live->versions, s->counted.slot);
	frontend_settings_put(s->front);
	config_bind_copy_free((struct config_bind *)s->config);
	free(s);
}

struct endpoint_settings *endpoint_settings_find(const struct endpoint *ep,
						 const struct frontend_settings *front,
						 const struct config_bind *config)
{
	for (const struct list *l = ep->versions.next; l != &ep->versions; l = l->next) {
		struct endpoint_settings *s = list_entry(l, struct endpoint_settings, link);

		if (s->front == front && config_bind_same(s->config, config))
			return s;
	}
	return NULL;
}

/* ---- an endpoint ---- */

static struct endpoint *endpoint_alloc(void)
{
	const size_t bytes = (sizeof(struct endpoint) + 63) / 64 * 64;
	struct endpoint *ep = aligned_alloc(64, bytes);

	if (ep == NULL)
		return NULL;
	memset(ep, 0, bytes);
	list_init(&ep->link);
	list_init(&ep->versions);
	list_init(&ep->deaf_link);
	list_init(&ep->bound_link);
	list_init(&ep->lent_link);
	ep->fd = -1;
	return ep;
}

struct endpoint *endpoint_new(struct entries *e, struct frontend_settings *front,
			      const struct config_bind *config)
{
	struct endpoint *ep = endpoint_alloc();

	if (ep == NULL)
		return NULL;
	if (slot_space_take(&e->live->endpoints, &ep->slot) != 0) {
		free(ep);
		return NULL;
	}
	ep->entries = e;
	ep->origin = config;
	ep->frontend = front->frontend;
	ep->addr = config->addr.addr;
	atomic_init(&ep->settings, endpoint_settings_new(e, ep, front, config));
	if (endpoint_settings(ep) != NULL) {
		ep->config = endpoint_settings(ep)->config;
		return ep;
	}
	endpoint_free(e, ep);
	return NULL;
}

void endpoint_close(struct endpoint *ep)
{
	if (ep->fd < 0)
		return;
	/* Remove the name first, so that no client finds a socket on which nothing listens. */
	sock_path_release(&ep->path, &ep->addr);
	sys_close(ep->fd);
	ep->fd = -1;
}

void endpoint_free(struct entries *e, struct endpoint *ep)
{
	check(atomic_load(&ep->listeners) == 0);
	endpoint_forget_take(ep);
	endpoint_close(ep);
	list_remove(&ep->link);
	list_remove(&ep->deaf_link);
	list_remove(&ep->bound_link);
	list_remove(&ep->lent_link);
	while (!list_empty(&ep->versions))
		endpoint_settings_free(e, list_entry(ep->versions.next, struct endpoint_settings, link));
	slot_space_put(&e->live->endpoints, ep->slot);
	free(ep);
}

/* ---- its socket ---- */

/* Those that its own settings name: they may not be in effect for others yet. */
static const struct config_frontend *frontend_config(struct endpoint *ep)
{
	return endpoint_settings(ep)->front->config;
}

static struct sock_listen options_of(struct endpoint *ep)
{
	struct sock_listen opt = sock_listen_of(frontend_config(ep), ep->config);

	ep->refused = SOCK_OPTION_NONE;
	opt.tcp.refused = &ep->refused;
	opt.path = &ep->path;
	return opt;
}

/* Finds out whether the socket is an MPTCP one, and logs what is missing in either case. */
static void look_for_mptcp(struct endpoint *ep)
{
	const struct config_tcp *tcp = &frontend_config(ep)->tcp;
	char text[ADDR_TEXT_MAX];

	check(ep->fd >= 0);
	ep->mptcp = !addr_is_unix(&ep->addr) && sock_is_mptcp(ep->fd);
	if (ep->config->mptcp && !ep->mptcp && !addr_is_unix(&ep->addr))
		log_line(LOG_LEVEL_NOTICE,
			 "%s speaks plain TCP instead of MPTCP: %s",
			 addr_format(&ep->addr, text),
			 ep->config->addr.kind == ADDR_FD
				 ? "the .socket unit passed no MPTCP socket (set SocketProtocol=mptcp there)"
				 : "the kernel does not support it, or sysctl net.mptcp.enabled is 0");
	if (ep->mptcp && (tcp->pacing > 0 || tcp->user_timeout_ms > 0))
		log_line(LOG_LEVEL_WARNING,
			 "%s: the kernel does not support pacing and tcp-user-timeout for clients that speak "
			 "MPTCP; these options affect only clients that speak plain TCP",
			 addr_format(&ep->addr, text));
}

int endpoint_bind(struct endpoint *ep, bool share_port)
{
	const struct config_bind *b = ep->config;
	struct sock_listen opt = options_of(ep);

	check(ep->fd < 0);
	check(b->addr.kind != ADDR_FD);
	opt.share_port = share_port;
	ep->fd = sock_bind(&ep->addr, &opt);
	if (ep->fd == -EAFNOSUPPORT && b->addr.kind == ADDR_ANY && !b->v6only) {
		addr_any4(&ep->addr, b->addr.port);
		ep->fd = sock_bind(&ep->addr, &opt);
	}
	if (ep->fd < 0)
		return ep->fd;
	look_for_mptcp(ep);
	return 0;
}

int endpoint_listen(struct endpoint *ep)
{
	check(ep->fd >= 0);
	return sock_start(ep->fd, ep->config->backlog);
}

int endpoint_adopt(struct endpoint *ep, int fd)
{
	const struct sock_listen opt = options_of(ep);
	int err;

	check(ep->fd < 0);
	check(fd >= 0);
	ep->fd = fd;
	ep->inherited = true;
	err = sock_adopt(fd, &ep->addr, &opt);
	if (err)
		return err;
	look_for_mptcp(ep);
	return 0;
}

void endpoint_accepted(const struct endpoint_settings *s, int fd)
{
	const struct sock_tcp tcp = sock_tcp_of(&s->front->config->tcp);

	check(s->endpoint->mptcp);
	sock_accepted_mptcp(fd, s->endpoint->addr.sa.sa_family, &tcp);
}
