/* SPDX-License-Identifier: MIT
 *
 * server.c - one server at run time: its places, its key.
 *
 * Any thread takes and releases places; everything else belongs to control.
 */
#include "weir/balance/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/balance/backend.h"
#include "weir/balance/sticky.h"
#include "weir/base/check.h"
#include "weir/base/hash.h"
#include "overrides.h"
#include "server_parts.h"
#include "settings_parts.h"

/* ---- places ---- */

bool server_enter(struct server *s)
{
	int sessions;

	if (likely(!atomic_load_explicit(&s->owner->limited, memory_order_relaxed))) {
		atomic_fetch_add_explicit(&s->sessions, 1, memory_order_relaxed);
		return true;
	}
	/* A refused caller writes nothing, so that a full server costs its neighbours nothing. */
	sessions = atomic_load(&s->sessions);
	do {
		const unsigned limit = atomic_load(&s->limit);

		if (limit != 0 && (unsigned)sessions >= limit)
			return false;
	} while (!atomic_compare_exchange_weak(&s->sessions, &sessions, sessions + 1));
	return true;
}

/* A waiter enters the queue and then tries once more to take a place; here the place is released and then the
 * queue is examined: at least one of the two sees the other. The same holds for `limited`, which may become
 * true between any two of these lines. */
void server_leave(struct server *s)
{
	const int before = atomic_fetch_sub(&s->sessions, 1);

	check(before > 0);
	if (likely(!atomic_load(&s->owner->limited)))
		return;
	if (atomic_load(&s->owner->queue.waiting) > 0)
		queue_serve(s);
}

/* The count may already be 0, if control counted the failures as a failed health check. */
void server_answered(struct server *s)
{
	const bool failed = atomic_load_explicit(&s->failing, memory_order_relaxed) != 0;

	if (likely(!failed && atomic_load_explicit(&s->owner->queue.avoiding, memory_order_relaxed) == 0))
		return;
	if (failed)
		atomic_store(&s->failing, 0);
	queue_forgive(s);
}

bool server_usable(const struct server *s)
{
	return atomic_load_explicit(&s->state, memory_order_acquire) == SERVER_UP;
}

unsigned server_weight_in_effect(const struct server *s)
{
	return (atomic_load_explicit(&s->eweight, memory_order_relaxed) + SERVER_WEIGHT_SCALE - 1) /
	       SERVER_WEIGHT_SCALE;
}

/* ---- what the administrator and the agent want ---- */

enum server_admin server_admin_now(const struct server *s)
{
	return s->admin != SERVER_ADMIN_READY ? s->admin : s->agent.admin;
}

bool server_is_out_by_agent(const struct server *s)
{
	return s->admin == SERVER_ADMIN_READY && s->agent.admin != SERVER_ADMIN_READY;
}

unsigned server_weight_now(const struct server *s)
{
	unsigned weight;

	if (!s->agent.has_percent || s->weight != s->config->weight)
		return s->weight;
	weight = s->weight * s->agent.percent / 100;
	return weight < SERVER_WEIGHT_MAX ? weight : SERVER_WEIGHT_MAX;
}

unsigned server_maxconn_now(const struct server *s)
{
	return s->agent.has_maxconn && s->maxconn == s->config->maxconn ? s->agent.maxconn : s->maxconn;
}

/* ---- words ---- */

static const struct {
	const char *text;
	const char *word;
} state_words[] = {
#define SERVER_STATE(name, text, word) [SERVER_##name] = {text, word},
#include "weir/balance/server_states.tbl.h"
#undef SERVER_STATE
};

const char *server_state_text(enum server_state state)
{
	return state_words[state].text;
}

const char *server_state_word(enum server_state state)
{
	return state_words[state].word;
}

const struct addr *server_found_addr(const struct server *s)
{
	if (s->moved == NULL)
		return server_addr(s);
	if (s->config->addr.kind != ADDR_NAME)
		return &s->config->addr.addr;
	return s->moved->has_found ? &s->moved->found : NULL;
}

/* ---- its key ---- */

/* A server whose name has no address yet has the key of its name; it is in no roster before it has an
 * address. */
uint64_t server_key_of(const struct server *s)
{
	const struct addr *a = server_addr(s);
	char text[ADDR_TEXT_MAX];
	struct addr copy;

	const enum config_hash_key what = s->backend->balance.hash_key;
	const bool by_name = what == CONFIG_HASH_KEY_AUTO ? s->set == NULL : what == CONFIG_HASH_KEY_NAME;

	if (by_name || a == NULL)
		return hash_bytes(s->config->name, strlen(s->config->name), 0);
	copy = *a;
	if (copy.sa.sa_family == AF_INET6)
		copy.in6.sin6_scope_id = 0; /* an interface number, which differs between machines */
	(void)addr_format(&copy, text);
	return hash_bytes(text, strlen(text), 0);
}

/* ---- initialising and freeing ---- */

static int server_init(struct server *s, struct backend *owner, const struct config_server *config)
{
	const struct addr *a = config->addr.kind != ADDR_NAME ? &config->addr.addr : NULL;
	struct server_settings *v;

	memset(s, 0, sizeof(*s));
	list_init(&s->versions);
	list_init(&s->link);
	list_init(&s->outage);
	s->backend = owner->config;
	s->owner = owner;
	s->name_id = sticky_id_of(config->name);
	s->healthy = true;
	s->admin = config->disabled ? SERVER_ADMIN_MAINT : SERVER_ADMIN_READY;
	s->weight = config->weight;
	s->maxconn = config->maxconn;
	v = server_settings_hold(s, config, a);
	if (v == NULL)
		return -ENOMEM;
	server_settings_publish(v);
	s->key = server_key_of(s);
	queue_init_server(s);
	return 0;
}

int server_new(struct backend *owner, const struct config_server *config, struct server **out)
{
	/* The cache lines shared by workers are aligned, which malloc(3) does not guarantee. */
	struct server *s = aligned_alloc(_Alignof(struct server), sizeof(*s));
	int err;

	if (s == NULL)
		return -ENOMEM;
	err = server_init(s, owner, config);
	if (!err)
		err = slot_space_take(&owner->live->objects, &s->slot);
	if (err) {
		server_settings_free_all(s);
		free(s);
		return err;
	}
	server_begin_state(s);
	*out = s;
	return 0;
}

uint64_t server_probe_downs(const struct server *s)
{
	return s->probe_downs + (s->probe != NULL ? s->probe->downs : 0);
}

void server_add_totals(const struct server *s, struct server_totals *to)
{
	to->total += atomic_load_explicit(&s->total, memory_order_relaxed);
	to->failures += atomic_load_explicit(&s->failures, memory_order_relaxed);
	to->chosen += atomic_load_explicit(&s->chosen_total, memory_order_relaxed);
	to->probe_downs += server_probe_downs(s);
}

void server_free(struct server *s)
{
	list_remove(&s->link);
	check(atomic_load_explicit(&s->sessions, memory_order_relaxed) == 0);
	server_settings_free_all(s);
	overrides_free(s);
	history_free(&s->history);
	slot_space_put(&s->owner->live->objects, s->slot);
	free(s);
}
