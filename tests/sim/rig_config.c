/* SPDX-License-Identifier: MIT
 *
 * rig_config.c - a configuration from the seed.
 *
 * Owns the configuration of the rig. One worker gets one frontend and one backend. Several workers, who are
 * to get in each other's way, get more of both, and limits that a few clients reach. One thread. Tests only.
 */
#include "rig_config.h"

#include <string.h>

#include "weir/base/clock.h"
#include "live.h"
#include "model.h"
#include "peers.h"
#include "rig.h"

/* With one worker, the first of each. */
static struct config_server servers[RIG_BACKENDS][RIG_SERVERS];
static struct config_backend backends[RIG_BACKENDS];
static struct config_bind binds[RIG_FRONTENDS][RIG_BINDS];
static struct config_frontend frontends[RIG_FRONTENDS];
static struct config config;
static unsigned bind_count; /* made so far in this seed */

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
	frontends[0].timeouts.client_ns = some_time();
	frontends[0].timeouts.half_closed_ns = some_time();
	frontends[0].timeouts.max_lifetime_ns = some_time();
	backends[0].timeouts.server_ns = some_time();
	backends[0].timeouts.max_lifetime_ns = some_time();
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
	binds[0][0].accept_proxy = CONFIG_ACCEPT_PROXY_OFF;
	if (!prng_chance(&model.rng, 30))
		return;
	rig.header = "PROXY TCP4 192.0.2.1 192.0.2.2 1000 443\r\n";
	binds[0][0].accept_proxy = CONFIG_ACCEPT_PROXY_ALWAYS;
	for (unsigned i = 0; i < RIG_SERVERS; i++)
		servers[0][i].send_proxy = CONFIG_SEND_PROXY_V1;
	if (rig.has_timeouts)
		frontends[0].timeouts.handshake_ns = some_time();
}

/* In some seeds clients are sniffed. Those without a PROXY header begin like a TLS hello, which the rest of
 * their stream is not. Takes no random number. */
static void make_sniffing(void)
{
	if (sim_seed % 4 != 2)
		return;
	frontends[0].sniff = (struct config_sniff){CONFIG_SNIFF_TLS, 20 * NS_PER_MS, false};
	if (rig.header[0] == '\0')
		rig.header = "\x16\x03\x01\x02\x05\x01";
}

static void make_server(struct config_server *server, unsigned number)
{
	server->weight = 1;
	server->maxconn = prng_chance(&model.rng, 30) ? 1 : 0;
	server->addr.kind = ADDR_IP;
	make_addr(&server->addr.addr, prng_chance(&model.rng, 70), number);
	server->name[0] = (char)('a' + number);
}

/* No two have one address, unless somebody makes it so later. */
static void make_bind(struct config_bind *bind, bool tcp)
{
	bind->addr.kind = tcp ? ADDR_IP : ADDR_UNIX;
	make_addr(&bind->addr.addr, tcp, 100 + bind_count++);
	bind->addr.port = addr_port(&bind->addr.addr);
}

static void make_global(int splice)
{
	static const enum config_splice modes[] = {CONFIG_SPLICE_AUTO, CONFIG_SPLICE_ON, CONFIG_SPLICE_ON,
						   CONFIG_SPLICE_ON, CONFIG_SPLICE_AUTO, CONFIG_SPLICE_OFF};
	struct prng *r = &model.rng;

	config.global.splice = modes[prng_below(r, 6)];
	if (splice != RIG_SPLICE_RANDOM)
		config.global.splice = (enum config_splice)splice;
	config.global.pipe_size = prng_chance(r, 50) ? 65536 : 262144;
	config.global.pipe_cycle_ns = rig.gives_pages_back ? NS_PER_MS : 10 * NS_PER_SEC;
}

static void make_one(void)
{
	struct config_frontend *frontend = &frontends[0];
	struct config_backend *backend = &backends[0];
	struct prng *r = &model.rng;

	config.frontends = frontends;
	config.frontend_count = 1;
	config.backends = backends;
	config.backend_count = 1;
	frontend->binds = binds[0];
	frontend->bind_count = 1;
	frontend->maxconn = prng_chance(r, 20) ? 1 : 0;
	frontend->rate_limit = prng_chance(r, 20) ? 1 + prng_below(r, 5) : 0;
	backend->servers = servers[0];
	backend->server_count = 2;
	backend->retries = prng_below(r, 3);
	backend->redispatch = prng_chance(r, 50);
	backend->timeouts.connect_ns = prng_chance(r, 30) ? 5 * NS_PER_SEC : 0;
	backend->timeouts.queue_ns = 3600 * NS_PER_SEC; /* who waits is served by then, whatever happens */
	backend->tcp.nodelay = prng_chance(r, 50);
	make_timeouts();
	make_evictions();
	rig.connect_timeout_ns = backend->timeouts.connect_ns;
	make_bind(&binds[0][0], prng_chance(r, 70));
	for (unsigned i = 0; i < backend->server_count; i++)
		make_server(&servers[0][i], i);
	make_proxy();
	make_sniffing();
}

/* ---- for several workers ---- */

void rig_make_server(struct config_server *server, unsigned number)
{
	make_server(server, number);
	server->maxconn = prng_chance(&model.rng, 60) ? prng_range(&model.rng, 1, 2) : 0;
	server->send_proxy = servers[0][0].send_proxy;
}

void rig_make_bind(struct config_bind *bind)
{
	make_bind(bind, prng_chance(&model.rng, 70) || rig.limits_sources);
	bind->accept_proxy = binds[0][0].accept_proxy;
}

/* In some seeds failed connects take servers out. Takes no random number. */
static void make_observing(struct config_backend *backend, unsigned number)
{
	if (sim_seed % 3 != 1)
		return;
	backend->observe.what = CONFIG_OBSERVE_CONNECT;
	backend->observe.limit = number % 2 == 0 ? 0 : 2;
	backend->observe.down_ns = (number + 1) * 200 * NS_PER_US;
}

static void crowd_backend(struct config_backend *backend, unsigned number)
{
	/* Not those that hash into tables of 65,537 places: a roster would cost more than the seed. */
	static const enum config_balance algorithms[] = {CONFIG_BALANCE_ROUNDROBIN, CONFIG_BALANCE_LEASTCONN,
							 CONFIG_BALANCE_RANDOM, CONFIG_BALANCE_FIRST,
							 CONFIG_BALANCE_SOURCE};
	struct prng *r = &model.rng;

	backend->name[0] = (char)('A' + number);
	backend->server_count = prng_range(r, 1, RIG_SERVERS);
	backend->balance.algorithm = algorithms[prng_below(r, 5)];
	backend->balance.draws = 2;
	make_observing(backend, number);
	for (unsigned i = 0; i < backend->server_count; i++)
		rig_make_server(&backend->servers[i], number * RIG_SERVERS + i);
}

static void crowd_frontend(struct config_frontend *frontend)
{
	static const unsigned limits[] = {0, 0, 1, 1, 2, 3};
	struct prng *r = &model.rng;

	frontend->maxconn = limits[prng_below(r, 6)];
	frontend->maxconn_per_source = prng_chance(r, 10) ? prng_range(r, 1, 3) : 0;
	frontend->bind_count = prng_range(r, 1, RIG_BINDS);
	frontend->no_server = (enum config_no_server)prng_below(r, 3);
	frontend->backend = prng_below(r, (uint32_t)config.backend_count);
	for (unsigned i = 0; i < frontend->bind_count; i++) {
		rig_make_bind(&frontend->binds[i]);
	}
}

/* In some seeds clients may come only so often. All are one source then: they have one address, send no
 * header with another, and none comes by a Unix socket. Takes no random number. */
static void make_source_rate(void)
{
	rig.limits_sources = sim_seed % 8 == 5 && rig.header[0] == '\0' && !rig_has_sticky();
	if (rig.limits_sources)
		frontends[0].source_rate = (struct config_source_rate){
			.count = (unsigned)(1 + sim_seed / 8 % 3),
			.burst = (unsigned)(1 + sim_seed / 24 % 4),
			.period_ns = (int64_t)(1 + sim_seed / 96 % 5) * 3 * NS_PER_MS,
		};
}

/* Begins with what one worker has. */
static void make_crowd(void)
{
	static const unsigned limits[] = {1, 2, 3, 5, 100, 100};
	struct prng *r = &model.rng;

	make_source_rate();
	rig.has_evictions = false; /* control decides */
	rig.maxconn = limits[prng_below(r, 6)];
	if (live_is_rough())
		backends[0].timeouts.queue_ns = NS_PER_SEC; /* where nobody can serve them any more */
	config.frontend_count = prng_range(r, 1, RIG_FRONTENDS);
	config.backend_count = prng_range(r, 1, RIG_BACKENDS);
	for (unsigned i = 0; i < config.backend_count; i++) {
		if (i > 0)
			backends[i] = backends[0];
		backends[i].servers = servers[i];
		crowd_backend(&backends[i], i);
	}
	for (unsigned i = 0; i < config.frontend_count; i++) {
		if (i > 0)
			frontends[i] = frontends[0];
		frontends[i].binds = binds[i];
		frontends[i].name[0] = (char)('F' + i);
		crowd_frontend(&frontends[i]);
	}
}

bool rig_has_fallbacks(void)
{
	return sim_seed % 3 == 1;
}

/* In some seeds backends have fallbacks. Takes no random number. */
static void make_fallbacks(void)
{
	if (!rig_has_fallbacks())
		return;
	for (unsigned i = 0; i + 1 < config.backend_count; i++) {
		backends[i].fallback = i + 1;
		backends[i].fallback_backend = backends[i + 1].name;
	}
}

bool rig_has_sticky(void)
{
	return rig.worker_count > 1 && sim_seed % 5 < 2;
}

bool rig_sticky_expires(void)
{
	return sim_seed % 20 == 1;
}

void rig_make_sticky(struct config_backend *backend)
{
	backend->sticky.by = CONFIG_STICKY_SRC;
	backend->sticky.expire_ns = rig_sticky_expires() ? NS_PER_MS : 365 * 86400 * NS_PER_SEC;
	backend->sticky.size = sim_seed % 4 == 3 ? 2 : 100;
}

/* In some seeds clients, who are a few, keep their server. Takes no random number. */
static void make_sticky(void)
{
	if (!rig_has_sticky())
		return;
	model.sources = RIG_SOURCES;
	for (unsigned i = 0; i < config.backend_count; i++)
		rig_make_sticky(&backends[i]);
}

/* In some seeds what drains loses its sessions once they are idle. Takes no random number. */
static void make_draining(void)
{
	rig.drains_idle = sim_seed % 8 == 4 || sim_seed % 8 == 7;
	if (!rig.drains_idle)
		return;
	peers.excuse_all = true;
	for (unsigned i = 0; i < RIG_BACKENDS; i++)
		backends[i].drain = CONFIG_DRAIN_IDLE;
}

/* In some seeds the sessions of what leaves end. Takes no random number. */
static void make_closing(void)
{
	if (sim_seed % 8 < 6)
		return;
	peers.excuse_all = true;
	for (unsigned i = 0; i < RIG_BACKENDS; i++)
		backends[i].timeouts.on_removed = CONFIG_ON_REMOVED_CLOSE;
	for (unsigned i = 0; i < RIG_FRONTENDS; i++)
		frontends[i].timeouts.on_removed = CONFIG_ON_REMOVED_CLOSE;
}

const struct config *rig_configure(int splice)
{
	memset(&config, 0, sizeof(config));
	memset(frontends, 0, sizeof(frontends));
	memset(binds, 0, sizeof(binds));
	memset(backends, 0, sizeof(backends));
	memset(servers, 0, sizeof(servers));
	bind_count = 0;
	rig.maxconn = 100;
	make_global(splice);
	make_one();
	if (rig.worker_count > 1) {
		make_crowd();
		make_closing();
		make_fallbacks();
		make_sticky();
	}
	make_draining();
	return &config;
}
