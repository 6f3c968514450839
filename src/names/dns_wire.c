/* SPDX-License-Identifier: MIT
 *
 * dns_wire.c - channels of c-ares, one per name server, on the control loop.
 *
 * Owns the epoll set. c-ares may call back from any of its functions, so nothing is freed here while one of
 * them runs. Control thread.
 */
#include "dns_wire.h"

#include <ares.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/time.h>

#include "weir/base/check.h"
#include "weir/sys/low_fds.h"

#define EVENTS_PER_TURN 64
#define UDP_BYTES	1232 /* no fragments: what name servers and resolvers agree on */

struct wire_question {
	struct dns_channel *channel;
	dns_replied *replied;
	void *arg;
};

/* ---- sockets and time ---- */

static struct dns_channel *channel_at(const struct list *l)
{
	return list_entry(l, struct dns_channel, link);
}

static struct dns_channel *find(const struct dns_wire *w, uint32_t id)
{
	for (const struct list *l = w->channels.next; l != &w->channels; l = l->next)
		if (channel_at(l)->id == id)
			return channel_at(l);
	return NULL;
}

static unsigned count_awaited(const struct dns_wire *w)
{
	unsigned n = 0;

	for (const struct list *l = w->channels.next; l != &w->channels; l = l->next)
		n += channel_at(l)->awaited;
	return n;
}

/* The time until a try of any channel ends. */
static double next_timeout_s(const struct dns_wire *w)
{
	double least_s = DNS_TRY_MS / 1e3;

	for (const struct list *l = w->channels.next; l != &w->channels; l = l->next) {
		struct timeval tv;

		if (channel_at(l)->awaited == 0 || ares_timeout(channel_at(l)->ares, NULL, &tv) == NULL)
			continue;
		if ((double)tv.tv_sec + (double)tv.tv_usec / 1e6 < least_s)
			least_s = (double)tv.tv_sec + (double)tv.tv_usec / 1e6;
	}
	return least_s;
}

static void set_timer(struct dns_wire *w)
{
	ev_timer_stop(w->loop, &w->timer);
	if (count_awaited(w) == 0)
		return;
	ev_timer_set(&w->timer, next_timeout_s(w), 0.);
	ev_timer_start(w->loop, &w->timer);
}

static void end_turn(struct dns_wire *w)
{
	w->kicked = false;
	if (w->idle != NULL)
		w->idle(w->arg);
	if (!w->kicked)
		set_timer(w);
}

static void on_time(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct dns_wire *w = timer->data;
	struct list *node, *next;

	(void)loop;
	(void)revents;
	list_foreach_safe(&w->channels, node, next)
		if (channel_at(node)->awaited > 0)
			ares_process_fd(channel_at(node)->ares, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	end_turn(w);
}

static void process(const struct dns_wire *w, const struct epoll_event *e)
{
	const struct dns_channel *c = find(w, (uint32_t)(e->data.u64 >> 32));
	const int fd = (int)(uint32_t)e->data.u64;
	const bool failed = (e->events & (EPOLLERR | EPOLLHUP)) != 0;

	if (c != NULL)
		ares_process_fd(c->ares, failed || (e->events & EPOLLIN) != 0 ? fd : ARES_SOCKET_BAD,
				(e->events & EPOLLOUT) != 0 ? fd : ARES_SOCKET_BAD);
}

static void on_sockets(struct ev_loop *loop, struct ev_io *io, int revents)
{
	struct dns_wire *w = io->data;
	struct epoll_event events[EVENTS_PER_TURN];
	const int count = epoll_wait(w->epoll, events, EVENTS_PER_TURN, 0);

	(void)loop;
	(void)revents;
	for (int i = 0; i < count; i++)
		process(w, &events[i]);
	end_turn(w);
}

/* c-ares says what a socket waits for; nothing: it is about to be closed. If the kernel has no memory for the
 * watch, the try ends by its timeout. */
static void on_socket(void *data, ares_socket_t fd, int readable, int writable)
{
	const struct dns_channel *c = data;
	struct epoll_event e = {
		.events = (readable ? EPOLLIN : 0u) | (writable ? EPOLLOUT : 0u),
		.data.u64 = (uint64_t)c->id << 32 | (uint32_t)fd,
	};

	if (!readable && !writable)
		(void)epoll_ctl(c->wire->epoll, EPOLL_CTL_DEL, fd, NULL);
	else if (epoll_ctl(c->wire->epoll, EPOLL_CTL_MOD, fd, &e) != 0)
		(void)epoll_ctl(c->wire->epoll, EPOLL_CTL_ADD, fd, &e);
}

/* A question goes over TCP only because its answer was truncated. */
static int on_created(ares_socket_t fd, int type, void *data)
{
	const struct dns_channel *c = data;

	(void)fd;
	if (type == SOCK_STREAM)
		(*c->truncated)++;
	return 0;
}

void dns_wire_init(struct dns_wire *w, struct ev_loop *loop)
{
	*w = (struct dns_wire){.loop = loop, .epoll = -1};
	list_init(&w->channels);
	ev_init(&w->io, on_sockets);
	w->io.data = w;
	ev_init(&w->timer, on_time);
	w->timer.data = w;
}

void dns_wire_kick(struct dns_wire *w)
{
	if (w->kicked)
		return;
	w->kicked = true;
	ev_timer_stop(w->loop, &w->timer);
	ev_timer_set(&w->timer, 0., 0.);
	ev_timer_start(w->loop, &w->timer);
}

int dns_wire_open(struct dns_wire *w)
{
	int fd, err;

	if (w->epoll >= 0)
		return 0;
	err = low_fds_claim(1);
	if (err)
		return err;
	fd = epoll_create1(EPOLL_CLOEXEC);
	fd = low_fds_take(fd < 0 ? -errno : fd);
	if (fd < 0) {
		low_fds_unclaim(1);
		return fd;
	}
	w->epoll = fd;
	ev_io_set(&w->io, fd, EV_READ);
	ev_io_start(w->loop, &w->io);
	return 0;
}

void dns_wire_close(struct dns_wire *w)
{
	check(list_empty(&w->channels));
	ev_timer_stop(w->loop, &w->timer);
	if (w->epoll < 0)
		return;
	ev_io_stop(w->loop, &w->io);
	low_fds_close(w->epoll);
	low_fds_unclaim(1);
	w->epoll = -1;
}

/* ---- channels ---- */

static int set_server(struct ares_channeldata *ares, const struct addr *to)
{
	char text[ADDR_TEXT_MAX];
	const int status = ares_set_servers_ports_csv(ares, addr_format(to, text));

	return status == ARES_SUCCESS ? 0 : status == ARES_ENOMEM ? -ENOMEM : -EINVAL;
}

/* What c-ares would take from the environment and from files is given, so that it reads none. */
static int open_ares(struct dns_channel *c, const struct resolv_conf *searched)
{
	static const struct resolv_conf no_search = {.ndots = 0};
	const struct resolv_conf *conf = searched != NULL ? searched : &no_search;
	char *domains[RESOLV_CONF_DOMAINS_MAX];
	struct ares_options o = {
		.flags = ARES_FLAG_EDNS | ARES_FLAG_NOCHECKRESP,
		.ednspsz = UDP_BYTES,
		.timeout = DNS_TRY_MS,
		.tries = 1,
		.ndots = (int)conf->ndots,
		.domains = domains,
		.ndomains = (int)conf->domain_count,
		.lookups = (char[]){"b"},
		.resolvconf_path = (char[]){"/dev/null"},
		.sock_state_cb = on_socket,
		.sock_state_cb_data = c,
	};
	int mask = ARES_OPT_FLAGS | ARES_OPT_EDNSPSZ | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS |
		   ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS | ARES_OPT_RESOLVCONF | ARES_OPT_SOCK_STATE_CB;

	for (size_t i = 0; i < conf->domain_count; i++)
		domains[i] = (char *)conf->domains[i];
	if (searched == NULL)
		o.flags |= ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES;
	mask |= dns_query_options(&o);
	return ares_init_options(&c->ares, &o, mask) == ARES_SUCCESS ? 0 : -ENOMEM;
}

int dns_channel_open(struct dns_channel *c, struct dns_wire *w, const struct addr *to,
		     const struct resolv_conf *conf)
{
	int err;

	check(c->ares == NULL);
	check(w->epoll >= 0);
	c->wire = w;
	c->id = ++w->last_id;
	err = open_ares(c, conf);
	if (err) {
		c->ares = NULL;
		return err;
	}
	err = set_server(c->ares, to);
	if (err) {
		ares_destroy(c->ares);
		c->ares = NULL;
		return err;
	}
	ares_set_socket_callback(c->ares, on_created, c);
	list_push_back(&w->channels, &c->link);
	return 0;
}

void dns_channel_close(struct dns_channel *c)
{
	if (c->ares == NULL)
		return;
	ares_destroy(c->ares);
	check(c->awaited == 0);
	c->ares = NULL;
	list_remove(&c->link);
}

/* ---- questions ---- */

static enum dns_status status_of(int status)
{
	switch (status) {
	case ARES_SUCCESS:
		return DNS_VALID;
	case ARES_ENODATA:
		return DNS_NO_DATA;
	case ARES_ENOTFOUND:
		return DNS_NX;
	case ARES_EREFUSED:
		return DNS_REFUSED;
	case ARES_ETIMEOUT:
	case ARES_EDESTRUCTION:
	case ARES_ECANCELLED:
		return DNS_SILENT;
	case ARES_ECONNREFUSED:
		return DNS_UNSENT;
	case ARES_EFORMERR:
	case ARES_EBADRESP:
	case ARES_EBADNAME:
	case ARES_EBADSTR:
	case ARES_EBADQUERY:
		return DNS_INVALID;
	case ARES_ENOMEM:
		return DNS_NO_MEMORY;
	default:
		return DNS_FAILED;
	}
}

static void finish(struct wire_question *q, const struct dns_reply *reply)
{
	check(q->channel->awaited > 0);
	q->channel->awaited--;
	q->replied(q->arg, reply);
	free(q);
}

static size_t count_nodes(const struct ares_addrinfo *info)
{
	size_t count = 0;

	for (const struct ares_addrinfo_node *n = info->nodes; n != NULL; n = n->ai_next)
		count++;
	return count < NAME_ADDRESSES_MAX ? count : NAME_ADDRESSES_MAX;
}

/* `list` has room for `room` of them. */
static size_t take_addrs(const struct ares_addrinfo *info, struct addr *list, size_t room, uint32_t *ttl_s)
{
	size_t count = 0;

	for (const struct ares_addrinfo_node *n = info->nodes; n != NULL && count < room; n = n->ai_next) {
		struct addr *a = &list[count];

		if (n->ai_family != AF_INET && n->ai_family != AF_INET6)
			continue;
		check(n->ai_addrlen <= sizeof(a->un));
		memset(a, 0, sizeof(*a));
		memcpy(&a->un, n->ai_addr, n->ai_addrlen);
		a->len = n->ai_addrlen;
		count++;
		if (n->ai_ttl >= 0 && (uint32_t)n->ai_ttl < *ttl_s)
			*ttl_s = (uint32_t)n->ai_ttl;
	}
	for (const struct ares_addrinfo_cname *n = info->cnames; n != NULL; n = n->next)
		if (n->ttl >= 0 && (uint32_t)n->ttl < *ttl_s)
			*ttl_s = (uint32_t)n->ttl;
	return count;
}

static void on_addrs(void *arg, int status, int timeouts, struct ares_addrinfo *info)
{
	struct dns_reply reply = {.status = status_of(status), .ttl_s = UINT32_MAX};
	struct addr *list = NULL;
	size_t room = 0;

	(void)timeouts;
	if (reply.status == DNS_VALID) {
		room = count_nodes(info);
		list = calloc(room + 1, sizeof(*list));
		reply.status = list != NULL ? DNS_VALID : DNS_NO_MEMORY;
	}
	if (list != NULL) {
		reply.addrs = list;
		reply.addr_count = take_addrs(info, list, room, &reply.ttl_s);
		reply.by_cname = info->cnames != NULL;
		if (reply.addr_count == 0)
			reply.status = DNS_NO_DATA;
	}
	finish(arg, &reply);
	free(list);
	ares_freeaddrinfo(info);
}

static void on_srv(void *arg, int status, const uint8_t *bytes, size_t len)
{
	struct dns_reply reply = {.status = status_of(status)};
	struct srv_answer srv = {0};
	int err;

	if (reply.status == DNS_VALID) {
		err = srv_answer_read(&srv, bytes, len);
		reply.status = err == -ENOMEM ? DNS_NO_MEMORY : err ? DNS_INVALID : DNS_VALID;
		reply.srv = err ? NULL : &srv;
		reply.ttl_s = srv.ttl_s;
		reply.by_cname = srv.by_cname;
		if (!err && srv.target_count == 0)
			reply.status = DNS_NO_DATA;
	}
	finish(arg, &reply);
	srv_answer_free(&srv);
}

void dns_channel_ask(struct dns_channel *c, enum dns_type type, const char *host, dns_replied *replied,
		     void *arg)
{
	static const struct dns_reply no_memory = {.status = DNS_NO_MEMORY};
	const struct ares_addrinfo_hints hints = {
		.ai_flags = ARES_AI_NOSORT,
		.ai_family = type == DNS_AAAA ? AF_INET6 : AF_INET,
		.ai_socktype = SOCK_STREAM,
	};
	struct wire_question *q = malloc(sizeof(*q));

	if (q == NULL) {
		replied(arg, &no_memory);
		return;
	}
	*q = (struct wire_question){c, replied, arg};
	c->awaited++;
	if (type == DNS_SRV)
		dns_query_srv(c->ares, host, on_srv, q);
	else
		ares_getaddrinfo(c->ares, host, NULL, &hints, on_addrs, q);
}
