/* SPDX-License-Identifier: MIT
 *
 * rig.c - real workers of one engine over the modelled kernel: their turns, and what holds after each.
 *
 * Owns engine and workers of one seed. Fails the seed when an invariant of reliability.md breaks
 * (I1, I13). One thread. Tests only.
 */
#include "rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/clock.h"
#include "cover.h"
#include "engine/extra.h"
#include "model.h"
#include "peers.h"
#include "rig_config.h"

/* Sockets of sessions whose generations are watched, in a seed that gives pages back. */
#define RIG_SOCKS 128

#define CHANGING_TURNS 600u /* a multiple of 3 */

struct rig rig;

/* What was last seen at the place of a socket. */
static struct seen {
	const struct io_sock *sock;
	uint32_t number; /* of the session */
	uint16_t gen;
	bool away; /* its page has been given back since */
} seen[RIG_SOCKS];
static int seen_count;

static void no_news(void *arg)
{
	(void)arg; /* control is not here */
}

/* In the place of sock_bind() and sock_start(). What is bound listens, but nobody knows of it yet. */
int rig_bind(struct addr *a, const struct sock_listen *opt);
int rig_start(int fd, int backlog);

/* All addresses with one port overlap. */
static bool is_taken(uint16_t port, bool shares)
{
	for (int i = 0; i < model.listener_top && port != 0; i++) {
		const struct mlistener *l = &model.listeners[i];

		if (l->fds > 0 && l->port == port && !(shares && l->shares))
			return true;
	}
	return false;
}

int rig_bind(struct addr *a, const struct sock_listen *opt)
{
	struct mlistener *l;
	int fd;

	if (is_taken(addr_port(a), opt->share_port))
		return -EADDRINUSE;
	fd = msock_listen(!addr_is_unix(a), true);
	if (fd < 0)
		return fd;
	l = mfile_get(fd)->listener;
	l->port = addr_port(a);
	l->shares = opt->share_port;
	if (opt->share_port)
		cover(COVER_RELOAD_OVERLAP);
	return fd;
}

int rig_start(int fd, int backlog)
{
	(void)fd;
	(void)backlog;
	return rig.engine.entries.is_open && site(SITE_LISTEN_INUSE) ? -EADDRINUSE : 0;
}

static void open_endpoints(struct engine *e)
{
	struct endpoint *failed;
	const int err = entries_bind(&e->entries, &failed);

	if (err)
		sim_fail("entries_bind: %d", err);
}

static void set_limits(struct engine *e)
{
	engine_set_maxconn(e, rig.maxconn);
	if (sim_seed % 13 == 5)
		engine_set_process_rate(e, 3);
	if (rig.worker_count > 1 && prng_chance(&model.rng, 50))
		e->limits.maxpipes = 64; /* workers keep some */
}

static void make_pools(struct engine *e)
{
	struct prng *r = &model.rng;

	pipe_pool_init(&e->pipes, prng_chance(r, 20) ? prng_below(r, 3) : 64, e->config->global.pipe_size,
		       prng_chance(r, 30) ? prng_below(r, 1u << 20) : UINT64_MAX);
	/* Memory is the one thing that a session may die of; then nobody is owed anything. */
	if (prng_chance(r, 2)) {
		peers.excuse_all = true;
		buf_pool_init(&e->bufs, prng_below(r, 1u << 17));
	} else {
		buf_pool_init(&e->bufs, UINT64_C(1) << 30);
	}
}

static void make_workers(struct engine *e, const struct io_driver *driver)
{
	int err = 0;

	e->workers = calloc(rig.worker_count, sizeof(struct worker *));
	e->worker_count = rig.worker_count;
	for (unsigned i = 0; i < rig.worker_count; i++) {
		e->workers[i] = worker_make(e, i, driver, &err);
		if (e->workers[i] == NULL)
			sim_fail("worker_make: %d", err);
	}
	for (unsigned i = 0; i < rig.worker_count; i++) {
		struct worker *w = e->workers[i];

		err = worker_listen(w);
		if (err)
			sim_fail("worker_listen: %d", err);
		if (prng_chance(&model.rng, 50))
			w->loop.far_ns = NS_PER_MS; /* the alarm has something to do */
		if (rig.gives_pages_back)
			w->slab.page_slots = 1 + sim_seed / 4 % 2;
	}
	rig.worker = e->workers[0];
}

void rig_open(const struct rig_options *o)
{
	const struct config *config;
	int err;

	rig.turns = 0;
	memset(rig.rests, 0, sizeof(rig.rests));
	rig.worker_count = o->workers;
	rig.gives_pages_back = sim_seed % 4 == 1; /* takes no random number */
	rig.changes_settings = o->workers == 1 && o->splice == RIG_SPLICE_RANDOM && sim_seed % 16 == 11;
	seen_count = 0;
	config = rig_configure(o->splice);
	err = engine_init(&rig.engine, config, o->notify != NULL ? o->notify : no_news, NULL);
	if (err)
		sim_fail("engine_init: %d", err);
	set_limits(&rig.engine);
	make_pools(&rig.engine);
	open_endpoints(&rig.engine);
	make_workers(&rig.engine, o->driver);
}

/* ---- a turn ---- */

static void check_flow(struct flow *f)
{
	if (f->state == FLOW_DEAD)
		return;
	if (f->bytes_in != f->bytes_out + flow_held(f))
		sim_fail("I1: a flow took %lu, gave %lu, holds %u", (unsigned long)f->bytes_in,
			 (unsigned long)f->bytes_out, flow_held(f));
	if (f->pipe != NULL && f->buf == NULL && f->pipe->bytes == 0 && !io_is_pending(&f->rd) &&
	    !io_is_pending(&f->wr))
		sim_fail("a flow keeps an empty pipe");
}

static void check_sessions(const struct list *live)
{
	struct list *pos;
	struct list *tmp;

	list_foreach_safe(live, pos, tmp)
	{
		struct session *s = list_entry(pos, struct session, link);

		for (int i = 0; i < 2; i++)
			check_flow(&s->flows[i]);
		if (s->state == SESSION_HANDSHAKE && s->extra->head != NULL)
			cover(COVER_HEADER_IN_PIECES);
		if (s->state == SESSION_SNIFFING && s->extra->head != NULL)
			cover(COVER_HELLO_IN_PIECES);
		if (s->state == SESSION_SNIFFING && s->extra->sniffed_late)
			cover(COVER_HELLO_LATE);
		if (s->state == SESSION_CONNECTING && flow_held(&s->flows[FLOW_TO_SERVER]) > 0)
			cover(COVER_HELD_WHILE_CONNECTING);
		if (s->state == SESSION_FORWARDING && s->extra != NULL &&
		    s->flows[FLOW_TO_SERVER].bytes_out < s->extra->header_sent)
			cover(COVER_HEADER_HELD);
	}
}

static struct seen *find_seen(const struct io_sock *sock)
{
	for (int i = 0; i < seen_count; i++)
		if (seen[i].sock == sock)
			return &seen[i];
	if (seen_count == RIG_SOCKS)
		return NULL;
	seen[seen_count] = (struct seen){.sock = sock};
	return &seen[seen_count++];
}

static void check_generation(const struct session *s, const struct io_sock *sock)
{
	struct seen *was = sock->fd >= 0 ? find_seen(sock) : NULL;

	if (was == NULL)
		return;
	if (was->gen != 0 && was->number != s->number) {
		if ((int16_t)(uint16_t)(sock->gen - was->gen) <= 0)
			sim_fail("a socket has generation %u, the last one there had %u: events are mistaken",
				 sock->gen, was->gen);
		if (was->away)
			cover(COVER_PAGE_AGAIN);
	}
	*was = (struct seen){.sock = sock, .number = s->number, .gen = sock->gen};
}

/* Each session is later than those that had its memory before, and a page that is away reads as zeros. */
static void check_generations(const struct list *live)
{
	struct list *pos;
	struct list *tmp;

	for (int i = 0; i < seen_count; i++)
		seen[i].away |= seen[i].sock->gen == 0;
	list_foreach_safe(live, pos, tmp)
	{
		const struct session *s = list_entry(pos, struct session, link);

		for (int i = 0; i < 2; i++)
			check_generation(s, &s->sides[i].sock);
	}
}

/* In some seeds all sessions with a server are to end now and then. */
static void evict_some(void)
{
	struct server *server = rig_server(rig.turns / 7 % rig_server_count());
	struct list *pos;
	struct list *tmp;

	if (!rig.has_evictions || rig.turns % 7 != 0)
		return;
	if (rig.turns % 21 == 0) {
		engine_kill_sessions(&rig.engine, server);
		return;
	}
	engine_close_sessions(&rig.engine, server);
	list_foreach_safe(&rig.worker->live, pos, tmp)
	{
		const struct session *s = list_entry(pos, struct session, link);

		if (s->server_counted && s->at->server == server && s->state == SESSION_CONNECTING)
			cover(s->connect_again ? COVER_EVICTED_PAUSING : COVER_EVICTED_CONNECTING);
	}
}

static struct frontend *first_frontend(void)
{
	return list_entry(rig.engine.entries.frontends.next, struct frontend, link);
}

/* In some seeds control changes what workers read, for a while: its mail leaves the worker no time to sleep.
 * A listener that a low limit has paused must be woken by the higher one, or its clients are never served. */
static void change_settings(void)
{
	static const enum config_splice modes[] = {CONFIG_SPLICE_ON, CONFIG_SPLICE_OFF, CONFIG_SPLICE_AUTO};
	struct engine *e = &rig.engine;
	struct engine_limits limits = e->limits;

	if (!rig.changes_settings || rig.turns % 3 != 0 || rig.turns > CHANGING_TURNS)
		return;
	engine_set_splice(e, modes[rig.turns / 3 % 3]);
	limits.maxconn = rig.turns % 2 == 0 && rig.turns < CHANGING_TURNS ? 1 : 100;
	limits.maxpipes = rig.turns % 9 == 0 ? 1 : 64;
	limits.pipe_bytes = e->config->global.pipe_size;
	limits.pipe_budget_bytes = rig.turns % 15 == 0 ? 1 << 18 : UINT64_MAX;
	limits.buf_budget_bytes = e->bufs.budget_bytes; /* a session may die of a lower one */
	engine_set_limits(e, &limits);
	engine_set_rate_limit(e, first_frontend(), rig.turns / 3 % 4);
	engine_set_process_rate(e, rig.turns / 3 % 7 == 2 ? 2 : 0);
	engine_set_pipe_cycle(e, rig.turns % 2 * NS_PER_MS);
}

/* As its thread does at once. */
static void rest(struct worker *w)
{
	io_loop_release(&w->loop);
	pipe_cache_free(&w->loop.pipes);
	buf_cache_free(&w->loop.bufs);
	atomic_store(&w->pong, WORKER_ENDED);
	atomic_fetch_add(&rig.engine.workers_done, 1);
	rig.engine.notify(rig.engine.notify_arg);
	rig.rests[w->index] = true;
}

void rig_turn_worker(struct worker *w)
{
	if (w->finished) {
		model.idle = rig.rests[w->index];
		model.waited_ns = -1;
		if (!rig.rests[w->index])
			rest(w);
		return;
	}
	model.calls_at_turn = model.calls;
	worker_turn(w);
	check_sessions(&w->live);
	if (rig.gives_pages_back)
		check_generations(&w->live);
}

void rig_turn(void)
{
	rig.turns++;
	if (!rig.worker->finished) {
		evict_some();
		change_settings();
	}
	peers.in_turn = true;
	rig_turn_worker(rig.worker);
	peers.in_turn = false;
}

/* ---- questions ---- */

unsigned rig_server_count(void)
{
	unsigned count = 0;

	for (size_t b = 0; b < rig.engine.backend_count; b++)
		count += (unsigned)rig.engine.backends[b]->server_count;
	return count;
}

struct server *rig_server(unsigned i)
{
	for (size_t b = 0;; b++) {
		const struct backend *backend = rig.engine.backends[b];

		if (i < backend->server_count)
			return backend->servers[i];
		i -= (unsigned)backend->server_count;
	}
}

/* Counts down; NULL when there are fewer. */
static struct endpoint *find_endpoint(const struct list *frontends, unsigned *i)
{
	for (const struct list *l = frontends->next; l != frontends; l = l->next) {
		frontend_foreach_endpoint(list_entry(l, struct frontend, link), ep) {
			if (ep->fd >= 0 && (*i)-- == 0)
				return ep;
		}
	}
	return NULL;
}

struct endpoint *rig_endpoint(unsigned i)
{
	struct entries *e = &rig.engine.entries;
	unsigned left = UINT32_MAX;
	struct endpoint *ep;

	(void)find_endpoint(&e->frontends, &left); /* there are fewer */
	(void)find_endpoint(&e->leaving, &left);
	if (left == UINT32_MAX)
		return NULL;
	left = i % (UINT32_MAX - left);
	ep = find_endpoint(&e->frontends, &left);
	return ep != NULL ? ep : find_endpoint(&e->leaving, &left);
}

static const struct session *find_in(const struct list *sessions, int fd, int *side)
{
	struct list *pos;
	struct list *tmp;

	list_foreach_safe(sessions, pos, tmp)
	{
		const struct session *s = list_entry(pos, struct session, link);

		for (*side = 0; *side < 2; ++*side)
			if (s->sides[*side].sock.fd == fd)
				return s;
	}
	return NULL;
}

/* The session that has `fd`, and at which side. */
static const struct session *find_session(int fd, int *side)
{
	const struct session *s = NULL;

	for (unsigned i = 0; i < rig.worker_count && s == NULL; i++) {
		s = find_in(&rig.engine.workers[i]->live, fd, side);
		if (s == NULL)
			s = find_in(&rig.engine.workers[i]->closing, fd, side);
	}
	return s;
}

int rig_other_fd(int fd)
{
	int side;
	const struct session *s = fd >= 0 ? find_session(fd, &side) : NULL;

	return s != NULL ? s->sides[!side].sock.fd : -1;
}

bool rig_is_forwarding(int fd)
{
	int side;
	const struct session *s = fd >= 0 ? find_session(fd, &side) : NULL;

	return s != NULL && s->state == SESSION_FORWARDING;
}

bool rig_trusts(int fd)
{
	int side;
	const struct session *s = fd >= 0 ? find_session(fd, &side) : NULL;

	return s != NULL && s->state == SESSION_FORWARDING && s->failed != 1 + side;
}

bool rig_is_blocked(int fd)
{
	int side;
	const struct session *s = fd >= 0 ? find_session(fd, &side) : NULL;

	return s != NULL && s->state == SESSION_FORWARDING &&
	       flow_is_blocked(&s->flows[side == SIDE_CLIENT ? FLOW_TO_SERVER : FLOW_TO_CLIENT]);
}
