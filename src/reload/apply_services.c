/* SPDX-License-Identifier: MIT
 *
 * apply_services.c - what health checks, agents and name lookups need for the servers of a plan.
 *
 * Owns the counts. Control thread.
 */
#include <errno.h>
#include <unistd.h>

#include "weir/host/refusal.h"
#include "apply_work.h"

static void settle_probes(struct work *w, struct step *s)
{
	prober_settle(w->parts->prober, s->count);
}

static const struct step_way probes = {STEP_PROBES, settle_probes, settle_probes};

static void commit_execs(struct work *w, struct step *s)
{
	(void)s;
	prober_commit_execs(w->parts->prober);
}

static void undo_execs(struct work *w, struct step *s)
{
	(void)s;
	prober_undo_execs(w->parts->prober);
}

static const struct step_way execs = {STEP_EXECS, commit_execs, undo_execs};

static int prepare_execs(struct work *w)
{
	const unsigned limit = w->plan->next->global.exec_checks;
	int err;

	if (refusal_of_programs(w->plan->next, geteuid(), w->why, w->why_room))
		return -EPERM;
	err = prober_prepare_execs(w->parts->prober, limit);
	if (err)
		return work_refuse(w, err, "cannot run %u programs of health checks at once", limit);
	work_add(w, &execs);
	return 0;
}

static void settle_agents(struct work *w, struct step *s)
{
	agents_settle(w->parts->agents, s->count);
}

static const struct step_way agents = {STEP_AGENTS, settle_agents, settle_agents};

static void settle_names(struct work *w, struct step *s)
{
	resolver_settle(w->parts->resolver, s->count);
}

static const struct step_way names = {STEP_NAMES, settle_names, settle_names};

/* May it come to be checked, at any moment of the commit? Its backend changes first. */
static bool may_be_checked(const struct plan_backend *b, const struct plan_server *s)
{
	const bool is_changed = b->what == PLAN_CHANGED || s->what == PLAN_CHANGED;

	if (b->config->check.kind == CONFIG_CHECK_OFF || s->live == NULL)
		return false;
	if (!is_changed || s->live->probe != NULL)
		return false;
	return s->live->config->check || (s->config != NULL && s->config->check);
}

/* Its line alone says so, with what it has from its section. */
static bool gets_agent(const struct plan_server *s)
{
	return s->live != NULL && s->live->agent_view == NULL && s->config != NULL &&
	       s->config->check_agent.port != 0;
}

struct services {
	size_t checks, agents, names;
};

/* A server keeps its address, so that only one that is added can bring a name. */
static void count_added(const struct config_backend *b, const struct config_server *s, struct services *n)
{
	if (s->set != CONFIG_SET_NONE)
		return; /* its members come later */
	n->checks += b->check.kind != CONFIG_CHECK_OFF && s->check;
	n->agents += s->check_agent.port != 0;
	n->names += s->addr.kind == ADDR_NAME;
}

static void count_kept(const struct plan_backend *b, const struct plan_server *s, struct services *n)
{
	n->checks += may_be_checked(b, s);
	n->agents += gets_agent(s);
}

static void count_in(const struct plan_backend *b, struct services *n)
{
	for (size_t i = 0; i < b->server_count; i++) {
		const struct plan_server *s = &b->servers[i];

		if (s->what == PLAN_ADDED)
			count_added(b->config, s->config, n);
		else
			count_kept(b, s, n);
	}
}

static struct services count(const struct plan *plan)
{
	struct services n = {0};

	for (size_t i = 0; i < plan->backend_count; i++) {
		const struct plan_backend *b = &plan->backends[i];

		if (b->what == PLAN_CHANGED || b->what == PLAN_KEPT)
			count_in(b, &n);
		for (size_t k = 0; b->what == PLAN_ADDED && k < b->config->server_count; k++)
			count_added(b->config, &b->config->servers[k], &n);
	}
	return n;
}

int work_prepare_services(struct work *w)
{
	const struct services n = count(w->plan);
	int err;

	err = prober_prepare(w->parts->prober, n.checks);
	if (err)
		return work_refuse(w, err, "cannot check %zu more servers", n.checks);
	work_add(w, &probes)->count = n.checks;
	err = prepare_execs(w);
	if (err)
		return err;
	err = agents_prepare(w->parts->agents, n.agents);
	if (err)
		return work_refuse(w, err, "cannot ask the agents of %zu more servers", n.agents);
	work_add(w, &agents)->count = n.agents;
	err = resolver_prepare(w->parts->resolver, n.names);
	if (err)
		return work_refuse(w, err, "cannot look up the names of %zu more servers", n.names);
	work_add(w, &names)->count = n.names;
	return 0;
}
