/* SPDX-License-Identifier: MIT
 *
 * admission.c - may this client come in, and to which backend does it go?
 *
 * Owns the order of the decisions: who is kept out, who is let in, how many there are of one source, where
 * the client goes. They come before the choice of a server, so that a refused client has cost no connect;
 * those about the peer's own address come before there is a session, so that it has cost no slot. A worker's
 * thread.
 */
#include "admission.h"

#include <errno.h>
#include <stdlib.h>

#include "weir/base/check.h"
#include "weir/engine/engine.h"
#include "weir/engine/source_wait.h"
#include "weir/entry/rules.h"
#include "weir/net/netset.h"
#include "weir/net/sock.h"
#include "weir/net/source_rates.h"
#include "weir/net/source_table.h"
#include "weir/sys/sys.h"
#include "choice.h"
#include "connect.h"
#include "extra.h"
#include "record.h"
#include "session.h"
#include "session_deadline.h"
#include "session_end.h"
#include "session_name.h"
#include "slots.h"
#include "sniff.h"
#include "worker.h"

/* How long a peer over maxconn-per-source may owe its PROXY header: longer than TCP takes to resend a lost
 * first packet. And the minimum for any peer when maxconn or a rate is nearly used up. */
#define OVER_LIMIT_NS	  (250 * NS_PER_MS)
#define OVER_LIMIT_MIN_NS NS_PER_MS

/* ---- who may come in ---- */

/* Judges the process that connected, whatever a PROXY header said. */
static bool is_user_allowed(int fd, const struct config_frontend *c)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (sys_getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
		return false;
	for (size_t i = 0; i < c->allow_uid_count; i++)
		if (c->allow_uids[i] == peer.uid)
			return true;
	return false;
}

static enum close_reason object_to_user(const struct endpoint_settings *entry, int fd)
{
	const struct config_frontend *c = entry->front->config;

	if (addr_is_unix(&entry->endpoint->addr) && c->allow_uid_count > 0 && !is_user_allowed(fd, c))
		return CLOSE_DENIED_UID;
	return CLOSE_NORMAL;
}

/* Counts the client for rate-limit-per-source. A client without an address is no source. */
static enum close_reason object_to_rate(struct worker *w, const struct endpoint_settings *entry,
					const struct addr_brief *client)
{
	const struct frontend_settings *front = entry->front;

	if (front->source_rate.each_ns == 0 || !rules_limit_source(front->config, client))
		return CLOSE_NORMAL;
	switch (source_rates_take(entry->frontend->source_rates, client, &front->source_rate,
				  w->loop.now_ns)) {
	case SOURCE_RATE_OVER:
		return CLOSE_SOURCE_RATE;
	case SOURCE_RATE_NO_ROOM:
		counter_add(&w->counters.source_rate_missed, 1);
		break;
	case SOURCE_RATE_PASSED:
		break;
	}
	return CLOSE_NORMAL;
}

/* CLOSE_NORMAL when there is no objection. The rate comes last: it counts only who may come in. */
static enum close_reason find_objection(struct worker *w, const struct endpoint_settings *entry, int fd,
					const struct addr_brief *client)
{
	const bool by_unix = addr_is_unix(&entry->endpoint->addr);
	enum close_reason why;

	if (rules_judge(entry->front->config, by_unix, client) != RULES_PASS)
		return CLOSE_DENIED;
	why = object_to_user(entry, fd);
	return why == CLOSE_NORMAL ? object_to_rate(w, entry, client) : why;
}

/* The same for a peer that may be about to send a PROXY header: in that case only `trusted` applies to its
 * own address. */
static enum close_reason object_to_peer(struct worker *w, const struct endpoint_settings *entry, int fd,
					const struct addr_brief *peer)
{
	const enum config_accept_proxy mode = entry->config->accept_proxy;

	if (likely(mode == CONFIG_ACCEPT_PROXY_OFF))
		return find_objection(w, entry, fd, peer);
	if (rules_trust(entry->front->config, peer))
		return object_to_user(entry, fd);
	return mode == CONFIG_ACCEPT_PROXY_OPTIONAL ? find_objection(w, entry, fd, peer)
						    : CLOSE_PROXY_UNTRUSTED;
}

/* ---- sessions per source ---- */

static int enter_source(struct session *s)
{
	struct source_table *sources = s->entry->frontend->sources;

	check(sources != NULL);
	check(s->extra->source == NULL);
	check(!s->slotless);
	return source_table_enter(sources, &s->client, s->entry->front->config->maxconn_per_source,
				  s->worker->index, &s->extra->source);
}

/* While it owed its PROXY header, the session was counted by its own address, unless that was over the limit.
 * If that is also the client's address the place is kept; otherwise it is given up. A waiting session may
 * take the place and, with it, a slot of maxconn, since it gave up its own in order to wait. That is one slot
 * more, even beyond the limit, because this session keeps its slot. SOURCE_WAITS_MAX bounds the waiting
 * sessions, and they have had their descriptors all along. */
static bool is_counted_already(struct session *s, const struct frontend *fe)
{
	struct session_extra *x = s->extra;

	if (likely(x == NULL) || x->source == NULL)
		return false;
	check(!s->slotless);
	if (rules_has_ip(&s->client) && source_table_is_of(x->source, &s->client))
		return true;
	if (source_table_leave(fe->sources, x->source, x->ending))
		slots_force(s->worker->engine, s->entry->frontend);
	x->source = NULL;
	return false;
}

/* CLOSE_NORMAL also if the session waits for a place. */
static enum close_reason count_source(struct session *s, const struct frontend *fe)
{
	int err;

	if (s->entry->front->config->maxconn_per_source == 0 || is_counted_already(s, fe) ||
	    !rules_limit_source(s->entry->front->config, &s->client))
		return CLOSE_NORMAL;
	if (session_extra(s) == NULL)
		return CLOSE_NO_RESOURCE;
	err = enter_source(s);
	if (likely(err != -EDQUOT))
		return err ? CLOSE_NO_RESOURCE : CLOSE_NORMAL;
	err = source_wait_begin(s);
	if (err == -EAGAIN)
		err = enter_source(s); /* one has just left: the loser of the race for it is refused */
	if (err == -ENOMEM)
		return CLOSE_NO_RESOURCE;
	if (s->state == SESSION_HELD)
		session_rearm(s); /* may close the session, which then has left */
	return err ? CLOSE_SOURCE_LIMIT : CLOSE_NORMAL;
}

/* ---- where it goes ---- */

/* The port that the client connected to; 0 for a Unix socket. */
static uint16_t destination_port(const struct session *s)
{
	struct addr a = {.len = sizeof(a.un)};

	if (s->extra != NULL && s->extra->dst.family != 0)
		return s->extra->dst.port;
	if (!s->entry->config->transparent)
		return addr_port(&s->entry->endpoint->addr);
	/* A transparent listener accepts connections to many addresses. */
	if (sys_getsockname(s->sides[SIDE_CLIENT].sock.fd, &a.sa, &a.len) != 0)
		return 0;
	return addr_port(&a);
}

/* What is known of the TLS that the client speaks; a hello wins over a PROXY header. */
static struct rules_hello known_of(const struct session *s, const struct client_hello *hello, unsigned proto)
{
	const struct session_name *n = s->extra != NULL ? &s->extra->name : NULL;

	if (hello != NULL)
		return (struct rules_hello){.came = true, .name = hello->name, .name_len = hello->name_len,
					    .offered = hello, .proto = proto};
	if (n == NULL)
		return (struct rules_hello){.proto = proto};
	check(!n->from_hello);
	return (struct rules_hello){.name = (const char *)session_name_text(n), .name_len = n->len,
				    .protocol = session_name_protocol(n), .protocol_len = n->protocol_len,
				    .proto = proto};
}

bool admission_choose_backend(struct session *s, const struct client_hello *hello, unsigned proto)
{
	const struct frontend_settings *front = s->entry->front;
	const struct config_frontend *c = front->config;
	struct rules_hello known;
	size_t route;

	if (c->route_count == 0)
		return true;
	check(front->routes != NULL);
	check(s->back->backend == front->backend); /* it is chosen only once */
	check(s->at == NULL);
	known = known_of(s, hello, proto);
	route = rules_route(c, &s->client, destination_port(s), &known);
	if (route < c->route_count)
		session_use_backend(s, front->routes[route]);
	else if (unlikely(c->routes_only))
		choice_of_nothing(s);
	return s->state != SESSION_CLOSING;
}

/* ---- refusal and admission ---- */

static void count_refusal(struct worker *w, struct frontend *fe, enum close_reason why)
{
	check(why != CLOSE_NORMAL);
	/* A shortage of our own denies no client anything, and `trusted` is about the header. */
	if (why == CLOSE_NO_RESOURCE || why == CLOSE_PROXY_UNTRUSTED)
		return;
	if (why == CLOSE_SOURCE_LIMIT)
		counter_add(&w->counters.source_limited, 1);
	else if (why == CLOSE_SOURCE_RATE)
		counter_add(&w->counters.source_rate_limited, 1);
	else
		counter_add(&w->counters.denied, 1);
	atomic_fetch_add_explicit(&fe->denied, 1, memory_order_relaxed);
}

static void refuse_session(struct session *s, enum close_reason why)
{
	count_refusal(s->worker, s->entry->frontend, why);
	session_close(s, why);
}

bool admission_turn_away(struct worker *w, const struct endpoint_settings *entry, int fd,
			 const struct addr_brief *peer)
{
	const enum close_reason why = object_to_peer(w, entry, fd, peer);

	check(entry->front->choosy);
	if (why == CLOSE_NORMAL)
		return false;
	count_refusal(w, entry->frontend, why);
	tally_turned_away(w, entry->frontend, why);
	record_turned_away(w, entry, peer, why);
	if (!addr_is_unix(&entry->endpoint->addr))
		sock_harden(fd);
	sys_close(fd);
	return true;
}

static bool admit_guarded(struct session *s)
{
	const struct frontend *fe = s->entry->frontend;
	enum close_reason why = CLOSE_NORMAL;

	check(!s->backend_counted);
	if (!s->judged)
		why = find_objection(s->worker, s->entry, s->sides[SIDE_CLIENT].sock.fd, &s->client);
	if (why == CLOSE_NORMAL)
		why = count_source(s, fe);
	if (why != CLOSE_NORMAL) {
		refuse_session(s, why);
		return false;
	}
	return s->state != SESSION_HELD && s->state != SESSION_CLOSING;
}

/* It was let in. */
static void go_on(struct session *s)
{
	if (unlikely(s->entry->front->sniffs)) {
		sniff_begin(s);
		return;
	}
	if (admission_choose_backend(s, NULL, 0))
		connect_begin(s);
}

void admission_held_no_more(struct session *s, bool has_place)
{
	check(s->state == SESSION_HELD);
	check((s->extra->source != NULL) == has_place);
	check(s->slotless != has_place); /* a place comes with a slot */
	if (!has_place) {
		refuse_session(s, CLOSE_SOURCE_LIMIT);
		return;
	}
	go_on(s);
}

/* ---- peers that owe a PROXY header ---- */

/* The part of `ns` in proportion to what is left of a limit. */
static int64_t part(int64_t ns, int64_t left, int64_t limit)
{
	check(left <= limit);
	return left > 0 ? ns * left / limit : 0;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t part_of_rate(int64_t ns, struct rate *r, int64_t now_ns)
{
	const int64_t rate = rate_limit(r);

	return rate > 0 ? part(ns, smaller(rate_room(r, now_ns), rate), rate) : ns;
}

/* The less is left of what the peer holds, the shorter the wait: a silent client must not keep others out. A
 * peer listed in `trusted` is not hurried. */
static int64_t patience_ns(const struct session *s)
{
	const struct engine *e = s->worker->engine;
	struct frontend *fe = s->entry->frontend;
	const int64_t ns = OVER_LIMIT_NS;
	/* Each is read once: control may change it meanwhile. */
	const int64_t process = atomic_load_explicit(&e->settings.maxconn, memory_order_relaxed);
	const int64_t own = frontend_limit(fe);
	int64_t least_ns;

	if (s->entry->front->config->trusted != NULL)
		return ns;
	least_ns = smaller(part(ns, own - atomic_load(&fe->sessions), own),
			   part(ns, process - atomic_load(&e->sessions), process));
	least_ns = smaller(least_ns, part_of_rate(ns, &fe->rate, s->worker->loop.now_ns));
	least_ns = smaller(least_ns, part_of_rate(ns, &s->worker->engine->rate, s->worker->loop.now_ns));
	return least_ns > OVER_LIMIT_MIN_NS ? least_ns : OVER_LIMIT_MIN_NS;
}

void admission_owes_header(struct session *s)
{
	int64_t over_ns;

	check(s->state == SESSION_HANDSHAKE);
	if (s->entry->front->config->maxconn_per_source == 0 ||
	    !rules_limit_source(s->entry->front->config, &s->client))
		return;
	switch (enter_source(s)) {
	case 0:
		return;
	case -EDQUOT:
		break;
	default:
		session_close(s, CLOSE_NO_RESOURCE);
		return;
	}
	over_ns = s->worker->loop.now_ns + patience_ns(s);
	if (over_ns >= s->fixed_ns)
		return;
	s->extra->over_limit = true;
	s->fixed_ns = over_ns;
	session_rearm(s);
}

void admission_header_late(struct session *s)
{
	check(s->state == SESSION_HANDSHAKE);
	if (s->extra->over_limit)
		refuse_session(s, CLOSE_SOURCE_LIMIT);
	else
		session_close(s, CLOSE_PROXY_TIMEOUT);
}

/* ---- entry points ---- */

bool admission_admit(struct session *s)
{
	return likely(!s->entry->front->guarded) || admit_guarded(s);
}

void admission_enter(struct session *s)
{
	check(s->state == SESSION_ACCEPTED || s->state == SESSION_HANDSHAKE);
	if (likely(!s->entry->front->guarded))
		connect_begin(s);
	else if (admit_guarded(s))
		go_on(s);
}
