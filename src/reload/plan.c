/* SPDX-License-Identifier: MIT
 *
 * plan.c - what a new configuration changes: each part of it beside the live object that it meets.
 *
 * Owns the lists of a plan. Control thread.
 */
#include "weir/reload/plan.h"

#include <stdlib.h>

#include "plan_parts.h"
#include "weir/config/bind_range.h"
#include "weir/config/same.h"

int plan_make(struct plan *p, const struct plan_input *in, char *why, size_t room)
{
	int err;

	*p = (struct plan){.next = in->next};
	if (room > 0)
		why[0] = '\0';
	err = plan_backends(p, in->engine);
	if (!err)
		err = plan_frontends(p, in->engine);
	if (!err)
		err = plan_binds(p, in->engine, why, room);
	if (!err)
		err = plan_logs(p, in->log);
	if (err)
		plan_free(p);
	else
		plan_global(p, in);
	return err;
}

void plan_free(struct plan *p)
{
	for (size_t i = 0; i < p->backend_count; i++) {
		free(p->backends[i].servers);
		free(p->backends[i].members);
	}
	for (size_t i = 0; i < p->frontend_count; i++)
		free(p->frontends[i].binds);
	free(p->backends);
	free(p->frontends);
	free(p->logs);
	*p = (struct plan){0};
}

const struct config_bind *plan_bind_before(const struct plan_frontend *pf, size_t k)
{
	const struct config_bind *config = pf->binds[k].config;

	if (pf->binds[k].live != NULL || pf->binds[k].from != NULL)
		return NULL;
	for (k++; k < pf->bind_count && pf->binds[k].config == config; k++) {
		const struct endpoint *from = pf->binds[k].from;

		if (from != NULL && from->frontend == pf->live && from->part <= 1 && endpoint_belongs(from) &&
		    config_addr_same(&from->config->addr, &config->addr))
			return from->config;
	}
	return NULL;
}

bool plan_is_one_line(const struct config_bind *a, const struct config_bind *b)
{
	return a == b || (a != NULL && b != NULL && bind_shares_line(a, b));
}

size_t plan_speaker(const struct plan_frontend *pf, size_t k)
{
	const struct config_bind *line = pf->binds[k].config;

	if (!bind_is_in_range(line))
		return k;
	for (size_t i = k; i < pf->bind_count && plan_is_one_line(pf->binds[i].config, line); i++)
		if (pf->binds[i].live != NULL && endpoint_belongs(pf->binds[i].live))
			return i;
	return k;
}

size_t plan_count_removed(const struct plan_frontend *pf, size_t k)
{
	size_t n = 1;

	while (k + n < pf->bind_count && pf->binds[k + n].what == PLAN_REMOVED) {
		const struct config_bind *last = pf->binds[k + n - 1].live->config;
		const struct config_bind *next = pf->binds[k + n].live->config;

		if (!bind_shares_line(last, next) || next->addr.port != last->addr.port + 1)
			break;
		n++;
	}
	return n;
}

static bool is_backend_kept(const struct plan_backend *b)
{
	for (size_t i = 0; i < b->server_count; i++)
		if (b->servers[i].what != PLAN_KEPT)
			return false;
	return b->what == PLAN_KEPT;
}

static bool is_frontend_kept(const struct plan_frontend *fe)
{
	for (size_t i = 0; i < fe->bind_count; i++)
		if (fe->binds[i].what != PLAN_KEPT)
			return false;
	return fe->what == PLAN_KEPT;
}

bool plan_is_empty(const struct plan *p)
{
	for (size_t i = 0; i < p->backend_count; i++)
		if (!is_backend_kept(&p->backends[i]))
			return false;
	for (size_t i = 0; i < p->frontend_count; i++)
		if (!is_frontend_kept(&p->frontends[i]))
			return false;
	for (size_t i = 0; i < p->log_count; i++)
		if (p->logs[i].what != PLAN_KEPT)
			return false;
	return !p->admin_changed && !p->stats_changed && !p->global_changed;
}
