/* SPDX-License-Identifier: MIT
 *
 * http.c - the HTTP server: libmicrohttpd, whose epoll descriptor is watched by control's loop.
 *
 * Owns the server and its clients. libmicrohttpd owns the connections; a client here adds the deadline, and
 * the answer that its request waits for meanwhile. Main thread.
 */
#include "http.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/list.h"
#include "weir/sys/low_fds.h"
#include "guard.h"
#include "page.h"
#include "shares.h"
#include "wish.h"

#define REQUEST_NS     ((int64_t)(WEB_REQUEST_S * 1e9))
#define RUNS_AT_ONCE   16
#define ALLOWED	       "GET, HEAD"
#define NO_ANSWER      "a worker did not answer in time, or memory is short\n"

struct client {
	struct share_waiter waiter; /* first */
	struct list link; /* in `clients` by deadline, or in `free`; unlinked: it waits for its answer, or is
			   * being closed */
	struct http *http;
	struct guest guest; /* borrows its connection */
	int64_t until_ns;   /* monotonic */
	bool suspended;	     /* its request waits for `waiter` or `guest` */
	bool failed;	     /* there will be no answer */
	bool idle;	     /* all its requests have been answered, and there was one */
	struct share *share; /* owns: the answer, until it is queued */
};

struct http {
	struct ev_loop *loop;	   /* borrows */
	struct http_owner owner;
	struct MHD_Daemon *server; /* owns */
	int fd;			   /* owns: its epoll descriptor once more, with a low number */
	struct ev_io io;
	struct ev_timer timer;
	struct shares shares;
	struct guard guard;
	struct list clients; /* the earliest deadline first */
	struct list free;
	unsigned count;      /* of connections */
	bool resumed; /* a request has its answer, and the server has not run since */
	bool ending;
	struct client all[WEB_CLIENTS_MAX];
};

bool web_is_built(void)
{
	return true;
}

static void set_timer(struct http *h, bool again);

static void set_deadline(struct client *c)
{
	c->until_ns = clock_mono_ns() + REQUEST_NS;
	list_remove(&c->link);
	list_push_back(&c->http->clients, &c->link);
}

/* ---- answers ---- */

static enum MHD_Result queue(struct MHD_Connection *connection, unsigned status, const char *type,
			     struct MHD_Response *response)
{
	enum MHD_Result result;

	if (response == NULL)
		return MHD_NO; /* out of memory: the connection is closed */
	/* Each fails only for lack of memory, and then the header is missing. */
	(void)MHD_add_response_header(response, "Content-Type", type);
	(void)MHD_add_response_header(response, "Cache-Control", "no-store");
	(void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (strncmp(type, "text/html", 9) == 0)
		(void)MHD_add_response_header(response, "Content-Security-Policy", page_policy());
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		(void)MHD_add_response_header(response, "Allow", ALLOWED);
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

/* `text` is static. */
static enum MHD_Result queue_text(struct MHD_Connection *connection, unsigned status, const char *text)
{
	return queue(connection, status, "text/plain; charset=utf-8",
		     MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text,
						     MHD_RESPMEM_PERSISTENT));
}

static void release(void *share)
{
	share_release(share);
}

/* Takes the answer. */
static enum MHD_Result queue_share(struct MHD_Connection *connection, struct share *a)
{
	struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
		a->text.len, a->text.bytes, release, a);
	const unsigned status = a->status;
	const char *type = wish_type(&a->wish);

	if (response == NULL)
		share_release(a);
	return queue(connection, status, type, response);
}

/* ---- waiting ---- */

static enum MHD_Result suspend(struct client *c)
{
	c->suspended = true;
	list_remove(&c->link); /* what it waits for has a deadline of its own */
	MHD_suspend_connection(c->guest.connection);
	return MHD_YES;
}

static void resume(struct client *c)
{
	check(c->suspended);
	c->suspended = false;
	set_deadline(c); /* to take the answer */
	MHD_resume_connection(c->guest.connection); /* wakes nobody: the server has no thread */
	c->http->resumed = true;
	if (!c->http->ending)
		set_timer(c->http, true);
}

static void on_verdict(struct auth_waiter *w, enum auth_verdict verdict)
{
	struct client *c = container_of(w, struct client, guest.waiter);

	c->guest.verdict = verdict;
	resume(c);
}

static enum MHD_Result queue_refusal(struct client *c)
{
	unsigned status;
	struct MHD_Response *response = guard_refuse(&c->http->guard, &c->guest, &status);

	return queue(c->guest.connection, status, "text/plain; charset=utf-8", response);
}

/* ---- requests ---- */

struct reading {
	struct wish *wish;
	bool refused;
};

static enum MHD_Result read_argument(void *arg, enum MHD_ValueKind kind, const char *key, const char *value)
{
	struct reading *r = arg;

	(void)kind;
	r->refused = !wish_argument(r->wish, key, value);
	return r->refused ? MHD_NO : MHD_YES;
}

static void on_answered(struct share_waiter *w, struct share *answer)
{
	struct client *c = container_of(w, struct client, waiter);

	c->share = answer;
	c->failed = answer == NULL;
	resume(c);
}

static enum MHD_Result begin_request(struct client *c, const char *url)
{
	struct MHD_Connection *connection = c->guest.connection;
	struct http *h = c->http;
	const struct route_row *route = route_find(url);
	struct wish *wish = &c->waiter.wish;
	struct reading r = {.wish = wish};
	struct share *a;

	if (c->guest.verdict == AUTH_NONE)
		guard_judge(&h->guard, &c->guest, route);
	if (c->guest.verdict == AUTH_NONE)
		return suspend(c);
	if (c->guest.verdict != AUTH_PASS)
		return queue_refusal(c);
	if (route == NULL)
		return queue_text(connection, MHD_HTTP_NOT_FOUND, "not found\n");
	wish_init(wish, route);
	if (route->name == ROUTE_METRICS || route->name == ROUTE_PAGE)
		(void)MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, read_argument, &r);
	if (route->name == ROUTE_METRICS)
		wish_accept(wish, MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept"));
	if (r.refused)
		return queue_text(connection, MHD_HTTP_BAD_REQUEST,
				  "a query is scope=global|frontend|backend|server|worker|*, no-maint, "
				  "names=weir|haproxy\n");
	a = route->needs != ROUTE_NEEDS_NOTHING ? shares_find(&h->shares, wish)
						: shares_make(&h->shares, wish);
	if (a != NULL)
		return queue_share(connection, a);
	if (route->needs == ROUTE_NEEDS_NOTHING)
		return queue_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, NO_ANSWER);
	(void)suspend(c);
	shares_wait(&h->shares, &c->waiter);
	return MHD_YES;
}

static struct client *client_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info != NULL ? info->socket_context : NULL;
}

/* Called when the headers are there, for each part of a body, at the end, and after each wait. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_len, void **state)
{
	struct client *c = client_of(connection);
	struct share *a;

	(void)arg;
	(void)version;
	(void)upload;
	if (c == NULL)
		return MHD_NO;
	if (*state == NULL) {
		*state = c;
		c->idle = false;
		c->guest.verdict = AUTH_NONE;
		c->http->owner.totals->requests++;
		if (strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0)
			return MHD_YES;
		return queue_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
				  "only GET and HEAD: nothing can be changed here\n");
	}
	if (*upload_len > 0)
		return MHD_NO; /* of no use here, and it may have no end */
	if (c->failed) {
		c->failed = false;
		return queue_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, NO_ANSWER);
	}
	a = c->share;
	c->share = NULL;
	return a != NULL ? queue_share(connection, a) : begin_request(c, url);
}

/* ---- connections ---- */

static void forget_request(struct client *c)
{
	shares_forget(&c->http->shares, &c->waiter);
	guard_forget(&c->http->guard, &c->guest);
	share_release(c->share);
	c->share = NULL;
	c->suspended = false;
	c->failed = false;
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **state,
			 enum MHD_RequestTerminationCode code)
{
	struct client *c = client_of(connection);

	(void)arg;
	(void)state;
	if (c == NULL)
		return;
	forget_request(c);
	if (code != MHD_REQUEST_TERMINATED_COMPLETED_OK)
		return;
	c->idle = true;
	set_deadline(c); /* of the next request */
}

static int fd_of(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http *h = arg;
	struct client *c = *context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		check(!list_empty(&h->free)); /* http_take() is not called for a full server */
		c = list_entry(h->free.next, struct client, link);
		c->guest.connection = connection;
		c->guest.fd = fd_of(connection);
		c->idle = false;
		h->count++;
		set_deadline(c);
		*context = c;
		return;
	}
	if (c == NULL)
		return;
	forget_request(c);
	list_remove(&c->link);
	list_push_back(&h->free, &c->link);
	*context = NULL;
	if (h->count-- == WEB_CLIENTS_MAX && !h->ending)
		h->owner.on_room(h->owner.arg);
}

/* ---- the loop ---- */

static void end_late(struct http *h)
{
	const int64_t now_ns = clock_mono_ns();

	while (!list_empty(&h->clients)) {
		struct client *c = list_entry(h->clients.next, struct client, link);

		if (c->until_ns > now_ns)
			return;
		h->owner.totals->late += !c->idle;
		list_remove(&c->link);
		(void)shutdown(c->guest.fd, SHUT_RDWR); /* the server notices, and closes it */
	}
}

static void set_timer(struct http *h, bool again)
{
	double wait_s;

	ev_timer_stop(h->loop, &h->timer);
	if (!again && list_empty(&h->clients))
		return;
	wait_s = 0.;
	if (!again) {
		const struct client *c = list_entry(h->clients.next, struct client, link);

		wait_s = (double)(c->until_ns - clock_mono_ns()) / 1e9;
		wait_s = wait_s > 0. ? wait_s : 0.;
		ev_now_update(h->loop);
	}
	ev_timer_set(&h->timer, wait_s, 0.);
	ev_timer_start(h->loop, &h->timer);
}

/* True if there is more to do at once. */
static bool http_run(struct http *h)
{
	for (unsigned i = 0; i < RUNS_AT_ONCE; i++) {
		MHD_UNSIGNED_LONG_LONG wait_ms;

		h->resumed = false;
		(void)MHD_run(h->server); /* fails only for a server with threads */
		shares_go_on(&h->shares);
		if (h->resumed)
			continue;
		if (MHD_get_timeout(h->server, &wait_ms) != MHD_YES || wait_ms > 0)
			return false;
	}
	return true;
}

static void on_ready(struct ev_loop *loop, struct ev_io *io, int revents)
{
	struct http *h = io->data;

	(void)loop;
	(void)revents;
	set_timer(h, http_run(h));
}

static void on_timer(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct http *h = timer->data;

	(void)loop;
	(void)revents;
	end_late(h);
	set_timer(h, http_run(h));
}

static int start(struct http *h)
{
	const union MHD_DaemonInfo *info;

	errno = 0;
	h->server = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
		on_request, h, MHD_OPTION_CONNECTION_LIMIT, (unsigned)WEB_CLIENTS_MAX,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)WEB_REQUEST_BYTES, MHD_OPTION_NOTIFY_COMPLETED,
		on_completed, h, MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_END);
	if (h->server == NULL)
		return errno == EMFILE || errno == ENFILE ? -errno : -ENOMEM;
	info = MHD_get_daemon_info(h->server, MHD_DAEMON_INFO_EPOLL_FD);
	check(info != NULL);
	h->fd = fcntl(info->epoll_fd, F_DUPFD_CLOEXEC, 3);
	h->fd = low_fds_take(h->fd >= 0 ? h->fd : -errno);
	if (h->fd >= 0)
		return 0;
	MHD_stop_daemon(h->server);
	return h->fd;
}

struct http *http_new(struct ev_loop *loop, const struct http_owner *owner, int *err)
{
	struct http *h = calloc(1, sizeof(*h));

	*err = h != NULL ? 0 : -ENOMEM;
	if (h == NULL)
		return NULL;
	h->loop = loop;
	h->owner = *owner;
	h->guard = (struct guard){.loop = loop, .totals = owner->totals, .socket = owner->socket};
	list_init(&h->clients);
	list_init(&h->free);
	for (size_t i = 0; i < WEB_CLIENTS_MAX; i++) {
		h->all[i].http = h;
		h->all[i].waiter.answered = on_answered;
		h->all[i].guest.waiter.done = on_verdict;
		list_init(&h->all[i].waiter.link);
		list_init(&h->all[i].guest.waiter.link);
		list_push_back(&h->free, &h->all[i].link);
	}
	*err = start(h);
	if (*err) {
		free(h);
		return NULL;
	}
	shares_init(&h->shares, loop, owner->ctx);
	ev_io_init(&h->io, on_ready, h->fd, EV_READ);
	h->io.data = h;
	ev_init(&h->timer, on_timer);
	h->timer.data = h;
	ev_io_start(loop, &h->io);
	return h;
}

void http_free(struct http *h)
{
	if (h == NULL)
		return;
	h->ending = true;
	ev_io_stop(h->loop, &h->io);
	ev_timer_stop(h->loop, &h->timer);
	for (size_t i = 0; i < WEB_CLIENTS_MAX; i++) {
		struct client *c = &h->all[i];

		if (!c->suspended)
			continue;
		forget_request(c);
		c->suspended = true;
		on_answered(&c->waiter, NULL);
	}
	MHD_stop_daemon(h->server);
	guard_free(&h->guard);
	check(h->count == 0);
	shares_free(&h->shares);
	low_fds_close(h->fd);
	free(h);
}

void http_take(struct http *h, int fd, const struct sockaddr *sa, socklen_t len)
{
	check(!http_is_full(h));
	(void)MHD_add_connection(h->server, fd, sa, len); /* closes it if it fails */
	if (!ev_is_active(&h->timer))
		set_timer(h, false);
}

bool http_is_full(const struct http *h)
{
	return h->count == WEB_CLIENTS_MAX;
}
