/* SPDX-License-Identifier: MIT
 *
 * outage.c - servers without a health check leave because connects fail, and come back by a trial.
 *
 * Control thread, except for taking a trial and for its end.
 */
#include "weir/balance/outage.h"

#include <stdio.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/hash.h"
#include "weir/config/server_check.h"
#include "weir/config/values.h"

/* ---- the trial ---- */

struct server *outage_take_trial(struct backend *b)
{
	struct server *s = atomic_exchange(&b->trial, NULL);
	int before;

	if (s == NULL)
		return NULL;
	before = atomic_exchange(&s->trial, SERVER_TRIAL_TAKEN);
	check(before == SERVER_TRIAL_OFFERED);
	return s;
}

void outage_end_trial(struct server *s, enum server_trial how)
{
	int before;

	check(how > SERVER_TRIAL_TAKEN);
	before = atomic_exchange(&s->trial, (int)how);
	check(before == SERVER_TRIAL_TAKEN);
}

static enum server_trial trial_of(const struct server *s)
{
	return (enum server_trial)atomic_load(&s->trial);
}

/* One server of a backend at a time. */
static void offer(struct server *s)
{
	check(trial_of(s) == SERVER_TRIAL_NONE);
	if (outage_has_trial(s->owner))
		return;
	atomic_store(&s->trial, SERVER_TRIAL_OFFERED);
	atomic_store(&s->owner->trial, s);
}

/* One that was taken goes on; how it ends says nothing any more. */
static void withdraw(struct server *s)
{
	struct server *offered = s;

	if (atomic_compare_exchange_strong(&s->owner->trial, &offered, NULL))
		atomic_store(&s->trial, SERVER_TRIAL_NONE);
}

/* ---- leaving and coming back ---- */

static bool is_out(const struct server *s)
{
	return !list_empty(&s->outage);
}

static bool is_observed(const struct server *s)
{
	return s->backend->observe.what == CONFIG_OBSERVE_CONNECT && !s->config->check;
}

/* 0 = it has none. */
static uint64_t address_of(const struct server *s)
{
	const struct addr *a = server_addr(s);

	return a != NULL ? hash_bytes(&a->un, a->len, 1) | 1 : 0;
}

/* Its state is someone else's affair from now on. */
static void forget(struct server *s)
{
	list_remove(&s->outage);
	withdraw(s);
}

static void come_back(struct outages *o, struct server *s, const char *cause)
{
	forget(s);
	atomic_store(&s->failing, 0);
	server_updates_set_health(o->updates, s, true, cause);
}

static void leave(struct outages *o, struct server *s, int failed, int64_t now_ns)
{
	char cause[HISTORY_CAUSE_MAX], down[VALUE_TEXT_MAX];
	const int64_t down_ns = s->backend->observe.down_ns;

	s->outage_until_ns = now_ns + down_ns;
	s->outage_address = address_of(s);
	list_push_back(&o->out, &s->outage);
	(void)snprintf(cause, sizeof(cause), "%d failed connect%s in a row; out for %s", failed,
		       failed == 1 ? "" : "s", value_format_duration(down_ns, down)); /* always fits */
	server_updates_set_health(o->updates, s, false, cause);
	if (o->went_down != NULL)
		o->went_down(o->arg, s);
}

/* The last one that is up stays, however often it fails. */
static void look_at(struct outages *o, struct server *s, int64_t now_ns)
{
	const int failed = atomic_load_explicit(&s->failing, memory_order_relaxed);

	if (is_out(s) || !is_observed(s) || !server_usable(s) || s->owner->usable <= 1)
		return;
	if (failed > 0 && (unsigned)failed >= config_server_observe_limit(s->backend, s->config))
		leave(o, s, failed, now_ns);
}

/* ---- what is due ---- */

/* Has a trial of this server ended? */
static void take_result(struct outages *o, struct server *s, int64_t now_ns)
{
	const enum server_trial how = trial_of(s);

	if (how <= SERVER_TRIAL_TAKEN)
		return;
	atomic_store(&s->trial, SERVER_TRIAL_NONE);
	if (how == SERVER_TRIAL_PASSED && is_out(s))
		come_back(o, s, "a trial connection succeeded");
	else if (how == SERVER_TRIAL_FAILED)
		s->outage_until_ns = now_ns + s->backend->observe.down_ns;
}

/* Would it get new clients if it were not out? */
static bool takes_clients(const struct server *s)
{
	return server_admin_now(s) == SERVER_ADMIN_READY && !s->leaves && !s->agent.down &&
	       server_weight_now(s) > 0;
}

/* Returns when it is due; CLOCK_NEVER = it is, or has a trial, or is not out any more. */
static int64_t settle_one(struct outages *o, struct server *s, int64_t now_ns)
{
	if (s->owner->usable == 0)
		come_back(o, s, "no other server is up");
	else if (address_of(s) != s->outage_address)
		come_back(o, s, "its address has changed");
	if (is_out(s) && !takes_clients(s))
		withdraw(s);
	if (!is_out(s) || !takes_clients(s) || trial_of(s) != SERVER_TRIAL_NONE)
		return CLOCK_NEVER;
	if (now_ns < s->outage_until_ns)
		return s->outage_until_ns;
	offer(s);
	return CLOCK_NEVER;
}

static void count_observing(struct outages *o)
{
	o->observing = 0;
	o->stale = false;
	server_updates_foreach(o->updates, b)
		o->observing += b->config->observe.what == CONFIG_OBSERVE_CONNECT;
}

int64_t outages_settle(struct outages *o, int64_t now_ns)
{
	int64_t next_ns = CLOCK_NEVER;
	struct list *node, *next;

	if (o->stale)
		count_observing(o);
	if (o->observing == 0)
		return CLOCK_NEVER;
	server_updates_foreach(o->updates, b) {
		const bool observes = b->config->observe.what != CONFIG_OBSERVE_OFF;

		for (size_t i = 0; observes && i < b->server_count; i++) {
			take_result(o, b->servers[i], now_ns);
			look_at(o, b->servers[i], now_ns);
		}
	}
	list_foreach_safe(&o->out, node, next) {
		const int64_t due_ns = settle_one(o, list_entry(node, struct server, outage), now_ns);

		next_ns = due_ns < next_ns ? due_ns : next_ns;
	}
	return next_ns;
}

/* ---- what others do to it ---- */

static void on_admin_set(void *arg, struct server *s)
{
	if (is_out(s) && server_admin_now(s) == SERVER_ADMIN_MAINT)
		come_back(arg, s, "in maintenance");
}

static void on_health_set(void *arg, struct server *s)
{
	(void)arg;
	if (is_out(s))
		forget(s);
}

static void on_server_leaves(void *arg, struct server *s)
{
	(void)arg;
	if (is_out(s))
		forget(s);
}

/* One with a health check begins as it is, and its checks decide. */
static void on_server_changed(void *arg, struct server *s)
{
	if (!is_out(s) || is_observed(s))
		return;
	if (s->config->check)
		forget(s);
	else
		come_back(arg, s, "not observed any more");
}

static void on_backend_changed(void *arg, struct backend *b)
{
	struct outages *o = arg;

	o->stale = true;
	for (size_t i = 0; i < b->server_count; i++)
		on_server_changed(o, b->servers[i]);
}

static void on_backend(void *arg, struct backend *b)
{
	(void)b;
	((struct outages *)arg)->stale = true;
}

static void on_in_force(void *arg)
{
	struct outages *o = arg;

	if (o->in_force != NULL)
		o->in_force(o->arg);
}

/* ---- life ---- */

void outages_init(struct outages *o, struct server_updates *u)
{
	*o = (struct outages){.updates = u, .stale = true};
	list_init(&o->out);
	o->observer = (struct server_observer){
		.admin_set = on_admin_set,
		.health_set = on_health_set,
		.server_changed = on_server_changed,
		.server_leaves = on_server_leaves,
		.backend_added = on_backend,
		.backend_changed = on_backend_changed,
		.backend_leaves = on_backend,
		.in_force = on_in_force,
		.arg = o,
	};
	server_updates_observe(u, &o->observer);
}

void outages_free(struct outages *o)
{
	server_updates_unobserve(&o->observer);
	while (!list_empty(&o->out))
		forget(list_entry(o->out.next, struct server, outage));
}
