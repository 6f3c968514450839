/* SPDX-License-Identifier: MIT
 *
 * crowd_judge.c - what workers share adds up, and nobody waits for what is there.
 *
 * Between two turns each shared count equals what is counted by hand in the sessions, letters, listeners and
 * queues of all workers, and each wait has somebody who will end it. Owns nothing. One thread. Tests only.
 */
#include "crowd_judge.h"

#include <string.h>

#include "control.h"
#include "cover.h"
#include "crowd_rates.h"
#include "crowd_sticky.h"
#include "engine/extra.h"
#include "live.h"
#include "model.h"
#include "peers.h"
#include "rig.h"
#include "rig_config.h"
#include "weir/balance/fallback.h"

#define JUDGE_SLOTS CROWD_SLOTS /* numbers of objects are below, and those of versions */

/* Counted by hand. */
static struct hand_counts {
	int process;
	int process_paused;
	int frontends[JUDGE_SLOTS];
	int paused[JUDGE_SLOTS];
	int rate_paused[JUDGE_SLOTS];
	int process_rate_paused;
	int servers[JUDGE_SLOTS];
	int queued[JUDGE_SLOTS];
	int waiting[JUDGE_SLOTS];
	int waiting_any[JUDGE_SLOTS];
	int avoiding[JUDGE_SLOTS];
	int versions[RIG_WORKERS][JUDGE_SLOTS];
} counted;

/* What was last seen of backends, by their numbers. */
static struct totals {
	const struct backend *of; /* freed memory is used again in the next seed only */
	struct server_totals was;
} totals[JUDGE_SLOTS];

/* What was freed is filled with bytes that make no number (poison.h). */
static uint32_t number(uint32_t slot)
{
	if (slot >= JUDGE_SLOTS)
		sim_fail("something is in use that was freed: its number is %#x", slot);
	return slot;
}

static unsigned frontend_of(const struct frontend *fe)
{
	return number(fe->slot);
}

static unsigned backend_of(const struct backend *b)
{
	return number(b->slot);
}

static unsigned server_of(const struct server *s)
{
	return number(s->slot);
}

/* ---- counting ---- */

static void count_slot(const struct frontend *fe)
{
	counted.process++;
	counted.frontends[frontend_of(fe)]++;
}

/* A place in a source that was given to a waiting session comes with its slot. */
static bool has_slot(const struct session *s)
{
	if (!s->slotless)
		return true;
	return s->extra != NULL && s->extra->wait.waiter.entry != NULL &&
	       source_table_is_granted(s->entry->frontend->sources, &s->extra->wait.waiter);
}

static void count_waiter(const struct waiter *w)
{
	const unsigned b = backend_of(w->backend);

	if (w->state == WAITER_GRANTED && w->server == NULL) {
		cover(COVER_CROWD_FALLBACK);
		return;
	}
	if (w->state == WAITER_GRANTED) {
		counted.servers[server_of(w->server)]++;
		return;
	}
	counted.waiting[b]++;
	if (w->server != NULL)
		counted.queued[server_of(w->server)]++;
	else
		counted.waiting_any[b]++;
	if (w->server == NULL && w->avoid != NULL)
		counted.avoiding[b]++;
}

static void count_version(const struct worker *w, const struct counted *c)
{
	counted.versions[w->index][number(c->slot)]++;
}

static void count_versions(const struct session *s)
{
	count_version(s->worker, &s->entry->counted);
	count_version(s->worker, &s->back->version.counted);
	if (s->at != NULL)
		count_version(s->worker, &s->at->version.counted);
}

static unsigned count_sessions(const struct list *sessions)
{
	struct list *pos;
	struct list *tmp;
	unsigned n = 0;

	list_foreach_safe(sessions, pos, tmp)
	{
		const struct session *s = list_entry(pos, struct session, link);

		n++;
		count_versions(s);
		if (has_slot(s))
			count_slot(s->entry->frontend);
		if (s->server_counted)
			counted.servers[server_of(s->at->server)]++;
		if (s->extra != NULL && s->extra->waiter.backend != NULL)
			count_waiter(&s->extra->waiter);
	}
	return n;
}

static unsigned count_letters(const struct mailbox *m)
{
	for (uint32_t i = m->tail; i != m->head; i++)
		count_slot(m->letters[i % MAILBOX_LETTERS].entry->frontend);
	return m->head - m->tail;
}

static void count_listener(const struct listener *l)
{
	if (l->reserved)
		count_slot(l->frontend);
	switch (l->paused_for) {
	case LIMIT_FRONTEND:
		counted.paused[frontend_of(l->frontend)]++;
		break;
	case LIMIT_RATE:
		counted.rate_paused[frontend_of(l->frontend)]++;
		break;
	case LIMIT_PROCESS:
		counted.process_paused++;
		break;
	case LIMIT_PROCESS_RATE:
		counted.process_rate_paused++;
		cover(COVER_CROWD_PROCESS_RATE);
		break;
	default:
		break;
	}
}

static void count_worker(const struct worker *w)
{
	const unsigned sessions =
		count_sessions(&w->live) + count_sessions(&w->closing) + count_sessions(&w->awaiting_ops);
	const unsigned letters = count_letters(&w->mailbox);

	if (sessions != w->sessions)
		sim_fail("worker %u says %u sessions, and has %u", w->index, w->sessions, sessions);
	if (atomic_load(&w->load) != (int)(sessions + letters))
		sim_fail("worker %u has load %d, %u sessions and %u letters", w->index, atomic_load(&w->load),
			 sessions, letters);
	listeners_foreach(w, l)
		count_listener(l);
}

static void compare(const char *what, unsigned number, int says, int has)
{
	if (says != has)
		sim_fail("%s %u: the count says %d, and it is %d", what, number, says, has);
}

static void compare_frontend(const struct frontend *fe)
{
	const unsigned i = frontend_of(fe);

	if (rig.limits_sources)
		crowd_rates_judge(fe, i);
	compare("slots of frontend", i, atomic_load(&fe->sessions), counted.frontends[i]);
	compare("listeners paused for frontend", i, atomic_load(&fe->paused.count), counted.paused[i]);
	compare("listeners resting for rate of frontend", i, atomic_load(&fe->rate_paused.count),
		counted.rate_paused[i]);
}

static void compare_server(const struct server *s)
{
	const unsigned limit = atomic_load(&s->limit);
	const unsigned i = server_of(s);

	compare("places of server", i, atomic_load(&s->sessions), counted.servers[i]);
	compare("queue of server", i, atomic_load(&s->queued), counted.queued[i]);
	if (limit > 0 && counted.servers[i] > (int)limit && !control_changed_limits())
		sim_fail("server %u has %d sessions, its limit is %u", i, counted.servers[i], limit);
}

/* Totals never fall, whoever leaves. */
static void judge_totals(const struct backend *b)
{
	const struct server_totals now = backend_totals(b);
	struct totals *last = &totals[backend_of(b)];

	if (last->of == b && (now.total < last->was.total || now.chosen < last->was.chosen ||
			      now.failures < last->was.failures))
		sim_fail("the totals of backend %u fall", b->slot);
	*last = (struct totals){b, now};
}

static void compare_backend(const struct backend *b)
{
	const struct queue *q = &b->queue;
	const unsigned i = backend_of(b);

	compare("waiting at backend", i, atomic_load(&q->waiting), counted.waiting[i]);
	compare("waiting for any", i, atomic_load(&q->waiting_any), counted.waiting_any[i]);
	compare("avoiding at backend", i, atomic_load(&q->avoiding), counted.avoiding[i]);
	judge_totals(b);
	for (size_t k = 0; k < b->server_count; k++)
		compare_server(b->servers[k]);
	for (const struct list *l = b->left.next; l != &b->left; l = l->next)
		compare_server(list_entry(l, struct server, link));
}

static void compare_versions(const struct worker *w)
{
	const uint32_t peak = slot_space_peak(&rig.engine.live.versions);

	for (uint32_t i = 0; i < peak; i++) {
		const counted_entry *n = chunks_at(&w->counts, i);
		const uint32_t uses = atomic_load(&n->taken) - atomic_load(&n->given);

		compare("uses of version", i, (int)uses, counted.versions[w->index][number(i)]);
	}
}

static void compare_frontends(const struct list *frontends)
{
	for (const struct list *l = frontends->next; l != frontends; l = l->next)
		compare_frontend(list_entry(l, struct frontend, link));
}

static void compare_all(void)
{
	struct engine *e = &rig.engine;

	compare("slots of process", 0, atomic_load(&e->sessions), counted.process);
	compare("listeners paused for process", 0, atomic_load(&e->paused.count), counted.process_paused);
	compare("listeners resting for rate of process", 0, atomic_load(&e->rate_paused.count),
		counted.process_rate_paused);
	compare_frontends(&e->entries.frontends);
	compare_frontends(&e->entries.leaving);
	for (unsigned i = 0; i < e->backend_count; i++)
		compare_backend(e->backends[i]);
	for (unsigned i = 0; i < rig.worker_count; i++)
		compare_versions(e->workers[i]);
}

/* ---- nobody waits for what is there ---- */

static bool has_mail(const struct worker *w, unsigned signal)
{
	return (atomic_load(&w->mailbox.signals) & signal) != 0;
}

/* An eventfd that is not read yet wakes the worker. */
static void judge_mail(const struct worker *w)
{
	const bool letters = w->mailbox.head != w->mailbox.tail;

	if (letters)
		cover(COVER_CROWD_LETTER);
	if (!list_empty(&w->grants.waiters) && !has_mail(w, MAIL_GRANTS))
		sim_fail("worker %u is not told of a granted place", w->index);
	if ((letters || atomic_load(&w->mailbox.signals) != 0) && model.files[w->loop.wake_fd].counter == 0)
		sim_fail("worker %u has mail, and nobody wakes it", w->index);
}

/* A worker that has the baton, or gets it, wakes the next listener. */
static bool has_baton(void)
{
	for (unsigned i = 0; i < rig.worker_count; i++) {
		const struct worker *w = rig.engine.workers[i];

		if (timer_is_set(&w->baton) || (!w->draining && has_mail(w, MAIL_RESUME)))
			return true;
	}
	return false;
}

/* Will its worker look again by itself, or because of its mail? */
static bool looks_again(const struct listener *l)
{
	return io_is_pending(&l->accept) || timer_is_set(&l->pause) || has_mail(l->worker, MAIL_RESUME);
}

static bool is_any_woken(const struct frontend *fe, enum listener_limit why)
{
	for (unsigned i = 0; i < rig.worker_count; i++) {
		const struct worker *w = rig.engine.workers[i];

		listeners_foreach(w, l) {
			if (l->paused_for == why && (fe == NULL || l->frontend == fe) && looks_again(l))
				return true;
		}
	}
	return false;
}

/* Its worker will hear that it is to leave: it waits for nothing. */
static bool is_about_to_leave(const struct listener *l)
{
	return has_mail(l->worker, MAIL_ENDPOINTS) && atomic_load(&l->endpoint->order) != ENDPOINT_LISTEN;
}

/* Is there one that is paused for this limit, and stays? */
static bool is_any_paused(const struct frontend *fe, enum listener_limit why)
{
	for (unsigned i = 0; i < rig.worker_count; i++) {
		const struct worker *w = rig.engine.workers[i];

		listeners_foreach(w, l) {
			if (l->paused_for == why && (fe == NULL || l->frontend == fe) &&
			    !is_about_to_leave(l))
				return true;
		}
	}
	return false;
}

/* A release wakes one listener, whose worker wakes the next one while there is room. */
static void judge_pauses(void)
{
	const struct engine *e = &rig.engine;

	if (peers.no_more || has_baton())
		return; /* who drains looks at all listeners once more */
	if (counted.process_paused > 0 && counted.process < (int)atomic_load(&e->settings.maxconn) &&
	    !is_any_woken(NULL, LIMIT_PROCESS) && is_any_paused(NULL, LIMIT_PROCESS))
		sim_fail("listeners are paused for maxconn, and there are %d of %u sessions", counted.process,
			 atomic_load(&e->settings.maxconn));
	entries_foreach_frontend(&e->entries, fe) {
		const unsigned i = frontend_of(fe);

		if (counted.paused[i] > 0 && counted.frontends[i] < (int)frontend_limit(fe) &&
		    !is_any_woken(fe, LIMIT_FRONTEND) && is_any_paused(fe, LIMIT_FRONTEND))
			sim_fail("listeners of frontend %u are paused, and it has %d of %u sessions", i,
				 counted.frontends[i], frontend_limit(fe));
	}
}

static void judge_listener(const struct listener *l)
{
	const enum listener_limit why = l->paused_for;

	if (l->worker->draining || l->leaving)
		return;
	if ((why == LIMIT_RATE || why == LIMIT_PROCESS_RATE) && !looks_again(l))
		sim_fail("worker %u has a listener that rests for its rate, and no timer", l->worker->index);
	if (why == LIMIT_MEMORY && !atomic_load(&rig.engine.is_accept_paused) && !looks_again(l))
		sim_fail("worker %u has a listener that rests for want of memory, and there is memory",
			 l->worker->index);
	if (why == LIMIT_NONE && !looks_again(l))
		sim_fail("worker %u has a listener that does nothing", l->worker->index);
}

static bool may_go_to(const struct waiter *w, const struct server *s)
{
	if (w->backend != s->owner || w->state != WAITER_QUEUED)
		return false;
	if (w->server != NULL)
		return w->server == s;
	return w->avoid != s || s->owner->queue.in_roster == 1;
}

/* Those who are stuck to a server wait for it while it is drained. */
static bool takes(const struct server *s, const struct waiter *w)
{
	return atomic_load(&s->in_roster) || (w->server == s && w->stuck && atomic_load(&s->keeps));
}

static void judge_waiter(const struct session *s)
{
	const struct waiter *w = &s->extra->waiter;

	if (w->state == WAITER_QUEUED && !w->stays && w->server == NULL &&
	    backend_fallback(w->backend) != NULL && backend_roster(w->backend)->count == 0)
		sim_fail("a session of worker %u waits at a backend without a server, and not at its "
			 "fallback", s->worker->index);
	if (w->state == WAITER_QUEUED && w->server != NULL && !takes(w->server, w))
		sim_fail("a session of worker %u waits for a server that takes none", s->worker->index);
	for (unsigned i = 0; i < rig_server_count(); i++) {
		const struct server *server = rig_server(i);
		const unsigned limit = atomic_load(&server->limit);
		const int has = counted.servers[server_of(server)];

		if (!takes(server, w) || !may_go_to(w, server))
			continue;
		if (!atomic_load(&server->in_roster))
			cover(COVER_CROWD_STICKY_DRAINED);
		if (limit == 0 || has < (int)limit)
			sim_fail("a session of worker %u waits, and server %u has %d of %u sessions",
				 s->worker->index, i, has, limit);
	}
}

static void judge_waiters(const struct worker *w)
{
	struct list *pos;
	struct list *tmp;

	list_foreach_safe(&w->live, pos, tmp)
	{
		const struct session *s = list_entry(pos, struct session, link);

		if (s->state == SESSION_QUEUED && s->extra->waiter.backend != NULL)
			judge_waiter(s);
	}
}

void crowd_judge_begin(void)
{
	memset(totals, 0, sizeof(totals));
	crowd_rates_begin();
	crowd_sticky_begin();
}

void crowd_judge(void)
{
	memset(&counted, 0, sizeof(counted));
	live_judge();
	for (unsigned i = 0; i < rig.worker_count; i++)
		count_worker(rig.engine.workers[i]);
	compare_all();
	crowd_sticky_judge();
	judge_pauses();
	for (unsigned i = 0; i < rig.worker_count; i++) {
		const struct worker *w = rig.engine.workers[i];

		if (w->finished)
			continue;
		judge_mail(w);
		judge_waiters(w);
		live_judge_worker(w);
		listeners_foreach(w, l)
			judge_listener(l);
	}
}

static void judge_orders(const struct worker *w, const struct server *s)
{
	const struct eviction *has = chunks_at(&w->evictions, s->slot);
	struct engine_ends *wanted = chunks_at(&rig.engine.ends, s->slot);

	for (unsigned why = 0; why < ENGINE_END_COUNT; why++)
		if (has->done[why] != atomic_load(&wanted->times[why]))
			sim_fail("worker %u has not carried out an order to end sessions", w->index);
}

static void note_drained(void)
{
	for (uint32_t slot = 0; slot < tally_count(&rig.engine); slot++) {
		struct tally_sum sum;

		tally_sum_up(&rig.engine, slot, model.now_ns, &sum);
		if (sum.drained_ends > 0)
			cover(COVER_DRAINED_IDLE);
	}
}

void crowd_judge_rest(void)
{
	if (rig.drains_idle)
		note_drained();
	for (unsigned i = 0; i < rig.worker_count; i++) {
		const struct worker *w = rig.engine.workers[i];

		for (unsigned k = 0; k < rig_server_count() && !w->finished; k++)
			judge_orders(w, rig_server(k));
	}
}
