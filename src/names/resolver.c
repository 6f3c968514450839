/* SPDX-License-Identifier: MIT
 *
 * resolver.c - addresses for servers that are configured by name: what all names share.
 *
 * Owns the lookup thread and DNS, which exist while there are names. named_servers.c has the servers,
 * name_watch.c one name. Control thread.
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
#include "weir/names/egress_desk.h"
#include "resolver_parts.h"

#define BACKOFF_MAX_NS	(60 * NS_PER_SEC)

static const struct resolver_calls libc_calls = {.lookup = getaddrinfo, .release = freeaddrinfo};

static void on_wake(struct ev_loop *loop, struct ev_async *async, int revents);

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

void resolver_terms(const struct config_backend *b, struct name_terms *terms)
{
	*terms = (struct name_terms){
		.interval_ns = b->resolve_interval_ns,
		.hold_ns = {[NAME_NX] = b->hold_nx_ns,
			    [NAME_TIMEOUT] = b->hold_timeout_ns,
			    [NAME_REFUSED] = b->hold_refused_ns,
			    [NAME_OTHER] = b->hold_other_ns},
		.hold_obsolete_ns = b->hold_obsolete_ns,
	};
}

/* The lookup thread's wake-up. This is the one libev call allowed from another thread; it writes to its
 * eventfd only if the loop sleeps. */
static void wake_loop(void *arg)
{
	struct resolver *r = arg;

	ev_async_send(r->loop, &r->wake);
}

static void on_wake(struct ev_loop *loop, struct ev_async *async, int revents)
{
	(void)loop;
	(void)revents;
	name_watch_take_answers(async->data);
}

/* ---- the two ways to resolve ---- */

static void stop_lookup(struct resolver *r)
{
	lookup_free(r->lookup); /* no wake-up after this, and submitted jobs are freed with it */
	r->lookup = NULL;
	ev_async_stop(r->loop, &r->wake);
}

/* What it has counted stays: totals never fall. */
static void stop_dns(struct resolver *r)
{
	struct name_server_counts totals;

	dns_read_totals(r->dns, &totals);
	name_server_counts_add(&r->counts_before, &totals);
	dns_free(r->dns);
	r->dns = NULL;
}

static void on_no_watch(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct resolver *r = timer->data;

	(void)loop;
	(void)revents;
	if (r->watches == 0 && r->dns != NULL)
		stop_dns(r);
}

void resolver_trim(struct resolver *r)
{
	if (r->watches > 0)
		return;
	if (r->used) {
		/* The last watch may have ended in its answer, which DNS is still giving. */
		ev_timer_start(r->loop, &r->no_watch);
		return;
	}
	if (r->dns != NULL)
		stop_dns(r);
	if (r->lookup != NULL)
		stop_lookup(r);
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

static int start_dns(struct resolver *r)
{
	int err;

	r->dns = dns_new(r->loop, &err);
	if (r->dns == NULL)
		return err;
	dns_configure(r->dns, &r->servers);
	return 0;
}

int resolver_hold_dns(struct resolver *r)
{
	const int err = r->dns != NULL ? 0 : start_dns(r);

	if (!err) {
		r->watches++;
		r->used = true;
	}
	return err;
}

void resolver_let_go_dns(struct resolver *r)
{
	check(r->watches > 0);
	r->watches--;
	resolver_trim(r);
}

int resolver_ready(struct resolver *r)
{
	int err = r->lookup == NULL ? start_lookup(r) : 0;

	if (!err && r->dns == NULL && dns_is_built())
		err = start_dns(r);
	if (err)
		resolver_trim(r);
	return err;
}

/* ---- life ---- */

struct resolver *resolver_new(struct ev_loop *loop, struct server_updates *u,
			      const struct resolver_settings *settings, int *err)
{
	struct resolver *r = calloc(1, sizeof(*r));

	*err = -ENOMEM;
	if (r == NULL)
		return NULL;
	r->loop = loop;
	r->calls = settings->calls != NULL ? *settings->calls : libc_calls;
	r->hosts_path = HOSTS_FILE_PATH;
	resolver_configure(r, settings->global);
	ev_async_init(&r->wake, on_wake);
	r->wake.data = r;
	ev_timer_init(&r->no_watch, on_no_watch, 0., 0.);
	r->no_watch.data = r;
	if (settings->engine != NULL)
		r->egress = egress_desk_new(r, settings->engine);
	*err = named_servers_begin(r, u);
	if (!*err && settings->engine != NULL && r->egress == NULL)
		*err = -ENOMEM;
	if (!*err)
		return r;
	resolver_free(r);
	return NULL;
}

void resolver_configure(struct resolver *r, const struct config_global *global)
{
	r->choice = global->resolver;
	r->servers = global->resolvers;
	if (r->dns != NULL)
		dns_configure(r->dns, &r->servers);
}

void resolver_free(struct resolver *r)
{
	if (r == NULL)
		return;
	egress_desk_free(r->egress);
	named_servers_end(r);
	check(r->watches == 0);
	ev_timer_stop(r->loop, &r->no_watch);
	r->used = false;
	resolver_trim(r);
	hosts_file_free(&r->hosts);
	free(r);
}

/* ---- figures ---- */

void resolver_publish(void *resolver, figure_report *report, void *to)
{
	static const struct figure lookups = {"lookups", FIGURE_TOTAL, "lookups of names of servers"};
	static const struct figure failed = {"lookups_failed", FIGURE_TOTAL, "lookups of names that failed"};
	const struct resolver *r = resolver;

	report(to, &lookups, r != NULL ? r->lookups : 0);
	report(to, &failed, r != NULL ? r->failed : 0);
}

void resolver_publish_dns(void *resolver, figure_report *report, void *to)
{
	static const struct figure rows[] = {
#define NAME_SERVER_COUNT(member, word, help) {"dns_" word, FIGURE_TOTAL, "DNS: " help},
#include "weir/stats/name_server_counts.tbl.h"
#undef NAME_SERVER_COUNT
	};
	const struct resolver *r = resolver;
	struct name_server_counts totals = {0};
	const struct figure *row = rows;

	if (r != NULL && r->dns != NULL)
		dns_read_totals(r->dns, &totals);
	if (r != NULL)
		name_server_counts_add(&totals, &r->counts_before);
#define NAME_SERVER_COUNT(member, word, help) report(to, row++, totals.member);
#include "weir/stats/name_server_counts.tbl.h"
#undef NAME_SERVER_COUNT
	egress_desk_publish(r != NULL ? r->egress : NULL, report, to);
}

size_t resolver_read_servers(void *resolver, struct name_server_view list[NAME_SERVERS_MAX])
{
	const struct resolver *r = resolver;

	return r != NULL && r->dns != NULL ? dns_read_servers(r->dns, list) : 0;
}

bool resolver_has_dns(void)
{
	return dns_is_built();
}

const char *resolver_dns_version(void)
{
	return dns_version();
}
