/* SPDX-License-Identifier: MIT
 *
 * plan.c - which ports a demo uses, and the configuration that results.
 *
 * Main thread.
 */
#include "plan.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/net/sock.h"

#define NAME_MAX_LEN 64
#define WRONG_PORT   99999u

static const char *const names[PLAN_SERVERS] = {"b1", "b2", "b3", "b4"};

const char *demo_plan_server_name(size_t i)
{
	check(i < PLAN_SERVERS);
	return names[i];
}

static void loopback(uint16_t port, struct addr *out)
{
	memset(out, 0, sizeof(*out));
	out->len = sizeof(out->in);
	out->in.sin_family = AF_INET;
	out->in.sin_port = htons(port);
	out->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

void demo_plan_proxy_addr(const struct demo_plan *p, struct addr *out)
{
	loopback(p->proxy_port, out);
}

/* Abstract, so that nothing stays behind however the demo ends. By peer credentials the daemon admits root
 * and the user who runs the demo, and nobody else. */
void demo_plan_admin_name(const struct demo_plan *p, char *buf, size_t room)
{
	(void)snprintf(buf, room, "unix:@weir-demo-%u", (unsigned)p->proxy_port); /* always fits */
}

/* Two demos started at the same moment would both find the same port free. The name disappears with its
 * process, however that ends. */
static int lock_port(uint16_t port)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int n = snprintf(un.sun_path + 1, NAME_MAX_LEN, "weir-demo-%u-lock", (unsigned)port);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int err;

	check(n > 0 && n < NAME_MAX_LEN);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&un,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1) + (socklen_t)n) == 0)
		return fd;
	err = -errno;
	(void)close(fd);
	return err;
}

/* Could a daemon listen there? */
static int try_port(uint16_t port)
{
	struct addr a;
	int fd;

	loopback(port, &a);
	fd = sock_listen(&a, &(struct sock_listen){.mode = -1});
	if (fd < 0)
		return fd;
	(void)close(fd);
	return 0;
}

static int choose_proxy_port(struct demo_plan *p)
{
	int err = -EADDRINUSE;

	for (unsigned i = 0; i < PLAN_PORTS_TRIED; i++) {
		uint16_t port = (uint16_t)(PLAN_PORT + i);
		int lock = lock_port(port);

		if (lock == -EADDRINUSE)
			continue;
		if (lock < 0)
			return lock;
		err = try_port(port);
		if (!err) {
			p->lock = lock;
			p->proxy_port = port;
			return 0;
		}
		(void)close(lock);
		if (err != -EADDRINUSE)
			return err;
	}
	return err;
}

/* Bound with SO_REUSEADDR and never listening: a listener may share the port, but nothing else may, and the
 * kernel does not assign it to any connect(2). */
static int reserve_port(uint16_t *port)
{
	struct addr a;
	int one = 1;
	int err;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	loopback(0, &a);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 && bind(fd, &a.sa, a.len) == 0 &&
	    getsockname(fd, &a.sa, &a.len) == 0) {
		*port = ntohs(a.in.sin_port);
		return fd;
	}
	err = -errno;
	(void)close(fd);
	return err;
}

int demo_plan_make(struct demo_plan *p)
{
	int err;

	p->lock = -1;
	for (size_t i = 0; i < PLAN_SERVERS; i++)
		p->reserved[i] = -1;
	err = choose_proxy_port(p);
	for (size_t i = 0; i < PLAN_SERVERS && !err; i++) {
		p->reserved[i] = reserve_port(&p->server_ports[i]);
		if (p->reserved[i] < 0)
			err = p->reserved[i];
	}
	if (err)
		demo_plan_free(p);
	return err;
}

void demo_plan_free(struct demo_plan *p)
{
	for (size_t i = 0; i < PLAN_SERVERS; i++) {
		if (p->reserved[i] >= 0)
			(void)close(p->reserved[i]);
		p->reserved[i] = -1;
	}
	if (p->lock >= 0)
		(void)close(p->lock);
	p->lock = -1;
}

int demo_plan_listen(const struct demo_plan *p, size_t i)
{
	struct addr a;

	check(i < PLAN_SERVERS);
	loopback(p->server_ports[i], &a);
	return sock_listen(&a, &(struct sock_listen){.mode = -1});
}

void demo_plan_add_command(const struct demo_plan *p, size_t i, char *buf, size_t room)
{
	const char *name = demo_plan_server_name(i);
	const int len = snprintf(buf, room,
				 "add server " PLAN_NAME "/%s 127.0.0.1:%u; enable server " PLAN_NAME "/%s",
				 name, (unsigned)p->server_ports[i], name);

	check(len > 0 && (size_t)len < room);
}

static size_t servers_of(enum plan_stage stage)
{
	static const size_t counts[] = {
	    [PLAN_STAGE_FIRST] = PLAN_FIRST,
	    [PLAN_STAGE_WRONG] = PLAN_SERVERS,
	    [PLAN_STAGE_TRIAL] = PLAN_FIRST - 1,
	};

	return counts[stage];
}

/* A connect over loopback succeeds or fails at once, so the timeout is short: what a leaving server no longer
 * accepts is soon retried elsewhere. */
void demo_plan_write(const struct demo_plan *p, enum plan_stage stage, FILE *out)
{
	const size_t count = servers_of(stage);
	char admin[NAME_MAX_LEN];

	demo_plan_admin_name(p, admin, sizeof(admin));
	fprintf(out,
		"[global]\n"
		"admin-socket = %s\n"
		"log          = stderr level=notice\n"
		"\n"
		"[listen " PLAN_NAME "]\n"
		"bind         = 127.0.0.1:%u\n",
		admin, (unsigned)p->proxy_port);
	for (size_t i = 0; i < count; i++) {
		const bool wrong = stage == PLAN_STAGE_WRONG && i >= PLAN_FIRST;

		fprintf(out, "server %s    = 127.0.0.1:%u\n", names[i],
			wrong ? WRONG_PORT : (unsigned)p->server_ports[i]);
	}
	fputs("timeout-connect     = 200ms\n"
	      "timeout-half-closed = 5s\n",
	      out);
}
