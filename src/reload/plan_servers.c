/* SPDX-License-Identifier: MIT
 *
 * plan_servers.c - the servers of one backend of a new configuration beside those that live.
 *
 * A server meets the one with its name and address. One that was added at run time meets by the address that
 * it has, and stays without a line; the line of one that was deleted at run time counts once it changes.
 * What has been removed is not in the list of the backend, so it is never met again. Control thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash_index.h"
#include "plan_parts.h"
#include "weir/base/check.h"
#include "weir/base/hash.h"
#include "weir/config/same.h"

/* What the lines of a backend meet. */
struct meeting {
	const struct backend *live;
	struct hash_index servers; /* of `live`; met: it is what a line means */
	bool *named;               /* owns: there is a line with its name */
	struct tombstone **tombstones; /* owns the array */
	size_t tombstone_count;
	struct hash_index deleted; /* of `tombstones`; met: there is a line with its name */
};

static uint64_t hash_of(const char *name)
{
	return hash_bytes(name, strlen(name), 0);
}

/* ---- by name ---- */

static void meeting_close(struct meeting *m)
{
	free(m->named);
	free(m->tombstones);
	hash_index_free(&m->servers);
	hash_index_free(&m->deleted);
}

static void index_all(struct meeting *m)
{
	const struct backend *b = m->live;
	size_t at = 0;

	for (size_t i = b->server_count; i-- > 0;)
		if (b->servers[i]->set == NULL)
			hash_index_add(&m->servers, i, hash_of(b->servers[i]->config->name));
	for (const struct list *l = b->tombstones.next; l != &b->tombstones; l = l->next) {
		m->tombstones[at] = tombstone_at(l);
		hash_index_add(&m->deleted, at, hash_of(m->tombstones[at]->config->name));
		at++;
	}
}

/* 0, or -ENOMEM with nothing to close. */
static int meeting_open(struct meeting *m, const struct backend *live)
{
	*m = (struct meeting){.live = live};
	for (const struct list *l = live->tombstones.next; l != &live->tombstones; l = l->next)
		m->tombstone_count++;
	m->named = calloc(live->server_count + 1, sizeof(*m->named));
	m->tombstones = calloc(m->tombstone_count + 1, sizeof(struct tombstone *));
	if (m->named == NULL || m->tombstones == NULL ||
	    hash_index_init(&m->servers, live->server_count) != 0 ||
	    hash_index_init(&m->deleted, m->tombstone_count) != 0) {
		meeting_close(m);
		return -ENOMEM;
	}
	index_all(m);
	return 0;
}

/* The live server of this name; HASH_INDEX_NONE = none. */
static size_t find_server(const struct meeting *m, const char *name)
{
	size_t i = hash_index_first(&m->servers, hash_of(name));

	while (i != HASH_INDEX_NONE && strcmp(m->live->servers[i]->config->name, name) != 0)
		i = hash_index_next(&m->servers, i);
	return i;
}

/* The tombstone of this name, which has a line; NULL = none. */
static struct tombstone *meet_tombstone(struct meeting *m, const char *name)
{
	size_t i = hash_index_first(&m->deleted, hash_of(name));

	while (i != HASH_INDEX_NONE && strcmp(m->tombstones[i]->config->name, name) != 0)
		i = hash_index_next(&m->deleted, i);
	if (i == HASH_INDEX_NONE)
		return NULL;
	m->deleted.met[i] = true;
	return m->tombstones[i];
}

/* ---- lines ---- */

/* One that was added is where it is; any other is where the file says, wherever it was moved. */
static bool is_at(const struct server *s, const struct addr_spec *spec)
{
	const struct addr *a;

	if (!s->added || s->moved == NULL)
		return config_addr_same(&s->config->addr, spec);
	a = &s->moved->addr;
	return (spec->kind == ADDR_IP || spec->kind == ADDR_UNIX) && spec->addr.len == a->len &&
	       memcmp(&spec->addr.sa, &a->sa, a->len) == 0;
}

static void meet_server(struct meeting *m, struct plan_server *s)
{
	const size_t i = find_server(m, s->config->name);

	if (i == HASH_INDEX_NONE)
		return;
	check(!m->named[i]); /* no two servers of a backend have one name */
	m->named[i] = true;
	if (!is_at(m->live->servers[i], &s->config->addr))
		return;
	m->servers.met[i] = true;
	s->live = m->live->servers[i];
	s->adopted = s->live->added;
	s->what = !s->adopted && config_server_same(s->live->config, s->config) ? PLAN_KEPT : PLAN_CHANGED;
}

/* A line `servers`. */
static struct plan_server set_of(const struct meeting *m, const struct config_server *config)
{
	struct plan_server s = {.what = PLAN_ADDED, .config = config};

	for (const struct list *l = m->live->sets.next; l != &m->live->sets; l = l->next) {
		struct server_set *set = server_set_at(l);

		if (strcmp(set->config->name, config->name) != 0 || set->config->set != config->set ||
		    !config_addr_same(&set->config->addr, &config->addr))
			continue;
		s.set = set;
		s.what = config_server_same(set->config, config) ? PLAN_KEPT : PLAN_CHANGED;
	}
	return s;
}

static struct plan_server server_of(struct meeting *m, const struct config_server *config)
{
	struct plan_server s = {.what = PLAN_ADDED,
				.config = config,
				.tombstone = meet_tombstone(m, config->name)};

	if (s.tombstone != NULL && config_server_same(s.tombstone->config, config))
		s.what = PLAN_KEPT;
	else
		meet_server(m, &s);
	return s;
}

/* ---- what has no line ---- */

/* A server that was added at run time stays, except where clients choose the server by name: there it would
 * take clients that ask for any name. */
static void add_rest(const struct meeting *m, struct plan_backend *pb, const struct config_backend *next)
{
	const bool keeps_added = !config_backend_takes_names(next);

	for (size_t i = 0; i < m->live->server_count; i++) {
		struct server *s = m->live->servers[i];

		if (!m->servers.met[i] && s->set == NULL)
			pb->servers[pb->server_count++] = (struct plan_server){
				.what = s->added && !m->named[i] && keeps_added ? PLAN_KEPT : PLAN_REMOVED,
				.live = s};
	}
	for (size_t i = 0; i < m->tombstone_count; i++)
		if (!m->deleted.met[i])
			pb->servers[pb->server_count++] =
				(struct plan_server){.what = PLAN_KEPT, .tombstone = m->tombstones[i]};
}

/* ---- sets ---- */

static size_t count_sets(const struct backend *b)
{
	size_t n = 0;

	for (const struct list *l = b->sets.next; l != &b->sets; l = l->next)
		n++;
	return n;
}

/* The line of a live set in the new configuration; NULL = it is removed. */
static const struct plan_server *line_of(const struct plan_backend *pb, size_t lines,
					 const struct server_set *set)
{
	for (size_t i = 0; i < lines; i++)
		if (pb->servers[i].set == set)
			return &pb->servers[i];
	return NULL;
}

static void remove_sets(struct plan_backend *pb, size_t lines)
{
	for (struct list *l = pb->live->sets.next; l != &pb->live->sets; l = l->next)
		if (line_of(pb, lines, server_set_at(l)) == NULL)
			pb->servers[pb->server_count++] =
				(struct plan_server){.what = PLAN_REMOVED, .set = server_set_at(l)};
}

static struct plan_server member_of(const struct plan_server *line, struct server *s,
				    struct config_server *next)
{
	struct plan_server m = {.what = PLAN_KEPT, .live = s};

	if (line == NULL) {
		m.what = PLAN_REMOVED;
	} else if (line->what == PLAN_CHANGED) {
		server_set_member(line->config, s, next);
		if (config_server_same(s->config, next))
			return m;
		m.what = PLAN_CHANGED;
		m.config = next;
	}
	return m;
}

/* Their room has been taken. */
static void add_members(struct plan_backend *pb, size_t lines)
{
	for (size_t i = 0; i < pb->live->server_count; i++) {
		struct server *s = pb->live->servers[i];

		if (s->set != NULL)
			pb->servers[pb->server_count++] =
				member_of(line_of(pb, lines, s->set), s, &pb->members[i]);
	}
}

/* ---- all of them ---- */

static int take_room(struct plan_backend *pb, size_t room)
{
	pb->servers = calloc(room + 1, sizeof(*pb->servers));
	return pb->servers != NULL ? 0 : -ENOMEM;
}

static int compare_servers(struct plan_backend *pb)
{
	const struct config_backend *next = pb->config;
	struct meeting m;

	if (meeting_open(&m, pb->live) != 0)
		return -ENOMEM;
	pb->members = calloc(m.live->server_count + 1, sizeof(*pb->members));
	if (pb->members == NULL || take_room(pb, m.live->server_count + count_sets(m.live) +
							 next->server_count + m.tombstone_count) != 0) {
		meeting_close(&m);
		return -ENOMEM;
	}
	for (size_t i = 0; i < next->server_count; i++)
		pb->servers[pb->server_count++] = next->servers[i].set != CONFIG_SET_NONE
							  ? set_of(&m, &next->servers[i])
							  : server_of(&m, &next->servers[i]);
	add_rest(&m, pb, next);
	remove_sets(pb, next->server_count);
	add_members(pb, next->server_count);
	meeting_close(&m);
	return 0;
}

/* ---- backends that come or go as a whole ---- */

static int add_servers(struct plan_backend *pb)
{
	if (take_room(pb, pb->config->server_count) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < pb->config->server_count; i++)
		pb->servers[pb->server_count++] =
			(struct plan_server){.what = PLAN_ADDED, .config = &pb->config->servers[i]};
	return 0;
}

static int remove_servers(struct plan_backend *pb)
{
	if (take_room(pb, pb->live->server_count + count_sets(pb->live)) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < pb->live->server_count; i++)
		pb->servers[pb->server_count++] =
			(struct plan_server){.what = PLAN_REMOVED, .live = pb->live->servers[i]};
	remove_sets(pb, 0);
	return 0;
}

int plan_servers(struct plan_backend *pb)
{
	if (pb->live == NULL)
		return add_servers(pb);
	return pb->config == NULL ? remove_servers(pb) : compare_servers(pb);
}
