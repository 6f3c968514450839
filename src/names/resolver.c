/* SPDX-License-Identifier: MIT
 *
 * resolver.c - addresses for servers that are configured by name.
 *
 * Owns one entry per name, with at most one request in progress, or else a timer. lookup.c has the thread.
 * Main thread.
 */
#include "weir/names/resolver.h"

#include <errno.h>
#include <ev.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "lookup.h"

#define BACKOFF_MAX_NS   (60 * NS_PER_SEC)
/* A name that changes too often is reported at most once in this time. */
#define FULL_LINE_NS (60 * NS_PER_SEC)

struct name {
	struct resolver *resolver; /* borrows */
	struct server *server;     /* borrows */
	struct ev_timer timer;     /* until the next request */
	struct lookup_job *job;    /* owns; NULL while it is submitted */
	unsigned failures;         /* in a row */
	struct log_limit limit;    /* for log lines about this name */
	int64_t full_told_ns;      /* when last reported that its server takes no more addresses; 0 = never */
};

struct resolver {
	struct ev_loop *loop;  /* borrows */
	struct lookup *lookup; /* owns; NULL when there are no names */
	struct ev_async wake;  /* the lookup thread has an answer */
	struct name *names;    /* owns */
	size_t name_count;
	struct server_updates *updates; /* borrows */
};

static const struct resolver_calls libc_calls = {.lookup = getaddrinfo, .release = freeaddrinfo};

static void on_wake(struct ev_loop *loop, struct ev_async *async, int revents);
static void on_name_timer(struct ev_loop *loop, struct ev_timer *timer, int revents);

int64_t resolver_wait_ns(unsigned failures, int64_t interval_ns)
{
	int64_t most_ns = interval_ns > 0 ? interval_ns : BACKOFF_MAX_NS;
	int64_t wait_ns = NS_PER_SEC;

	if (failures == 0)
		return interval_ns;
	for (unsigned i = 1; i < failures && wait_ns < most_ns; i++)
		wait_ns *= 2;
	return wait_ns < most_ns ? wait_ns : most_ns;
}

static void name_ask(struct name *n)
{
	struct lookup_job *job = n->job;

	check(job != NULL);
	n->job = NULL;
	lookup_ask(n->resolver->lookup, job);
}

static void name_wait(struct name *n)
{
	int64_t wait_ns = resolver_wait_ns(n->failures, n->server->backend->resolve_interval_ns);

	check(!ev_is_active(&n->timer));
	if (wait_ns == 0)
		return;
	ev_timer_set(&n->timer, (double)wait_ns / (double)NS_PER_SEC, 0.);
	ev_timer_start(n->resolver->loop, &n->timer);
}

/* The lookup thread's wake-up. This is the one libev call allowed from another thread; it writes to its
 * eventfd only if the loop sleeps. */
static void wake_loop(void *arg)
{
	struct resolver *r = arg;

	ev_async_send(r->loop, &r->wake);
}

static size_t count_names(const struct server_updates *u)
{
	size_t n = 0;

	for (size_t i = 0; i < u->backend_count; i++)
		for (size_t j = 0; j < u->backends[i].server_count; j++)
			n += u->backends[i].servers[j].config->addr.kind == ADDR_NAME;
	return n;
}

/* 0 or -ENOMEM. */
static int add_name(struct resolver *r, struct server *s)
{
	struct name *n = &r->names[r->name_count];

	n->job = calloc(1, sizeof(*n->job));
	if (n->job == NULL)
		return -ENOMEM;
	n->job->who = r->name_count++;
	n->job->port = s->config->addr.port;
	n->job->family = s->config->addr.family;
	memcpy(n->job->host, s->config->addr.host, sizeof(n->job->host));
	n->resolver = r;
	n->server = s;
	ev_init(&n->timer, on_name_timer);
	n->timer.data = n;
	return 0;
}

static int add_names(struct resolver *r, struct server_updates *u)
{
	struct server *s;
	int err;

	for (size_t i = 0; i < u->backend_count; i++) {
		for (size_t j = 0; j < u->backends[i].server_count; j++) {
			s = &u->backends[i].servers[j];
			if (s->config->addr.kind != ADDR_NAME)
				continue;
			err = add_name(r, s);
			if (err)
				return err;
		}
	}
	return 0;
}

struct resolver *resolver_new(struct ev_loop *loop, struct server_updates *u,
			      const struct resolver_calls *calls, int *err)
{
	struct resolver *r = calloc(1, sizeof(*r));
	size_t count = count_names(u);

	*err = -ENOMEM;
	if (r == NULL)
		return NULL;
	r->loop = loop;
	r->updates = u;
	ev_async_init(&r->wake, on_wake);
	r->wake.data = r;
	*err = 0;
	if (count == 0)
		return r;
	r->names = calloc(count, sizeof(*r->names));
	*err = r->names != NULL ? add_names(r, u) : -ENOMEM;
	if (*err == 0)
		r->lookup = lookup_new(calls != NULL ? calls : &libc_calls, wake_loop, r, err);
	if (*err) {
		resolver_free(r);
		return NULL;
	}
	ev_async_start(loop, &r->wake);
	for (size_t i = 0; i < r->name_count; i++)
		name_ask(&r->names[i]);
	return r;
}

void resolver_free(struct resolver *r)
{
	if (r == NULL)
		return;
	lookup_free(r->lookup); /* no wake-up after this */
	ev_async_stop(r->loop, &r->wake);
	for (size_t i = 0; i < r->name_count; i++) {
		ev_timer_stop(r->loop, &r->names[i].timer);
		free(r->names[i].job);
	}
	free(r->names);
	free(r);
}

static void on_name_timer(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	(void)loop;
	(void)revents;
	name_ask(timer->data);
}

/* The address to use: the current one if the name still has it, else the first IPv4 one, else the first. */
static const struct addr *choose(const struct lookup_job *job, const struct addr *now)
{
	const struct addr *first4 = NULL;

	check(job->count > 0);
	for (unsigned i = 0; i < job->count; i++) {
		if (now != NULL && addr_equal(&job->addrs[i], now))
			return now;
		if (first4 == NULL && job->addrs[i].sa.sa_family == AF_INET)
			first4 = &job->addrs[i];
	}
	return first4 != NULL ? first4 : &job->addrs[0];
}

enum kind { KIND_MEMORY, KIND_ADDRESS };

/* One name that changes constantly must not suppress the first line of any other. */
static bool may_log_failure(struct log_limit *limit, enum kind kind)
{
	return log_limit_ok(limit, LOG_CAUSE_RESOLVE, kind, clock_mono_ns(), 1);
}

static void tell_failure(const struct name *n, const char *why)
{
	const struct server *s = n->server;
	bool had = atomic_load(&s->addr) != NULL;

	/* An hour without a name server is one line per name, not a thousand. */
	if (n->failures > 1)
		return;
	log_line(LOG_LEVEL_WARNING,
		 "server %s/%s (%s:%u): cannot resolve '%s': %s; %s; will retry",
		 s->backend->name, s->config->name, s->config->place.file, s->config->place.line,
		 s->config->addr.host, why, had ? "it keeps its last address" : "it gets no connections");
}

/* Addresses are kept until shutdown, and a hostile name server could return a new one each time. */
static void tell_full(struct name *n, const struct addr *a)
{
	const struct server *s = n->server;
	const int64_t now_ns = clock_mono_ns();
	char text[ADDR_TEXT_MAX];

	if (n->full_told_ns != 0 && now_ns - n->full_told_ns < FULL_LINE_NS)
		return;
	n->full_told_ns = now_ns;
	log_line(LOG_LEVEL_WARNING,
		 "server %s/%s: '%s' now resolves to %s, but the server has had %u addresses and keeps its "
		 "last one; check the name server and restart weir, or configure an address",
		 s->backend->name, s->config->name, s->config->addr.host, addr_format(a, text),
		 KNOWN_ADDRS_MAX);
}

static void use_addr(struct name *n, const struct addr *a)
{
	const struct server *s = n->server;
	const struct addr *now = atomic_load(&s->addr);
	char text[ADDR_TEXT_MAX];
	int err;

	n->failures = 0;
	if (a == now)
		return;
	err = server_updates_set_addr(n->resolver->updates, n->server, a);
	if (err == -ENOSPC) {
		tell_full(n, a);
		return;
	}
	if (err) {
		n->failures = 1;
		if (!may_log_failure(&n->limit, KIND_MEMORY))
			return;
		log_line(LOG_LEVEL_ERROR, "server %s/%s: no memory for its new address; will retry in 1 s",
			 s->backend->name, s->config->name);
		return;
	}
	if (may_log_failure(&n->limit, KIND_ADDRESS))
		log_line(LOG_LEVEL_INFO, "server %s/%s: '%s' is %s", s->backend->name, s->config->name,
			 s->config->addr.host, addr_format(a, text));
}

static void take_answers(struct resolver *r)
{
	struct lookup_job *job;
	struct name *n;

	while ((job = lookup_take(r->lookup)) != NULL) {
		check(job->who < r->name_count);
		n = &r->names[job->who];
		check(n->job == NULL);
		n->job = job;
		if (job->error == 0) {
			use_addr(n, choose(job, atomic_load(&n->server->addr)));
		} else {
			n->failures++;
			tell_failure(n, job->error == EAI_SYSTEM ? strerror(job->system_errno)
								 : gai_strerror(job->error));
		}
		name_wait(n);
	}
}

static void on_wake(struct ev_loop *loop, struct ev_async *async, int revents)
{
	(void)loop;
	(void)revents;
	take_answers(async->data);
}
