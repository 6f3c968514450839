/* SPDX-License-Identifier: MIT
 *
 * admin_rig.h - an admin with its socket in a folder of its own, and clients; an engine without workers.
 */
#ifndef WEIR_TESTS_ADMIN_RIG_H
#define WEIR_TESTS_ADMIN_RIG_H

#include <errno.h>
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin/admin_client.h"
#include "../engine/objects_by_hand.h"

#define WAIT_S 10.

static struct {
	char folder[sizeof("/tmp/weir-admin-XXXXXX")];
	struct config config;
	struct config_global global;
	struct engine engine;
	struct ev_loop *loop;
	struct admin_socket listener, control;
	struct admin_context context;
	struct admin_totals totals;
	struct stats *stats;
	struct admin *admin;
} rig;

/* The Unix address FOLDER/NAME, and nobody but its owner may connect. */
static inline void rig_address(struct config_global *g, const char *name)
{
	memset(g, 0, sizeof(*g));
	g->admin.kind = ADDR_UNIX;
	g->admin.addr.len = sizeof(g->admin.addr.un);
	g->admin.addr.un.sun_family = AF_UNIX;
	(void)snprintf(g->admin.addr.un.sun_path, sizeof(g->admin.addr.un.sun_path), "%s/%s", rig.folder,
		       name);
	g->admin_owner.mode = 0600;
	g->admin_owner.uid = (uid_t)-1;
	g->admin_owner.gid = (gid_t)-1;
}

/* With the backends and frontends of `config`. */
static inline int rig_open_with(const struct config *config)
{
	memset(&rig, 0, sizeof(rig));
	rig.config = *config;
	(void)snprintf(rig.folder, sizeof(rig.folder), "/tmp/weir-admin-XXXXXX");
	if (mkdtemp(rig.folder) == NULL)
		return -1;
	rig_address(&rig.global, "admin");
	admin_socket_init(&rig.control);
	rig.loop = ev_loop_new(EVFLAG_AUTO);
	if (rig.loop == NULL || admin_socket_open(&rig.listener, &rig.global) != 0)
		return -1;
	objects_by_hand(&rig.engine, &rig.config);
	rig.context.engine = &rig.engine;
	rig.context.driver = "epoll";
	rig.context.state = DAEMON_READY;
	rig.context.totals = &rig.totals;
	rig.stats = stats_new(rig.loop, &rig.engine);
	rig.context.stats = rig.stats;
	rig.admin = rig.stats != NULL ? admin_new(rig.loop, &rig.listener, &rig.control,
						    &rig.context) : NULL;
	return rig.admin != NULL ? 0 : -1;
}

static inline int rig_open(void **state)
{
	static const struct config nothing;

	(void)state;
	return rig_open_with(&nothing);
}

/* Fails if the admin has left a file behind. */
static inline int rig_close(void **state)
{
	(void)state;
	admin_free(rig.admin);
	stats_free(rig.stats);
	admin_socket_close(&rig.listener);
	admin_socket_close(&rig.control);
	ev_loop_destroy(rig.loop);
	objects_by_hand_free(&rig.engine);
	return rmdir(rig.folder);
}

static inline int connect_to(const struct addr *a)
{
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, &a->sa, a->len), 0);
	return fd;
}

static inline int connect_client(void)
{
	return connect_to(&rig.global.admin.addr);
}

static inline void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static inline void turn(void)
{
	for (int i = 0; i < 8; i++)
		(void)ev_run(rig.loop, EVRUN_NOWAIT);
}

/* Runs the loop until the connection ends or what has come ends with `end`; NULL = until it ends. */
static inline void hear_until(int fd, const char *end, char *out, size_t room)
{
	const double until = ev_time() + WAIT_S;
	size_t len = 0;

	out[0] = '\0';
	while (end == NULL || len < strlen(end) || strcmp(out + len - strlen(end), end) != 0) {
		ssize_t n;

		(void)ev_run(rig.loop, EVRUN_NOWAIT);
		n = recv(fd, out + len, room - 1 - len, MSG_DONTWAIT);
		if (n == 0 && end == NULL)
			break;
		assert_true(n > 0 || (n < 0 && errno == EAGAIN));
		len += n > 0 ? (size_t)n : 0;
		out[len] = '\0';
		assert_true(ev_time() < until);
	}
}

/* The whole answer; closes. */
static inline void hear(int fd, char *out, size_t room)
{
	hear_until(fd, NULL, out, room);
	close(fd);
}

/* Clients that are being served. */
static inline unsigned served(void)
{
	unsigned n = 0;

	for (size_t i = 0; i < ADMIN_CLIENTS_MAX; i++)
		n += rig.admin->clients[i].state != CLIENT_FREE;
	return n;
}

#endif
