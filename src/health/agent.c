/* SPDX-License-Identifier: MIT
 *
 * agent.c - the agent of one server: when it is asked next, and what its answer does.
 *
 * Main thread.
 */
#include "agent.h"

#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/hash.h"
#include "weir/config/server_check.h"

/* As for health checks: many agents, or many machines, do not fall into step. */
#define JITTER_PERCENT	 10
#define LINES_PER_SECOND 5

/* ---- when ---- */

static int64_t interval_ns(const struct agent *a)
{
	struct config_check_step say;

	return config_server_agent_check(a->server->backend, a->server->config, &say).interval_ns;
}

static void start_timer(struct agent *a, int64_t wait_ns)
{
	ev_timer_stop(a->owner->loop, &a->timer);
	ev_timer_set(&a->timer, wait_ns > 0 ? (double)wait_ns / (double)NS_PER_SEC : 0., 0.);
	ev_timer_start(a->owner->loop, &a->timer);
}

/* From start to start: a slow answer does not delay the next question. */
static void schedule(struct agent *a)
{
	const int64_t thousandths = (int64_t)(hash_nth(a->seed, a->waits++) % (JITTER_PERCENT * 10 + 1));
	const int64_t ns = interval_ns(a);

	start_timer(a, a->began_ns + ns - ns / 1000 * thousandths - clock_mono_ns());
}

/* As for health checks. */
static bool is_needed(const struct agent *a)
{
	return !a->owner->draining ||
	       atomic_load_explicit(&a->server->owner->queue.waiting, memory_order_relaxed) > 0;
}

static void stop(struct agent *a)
{
	ev_timer_stop(a->owner->loop, &a->timer);
	probe_stop(&a->probe);
	a->view.running = false;
}

/* False: it is nowhere yet. */
static bool where(const struct agent *a, struct addr *to)
{
	const struct config_agent how = a->server->config->check_agent;
	const struct addr *own = server_addr(a->server);

	if (how.addr.len == 0 && (own == NULL || addr_is_unix(own)))
		return false;
	*to = how.addr.len != 0 ? how.addr : *own;
	if (to->sa.sa_family == AF_INET)
		to->in.sin_port = htons(how.port);
	else
		to->in6.sin6_port = htons(how.port);
	return true;
}

static void ask(struct agent *a)
{
	a->began_ns = clock_mono_ns();
	if (!is_needed(a) || !where(a, &a->asked)) {
		schedule(a);
		return;
	}
	a->view.running = true;
	probe_start(&a->probe, &a->asked);
}

static void on_due(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	(void)loop;
	(void)revents;
	ask(timer->data);
}

/* ---- what it says ---- */

static bool is_same(const struct server_agent *a, const struct server_agent *b)
{
	return a->admin == b->admin && a->down == b->down && a->has_percent == b->has_percent &&
	       a->percent == b->percent && a->has_maxconn == b->has_maxconn && a->maxconn == b->maxconn;
}

/* From now on, this counts. */
static void put(struct agent *a, const struct server_agent *next, const char *cause)
{
	if (!is_same(&a->server->agent, next))
		server_updates_set_agent(a->owner->updates, a->server, next, cause);
}

void agent_went_down(struct agent *a)
{
	if (a->server->backend->on_marked_down == CONFIG_MARKED_DOWN_CLOSE)
		a->close = a->owner->close = true;
}

static void withdraw(struct agent *a, const char *cause)
{
	const struct server_agent nothing = {.admin = SERVER_ADMIN_READY};

	put(a, &nothing, cause);
}

/* What it does not mention stays as it is. */
static void obey(struct agent *a, const struct agent_words *w)
{
	struct server_agent next = a->server->agent;
	char line[HISTORY_CAUSE_MAX - sizeof("agent: ") + 1], cause[HISTORY_CAUSE_MAX];

	if (w->has_admin)
		next.admin = w->admin;
	if (w->health != AGENT_SAYS_NOTHING)
		next.down = w->health == AGENT_SAYS_DOWN;
	if (w->has_percent) {
		next.has_percent = true;
		next.percent = w->percent;
	}
	if (w->has_maxconn) {
		next.has_maxconn = true;
		next.maxconn = w->maxconn;
	}
	log_escape(a->line.text, a->line.len, line, sizeof(line));
	(void)snprintf(cause, sizeof(cause), "agent: %s", line); /* it fits */
	put(a, &next, cause);
}

/* Whenever it says, or fails in, something else. */
static void tell(struct agent *a, const struct probe_result *r, const char *detail)
{
	const bool is_news = a->view.code != r->code || strcmp(a->view.detail, detail) != 0;
	const enum log_level level = is_news ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG;

	if (detail[0] == '\0' || !log_wants(level) ||
	    !log_limit_ok(&a->limit, LOG_CAUSE_CHECK, (uint32_t)r->code, clock_mono_ns(), LINES_PER_SECOND))
		return;
	log_line(level, "agent of server %s/%s: %s, %s, %lld ms", a->server->backend->name,
		 a->server->config->name, probe_code_word(r->code), detail, (long long)r->duration_ms);
}

static void take_result(struct agent *a, const struct probe_result *result)
{
	struct agent_words words = {.health = AGENT_SAYS_NOTHING};
	struct probe_result r = *result;
	const char *detail = r.detail;

	if (r.code == PROBE_CHECKED) {
		agent_words_read(&a->line, &words);
		r.code = words.code;
		detail = words.detail;
	}
	tell(a, &r, detail);
	a->view.code = r.code;
	a->view.duration_ms = r.duration_ms;
	memmove(a->view.detail, detail, sizeof(a->view.detail));
	if (result->code == PROBE_CHECKED)
		obey(a, &words);
}

static void on_done(void *arg, const struct probe_result *r)
{
	struct agent *a = arg;
	struct addr now;

	a->view.running = false;
	if (!where(a, &now) || !addr_equal(&a->asked, &now)) {
		start_timer(a, 0); /* it has moved meanwhile */
		return;
	}
	take_result(a, r);
	schedule(a);
}

/* ---- what the configuration and the administrator say ---- */

bool agent_is_wanted(const struct server *s)
{
	return s->config->check_agent.port != 0;
}

struct agent *agent_of(const struct server *s)
{
	/* Each view is part of an agent. */
	const uintptr_t at = (uintptr_t)s->agent_view - offsetof(struct agent, view);

	return s->agent_view != NULL ? (struct agent *)at : NULL;
}

/* The interval may be shorter than before. */
static void hasten(struct agent *a)
{
	const int64_t left_ns = a->began_ns + interval_ns(a) - clock_mono_ns();

	if (ev_timer_remaining(a->owner->loop, &a->timer) > (double)left_ns / (double)NS_PER_SEC)
		start_timer(a, left_ns);
}

void agent_change(struct agent *a)
{
	if (a->server->agent_off) {
		stop(a);
		withdraw(a, "its agent was disabled");
	} else if (ev_is_active(&a->timer)) {
		hasten(a);
	} else if (!a->view.running) {
		start_timer(a, 0);
	}
}

/* ---- life ---- */

void agent_init(struct agent *a, struct agents *owner, struct server *s)
{
	memset(a, 0, sizeof(*a));
	a->owner = owner;
	a->server = s;
	list_init(&a->link);
	probe_init_agent(&a->probe, owner->loop, s, &a->line);
	a->probe.done = on_done;
	a->probe.arg = a;
	ev_init(&a->timer, on_due);
	a->timer.data = a;
	a->seed = hash_bytes(s->config->name, strlen(s->config->name),
			     hash_bytes(s->backend->name, strlen(s->backend->name), 1));
	a->view = (struct agent_view){.code = PROBE_INI, .duration_ms = -1};
	s->agent_view = &a->view;
	a->began_ns = clock_mono_ns();
	if (!s->agent_off) /* the first questions are spread over the interval */
		start_timer(a, interval_ns(a) / 1000 * (int64_t)(hash_nth(a->seed, a->waits++) % 1000));
}

void agent_end(struct agent *a, bool server_stays)
{
	stop(a);
	if (server_stays)
		withdraw(a, "its agent is not asked any more");
	a->server->agent_view = NULL;
	probe_free(&a->probe);
}
