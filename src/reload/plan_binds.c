/* SPDX-License-Identifier: MIT
 *
 * plan_binds.c - binds of a new configuration beside the sockets that are there.
 *
 * A bind meets the socket of its own address: first that of its own frontend, for all binds; then, of what is
 * left, that of any other endpoint. It is bound anew only without either. Last, wildcard binds take over what
 * is left of the sockets that they cover, so that no client has to wait for these to leave: but none of an
 * address that another bind asks for, which is or will be bound there itself. A frontend that is out of
 * service (entry/halt.h) takes no socket of others, but for one that only the start passes. Control thread.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash_index.h"
#include "plan_parts.h"
#include "weir/base/check.h"
#include "weir/base/hash.h"
#include "weir/config/same.h"

#define NONE HASH_INDEX_NONE

/* A bind of the new configuration. */
struct want {
	struct plan_frontend *frontend;
	const struct config_bind *config;
	bool met; /* one of its sockets has its own address; the others are parts */
	size_t first, last; /* its sockets; NONE = none */
};

/* A socket that listens, though it may be about to leave. */
struct place {
	struct endpoint *ep;
	struct plan_frontend *owner; /* NULL: a frontend that was removed before */
	bool claimed; /* by a bind */
	bool moves;   /* which takes it over, into an endpoint of its own */
	size_t next;  /* the next one of that bind */
};

struct meeting {
	struct want *wants; /* owns */
	size_t want_count;
	struct place *places; /* owns */
	size_t place_count;
	struct hash_index index; /* each place twice: by its address as written and, from place_count on, by
				  * that of its socket */
	struct hash_index wanted; /* each want, by the address that it asks for */
};

/* ---- addresses ---- */

static uint64_t hash_written(const struct addr_spec *spec)
{
	uint64_t sum = hash_bytes(&spec->addr.sa, spec->addr.len, (uint64_t)spec->kind);

	sum = hash_bytes(spec->host, strnlen(spec->host, sizeof(spec->host)), sum);
	return hash_add(sum, spec->port);
}

static uint64_t hash_bound(const struct addr *a)
{
	return hash_bytes(&a->sa, a->len, 1);
}

/* Does the socket have the very address that `spec` asks for? */
static bool is_bound_to(const struct endpoint *ep, const struct addr_spec *spec)
{
	return spec->kind == ADDR_IP && spec->port != 0 && ep->addr.len == spec->addr.len &&
	       memcmp(&ep->addr.sa, &spec->addr.sa, ep->addr.len) == 0;
}

/* Does a bind other than `w` ask for the very address of the socket? Two sockets with one address would share
 * the clients of both. An inherited one has the address that its maker chose. */
static bool is_wanted(const struct meeting *m, const struct endpoint *ep, const struct want *w)
{
	if (ep->inherited)
		return false;
	for (size_t i = hash_index_first(&m->wanted, hash_bound(&ep->addr)); i != NONE;
	     i = hash_index_next(&m->wanted, i))
		if (&m->wants[i] != w && is_bound_to(ep, &m->wants[i].config->addr))
			return true;
	return false;
}

/* ---- what is wanted, and what is there ---- */

static void add_places(struct meeting *m, struct frontend *fe, struct plan_frontend *owner)
{
	frontend_foreach_endpoint(fe, ep) {
		if (endpoint_has_socket(ep) || ep->away)
			m->places[m->place_count++] = (struct place){.ep = ep, .owner = owner, .next = NONE};
	}
}

static void add_wants(struct meeting *m, struct plan_frontend *pf)
{
	for (size_t i = 0; i < pf->config->bind_count; i++)
		m->wants[m->want_count++] = (struct want){
			.frontend = pf, .config = &pf->config->binds[i], .first = NONE, .last = NONE};
}

static int index_wants(struct meeting *m)
{
	if (hash_index_init(&m->wanted, m->want_count) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < m->want_count; i++)
		hash_index_add(&m->wanted, i, hash_bound(&m->wants[i].config->addr.addr));
	return 0;
}

/* So that those that come first are found first. */
static int index_places(struct meeting *m)
{
	if (hash_index_init(&m->index, 2 * m->place_count) != 0)
		return -ENOMEM;
	for (size_t i = m->place_count; i-- > 0;) {
		const struct endpoint *ep = m->places[i].ep;

		hash_index_add(&m->index, i, hash_written(&ep->config->addr));
		hash_index_add(&m->index, m->place_count + i, hash_bound(&ep->addr));
	}
	return 0;
}

static int begin(struct meeting *m, struct plan *p, const struct entries *e)
{
	size_t binds = 0;

	for (size_t i = 0; i < p->next->frontend_count; i++)
		binds += p->next->frontends[i].bind_count;
	m->wants = calloc(binds + 1, sizeof(*m->wants));
	m->places = calloc((size_t)e->endpoint_count + 1, sizeof(*m->places));
	if (m->wants == NULL || m->places == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < p->frontend_count; i++) {
		struct plan_frontend *pf = &p->frontends[i];

		if (pf->config != NULL)
			add_wants(m, pf);
		if (pf->live != NULL)
			add_places(m, pf->live, pf);
	}
	for (struct list *l = e->leaving.next; l != &e->leaving; l = l->next)
		add_places(m, list_entry(l, struct frontend, link), NULL);
	check(m->place_count <= e->endpoint_count);
	return index_wants(m) != 0 ? -ENOMEM : index_places(m);
}

static void end(struct meeting *m)
{
	hash_index_free(&m->wanted);
	hash_index_free(&m->index);
	free(m->places);
	free(m->wants);
}

/* ---- who gets what ---- */

static void claim(struct meeting *m, struct want *w, size_t place, bool moves)
{
	struct place *pl = &m->places[place];

	check(!pl->claimed);
	pl->claimed = true;
	pl->moves = moves;
	if (w->last == NONE)
		w->first = place;
	else
		m->places[w->last].next = place;
	w->last = place;
}

/* Passed sockets of one name that leave are had all together or not at all: none of them is closed yet. */
static bool is_whole(const struct endpoint *head)
{
	if (head->config->addr.kind != ADDR_FD || head->stage == ENDPOINT_OPEN)
		return true;
	frontend_foreach_endpoint(head->frontend, ep) {
		if (ep->fd < 0 && config_addr_same(&ep->config->addr, &head->config->addr))
			return false;
	}
	return true;
}

/* May the bind have it as the socket of its own address? */
static bool may_have(const struct want *w, const struct place *pl)
{
	if (pl->claimed || pl->ep->part > 1 || !config_addr_same(&pl->ep->config->addr, &w->config->addr))
		return false;
	return endpoint_can_become(pl->ep, w->frontend->config, w->config) && is_whole(pl->ep);
}

/* The socket that the bind finds in `fe`, or in any if that is NULL: one that is open, else one that is not.
 * NONE = none. */
static size_t find_written(const struct meeting *m, const struct want *w, const struct frontend *fe)
{
	size_t leaving = NONE;

	for (size_t i = hash_index_first(&m->index, hash_written(&w->config->addr)); i != NONE;
	     i = hash_index_next(&m->index, i)) {
		const struct place *pl = i < m->place_count ? &m->places[i] : NULL;

		if (pl == NULL || (fe != NULL && pl->ep->frontend != fe) || !may_have(w, pl))
			continue;
		if (fe == NULL && !endpoint_has_socket(pl->ep))
			continue; /* there is nothing to take over */
		if (endpoint_belongs(pl->ep))
			return i;
		if (leaving == NONE)
			leaving = i;
	}
	return leaving;
}

/* The same by the address of the socket: one that was written as part of another bind, or without a port. */
static size_t find_bound(const struct meeting *m, const struct want *w)
{
	const struct addr_spec *spec = &w->config->addr;

	for (size_t i = hash_index_first(&m->index, hash_bound(&spec->addr)); i != NONE;
	     i = hash_index_next(&m->index, i)) {
		const struct place *pl = i >= m->place_count ? &m->places[i - m->place_count] : NULL;

		if (pl != NULL && !pl->claimed && endpoint_has_socket(pl->ep) && is_bound_to(pl->ep, spec) &&
		    endpoint_can_become(pl->ep, w->frontend->config, w->config))
			return i - m->place_count;
	}
	return NONE;
}

/* Is it another socket of the bind that `head` is of? Without a port each bind has its own. */
static bool is_part_of(const struct endpoint *ep, const struct endpoint *head)
{
	const bool has_many = head->config->addr.kind == ADDR_IP || head->config->addr.kind == ADDR_ANY;

	if (ep->frontend != head->frontend ||
	    endpoint_belongs(ep) != endpoint_belongs(head) ||
	    !config_addr_same(&ep->config->addr, &head->config->addr))
		return false;
	return ep->part > 1 || !has_many || head->config->addr.port != 0;
}

/* The others of the bind that `first` is of, in the same stage of leaving or none. Where that bind was
 * written otherwise, they have other addresses, unless several sockets were passed for one. */
static void claim_parts(struct meeting *m, struct want *w, size_t first, bool moves)
{
	const struct endpoint *head = m->places[first].ep;
	const bool is_same = config_addr_same(&head->config->addr, &w->config->addr);

	for (size_t i = hash_index_first(&m->index, hash_written(&head->config->addr)); i != NONE;
	     i = hash_index_next(&m->index, i)) {
		const struct endpoint *ep = i < m->place_count ? m->places[i].ep : NULL;

		if (ep == NULL || m->places[i].claimed || !is_part_of(ep, head))
			continue;
		if ((moves && !endpoint_has_socket(ep)) || is_wanted(m, ep, w))
			continue;
		if ((is_same || is_bound_to(ep, &w->config->addr)) &&
		    endpoint_can_become(ep, w->frontend->config, w->config))
			claim(m, w, i, moves);
	}
}

static void meet_own(struct meeting *m, struct want *w)
{
	const struct frontend *fe = w->frontend->live;
	const size_t i = fe != NULL ? find_written(m, w, fe) : NONE;

	if (i == NONE)
		return;
	w->met = true;
	claim(m, w, i, false);
}

/* Is its frontend out of service, and will be? */
static bool is_out(const struct want *w)
{
	const struct frontend *fe = w->frontend->live;

	return fe != NULL && fe->admin != FRONTEND_ADMIN_READY && !w->frontend->revives;
}

static void meet_others(struct meeting *m, struct want *w)
{
	size_t i;

	if (w->met || (is_out(w) && w->config->addr.kind != ADDR_FD))
		return;
	i = find_written(m, w, NULL);
	if (i == NONE)
		i = find_bound(m, w);
	if (i == NONE)
		return;
	w->met = true;
	claim(m, w, i, true);
}

static void meet_parts(struct meeting *m, struct want *w)
{
	const struct place *head = w->met ? &m->places[w->first] : NULL;

	if (head != NULL && head->ep->part <= 1)
		claim_parts(m, w, w->first, head->moves);
}

static bool may_cover(const struct want *w)
{
	return !is_out(w) && (w->config->addr.kind == ADDR_IP || w->config->addr.kind == ADDR_ANY);
}

/* Mostly few places are left, and there may be thousands of wants. */
static void cover(struct meeting *m, size_t place)
{
	struct endpoint *ep = m->places[place].ep;

	for (size_t i = 0; i < m->want_count; i++) {
		struct want *w = &m->wants[i];

		if (may_cover(w) && endpoint_is_covered(ep, w->config)) {
			if (is_wanted(m, ep, w))
				return;
			claim(m, w, place, true);
			return;
		}
	}
}

/* Sockets are passed at the start alone. */
static int refuse_passed(const struct meeting *m, const struct want *w, char *why, size_t room)
{
	const char *text = "weir gets passed sockets only when it starts, and has none with this name open; "
			   "restart it, or write an address";
	char address[ADDR_TEXT_MAX];

	for (size_t i = 0; i < m->place_count; i++)
		if (config_addr_same(&m->places[i].ep->config->addr, &w->config->addr) &&
		    is_whole(m->places[i].ep))
			text = "a passed socket cannot get these options while weir runs; restart it";
	(void)snprintf(why, room, "cannot listen on %s (%s:%u): %s", /* may be truncated */
		       addr_spec_format(&w->config->addr, address), w->config->place.file,
		       w->config->place.line, text);
	return -EINVAL;
}

static int meet(struct meeting *m, char *why, size_t room)
{
	for (size_t i = 0; i < m->want_count; i++)
		meet_own(m, &m->wants[i]);
	for (size_t i = 0; i < m->want_count; i++)
		meet_others(m, &m->wants[i]);
	for (size_t i = 0; i < m->want_count; i++)
		if (!m->wants[i].met && m->wants[i].config->addr.kind == ADDR_FD)
			return refuse_passed(m, &m->wants[i], why, room);
	for (size_t i = 0; i < m->want_count; i++)
		meet_parts(m, &m->wants[i]);
	for (size_t i = 0; i < m->place_count; i++)
		if (!m->places[i].claimed)
			cover(m, i);
	return 0;
}

/* ---- the plan ---- */

static bool is_removed(const struct place *pl)
{
	return !pl->claimed && pl->owner != NULL && endpoint_belongs(pl->ep);
}

static struct plan_bind bind_of(const struct want *w, const struct place *pl)
{
	if (pl->moves)
		return (struct plan_bind){.what = PLAN_ADDED, .from = pl->ep, .config = w->config};
	return (struct plan_bind){
		.what = endpoint_belongs(pl->ep) && config_bind_same(pl->ep->config, w->config)
				? PLAN_KEPT
				: PLAN_CHANGED,
		.live = pl->ep,
		.config = w->config,
	};
}

/* Without an array, it is only counted. */
static void add(struct plan_frontend *pf, struct plan_bind bind)
{
	if (pf->binds != NULL)
		pf->binds[pf->bind_count] = bind;
	pf->bind_count++;
}

static void list_binds(const struct meeting *m)
{
	for (size_t i = 0; i < m->want_count; i++) {
		const struct want *w = &m->wants[i];

		if (!w->met)
			add(w->frontend, (struct plan_bind){.what = PLAN_ADDED, .config = w->config});
		for (size_t k = w->first; k != NONE; k = m->places[k].next)
			add(w->frontend, bind_of(w, &m->places[k]));
	}
	for (size_t i = 0; i < m->place_count; i++)
		if (is_removed(&m->places[i]))
			add(m->places[i].owner,
			    (struct plan_bind){.what = PLAN_REMOVED, .live = m->places[i].ep});
}

static int make_lists(const struct meeting *m, struct plan *p)
{
	list_binds(m);
	for (size_t i = 0; i < p->frontend_count; i++) {
		struct plan_frontend *pf = &p->frontends[i];

		pf->binds = calloc(pf->bind_count + 1, sizeof(*pf->binds));
		if (pf->binds == NULL)
			return -ENOMEM;
		pf->bind_count = 0;
	}
	list_binds(m);
	return 0;
}

int plan_binds(struct plan *p, const struct engine *e, char *why, size_t room)
{
	struct meeting m = {0};
	int err = begin(&m, p, &e->entries);

	if (!err)
		err = meet(&m, why, room);
	if (!err)
		err = make_lists(&m, p);
	end(&m);
	return err;
}
