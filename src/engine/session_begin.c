/* SPDX-License-Identifier: MIT
 *
 * session_begin.c - an accepted descriptor becomes a session.
 *
 * A worker's thread.
 */
#include "session_begin.h"

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/crash_report.h"
#include "weir/entry/endpoint.h"
#include "weir/net/sock.h"
#include "weir/net/sock_leave.h"
#include "weir/sys/sys.h"
#include "admission.h"
#include "proxy_preface.h"
#include "session.h"
#include "session_end.h"
#include "session_timer.h"
#include "slots.h"
#include "worker.h"

static void refuse_client(struct worker *w, const struct letter *l)
{
	struct frontend *fe = l->entry->frontend;
	const int load = atomic_fetch_sub(&w->load, 1);

	check(load > (int)w->sessions);
	counter_add(&w->counters.accept_errors, 1);
	sys_close(l->fd);
	if (l->rated)
		slots_release_rate(fe, w->loop.now_ns);
	slots_release(w->engine, fe);
}

/* By which settings a client comes in: those in effect now, but the ones by which it was judged if either
 * judge. Another list of trusted senders would take its PROXY header for one of theirs. */
static struct endpoint_settings *settings_for(struct endpoint_settings *judged)
{
	struct endpoint_settings *now = endpoint_settings(judged->endpoint);

	return likely(now == judged) || judged->front->choosy || now->front->choosy ? judged : now;
}

void session_start(struct worker *w, const struct letter *l)
{
	struct endpoint_settings *entry = settings_for(l->entry);
	struct endpoint *ep = entry->endpoint;
	struct session *s = session_slab_get(&w->slab);
	const bool tcp = l->client.family != AF_UNIX;
	const int fd = l->fd;

	check(!w->finished);
	if (s == NULL) {
		refuse_client(w, l);
		return;
	}
	s->worker = w;
	s->entry = entry;
	counted_take(&w->counts, &entry->counted);
	session_use_backend(s, entry->front->backend);
	s->client = l->client;
	s->rated = l->rated;
	s->number = w->next_number++;
	crash_report_session(s->number);
	s->accepted_ns = w->loop.now_ns;
	s->fixed_ns = CLOCK_NEVER;
	s->evict_mark = w->evict_walk.mark;
	s->drains = w->draining;
	s->judged = true; /* by the listener; proxy_preface.c clears this to have another address judged */
	s->sides[SIDE_SERVER].sock.fd = -1;
	session_set_state(s, SESSION_ACCEPTED);
	timer_init(&s->timer, session_timer_fired);
	list_push_back(&w->live, &s->link);
	w->sessions++;
	tally_session_began(s);
	io_sock_init(&s->sides[SIDE_CLIENT].sock, fd, tcp);
	flow_init(&s->flows[FLOW_TO_SERVER], FLOW_TO_SERVER);
	flow_init(&s->flows[FLOW_TO_CLIENT], FLOW_TO_CLIENT);
	if (!tcp)
		sock_accepted_unix(fd);
	else if (unlikely(ep->mptcp))
		endpoint_accepted(entry, fd);
	if (unlikely(atomic_load_explicit(&ep->deaf, memory_order_relaxed)) && tcp)
		sock_accepted_from_deaf(fd);
	if (io_attach(&w->loop, &s->sides[SIDE_CLIENT].sock))
		session_close(s, CLOSE_NO_RESOURCE);
	else if (likely(!proxy_preface_start(s)))
		admission_enter(s);
}
