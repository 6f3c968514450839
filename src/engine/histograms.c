/* SPDX-License-Identifier: MIT
 *
 * histograms.c - histograms of the sessions of frontends, backends and servers, if anybody wants them.
 *
 * Owns the sets, which the tables of the workers hold. The header says which thread may call each function.
 */
#include "weir/engine/histograms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/chunks.h"
#include "weir/base/clock.h"
#include "weir/engine/engine.h"
#include "extra.h"
#include "payload.h"
#include "session.h"
#include "worker.h"

/* An entry of a worker's table. Control writes it, once. */
struct place {
	_Atomic(struct histogram_set *) set; /* owns; NULL = none yet */
};

void histograms_init(struct chunks *table)
{
	chunks_init(table, sizeof(struct place));
}

/* A worker may not have reached the slot yet: tables grow one after another. */
static struct place *place_of(const struct chunks *table, uint32_t slot)
{
	return chunks_has(table, slot) ? chunks_at(table, slot) : NULL;
}

static struct histogram_set *set_of(const struct worker *w, uint32_t slot)
{
	const struct place *p = place_of(&w->histograms, slot);

	return p != NULL ? atomic_load_explicit(&p->set, memory_order_acquire) : NULL;
}

void histograms_free(struct chunks *table, uint32_t peak)
{
	for (uint32_t i = 0; i < peak; i++) {
		struct place *p = place_of(table, i);

		if (p == NULL)
			continue;
		free(atomic_load_explicit(&p->set, memory_order_relaxed));
		atomic_store_explicit(&p->set, NULL, memory_order_relaxed);
	}
}

void histograms_forget(struct worker *w, uint32_t slot)
{
	struct histogram_set *set = set_of(w, slot);

	if (set != NULL)
		histogram_clear(set);
}

/* ---- control ---- */

/* In each worker. 0 or -ENOMEM. */
static int make_sets(struct engine *e, uint32_t slot)
{
	for (unsigned i = 0; i < e->worker_count; i++) {
		struct place *p = place_of(&e->workers[i]->histograms, slot);
		struct histogram_set *set;

		if (p == NULL)
			return -ENOMEM;
		if (atomic_load_explicit(&p->set, memory_order_relaxed) != NULL)
			continue;
		set = calloc(1, sizeof(*set));
		if (set == NULL)
			return -ENOMEM;
		atomic_store_explicit(&p->set, set, memory_order_release);
	}
	return 0;
}

static int follow_backend(struct engine *e, const struct backend *b, bool servers)
{
	int err = make_sets(e, b->slot);

	for (size_t i = 0; servers && i < b->server_count && !err; i++)
		err = make_sets(e, b->servers[i]->slot);
	return err;
}

static int kept_by(const struct engine *e)
{
	return atomic_load_explicit(&e->histograms, memory_order_relaxed);
}

bool histograms_are_of_servers(const struct engine *e)
{
	return kept_by(e) == HISTOGRAMS_ALL;
}

int histograms_follow_server(struct engine *e, const struct server *s)
{
	int err = kept_by(e) != HISTOGRAMS_NONE ? make_sets(e, s->owner->slot) : 0;

	if (!err && histograms_are_of_servers(e))
		err = make_sets(e, s->slot);
	return err;
}

int histograms_follow(struct engine *e)
{
	const int kept = kept_by(e);
	int err = 0;

	if (kept == HISTOGRAMS_NONE)
		return 0;
	entries_foreach_frontend(&e->entries, fe) {
		err = make_sets(e, fe->slot);
		if (err)
			return err;
	}
	for (size_t i = 0; i < e->backend_count && !err; i++)
		err = follow_backend(e, e->backends[i], kept == HISTOGRAMS_ALL);
	return err;
}

int histograms_keep(struct engine *e, enum histograms_kept kept)
{
	atomic_store_explicit(&e->histograms, (int)kept, memory_order_relaxed);
	return histograms_follow(e);
}

bool histograms_sum_up(const struct engine *e, uint32_t slot, enum histogram_kind kind,
		       struct histogram_sum *out)
{
	bool found = false;

	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < e->worker_count; i++) {
		const struct histogram_set *set = set_of(e->workers[i], slot);

		if (set == NULL)
			continue;
		found = true;
		histogram_add(out, set, kind);
	}
	return found;
}

/* ---- sessions ---- */

static void count(const struct session *s, uint32_t slot, const uint64_t values[static HISTOGRAMS])
{
	struct histogram_set *set = set_of(s->worker, slot);

	if (set == NULL)
		return;
	if (s->connect_us > 0) {
		histogram_count(set, HISTOGRAM_QUEUE_TIME, values[HISTOGRAM_QUEUE_TIME]);
		histogram_count(set, HISTOGRAM_CONNECT_TIME, values[HISTOGRAM_CONNECT_TIME]);
	}
	histogram_count(set, HISTOGRAM_SESSION_TIME, values[HISTOGRAM_SESSION_TIME]);
	histogram_count(set, HISTOGRAM_BYTES_TO_SERVER, values[HISTOGRAM_BYTES_TO_SERVER]);
	histogram_count(set, HISTOGRAM_BYTES_TO_CLIENT, values[HISTOGRAM_BYTES_TO_CLIENT]);
}

void histograms_session_ended(const struct session *s)
{
	const uint64_t values[HISTOGRAMS] = {
		[HISTOGRAM_QUEUE_TIME] = s->extra != NULL ? s->extra->wait_ns / NS_PER_US : 0,
		[HISTOGRAM_CONNECT_TIME] = s->connect_us > 0 ? s->connect_us - 1 : 0,
		[HISTOGRAM_SESSION_TIME] = (uint64_t)(s->worker->loop.now_ns - s->accepted_ns) / NS_PER_US,
		[HISTOGRAM_BYTES_TO_SERVER] = payload_to_server(s),
		[HISTOGRAM_BYTES_TO_CLIENT] = s->flows[FLOW_TO_CLIENT].bytes_out,
	};

	count(s, s->entry->frontend->slot, values);
	if (!s->backend_counted)
		return;
	count(s, s->back->backend->slot, values);
	if (s->at != NULL && histograms_are_of_servers(s->worker->engine))
		count(s, s->at->server->slot, values);
}
