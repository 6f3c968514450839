/* SPDX-License-Identifier: MIT
 *
 * plan_describe.c - a plan in one line, for the operator.
 *
 * Speaks of what is written in the configuration: an address is added even if a socket that is there takes
 * it. What comes or goes with a frontend or backend is not mentioned beside it. Control thread.
 */
#include <assert.h>
#include <stdio.h>

#include "plan_parts.h"
#include "weir/base/check.h"
#include "weir/config/bind_range.h"
#include "weir/config/same.h"

#define NAMED_MAX 3u

/* What happens to a thing, in this order. */
enum fate { FATE_KEPT, FATE_ADDED, FATE_CHANGED, FATE_MOVED, FATE_REMOVED, FATES };

static const char *const fate_words[FATES] = {
	[FATE_ADDED] = "added",
	[FATE_CHANGED] = "changed",
	[FATE_MOVED] = "moved",
	[FATE_REMOVED] = "removed",
};

static const enum fate fate_of[] = {
	[PLAN_KEPT] = FATE_KEPT,
	[PLAN_CHANGED] = FATE_CHANGED,
	[PLAN_ADDED] = FATE_ADDED,
	[PLAN_REMOVED] = FATE_REMOVED,
};

/* Things of one kind and one fate. */
struct crowd {
	enum fate fate;
	size_t count;
	char names[NAMED_MAX][ADDR_TEXT_MAX]; /* of the first of them */
};

static_assert(ADDR_TEXT_MAX > 2 * CONFIG_NAME_MAX, "a server's name with that of its backend fits");

static void join(struct crowd *c, enum fate fate, const char *of, const char *name)
{
	if (fate != c->fate)
		return;
	if (c->count < NAMED_MAX) /* always fits */
		(void)snprintf(c->names[c->count], ADDR_TEXT_MAX, "%s%s%s", of, of[0] != '\0' ? "/" : "",
			       name);
	c->count++;
}

/* ---- kinds of things ---- */

static void gather_frontends(const struct plan *p, struct crowd *c)
{
	for (size_t i = 0; i < p->frontend_count; i++) {
		const struct plan_frontend *pf = &p->frontends[i];

		join(c, fate_of[pf->what], "",
		     pf->config != NULL ? pf->config->name : pf->live->config->name);
	}
}

static void leave_ports(struct crowd *c, const struct config_bind *b, uint16_t last)
{
	char text[ADDR_TEXT_MAX];

	if (c->fate == FATE_REMOVED)
		join(c, FATE_REMOVED, "", bind_ports_address(b, last, text));
}

static void join_address(struct crowd *c, enum fate fate, const struct config_bind *b)
{
	char text[ADDR_TEXT_MAX];

	if (fate == c->fate)
		join(c, fate, "", bind_line_address(b, text));
}

/* An address as it was written until now is no longer, unless its frontend goes as a whole. */
static void leave_address(struct crowd *c, const struct plan *p, const struct endpoint *ep, uint16_t last)
{
	if (ep->part > 1 || !endpoint_belongs(ep))
		return;
	for (size_t i = 0; i < p->frontend_count; i++)
		if (p->frontends[i].live == ep->frontend && p->frontends[i].what == PLAN_REMOVED)
			return;
	leave_ports(c, ep->config, last);
}

/* It may be a socket that a wildcard covers, and that was a bind of its own, or a port of a range. */
static void gather_part(const struct plan *p, const struct plan_bind *b, struct crowd *c)
{
	const struct config_bind *was = b->from != NULL ? b->from->config : NULL;

	if (was == NULL || config_addr_same(&was->addr, &b->config->addr))
		return;
	if (!bind_is_in_range(was) || was->addr.port == was->first_port)
		leave_address(c, p, b->from, was->last_port);
}

/* The first of the sockets of one bind. */
static void gather_bind(const struct plan *p, const struct plan_frontend *pf, const struct plan_bind *b,
			struct crowd *c)
{
	const bool is_same = b->from != NULL && config_addr_same(&b->from->config->addr, &b->config->addr);

	if (b->live != NULL)
		join_address(c, endpoint_belongs(b->live) ? fate_of[b->what] : FATE_ADDED, b->config);
	else if (is_same && endpoint_belongs(b->from))
		join_address(c, FATE_MOVED, b->config);
	else if (pf->what != PLAN_ADDED)
		join_address(c, FATE_ADDED, b->config);
	gather_part(p, b, c);
}

/* Those that are removed, from `k` on, of one line; returns how many. */
static size_t gather_left(const struct plan *p, const struct plan_frontend *pf, size_t k, struct crowd *c)
{
	const size_t n = plan_count_removed(pf, k);

	leave_address(c, p, pf->binds[k].live, pf->binds[k + n - 1].live->config->addr.port);
	return n;
}

static void gather_addresses(const struct plan *p, struct crowd *c)
{
	for (size_t i = 0; i < p->frontend_count; i++) {
		const struct plan_frontend *pf = &p->frontends[i];

		for (size_t k = 0; k < pf->bind_count; k++) {
			const struct plan_bind *b = &pf->binds[k];

			if (b->what == PLAN_REMOVED) {
				k += gather_left(p, pf, k, c) - 1;
				continue;
			}
			if (k > 0 && plan_is_one_line(pf->binds[k - 1].config, b->config)) {
				gather_part(p, b, c);
				continue;
			}
			b = &pf->binds[plan_speaker(pf, k)];
			if (plan_bind_before(pf, k) != NULL)
				join_address(c, FATE_CHANGED, b->config);
			else
				gather_bind(p, pf, b, c);
		}
	}
}

static const char *backend_name(const struct plan_backend *pb)
{
	return pb->config != NULL ? pb->config->name : pb->live->config->name;
}

static void gather_backends(const struct plan *p, struct crowd *c)
{
	for (size_t i = 0; i < p->backend_count; i++)
		join(c, fate_of[p->backends[i].what], "", backend_name(&p->backends[i]));
}

static void gather_servers(const struct plan *p, struct crowd *c)
{
	for (size_t i = 0; i < p->backend_count; i++) {
		const struct plan_backend *pb = &p->backends[i];

		if (pb->what == PLAN_ADDED || pb->what == PLAN_REMOVED)
			continue;
		for (size_t k = 0; k < pb->server_count; k++) {
			const struct plan_server *s = &pb->servers[k];

			if (s->live != NULL && s->live->set != NULL)
				continue; /* its set is named */
			join(c, fate_of[s->what], backend_name(pb), plan_server_name(s));
		}
	}
}

static void gather_logs(const struct plan *p, struct crowd *c)
{
	for (size_t i = 0; i < p->log_count; i++)
		join(c, fate_of[p->logs[i].what], "", "");
}

/* ---- words ---- */

static const struct kind {
	const char *one;
	const char *many;
	bool has_names;
	void (*gather)(const struct plan *p, struct crowd *c);
} kinds[] = {
	{"frontend", "frontends", true, gather_frontends}, {"address", "addresses", true, gather_addresses},
	{"backend", "backends", true, gather_backends},	   {"server", "servers", true, gather_servers},
	{"log target", "log targets", false, gather_logs},
};

static void add_crowd(struct text *out, const struct kind *kind, const struct crowd *c)
{
	const char *word = c->count == 1 ? kind->one : kind->many;

	if (!kind->has_names || c->count > NAMED_MAX) {
		text_printf(out, "%zu %s %s", c->count, word, fate_words[c->fate]);
		return;
	}
	text_printf(out, "%s ", word);
	for (size_t i = 0; i < c->count; i++)
		text_printf(out, "%s%s", i == 0 ? "" : i + 1 < c->count ? ", " : " and ", c->names[i]);
	text_printf(out, " %s", fate_words[c->fate]);
}

static void comma(struct text *out, bool *any)
{
	if (*any)
		text_printf(out, ", ");
	*any = true;
}

void plan_describe(const struct plan *p, struct text *out)
{
	bool any = false;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		for (enum fate fate = FATE_ADDED; fate < FATES; fate++) {
			struct crowd c = {.fate = fate};

			kinds[i].gather(p, &c);
			if (c.count == 0)
				continue;
			comma(out, &any);
			add_crowd(out, &kinds[i], &c);
		}
	}
	if (p->admin_changed) {
		comma(out, &any);
		text_printf(out, "admin socket changed");
	}
	if (p->stats_changed) {
		comma(out, &any);
		text_printf(out, "[stats] changed");
	}
	if (p->global_changed) {
		comma(out, &any);
		text_printf(out, "[global] changed");
	}
	if (!any)
		text_printf(out, "nothing has changed");
}
