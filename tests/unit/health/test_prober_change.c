/* SPDX-License-Identifier: MIT
 *
 * test_prober_change.c - servers come, change and go in every state of their checks, and leave nothing.
 *
 * Linked with --wrap of the allocator, so that each allocation can fail in turn, and all are counted.
 */
#include <errno.h>
#include <ev.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/balance/live_change.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/log.h"
#include "weir/health/prober.h"
#include "weir/sys/sys.h"
#include "weir/sys/low_fds.h"
#include "health/target.h"
#include "../balance/live_by_hand.h"
#include "../balance/updates_by_hand.h"
#include "../base/alloc_fail.h"

#define TIMES  10000
#define TURNS  5000
#define HOUR   (3600 * NS_PER_SEC)

static struct config_server first, other; /* `first` is there from the start, and not checked */
static struct config_backend backend_config;
static struct config config;
static struct engine engine;
static struct ev_loop *loop;
static struct prober *prober;
static struct updates_by_hand hand;
static struct server_updates *const u = &hand.updates;
static int listener;
static int waiting[16]; /* fill the backlog */
static size_t waiting_count;

static struct backend *backend(void)
{
	return engine.backends[0];
}

static int setup(void **state)
{
	char name[64];
	const struct sock_listen opt = {.mode = -1, .uid = (uid_t)-1, .gid = (gid_t)-1};
	int err;

	(void)state;
	memset(&backend_config, 0, sizeof(backend_config));
	memset(&first, 0, sizeof(first));
	(void)snprintf(backend_config.name, sizeof(backend_config.name), "app");
	(void)snprintf(first.name, sizeof(first.name), "first");
	(void)snprintf(name, sizeof(name), "unix:@weir-test-change-%d", (int)getpid());
	assert_int_equal(addr_parse(name, &first.addr, NULL, NULL), 0);
	first.weight = 1;
	other = first;
	(void)snprintf(other.name, sizeof(other.name), "other");
	other.check = true;
	backend_config.servers = &first;
	backend_config.server_count = 1;
	backend_config.check = (struct config_check){
		.kind = CONFIG_CHECK_TCP,
		.method = (char *)(uintptr_t)"GET",
		.path = (char *)(uintptr_t)"/up",
		.interval_ns = HOUR,
		.rise = 2,
		.fall = 3,
	};
	config.backends = &backend_config;
	config.backend_count = 1;
	engine.config = &config;
	waiting_count = 0;
	listener = sock_listen(&first.addr.addr, &opt);
	assert_true(listener >= 0);
	loop = ev_loop_new(EVFLAG_AUTO);
	engine.backends = backends_by_hand(&config);
	engine.backend_count = 1;
	updates_by_hand_init(&hand, engine.backends, 1);
	prober = prober_new(loop, &engine, u, &err);
	return prober != NULL ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	prober_free(prober);
	server_updates_free(u);
	retire_end(&backend()->live->retire);
	backends_by_hand_free(engine.backends);
	ev_loop_destroy(loop);
	while (waiting_count > 0)
		sys_close(waiting[--waiting_count]);
	sys_close(listener);
	return 0;
}

static void end_turn(void)
{
	updates_by_hand_turn(&hand, clock_mono_ns());
	retire_go_on(&backend()->live->retire);
}

static struct server *come(void)
{
	struct server *s;
	int err;

	assert_int_equal(prober_prepare(prober, 1), 0);
	s = server_prepare(backend(), &other, &err);
	assert_non_null(s);
	server_commit_add(u, s);
	prober_settle(prober, 1);
	end_turn();
	return s;
}

static void go(struct server *s)
{
	assert_int_equal(server_prepare_remove(s), 0);
	server_remove(u, s);
	end_turn();
}

static void change_backend(void)
{
	struct backend_settings *v;
	int err;

	assert_int_equal(prober_prepare(prober, backend()->server_count), 0);
	v = backend_prepare_change(backend(), &backend_config, &err);
	assert_non_null(v);
	backend_commit_change(u, v);
	prober_settle(prober, backend()->server_count);
	end_turn();
}

static void change(struct server *s)
{
	struct server_settings *v;
	int err;

	assert_int_equal(prober_prepare(prober, 1), 0);
	v = server_prepare_change(s, &other, &err);
	assert_non_null(v);
	server_commit_change(u, v);
	prober_settle(prober, 1);
	end_turn();
}

static int accept_one(void)
{
	const int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void run_to(struct server *s, enum probe_phase phase)
{
	for (int i = 0; i < TURNS && target_of(s)->probe.phase != phase; i++)
		(void)ev_run(loop, EVRUN_ONCE);
	assert_int_equal(target_of(s)->probe.phase, phase);
}

static void fill_backlog(void)
{
	const struct addr *a = &first.addr.addr;

	assert_int_equal(listen(listener, 0), 0);
	do
		waiting[waiting_count] = sys_socket(a->sa.sa_family);
	while (sys_connect(waiting[waiting_count++], &a->sa, a->len) == 0);
}

/* The lowest descriptor that is free. */
static int next_fd(void)
{
	const int fd = dup(listener);

	sys_close(fd);
	return fd;
}

/* Servers come and go when their checks are in `phase`. */
static void come_and_go(enum probe_phase phase, bool accepted)
{
	long had = 0;
	int fd = 0;

	for (int i = 0; i < TIMES; i++) {
		struct server *s;
		int peer = -1;

		if (i == 10) {
			had = allocated;
			fd = next_fd();
		}
		s = come();
		run_to(s, phase);
		allocated += target_of(s)->probe.request != NULL; /* asprintf() is not counted */
		if (accepted)
			peer = accept_one();
		go(s);
		if (accepted)
			sys_close(peer);
		if (i >= 10) {
			assert_int_equal(allocated, had);
			assert_int_equal(next_fd(), fd);
		}
	}
	assert_int_equal(ev_run(loop, 0), 0); /* comes back: nothing is waited for */
	assert_int_equal(prober->observed, 0);
}

static void server_goes_before_its_first_check(void **state)
{
	(void)state;
	for (int i = 0; i < TIMES; i++)
		go(come());
	assert_int_equal(ev_run(loop, 0), 0);
}

static void server_goes_while_it_is_asked(void **state)
{
	(void)state;
	backend_config.check.kind = CONFIG_CHECK_HTTP;
	change_backend();
	come_and_go(PROBE_PHASE_LISTENING, true);
}

static void server_goes_while_the_check_says_goodbye(void **state)
{
	(void)state;
	backend_config.observe.what = CONFIG_OBSERVE_CONNECT;
	change_backend();
	come_and_go(PROBE_PHASE_PARTING, true);
}

static void server_goes_while_its_backlog_is_full(void **state)
{
	(void)state;
	fill_backlog();
	come_and_go(PROBE_PHASE_PAUSING, false);
}

static void server_goes_while_the_connect_is_under_way(void **state)
{
	const struct sock_listen opt = {.mode = -1, .uid = (uid_t)-1, .gid = (gid_t)-1};
	struct addr_spec tcp;

	(void)state;
	sys_close(listener);
	assert_int_equal(addr_parse("127.0.0.1:0", &tcp, NULL, NULL), 0);
	listener = sock_listen(&tcp.addr, &opt);
	assert_true(listener >= 0);
	assert_int_equal(listen(listener, 0), 0);
	for (waiting_count = 0; waiting_count < 3; waiting_count++) {
		waiting[waiting_count] = sys_socket(AF_INET);
		(void)sys_connect(waiting[waiting_count], &tcp.addr.sa, tcp.addr.len);
	}
	other.addr = tcp;
	come_and_go(PROBE_PHASE_CONNECTING, false);
}

static void each_allocation_may_fail(void **state)
{
	long had = 0, failures = 0;
	int err;

	(void)state;
	go(come());
	for (bool done = false; !done; failures++) {
		struct server *s = NULL;

		had = allocated;
		until_failure = failures;
		err = prober_prepare(prober, 3);
		if (err == 0) {
			s = server_prepare(backend(), &other, &err);
			if (s == NULL)
				prober_settle(prober, 3);
		}
		done = until_failure >= 0;
		until_failure = -1;
		if (s != NULL) {
			server_undo_add(s);
			prober_settle(prober, 3);
		}
		assert_true(done == (err == 0));
		assert_int_equal(allocated, had);
		assert_int_equal(backend()->server_count, 1);
		assert_int_equal(prober->reserved, 0);
	}
	assert_true(failures > 4);
}

static int growths, growth_err;

static int on_growth(unsigned count, int end)
{
	(void)count;
	(void)end;
	growths++;
	return growth_err;
}

/* libev must have what it needs before the commit: it ends the process when it gets no memory. */
static void checks_have_their_descriptors_before_the_commit(void **state)
{
	struct server *s;
	int err;

	(void)state;
	low_fds_on_growth(on_growth);
	growth_err = 0;
	assert_true(low_fds_hold(1) > 0);
	growths = 0;
	growth_err = -ENOMEM;
	assert_int_equal(prober_prepare(prober, 3), -ENOMEM);
	assert_int_equal(growths, 1);
	assert_int_equal(prober->spare_count, 0);
	growth_err = 0;
	assert_int_equal(prober_prepare(prober, 3), 0);
	assert_int_equal(growths, 2);
	s = server_prepare(backend(), &other, &err);
	assert_non_null(s);
	server_commit_add(u, s);
	prober_settle(prober, 3);
	end_turn();
	assert_int_equal(prober->claimed, 1);
	go(s);
	assert_int_equal(prober->claimed, 0);
	assert_int_equal(prober_prepare(prober, 3), 0); /* what was reserved had been given back */
	assert_int_equal(growths, 3);
	prober_settle(prober, 3);
	low_fds_free();
}

static void check_without_memory_says_nothing_of_the_server(void **state)
{
	struct server *s = come();

	(void)state;
	backend_config.check.kind = CONFIG_CHECK_HTTP;
	backend_config.check.body = (char *)(uintptr_t)"fine";
	change_backend();
	for (long n = 0; n < 4; n++) { /* each of the allocations that copy the question */
		target_of(s)->view.code = PROBE_INI;
		until_failure = n;
		for (int i = 0; i < TURNS && s->probe->code == PROBE_INI && until_failure >= 0; i++)
			(void)ev_run(loop, EVRUN_ONCE);
		assert_int_equal(until_failure, -1);
		assert_int_equal(s->probe->code, PROBE_SOCKERR);
		assert_true(s->healthy);
		server_updates_set_admin(u, s, SERVER_ADMIN_MAINT, "by hand");
		server_updates_set_admin(u, s, SERVER_ADMIN_READY, "by hand");
	}
	run_to(s, PROBE_PHASE_LISTENING);
	go(s);
}

/* A check goes on over a change that does not concern it. */
static void check_under_way_survives_other_changes(void **state)
{
	struct server *s;
	int peer;

	(void)state;
	backend_config.check.kind = CONFIG_CHECK_HTTP;
	change_backend();
	s = come();
	run_to(s, PROBE_PHASE_LISTENING);
	peer = accept_one();
	for (int i = 0; i < TIMES; i++) {
		other.weight = 1 + (unsigned)i % 2;
		backend_config.check.interval_ns = HOUR - i % 2;
		change(s);
		change_backend();
		assert_int_equal(target_of(s)->probe.phase, PROBE_PHASE_LISTENING);
	}
	assert_int_equal(sys_send(peer, "HTTP/1.0 200 OK\r\n\r\n", 19), 19);
	for (int i = 0; i < TURNS && s->probe->code != PROBE_L7OK; i++)
		(void)ev_run(loop, EVRUN_ONCE);
	assert_int_equal(s->probe->code, PROBE_L7OK);
	assert_int_equal(s->probe->health, 4);
	backend_config.check.fall = 5;
	change_backend();
	assert_int_equal(s->probe->health, 6);
	assert_int_equal(s->probe->code, PROBE_L7OK);
	/* Another question: it stays up, and the next check alone decides. */
	backend_config.check.path = (char *)(uintptr_t)"/other";
	change_backend();
	assert_int_equal(s->probe->code, PROBE_INI);
	assert_int_equal(s->probe->health, 2);
	assert_true(s->healthy);
	sys_close(peer);
	run_to(s, PROBE_PHASE_LISTENING); /* at once, not in an hour */
	sys_close(accept_one());
	for (int i = 0; i < TURNS && s->healthy; i++)
		(void)ev_run(loop, EVRUN_ONCE);
	assert_false(s->healthy);
	assert_int_equal(s->probe->downs, 1);
	/* It stays down, too, and one good check is enough, although `rise` is 2. */
	backend_config.check.path = (char *)(uintptr_t)"/third";
	change_backend();
	assert_int_equal(s->probe->code, PROBE_INI);
	assert_false(s->healthy);
	run_to(s, PROBE_PHASE_LISTENING);
	peer = accept_one();
	assert_int_equal(sys_send(peer, "HTTP/1.0 200 OK\r\n\r\n", 19), 19);
	for (int i = 0; i < TURNS && !s->healthy; i++)
		(void)ev_run(loop, EVRUN_ONCE);
	assert_true(s->healthy);
	sys_close(peer);
	go(s);
}

static void unchecked_server_is_up(void **state)
{
	struct server *s;

	(void)state;
	backend_config.check.kind = CONFIG_CHECK_HTTP;
	change_backend();
	s = come();
	run_to(s, PROBE_PHASE_LISTENING);
	sys_close(accept_one());
	for (int i = 0; i < TURNS && s->healthy; i++)
		(void)ev_run(loop, EVRUN_ONCE);
	assert_false(s->healthy);
	other.check = false;
	change(s);
	assert_null(s->probe);
	assert_true(server_usable(s));
	other.check = true;
	change(s);
	assert_int_equal(s->probe->health, 2);
	assert_true(server_usable(s));
	/* Nothing else would let one that is stopping take clients again. */
	assert_int_equal(server_updates_force_health(u, s, SERVER_HEALTH_STOPPING, "set"), 0);
	other.check = false;
	change(s);
	assert_true(server_usable(s));
	other.check = true;
	change(s);
	backend_config.check.kind = CONFIG_CHECK_OFF; /* checked on its own until its line changes, too */
	change_backend();
	other.check = false;
	change(s);
	assert_null(s->probe);
	go(s);
	assert_int_equal(ev_run(loop, 0), 0);
}

#define CHANGE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHANGE_TEST(server_goes_before_its_first_check),
		CHANGE_TEST(server_goes_while_it_is_asked),
		CHANGE_TEST(server_goes_while_the_check_says_goodbye),
		CHANGE_TEST(server_goes_while_its_backlog_is_full),
		CHANGE_TEST(server_goes_while_the_connect_is_under_way),
		CHANGE_TEST(each_allocation_may_fail),
		CHANGE_TEST(checks_have_their_descriptors_before_the_commit),
		CHANGE_TEST(check_without_memory_says_nothing_of_the_server),
		CHANGE_TEST(check_under_way_survives_other_changes),
		CHANGE_TEST(unchecked_server_is_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
