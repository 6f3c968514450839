/* SPDX-License-Identifier: MIT
 *
 * target.c - one server that is checked: when the next check begins, and what its result does.
 *
 * Main thread.
 */
#include "target.h"

#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/hash.h"
#include "weir/config/same.h"
#include "weir/config/server_check.h"
#include "sharing.h"
#include "target_log.h"

/* Waits are up to this much shorter than configured, so that many checks, or many machines, do not fall into
 * step. They are never longer: a dead server is out within fall x interval. */
#define JITTER_PERCENT 10

struct config_check target_check(const struct server *s)
{
	return config_server_check(s->backend, s->config);
}

/* ---- scheduling ---- */

static void start_timer(struct target *t, int64_t wait_ns)
{
	ev_timer_stop(t->owner->loop, &t->timer);
	ev_timer_set(&t->timer, wait_ns > 0 ? (double)wait_ns / (double)NS_PER_SEC : 0., 0.);
	ev_timer_start(t->owner->loop, &t->timer);
}

/* By how much a wait is shorter. */
static int64_t draw(struct target *t)
{
	return (int64_t)(hash_nth(t->seed, t->waits++) % (JITTER_PERCENT * 10 + 1));
}

static int64_t shortened(int64_t ns, int64_t thousandths)
{
	return ns - ns / 1000 * thousandths;
}

/* The interval runs from start to start: a slow check does not delay the next one. */
static void schedule(struct target *t, int64_t thousandths)
{
	const struct config_check how = target_check(t->server);
	const int64_t wait_ns = shortened(health_interval_ns(&t->health, &how), thousandths);

	start_timer(t, t->began_ns + wait_ns - clock_mono_ns());
}

static bool is_in_maintenance(const struct target *t)
{
	return server_admin_now(t->server) == SERVER_ADMIN_MAINT;
}

/* Has the administrator taken it out of the checks? */
static bool is_resting(const struct target *t)
{
	return is_in_maintenance(t) || t->server->checks_off;
}

/* HAProxy stops its checks at a soft stop. Here checks go on while clients are queued for a server, because
 * these clients still need a healthy one. */
static bool is_needed(const struct target *t)
{
	return !t->owner->draining ||
	       atomic_load_explicit(&t->server->owner->queue.waiting, memory_order_relaxed) > 0;
}

static void stop_probing(struct target *t)
{
	const bool was_asking = probe_is_busy(&t->probe);

	ev_timer_stop(t->owner->loop, &t->timer);
	probe_stop(&t->probe);
	t->view.running = false;
	if (was_asking)
		sharing_break(t);
}

/* As configured; 0 = that of its address. */
static uint16_t check_port(const struct server *s)
{
	return s->config->check_port != 0 ? s->config->check_port : s->backend->check.port;
}

/* The server's address, or the one set for its checks, with the port for its checks. */
static struct addr addr_to_probe(const struct server *s, const struct addr *a)
{
	uint16_t port = s->check_port != 0 ? s->check_port : check_port(s);
	struct addr to = *server_check_addr(s, a);

	if (port == 0)
		port = addr_port(a);
	if (port != 0 && to.sa.sa_family == AF_INET)
		to.in.sin_port = htons(port);
	else if (port != 0 && to.sa.sa_family == AF_INET6)
		to.in6.sin6_port = htons(port);
	return to;
}

static void begin_probe(struct target *t)
{
	const struct addr *a = server_addr(t->server);

	if (is_resting(t)) {
		stop_probing(t);
		return;
	}
	t->began_ns = clock_mono_ns();
	/* Its name has no address yet, or no client needs it now. Either may change before the next time. */
	if (a == NULL || !is_needed(t)) {
		schedule(t, draw(t));
		return;
	}
	t->asked = addr_to_probe(t->server, a);
	t->view.running = true;
	if (!sharing_waits(t))
		probe_start(&t->probe, &t->asked);
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

/* Sets the server's state from its health. */
static void publish_health(struct target *t, const struct probe_result *r)
{
	const bool up = health_is_up(&t->health);
	const bool passed = probe_code_outcome(r->code) == PROBE_OUTCOME_PASSED;
	struct server *s = t->server;
	const bool stops = up && (r->code == PROBE_L7OKC || (s->stopping && !passed));
	char cause[PROBE_REASON_MAX + 16];

	if (s->healthy == up && s->stopping == stops)
		return;
	(void)snprintf(cause, sizeof(cause), "%s%s%s", probe_code_word(r->code),
		       r->detail[0] != '\0' ? ": " : "", r->detail); /* always fits */
	if (stops)
		server_updates_set_stopping(t->owner->updates, s, cause);
	else
		server_updates_set_health(t->owner->updates, s, up, cause);
	if (!up)
		went_down(t);
}

static void take_failure(struct target *t, const struct probe_result *r)
{
	/* As HAProxy's chkfail: failures of a server that is fully down are not counted. */
	t->view.failures += t->health.health > 0;
	if (health_bad(&t->health) == HEALTH_SAME)
		target_log_failure(t, r);
	if (t->health.health == 0 && server_address_failed(t->server, server_settings(t->server)))
		t->owner->engine->notify(t->owner->engine->notify_arg);
}

static void take_result(struct target *t, const struct probe_result *result)
{
	struct probe_result own = *result;
	const struct probe_result *r = &own;

	if (own.code == PROBE_L7OKC && !health_is_up(&t->health))
		own.code = PROBE_L7STS; /* it has no sessions to finish */
	if (r->met_itself)
		target_log_itself(t);
	switch (probe_code_outcome(r->code)) {
	case PROBE_OUTCOME_UNKNOWN:
		target_log_shortage(t, r);
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
	const int64_t thousandths = draw(t);
	struct addr now;

	t->view.running = false;
	if (!target_address(t, &now) || !addr_equal(&t->asked, &now)) {
		start_timer(t, 0); /* nothing was learnt about the new address */
	} else {
		take_result(t, r);
		schedule(t, thousandths);
	}
	sharing_spread(t, r, thousandths);
}

/* ---- what sharing needs ---- */

bool target_address(const struct target *t, struct addr *to)
{
	const struct addr *a = server_addr(t->server);

	if (a != NULL)
		*to = addr_to_probe(t->server, a);
	return a != NULL;
}

bool target_is_due(const struct target *t)
{
	return !t->fresh && !is_resting(t);
}

void target_begin_now(struct target *t)
{
	start_timer(t, 0);
}

void target_take(struct target *t, const struct target *from, const struct probe_result *r,
		 int64_t thousandths)
{
	struct probe_result own = *r;

	own.met_itself = false; /* it is told once */
	t->began_ns = from->began_ns;
	t->asked = from->asked;
	t->view.running = false;
	take_result(t, &own);
	schedule(t, thousandths);
}

/* ---- what workers observe ---- */

/* As HAProxy's `on-error`. The next check comes no later than the fast interval. */
static void take_observed(struct target *t, int limit)
{
	const int64_t fast_ns = target_check(t->server).fast_ns;
	struct probe_result r = {.code = PROBE_HANA, .duration_ms = t->view.duration_ms};

	(void)snprintf(r.detail, sizeof(r.detail), "%d failed connects in a row", limit);
	if (t->server->backend->observe.on_error == CONFIG_ON_ERROR_MARK_DOWN && health_is_up(&t->health))
		t->health.health = t->health.rise; /* one failure takes it down */
	take_result(t, &r);
	if (fast_ns > 0 && ev_is_active(&t->timer) &&
	    ev_timer_remaining(t->owner->loop, &t->timer) > (double)fast_ns / (double)NS_PER_SEC)
		start_timer(t, fast_ns);
}

void target_take_news(struct target *t)
{
	struct server *s = t->server;
	const int limit = (int)config_server_observe_limit(s->backend, s->config);

	if (!t->observed || is_resting(t) || !is_needed(t) ||
	    atomic_load_explicit(&s->failing, memory_order_relaxed) < limit)
		return;
	/* Failures from now on start a new run. */
	if (atomic_exchange(&s->failing, 0) >= limit)
		take_observed(t, limit);
}

/* ---- what the administrator sets ---- */

struct target *target_of(const struct server *s)
{
	/* Each view is part of a target. */
	const uintptr_t at = (uintptr_t)s->probe - offsetof(struct target, view);

	return s->probe != NULL ? (struct target *)at : NULL;
}

/* As if the daemon had just started. The server is in maintenance, so nobody sees a change. */
static void rest(struct target *t)
{
	const struct probe_result r = {.code = PROBE_INI};

	stop_probing(t);
	health_init(&t->health, t->health.rise, t->health.fall);
	t->view.health = t->health.health;
	publish_health(t, &r);
}

/* A server in maintenance is not checked. When it leaves maintenance it is up and checked at once, and one
 * failure takes it down (HAProxy's srv_update_status()). */
void target_take_admin(struct target *t)
{
	if (is_in_maintenance(t))
		rest(t);
	else if (is_resting(t))
		stop_probing(t);
	else if (!t->fresh && !t->view.running && !ev_is_active(&t->timer))
		start_timer(t, 0);
}

/* The next checks count from there. */
void target_take_health(struct target *t)
{
	struct health *h = &t->health;

	h->health = t->server->healthy ? h->rise + h->fall - 1 : 0;
	t->view.health = h->health;
	if (!t->server->healthy)
		went_down(t);
}

/* ---- what its configuration says ---- */

bool target_is_wanted(const struct server *s)
{
	return s->config->check;
}

static struct target_aim aim_at(const struct server *s)
{
	return (struct target_aim){
		.addr = s->config->addr,
		.other = s->config->check_addr,
		.port = check_port(s),
		.header = probe_header(s),
	};
}

/* Whatever is asked, and of whom; not how often. */
static bool is_same_question(const struct target *t, const struct target_aim *aim)
{
	const struct config_check now = target_check(t->server);
	struct config_check was;

	if (aim->port != t->aim.port || aim->header != t->aim.header ||
	    !config_addr_same(&aim->addr, &t->aim.addr) || !addr_equal(&aim->other, &t->aim.other))
		return false;
	if (t->probe.check == NULL)
		return true; /* nothing was asked yet */
	was = *t->probe.check;
	was.interval_ns = now.interval_ns;
	was.fast_ns = now.fast_ns;
	was.down_ns = now.down_ns;
	was.timeout_ns = now.timeout_ns;
	was.rise = now.rise;
	was.fall = now.fall;
	return config_check_same(&was, &now);
}

/* No result tells about this server yet. It stays what it was; the next check alone decides. */
static void begin_anew(struct target *t)
{
	stop_probing(t);
	probe_forget(&t->probe);
	t->health.health = health_is_up(&t->health) ? t->health.rise : t->health.rise - 1;
	t->began_ns = 0;
	t->fresh = true;
	t->view.code = PROBE_INI;
	t->view.status = 0;
	t->view.duration_ms = -1;
	t->view.detail[0] = '\0';
}

/* Where its address is known already, others need not wait for its first check. */
static void place(struct target *t)
{
	struct addr to;

	if (target_address(t, &to))
		sharing_place(t, &to);
}

/* The interval may be shorter than before. */
static void hasten(struct target *t)
{
	const struct config_check how = target_check(t->server);
	const int64_t wait_ns = shortened(health_interval_ns(&t->health, &how), draw(t));
	const int64_t left_ns = t->began_ns + wait_ns - clock_mono_ns();

	if (t->began_ns != 0 && ev_is_active(&t->timer) &&
	    ev_timer_remaining(t->owner->loop, &t->timer) > (double)left_ns / (double)NS_PER_SEC)
		start_timer(t, left_ns);
}

static void set_observed(struct target *t, bool observed)
{
	t->owner->observed += (size_t)observed - (size_t)t->observed;
	t->observed = observed;
}

bool target_change(struct target *t)
{
	const struct config_check now = target_check(t->server);
	const struct target_aim aim = aim_at(t->server);

	sharing_leave(t); /* its question may be another one */
	set_observed(t, t->server->backend->observe.what == CONFIG_OBSERVE_CONNECT);
	if (now.rise != t->health.rise || now.fall != t->health.fall)
		health_rescale(&t->health, now.rise, now.fall);
	if (!is_same_question(t, &aim))
		begin_anew(t);
	else
		hasten(t);
	t->aim = aim;
	t->view.rise = t->health.rise;
	t->view.fall = t->health.fall;
	t->view.health = t->health.health;
	place(t);
	target_take_admin(t); /* the configuration may say so, too, and checks may be off */
	return t->fresh;
}

/* ---- life ---- */

void target_start(struct target *t, int64_t wait_ns)
{
	check(t->fresh);
	t->fresh = false;
	if (!is_resting(t))
		start_timer(t, wait_ns);
}

void target_init(struct target *t, struct prober *p, struct server *s)
{
	const struct config_check config = target_check(s);

	*t = (struct target){.owner = p, .server = s, .aim = aim_at(s), .fresh = true};
	list_init(&t->link);
	list_init(&t->sharing);
	probe_init(&t->probe, p->loop, s);
	t->probe.wire.gate = &p->gate;
	t->probe.exec.runner = &p->execs;
	t->probe.entries = &p->engine->entries;
	t->probe.done = on_done;
	t->probe.arg = t;
	health_init(&t->health, config.rise, config.fall);
	if (!s->healthy)
		t->health.health = 0; /* as set by the administrator */
	ev_init(&t->timer, on_probe_due);
	t->timer.data = t;
	t->seed = hash_bytes(s->config->name, strlen(s->config->name),
			     hash_bytes(s->backend->name, strlen(s->backend->name), 0));
	t->view = (struct probe_view){
		.code = PROBE_INI,
		.duration_ms = -1,
		.rise = config.rise,
		.fall = config.fall,
		.health = t->health.health,
	};
	set_observed(t, s->backend->observe.what == CONFIG_OBSERVE_CONNECT);
	s->probe = &t->view;
	place(t);
}

void target_end(struct target *t)
{
	set_observed(t, false);
	stop_probing(t);
	sharing_leave(t);
	t->server->probe = NULL;
	probe_free(&t->probe);
}
