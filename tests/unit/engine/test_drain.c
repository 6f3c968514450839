/* SPDX-License-Identifier: MIT
 *
 * test_drain.c - a stop that drains: endpoints leave without losing a client, and workers end after that.
 */
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../entry/entry_rig.h"

#define DEAF_NS	     (900 * NS_PER_MS)
#define JUST_COME_NS (20 * NS_PER_MS)
#define PATIENCE_NS  (6 * NS_PER_SEC)

int __real_sys_accept(int fd, struct sockaddr *sa, socklen_t *len);
int __wrap_sys_accept(int fd, struct sockaddr *sa, socklen_t *len);

static int accept_err; /* 0 = none */
static unsigned accepts_failed;

int __wrap_sys_accept(int fd, struct sockaddr *sa, socklen_t *len)
{
	accepts_failed += accept_err != 0;
	return accept_err != 0 ? accept_err : __real_sys_accept(fd, sa, len);
}

static struct entry_rig r;
static struct endpoint *ep;
static struct addr at; /* where clients connect to */

static void start(void)
{
	struct endpoint *failed;

	assert_int_equal(entries_bind(&r.engine.entries, &failed), 0);
	rig_start_workers(&r);
	at = ep->addr;
}

static int open_loopback(void **state)
{
	(void)state;
	rig_build(&r);
	ep = first_endpoint(&r.engine);
	start();
	return 0;
}

static int open_wildcard(void **state)
{
	(void)state;
	rig_build(&r);
	ep = first_endpoint(&r.engine);
	ep->addr.in.sin_addr.s_addr = htonl(INADDR_ANY);
	start();
	at.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return 0;
}

static int open_unix(void **state)
{
	(void)state;
	rig_build(&r);
	ep = first_endpoint(&r.engine);
	memset(&ep->addr, 0, sizeof(ep->addr));
	ep->addr.un.sun_family = AF_UNIX;
	(void)snprintf(ep->addr.un.sun_path, sizeof(ep->addr.un.sun_path), "/tmp/test_drain.%d",
		       (int)getpid()); /* fits */
	ep->addr.len = sizeof(ep->addr.un);
	start();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	accept_err = 0;
	rig_close(&r);
	return 0;
}

/* One that a deaf socket hears, as if its handshake had begun before. */
static int early_client(void)
{
	const int ttl = 255;
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl)), 0);
	assert_int_equal(connect(fd, &at.sa, at.len), 0);
	return fd;
}

static bool is_connected(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	return poll(&p, 1, 0) == 1 && (p.revents & (POLLERR | POLLHUP)) == 0;
}

static bool is_refused(void)
{
	const int fd = socket(at.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const bool refused = connect(fd, &at.sa, at.len) != 0 && (errno == ECONNREFUSED || errno == ENOENT);

	close(fd);
	return refused;
}

static bool is_told(void)
{
	return r.workers[0]->draining && r.workers[1]->draining;
}

static bool is_finished(void)
{
	return r.workers[0]->finished && r.workers[1]->finished;
}

/* Until nothing is under way; a worker that has finished turns no more. */
static int64_t go_on(void)
{
	int64_t at_ns = CLOCK_NEVER;

	for (int i = 0; i < RIG_SETTLED; i++) {
		for (unsigned w = 0; w < RIG_WORKERS; w++)
			if (!r.workers[w]->finished)
				rig_turn(&r, w);
		at_ns = rig_control(&r);
	}
	return at_ns;
}

/* A worker may wait for the end of a pause. */
static void close_clients(const int *fds, int count)
{
	for (int i = 0; i < count; i++)
		close(fds[i]);
	while (!is_finished()) {
		rig_hang_up(&r);
		(void)go_on();
	}
}

/* ---- the tests ---- */

static void drain_waits_for_handshakes_in_flight(void **state)
{
	int fds[4];

	(void)state;
	fds[0] = rig_client(&at);
	assert_true(rig_reaches(&r, 1));
	engine_drain(&r.engine, r.now_ns);
	assert_int_equal(ep->stage, ENDPOINT_DEAF);
	fds[1] = early_client();
	fds[2] = rig_client(&at);
	engine_drain(&r.engine, r.now_ns + 5); /* harmless */
	assert_true(go_on() == r.now_ns + DEAF_NS);
	assert_int_equal(rig_forwarding(&r), 2);
	assert_false(is_connected(fds[2]));
	r.now_ns += DEAF_NS - 1;
	fds[3] = early_client();
	(void)go_on();
	assert_int_equal(ep->stage, ENDPOINT_DEAF);
	assert_false(is_told());
	r.now_ns++;
	assert_true(go_on() == CLOCK_NEVER);
	assert_int_equal(r.engine.entries.endpoint_count, 0);
	assert_true(is_told());
	assert_true(is_refused());
	assert_int_equal(rig_forwarding(&r), 3);
	assert_false(is_finished());
	close_clients(fds, 4);
}

static void drain_waits_for_nobody_on_loopback(void **state)
{
	int fds[2], ttl = 0;
	socklen_t len = sizeof(ttl);

	(void)state;
	fds[0] = rig_client(&at);
	fds[1] = rig_client(&at); /* both are queued */
	engine_drain(&r.engine, r.now_ns);
	assert_int_equal(ep->stage, ENDPOINT_LEAVING);
	/* Nobody else comes in, who would be reset. */
	assert_int_equal(getsockopt(ep->fd, IPPROTO_IP, IP_MINTTL, &ttl, &len), 0);
	assert_int_equal(ttl, 255);
	assert_true(go_on() == CLOCK_NEVER);
	assert_true(is_told());
	assert_true(is_refused());
	assert_int_equal(rig_forwarding(&r), 2);
	close_clients(fds, 2);
}

static void drain_removes_a_path_first(void **state)
{
	struct stat st;
	int fds[2];

	(void)state;
	assert_int_equal(stat(at.un.sun_path, &st), 0);
	fds[0] = rig_client(&at);
	fds[1] = rig_client(&at);
	engine_drain(&r.engine, r.now_ns);
	assert_int_not_equal(stat(at.un.sun_path, &st), 0);
	assert_true(ep->fd >= 0);
	assert_true(go_on() == CLOCK_NEVER);
	assert_true(is_told());
	assert_true(is_refused());
	assert_int_equal(rig_forwarding(&r), 2);
	close_clients(fds, 2);
}

static void drain_without_sessions_ends_all_workers(void **state)
{
	(void)state;
	engine_drain(&r.engine, r.now_ns);
	assert_true(go_on() == CLOCK_NEVER);
	assert_true(is_finished());
	assert_int_equal(atomic_load(&r.engine.workers_deaf), RIG_WORKERS);
}

static void drain_does_not_wait_for_descriptors_for_ever(void **state)
{
	const int fd = rig_client(&at);

	(void)state;
	accept_err = -EMFILE;
	engine_drain(&r.engine, r.now_ns);
	assert_true(go_on() == r.now_ns + PATIENCE_NS);
	assert_true(accepts_failed > 0);
	assert_false(is_told());
	r.now_ns += PATIENCE_NS - 1;
	(void)go_on();
	assert_false(is_told());
	r.now_ns++;
	(void)go_on();
	assert_true(is_told());
	close_clients((int[]){fd}, 1);
}

static void stop_ends_a_drain_at_once(void **state)
{
	int fds[2];

	(void)state;
	fds[0] = rig_client(&at);
	assert_true(rig_reaches(&r, 1));
	engine_drain(&r.engine, r.now_ns);
	fds[1] = early_client(); /* it is reset */
	engine_stop(&r.engine);
	(void)go_on();
	assert_true(is_finished());
	assert_int_equal(ep->fd, -1);
	assert_true(is_refused());
	close(fds[0]);
	close(fds[1]);
}

static void what_comes_during_a_drain_leaves_at_once(void **state)
{
	struct entries *e = &r.engine.entries;
	struct frontend *fe = first_frontend(&r.engine);
	struct entry_error error;
	struct endpoint *more = entries_prepare_endpoint(e, fe, NULL, &r.config.bind, NULL, &error);

	(void)state;
	assert_non_null(more);
	engine_drain(&r.engine, r.now_ns);
	assert_int_equal(entries_stay(e, ep), -EBADF);
	entries_commit_endpoint(e, more);
	assert_int_equal(more->stage, ENDPOINT_LEAVING);
	assert_int_equal(entries_stay(e, more), -EBADF);
	assert_true(go_on() == r.now_ns + DEAF_NS);
	assert_int_equal(e->endpoint_count, 1);
	r.now_ns += DEAF_NS;
	(void)go_on();
	assert_int_equal(e->endpoint_count, 0);
	assert_true(is_finished());
}

/* The drain begins before any worker has seen it. */
static void client_of_an_endpoint_that_has_just_come_is_taken(void **state)
{
	struct entries *e = &r.engine.entries;
	struct entry_error error;
	struct endpoint *more = entries_prepare_endpoint(e, first_frontend(&r.engine), NULL, &r.config.bind,
							 NULL, &error);
	int fd;

	(void)state;
	assert_non_null(more);
	at = more->addr;
	fd = rig_client(&at);
	entries_commit_endpoint(e, more);
	engine_drain(&r.engine, r.now_ns);
	assert_int_equal(ep->stage, ENDPOINT_LEAVING);
	assert_true(go_on() == r.now_ns + JUST_COME_NS);
	assert_int_equal(rig_forwarding(&r), 1);
	assert_false(is_told());
	r.now_ns += JUST_COME_NS;
	assert_true(go_on() == CLOCK_NEVER);
	assert_true(is_told());
	close_clients(&fd, 1);
}

#define DRAIN_TEST(name, open) cmocka_unit_test_setup_teardown(name, open, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DRAIN_TEST(drain_waits_for_handshakes_in_flight, open_wildcard),
		DRAIN_TEST(drain_waits_for_nobody_on_loopback, open_loopback),
		DRAIN_TEST(drain_removes_a_path_first, open_unix),
		DRAIN_TEST(drain_without_sessions_ends_all_workers, open_loopback),
		DRAIN_TEST(drain_does_not_wait_for_descriptors_for_ever, open_loopback),
		DRAIN_TEST(stop_ends_a_drain_at_once, open_wildcard),
		DRAIN_TEST(client_of_an_endpoint_that_has_just_come_is_taken, open_loopback),
		DRAIN_TEST(what_comes_during_a_drain_leaves_at_once, open_wildcard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
