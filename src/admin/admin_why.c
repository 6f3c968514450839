/* SPDX-License-Identifier: MIT
 *
 * admin_why.c - `why`: why a backend, or one of its servers, is as it is.
 *
 * Puts together what is known elsewhere: states, causes of the last changes, health checks, the last
 * failures. Only reads. Main thread.
 */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "weir/admin/admin_answers.h"
#include "weir/balance/change_log.h"
#include "weir/balance/fallback.h"
#include "weir/balance/server_set.h"
#include "weir/base/clock.h"
#include "weir/base/wall_time.h"
#include "admin_errors.h"
#include "admin_steps.h"

/* Changes and failures in one answer. */
#define CHANGES_SHOWN 16u
#define FAILURES_SHOWN 16u
#define AGE_MAX 32

static const char *age_text(int64_t ns, char buf[static AGE_MAX])
{
	const int64_t s = ns / NS_PER_SEC;

	if (s < 60)
		(void)snprintf(buf, AGE_MAX, "%lld s", (long long)s); /* fits, as do the others */
	else if (s < 3600)
		(void)snprintf(buf, AGE_MAX, "%lld min", (long long)(s / 60));
	else if (s < 86400)
		(void)snprintf(buf, AGE_MAX, "%lld h %lld min", (long long)(s / 3600),
			       (long long)(s % 3600 / 60));
	else
		(void)snprintf(buf, AGE_MAX, "%lld d %lld h", (long long)(s / 86400),
			       (long long)(s % 86400 / 3600));
	return buf;
}

/* ---- one server ---- */

static enum server_state state_of(const struct server *s)
{
	return (enum server_state)atomic_load_explicit(&s->state, memory_order_relaxed);
}

/* The last change to the state that it has; NULL = it is not kept, or there was none. */
static const struct history_change *last_change(const struct server *s)
{
	for (size_t i = history_size(&s->history); i-- > 0;) {
		const struct history_change *change = history_get(&s->history, i);

		if (change->what == CHANGE_STATE)
			return change->to == (uint32_t)state_of(s) ? change : NULL;
	}
	return NULL;
}

/* What to do about it; "" = nothing. */
static const char *advice(const struct server *s)
{
	if (s->admin == SERVER_ADMIN_MAINT || s->admin == SERVER_ADMIN_DRAIN)
		return "; 'enable server' brings it back";
	if (server_is_out_by_agent(s) || (s->agent.down && s->healthy))
		return "; its agent says so: 'disable agent' brings it back";
	if (state_of(s) == SERVER_NOLB)
		return "; it finishes its sessions, and the next check that passes brings it back";
	if (state_of(s) == SERVER_UNRESOLVED)
		return "; look up its name on this machine";
	if (s->checks_off && !s->healthy)
		return "; its health checks are suspended: 'enable health' resumes them";
	return "";
}

static void say_state(const struct admin_call *c, const struct server *s)
{
	const struct history_change *change = last_change(s);
	const int64_t since_ns = s->changed_ns != 0 ? s->changed_ns : c->ctx->started_ns;
	char age[AGE_MAX];

	steps_server(c, s, server_state_word(state_of(s)), "%s for %s%s%s%s", server_state_text(state_of(s)),
		     age_text(clock_mono_ns() - since_ns, age),
		     change != NULL ? ": " : s->changed_ns == 0 ? ", since the start" : "",
		     change != NULL ? change->cause : "", advice(s));
}

/* What an administrator has set goes first. */
static const char *agent_counts(const struct server *s)
{
	if (s->agent.admin != SERVER_ADMIN_READY && !server_is_out_by_agent(s))
		return "; an administrator has set another state";
	if (s->agent.has_percent && s->weight != s->config->weight)
		return "; an administrator has set another weight";
	if (s->agent.has_maxconn && s->maxconn != s->config->maxconn)
		return "; an administrator has set another maxconn";
	return "";
}

static void say_probe(const struct admin_call *c, const struct server *s)
{
	const struct probe_view *v = s->probe;
	char shared[48] = "";

	if (v == NULL)
		return;
	if (v->shared > 0)
		(void)snprintf(shared, sizeof(shared), ", shared with %u more server%s", v->shared,
			       v->shared == 1 ? "" : "s"); /* fits */
	steps_server(c, s, probe_code_word(v->code), "health check: %s%s%s%s, %u of %u, %llu failed%s",
		     probe_code_text(v->code), v->detail[0] != '\0' ? " (" : "", v->detail,
		     v->detail[0] != '\0' ? ")" : "", v->health, v->rise + v->fall - 1,
		     (unsigned long long)v->failures, shared);
}

static void say_agent(const struct admin_call *c, const struct server *s)
{
	const struct agent_view *v = s->agent_view;

	if (v == NULL)
		return;
	if (s->agent_off)
		steps_server(c, s, "disabled", "agent: disabled; nothing that it said counts");
	else
		steps_server(c, s, probe_code_word(v->code), "agent: %s%s%s%s%s", probe_code_text(v->code),
			     v->detail[0] != '\0' ? " (" : "", v->detail, v->detail[0] != '\0' ? ")" : "",
			     agent_counts(s));
}

static void say_load(const struct admin_call *c, const struct server *s)
{
	const unsigned limit = atomic_load_explicit(&s->limit, memory_order_relaxed);
	const int sessions = atomic_load_explicit(&s->sessions, memory_order_relaxed);
	const int queued = atomic_load_explicit(&s->queued, memory_order_relaxed);
	const int failing = atomic_load_explicit(&s->failing, memory_order_relaxed);

	if (limit > 0 && sessions >= 0 && (unsigned)sessions >= limit)
		steps_server(c, s, "full", "full: %d of %u sessions, clients queued: %d", sessions, limit,
			     queued);
	if (failing > 0)
		steps_server(c, s, "failing", "connects that failed in a row: %d", failing);
	if (server_weight_now(s) == 0)
		steps_server(c, s, "no_weight", "its weight is 0: it takes no new clients");
}

/* ---- the changes ---- */

struct change_at {
	const struct server *server;
	const struct history_change *change;
};

static int compare(const void *left, const void *right)
{
	const struct history_change *a = ((const struct change_at *)left)->change;
	const struct history_change *b = ((const struct change_at *)right)->change;

	return a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

static void say_change(const struct admin_call *c, const struct change_at *at)
{
	const struct history_change *change = at->change;
	char when[WALL_TIME_MAX];

	(void)wall_time_format_ms(change->wall_ns, when);
	if (change->what == CHANGE_STATE)
		steps_server(c, at->server, "change", "%s %s -> %s: %s", when,
			     server_state_text((enum server_state)change->from),
			     server_state_text((enum server_state)change->to), change->cause);
	else
		steps_server(c, at->server, "change", "%s %s %u -> %u: %s", when,
			     change_word((enum change_what)change->what), change->from, change->to,
			     change->cause);
}

/* The last ones of all these servers, the oldest first. Without memory, the answer fails. */
static void say_changes(const struct admin_call *c, struct server *const *servers, size_t server_count)
{
	struct change_at *list;
	size_t count = 0;

	for (size_t i = 0; i < server_count; i++)
		count += history_size(&servers[i]->history);
	if (count == 0)
		return;
	list = calloc(count, sizeof(*list));
	if (list == NULL) {
		c->out->failed = true;
		return;
	}
	count = 0;
	for (size_t i = 0; i < server_count; i++)
		for (size_t j = 0; j < history_size(&servers[i]->history); j++)
			list[count++] = (struct change_at){servers[i], history_get(&servers[i]->history, j)};
	qsort(list, count, sizeof(*list), compare);
	for (size_t i = count > CHANGES_SHOWN ? count - CHANGES_SHOWN : 0; i < count; i++)
		say_change(c, &list[i]);
	free(list);
}

/* ---- the answer ---- */

static void say_fallback(const struct admin_call *c, const struct backend *b)
{
	const struct backend *to = backend_serving(b);

	if (to == b)
		steps_add(c, "fallback-backend", "%s: not taken, as a server is in use",
			  backend_fallback(b)->config->name);
	else if (backend_roster(to)->count > 0)
		steps_add(c, "fallback-backend", "%s: taken, as no server is usable; new clients go to %s",
			  backend_fallback(b)->config->name, to->config->name);
	else
		steps_add(c, "fallback-backend", "%s: taken, as no server is usable; none of %s is either",
			  backend_fallback(b)->config->name, to->config->name);
}

/* Those whose clients come here when they have no server. */
static void say_origins(const struct admin_call *c, const struct backend *b)
{
	const struct engine *e = c->ctx->engine;

	for (size_t i = 0; i < e->backend_count; i++) {
		const struct backend *from = e->backends[i];

		if (from != b && backend_roster(from)->count == 0 && backend_fallback(from) != NULL &&
		    backend_serving(from) == b)
			steps_add(c, "backend", "clients of %s come here, as it has no usable server",
				  from->config->name);
	}
}

static void say_backend(const struct admin_call *c, const struct backend *b)
{
	const size_t chosen = backend_roster(b)->count;
	const int queued = atomic_load_explicit(&b->queue.waiting, memory_order_relaxed);

	steps_add(c, "backend", "%s: servers usable: %zu of %zu, in use: %zu, clients queued: %d",
		  b->config->name, b->usable, b->server_count, chosen, queued);
	if (backend_fallback(b) != NULL)
		say_fallback(c, b);
	else if (chosen == 0)
		steps_add(c, "backend", "no client is served until a server is usable");
	else if (b->usable == 0)
		steps_add(c, "backend", "'panic' keeps %zu servers in use although none is up", chosen);
	say_origins(c, b);
}

static void say_set(const struct admin_call *c, const struct server_set *set)
{
	const struct backend *b = set->owner;
	size_t used = 0, drain = 0;

	for (size_t i = 0; i < b->server_count; i++) {
		used += b->servers[i]->set == set && !b->servers[i]->leaves;
		drain += b->servers[i]->set == set && b->servers[i]->leaves;
	}
	steps_add(c, "set", "%s/%s: addresses of '%s' in use: %zu, draining: %zu, not used: %zu%s%s",
		  b->config->name, set->config->name, set->config->addr.host, used, drain, set->surplus,
		  set->trouble != NULL ? "; the last answer had none: "
		  : set->answered      ? ""
				       : "; there was no answer yet",
		  set->trouble != NULL ? set->trouble : "");
}

void admin_why(const struct admin_call *c)
{
	struct errors_filter filter = {0};
	struct server *one = NULL;
	struct backend *b;

	if (strchr(c->args[0], '/') != NULL) {
		one = admin_find_server(c, c->args[0]);
		b = one != NULL ? one->owner : NULL;
	} else {
		b = admin_find_backend(c, c->args[0], NULL);
	}
	if (b == NULL)
		return;
	filter.backend = b->config->name;
	filter.server = one != NULL ? one->config->name : NULL;
	steps_begin(c);
	say_backend(c, b);
	for (const struct list *l = b->sets.next; one == NULL && l != &b->sets; l = l->next)
		say_set(c, server_set_at(l));
	for (size_t i = 0; i < b->server_count; i++) {
		if (one != NULL && one != b->servers[i])
			continue;
		say_state(c, b->servers[i]);
		say_probe(c, b->servers[i]);
		say_agent(c, b->servers[i]);
		say_load(c, b->servers[i]);
	}
	say_changes(c, one != NULL ? &one : b->servers, one != NULL ? 1 : b->server_count);
	admin_add_errors(c, &filter, FAILURES_SHOWN);
	steps_close(c);
}
