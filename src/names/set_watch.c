/* SPDX-License-Identifier: MIT
 *
 * set_watch.c - watches the name of each set of servers, and brings its addresses to it.
 *
 * Owns one watch per set. What becomes of the addresses is decided by balance/server_set.h. Control thread.
 */
#include "weir/names/set_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/balance/backend.h"
#include "weir/base/check.h"
#include "weir/base/log.h"
#include "weir/names/name_watch.h"

struct set_watch {
	struct server_set *set;         /* borrows */
	struct server_updates *updates; /* borrows */
	struct name_watch *name;        /* owns */
};

static const char *const troubles[NAME_OUTCOMES] = {
	[NAME_GOOD] = "none is of use",
	[NAME_NX] = "the name does not exist, or has none",
	[NAME_TIMEOUT] = "no name server answers",
	[NAME_REFUSED] = "the name servers refuse to answer",
	[NAME_OTHER] = "the name servers have a failure",
};

static void on_answer(void *arg, enum name_outcome outcome, const struct name_address *list, size_t count)
{
	const struct set_watch *w = arg;
	struct set_address *copy = NULL;

	check(outcome < NAME_OUTCOMES);
	if (count > 0) {
		copy = calloc(count, sizeof(*copy));
		if (copy == NULL) {
			log_line(LOG_LEVEL_ERROR, "set %s/%s: no memory for its addresses",
				 w->set->owner->config->name, w->set->config->name);
			return; /* the next answer brings them again */
		}
	}
	for (size_t i = 0; i < count; i++)
		copy[i] = (struct set_address){
			.addr = list[i].addr, .weight = list[i].weight, .priority = list[i].priority};
	server_set_answer(w->updates, w->set, count == 0 ? troubles[outcome] : NULL, copy, count);
}

static struct name_terms terms_of(const struct config_backend *b)
{
	struct name_terms terms;

	resolver_terms(b, &terms);
	return terms;
}

/* ---- one watch ---- */

int set_watches_prepare(struct set_watches *w, struct server_set *set)
{
	const struct addr_spec *spec = &set->config->addr;
	struct set_watch *watch = calloc(1, sizeof(*watch));
	const struct name_wish wish = {
		.kind = set->config->set == CONFIG_SET_SRV ? NAME_SRV : NAME_HOST,
		.host = spec->host,
		.port = spec->port,
		.family = spec->family,
		.terms = terms_of(set->owner->config),
		.answered = on_answer,
		.arg = watch,
	};
	int err = -ENOMEM;

	check(set->watch == NULL);
	if (watch == NULL)
		return err;
	*watch = (struct set_watch){.set = set, .updates = w->updates};
	watch->name = name_watch_new(w->resolver, &wish, &err);
	if (watch->name == NULL) {
		free(watch);
		return err;
	}
	set->watch = watch;
	return 0;
}

void set_watches_start(struct server_set *set)
{
	const struct name_terms terms = terms_of(set->owner->config);

	check(set->watch != NULL);
	name_watch_set_terms(set->watch->name, &terms); /* its backend may have changed in the same commit */
	name_watch_start(set->watch->name);
}

void set_watches_drop(struct server_set *set)
{
	if (set->watch == NULL)
		return;
	name_watch_free(set->watch->name);
	free(set->watch);
	set->watch = NULL;
}

/* ---- those of a backend ---- */

int set_watches_prepare_all(struct set_watches *w, struct backend *b, const struct server_set **failed)
{
	for (struct list *l = b->sets.next; l != &b->sets; l = l->next) {
		const int err = set_watches_prepare(w, server_set_at(l));

		if (err) {
			*failed = server_set_at(l);
			return err;
		}
	}
	return 0;
}

void set_watches_start_all(struct backend *b)
{
	for (struct list *l = b->sets.next; l != &b->sets; l = l->next)
		set_watches_start(server_set_at(l));
}

void set_watches_drop_all(struct backend *b)
{
	for (struct list *l = b->sets.next; l != &b->sets; l = l->next)
		set_watches_drop(server_set_at(l));
}

/* ---- changes ---- */

static void on_set_leaves(void *arg, struct server_set *set)
{
	(void)arg;
	set_watches_drop(set);
}

static void on_backend_leaves(void *arg, struct backend *b)
{
	(void)arg;
	set_watches_drop_all(b);
}

static void on_backend_changed(void *arg, struct backend *b)
{
	const struct name_terms terms = terms_of(b->config);

	(void)arg;
	for (struct list *l = b->sets.next; l != &b->sets; l = l->next)
		if (server_set_at(l)->watch != NULL)
			name_watch_set_terms(server_set_at(l)->watch->name, &terms);
}

/* ---- life ---- */

/* A stranger chooses these names: no hosts file, no search domain may have a say. */
static int validate_egress(const struct config *c, char *why, size_t room)
{
	if (resolver_has_dns())
		return 0;
	for (size_t i = 0; i < c->backend_count; i++) {
		const struct config_server *s = c->backends[i].servers;

		if (!config_backend_takes_names(&c->backends[i]))
			continue;
		(void)snprintf(why, room, "sni@ of server '%s' (%s:%u) cannot be used: this weir was built "
					  "without c-ares; build it with -Ddns=enabled",
			       s->name, s->place.file, s->place.line); /* may be truncated */
		return -ENOSYS;
	}
	return 0;
}

int set_watches_validate(const struct config *c, char *why, size_t room)
{
	const int err = validate_egress(c, why, room);

	if (err)
		return err;
	if (resolver_has_dns() && c->global.resolver != CONFIG_RESOLVER_SYSTEM)
		return 0;
	for (size_t i = 0; i < c->backend_count; i++)
		for (size_t k = 0; k < c->backends[i].server_count; k++) {
			const struct config_server *s = &c->backends[i].servers[k];

			if (s->set != CONFIG_SET_SRV)
				continue;
			(void)snprintf(why, room, "srv:// of the set '%s' (%s:%u) cannot be used: %s",
				       s->name, s->place.file, s->place.line,
				       set_watches_advice(-ENOSYS)); /* may be truncated */
			return -ENOSYS;
		}
	if (resolver_has_dns() || c->global.resolver != CONFIG_RESOLVER_DNS)
		return 0;
	(void)snprintf(why, room, "resolver = dns cannot be used: this weir was built without c-ares; write "
				  "resolver = auto, or build it with -Ddns=enabled"); /* likewise */
	return -ENOSYS;
}

int set_watches_init(struct set_watches *w, struct resolver *r, struct server_updates *u)
{
	const struct server_set *failed;

	*w = (struct set_watches){.resolver = r, .updates = u, .watching = true};
	w->observer = (struct server_observer){
		.set_leaves = on_set_leaves,
		.backend_leaves = on_backend_leaves,
		.backend_changed = on_backend_changed,
		.arg = w,
	};
	server_updates_observe(u, &w->observer);
	server_updates_foreach(u, b) {
		const int err = set_watches_prepare_all(w, b, &failed);

		if (err)
			return err;
	}
	server_updates_foreach(u, b)
		set_watches_start_all(b);
	return 0;
}

void set_watches_stop(struct set_watches *w)
{
	if (!w->watching)
		return;
	server_updates_unobserve(&w->observer);
	server_updates_foreach(w->updates, b)
		set_watches_drop_all(b);
	w->watching = false;
}

const char *set_watches_advice(int err)
{
	if (err == -ENOSYS)
		return resolver_has_dns() ? "SRV records need DNS: remove 'resolver = system' from [global]"
					  : "this weir was built without c-ares; write dns://HOST:PORT, or "
					    "build it with -Ddns=enabled";
	return err == -ENOMEM ? "no memory" : strerrordesc_np(-err);
}

void set_watches_publish(void *watches, figure_report *report, void *to)
{
	static const struct figure surplus = {
		"set_surplus", FIGURE_GAUGE, "addresses of sets that are not used because of 'max'"};
	const struct set_watches *w = watches;

	report(to, &surplus, w->watching ? server_sets_surplus(w->updates) : 0);
}
