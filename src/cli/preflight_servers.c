/* SPDX-License-Identifier: MIT
 *
 * preflight_servers.c - do the names of servers resolve, and do the servers accept a connection?
 *
 * Looks up all names at once, then connects to all servers at once, with one deadline per step: a hundred
 * dead servers take as long as one. A server sees a connection that sends nothing and ends. Main thread.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/clock.h"
#include "weir/entry/endpoint.h"
#include "weir/net/self_connect.h"
#include "weir/net/sock.h"
#include "weir/sys/sys.h"
#include "preflight.h"

#define RESOLVE_WAIT_NS (5 * NS_PER_SEC)
#define CONNECT_WAIT_NS (2 * NS_PER_SEC)

/* One server being tested. */
struct trial {
	const struct config_backend *backend; /* borrows */
	const struct config_server *server;   /* borrows */
	struct gaicb question;                /* for a server with a name */
	char *host;                           /* owns; a lookup may need it longer than we have `server` */
	struct addrinfo hints;
	char port[8];
	struct addr addr; /* len 0 = unknown */
	int fd;           /* owns; -1 = no connect in progress */
	int64_t began_ns;
	int64_t deadline_ns;
	size_t line; /* index of the line of its connect */
};

struct trials {
	struct trial *list; /* owns, unless `asking` */
	size_t count;
	bool asking; /* a lookup may still write to the list, so it stays until the process ends */
};

static bool trials_make(struct trials *t, const struct config *c)
{
	size_t count = 0;

	for (size_t i = 0; i < c->backend_count; i++)
		count += c->backends[i].server_count;
	t->list = calloc(count + 1, sizeof(*t->list));
	if (t->list == NULL)
		return false;
	for (size_t i = 0; i < c->backend_count; i++) {
		for (size_t k = 0; k < c->backends[i].server_count; k++) {
			struct trial *one = &t->list[t->count];

			if (c->backends[i].servers[k].set == CONFIG_SET_SRV ||
			    c->backends[i].servers[k].addr.kind == ADDR_SNI)
				continue; /* its servers are not known before they are asked for */
			t->count++;

			one->backend = &c->backends[i];
			one->server = &c->backends[i].servers[k];
			one->fd = -1;
			if (one->server->addr.kind != ADDR_NAME)
				one->addr = one->server->addr.addr;
		}
	}
	return true;
}

static void trials_free(struct trials *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->list[i].host);
	free(t->list);
}

static struct preflight_line *add_line(struct preflight *p, const char *what, const struct trial *one)
{
	struct preflight_line *line = preflight_add(p, what);

	if (line != NULL)
		(void)snprintf(line->name, sizeof(line->name), "%s/%s", one->backend->name,
			       one->server->name); /* long enough for both */
	return line;
}

/* ---- names ---- */

static size_t ask_names(struct trials *t, struct gaicb **questions)
{
	size_t count = 0;

	for (size_t i = 0; i < t->count; i++) {
		struct trial *one = &t->list[i];
		const struct addr_spec *spec = &one->server->addr;

		if (spec->kind != ADDR_NAME)
			continue;
		(void)snprintf(one->port, sizeof(one->port), "%u", (unsigned)spec->port); /* five digits */
		one->hints.ai_family = spec->family;
		one->hints.ai_socktype = SOCK_STREAM;
		one->hints.ai_flags = AI_NUMERICSERV;
		one->host = strdup(spec->host);
		if (one->host == NULL)
			continue; /* no lookup, so no address */
		one->question.ar_name = one->host;
		one->question.ar_service = one->port;
		one->question.ar_request = &one->hints;
		questions[count++] = &one->question;
	}
	return count;
}

/* True when every lookup has finished, false when the time is up. */
static bool await_names(struct gaicb **questions, size_t count)
{
	const int64_t deadline_ns = clock_mono_ns() + RESOLVE_WAIT_NS;

	for (;;) {
		const struct gaicb *open[1];
		const int64_t left_ns = deadline_ns - clock_mono_ns();
		struct timespec wait;
		size_t i = 0;

		while (i < count && gai_error(questions[i]) != EAI_INPROGRESS)
			i++;
		if (i == count)
			return true;
		if (left_ns <= 0)
			return false;
		open[0] = questions[i];
		wait.tv_sec = left_ns / NS_PER_SEC;
		wait.tv_nsec = left_ns % NS_PER_SEC;
		(void)gai_suspend(open, 1, &wait); /* the results are checked again in either case */
	}
}

static void take_name(struct preflight *p, struct trial *one)
{
	struct preflight_line *line = add_line(p, "resolve", one);
	const int err = gai_error(&one->question);
	const struct addrinfo *found = one->question.ar_result;

	if (line == NULL)
		return;
	(void)addr_spec_format(&one->server->addr, line->address);
	if (err == EAI_INPROGRESS) {
		preflight_fail(p, line, "no answer within %d s", (int)(RESOLVE_WAIT_NS / NS_PER_SEC));
		return;
	}
	if (err != 0 || found == NULL || found->ai_addrlen > sizeof(one->addr.un)) {
		preflight_fail(p, line, "%s; weir would start, and retry",
			       err != 0 ? gai_strerror(err) : "no address");
		return;
	}
	memcpy(&one->addr.sa, found->ai_addr, found->ai_addrlen);
	one->addr.len = found->ai_addrlen;
	(void)addr_format(&one->addr, line->address);
	(void)snprintf(line->words, sizeof(line->words), "%s", one->server->addr.host); /* may be truncated */
}

static void resolve(struct preflight *p, struct trials *t)
{
	struct gaicb **questions = calloc(t->count + 1, sizeof(*questions));
	const size_t count = questions != NULL ? ask_names(t, questions) : 0;

	if (questions == NULL)
		p->no_memory = true;
	if (count > 0 && getaddrinfo_a(GAI_NOWAIT, questions, (int)count, NULL) == 0)
		t->asking = !await_names(questions, count);
	for (size_t i = 0; count > 0 && i < t->count; i++)
		if (t->list[i].server->addr.kind == ADDR_NAME)
			take_name(p, &t->list[i]);
	for (size_t i = 0; i < count && !t->asking; i++)
		if (questions[i]->ar_result != NULL)
			freeaddrinfo(questions[i]->ar_result);
	free(questions);
}

/* ---- connects ---- */

static void end_connect(struct preflight *p, struct trial *one, int err)
{
	struct preflight_line *line = &p->lines[one->line];
	const bool itself = err == 0 && self_connect_happened(one->fd, &one->addr);

	if (itself)
		sock_harden(one->fd); /* TIME_WAIT would hold the server's port */
	if (one->fd >= 0)
		sys_close(one->fd);
	one->fd = -1;
	if (itself)
		preflight_fail(p, line, "Connection refused (connected to itself)");
	else if (err == -ETIMEDOUT)
		preflight_fail(p, line, "no answer within %.1f s",
			       (double)(one->deadline_ns - one->began_ns) / (double)NS_PER_SEC);
	else if (err == -EAGAIN)
		preflight_fail(p, line, "backlog full: the server accepts too slowly or not at all");
	else if (err)
		preflight_fail(p, line, "%s", strerrordesc_np(-err));
	else
		(void)snprintf(line->words, sizeof(line->words), "%.1f ms",
			       (double)(clock_mono_ns() - one->began_ns) / (double)NS_PER_MS);
}

/* The first source address that a connection may use. Nobody here has a client's own address. */
static const struct addr *source_for(const struct trial *one)
{
	static const struct addr none;
	const struct config_sources *sources = &one->server->source;

	for (size_t i = 0; i < sources->count; i++)
		if (sources->list[i].sa.sa_family == one->addr.sa.sa_family)
			return &sources->list[i];
	return &none;
}

static void begin_connect(struct preflight *p, struct trial *one)
{
	const struct sock_tcp tcp = sock_tcp_of(&one->backend->tcp);
	const int64_t own_ns = one->backend->timeouts.connect_ns;
	struct preflight_line *line = add_line(p, "connect", one);
	int err;

	if (line == NULL)
		return;
	(void)addr_format(&one->addr, line->address);
	one->line = p->count - 1;
	one->began_ns = clock_mono_ns();
	one->deadline_ns =
		one->began_ns + (own_ns > 0 && own_ns < CONNECT_WAIT_NS ? own_ns : CONNECT_WAIT_NS);
	one->fd = sock_open(&one->addr, source_for(one), &tcp);
	err = one->fd < 0 ? one->fd : sys_connect(one->fd, &one->addr.sa, one->addr.len);
	if (err != -EINPROGRESS)
		end_connect(p, one, err);
}

static int socket_error(int fd)
{
	int err = 0;
	socklen_t len = sizeof(err);
	const int failed = sys_getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);

	return failed ? failed : -err;
}

/* Completes finished connects. Returns the time until the next deadline in ms, -1 if nothing is left. */
static int look_at_trials(struct preflight *p, struct trials *t, const struct pollfd *polled)
{
	const int64_t now_ns = clock_mono_ns();
	int64_t next_ns = -1;

	for (size_t i = 0; i < t->count; i++) {
		struct trial *one = &t->list[i];

		if (one->fd < 0)
			continue;
		if (polled != NULL && polled[i].revents != 0)
			end_connect(p, one, socket_error(one->fd));
		else if (now_ns >= one->deadline_ns)
			end_connect(p, one, -ETIMEDOUT);
		else if (next_ns < 0 || one->deadline_ns - now_ns < next_ns)
			next_ns = one->deadline_ns - now_ns;
	}
	return next_ns < 0 ? -1 : (int)(next_ns / NS_PER_MS) + 1;
}

static void connect_all(struct preflight *p, struct trials *t)
{
	struct pollfd *polled = calloc(t->count + 1, sizeof(*polled));
	int wait_ms;

	if (polled == NULL) {
		p->no_memory = true;
		return;
	}
	for (size_t i = 0; i < t->count; i++)
		if (t->list[i].addr.len != 0)
			begin_connect(p, &t->list[i]);
	wait_ms = look_at_trials(p, t, NULL);
	while (wait_ms >= 0) {
		for (size_t i = 0; i < t->count; i++)
			polled[i] = (struct pollfd){.fd = t->list[i].fd, .events = POLLOUT};
		if (poll(polled, (nfds_t)t->count, wait_ms) < 0)
			memset(polled, 0, t->count * sizeof(*polled)); /* a signal: only deadlines count */
		wait_ms = look_at_trials(p, t, polled);
	}
	free(polled);
}

void preflight_servers(struct preflight *p)
{
	static struct trial *kept; /* for a lookup that hangs: it may write there until the process ends */
	struct trials t = {.count = 0};

	if (!trials_make(&t, p->config)) {
		p->no_memory = true;
		return;
	}
	resolve(p, &t);
	connect_all(p, &t);
	if (t.asking)
		kept = t.list;
	else
		trials_free(&t);
	(void)kept;
}
