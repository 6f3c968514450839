/* SPDX-License-Identifier: MIT
 *
 * rig.c - one real worker over the modelled kernel: configuration, turns, invariants, the end.
 *
 * Owns engine and worker of one seed. Fails the seed when an invariant of reliability.md breaks
 * (I1, I2, I3, I13, I17, I19) or when something is left at the end. One thread. Tests only.
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

#define RIG_SERVERS 2
#define RIG_TURNS_TO_END 64

/* Sockets of sessions whose generations are watched, in a seed that gives pages back. */
#define CHANGING_TURNS 600u /* a multiple of 3 */
#define RIG_SOCKS 128

struct rig rig;

/* What was last seen at the place of a socket. */
static struct seen {
	const struct io_sock *sock;
	uint32_t number; /* of the session */
	uint16_t gen;
	bool away; /* its page has been given back since */
} seen[RIG_SOCKS];
static int seen_count;

static struct config_server servers[RIG_SERVERS];
static struct config_backend backend;
static struct config_bind bind_at;
static struct config_frontend frontend;
static struct config config;

static void no_news(void *arg)
{
	(void)arg; /* control is not here */
}

static void make_addr(struct addr *a, bool tcp, unsigned number)
{
	memset(a, 0, sizeof(*a));
	if (tcp) {
		a->in.sin_family = AF_INET;
		a->in.sin_port = htons((uint16_t)(1000 + number));
		a->len = sizeof(a->in);
	} else {
		a->un.sun_family = AF_UNIX;
		a->un.sun_path[1] = (char)('a' + number);
		a->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 2);
	}
}

static int64_t some_time(void)
{
	return prng_chance(&model.rng, 50) ? prng_range(&model.rng, 1, 40) * NS_PER_MS : 0;
}

/* In a few seeds sessions are so short of time that any of them may end by it. */
static void make_timeouts(void)
{
	rig.has_timeouts = prng_chance(&model.rng, 8);
	if (!rig.has_timeouts)
		return;
	peers.excuse_all = true;
	frontend.timeouts.client_ns = some_time();
	frontend.timeouts.half_closed_ns = some_time();
	frontend.timeouts.max_lifetime_ns = some_time();
	backend.timeouts.server_ns = some_time();
}

/* Who loses its server so is owed nothing. Takes no random number: other seeds stay what they are. */
static void make_evictions(void)
{
	rig.has_evictions = sim_seed % 16 == 7;
	if (rig.has_evictions)
		peers.excuse_all = true;
}

/* In some seeds clients begin with a PROXY header, and as servers want the same, it arrives as it was
 * sent. */
static void make_proxy(void)
{
	rig.header = "";
	bind_at.accept_proxy = CONFIG_ACCEPT_PROXY_OFF;
	if (!prng_chance(&model.rng, 30))
		return;
	rig.header = "PROXY TCP4 192.0.2.1 192.0.2.2 1000 443\r\n";
	bind_at.accept_proxy = CONFIG_ACCEPT_PROXY_ALWAYS;
	for (unsigned i = 0; i < RIG_SERVERS; i++)
		servers[i].send_proxy = CONFIG_SEND_PROXY_V1;
	if (rig.has_timeouts)
		frontend.timeouts.handshake_ns = some_time();
}

static void make_config(int splice)
{
	static const enum config_splice modes[] = {CONFIG_SPLICE_AUTO, CONFIG_SPLICE_ON, CONFIG_SPLICE_ON,
						   CONFIG_SPLICE_ON, CONFIG_SPLICE_AUTO, CONFIG_SPLICE_OFF};
	struct prng *r = &model.rng;

	memset(&config, 0, sizeof(config));
	memset(&frontend, 0, sizeof(frontend));
	memset(&backend, 0, sizeof(backend));
	memset(servers, 0, sizeof(servers));
	config.global.splice = modes[prng_below(r, 6)];
	if (splice != RIG_SPLICE_RANDOM)
		config.global.splice = (enum config_splice)splice;
	config.global.pipe_size = prng_chance(r, 50) ? 65536 : 262144;
	config.global.pipe_cycle_ns = rig.gives_pages_back ? NS_PER_MS : 10 * NS_PER_SEC;
	config.frontends = &frontend;
	config.frontend_count = 1;
	config.backends = &backend;
	config.backend_count = 1;
	frontend.binds = &bind_at;
	frontend.bind_count = 1;
	frontend.maxconn = prng_chance(r, 20) ? 1 : 0;
	frontend.rate_limit = prng_chance(r, 20) ? 1 + prng_below(r, 5) : 0;
	backend.servers = servers;
	backend.server_count = RIG_SERVERS;
	backend.retries = prng_below(r, 3);
	backend.redispatch = prng_chance(r, 50);
	backend.timeouts.connect_ns = prng_chance(r, 30) ? 5 * NS_PER_SEC : 0;
	backend.timeouts.queue_ns = 3600 * NS_PER_SEC; /* who waits is served by then, whatever happens */
	backend.tcp.nodelay = prng_chance(r, 50);
	make_timeouts();
	make_evictions();
	rig.client_tcp = prng_chance(r, 70);
	rig.connect_timeout_ns = backend.timeouts.connect_ns;
	bind_at.addr.kind = rig.client_tcp ? ADDR_IP : ADDR_UNIX;
	make_addr(&bind_at.addr.addr, rig.client_tcp, 9);
	for (unsigned i = 0; i < RIG_SERVERS; i++) {
		servers[i].weight = 1;
		servers[i].maxconn = prng_chance(r, 30) ? 1 : 0;
		servers[i].addr.kind = ADDR_IP;
		make_addr(&servers[i].addr.addr, prng_chance(r, 70), i);
		servers[i].name[0] = (char)('a' + i);
	}
	make_proxy();
}

static void make_engine(const struct io_driver *driver)
{
	struct prng *r = &model.rng;
	struct engine *e = &rig.engine;
	int err = engine_init(e, &config, no_news, NULL);

	if (err)
		sim_fail("engine_init: %d", err);
	engine_set_maxconn(e, 100);
	pipe_pool_init(&e->pipes, prng_chance(r, 20) ? prng_below(r, 3) : 64, config.global.pipe_size,
		       prng_chance(r, 30) ? prng_below(r, 1u << 20) : UINT64_MAX);
	/* Memory is the one thing that a session may die of; then nobody is owed anything. */
	if (prng_chance(r, 2)) {
		peers.excuse_all = true;
		buf_pool_init(&e->bufs, prng_below(r, 1u << 17));
	} else {
		buf_pool_init(&e->bufs, UINT64_C(1) << 30);
	}
	e->endpoints[0].fd = rig.listener_fd = msock_listen(rig.client_tcp, true);
	e->workers = calloc(1, sizeof(*e->workers));
	e->worker_count = 1;
	rig.worker = worker_new(e, 0, driver, &err);
	if (rig.worker == NULL)
		sim_fail("worker_new: %d", err);
	if (prng_chance(&model.rng, 50))
		rig.worker->loop.far_ns = NS_PER_MS; /* the alarm has something to do */
	e->workers[0] = rig.worker;
	if (rig.gives_pages_back)
		rig.worker->slab.page_slots = 1 + sim_seed / 4 % 2;
}

void rig_open(const struct io_driver *driver, int splice)
{
	rig.turns = 0;
	rig.rests = false;
	rig.gives_pages_back = sim_seed % 4 == 1; /* takes no random number */
	rig.changes_settings = sim_seed % 16 == 11 && splice == RIG_SPLICE_RANDOM;
	seen_count = 0;
	make_config(splice);
	make_engine(driver);
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
	struct server *server = &rig.engine.backends[0].servers[rig.turns / 7 % RIG_SERVERS];
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

		if (s->server == server && s->server_counted && s->state == SESSION_CONNECTING)
			cover(s->connect_again ? COVER_EVICTED_PAUSING : COVER_EVICTED_CONNECTING);
	}
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
	limits.pipe_bytes = config.global.pipe_size;
	limits.pipe_budget_bytes = rig.turns % 15 == 0 ? 1 << 18 : UINT64_MAX;
	limits.buf_budget_bytes = e->bufs.budget_bytes; /* a session may die of a lower one */
	engine_set_limits(e, &limits);
	engine_set_rate_limit(e, &e->frontends[0], rig.turns / 3 % 4);
	engine_set_pipe_cycle(e, rig.turns % 2 * NS_PER_MS);
}

void rig_turn(void)
{
	model.calls_at_turn = model.calls;
	rig.turns++;
	if (rig.worker->finished) {
		if (!rig.rests) { /* as its thread does at once */
			io_loop_release(&rig.worker->loop);
			rig.rests = true;
			model.idle = false;
			return;
		}
		model.idle = true;
		model.waited_ns = -1;
		return;
	}
	evict_some();
	change_settings();
	peers.in_turn = true;
	worker_turn(rig.worker);
	peers.in_turn = false;
	check_sessions(&rig.worker->live);
	if (rig.gives_pages_back)
		check_generations(&rig.worker->live);
}

/* The session that has `fd`, and at which side. */
static const struct session *find_session(int fd, int *side)
{
	struct list *lists[] = {&rig.worker->live, &rig.worker->closing};
	struct list *pos;
	struct list *tmp;

	for (int i = 0; i < 2; i++) {
		list_foreach_safe(lists[i], pos, tmp)
		{
			const struct session *s = list_entry(pos, struct session, link);

			for (*side = 0; *side < 2; ++*side)
				if (s->sides[*side].sock.fd == fd)
					return s;
		}
	}
	return NULL;
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

/* ---- the end ---- */

static void check_rest(void)
{
	const struct worker *w = rig.worker;
	const struct pipe_pool *p = &rig.engine.pipes;
	unsigned made;

	if (w->sessions != 0)
		sim_fail("%u sessions are left", w->sessions);
	if (w->loop.pipes.in_use != 0 || w->loop.bufs.in_use != 0)
		sim_fail("%u pipes and %u buffers are not given back", w->loop.pipes.in_use,
			 w->loop.bufs.in_use);
	if (w->loop.pending > 1)
		sim_fail("%u ops are pending, more than the accept", w->loop.pending);
	if (atomic_load(&rig.engine.sessions) < 0 || atomic_load(&rig.engine.sessions) > 1)
		sim_fail("%d reservations are left", atomic_load(&rig.engine.sessions));
	for (int i = 0; i < RIG_SERVERS; i++)
		if (atomic_load(&rig.engine.backends[0].servers[i].sessions) != 0)
			sim_fail("a place at a server is not given back");
	made = atomic_load(&p->made);
	if (made != w->loop.pipes.list.count + w->loop.pipes.list.victim_count +
			    (p->list.count + p->list.victim_count))
		sim_fail("I17: %u pipes exist, fewer rest", made);
	for (int i = 0; i < MODEL_PIPES; i++)
		if (model.pipes[i].used && model.pipes[i].bytes > 0)
			sim_fail("R12: a pipe rests with %u bytes in it", model.pipes[i].bytes);
}

static void count_states(void)
{
	struct counters *c = &rig.worker->counters;
	const uint64_t bytes = counter_get(&c->bytes_to_client) + counter_get(&c->bytes_to_server);

	if (counter_get(&c->budget_stops) > 0)
		cover(COVER_STOP_BY_BUDGET);
	if (counter_get(&c->bytes_spliced) > 0)
		cover(COVER_BULK_FLOW);
	if (bytes > counter_get(&c->bytes_spliced))
		cover(COVER_COPY_FLOW);
	if (counter_get(&c->retries) > 0)
		cover(COVER_RETRY);
	if (atomic_load(&rig.engine.backends[0].queue.waiting_max) > 0)
		cover(COVER_QUEUED);
	if (counter_get(&c->rate_pauses) > 0)
		cover(COVER_RATE_PAUSE);
	if (counter_get(&c->pipes_missing) > 0)
		cover(COVER_NO_PIPE);
	if (atomic_load(&rig.engine.bufs.refused) > 0)
		cover(COVER_OUT_OF_BUFFERS);
}

/* At rest the worker sleeps: its last timers age the caches, then there is none. */
static void fall_asleep(void)
{
	const struct io_loop *loop = &rig.worker->loop;

	model.sleep_max_ns = 20 * NS_PER_SEC;
	if (rig.changes_settings)
		engine_set_pipe_cycle(&rig.engine, NS_PER_MS);
	rig.changes_settings = false;
	for (int i = 0; i < RIG_TURNS_TO_END && !rig.worker->finished; i++) {
		rig_turn();
		if (model.idle && model.waited_ns < 0 && loop->timers.count == 0)
			break;
	}
	if (rig.worker->finished)
		return; /* it has drained, and turns no more */
	if (loop->timers.count != 0)
		sim_fail("%u timers are set in a worker at rest", loop->timers.count);
	if (loop->pipes.list.count + loop->pipes.list.victim_count > 0)
		sim_fail("pipes still rest after two cycles");
	if (rig.worker->slab.slots > 0)
		sim_fail("memory of %u sessions is left after two cycles", rig.worker->slab.slots);
}

void rig_close(void)
{
	check_rest();
	count_states();
	fall_asleep();
	engine_drain(&rig.engine);
	for (int i = 0; i < RIG_TURNS_TO_END && !rig.worker->finished; i++)
		rig_turn();
	if (!rig.worker->finished)
		sim_fail("the worker does not end");
	engine_free(&rig.engine);
	rig.worker = NULL;
	if (model.open_fds != 0)
		sim_fail("%u descriptors are leaked", model.open_fds);
}
