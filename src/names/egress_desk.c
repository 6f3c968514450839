/* SPDX-License-Identifier: MIT
 *
 * egress_desk.c - answers workers that ask for the addresses of names which clients chose.
 *
 * Owns the lookups that are under way and the limits on them; egress_cache.c has what is known, and
 * egress_route.c says which addresses are of this machine. Judges nothing: the worker that connects does.
 * Control thread.
 */
#include "weir/names/egress_desk.h"

#include <errno.h>
#include <ev.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/engine/egress.h"
#include "weir/engine/engine.h"
#include "weir/net/addr_reach.h"
#include "weir/net/source_key.h"
#include "dns.h"
#include "egress_cache.h"
#include "egress_route.h"
#include "resolver_parts.h"

/* Maximum addresses of one family that are used, so that neither displaces the other. */
#define FAMILY_MAX (EGRESS_ADDRESSES_MAX / 2)
/* Questions of one turn, each of which asks the kernel about up to sixteen addresses; and those that nobody
 * waits for any more, which cost nothing. The others wait for the next turn. */
#define TURN_MAX      32
#define TURN_LEFT_MAX 1024
/* How long addresses of one family wait for those of the other (RFC 8305 3, "Resolution Delay"). */
#define DELAY_S	      0.05

struct lookup_of_name;

/* One of its two questions, for one family, and what was answered. */
struct asked {
	struct dns_question question;
	struct lookup_of_name *lookup; /* borrows; NULL = not asked */
	unsigned count;
	struct addr_brief list[FAMILY_MAX];
};

/* One name that is being looked up, and who waits for it. */
struct lookup_of_name {
	struct list link;
	struct egress_desk_state *desk; /* borrows */
	struct list waiting;            /* struct egress_question; owns until they are answered */
	unsigned waiting_count;
	char name[EGRESS_NAME_MAX];
	int family;
	struct addr_brief source; /* who asked first */
	struct asked asked[2]; /* IPv4 first */
	unsigned open; /* of them */
	bool partly;   /* one of them had no usable answer */
	struct ev_timer delay; /* active while only one of them has an answer, with addresses */
	bool used_half;        /* that was used: nobody waits for the rest */
	int64_t until_ns;      /* when the first good answer ends */
};

struct egress_desk_state {
	struct resolver *resolver; /* borrows */
	struct engine *engine;     /* borrows */
	int route_fd;              /* owns: for the questions of a turn; -1 between turns */
	struct egress_cache cache;
	struct list lookups; /* owns */
	unsigned lookup_count;
	uint64_t known;      /* questions that the cache answered */
	uint64_t looked_up;  /* lookups begun */
	uint64_t failed;     /* lookups without an address */
	uint64_t over_limit; /* questions refused because of the limits */
};

/* ---- answers ---- */

/* Would a connect reach weir itself? */
static bool is_loop(const struct engine *e, const struct addr_brief *a, uint16_t port)
{
	const uint32_t peak = slot_space_peak(&e->live.endpoints);
	struct addr_brief at = *a;
	struct addr to;

	at.port = port;
	addr_of_brief(&to, &at);
	for (uint32_t slot = 0; slot < peak; slot++) {
		const struct endpoint *ep = entries_at(&e->entries, slot);

		if (ep == NULL || addr_port(&ep->addr) != port || addr_is_unix(&ep->addr))
			continue;
		if (addr_is_wildcard(&ep->addr) ||
		    addr_overlaps(&(struct addr_reach){&ep->addr, false}, &(struct addr_reach){&to, false}))
			return true;
	}
	return false;
}

/* The same, also by way of NAT64. */
static bool leads_to_us(const struct engine *e, const struct addr_brief *a, uint16_t port)
{
	struct addr_brief inner;

	return is_loop(e, a, port) || (egress_translated(a, &inner) && is_loop(e, &inner, port));
}

/* What was found, and the way to each address. */
struct routed {
	const struct egress_found *found;
	enum egress_route routes[EGRESS_ADDRESSES_MAX];
};

/* Asks the kernel, anew each time: an address may have become this machine's since the last one. */
static void find_routes(struct egress_desk_state *d, struct routed *r, const struct egress_found *found)
{
	r->found = found;
	for (unsigned i = 0; i < found->count; i++)
		r->routes[i] = egress_route_of(&d->route_fd, &found->list[i]);
}

static void answer(struct egress_desk_state *d, struct egress_question *q, const struct routed *r)
{
	q->outcome = r->found->outcome;
	q->count = r->found->count;
	for (unsigned i = 0; i < q->count; i++) {
		struct egress_address *a = &q->list[i];

		a->addr = r->found->list[i];
		a->route = r->routes[i];
		if (a->route == EGRESS_ROUTE_OWN && leads_to_us(d->engine, &a->addr, q->port))
			a->route = EGRESS_ROUTE_LOOP;
	}
	engine_egress_answer(q);
}

static void answer_without(struct egress_question *q, enum egress_outcome outcome)
{
	q->outcome = outcome;
	q->count = 0;
	engine_egress_answer(q);
}

static bool nobody_waits(const struct egress_question *q)
{
	return atomic_load_explicit(&q->left, memory_order_relaxed);
}

/* ---- lookups ---- */

static struct egress_question *take_waiting(struct lookup_of_name *l, struct list *at)
{
	struct egress_question *q = list_entry(at, struct egress_question, link);

	check(l->waiting_count > 0);
	l->waiting_count--;
	list_remove(&q->link);
	return q;
}

static void drop_those_that_left(struct lookup_of_name *l)
{
	struct list *pos, *tmp;

	list_foreach_safe(&l->waiting, pos, tmp)
		if (nobody_waits(list_entry(pos, struct egress_question, link)))
			answer_without(take_waiting(l, pos), EGRESS_FAILED);
}

/* Clients that ask and leave must not fill the memory while one name is looked up. */
static bool has_room(struct lookup_of_name *l)
{
	if (l->waiting_count >= EGRESS_WAITING_MAX)
		drop_those_that_left(l);
	return l->waiting_count < EGRESS_WAITING_MAX;
}

static void end_lookup(struct lookup_of_name *l)
{
	struct egress_desk_state *d = l->desk;

	check(list_empty(&l->waiting));
	check(d->lookup_count > 0);
	for (unsigned i = 0; i < ARRAY_LEN(l->asked); i++)
		if (l->asked[i].lookup != NULL)
			dns_withdraw(&l->asked[i].question);
	ev_timer_stop(d->resolver->loop, &l->delay);
	d->lookup_count--;
	list_remove(&l->link);
	free(l);
	resolver_let_go_dns(d->resolver);
}

/* Alternates between the families, IPv4 first (RFC 8305 4): if one of them is out of reach, not all tries go
 * there. */
static void gather(const struct lookup_of_name *l, struct egress_found *found)
{
	found->count = 0;
	for (unsigned i = 0; i < FAMILY_MAX; i++)
		for (size_t k = 0; k < ARRAY_LEN(l->asked); k++)
			if (i < l->asked[k].count)
				found->list[found->count++] = l->asked[k].list[i];
	check(found->count <= EGRESS_ADDRESSES_MAX);
	found->outcome = found->count > 0 ? EGRESS_FOUND : l->partly ? EGRESS_FAILED : EGRESS_NOTHING;
}

static int64_t until_ns_of(const struct lookup_of_name *l, bool is_empty, int64_t now_ns)
{
	const int64_t least_ns = now_ns + EGRESS_TTL_MIN_S * NS_PER_SEC;
	const bool is_bad = l->partly || l->open > 0 || is_empty;
	const int64_t most_ns = now_ns + (is_bad ? EGRESS_BAD_TTL_S : EGRESS_TTL_MAX_S) * NS_PER_SEC;

	if (is_empty)
		return most_ns;
	return l->until_ns < least_ns ? least_ns : l->until_ns < most_ns ? l->until_ns : most_ns;
}

/* Remembers what was found, and tells all who wait. Was there an address? */
static bool use_found(struct lookup_of_name *l)
{
	struct egress_desk_state *d = l->desk;
	const int64_t now_ns = clock_mono_ns();
	struct egress_found found;
	struct routed routed;

	gather(l, &found);
	egress_cache_put(&d->cache, l->name, l->family, &found, now_ns,
			 until_ns_of(l, found.count == 0, now_ns));
	drop_those_that_left(l);
	if (!list_empty(&l->waiting))
		find_routes(d, &routed, &found);
	egress_route_close(&d->route_fd);
	while (!list_empty(&l->waiting))
		answer(d, take_waiting(l, l->waiting.next), &routed);
	return found.count > 0;
}

/* The lookup goes on: what it finds in the end is remembered for those who ask later. */
static void on_delay(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct lookup_of_name *l = container_of(timer, struct lookup_of_name, delay);

	(void)loop;
	(void)revents;
	check(l->open > 0);
	l->used_half = true;
	(void)use_found(l); /* that of one family, which is not empty */
}

static void finish(struct lookup_of_name *l)
{
	l->desk->failed += !use_found(l);
	end_lookup(l);
}

/* Not by addr_to_brief(): it would make IPv4 of an IPv4-mapped address, which is refused as what it is. */
static struct addr_brief brief_of(const struct addr *a)
{
	struct addr_brief to = {.family = a->sa.sa_family};

	if (to.family == AF_INET)
		memcpy(to.ip, &a->in.sin_addr, sizeof(a->in.sin_addr));
	else
		memcpy(to.ip, &a->in6.sin6_addr, sizeof(a->in6.sin6_addr));
	return to;
}

static void take_addresses(struct asked *asked, const struct dns_answer *a)
{
	struct lookup_of_name *l = asked->lookup;
	const int64_t until_ns = clock_mono_ns() + (int64_t)a->ttl_s * NS_PER_SEC;

	while (asked->count < a->addr_count && asked->count < FAMILY_MAX) {
		asked->list[asked->count] = brief_of(&a->addrs[asked->count]);
		asked->count++;
	}
	if (until_ns < l->until_ns)
		l->until_ns = until_ns;
	/* RFC 8305 3, for either family: IPv4 is preferred here, and may be the one that is late. */
	if (l->open > 0)
		ev_timer_start(l->desk->resolver->loop, &l->delay);
}

static void on_answer(struct dns_question *question, const struct dns_answer *a)
{
	struct asked *asked = container_of(question, struct asked, question);
	struct lookup_of_name *l = asked->lookup;

	check(l->open > 0);
	l->open--;
	if (a->outcome == NAME_GOOD)
		take_addresses(asked, a);
	else if (a->outcome != NAME_NX)
		l->partly = true;
	if (l->open == 0)
		finish(l);
}

static void ask_dns(struct lookup_of_name *l, enum dns_type type)
{
	struct asked *asked = &l->asked[l->open++];
	const size_t len = strlen(l->name);

	asked->lookup = l;
	asked->question = (struct dns_question){
		.dns = l->desk->resolver->dns, .type = type, .absolute = true, .answered = on_answer};
	memcpy(asked->question.host, l->name, len);
	memcpy(asked->question.host + len, ".", 2);
	dns_ask(&asked->question);
}

static struct lookup_of_name *begin_lookup(struct egress_desk_state *d, const struct egress_question *q)
{
	struct lookup_of_name *l;

	if (resolver_hold_dns(d->resolver) != 0)
		return NULL;
	l = calloc(1, sizeof(*l));
	if (l == NULL) {
		resolver_let_go_dns(d->resolver);
		return NULL;
	}
	l->desk = d;
	list_init(&l->waiting);
	memcpy(l->name, q->name, strlen(q->name) + 1);
	l->family = q->family;
	l->source = q->client;
	ev_timer_init(&l->delay, on_delay, DELAY_S, 0.);
	l->until_ns = INT64_MAX;
	list_push_back(&d->lookups, &l->link);
	d->lookup_count++;
	d->looked_up++;
	if (l->family != AF_INET6)
		ask_dns(l, DNS_A);
	if (l->family != AF_INET)
		ask_dns(l, DNS_AAAA);
	return l;
}

/* ---- questions ---- */

static struct lookup_of_name *find_lookup(const struct egress_desk_state *d, const struct egress_question *q)
{
	for (const struct list *n = d->lookups.next; n != &d->lookups; n = n->next) {
		struct lookup_of_name *l = list_entry(n, struct lookup_of_name, link);

		if (l->family == q->family && strcmp(l->name, q->name) == 0)
			return l;
	}
	return NULL;
}

static bool is_ip(const struct addr_brief *a)
{
	return a->family == AF_INET || a->family == AF_INET6;
}

static bool is_same_source(const struct addr_brief *a, const struct addr_brief *b)
{
	struct source_key x, y;

	if (!is_ip(a) || !is_ip(b))
		return a->family == b->family;
	x = source_key_of(a);
	y = source_key_of(b);
	return x.family == y.family && x.network == y.network;
}

static bool is_over_limit(const struct egress_desk_state *d, const struct addr_brief *source)
{
	unsigned count = 0;

	for (const struct list *n = d->lookups.next; n != &d->lookups; n = n->next)
		count += is_same_source(&list_entry(n, struct lookup_of_name, link)->source, source);
	return d->lookup_count >= EGRESS_QUERIES_MAX || count >= EGRESS_SOURCE_MAX;
}

static void take(struct egress_desk_state *d, struct egress_question *q)
{
	struct egress_found found;
	struct routed routed;
	struct lookup_of_name *l;

	if (egress_cache_find(&d->cache, q->name, q->family, clock_mono_ns(), &found)) {
		d->known++;
		find_routes(d, &routed, &found);
		answer(d, q, &routed);
		return;
	}
	l = find_lookup(d, q);
	if (l != NULL && l->used_half) {
		end_lookup(l); /* what it found is no longer remembered: all is asked again */
		l = NULL;
	}
	if (l == NULL ? is_over_limit(d, &q->client) : !has_room(l)) {
		d->over_limit++;
		answer_without(q, EGRESS_TOO_MANY);
		return;
	}
	if (l == NULL)
		l = begin_lookup(d, q);
	if (l == NULL) {
		answer_without(q, EGRESS_FAILED);
		return;
	}
	list_push_back(&l->waiting, &q->link);
	l->waiting_count++;
}

/* Those of a turn. False: there may be more. */
static bool take_some(struct egress_desk_state *d)
{
	unsigned taken = 0, left = 0;

	while (taken < TURN_MAX && left < TURN_LEFT_MAX) {
		struct egress_question *q = engine_egress_take(d->engine);

		if (q == NULL)
			return true;
		if (nobody_waits(q)) {
			answer_without(q, EGRESS_FAILED);
			left++;
		} else {
			take(d, q);
			taken++;
		}
	}
	return false;
}

void egress_desk_heed(struct egress_desk_state *d)
{
	if (d == NULL)
		return;
	if (!take_some(d))
		d->engine->notify(d->engine->notify_arg);
	egress_route_close(&d->route_fd);
}

/* ---- life ---- */

struct egress_desk_state *egress_desk_new(struct resolver *r, struct engine *e)
{
	struct egress_desk_state *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return NULL;
	d->resolver = r;
	d->engine = e;
	d->route_fd = -1;
	list_init(&d->lookups);
	egress_cache_init(&d->cache);
	return d;
}

void egress_desk_free(struct egress_desk_state *d)
{
	if (d == NULL)
		return;
	while (!list_empty(&d->lookups)) {
		struct lookup_of_name *l = list_entry(d->lookups.next, struct lookup_of_name, link);

		while (!list_empty(&l->waiting))
			answer_without(take_waiting(l, l->waiting.next), EGRESS_FAILED);
		end_lookup(l);
	}
	egress_cache_free(&d->cache);
	free(d);
}

/* ---- figures ---- */

void egress_desk_publish(void *desk, figure_report *report, void *to)
{
	static const struct figure rows[] = {
		{"egress_names", FIGURE_GAUGE, "names of servers sni@ that are remembered"},
		{"egress_lookups", FIGURE_GAUGE, "such names that are being looked up"},
		{"egress_known", FIGURE_TOTAL, "questions about such names that needed no lookup"},
		{"egress_looked_up", FIGURE_TOTAL, "lookups of such names"},
		{"egress_failed", FIGURE_TOTAL, "lookups of such names that found no address"},
		{"egress_over_limit", FIGURE_TOTAL, "questions refused, as too many names were looked up"},
		{"egress_left_early", FIGURE_TOTAL, "such names forgotten before their time to make room"},
	};
	const struct egress_desk_state *d = desk;
	const uint64_t values[ARRAY_LEN(rows)] = {
		d != NULL ? d->cache.count : 0, d != NULL ? d->lookup_count : 0,
		d != NULL ? d->known : 0,       d != NULL ? d->looked_up : 0,
		d != NULL ? d->failed : 0,      d != NULL ? d->over_limit : 0,
		d != NULL ? d->cache.left_early : 0,
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		report(to, &rows[i], values[i]);
}
