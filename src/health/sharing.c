/* SPDX-License-Identifier: MIT
 *
 * sharing.c - identical checks of one address are made once, and their result is that of all.
 *
 * Targets that share are in one of the prober's lists, by the hash of the address that they asked last. Main
 * thread.
 */
#include "sharing.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/base/hash.h"
#include "weir/config/same.h"

static bool wants_to(const struct target *t)
{
	/* A program is told which server it checks. */
	return t->server->backend->check_share && t->server->backend->check.kind != CONFIG_CHECK_EXEC;
}

static struct target *at(const struct list *link)
{
	return list_entry(link, struct target, sharing);
}

static struct list *place_of(struct prober *p, const struct addr *a)
{
	char text[ADDR_TEXT_MAX];

	(void)addr_format(a, text);
	return &p->places[hash_bytes(text, strlen(text), 0) % ARRAY_LEN(p->places)];
}

/* It waits for the result of another. */
static bool is_waiting(const struct target *t)
{
	return t->view.running && !probe_is_busy(&t->probe);
}

static bool is_same_check(const struct target *a, const struct target *b)
{
	const struct config_check one = target_check(a->server);
	struct config_check other = target_check(b->server);

	other.rise = one.rise;
	other.fall = one.fall;
	if (!config_check_same(&one, &other))
		return false;
	/* A request names the server as its line does, unless the check has a name. */
	return (one.kind != CONFIG_CHECK_HTTP && one.kind != CONFIG_CHECK_TLS) || one.host != NULL ||
	       (one.kind == CONFIG_CHECK_TLS && one.sni != NULL) ||
	       config_addr_same(&a->server->config->addr, &b->server->config->addr);
}

/* How it connects. */
static bool is_same_way(const struct target *a, const struct target *b)
{
	const struct config_backend *one = a->server->backend, *other = b->server->backend;

	return one->timeouts.connect_ns == other->timeouts.connect_ns &&
	       config_tcp_same(&one->tcp, &other->tcp) &&
	       config_sources_same(&a->server->config->source, &b->server->config->source) &&
	       probe_header(a->server) == probe_header(b->server);
}

/* Would `b` ask t->asked the same now? */
static bool is_shared(const struct target *t, const struct target *b)
{
	struct addr to;

	return wants_to(t) && wants_to(b) && target_address(b, &to) && addr_equal(&t->asked, &to) &&
	       is_same_way(t, b) && is_same_check(t, b);
}

void sharing_place(struct target *t, const struct addr *to)
{
	list_remove(&t->sharing);
	t->place = wants_to(t) ? place_of(t->owner, to) : NULL;
	if (t->place != NULL)
		list_push_back(t->place, &t->sharing);
}

bool sharing_waits(struct target *t)
{
	sharing_place(t, &t->asked);
	if (t->place == NULL)
		return false;
	for (const struct list *l = t->place->next; l != t->place; l = l->next)
		if (at(l) != t && probe_is_busy(&at(l)->probe) && is_shared(at(l), t))
			return true;
	return false;
}

/* It finds out by itself whether somebody still asks the same. */
static void wake(struct target *t)
{
	t->view.running = false;
	target_begin_now(t);
}

/* Those of this check have begun at the same moment. */
static void show_others(const struct target *t, unsigned others)
{
	for (const struct list *l = t->place->next; l != t->place; l = l->next)
		if (at(l)->began_ns == t->began_ns)
			at(l)->view.shared = others;
}

void sharing_spread(struct target *t, const struct probe_result *r, int64_t thousandths)
{
	unsigned others = 0;

	if (t->place == NULL)
		return;
	for (const struct list *l = t->place->next; l != t->place; l = l->next) {
		struct target *u = at(l);

		if (u == t || probe_is_busy(&u->probe))
			continue;
		if (target_is_due(u) && is_shared(t, u)) {
			target_take(u, t, r, thousandths);
			others++;
		} else if (is_waiting(u)) {
			wake(u);
		}
	}
	show_others(t, others);
}

void sharing_break(struct target *t)
{
	if (t->place == NULL)
		return;
	for (const struct list *l = t->place->next; l != t->place; l = l->next)
		if (is_waiting(at(l)))
			wake(at(l));
}

void sharing_leave(struct target *t)
{
	sharing_break(t);
	list_remove(&t->sharing);
	t->place = NULL;
	t->view.shared = 0;
}
