/* SPDX-License-Identifier: MIT
 *
 * apply_rig.h - a running engine with all of control that a reload changes, and clients that talk through it.
 *
 * Main thread.
 */
#ifndef WEIR_TESTS_RELOAD_APPLY_RIG_H
#define WEIR_TESTS_RELOAD_APPLY_RIG_H

#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "../../live/echo.h"
#include "../../live/memory.h"
#include "../../live/portrait.h"
#include "../../live/rig.h"
#include "../base/own_network.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/io/io.h"
#include "weir/io/uring.h"
#include "weir/reload/apply.h"

#define APPLY_TEXT_MAX 65536u
#define APPLY_WAIT_NS  (60 * NS_PER_SEC)

struct apply_rig {
	struct rig rig;
	struct prober *prober;
	struct agents *agents;
	struct resolver *resolver;
	struct set_watches sets;
	struct apply_parts parts;
	struct privileges privileges;
	struct limits_facts facts;
	struct config *next; /* owns: on its way into effect */
	unsigned took_effect;
	char folder[64];
	char why[LOG_RECORD_MAX];
};

static struct apply_rig rig;
static const struct io_driver *apply_driver = &io_epoll_driver;

/* Called first, for a network of its own. With the argument io_uring, that driver; returns 77 if this machine
 * has none, which skips the program. */
static inline int apply_choose_driver(int argc, char **argv)
{
	char why[256];

	own_network();
	if (argc < 2 || strcmp(argv[1], "io_uring") != 0)
		return 0;
	apply_driver = uring_driver(why, sizeof(why));
	if (apply_driver == NULL)
		fprintf(stderr, "skipped: no io_uring: %s\n", why);
	return apply_driver != NULL ? 0 : 77;
}

/* FOLDER and ECHO0 to ECHO7 in `text` become what they stand for. */
static inline struct config *apply_read(const char *text)
{
	static char all[APPLY_TEXT_MAX];
	size_t len = 0;

	while (*text != '\0') {
		char address[ADDR_TEXT_MAX] = {*text, '\0'};
		size_t took = 1;

		if (strncmp(text, "FOLDER", 6) == 0) {
			(void)snprintf(address, sizeof(address), "%s", rig.folder); /* fits */
			took = 6;
		} else if (strncmp(text, "ECHO", 4) == 0) {
			addr_format(echo_addr((unsigned)(text[4] - '0')), address);
			took = 5;
		}
		check(len + strlen(address) < sizeof(all));
		memcpy(all + len, address, strlen(address) + 1);
		len += strlen(address);
		text += took;
	}
	return rig_read(all);
}

/* Only the new one is in use from here on. */
static inline void apply_took_effect(void *arg, const struct config *next)
{
	struct apply_rig *r = arg;

	check(next == r->next);
	check(r->rig.engine.config == next);
	r->took_effect++;
}

static inline void apply_rig_open(const char *text)
{
	static const struct config_global global = {.resolver = CONFIG_RESOLVER_SYSTEM};
	const struct resolver_settings settings = {.global = &global};
	int err = 0;

	memset(&rig, 0, sizeof(rig));
	(void)snprintf(rig.folder, sizeof(rig.folder), "/tmp/weir-apply-XXXXXX"); /* fits */
	check(mkdtemp(rig.folder) != NULL);
	echo_start(rig.folder);
	rig_open_config(&rig.rig, apply_driver, apply_read(text));
	rig.resolver = resolver_new(rig.rig.loop, &rig.rig.updates.updates, &settings, &err);
	check(rig.resolver != NULL);
	check(set_watches_init(&rig.sets, rig.resolver, &rig.rig.updates.updates) == 0);
	rig.prober = prober_new(rig.rig.loop, &rig.rig.engine, &rig.rig.updates.updates, &err);
	check(rig.prober != NULL);
	rig.agents = agents_new(rig.rig.loop, &rig.rig.engine, &rig.rig.updates.updates, &err);
	check(rig.agents != NULL);
	rig.facts = (struct limits_facts){.fds = 20000,
					  .pipes_privileged = true,
					  .pipe_max_bytes = 1 << 20,
					  .page_bytes = 4096,
					  .memory_bytes = UINT64_C(8) << 30};
	rig.parts = (struct apply_parts){
		.engine = &rig.rig.engine,
		.updates = &rig.rig.updates.updates,
		.prober = rig.prober,
		.agents = rig.agents,
		.resolver = rig.resolver,
		.sets = &rig.sets,
		.log = rig.rig.log,
		.privileges = &rig.privileges,
		.facts = &rig.facts,
		.took_effect = apply_took_effect,
		.arg = &rig,
	};
}

static inline int apply_remove_file(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static inline void apply_rig_close(void)
{
	/* A lookup or a check that is under way ends with its owner. */
	agents_free(rig.agents);
	prober_free(rig.prober);
	set_watches_stop(&rig.sets);
	resolver_free(rig.resolver);
	rig_close(&rig.rig);
	echo_stop();
	check(nftw(rig.folder, apply_remove_file, 8, FTW_DEPTH | FTW_PHYS) == 0);
}

static inline int apply_make_plan(struct plan *p)
{
	const struct plan_input in = {
		.next = rig.next,
		.started = &rig.rig.config->global,
		.now = &rig.rig.config->global,
		.engine = &rig.rig.engine,
		.log = rig.rig.log,
	};

	return plan_make(p, &in, rig.why, sizeof(rig.why));
}

/* What was read into rig.next either is in effect, or gone. */
static inline void apply_end(int err)
{
	struct config *old = err ? rig.next : rig.rig.config;

	if (!err)
		rig.rig.config = rig.next;
	rig.next = NULL;
	config_free(old);
}

/* Nothing of what took effect waits for the end of the turn: whoever is told of it may connect before. */
static inline void check_in_force(void)
{
	const struct engine *e = &rig.rig.engine;

	for (size_t i = 0; i < e->backend_count; i++)
		check(!e->backends[i]->held);
}

/* Reads, plans and applies; 0, or -errno with rig.why. */
static inline int reload(const char *text)
{
	struct plan p;
	int err;

	rig.next = apply_read(text);
	err = apply_make_plan(&p);
	if (!err) {
		err = apply_plan(&rig.parts, &p, NULL, rig.why, sizeof(rig.why));
		plan_free(&p);
	}
	check_in_force();
	apply_end(err);
	rig_turn(&rig.rig); /* its end */
	return err;
}

static inline void reload_fine(const char *text)
{
	const int err = reload(text);

	if (err)
		fprintf(stderr, "refused: %s\n", rig.why);
	check(err == 0);
}

/* Until all that left is gone. */
static inline void apply_settle(void)
{
	check(rig_settle(&rig.rig, 0, APPLY_WAIT_NS));
}

/* ---- what is there ---- */

static inline struct backend *live_backend(const char *name)
{
	const struct engine *e = &rig.rig.engine;

	for (size_t i = 0; i < e->backend_count; i++)
		if (strcmp(e->backends[i]->config->name, name) == 0)
			return e->backends[i];
	return NULL;
}

static inline struct server *live_server(const char *backend, const char *name)
{
	const struct backend *b = live_backend(backend);

	for (size_t i = 0; b != NULL && i < b->server_count; i++)
		if (strcmp(b->servers[i]->config->name, name) == 0)
			return b->servers[i];
	return NULL;
}

static inline struct frontend *live_frontend(const char *name)
{
	return entries_find(&rig.rig.engine.entries, name);
}

/* The first address of the frontend whose bind has this name. */
static inline struct endpoint *live_endpoint(const char *frontend, const char *bind)
{
	frontend_foreach_endpoint(live_frontend(frontend), ep) {
		if (strcmp(ep->config->name, bind) == 0 && ep->stage == ENDPOINT_OPEN)
			return ep;
	}
	return NULL;
}

/* ---- clients ---- */

/* A connection to `a`; -1 = refused. */
static inline int client_connect(const struct addr *a)
{
	const struct timeval wait = {.tv_sec = 20};
	const int fd = socket(a->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	check(fd >= 0);
	check(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) == 0);
	if (connect(fd, &a->sa, a->len) == 0 || errno == EINTR)
		return fd; /* an interrupted one goes on, and client_talk() waits for it */
	close(fd);
	return -1;
}

/* Does what it sends come back? */
static inline bool client_talk(int fd)
{
	ssize_t n;
	char c = 0;

	if (send(fd, "x", 1, MSG_NOSIGNAL) != 1)
		return false;
	do /* what a ring does for another thread may interrupt it */
		n = recv(fd, &c, 1, 0);
	while (n < 0 && errno == EINTR);
	return n == 1 && c == 'x';
}

/* Is a client of `a` served? */
static inline bool is_served(const struct addr *a)
{
	const int fd = client_connect(a);
	const bool served = fd >= 0 && client_talk(fd);

	if (fd >= 0)
		close(fd);
	return served;
}

#endif
