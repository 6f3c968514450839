/* SPDX-License-Identifier: MIT
 *
 * leaving_rig.h - one worker without a thread over real sockets, on either driver, and of control what lets
 * frontends, backends and servers leave. Two frontends, each with its backend; the first one has two servers.
 */
#ifndef WEIR_TESTS_LEAVING_RIG_H
#define WEIR_TESTS_LEAVING_RIG_H

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "../balance/updates_by_hand.h"
#include "small_engine.h"
#include "weir/account/tally.h"
#include "weir/balance/live_change.h"
#include "weir/engine/tallies.h"
#include "weir/io/uring.h"

#define RIG_TURNS_MAX 20000
#define RIG_SERVERS 3 /* two of the first backend, one of the second */
#define RIG_CLIENTS 64

struct rig {
	struct config config;
	struct config_frontend frontends[2];
	struct config_bind binds[2];
	struct config_backend backends[2];
	struct config_server servers[RIG_SERVERS];
	int listeners[RIG_SERVERS];
	int fds[RIG_CLIENTS]; /* clients, and what the servers have accepted */
	unsigned fd_count;
	unsigned fds_before;
	const struct io_driver *driver;
	struct engine engine;
	struct worker *worker;
	struct updates_by_hand hand;
	int64_t later_ns; /* how far the clock of control is ahead */
};

static struct rig rig;

static inline unsigned open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	(void)closedir(d);
	return n;
}

static inline void rig_news(void *arg)
{
	(void)arg;
}

static inline int rig_keep(int fd)
{
	assert_true(fd >= 0);
	assert_in_range(rig.fd_count, 0, RIG_CLIENTS - 1);
	rig.fds[rig.fd_count++] = fd;
	return fd;
}

static inline int rig_listen(struct addr *a)
{
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, &a->sa, a->len), 0);
	assert_int_equal(listen(fd, 128), 0);
	assert_int_equal(getsockname(fd, &a->sa, &a->len), 0);
	return fd;
}

static inline void rig_configure(void)
{
	rig.config.global.pipe_cycle_ns = INT64_C(10000000000);
	rig.config.frontends = rig.frontends;
	rig.config.frontend_count = 2;
	rig.config.backends = rig.backends;
	rig.config.backend_count = 2;
	for (unsigned i = 0; i < 2; i++) {
		rig.frontends[i].name[0] = (char)('f' + i);
		rig.frontends[i].binds = &rig.binds[i];
		rig.frontends[i].bind_count = 1;
		rig.frontends[i].backend = i;
		small_addr(&rig.binds[i].addr);
		rig.backends[i].name[0] = (char)('b' + i);
		rig.backends[i].servers = &rig.servers[2 * i];
		rig.backends[i].server_count = 2 - i;
		rig.backends[i].redispatch = true;
		rig.backends[i].retries = 3;
	}
	for (unsigned i = 0; i < RIG_SERVERS; i++) {
		rig.servers[i].name[0] = (char)('r' + i);
		rig.servers[i].weight = 1;
		small_addr(&rig.servers[i].addr);
		rig.listeners[i] = rig_listen(&rig.servers[i].addr.addr);
	}
}

/* As configured by then. */
static inline void rig_start(void)
{
	struct endpoint *failed;
	int err;

	log_set_level(LOG_LEVEL_WARNING);
	small_engine_open(&rig.engine, &rig.config, 1, rig_news);
	assert_int_equal(entries_bind(&rig.engine.entries, &failed), 0);
	rig.worker = rig.engine.workers[0] = worker_new(&rig.engine, 0, rig.driver, &err);
	assert_non_null(rig.worker);
	updates_by_hand_init(&rig.hand, rig.engine.backends, rig.engine.backend_count);
}

static inline int rig_open(void **state)
{
	const struct io_driver *driver = *state;

	memset(&rig, 0, sizeof(rig));
	rig.driver = driver;
	rig.fds_before = open_fds();
	rig_configure();
	return 0;
}

static inline int rig_close(void **state)
{
	(void)state;
	if (rig.worker != NULL) {
		engine_stop(&rig.engine);
		if (!rig.worker->finished)
			worker_run_out(rig.worker);
		server_updates_free(&rig.hand.updates);
		assert_true(small_engine_is_unused(&rig.engine));
		engine_free(&rig.engine);
	}
	for (unsigned i = 0; i < RIG_SERVERS; i++)
		close(rig.listeners[i]);
	while (rig.fd_count > 0)
		close(rig.fds[--rig.fd_count]);
	assert_int_equal(open_fds(), rig.fds_before);
	return 0;
}

/* ---- turns ---- */

static inline int64_t rig_now_ns(void)
{
	return clock_mono_ns() + rig.later_ns;
}

/* One of the worker and one of control, which do not sleep. */
static inline void rig_turn(void)
{
	io_loop_wake(&rig.worker->loop);
	worker_turn(rig.worker);
	updates_by_hand_turn(&rig.hand, rig_now_ns());
	(void)engine_wake(&rig.engine, rig_now_ns());
}

#define rig_turn_until(condition)                                                                            \
	for (int turns = 0; !(condition); turns++) {                                                         \
		assert_in_range(turns, 0, RIG_TURNS_MAX);                                                    \
		rig_turn();                                                                                  \
	}

static inline void rig_turns(unsigned count)
{
	while (count-- > 0)
		rig_turn();
}

/* ---- what there is ---- */

static inline struct frontend *rig_frontend(unsigned i)
{
	entries_foreach_frontend(&rig.engine.entries, fe) {
		if (i-- == 0)
			return fe;
	}
	return NULL;
}

static inline struct server *rig_server(unsigned backend, unsigned i)
{
	return rig.engine.backends[backend]->servers[i];
}

static inline unsigned rig_forwarding(void)
{
	unsigned n = 0;

	for (const struct list *pos = rig.worker->live.next; pos != &rig.worker->live; pos = pos->next)
		n += list_entry(pos, struct session, link)->state == SESSION_FORWARDING;
	return n;
}

static inline struct tally_sum rig_tally(uint32_t slot)
{
	struct tally_sum sum;

	tally_sum_up(&rig.engine, slot, clock_mono_ns(), &sum);
	return sum;
}

/* A client of the frontend; it is not accepted yet. */
static inline int rig_connect(const struct addr *a)
{
	const int fd = rig_keep(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));

	assert_int_equal(connect(fd, &a->sa, a->len), 0);
	return fd;
}

static inline struct endpoint *rig_endpoint(const struct frontend *fe)
{
	return list_entry(fe->endpoints.next, struct endpoint, link);
}

/* The same, until it is connected to a server. */
static inline int rig_join(unsigned frontend)
{
	const unsigned before = rig_forwarding();
	const int fd = rig_connect(&rig_endpoint(rig_frontend(frontend))->addr);

	rig_turn_until(rig_forwarding() > before);
	return fd;
}

static inline int rig_accept(unsigned server)
{
	return rig_keep(accept4(rig.listeners[server], NULL, NULL, SOCK_CLOEXEC));
}

/* Has the peer ended its connection, by FIN or reset? */
static inline bool rig_has_ended(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0 || errno == ECONNRESET;
}

/* ---- for both drivers ---- */

#define RIG_TEST(test, driver) {#test, test, rig_open, rig_close, (void *)(uintptr_t)(driver)}

#endif
