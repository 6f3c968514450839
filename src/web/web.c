/* SPDX-License-Identifier: MIT
 *
 * web.c - the HTTP endpoint: who may connect, and what it is made of.
 *
 * Owns the HTTP server. Refused clients are counted, and logged at a bounded rate. Main thread.
 */
#include "weir/web/web.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/log.h"
#include "weir/engine/histograms.h"
#include "weir/net/netset.h"
#include "weir/net/sock.h"
#include "weir/sys/sys.h"
#include "web_parts.h"

#define ACCEPTS_AT_ONCE 16
#define ACCEPT_RETRY_S	0.1
/* An answer of megabytes at once would take milliseconds, in which no worker runs on this CPU. */
#define SEND_AT_ONCE (128 << 10)

/* ---- who may connect ---- */

static bool is_this_machine(const struct addr_brief *a)
{
	static const uint8_t six[16] = {[15] = 1};

	if (a->family == AF_INET)
		return a->ip[0] == 127;
	return a->family == AF_INET6 && memcmp(a->ip, six, sizeof(six)) == 0;
}

static bool is_allowed(const struct web *w, const struct addr_brief *a)
{
	const struct netset *allow = w->socket->config->allow;

	if (a->family == AF_UNIX)
		return true; /* the mode of its path decides */
	return allow != NULL ? netset_has(allow, a) : is_this_machine(a);
}

static void refuse(struct web *w, int fd, const struct addr_brief *a)
{
	char address[ADDR_TEXT_MAX];

	w->totals.refused++;
	(void)close(fd);
	if (log_limit_ok(&w->limit, LOG_CAUSE_WEB, 0, clock_mono_ns(), 1))
		log_line(LOG_LEVEL_WARNING,
			 "the HTTP endpoint refused %s; to admit it, add its network to 'allow-from' in "
			 "[stats]",
			 addr_brief_format(a, address));
}

/* Takes one client. 0 or -errno: -EAGAIN, nobody waits. */
static int take_client(struct web *w)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	struct addr_brief brief = {.family = AF_UNIX};
	const int fd = sys_accept(w->socket->fd, (struct sockaddr *)&sa, &len);

	if (fd < 0)
		return fd == -ECONNABORTED ? 0 : fd;
	if (!addr_is_unix(&w->socket->addr))
		addr_to_brief((struct sockaddr *)&sa, len, &brief);
	if (is_allowed(w, &brief)) {
		sock_send_at_once(fd, SEND_AT_ONCE);
		http_take(w->http, fd, (struct sockaddr *)&sa, len);
	} else {
		refuse(w, fd, &brief);
	}
	return 0;
}

/* ---- the door ---- */

static void on_accept(struct ev_loop *loop, struct ev_io *io, int revents)
{
	struct web *w = io->data;
	/* With EV_ERROR the kernel cannot watch it, and libev has stopped the watcher. */
	int err = (revents & EV_ERROR) != 0 ? -ENOMEM : 0;

	for (int i = 0; i < ACCEPTS_AT_ONCE && !err && !http_is_full(w->http); i++)
		err = take_client(w);
	if (http_is_full(w->http)) {
		ev_io_stop(loop, &w->accept); /* until on_room() */
	} else if (err && err != -EAGAIN) {
		/* Out of descriptors or memory. The event persists, so retrying at once would spin. */
		ev_io_stop(loop, &w->accept);
		ev_timer_set(&w->retry, ACCEPT_RETRY_S, 0.);
		ev_timer_start(loop, &w->retry);
	}
}

static void on_room(void *arg)
{
	struct web *w = arg;

	if (w->socket->fd >= 0 && !ev_is_active(&w->retry))
		ev_io_start(w->loop, &w->accept);
}

static void on_retry(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	(void)loop;
	(void)revents;
	on_room(timer->data);
}

void web_keep_histograms(struct web *w)
{
	const enum histograms_kept kept =
		w->socket->config->per_server_histograms ? HISTOGRAMS_ALL : HISTOGRAMS_PROXIES;

	(void)histograms_keep(w->ctx.engine, kept); /* without memory, the next walk tries */
}

void web_door_open(struct web *w)
{
	if (w->socket->fd < 0)
		return;
	check(w->http != NULL);
	web_keep_histograms(w);
	ev_io_set(&w->accept, w->socket->fd, EV_READ);
	on_room(w);
}

void web_door_close(struct web *w)
{
	while (w->socket->fd >= 0 && w->http != NULL && !http_is_full(w->http))
		if (take_client(w) != 0)
			break;
	ev_io_stop(w->loop, &w->accept);
	ev_timer_stop(w->loop, &w->retry);
}

/* ---- the whole ---- */

int web_start_http(struct web *w)
{
	const struct http_owner owner = {.ctx = &w->ctx,
					 .totals = &w->totals,
					 .socket = w->socket,
					 .on_room = on_room,
					 .arg = w};
	int err;

	check(w->http == NULL);
	w->http = http_new(w->loop, &owner, &err);
	return err;
}

void web_stop_http(struct web *w)
{
	http_free(w->http);
	w->http = NULL;
	(void)histograms_keep(w->ctx.engine, HISTOGRAMS_NONE); /* cannot fail */
}

struct web *web_new(struct ev_loop *loop, struct web_socket *socket, const struct web_context *ctx, int *err)
{
	struct web *w = calloc(1, sizeof(*w));

	check(ctx->sources.csv != NULL);
	check(ctx->sources.info != NULL);
	check(ctx->sources.why_not_ready != NULL);
	check(ctx->sources.is_ending != NULL);
	*err = w != NULL ? 0 : -ENOMEM;
	if (w == NULL)
		return NULL;
	w->loop = loop;
	w->socket = socket;
	w->ctx = *ctx;
	ev_init(&w->accept, on_accept);
	w->accept.data = w;
	ev_init(&w->retry, on_retry);
	w->retry.data = w;
	if (socket->fd >= 0)
		*err = web_start_http(w);
	if (*err) {
		free(w);
		return NULL;
	}
	web_door_open(w);
	return w;
}

void web_free(struct web *w)
{
	if (w == NULL)
		return;
	ev_io_stop(w->loop, &w->accept);
	ev_timer_stop(w->loop, &w->retry);
	http_free(w->http);
	free(w);
}

const struct web_totals *web_totals(const struct web *w)
{
	return &w->totals;
}

void web_publish(void *from, figure_report *report, void *to)
{
	static const struct figure requests = {"web_requests", FIGURE_TOTAL, "requests to the HTTP endpoint"};
	static const struct figure refused = {"web_refused", FIGURE_TOTAL,
					      "connections to it from outside of allow-from"};
	static const struct figure late = {"web_late", FIGURE_TOTAL,
					   "connections to it that were closed because they were too slow"};
	static const struct figure wrong = {"web_auth_wrong", FIGURE_TOTAL,
					    "wrong passwords for the HTTP endpoint (auth-file)"};
	static const struct figure throttled = {
		"web_auth_throttled", FIGURE_TOTAL,
		"requests to it from sources with 5 wrong passwords within a minute"};
	static const struct figure busy = {"web_auth_busy", FIGURE_TOTAL,
					   "requests to it whose password could not be verified in time"};
	const struct web *w = *(struct web **)from;
	const struct web_totals totals = w != NULL ? w->totals : (struct web_totals){0};

	report(to, &requests, totals.requests);
	report(to, &refused, totals.refused);
	report(to, &late, totals.late);
	report(to, &wrong, totals.auth_wrong);
	report(to, &throttled, totals.auth_throttled);
	report(to, &busy, totals.auth_busy);
}
