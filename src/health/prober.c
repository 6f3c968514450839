/* SPDX-License-Identifier: MIT
 *
 * prober.c - health checks: when each server is probed, and what the results do to it.
 *
 * Owns one target per checked server, each with a timer for its next check. Changes servers only through
 * balance/server_updates.h, which also logs the change. Main thread.
 */
#include "weir/health/prober.h"

#include <errno.h>
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/balance/health.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/hash.h"
#include "weir/base/log.h"
#include "weir/engine/server_sock.h"
#include "probe.h"

/* Waits are up to this much shorter than configured, so that many checks, or many machines, do not fall into
 * step. They are never longer: a dead server is out within fall x interval. */
#define JITTER_PERCENT   10
#define LINES_PER_SECOND 5

struct target {
	struct prober *owner;  /* borrows */
	struct server *server; /* borrows */
	struct probe probe;
	struct health health;
	const struct addr *asked; /* borrows: the server address that is being or was last checked */
	struct ev_timer timer; /* until the next check; stopped during a check */
	int64_t began_ns;
	uint64_t seed;  /* for the jitter: from the names, so that a run is repeatable */
	uint64_t waits; /* number of waits so far, each with its own jitter */
	bool close; /* close the server's sessions once no new one can choose it */
	struct log_limit limit; /* for log lines about its failures */
	struct probe_view view;
};

struct prober {
	struct ev_loop *loop;  /* borrows */
	struct engine *engine; /* borrows */
	struct target *list;   /* owns */
	size_t count;
	size_t *first; /* owns: per backend, the index of its first server in `of_server` */
	struct target **of_server; /* owns: NULL = the server is not checked */
	bool observed; /* a checked server is also observed */
	bool draining;
	bool close; /* a target has `close` set */
	struct server_updates *updates;  /* borrows */
	struct server_observer observer; /* for changes through `updates` */
	struct log_limit shortage_limit;
};

static void on_probe_due(struct ev_loop *loop, struct ev_timer *timer, int revents);
static void on_done(void *arg, const struct probe_result *r);

/* ---- scheduling ---- */

static void start_timer(struct target *t, int64_t wait_ns)
{
	ev_timer_stop(t->owner->loop, &t->timer);
	ev_timer_set(&t->timer, wait_ns > 0 ? (double)wait_ns / (double)NS_PER_SEC : 0., 0.);
	ev_timer_start(t->owner->loop, &t->timer);
}

static int64_t shortened(struct target *t, int64_t ns)
{
	const int64_t thousandths = (int64_t)(hash_nth(t->seed, t->waits++) % (JITTER_PERCENT * 10 + 1));

	return ns - ns / 1000 * thousandths;
}

/* The interval runs from start to start: a slow check does not delay the next one. */
static void schedule(struct target *t)
{
	const int64_t wait_ns = shortened(t, health_interval_ns(&t->health, &t->server->backend->check));

	start_timer(t, t->began_ns + wait_ns - clock_mono_ns());
}

static bool is_in_maintenance(const struct target *t)
{
	return t->server->admin == SERVER_ADMIN_MAINT;
}

/* HAProxy stops its checks at a soft stop. Here checks go on while clients are queued for a server, because
 * these clients still need a healthy one. */
static bool is_wanted(const struct target *t)
{
	return !t->owner->draining ||
	       atomic_load_explicit(&t->server->owner->queue.waiting, memory_order_relaxed) > 0;
}

static void stop_probing(struct target *t)
{
	ev_timer_stop(t->owner->loop, &t->timer);
	probe_stop(&t->probe);
	t->view.running = false;
}

/* The server's address with the port for its checks. */
static struct addr addr_to_probe(const struct server *s, const struct addr *a)
{
	const uint16_t port = s->config->check_port != 0 ? s->config->check_port : s->backend->check.port;
	struct addr to = *a;

	if (port != 0 && to.sa.sa_family == AF_INET)
		to.in.sin_port = htons(port);
	else if (port != 0 && to.sa.sa_family == AF_INET6)
		to.in6.sin6_port = htons(port);
	return to;
}

static void begin_probe(struct target *t)
{
	const struct addr *a = atomic_load_explicit(&t->server->addr, memory_order_relaxed);
	struct addr to;

	if (is_in_maintenance(t)) {
		stop_probing(t);
		return;
	}
	t->began_ns = clock_mono_ns();
	/* Its name has no address yet, or no client needs it now. Either may change before the next time. */
	if (a == NULL || !is_wanted(t)) {
		schedule(t);
		return;
	}
	t->asked = a;
	to = addr_to_probe(t->server, a);
	t->view.running = true;
	probe_start(&t->probe, &to);
}

static void on_probe_due(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	(void)loop;
	(void)revents;
	begin_probe(timer->data);
}

/* ---- results ---- */

static void went_down(struct target *t)
{
	t->view.downs++;
	if (t->server->backend->on_marked_down == CONFIG_MARKED_DOWN_CLOSE)
		t->close = t->owner->close = true;
}

/* The rosters without these servers are in effect: new clients no longer choose them. */
static void close_sessions(void *arg)
{
	struct prober *p = arg;

	for (size_t i = 0; i < p->count && p->close; i++) {
		struct target *t = &p->list[i];

		if (t->close)
			engine_close_sessions(p->engine, t->server);
		t->close = false;
	}
	p->close = false;
}

/* Sets the server's state from its health. */
static void publish_health(struct target *t, const struct probe_result *r)
{
	const bool up = health_is_up(&t->health);
	struct server *s = t->server;
	char cause[HISTORY_CAUSE_MAX];

	if (s->healthy == up)
		return;
	(void)snprintf(cause, sizeof(cause), "%s%s%s", probe_code_word(r->code),
		       r->detail[0] != '\0' ? ": " : "", r->detail); /* always fits */
	server_updates_set_health(t->owner->updates, s, up, cause);
	if (!up)
		went_down(t);
}

static void tell_shortage(const struct target *t, const struct probe_result *r)
{
	if (log_limit_ok(&t->owner->shortage_limit, LOG_CAUSE_SHORTAGE, (uint32_t)r->code, clock_mono_ns(),
			 1))
		log_line(LOG_LEVEL_WARNING,
			 "could not check server %s/%s: %s; "
			 "a limit of this machine, not a fault of the server",
			 t->server->backend->name, t->server->config->name, r->detail);
}

/* Logs each failure on the way down; at debug level for a server that is already down. */
static void tell_failure(struct target *t, const struct probe_result *r)
{
	const enum log_level level = health_is_up(&t->health) ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG;

	/* One limit per server and result: one server's failures must not hide another's. */
	if (!log_wants(level) ||
	    !log_limit_ok(&t->limit, LOG_CAUSE_CHECK, (uint32_t)r->code, clock_mono_ns(), LINES_PER_SECOND))
		return;
	log_line(level, "server %s/%s failed a health check: %s, %s, %lld ms; health %u of %u, up from %u",
		 t->server->backend->name, t->server->config->name, probe_code_word(r->code), r->detail,
		 (long long)r->duration_ms, t->health.health, t->health.rise + t->health.fall - 1,
		 t->health.rise);
}

static void take_failure(struct target *t, const struct probe_result *r)
{
	/* As HAProxy's chkfail: failures of a server that is fully down are not counted. */
	t->view.failures += t->health.health > 0;
	if (health_bad(&t->health) == HEALTH_SAME)
		tell_failure(t, r);
}

/* A port that the kernel may assign to anyone is a configuration mistake, so the warning is repeated while
 * the server is down. */
static void tell_itself(struct target *t)
{
	counter_add(&t->owner->engine->control.self_connects, 1);
	if (log_limit_ok(&t->limit, LOG_CAUSE_CHECK, PROBE_CODES, clock_mono_ns(), 1))
		server_sock_log_itself(t->server->backend, t->server->config, &t->probe.to);
}

static void take_result(struct target *t, const struct probe_result *r)
{
	if (r->met_itself)
		tell_itself(t);
	switch (probe_code_outcome(r->code)) {
	case PROBE_OUTCOME_UNKNOWN:
		tell_shortage(t, r);
		break;
	case PROBE_OUTCOME_PASSED:
		server_answered(t->server);
		(void)health_good(&t->health); /* publish_health() notices a change by itself */
		break;
	case PROBE_OUTCOME_FAILED:
		take_failure(t, r);
		break;
	}
	t->view.code = r->code;
	t->view.health = t->health.health;
	t->view.status = r->status;
	t->view.duration_ms = r->duration_ms;
	memcpy(t->view.detail, r->detail, sizeof(t->view.detail));
	publish_health(t, r);
}

static void on_done(void *arg, const struct probe_result *r)
{
	struct target *t = arg;

	t->view.running = false;
	/* A server has each address once, so comparing pointers is enough. */
	if (t->asked != atomic_load_explicit(&t->server->addr, memory_order_relaxed)) {
		start_timer(t, 0); /* nothing was learnt about the new address */
		return;
	}
	take_result(t, r);
	schedule(t);
}

/* ---- what workers observe ---- */

/* As HAProxy's `on-error fail-check`. The next check comes no later than the fast interval. */
static void take_observed(struct target *t)
{
	const int64_t fast_ns = t->server->backend->check.fast_ns;
	struct probe_result r = {.code = PROBE_HANA, .duration_ms = t->view.duration_ms};

	(void)snprintf(r.detail, sizeof(r.detail), "%d failed connects in a row", HEALTH_ERROR_LIMIT);
	take_result(t, &r);
	if (fast_ns > 0 && ev_is_active(&t->timer) &&
	    ev_timer_remaining(t->owner->loop, &t->timer) > (double)fast_ns / (double)NS_PER_SEC)
		start_timer(t, fast_ns);
}

void prober_take_news(struct prober *p)
{
	if (!p->observed)
		return;
	for (size_t i = 0; i < p->count; i++) {
		struct target *t = &p->list[i];
		struct server *s = t->server;

		if (s->backend->observe != CONFIG_OBSERVE_CONNECT || is_in_maintenance(t) || !is_wanted(t) ||
		    atomic_load_explicit(&s->failing, memory_order_relaxed) < HEALTH_ERROR_LIMIT)
			continue;
		/* Failures from now on start a new run. */
		if (atomic_exchange(&s->failing, 0) >= HEALTH_ERROR_LIMIT)
			take_observed(t);
	}
}

/* ---- what the administrator sets ---- */

static struct target *target_of(const struct prober *p, const struct server *s)
{
	return p->of_server[p->first[s->owner - p->engine->backends] + s->index];
}

/* As if the daemon had just started. The server is in maintenance, so nobody sees a change. */
static void forget(struct target *t)
{
	const struct probe_result r = {.code = PROBE_INI};

	stop_probing(t);
	health_init(&t->health, t->health.rise, t->health.fall);
	t->view.health = t->health.health;
	publish_health(t, &r);
}

/* A server in maintenance is not checked. When it leaves maintenance it is up and checked at once, and one
 * failure takes it down (HAProxy's srv_update_status()). */
static void on_admin_set(void *arg, struct server *s)
{
	struct target *t = target_of(arg, s);

	if (t != NULL && is_in_maintenance(t))
		forget(t);
	else if (t != NULL && !t->view.running && !ev_is_active(&t->timer))
		start_timer(t, 0);
}

void prober_drain(struct prober *p)
{
	p->draining = true; /* a check in progress ends by itself */
}

/* ---- life ---- */

static bool is_probed(const struct server *s)
{
	return s->config->check && s->backend->check.kind != CONFIG_CHECK_OFF;
}

static int add_target(struct prober *p, struct server *s)
{
	struct target *t = &p->list[p->count];
	const struct config_check *config = &s->backend->check;
	int err;

	err = probe_init(&t->probe, p->loop, s->backend, s->config);
	if (err)
		return err;
	p->count++;
	t->probe.done = on_done;
	t->probe.arg = t;
	t->owner = p;
	t->server = s;
	health_init(&t->health, config->rise, config->fall);
	ev_init(&t->timer, on_probe_due);
	t->timer.data = t;
	t->seed = hash_bytes(s->config->name, strlen(s->config->name),
			     hash_bytes(s->backend->name, strlen(s->backend->name), 0));
	t->view = (struct probe_view){
		.code = PROBE_INI,
		.duration_ms = -1,
		.rise = config->rise,
		.fall = config->fall,
		.health = t->health.health,
	};
	s->probe = &t->view;
	p->observed = p->observed || s->backend->observe == CONFIG_OBSERVE_CONNECT;
	return 0;
}

static int add_targets(struct prober *p)
{
	struct target **next = p->of_server;
	int err;

	for (size_t b = 0; b < p->engine->config->backend_count; b++) {
		struct backend *backend = &p->engine->backends[b];

		p->first[b] = (size_t)(next - p->of_server);
		for (size_t i = 0; i < backend->server_count; i++, next++) {
			if (!is_probed(&backend->servers[i]))
				continue;
			err = add_target(p, &backend->servers[i]);
			if (err)
				return err;
			*next = &p->list[p->count - 1];
		}
	}
	return 0;
}

/* As HAProxy at startup: the first checks are spread evenly over the smallest interval of all. */
static void spread(struct prober *p)
{
	int64_t smallest_ns = CLOCK_NEVER;

	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].server->backend->check.interval_ns < smallest_ns)
			smallest_ns = p->list[i].server->backend->check.interval_ns;
	for (size_t i = 0; i < p->count; i++)
		if (!is_in_maintenance(&p->list[i]))
			start_timer(&p->list[i], smallest_ns / (int64_t)p->count * (int64_t)i);
}

struct prober *prober_new(struct ev_loop *loop, struct engine *e, struct server_updates *u, int *err)
{
	struct prober *p = calloc(1, sizeof(*p));
	size_t servers = 0, probed = 0;

	*err = -ENOMEM;
	if (p == NULL)
		return NULL;
	p->loop = loop;
	p->engine = e;
	p->updates = u;
	p->observer = (struct server_observer){
		.admin_set = on_admin_set,
		.in_force = close_sessions,
		.arg = p,
	};
	server_updates_observe(u, &p->observer);
	for (size_t b = 0; b < e->config->backend_count; b++) {
		servers += e->backends[b].server_count;
		for (size_t i = 0; i < e->backends[b].server_count; i++)
			probed += is_probed(&e->backends[b].servers[i]);
	}
	/* One extra, so that no allocation is empty. */
	p->first = calloc(e->config->backend_count + 1, sizeof(*p->first));
	p->of_server = calloc(servers + 1, sizeof(struct target *));
	p->list = calloc(probed + 1, sizeof(*p->list));
	if (p->first != NULL && p->of_server != NULL && p->list != NULL)
		*err = add_targets(p);
	if (*err) {
		prober_free(p);
		return NULL;
	}
	spread(p);
	return p;
}

void prober_free(struct prober *p)
{
	if (p == NULL)
		return;
	server_updates_unobserve(&p->observer);
	for (size_t i = 0; i < p->count; i++) {
		p->list[i].server->probe = NULL;
		ev_timer_stop(p->loop, &p->list[i].timer);
		probe_free(&p->list[i].probe);
	}
	free(p->list);
	free(p->of_server);
	free(p->first);
	free(p);
}
