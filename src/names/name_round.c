/* SPDX-License-Identifier: MIT
 *
 * name_round.c - all questions about one name that are asked together, and what comes of them.
 *
 * Owns the questions. Without memory a question counts as one without a usable answer, so that what is known
 * is held. Control thread.
 */
#include "name_round.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/hash.h"

/* The question for SRV: the others depend on it. */
#define ORIGIN_ALL 0

struct asked {
	struct list link;
	struct name_round *round;
	struct dns_question question;
	struct name_address pattern; /* what its addresses have besides */
	uint16_t port;
	uint64_t origin;
};

static void on_answer(struct dns_question *q, const struct dns_answer *a);

/* Makes room for one more; NULL without memory. */
static void *grow(void *list, size_t count, size_t *room, size_t size)
{
	const size_t more = *room > 0 ? 2 * *room : 8;
	void *bigger;

	if (count < *room)
		return list;
	bigger = realloc(list, more * size);
	if (bigger != NULL)
		*room = more;
	return bigger;
}

static void add_gap(struct name_round *r, uint64_t origin, enum name_outcome outcome, const char *why)
{
	struct name_gap *gaps = grow(r->gaps, r->gap_count, &r->gap_room, sizeof(*gaps));

	if (r->why == NULL || outcome != NAME_NX)
		r->why = why;
	if (gaps == NULL) {
		r->no_memory = true;
		return;
	}
	r->gaps = gaps;
	r->gaps[r->gap_count++] = (struct name_gap){origin, outcome};
}

static void set_port(struct addr *a, uint16_t port)
{
	if (a->sa.sa_family == AF_INET)
		a->in.sin_port = htons(port);
	else
		a->in6.sin6_port = htons(port);
}

static void add_found(struct name_round *r, const struct asked *by, const struct addr *a)
{
	struct name_found *found;

	if (r->found_count == NAME_ADDRESSES_MAX)
		return;
	found = grow(r->found, r->found_count, &r->found_room, sizeof(*found));
	if (found == NULL) {
		r->no_memory = true;
		return;
	}
	r->found = found;
	found += r->found_count;
	*found = (struct name_found){.address = by->pattern, .origin = by->origin};
	found->address.addr = *a;
	found->address.rank = (uint16_t)r->found_count++;
	set_port(&found->address.addr, by->port);
}

static void note_ttl(struct name_round *r, uint32_t ttl_s)
{
	if (ttl_s < r->ttl_s)
		r->ttl_s = ttl_s;
}

/* ---- questions ---- */

static uint64_t origin_of(const char *host, uint16_t port, enum dns_type type)
{
	const uint64_t hash = hash_bytes(host, strlen(host), ((uint64_t)port << 8) | (uint64_t)type);

	return hash != ORIGIN_ALL ? hash : 1;
}

/* Adds a question, which is asked when the round has them all. */
static void add(struct name_round *r, const struct asked *like, enum dns_type type, const char *host)
{
	struct asked *a = malloc(sizeof(*a));
	const uint64_t origin = type == DNS_SRV ? ORIGIN_ALL : origin_of(host, like->port, type);
	const size_t len = strlen(host);

	if (a == NULL) {
		add_gap(r, origin, NAME_OTHER, "no memory");
		return;
	}
	*a = *like;
	a->round = r;
	a->origin = origin;
	a->question = (struct dns_question){.dns = r->dns, .type = type, .answered = on_answer};
	check(len < sizeof(a->question.host));
	memcpy(a->question.host, host, len + 1);
	list_init(&a->question.link);
	list_push_back(&r->asked, &a->link);
	r->open++;
}

static void add_host(struct name_round *r, const struct asked *like, const char *host)
{
	if (r->family != AF_INET6)
		add(r, like, DNS_A, host);
	if (r->family != AF_INET)
		add(r, like, DNS_AAAA, host);
}

/* Ends the round if no answer is awaited; it may be gone then. */
static void end_if_done(struct name_round *r)
{
	if (r->open > 0)
		return;
	r->begun = false;
	if (r->no_memory)
		add_gap(r, ORIGIN_ALL, NAME_OTHER, "no memory");
	r->ended(r);
}

/* Asks this question and those after it. */
static void ask_from(struct name_round *r, struct list *first)
{
	for (struct list *l = first; l != &r->asked; l = l->next)
		dns_ask(&list_entry(l, struct asked, link)->question);
}

/* ---- answers ---- */

static bool is_family(const struct name_round *r, const struct addr *a)
{
	return r->family == AF_UNSPEC || r->family == a->sa.sa_family;
}

/* The addresses of a target that came with it; false if there are none. */
static bool use_extras(struct name_round *r, const struct asked *like, const struct srv_answer *srv,
		       const char *host)
{
	bool any = false;

	for (size_t i = 0; i < srv->extra_count; i++) {
		const struct srv_extra *e = &srv->extras[i];
		struct asked by = *like;

		if (strcmp(e->host, host) != 0 || !is_family(r, &e->addr))
			continue;
		by.origin = origin_of(host, like->port, e->addr.sa.sa_family == AF_INET ? DNS_A : DNS_AAAA);
		add_found(r, &by, &e->addr);
		any = true;
	}
	return any;
}

static void take_targets(struct name_round *r, const struct srv_answer *srv)
{
	struct list *last = r->asked.prev;

	for (size_t i = 0; i < srv->target_count; i++) {
		const struct srv_target *t = &srv->targets[i];
		const struct asked like = {
			.pattern = {.weight = t->weight, .priority = t->priority}, .port = t->port};

		if (!use_extras(r, &like, srv, t->host))
			add_host(r, &like, t->host);
	}
	ask_from(r, last->next);
}

static void on_answer(struct dns_question *q, const struct dns_answer *answer)
{
	struct asked *a = container_of(q, struct asked, question);
	struct name_round *r = a->round;

	list_remove(&a->link);
	if (answer->outcome == NAME_GOOD) {
		note_ttl(r, answer->ttl_s);
		r->server = answer->server;
		for (size_t i = 0; i < answer->addr_count; i++)
			add_found(r, a, &answer->addrs[i]);
		if (answer->srv != NULL)
			take_targets(r, answer->srv);
	} else {
		add_gap(r, a->origin, answer->outcome, answer->why);
	}
	free(a);
	check(r->open > 0);
	r->open--;
	end_if_done(r);
}

/* ---- a round ---- */

void name_round_init(struct name_round *r, void (*ended)(struct name_round *round))
{
	*r = (struct name_round){.ended = ended};
	list_init(&r->asked);
}

int name_round_begin(struct name_round *r, struct dns *dns, const struct name_wish *wish)
{
	const struct asked like = {.pattern = {.weight = 1}, .port = wish->port};

	check(!r->begun);
	name_round_clear(r);
	r->dns = dns;
	r->family = wish->family;
	if (wish->kind == NAME_SRV)
		add(r, &like, DNS_SRV, wish->host);
	else
		add_host(r, &like, wish->host);
	r->begun = r->open > 0;
	ask_from(r, r->asked.next);
	return r->begun ? 0 : -ENOMEM;
}

struct name_result name_round_result(const struct name_round *r)
{
	check(!r->begun);
	return (struct name_result){r->found, r->found_count, r->gaps, r->gap_count};
}

void name_round_clear(struct name_round *r)
{
	while (!list_empty(&r->asked)) {
		struct asked *a = list_entry(r->asked.next, struct asked, link);

		dns_withdraw(&a->question);
		list_remove(&a->link);
		free(a);
	}
	free(r->found);
	free(r->gaps);
	r->found = NULL;
	r->gaps = NULL;
	r->found_count = r->found_room = r->gap_count = r->gap_room = 0;
	r->open = 0;
	r->begun = false;
	r->no_memory = false;
	r->ttl_s = UINT32_MAX;
	r->server = NAME_SERVERS_MAX;
	r->why = NULL;
}
