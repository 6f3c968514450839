/* SPDX-License-Identifier: MIT
 *
 * server_sock.c - the socket of a connection to a server, with the options of its backend.
 *
 * Chooses the source address; what is our own shortage (no port left at any source) is reported as
 * -EADDRNOTAVAIL and never held against the server. A worker's thread. Floor 4.
 */
#include "sluice/engine/server_sock.h"

#include "sluice/engine/session.h"
#include "sluice/engine/worker.h"
#include "sluice/io/sock.h"

int server_sock_open(struct session *s, const struct addr *to)
{
	static const struct addr none;
	const struct config_tcp *tcp = &s->backend->config->tcp;
	const struct config_server *server = s->server->config;
	const struct sock_tcp opt = {
		.keepalive = tcp->keepalive,
		.keepalive_idle_s = tcp->keepalive_idle_s,
		.keepalive_interval_s = tcp->keepalive_interval_s,
		.keepalive_count = tcp->keepalive_count,
		.user_timeout_ms = tcp->user_timeout_ms,
		.lazy_ack = true,
	};
	const int fd = sock_open(to, server->source.count > 0 ? &server->source.list[0] : &none, &opt);

	if (fd < 0)
		return fd;
	io_sock_init(&s->sides[SIDE_SERVER].sock, fd, !addr_is_unix(to));
	return 0;
}
