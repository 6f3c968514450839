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
#include "weir/sys/sys.h"
#include "admission.h"
#include "proxy_preface.h"
#include "session.h"
#include "session_end.h"
#include "session_timer.h"
#include "slots.h"
#include "worker.h"

static void refuse_client(struct worker *w, struct endpoint *ep, int fd)
{
	const int load = atomic_fetch_sub(&w->load, 1);

	check(load > (int)w->sessions);
	counter_add(&w->counters.accept_errors, 1);
	sys_close(fd);
	slots_release_rate(w->engine, ep->frontend, w->loop.now_ns);
	slots_release(w->engine, ep->frontend);
}

void session_start(struct worker *w, struct endpoint *ep, int fd, const struct addr_brief *client)
{
	struct session *s = session_slab_get(&w->slab);
	const bool tcp = client->family != AF_UNIX;

	check(!w->finished);
	check(ep >= w->engine->endpoints && ep < w->engine->endpoints + w->engine->endpoint_count);
	if (s == NULL) {
		refuse_client(w, ep, fd);
		return;
	}
	s->worker = w;
	s->endpoint = ep;
	s->backend = ep->frontend->backend;
	s->client = *client;
	s->number = w->next_number++;
	crash_report_session(s->number);
	s->accepted_ns = w->loop.now_ns;
	s->fixed_ns = CLOCK_NEVER;
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
		endpoint_accepted(ep, fd);
	if (io_attach(&w->loop, &s->sides[SIDE_CLIENT].sock))
		session_close(s, CLOSE_NO_RESOURCE);
	else if (likely(!proxy_preface_start(s)))
		admission_enter(s);
}
