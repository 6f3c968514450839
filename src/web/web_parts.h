/* SPDX-License-Identifier: MIT
 *
 * web_parts.h - the parts of the HTTP endpoint: its listening socket, at which clients are admitted, and its
 * server.
 *
 * For web.c and web_socket.c. Main thread.
 */
#ifndef WEIR_WEB_WEB_PARTS_H
#define WEIR_WEB_WEB_PARTS_H

#include <ev.h>

#include "weir/base/log.h"
#include "weir/web/web.h"
#include "http.h"

struct web {
	struct ev_loop *loop;      /* borrows */
	struct web_socket *socket; /* borrows: in service; closed = none */
	struct web_context ctx;
	struct web_totals totals;
	struct http *http;         /* owns; NULL while no socket is in service or prepared */
	struct ev_io accept;       /* active while there is a socket and room */
	struct ev_timer retry;
	struct log_limit limit;
};

/* Starts the HTTP server. 0 or -errno, as http_new(). */
int web_start_http(struct web *w);
/* Closes all its connections. */
void web_stop_http(struct web *w);
/* As the configuration of `w->socket`, which is open, says. */
void web_keep_histograms(struct web *w);
/* Clients of `w->socket`, if that is open, are served from now on, and histograms are kept. */
void web_door_open(struct web *w);
/* They are not any more. Those who are queued are taken, as far as there is room. */
void web_door_close(struct web *w);

#endif
