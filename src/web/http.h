/* SPDX-License-Identifier: MIT
 *
 * http.h - the HTTP server: requests on connections that it is given, each within a deadline.
 *
 * A build without libmicrohttpd has http_none.c in place of http.c. Main thread.
 */
#ifndef WEIR_WEB_HTTP_H
#define WEIR_WEB_HTTP_H

#include <ev.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "weir/web/web.h"

struct http;

/* What the server needs of its owner; borrowed until http_free(). */
struct http_owner {
	const struct web_context *ctx;
	struct web_totals *totals;
	const struct web_socket *socket; /* its configuration says who needs a password */
	void (*on_room)(void *arg); /* http_is_full() was true and is no longer */
	void *arg;
};

/* NULL with `*err` = -ENOMEM, -EMFILE or -ENFILE; -ENOSYS: this build has no HTTP server. */
struct http *http_new(struct ev_loop *loop, const struct http_owner *owner, int *err);
/* Closes all connections. NULL is harmless. */
void http_free(struct http *h);
/* Takes the connected, nonblocking socket `fd` of the client at `sa`; closes it if it cannot be served. The
 * server must not be full. */
void http_take(struct http *h, int fd, const struct sockaddr *sa, socklen_t len);
/* Are there WEB_CLIENTS_MAX connections? */
bool http_is_full(const struct http *h);

#endif
