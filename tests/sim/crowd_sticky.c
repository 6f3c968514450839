/* SPDX-License-Identifier: MIT
 *
 * crowd_sticky.c - clients that keep their server do.
 *
 * Compares each table with what it was before the last turn. A client's entry may change only if something
 * happened to its server, or if a connect of this turn failed; a session that has got a server has got that
 * of its client's entry. Owns what was seen. One thread. Tests only.
 */
#include "crowd_sticky.h"

#include <arpa/inet.h>
#include <string.h>

#include "cover.h"
#include "crowd_rates.h"
#include "model.h"
#include "rig.h"
#include "rig_config.h"
#include "weir/balance/sticky.h"

#define SEEN_MAX 256

/* A session that has a server. */
struct seen {
	const struct session *session;
	const struct server *server;
	uint64_t tries;
};

static struct judged {
	/* The entry of each client in each backend, and whether its server takes clients. */
	struct was {
		const struct backend *of; /* freed memory is used again in the next seed only */
		uint64_t id;
		bool keeps;
		bool has_table;
	} was[CROWD_SLOTS][RIG_SOURCES];
	struct seen seen[SEEN_MAX];
	size_t seen_count;
	uint64_t failures; /* connects that have failed, new tries, and clients that were forgotten */
	unsigned control;  /* turns of control since */
} judged;

/* As model_sys.c makes them. */
static struct sticky_key key_of(unsigned source)
{
	struct addr_brief a = {.family = AF_INET};
	const struct in_addr in = {.s_addr = htonl(source)};
	struct sticky_key k;

	memcpy(a.ip, &in, sizeof(in));
	(void)sticky_key_of(STICKY_CLIENTS, &a, &k);
	return k;
}

/* Does this turn have an excuse for whatever has changed? */
static bool has_excuse(void)
{
	const struct engine *e = &rig.engine;
	const uint64_t failures = engine_sum(e, connect_failures) + engine_sum(e, redispatches) +
				  engine_sum(e, sticky_evicted);
	const bool excused = judged.control > 0 || failures != judged.failures;

	judged.failures = failures;
	return excused;
}

static bool keeps(const struct backend *b, uint64_t id)
{
	const struct roster *r = backend_roster(b);
	const struct server *s = id != 0 && r->sticky != NULL ? sticky_server(r, id) : NULL;

	return s != NULL && sticky_keeps(s);
}

static void judge_client(const struct backend *b, unsigned source, bool excused)
{
	struct was *w = &judged.was[b->slot][source];
	const struct sticky_key k = key_of(source);
	const uint64_t id = b->sticky != NULL ? sticky_table_look(b->sticky, &k, model.now_ns) : 0;

	if (w->of != b)
		*w = (struct was){.of = b};
	/* One turn of control does not remove a table and make another. */
	if (w->id != 0 && id == 0 && w->has_table && b->sticky != NULL && judged.control <= 1 &&
	    sticky_table_size(b->sticky) > RIG_SOURCES && !rig_sticky_expires())
		sim_fail("client %u of backend %u is forgotten", source, b->slot);
	if (id != w->id && w->id != 0 && id != 0) {
		cover(COVER_CROWD_STICKY_MOVED);
		if (!excused && w->keeps)
			sim_fail("client %u of backend %u moves to another server, although its own takes it",
				 source, b->slot);
	}
	*w = (struct was){b, id, keeps(b, id), b->sticky != NULL};
}

static void judge_table(const struct backend *b, bool excused)
{
	if (b->slot >= CROWD_SLOTS)
		sim_fail("a backend is in use that was freed");
	if (b->sticky != NULL && !backend_sticky_moves(b) &&
	    sticky_table_used(b->sticky) > sticky_table_size(b->sticky))
		sim_fail("the table of backend %u has %u entries of %u", b->slot,
			 sticky_table_used(b->sticky), sticky_table_size(b->sticky));
	for (unsigned i = 0; i < RIG_SOURCES; i++)
		judge_client(b, i, excused);
}

static bool is_new(const struct session *s, const struct seen *before, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (before[i].session == s && before[i].server == s->at->server &&
		    before[i].tries == s->tries)
			return false;
	return true;
}

/* It chose, or was granted, a server in the last turn. */
static void judge_session(const struct session *s)
{
	const struct roster *r = backend_roster(s->back->backend);
	struct sticky_key k;
	uint64_t id;

	/* In a trial, a client with a server tries another one. */
	if (r->sticky == NULL || s->tries > 1 || !sticky_key_of(STICKY_CLIENTS, &s->client, &k) ||
	    s->back->config->observe.what != CONFIG_OBSERVE_OFF)
		return;
	cover(COVER_CROWD_STICKY);
	id = sticky_table_look(r->sticky, &k, model.now_ns);
	if (id == sticky_id_of(s->at->config->name))
		return;
	if (id == 0)
		sim_fail("a session of worker %u has a server, and its client no entry", s->worker->index);
	sim_fail("a session of worker %u is at another server than its client's entry says",
		 s->worker->index);
}

static void judge_worker(const struct worker *w, const struct seen *before, size_t count, bool excused)
{
	struct list *pos, *tmp;

	list_foreach_safe(&w->live, pos, tmp)
	{
		const struct session *s = list_entry(pos, struct session, link);

		if (!s->server_counted)
			continue;
		if (!excused && is_new(s, before, count))
			judge_session(s);
		if (judged.seen_count < SEEN_MAX)
			judged.seen[judged.seen_count++] = (struct seen){s, s->at->server, s->tries};
	}
}

void crowd_sticky_begin(void)
{
	memset(&judged, 0, sizeof(judged));
}

void crowd_sticky_note_control(void)
{
	judged.control++;
}

void crowd_sticky_judge(void)
{
	const struct engine *e = &rig.engine;
	struct seen before[SEEN_MAX];
	const size_t count = judged.seen_count;
	bool excused;

	if (!rig_has_sticky())
		return;
	excused = has_excuse() || rig_sticky_expires();
	memcpy(before, judged.seen, count * sizeof(before[0]));
	judged.seen_count = 0;
	for (size_t i = 0; i < e->backend_count; i++)
		judge_table(e->backends[i], excused);
	for (unsigned i = 0; i < rig.worker_count; i++)
		judge_worker(e->workers[i], before, count, excused);
	judged.control = 0;
}
