/* SPDX-License-Identifier: MIT
 *
 * server_change.c - changes a server: by the administrator, health checks, its agent, name resolution, time.
 *
 * Computes state, weight and limit and publishes them with a new roster, or reverts everything if there is no
 * memory for one. Each change of state, weight or limit is one line in the log and in the server's history; a
 * call that changes nothing leaves no trace. Slow start by HAProxy's formulas (server.c, queue.c). Control
 * thread.
 */
#include "server_change.h"

#include <errno.h>
#include <string.h>

#include "weir/balance/change_log.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "overrides.h"
#include "server_parts.h"
#include "settings_parts.h"

/* The number of steps of a slow start; none is shorter than a second. */
#define SLOWSTART_STEPS 20

/* Values that may have to be restored. */
struct before {
	enum server_state state;
	enum server_admin admin;
	struct server_agent agent;
	bool healthy;
	bool stopping;
	bool leaves;
	unsigned weight;
	unsigned maxconn;
	enum server_admin admin_now; /* and the next two: with what the agent has said */
	unsigned weight_now;
	unsigned maxconn_now;
	unsigned eweight;
	unsigned limit;
	uint64_t key;
	int64_t slow_since_ns;
	int64_t slow_at_ns;
	bool roster_has_address; /* by which clients come back to it */
};

static enum server_state present_state(const struct server *s)
{
	return (enum server_state)atomic_load_explicit(&s->state, memory_order_relaxed);
}

/* ---- computing state, weight and limit ---- */

static enum server_state state_of(const struct server *s)
{
	const enum server_admin admin = server_admin_now(s);

	if (admin == SERVER_ADMIN_MAINT)
		return SERVER_MAINT;
	if (server_addr(s) == NULL)
		return SERVER_UNRESOLVED;
	if (!s->healthy || s->agent.down)
		return SERVER_DOWN;
	if (admin == SERVER_ADMIN_DRAIN || s->leaves)
		return SERVER_DRAIN;
	return s->stopping ? SERVER_NOLB : SERVER_UP;
}

static bool keeps(const struct server *s, enum server_state state)
{
	return (state == SERVER_UP || state == SERVER_DRAIN || state == SERVER_NOLB) && !s->leaves;
}

static bool drains(const struct server *s)
{
	return server_admin_now(s) != SERVER_ADMIN_READY || s->leaves;
}

/* As HAProxy stores it: whole seconds, rounded up. */
static int64_t slowstart_s(const struct server *s)
{
	return (s->config->slowstart_ns + NS_PER_SEC - 1) / NS_PER_SEC;
}

static int64_t slow_elapsed_s(const struct server *s, int64_t now_ns)
{
	return now_ns > s->slow_since_ns ? (now_ns - s->slow_since_ns) / NS_PER_SEC : 0;
}

static bool is_slow(const struct server *s, int64_t now_ns)
{
	return s->slow_since_ns != 0 && slow_elapsed_s(s, now_ns) < slowstart_s(s);
}

/* Algorithms whose tables may change at each step; with the others clients would move back and forth. */
static bool weight_grows(const struct config_balancing *b)
{
	switch (b->algorithm) {
	case CONFIG_BALANCE_ROUNDROBIN:
	case CONFIG_BALANCE_LEASTCONN:
	case CONFIG_BALANCE_RANDOM:
		return true;
	case CONFIG_BALANCE_SOURCE:
		return b->hash == CONFIG_HASH_CONSISTENT;
	case CONFIG_BALANCE_FIRST:
	case CONFIG_BALANCE_MAGLEV:
		break;
	}
	return false;
}

static unsigned eweight_of(const struct server *s)
{
	const int64_t whole_s = slowstart_s(s);
	int64_t sixteenths = SERVER_WEIGHT_SCALE;

	if (is_slow(s, s->slow_at_ns) && weight_grows(&s->backend->balance))
		sixteenths = (sixteenths * slow_elapsed_s(s, s->slow_at_ns) + whole_s) / whole_s;
	return server_weight_now(s) * (unsigned)sixteenths;
}

static unsigned limit_of(const struct server *s)
{
	const uint64_t percent = server_throttle(s, s->slow_at_ns);
	const unsigned maxconn = server_maxconn_now(s);
	const uint64_t limit = maxconn * percent / 100;

	return maxconn > 0 && limit == 0 ? 1 : (unsigned)limit;
}

unsigned server_throttle(const struct server *s, int64_t now_ns)
{
	return is_slow(s, now_ns) ? (unsigned)(100 * slow_elapsed_s(s, now_ns) / slowstart_s(s)) : 100;
}

/* ---- reporting ---- */

static bool takes_new(const struct server *s)
{
	return server_usable(s) && atomic_load_explicit(&s->eweight, memory_order_relaxed) > 0;
}

/* Causes may come from servers: the stored text is safe to print anywhere. */
static void copy_cause(char *out, const char *cause)
{
	size_t i;

	for (i = 0; i < HISTORY_CAUSE_MAX - 1 && cause[i] != '\0'; i++)
		out[i] = cause[i] >= ' ' && cause[i] <= '~' ? cause[i] : '?';
	out[i] = '\0';
}

/* The states that HAProxy calls stopped and counts as downtime. */
static bool is_down(enum server_state state)
{
	return state == SERVER_DOWN || state == SERVER_UNRESOLVED || state == SERVER_MAINT;
}

/* Logs the change and adds it to the history. */
static void report(struct server *s, enum change_what what, uint32_t from, uint32_t to, const char *cause,
		   int64_t now_ns)
{
	struct history_change change = {
		.at_ns = now_ns,
		.wall_ns = clock_wall_ns(),
		.what = (uint8_t)what,
		.from = from,
		.to = to,
	};

	copy_cause(change.cause, cause);
	history_add(&s->history, &change);
	change_log(s, what, from, to, cause);
}

static void report_state(struct server *s, enum server_state from, const char *cause, int64_t now_ns)
{
	if (is_down(from) && s->changed_ns != 0 && now_ns > s->changed_ns)
		s->down_ns += now_ns - s->changed_ns;
	s->changed_ns = now_ns;
	report(s, CHANGE_STATE, from, present_state(s), cause, now_ns);
}

/* ---- one change ---- */

static struct before remember(const struct server *s)
{
	return (struct before){
		.state = present_state(s),
		.admin = s->admin,
		.agent = s->agent,
		.healthy = s->healthy,
		.stopping = s->stopping,
		.leaves = s->leaves,
		.weight = s->weight,
		.maxconn = s->maxconn,
		.admin_now = server_admin_now(s),
		.weight_now = server_weight_now(s),
		.maxconn_now = server_maxconn_now(s),
		.eweight = atomic_load_explicit(&s->eweight, memory_order_relaxed),
		.limit = atomic_load_explicit(&s->limit, memory_order_relaxed),
		.key = s->key,
		.slow_since_ns = s->slow_since_ns,
		.slow_at_ns = s->slow_at_ns,
	};
}

static void publish_runtime(struct server *s, enum server_state state, unsigned eweight, unsigned limit)
{
	const bool took_new = takes_new(s);

	if (limit > 0)
		atomic_store(&s->owner->limited, true); /* before the limit: a thread that sees the limit must
							 * count exactly */
	atomic_store(&s->limit, limit);
	atomic_store_explicit(&s->eweight, eweight, memory_order_relaxed);
	atomic_store_explicit(&s->drains, drains(s), memory_order_relaxed);
	atomic_store(&s->keeps, keeps(s, state));
	atomic_store_explicit(&s->state, (int)state, memory_order_release);
	s->owner->usable += takes_new(s);
	s->owner->usable -= took_new;
}

static void take_back(struct server *s, const struct before *b)
{
	s->admin = b->admin;
	s->agent = b->agent;
	s->healthy = b->healthy;
	s->stopping = b->stopping;
	s->leaves = b->leaves;
	s->weight = b->weight;
	s->maxconn = b->maxconn;
	s->key = b->key;
	s->slow_since_ns = b->slow_since_ns;
	s->slow_at_ns = b->slow_at_ns;
	publish_runtime(s, b->state, b->eweight, b->limit);
}

static void move_slow_start(struct server *s, enum server_state from, enum server_state to, int64_t now_ns)
{
	if (is_down(to))
		s->slow_since_ns = 0;
	else if ((from == SERVER_DOWN || from == SERVER_MAINT) && s->config->slowstart_ns > 0)
		s->slow_since_ns = now_ns;
	s->slow_at_ns = now_ns;
	if (!is_slow(s, now_ns))
		s->slow_since_ns = 0;
}

/* Even if the state is the same: with `panic` a server that is down is used unless it is draining. */
static bool needs_roster(const struct server *s, const struct before *b)
{
	return atomic_load_explicit(&s->eweight, memory_order_relaxed) != b->eweight || s->key != b->key ||
	       server_admin_now(s) != b->admin_now || s->leaves != b->leaves || b->roster_has_address;
}

/* `before`: how many servers of the backend were usable. */
static void note_usable(struct backend *b, size_t before, int64_t now_ns)
{
	if ((before == 0) != (b->usable == 0))
		b->changed_ns = now_ns;
}

/* Puts in force for all threads what control has set in `s`; `b` holds the previous values. */
static int update(struct server *s, const struct before *b, const char *cause, int64_t now_ns)
{
	const enum server_state to = state_of(s);
	const size_t usable = s->owner->usable;
	int err;

	move_slow_start(s, b->state, to, now_ns);
	publish_runtime(s, to, eweight_of(s), limit_of(s));
	if (to != b->state || needs_roster(s, b)) {
		err = backend_changed(s->owner);
		if (err) {
			take_back(s, b);
			return err;
		}
	} else if (atomic_load(&s->limit) != b->limit) {
		queue_rearrange(s->owner); /* its lock orders the limit before any client that begins to wait
					    * now */
	}
	note_usable(s->owner, usable, now_ns);
	if (to != b->state)
		report_state(s, b->state, cause, now_ns);
	if (server_weight_now(s) != b->weight_now)
		report(s, CHANGE_WEIGHT, b->weight_now, server_weight_now(s), cause, now_ns);
	if (server_maxconn_now(s) != b->maxconn_now)
		report(s, CHANGE_MAXCONN, b->maxconn_now, server_maxconn_now(s), cause, now_ns);
	backend_tell_last_one(s->owner);
	return 0;
}

int server_set_health(struct server *s, bool healthy, const char *cause, int64_t now_ns)
{
	const struct before b = remember(s);

	s->healthy = healthy;
	s->stopping = false;
	return update(s, &b, cause, now_ns);
}

int server_set_stopping(struct server *s, const char *cause, int64_t now_ns)
{
	const struct before b = remember(s);

	s->healthy = true;
	s->stopping = true;
	return update(s, &b, cause, now_ns);
}

int server_set_leaves(struct server *s, bool leaves, const char *cause, int64_t now_ns)
{
	const struct before b = remember(s);

	s->leaves = leaves;
	return update(s, &b, cause, now_ns);
}

int server_set_admin(struct server *s, enum server_admin admin, const char *cause, int64_t now_ns)
{
	const struct before b = remember(s);

	s->admin = admin;
	return update(s, &b, cause, now_ns);
}

int server_set_weight(struct server *s, unsigned weight, const char *cause, int64_t now_ns)
{
	const struct before b = remember(s);

	s->weight = weight;
	return update(s, &b, cause, now_ns);
}

int server_set_maxconn(struct server *s, unsigned maxconn, const char *cause, int64_t now_ns)
{
	const struct before b = remember(s);

	s->maxconn = maxconn;
	return update(s, &b, cause, now_ns);
}

int server_set_agent(struct server *s, const struct server_agent *agent, const char *cause, int64_t now_ns)
{
	const struct before b = remember(s);

	s->agent = *agent;
	return update(s, &b, cause, now_ns);
}

int server_move_to(struct server *s, const struct addr *a, const char *cause)
{
	struct before b = remember(s);
	struct server_settings *previous = server_settings_of_now(s);
	struct server_settings *next = server_settings_hold(s, s->config, a);
	int err;

	if (next == NULL)
		return -ENOMEM;
	version_hold(&previous->version);
	server_settings_publish(next); /* before the state: a thread that sees it up also sees an address */
	s->key = server_key_of(s);
	b.roster_has_address = s->owner->config->persist != CONFIG_PERSIST_OFF;
	err = update(s, &b, cause, clock_mono_ns());
	if (err)
		server_settings_publish(previous);
	else
		server_settings_let_go(previous);
	return err;
}

int server_set_addr(struct server *s, const struct addr *a)
{
	return server_move_to(s, a, a != NULL ? "its name has an address" : "its name no longer resolves");
}

int64_t server_slowstart_step(struct server *s, int64_t now_ns)
{
	const struct before b = remember(s);
	int64_t step_ns = slowstart_s(s) * NS_PER_SEC / SLOWSTART_STEPS;

	if (s->slow_since_ns == 0)
		return CLOCK_NEVER;
	if (step_ns < NS_PER_SEC)
		step_ns = NS_PER_SEC;
	if (update(s, &b, "", now_ns) != 0)
		return now_ns + NS_PER_SEC; /* no memory for a roster: the weight stays for another second */
	return s->slow_since_ns != 0 ? now_ns + step_ns : CLOCK_NEVER;
}

void server_begin_state(struct server *s)
{
	atomic_init(&s->eweight, eweight_of(s));
	atomic_init(&s->drains, drains(s));
	atomic_init(&s->keeps, keeps(s, state_of(s)));
	atomic_init(&s->limit, limit_of(s));
	atomic_init(&s->state, (int)state_of(s));
}

void server_begin_slowly(struct server *s)
{
	const struct before b = remember(s);
	const int64_t now_ns = clock_mono_ns();
	int err;

	if (s->config->slowstart_ns == 0)
		return;
	s->slow_since_ns = now_ns;
	err = update(s, &b, "", now_ns);
	check(err == 0); /* the backend is held */
}

void server_joins(struct server *s)
{
	const size_t usable = s->owner->usable;

	s->owner->usable += takes_new(s);
	note_usable(s->owner, usable, clock_mono_ns());
}

void server_parts(struct server *s)
{
	const size_t usable = s->owner->usable;

	s->owner->usable -= takes_new(s);
	note_usable(s->owner, usable, clock_mono_ns());
}

void server_apply_settings(struct server *s, struct server_settings *v)
{
	const struct before b = remember(s);
	int err;

	overrides_meet(s, v->config);
	server_settings_publish(v);
	overrides_settle(s);
	s->key = server_key_of(s);
	s->owner->stale = true; /* whatever has changed */
	err = update(s, &b, "its configuration has changed", clock_mono_ns());
	check(err == 0); /* the backend is held */
}

void server_apply_backend(struct server *s)
{
	const struct before b = remember(s);
	int err;

	s->key = server_key_of(s);
	err = update(s, &b, "the configuration of its backend has changed", clock_mono_ns());
	check(err == 0);
}
