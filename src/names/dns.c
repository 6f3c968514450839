/* SPDX-License-Identifier: MIT
 *
 * dns.c - questions to name servers: which one is asked, and what follows from its reply.
 *
 * Owns the name servers and their counts, and requests under way, which outlive a question that is withdrawn.
 * dns_wire.c has the library. Control thread.
 */
#include "dns.h"

#include <ares.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/config/config.h"
#include "dns_wire.h"
#include "resolv_conf.h"

/* Questions under way at a time. The rest waits for its turn: the answers to more would not fit into the
 * receive buffer of a socket. */
#define IN_FLIGHT_MAX 128
/* Of these, kept free for questions about names in the configuration. */
#define RESERVED      32
/* A name server that has failed so often in a row is asked after the others, until this time has passed. */
#define FAILING	      2
#define FAILING_NS    (10 * NS_PER_SEC)
/* How often resolv.conf is looked at, at most. */
#define LOOK_NS	      NS_PER_SEC

struct name_server {
	struct list link; /* among those that are not asked any more; they end with their last request */
	struct dns_channel channel;
	struct dns_channel absolute; /* for questions without search domains; opened by the first */
	struct addr addr;
	struct name_server_view view;
	unsigned failing; /* in a row */
	int64_t failed_ns;
};

struct dns_request {
	struct dns *dns;
	struct name_server *server;    /* borrows: it stays while the request is under way */
	struct dns_question *question; /* NULL = withdrawn */
};

struct dns {
	struct dns_wire wire;
	struct name_server *servers[NAME_SERVERS_MAX]; /* own */
	unsigned server_count;
	struct list left;    /* owns */
	struct list waiting; /* questions; borrows */
	struct list absolute; /* the same, of those that strangers cause: the others come first */
	unsigned in_flight;
	struct name_server_counts left_counts; /* of those that are gone */
	const char *path;
	struct file_seen seen;
	int64_t look_ns; /* when resolv.conf is looked at again */
	struct resolv_conf conf;
	struct config_resolvers given; /* none = those of resolv.conf */
	bool stale;
};

static void try_again(struct dns_question *q);
static void give_up(struct dns_question *q);
static void on_idle(void *arg);

bool dns_is_built(void)
{
	return true;
}

const char *dns_version(void)
{
	return ares_version(NULL);
}

/* ---- name servers ---- */

static void name_it(struct name_server *s)
{
	char text[ADDR_TEXT_MAX];
	char *port;

	(void)addr_format(&s->addr, text);
	port = strrchr(text, ':');
	if (port != NULL && strcmp(port, ":53") == 0)
		*port = '\0';
	(void)snprintf(s->view.name, sizeof(s->view.name), "%.*s", NAME_SERVER_NAME_MAX - 1, text);
}

static void server_free(struct dns *d, struct name_server *s)
{
	dns_channel_close(&s->channel);
	dns_channel_close(&s->absolute);
	name_server_counts_add(&d->left_counts, &s->view.counts);
	list_remove(&s->link);
	free(s);
}

static struct name_server *server_new(const struct addr *a)
{
	struct name_server *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	list_init(&s->link);
	s->addr = *a;
	s->channel.truncated = &s->view.counts.truncated;
	s->absolute.truncated = &s->view.counts.truncated;
	name_it(s);
	return s;
}

/* Those that are no longer asked and await nothing. */
static void free_left(struct dns *d)
{
	struct list *node, *next;

	list_foreach_safe(&d->left, node, next) {
		struct name_server *s = list_entry(node, struct name_server, link);

		if (s->channel.awaited == 0 && s->absolute.awaited == 0)
			server_free(d, s);
	}
}

/* One that stays keeps its counts, but not its channel: search domains may be others. */
static struct name_server *server_of(struct name_server **before, unsigned count, const struct addr *a)
{
	struct name_server *next = server_new(a);

	for (unsigned i = 0; i < count && next != NULL; i++) {
		if (before[i] == NULL || !addr_equal(&before[i]->addr, a))
			continue;
		next->view.counts = before[i]->view.counts;
		next->failing = before[i]->failing;
		next->failed_ns = before[i]->failed_ns;
		before[i]->view.counts = (struct name_server_counts){0};
		break;
	}
	return next;
}

static void use_servers(struct dns *d, const struct addr *list, size_t count)
{
	struct name_server *before[NAME_SERVERS_MAX];
	const unsigned before_count = d->server_count;

	memcpy(before, d->servers, sizeof(before));
	d->server_count = 0;
	for (size_t i = 0; i < count && d->server_count < NAME_SERVERS_MAX; i++) {
		struct name_server *s = server_of(before, before_count, &list[i]);

		if (s != NULL)
			d->servers[d->server_count++] = s;
		else
			d->stale = true; /* no memory: the next question tries again */
	}
	for (unsigned i = 0; i < before_count; i++)
		list_push_back(&d->left, &before[i]->link);
}

/* Is it time, and is the configuration another one? */
static void look(struct dns *d)
{
	const int64_t now_ns = clock_mono_ns();

	if (now_ns >= d->look_ns) {
		d->look_ns = now_ns + LOOK_NS;
		if (file_seen_changed(&d->seen, d->path)) {
			resolv_conf_read(&d->conf, d->path);
			d->stale = true;
		}
	}
	if (!d->stale)
		return;
	d->stale = false;
	if (d->given.count > 0)
		use_servers(d, d->given.list, d->given.count);
	else
		use_servers(d, d->conf.servers, d->conf.server_count);
}

/* The first that works, or the first. */
static unsigned first_server(const struct dns *d)
{
	const int64_t now_ns = clock_mono_ns();

	for (unsigned i = 0; i < d->server_count; i++)
		if (d->servers[i]->failing < FAILING || now_ns - d->servers[i]->failed_ns >= FAILING_NS)
			return i;
	return 0;
}

static void note_result(struct name_server *s, bool failed)
{
	s->failing = failed ? s->failing + 1 : 0;
	if (failed)
		s->failed_ns = clock_mono_ns();
}

/* ---- life ---- */

struct dns *dns_new(struct ev_loop *loop, int *err)
{
	struct dns *d = calloc(1, sizeof(*d));

	*err = -ENOMEM;
	if (d == NULL)
		return NULL;
	dns_wire_init(&d->wire, loop);
	d->wire.idle = on_idle;
	d->wire.arg = d;
	list_init(&d->left);
	list_init(&d->waiting);
	list_init(&d->absolute);
	d->path = RESOLV_CONF_PATH;
	*err = dns_wire_open(&d->wire);
	if (!*err)
		return d;
	free(d);
	return NULL;
}

void dns_free(struct dns *d)
{
	if (d == NULL)
		return;
	check(list_empty(&d->waiting));
	check(list_empty(&d->absolute));
	for (unsigned i = 0; i < d->server_count; i++)
		list_push_back(&d->left, &d->servers[i]->link);
	d->server_count = 0;
	while (!list_empty(&d->left))
		server_free(d, list_entry(d->left.next, struct name_server, link));
	check(d->in_flight == 0);
	dns_wire_close(&d->wire);
	free(d);
}

void dns_configure(struct dns *d, const struct config_resolvers *servers)
{
	d->given = *servers;
	d->stale = true;
}

void dns_set_path(struct dns *d, const char *resolv_conf)
{
	d->path = resolv_conf;
	d->look_ns = 0;
}

/* ---- counts ---- */

/* A name server may have been replaced meanwhile; then its answers count for nobody. */
void dns_count_update(struct dns *d, unsigned server)
{
	if (server < d->server_count)
		d->servers[server]->view.counts.update++;
}

size_t dns_read_servers(const struct dns *d, struct name_server_view list[NAME_SERVERS_MAX])
{
	for (unsigned i = 0; i < d->server_count; i++)
		list[i] = d->servers[i]->view;
	return d->server_count;
}

void dns_read_totals(const struct dns *d, struct name_server_counts *totals)
{
	*totals = d->left_counts;
	for (unsigned i = 0; i < d->server_count; i++)
		name_server_counts_add(totals, &d->servers[i]->view.counts);
	for (const struct list *l = d->left.next; l != &d->left; l = l->next)
		name_server_counts_add(totals, &list_entry(l, struct name_server, link)->view.counts);
}

/* What a reply means: for the question, and for the count. */
static const struct meaning {
	size_t count; /* offset of a uint64_t */
	bool ends;    /* an answer; otherwise another name server may know better */
	enum name_outcome outcome;
	const char *why;
} meanings[] = {
#define COUNT(member) offsetof(struct name_server_counts, member)
	[DNS_VALID] = {COUNT(valid), true, NAME_GOOD, ""},
	[DNS_NO_DATA] = {COUNT(any_err), true, NAME_NX, "the name has no address"},
	[DNS_NX] = {COUNT(nx), true, NAME_NX, "the name does not exist (NXDOMAIN)"},
	[DNS_REFUSED] = {COUNT(refused), false, NAME_REFUSED, "the name server refuses to answer (REFUSED)"},
	[DNS_FAILED] = {COUNT(other), false, NAME_OTHER, "the name server failed (SERVFAIL or similar)"},
	[DNS_INVALID] = {COUNT(invalid), false, NAME_OTHER, "the answer is malformed"},
	[DNS_SILENT] = {COUNT(timeout), false, NAME_TIMEOUT, "the name server does not answer"},
	[DNS_UNSENT] = {COUNT(snd_error), false, NAME_TIMEOUT, "the name server cannot be reached"},
	[DNS_NO_MEMORY] = {COUNT(other), false, NAME_OTHER, "no memory"},
#undef COUNT
};

static void count(struct name_server *s, const struct dns_reply *reply)
{
	*(uint64_t *)(void *)((char *)&s->view.counts + meanings[reply->status].count) += 1;
	s->view.counts.cname += reply->by_cname && reply->status == DNS_VALID;
	s->view.counts.cname_error += reply->by_cname && reply->status == DNS_NO_DATA;
	note_result(s, !meanings[reply->status].ends);
}

/* ---- questions ---- */

static void answer(struct dns_question *q, const struct dns_answer *a)
{
	q->request = NULL;
	q->answered(q, a);
}

static unsigned index_of(const struct dns *d, const struct name_server *s)
{
	for (unsigned i = 0; i < d->server_count; i++)
		if (d->servers[i] == s)
			return i;
	return NAME_SERVERS_MAX;
}

/* Says more than a name server that is silent. */
static void note_worst(struct dns_question *q, const struct meaning *m)
{
	if (q->why != NULL && (q->outcome != NAME_TIMEOUT || m->outcome == NAME_TIMEOUT))
		return;
	q->outcome = m->outcome;
	q->why = m->why;
}

static void take_reply(struct dns_question *q, const struct name_server *s, const struct dns_reply *reply)
{
	const struct meaning *m = &meanings[reply->status];
	const struct dns_answer a = {
		.outcome = m->outcome,
		.why = m->why,
		.ttl_s = reply->ttl_s,
		.addrs = reply->addrs,
		.addr_count = reply->addr_count,
		.srv = reply->srv,
		.server = index_of(q->dns, s),
	};

	if (m->ends) {
		answer(q, &a);
		return;
	}
	note_worst(q, m);
	/* To ask again the one that has just refused, or failed, brings nothing. */
	if (m->outcome != NAME_TIMEOUT && q->tries >= q->dns->server_count)
		give_up(q);
	else
		try_again(q);
}

static void on_reply(void *arg, const struct dns_reply *reply)
{
	struct dns_request *r = arg;
	struct dns_question *q = r->question;
	struct name_server *s = r->server;
	struct dns *d = r->dns;

	check(d->in_flight > 0);
	d->in_flight--;
	count(s, reply);
	s->view.counts.outdated += q == NULL && meanings[reply->status].ends;
	free(r);
	if (q != NULL) {
		q->request = NULL;
		take_reply(q, s, reply);
	}
}

/* If they are silent: every name server twice, and a single one three times. */
static unsigned tries_of(const struct dns *d)
{
	return d->server_count > 1 ? 2 * d->server_count : 3;
}

static void give_up(struct dns_question *q)
{
	const struct dns_answer a = {
		.outcome = q->outcome, .why = q->why, .ttl_s = UINT32_MAX, .server = NAME_SERVERS_MAX};

	answer(q, &a);
}

static void without_memory(struct dns_question *q)
{
	q->outcome = NAME_OTHER;
	q->why = "no memory";
	give_up(q);
}

static void ask_server(struct dns_question *q, struct name_server *s)
{
	struct dns *d = q->dns;
	struct dns_channel *channel = q->absolute ? &s->absolute : &s->channel;
	struct dns_request *r;

	if (!dns_channel_is_open(channel) &&
	    dns_channel_open(channel, &d->wire, &s->addr, q->absolute ? NULL : &d->conf) != 0) {
		without_memory(q);
		return;
	}
	r = malloc(sizeof(*r));
	if (r == NULL) {
		without_memory(q);
		return;
	}
	*r = (struct dns_request){d, s, q};
	q->request = r;
	d->in_flight++;
	s->view.counts.sent++;
	dns_channel_ask(channel, q->type, q->host, on_reply, r);
}

static void try_again(struct dns_question *q)
{
	struct dns *d = q->dns;

	if (d->server_count == 0) {
		without_memory(q);
		return;
	}
	if (q->tries == tries_of(d)) {
		give_up(q);
		return;
	}
	ask_server(q, d->servers[(q->first + q->tries++) % d->server_count]);
}

static void begin(struct dns_question *q)
{
	look(q->dns);
	q->first = first_server(q->dns);
	try_again(q);
}

/* An answer may come at once, and ask others: those are next. */
static void ask_from(struct list *waiting, const struct dns *d, unsigned most)
{
	while (!list_empty(waiting) && d->in_flight < most) {
		struct dns_question *q = list_entry(waiting->next, struct dns_question, link);

		list_remove(&q->link);
		begin(q);
	}
}

static void ask_next(struct dns *d)
{
	ask_from(&d->waiting, d, IN_FLIGHT_MAX);
	ask_from(&d->absolute, d, IN_FLIGHT_MAX - RESERVED);
}

static void on_idle(void *arg)
{
	free_left(arg);
	ask_next(arg);
}

void dns_ask(struct dns_question *q)
{
	struct dns *d = q->dns;

	q->request = NULL;
	q->tries = 0;
	q->outcome = NAME_TIMEOUT;
	q->why = NULL;
	list_init(&q->link);
	list_push_back(q->absolute ? &d->absolute : &d->waiting, &q->link);
	dns_wire_kick(&d->wire);
}

void dns_withdraw(struct dns_question *q)
{
	list_remove(&q->link);
	if (q->request != NULL)
		q->request->question = NULL;
	q->request = NULL;
}
