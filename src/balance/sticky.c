/* SPDX-License-Identifier: MIT
 *
 * sticky.c - clients that keep their server: the table of a backend, and which server an entry means.
 *
 * Control makes, moves and gives up tables; workers look up servers.
 */
#include "weir/balance/sticky.h"

#include <errno.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/hash.h"
#include "weir/config/sticky_size.h"

/* ---- any thread ---- */

uint64_t sticky_id_of(const char *name)
{
	const uint64_t hash = hash_bytes(name, strlen(name), 0);

	return hash != 0 ? hash : 1;
}

struct server *sticky_server(const struct roster *r, uint64_t id)
{
	check(r->known != NULL);
	check(id != 0);
	for (size_t i = id & r->known_mask; r->known[i].id != 0; i = (i + 1) & r->known_mask)
		if (r->known[i].id == id)
			return r->known[i].server;
	return NULL;
}

bool sticky_may_take(const struct server *s)
{
	const unsigned max = server_settings(s)->config->maxqueue;

	if (!sticky_keeps(s))
		return false;
	return server_has_place(s) || max == 0 ||
	       (unsigned)atomic_load_explicit(&s->queued, memory_order_relaxed) < max;
}

/* ---- rosters ---- */

size_t sticky_places_for(size_t servers)
{
	size_t places = 4;

	while (places < 2 * servers)
		places *= 2;
	return places;
}

void sticky_fill(struct roster *r, const struct backend *b)
{
	check(r->known != NULL);
	check(r->room.known > b->server_count);
	r->known_mask = r->room.known - 1;
	r->sticky = sticky_table_hold(b->sticky);
	r->sticky_expire_ns = b->config->sticky.expire_ns;
	for (size_t n = 0; n < b->server_count; n++) {
		const uint64_t id = b->servers[n]->name_id;
		size_t i = id & r->known_mask;

		while (r->known[i].id != 0)
			i = (i + 1) & r->known_mask;
		r->known[i] = (struct roster_known){id, b->servers[n]};
	}
}

/* ---- tables ---- */

static bool has_kind(const struct sticky_table *t, const struct config_sticky *how)
{
	return t != NULL && sticky_table_keys(t) == config_sticky_keys(how);
}

static bool needs_other(const struct sticky_table *t, const struct config_sticky *how)
{
	return how->by != CONFIG_STICKY_OFF && (!has_kind(t, how) || sticky_table_size(t) != how->size);
}

int backend_sticky_prepare(struct backend *b, const struct config_backend *config)
{
	const struct config_sticky *how = &config->sticky;
	struct sticky_table *t;

	if (!needs_other(b->sticky, how) || !needs_other(b->sticky_next, how))
		return 0;
	t = sticky_table_new(config_sticky_keys(how), how->size);
	if (t == NULL)
		return -ENOMEM;
	sticky_table_put(b->sticky_next);
	b->sticky_next = t;
	return 0;
}

void backend_sticky_undo(struct backend *b)
{
	sticky_table_put(b->sticky_next);
	b->sticky_next = NULL;
}

/* It is that of the next roster. */
static void use_moved(struct backend *b)
{
	struct sticky_table *before = b->sticky;

	b->sticky = sticky_table_hold(sticky_table_to(before));
	sticky_table_put(before); /* the roster in effect holds it */
}

/* A move that is under way ends first, however long that takes: two changes of the size so soon are rare. */
static void begin_move(struct backend *b)
{
	if (sticky_table_to(b->sticky) != NULL) {
		while (sticky_table_step_move(b->sticky))
			continue;
		use_moved(b);
	}
	sticky_table_begin_move(b->sticky, b->sticky_next);
	backend_sticky_undo(b); /* the one before holds it */
}

void backend_sticky_commit(struct backend *b)
{
	const struct config_sticky *how = &b->config->sticky;

	if (how->by == CONFIG_STICKY_OFF) {
		sticky_table_put(b->sticky); /* the roster in effect holds it */
		b->sticky = NULL;
	} else if (needs_other(b->sticky, how)) {
		check(b->sticky_next != NULL);
		check(sticky_table_size(b->sticky_next) == how->size);
		if (has_kind(b->sticky, how)) {
			begin_move(b);
		} else {
			sticky_table_put(b->sticky); /* as above: its keys mean something else */
			b->sticky = b->sticky_next;
			b->sticky_next = NULL;
		}
	}
}

bool backend_sticky_moves(const struct backend *b)
{
	return b->sticky != NULL && sticky_table_to(b->sticky) != NULL;
}

bool backend_sticky_step(struct backend *b)
{
	check(backend_sticky_moves(b));
	if (sticky_table_step_move(b->sticky))
		return true;
	use_moved(b);
	return false;
}

uint32_t backend_sticky_used(struct backend *b, int64_t now_ns)
{
	if (b->sticky == NULL)
		return 0;
	sticky_table_age(b->sticky, now_ns);
	return sticky_table_used(b->sticky);
}
