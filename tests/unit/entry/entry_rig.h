/* SPDX-License-Identifier: MIT
 *
 * entry_rig.h - an engine with two workers that have no thread, for tests of frontends and endpoints that
 * come, change and go: the test turns the workers, and says what time it is for control.
 */
#ifndef WEIR_TESTS_ENTRY_RIG_H
#define WEIR_TESTS_ENTRY_RIG_H

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../base/own_network.h"
#include "../engine/small_engine.h"
#include "weir/base/clock.h"
#include "weir/base/log.h"

#define RIG_WORKERS   2u
#define RIG_TURNS_MAX 1000
#define RIG_SETTLED   20 /* turns of each worker after which nothing is under way */

struct entry_rig {
	struct small_config config;
	struct engine engine;
	struct worker *workers[RIG_WORKERS];
	int64_t now_ns; /* control's clock */
	int server;     /* a listener, whose queue is the server */
};

static inline void rig_no_news(void *arg)
{
	(void)arg;
}

static inline int rig_listen_at(struct addr *a)
{
	const int fd = socket(a->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	check(fd >= 0);
	check(bind(fd, &a->sa, a->len) == 0);
	check(listen(fd, 128) == 0);
	check(getsockname(fd, &a->sa, &a->len) == 0);
	return fd;
}

/* What the configuration says, without workers. */
static inline void rig_build(struct entry_rig *r)
{
	own_network();
	memset(r, 0, sizeof(*r));
	log_set_level(LOG_LEVEL_ERROR); /* each session is a line */
	r->now_ns = NS_PER_SEC;
	small_config_init(&r->config);
	r->server = rig_listen_at(&r->config.server.addr.addr);
	small_engine_open(&r->engine, &r->config.config, RIG_WORKERS, rig_no_news);
}

static inline void rig_start_workers(struct entry_rig *r)
{
	int err;

	for (unsigned i = 0; i < RIG_WORKERS; i++) {
		r->workers[i] = worker_new(&r->engine, i, &io_epoll_driver, &err);
		check(r->workers[i] != NULL);
		r->engine.workers[i] = r->workers[i];
	}
}

static inline void rig_open(struct entry_rig *r)
{
	struct endpoint *failed;

	rig_build(r);
	check(entries_bind(&r->engine.entries, &failed) == 0);
	rig_start_workers(r);
}

static inline void rig_close(struct entry_rig *r)
{
	engine_stop(&r->engine);
	for (unsigned i = 0; i < RIG_WORKERS; i++)
		if (r->workers[i] != NULL)
			worker_run_out(r->workers[i]);
	check(small_engine_is_unused(&r->engine));
	engine_free(&r->engine);
	close(r->server);
}

/* One turn, which does not sleep. */
static inline void rig_turn(struct entry_rig *r, unsigned worker)
{
	io_loop_wake(&r->workers[worker]->loop);
	worker_turn(r->workers[worker]);
}

static inline int64_t rig_control(struct entry_rig *r)
{
	return engine_wake(&r->engine, r->now_ns);
}

/* Workers and control go on until nothing is under way. Returns when control is to be called again. */
static inline int64_t rig_settle(struct entry_rig *r)
{
	int64_t at_ns = CLOCK_NEVER;

	for (int i = 0; i < RIG_SETTLED; i++) {
		for (unsigned w = 0; w < RIG_WORKERS; w++)
			rig_turn(r, w);
		at_ns = rig_control(r);
	}
	return at_ns;
}

static inline unsigned rig_sessions(const struct entry_rig *r)
{
	unsigned n = 0;

	for (unsigned i = 0; i < RIG_WORKERS; i++)
		n += r->workers[i]->sessions;
	return n;
}

static inline unsigned rig_forwarding(const struct entry_rig *r)
{
	unsigned n = 0;

	for (unsigned i = 0; i < RIG_WORKERS; i++)
		for (struct list *l = r->workers[i]->live.next; l != &r->workers[i]->live; l = l->next)
			n += list_entry(l, struct session, link)->state == SESSION_FORWARDING;
	return n;
}

/* Until this many sessions forward; false if that never happens. */
static inline bool rig_reaches(struct entry_rig *r, unsigned count)
{
	for (int i = 0; i < RIG_TURNS_MAX && rig_forwarding(r) != count; i++)
		for (unsigned w = 0; w < RIG_WORKERS; w++)
			rig_turn(r, w);
	return rig_forwarding(r) == count;
}

/* The server ends its side of all sessions. */
static inline void rig_hang_up(struct entry_rig *r)
{
	int fd;

	while ((fd = accept(r->server, NULL, NULL)) >= 0)
		close(fd);
}

/* Until no session is left: all clients have closed. */
static inline bool rig_empties(struct entry_rig *r)
{
	for (int i = 0; i < RIG_TURNS_MAX && rig_sessions(r) > 0; i++) {
		rig_hang_up(r);
		(void)rig_settle(r);
	}
	return rig_sessions(r) == 0;
}

/* A nonblocking client; its connect may be under way. */
static inline int rig_client(const struct addr *to)
{
	const int fd = socket(to->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	check(fd >= 0);
	check(connect(fd, &to->sa, to->len) == 0 || errno == EINPROGRESS);
	return fd;
}

/* How many things are in a list. */
static inline size_t rig_count(const struct list *list)
{
	size_t n = 0;

	for (const struct list *l = list->next; l != list; l = l->next)
		n++;
	return n;
}

#endif
