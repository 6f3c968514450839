/* SPDX-License-Identifier: MIT
 *
 * checks.c - health checks: which server is asked when, and what its answers do to it.
 *
 * Owns one check a server that is to be checked, each with a timer to its next start. A server changes by
 * balance/server_updates.h alone, which also writes the log line of the change. Main thread.
 */
#include "weir/health/checks.h"

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
#include "check_talk.h"

/* Waits are up to so much shorter than configured, so that many checks, or many machines, do not beat in
 * time. Never longer: a dead server is out within fall x interval. */
#define JITTER_PERCENT   10
#define LINES_PER_SECOND 5

struct check {
	struct checks *owner;  /* borrows */
	struct server *server; /* borrows */
	struct check_talk talk;
	struct health health;
	const struct addr *asked; /* borrows: the address of its server that is, or was last, asked */
	struct ev_timer timer; /* to the next start; stopped while a check is under way */
	int64_t began_ns;
	uint64_t seed;  /* of the jitter: of the names, so that a run can be repeated */
	uint64_t waits; /* that have had their jitter */
	bool close; /* the sessions of its server, once nobody chooses it any more */
	struct log_limit limit; /* of lines about its failures */
	struct check_view view;
};

struct checks {
	struct ev_loop *loop;  /* borrows */
	struct engine *engine; /* borrows */
	struct check *list;    /* owns */
	size_t count;
	size_t *first; /* owns: of each backend, where its servers begin in `of_server` */
	struct check **of_server; /* owns: NULL = that server is not checked */
	bool observed; /* some server that is checked is observed too */
	bool draining;
	bool close; /* some check wants to */
	struct server_updates *updates;  /* borrows */
	struct server_observer observer; /* of them */
	struct log_limit shortage_limit;
};

static void on_timer(struct ev_loop *loop, struct ev_timer *timer, int revents);
static void on_done(void *arg, const struct check_result *r);

/* ---- when ---- */

static void start_timer(struct check *k, int64_t wait_ns)
{
	ev_timer_stop(k->owner->loop, &k->timer);
	ev_timer_set(&k->timer, wait_ns > 0 ? (double)wait_ns / (double)NS_PER_SEC : 0., 0.);
	ev_timer_start(k->owner->loop, &k->timer);
}

static int64_t shortened(struct check *k, int64_t ns)
{
	const int64_t thousandths = (int64_t)(hash_nth(k->seed, k->waits++) % (JITTER_PERCENT * 10 + 1));

	return ns - ns / 1000 * thousandths;
}

/* The interval is from start to start: a check that takes long does not put the next one off. */
static void schedule(struct check *k)
{
	const int64_t wait_ns = shortened(k, health_interval_ns(&k->health, &k->server->backend->check));

	start_timer(k, k->began_ns + wait_ns - clock_mono_ns());
}

static bool is_resting(const struct check *k)
{
	return k->server->admin == SERVER_ADMIN_MAINT;
}

/* HAProxy ends its checks with a soft stop; who still waits for a server, or begins to, needs to know which
 * is well. */
static bool is_wanted(const struct check *k)
{
	return !k->owner->draining ||
	       atomic_load_explicit(&k->server->owner->queue.waiting, memory_order_relaxed) > 0;
}

static void rest(struct check *k)
{
	ev_timer_stop(k->owner->loop, &k->timer);
	check_talk_stop(&k->talk);
	k->view.running = false;
}

/* The server's address with the port of its checks. */
static struct addr addr_to_check(const struct server *s, const struct addr *a)
{
	const uint16_t port = s->config->check_port != 0 ? s->config->check_port : s->backend->check.port;
	struct addr to = *a;

	if (port != 0 && to.sa.sa_family == AF_INET)
		to.in.sin_port = htons(port);
	else if (port != 0 && to.sa.sa_family == AF_INET6)
		to.in6.sin6_port = htons(port);
	return to;
}

static void begin(struct check *k)
{
	const struct addr *a = atomic_load_explicit(&k->server->addr, memory_order_relaxed);
	struct addr to;

	if (is_resting(k)) {
		rest(k);
		return;
	}
	k->began_ns = clock_mono_ns();
	/* Its name has no address yet, or nobody waits for it: that may have changed by then. */
	if (a == NULL || !is_wanted(k)) {
		schedule(k);
		return;
	}
	k->asked = a;
	to = addr_to_check(k->server, a);
	k->view.running = true;
	check_talk_start(&k->talk, &to);
}

static void on_timer(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	(void)loop;
	(void)revents;
	begin(timer->data);
}

/* ---- results ---- */

static void went_down(struct check *k)
{
	k->view.downs++;
	if (k->server->backend->on_marked_down == CONFIG_MARKED_DOWN_CLOSE)
		k->close = k->owner->close = true;
}

/* The rosters without them are in force: who comes now does not come to them. */
static void close_sessions(void *arg)
{
	struct checks *c = arg;

	for (size_t i = 0; i < c->count && c->close; i++) {
		struct check *k = &c->list[i];

		if (k->close)
			engine_close_sessions(c->engine, k->server);
		k->close = false;
	}
	c->close = false;
}

/* Lets the server be what its health says. */
static void publish(struct check *k, const struct check_result *r)
{
	const bool up = health_is_up(&k->health);
	struct server *s = k->server;
	char cause[HISTORY_CAUSE_MAX];

	if (s->healthy == up)
		return;
	(void)snprintf(cause, sizeof(cause), "%s%s%s", check_code_word(r->code),
		       r->detail[0] != '\0' ? ": " : "", r->detail); /* has room for it */
	server_updates_set_health(k->owner->updates, s, up, cause);
	if (!up)
		went_down(k);
}

static void tell_shortage(const struct check *k, const struct check_result *r)
{
	if (log_limit_ok(&k->owner->shortage_limit, LOG_CAUSE_SHORTAGE, (uint32_t)r->code, clock_mono_ns(),
			 1))
		log_line(LOG_LEVEL_WARNING,
			 "no check of server %s/%s: %s; a limit of this machine, not a fault of it",
			 k->server->backend->name, k->server->config->name, r->detail);
}

/* On the way down, each failure; of a server that is down only for who looks for it. */
static void tell_failure(struct check *k, const struct check_result *r)
{
	const enum log_level level = health_is_up(&k->health) ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG;

	/* A limit for each check and outcome: one server's failures must not hide another's. */
	if (!log_wants(level) ||
	    !log_limit_ok(&k->limit, LOG_CAUSE_CHECK, (uint32_t)r->code, clock_mono_ns(), LINES_PER_SECOND))
		return;
	log_line(level, "server %s/%s failed a health check: %s, %s, %lld ms; health %u of %u, up from %u",
		 k->server->backend->name, k->server->config->name, check_code_word(r->code), r->detail,
		 (long long)r->duration_ms, k->health.health, k->health.rise + k->health.fall - 1,
		 k->health.rise);
}

static void take_failure(struct check *k, const struct check_result *r)
{
	/* HAProxy's chkfail: what happens to a server that is fully down is no news. */
	k->view.failures += k->health.health > 0;
	if (health_bad(&k->health) == HEALTH_SAME)
		tell_failure(k, r);
}

/* A port that the kernel may choose for anybody is a mistake of the configuration: it is said again while
 * the server is down. */
static void tell_itself(struct check *k)
{
	counter_add(&k->owner->engine->control.self_connects, 1);
	if (log_limit_ok(&k->limit, LOG_CAUSE_CHECK, CHECK_CODES, clock_mono_ns(), 1))
		server_sock_log_itself(k->server->backend, k->server->config, &k->talk.to);
}

static void take_result(struct check *k, const struct check_result *r)
{
	if (r->met_itself)
		tell_itself(k);
	switch (check_code_outcome(r->code)) {
	case CHECK_UNKNOWN:
		tell_shortage(k, r);
		break;
	case CHECK_PASSED:
		server_answered(k->server);
		(void)health_good(&k->health); /* publish() sees a change by itself */
		break;
	case CHECK_FAILED:
		take_failure(k, r);
		break;
	}
	k->view.code = r->code;
	k->view.health = k->health.health;
	k->view.status = r->status;
	k->view.duration_ms = r->duration_ms;
	memcpy(k->view.detail, r->detail, sizeof(k->view.detail));
	publish(k, r);
}

static void on_done(void *arg, const struct check_result *r)
{
	struct check *k = arg;

	k->view.running = false;
	/* A server has each address once, so that the pointer tells. */
	if (k->asked != atomic_load_explicit(&k->server->addr, memory_order_relaxed)) {
		start_timer(k, 0); /* nothing was learnt of the new one */
		return;
	}
	take_result(k, r);
	schedule(k);
}

/* ---- what workers see ---- */

/* HAProxy's `on-error fail-check`; the next check is not later than its fast one. */
static void take_observed(struct check *k)
{
	const int64_t fast_ns = k->server->backend->check.fast_ns;
	struct check_result r = {.code = CHECK_HANA, .duration_ms = k->view.duration_ms};

	(void)snprintf(r.detail, sizeof(r.detail), "%d failed connects in a row", HEALTH_ERROR_LIMIT);
	take_result(k, &r);
	if (fast_ns > 0 && ev_is_active(&k->timer) &&
	    ev_timer_remaining(k->owner->loop, &k->timer) > (double)fast_ns / (double)NS_PER_SEC)
		start_timer(k, fast_ns);
}

void checks_take_news(struct checks *c)
{
	if (!c->observed)
		return;
	for (size_t i = 0; i < c->count; i++) {
		struct check *k = &c->list[i];
		struct server *s = k->server;

		if (s->backend->observe != CONFIG_OBSERVE_CONNECT || is_resting(k) || !is_wanted(k) ||
		    atomic_load_explicit(&s->failing, memory_order_relaxed) < HEALTH_ERROR_LIMIT)
			continue;
		/* What fails meanwhile begins a new row. */
		if (atomic_exchange(&s->failing, 0) >= HEALTH_ERROR_LIMIT)
			take_observed(k);
	}
}

/* ---- what the administrator wants ---- */

static struct check *check_of(const struct checks *c, const struct server *s)
{
	return c->of_server[c->first[s->owner - c->engine->backends] + s->index];
}

/* As if it had just been started; it is in maintenance, so that nobody sees a change. */
static void forget(struct check *k)
{
	const struct check_result r = {.code = CHECK_INI};

	rest(k);
	health_init(&k->health, k->health.rise, k->health.fall);
	k->view.health = k->health.health;
	publish(k, &r);
}

/* A server in maintenance is not checked; one that leaves it is up, is checked at once, and one failure takes
 * it down (HAProxy's srv_update_status()). */
static void on_admin_set(void *arg, struct server *s)
{
	struct check *k = check_of(arg, s);

	if (k != NULL && is_resting(k))
		forget(k);
	else if (k != NULL && !k->view.running && !ev_is_active(&k->timer))
		start_timer(k, 0);
}

void checks_drain(struct checks *c)
{
	c->draining = true; /* what is under way ends by itself */
}

/* ---- life ---- */

static bool is_checked(const struct server *s)
{
	return s->config->check && s->backend->check.kind != CONFIG_CHECK_OFF;
}

static int add_check(struct checks *c, struct server *s)
{
	struct check *k = &c->list[c->count];
	const struct config_check *config = &s->backend->check;
	int err;

	err = check_talk_init(&k->talk, c->loop, s->backend, s->config);
	if (err)
		return err;
	c->count++;
	k->talk.done = on_done;
	k->talk.arg = k;
	k->owner = c;
	k->server = s;
	health_init(&k->health, config->rise, config->fall);
	ev_init(&k->timer, on_timer);
	k->timer.data = k;
	k->seed = hash_bytes(s->config->name, strlen(s->config->name),
			     hash_bytes(s->backend->name, strlen(s->backend->name), 0));
	k->view = (struct check_view){
		.code = CHECK_INI,
		.duration_ms = -1,
		.rise = config->rise,
		.fall = config->fall,
		.health = k->health.health,
	};
	s->check = &k->view;
	c->observed = c->observed || s->backend->observe == CONFIG_OBSERVE_CONNECT;
	return 0;
}

static int add_checks(struct checks *c)
{
	struct check **next = c->of_server;
	int err;

	for (size_t b = 0; b < c->engine->config->backend_count; b++) {
		struct backend *backend = &c->engine->backends[b];

		c->first[b] = (size_t)(next - c->of_server);
		for (size_t i = 0; i < backend->server_count; i++, next++) {
			if (!is_checked(&backend->servers[i]))
				continue;
			err = add_check(c, &backend->servers[i]);
			if (err)
				return err;
			*next = &c->list[c->count - 1];
		}
	}
	return 0;
}

/* HAProxy's start: each at its place within the smallest interval of all. */
static void spread(struct checks *c)
{
	int64_t smallest_ns = CLOCK_NEVER;

	for (size_t i = 0; i < c->count; i++)
		if (c->list[i].server->backend->check.interval_ns < smallest_ns)
			smallest_ns = c->list[i].server->backend->check.interval_ns;
	for (size_t i = 0; i < c->count; i++)
		if (!is_resting(&c->list[i]))
			start_timer(&c->list[i], smallest_ns / (int64_t)c->count * (int64_t)i);
}

struct checks *checks_new(struct ev_loop *loop, struct engine *e, struct server_updates *u, int *err)
{
	struct checks *c = calloc(1, sizeof(*c));
	size_t servers = 0, checked = 0;

	*err = -ENOMEM;
	if (c == NULL)
		return NULL;
	c->loop = loop;
	c->engine = e;
	c->updates = u;
	c->observer = (struct server_observer){
		.admin_set = on_admin_set,
		.in_force = close_sessions,
		.arg = c,
	};
	server_updates_observe(u, &c->observer);
	for (size_t b = 0; b < e->config->backend_count; b++) {
		servers += e->backends[b].server_count;
		for (size_t i = 0; i < e->backends[b].server_count; i++)
			checked += is_checked(&e->backends[b].servers[i]);
	}
	/* One more, as no array is empty. */
	c->first = calloc(e->config->backend_count + 1, sizeof(*c->first));
	c->of_server = calloc(servers + 1, sizeof(struct check *));
	c->list = calloc(checked + 1, sizeof(*c->list));
	if (c->first != NULL && c->of_server != NULL && c->list != NULL)
		*err = add_checks(c);
	if (*err) {
		checks_free(c);
		return NULL;
	}
	spread(c);
	return c;
}

void checks_free(struct checks *c)
{
	if (c == NULL)
		return;
	server_updates_unobserve(&c->observer);
	for (size_t i = 0; i < c->count; i++) {
		c->list[i].server->check = NULL;
		ev_timer_stop(c->loop, &c->list[i].timer);
		check_talk_free(&c->list[i].talk);
	}
	free(c->list);
	free(c->of_server);
	free(c->first);
	free(c);
}
