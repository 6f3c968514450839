/* SPDX-License-Identifier: MIT
 *
 * resolver.c - addresses for servers that are configured by name.
 *
 * Owns one entry per name, with at most one request in progress, or else a timer, and memory for those of
 * prepared changes. lookup.c has the thread.
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
#include "weir/base/list.h"
#include "weir/config/same.h"
#include "lookup.h"

#define BACKOFF_MAX_NS   (60 * NS_PER_SEC)

struct name {
	struct list link;
	struct resolver *resolver; /* borrows */
	struct server *server;     /* borrows */
	struct addr_spec spec;     /* the name that is looked up */
	struct ev_timer timer;     /* until the next request */
	struct lookup_job *job;    /* owns, unless `asked` */
	bool asked;                /* the job is submitted */
	unsigned failures;         /* in a row */
	struct log_limit limit;    /* for log lines about this name */
};

struct resolver {
	struct ev_loop *loop;  /* borrows */
	struct resolver_calls calls;
	struct lookup *lookup; /* owns; NULL while there has been no name */
	struct ev_async wake;  /* the lookup thread has an answer */
	struct list names;     /* owns */
	struct list spares;    /* owns: memory for more */
	size_t spare_count;
	size_t reserved;       /* spares that prepared changes may still need */
	bool used;             /* a name was looked up */
	uint64_t lookups;      /* answered, and how many of these failed */
	uint64_t failed;
	struct server_updates *updates; /* borrows */
	struct server_observer observer;
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

static struct name *at(const struct list *link)
{
	return list_entry(link, struct name, link);
}

static void name_ask(struct name *n)
{
	check(!n->asked);
	n->asked = true;
	n->resolver->used = true;
	lookup_ask(n->resolver->lookup, n->job);
}

/* Until the next request, as the configuration says now. */
static void name_wait(struct name *n)
{
	const int64_t wait_ns = resolver_wait_ns(n->failures, n->server->backend->resolve_interval_ns);
	const double wait_s = (double)wait_ns / (double)NS_PER_SEC;

	check(!n->asked);
	if (wait_ns > 0 && ev_is_active(&n->timer) &&
	    ev_timer_remaining(n->resolver->loop, &n->timer) <= wait_s)
		return;
	ev_timer_stop(n->resolver->loop, &n->timer);
	if (wait_ns == 0)
		return;
	ev_timer_set(&n->timer, wait_s, 0.);
	ev_timer_start(n->resolver->loop, &n->timer);
}

/* The lookup thread's wake-up. This is the one libev call allowed from another thread; it writes to its
 * eventfd only if the loop sleeps. */
static void wake_loop(void *arg)
{
	struct resolver *r = arg;

	ev_async_send(r->loop, &r->wake);
}

/* ---- memory ---- */

static struct name *name_new(void)
{
	struct name *n = calloc(1, sizeof(*n));

	if (n == NULL)
		return NULL;
	list_init(&n->link);
	ev_init(&n->timer, on_name_timer);
	n->timer.data = n;
	n->job = calloc(1, sizeof(*n->job));
	if (n->job == NULL) {
		free(n);
		return NULL;
	}
	list_init(&n->job->link);
	return n;
}

/* Its list and its lookup, if there are any, end first. */
static void name_free(struct name *n)
{
	list_remove(&n->link);
	if (!n->asked)
		free(n->job);
	free(n);
}

static void trim(struct resolver *r)
{
	for (; r->spare_count > r->reserved; r->spare_count--)
		name_free(at(r->spares.next));
	if (r->used || r->spare_count > 0 || r->lookup == NULL)
		return;
	lookup_free(r->lookup);
	r->lookup = NULL;
	ev_async_stop(r->loop, &r->wake);
}

static int start_lookup(struct resolver *r)
{
	int err;

	r->lookup = lookup_new(&r->calls, wake_loop, r, &err);
	if (r->lookup == NULL)
		return err;
	ev_async_start(r->loop, &r->wake);
	return 0;
}

int resolver_prepare(struct resolver *r, size_t names)
{
	int err = 0;

	while (r->spare_count < r->reserved + names && !err) {
		struct name *n = name_new();

		err = n != NULL ? 0 : -ENOMEM;
		if (err)
			break;
		list_push_back(&r->spares, &n->link);
		r->spare_count++;
	}
	if (!err && names > 0 && r->lookup == NULL)
		err = start_lookup(r);
	if (err)
		trim(r);
	else
		r->reserved += names;
	return err;
}

void resolver_settle(struct resolver *r, size_t names)
{
	check(names <= r->reserved);
	r->reserved -= names;
	trim(r);
}

/* ---- servers come, change and go ---- */

static bool has_name(const struct server *s)
{
	return s->config->addr.kind == ADDR_NAME;
}

static void add(struct resolver *r, struct server *s)
{
	struct name *n = at(r->spares.next);

	check(!list_empty(&r->spares)); /* resolver_prepare() comes first */
	list_remove(&n->link);
	r->spare_count--;
	n->resolver = r;
	n->server = s;
	s->name = n;
	n->spec = s->config->addr;
	n->job->who = n;
	n->job->port = n->spec.port;
	n->job->family = n->spec.family;
	memcpy(n->job->host, n->spec.host, sizeof(n->job->host));
	list_push_back(&r->names, &n->link);
	name_ask(n);
}

static void drop(struct resolver *r, struct name *n)
{
	n->server->name = NULL;
	ev_timer_stop(r->loop, &n->timer);
	if (n->asked)
		lookup_withdraw(r->lookup, n->job);
	name_free(n);
}

static void on_server_added(void *arg, struct server *s)
{
	if (has_name(s))
		add(arg, s);
}

static int on_prepare_add(void *arg, const struct backend *b, const struct config_server *config)
{
	(void)b;
	return config->addr.kind == ADDR_NAME ? resolver_prepare(arg, 1) : 0;
}

static void on_settle_add(void *arg, const struct backend *b, const struct config_server *config)
{
	(void)b;
	if (config->addr.kind == ADDR_NAME)
		resolver_settle(arg, 1);
}

static void on_server_changed(void *arg, struct server *s)
{
	struct name *n = s->name;

	if (n != NULL && has_name(s) && config_addr_same(&n->spec, &s->config->addr)) {
		if (!n->asked)
			name_wait(n);
		return;
	}
	if (n != NULL)
		drop(arg, n);
	on_server_added(arg, s);
}

static void on_backend_changed(void *arg, struct backend *b)
{
	(void)arg;
	for (size_t i = 0; i < b->server_count; i++) {
		struct name *n = b->servers[i]->name;

		if (n != NULL && !n->asked)
			name_wait(n);
	}
}

static void on_server_leaves(void *arg, struct server *s)
{
	struct name *n = s->name;

	if (n != NULL)
		drop(arg, n);
}

/* ---- life ---- */

static int add_all(struct resolver *r)
{
	size_t count = 0;
	int err;

	server_updates_foreach(r->updates, b)
		for (size_t i = 0; i < b->server_count; i++)
			count += has_name(b->servers[i]);
	err = resolver_prepare(r, count);
	if (err)
		return err;
	server_updates_foreach(r->updates, b)
		for (size_t i = 0; i < b->server_count; i++)
			on_server_added(r, b->servers[i]);
	resolver_settle(r, count);
	return 0;
}

struct resolver *resolver_new(struct ev_loop *loop, struct server_updates *u,
			      const struct resolver_calls *calls, int *err)
{
	struct resolver *r = calloc(1, sizeof(*r));

	*err = -ENOMEM;
	if (r == NULL)
		return NULL;
	r->loop = loop;
	r->calls = calls != NULL ? *calls : libc_calls;
	r->updates = u;
	list_init(&r->names);
	list_init(&r->spares);
	ev_async_init(&r->wake, on_wake);
	r->wake.data = r;
	r->observer = (struct server_observer){
		.prepare_add = on_prepare_add,
		.settle_add = on_settle_add,
		.server_added = on_server_added,
		.server_changed = on_server_changed,
		.server_leaves = on_server_leaves,
		.backend_changed = on_backend_changed,
		.arg = r,
	};
	server_updates_observe(u, &r->observer);
	*err = add_all(r);
	if (*err) {
		resolver_free(r);
		return NULL;
	}
	return r;
}

void resolver_free(struct resolver *r)
{
	if (r == NULL)
		return;
	server_updates_unobserve(&r->observer);
	lookup_free(r->lookup); /* no wake-up after this, and submitted jobs are freed with it */
	r->lookup = NULL;
	ev_async_stop(r->loop, &r->wake);
	while (!list_empty(&r->names)) {
		struct name *n = at(r->names.next);

		n->server->name = NULL;
		ev_timer_stop(r->loop, &n->timer);
		name_free(n);
	}
	r->reserved = 0;
	trim(r);
	free(r);
}

/* ---- answers ---- */

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
	bool had = server_found_addr(s) != NULL;

	/* An hour without a name server is one line per name, not a thousand. */
	if (n->failures > 1)
		return;
	log_line(LOG_LEVEL_WARNING,
		 "server %s/%s (%s:%u): cannot resolve '%s': %s; %s; will retry",
		 s->backend->name, s->config->name, s->config->place.file, s->config->place.line,
		 s->config->addr.host, why, had ? "it keeps its last address" : "it gets no connections");
}

static void use_addr(struct name *n, const struct addr *a)
{
	const struct server *s = n->server;
	const struct addr *now = server_found_addr(s);
	char text[ADDR_TEXT_MAX];
	int err;

	n->failures = 0;
	if (a == now)
		return;
	err = server_updates_set_addr(n->resolver->updates, n->server, a);
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
		n = job->who;
		if (n == NULL) {
			free(job); /* its server has gone, or has another name */
			continue;
		}
		check(n->job == job && n->asked);
		n->asked = false;
		r->lookups++;
		r->failed += job->error != 0;
		if (job->error == 0) {
			use_addr(n, choose(job, server_found_addr(n->server)));
		} else {
			n->failures++;
			tell_failure(n, job->error == EAI_SYSTEM ? strerror(job->system_errno)
								 : gai_strerror(job->error));
		}
		name_wait(n);
	}
}

void resolver_publish(void *resolver, figure_report *report, void *to)
{
	static const struct figure lookups = {"lookups", FIGURE_TOTAL, "lookups of names of servers"};
	static const struct figure failed = {"lookups_failed", FIGURE_TOTAL, "lookups of names that failed"};
	const struct resolver *r = resolver;

	report(to, &lookups, r != NULL ? r->lookups : 0);
	report(to, &failed, r != NULL ? r->failed : 0);
}

static void on_wake(struct ev_loop *loop, struct ev_async *async, int revents)
{
	(void)loop;
	(void)revents;
	take_answers(async->data);
}
