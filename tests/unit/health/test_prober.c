/* SPDX-License-Identifier: MIT
 *
 * test_prober.c - checks over real sockets of this program: verdicts, manners, and what becomes of a server.
 *
 * The loop and the servers share this thread: a server is a nonblocking listener that is looked at between
 * two turns of the loop.
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
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/balance/health.h"
#include "weir/balance/live_change.h"
#include "weir/balance/run_time.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/config/server_check.h"
#include "weir/health/prober.h"
#include "weir/sys/sys.h"
#include "health/probe.h"
#include "../balance/live_by_hand.h"
#include "../balance/updates_by_hand.h"
#include "../base/own_network.h"

#define WAIT_S  10.
#define SERVERS 2

/* ---- a server ---- */

static struct fake {
	int listener;   /* -1 = nobody listens */
	int fd;         /* the present connection; -1 = none */
	const char *say_first; /* as soon as it is connected */
	size_t ask;            /* `answer` goes out when so many bytes have come */
	const char *answer;    /* NULL = stays silent */
	bool closes;           /* after the answer; else when the other side has ended */
	bool flood;            /* never stops speaking */
	bool busy;             /* accepts nobody */
	char got[1024];
	size_t got_len;
	int ended;      /* how the last connection ended: 1 = FIN, -errno, 0 = not yet */
	unsigned conns; /* ever */
} fake;

static struct addr address;

static void fake_listen(void)
{
	const struct sock_listen opt = {.mode = -1, .uid = (uid_t)-1, .gid = (gid_t)-1};

	fake.listener = sock_listen(&address, &opt);
	assert_true(fake.listener >= 0);
}

static void fake_deafen(void)
{
	sys_close(fake.listener);
	fake.listener = -1;
}

static void fake_say(const char *text)
{
	assert_int_equal(sys_send(fake.fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void fake_hang_up(int how)
{
	sys_close(fake.fd);
	fake.fd = -1;
	fake.ended = how;
}

static void fake_accept(void)
{
	fake.fd = accept4(fake.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fake.fd < 0)
		return;
	fake.conns++;
	fake.ended = 0;
	fake.got_len = 0;
	if (fake.say_first != NULL)
		fake_say(fake.say_first);
}

static void fake_answer(void)
{
	if (fake.answer != NULL)
		fake_say(fake.answer);
	fake.ask = SIZE_MAX;
	if (fake.closes)
		assert_int_equal(sys_shutdown(fake.fd, SHUT_WR), 0);
}

static void fake_turn(void)
{
	static const char noise[4096];
	ssize_t n;

	if (fake.fd < 0 && fake.listener >= 0 && !fake.busy)
		fake_accept();
	if (fake.fd < 0)
		return;
	if (fake.flood)
		(void)sys_send(fake.fd, noise, sizeof(noise)); /* until it is refused */
	n = sys_recv(fake.fd, fake.got + fake.got_len, sizeof(fake.got) - fake.got_len, 0);
	if (n > 0)
		fake.got_len += (size_t)n;
	if (fake.got_len >= fake.ask)
		fake_answer();
	/* A last word: where the connection is gone already, what was said before has made it a reset. */
	if (n == 0)
		n = sys_send(fake.fd, "bye", 3) > 0 ? 0 : -EPIPE;
	if (n == 0)
		fake_hang_up(1);
	else if (n < 0 && n != -EAGAIN)
		fake_hang_up((int)n);
}

/* ---- the rest of the world ---- */

static struct config_server server_configs[SERVERS];
static struct config_backend backend_config;
static struct config config;
static struct engine engine;
static struct ev_loop *loop;
static struct prober *prober;
static struct updates_by_hand hand;

static void wish(enum config_check_kind kind)
{
	backend_config.check = (struct config_check){
		.kind = kind,
		.method = (char *)(uintptr_t)"GET",
		.path = (char *)(uintptr_t)"/up",
		.interval_ns = 20 * NS_PER_MS,
		.rise = 2,
		.fall = 3,
	};
}

static int setup(void **state)
{
	(void)state;
	memset(server_configs, 0, sizeof(server_configs));
	memset(&backend_config, 0, sizeof(backend_config));
	fake = (struct fake){.listener = -1, .fd = -1, .ask = SIZE_MAX};
	assert_int_equal(addr_parse("127.0.0.1:0", &server_configs[0].addr, NULL, NULL), 0);
	address = server_configs[0].addr.addr;
	fake_listen();
	server_configs[0].addr.addr = address;
	(void)snprintf(server_configs[0].name, sizeof(server_configs[0].name), "a");
	server_configs[0].check = true;
	server_configs[0].weight = 1;
	server_configs[1] = server_configs[0];
	(void)snprintf(server_configs[1].name, sizeof(server_configs[1].name), "b");
	server_configs[1].check = false;
	(void)snprintf(backend_config.name, sizeof(backend_config.name), "app");
	backend_config.servers = server_configs;
	backend_config.server_count = 1;
	config.backends = &backend_config;
	config.backend_count = 1;
	engine.config = &config;
	wish(CONFIG_CHECK_TCP);
	loop = ev_loop_new(EVFLAG_AUTO);
	return loop != NULL ? 0 : -1;
}

static void start(void)
{
	int err;

	engine.backends = backends_by_hand(&config);
	engine.backend_count = 1;
	assert_non_null(engine.backends);
	updates_by_hand_init(&hand, engine.backends, 1);
	prober = prober_new(loop, &engine, &hand.updates, &err);
	assert_non_null(prober);
	assert_int_equal(err, 0);
}

/* Puts what the test has changed in the configuration in force, as one change. */
static void apply(void)
{
	struct backend *b = engine.backends[0];
	struct server_settings *servers[SERVERS];
	struct backend_settings *v;
	int err;

	assert_int_equal(prober_prepare(prober, b->server_count), 0);
	v = backend_prepare_change(b, &backend_config, &err);
	assert_non_null(v);
	for (size_t i = 0; i < b->server_count; i++)
		assert_non_null(servers[i] = server_prepare_change(b->servers[i], &server_configs[i], &err));
	backend_commit_change(&hand.updates, v);
	for (size_t i = 0; i < b->server_count; i++)
		server_commit_change(&hand.updates, servers[i]);
	prober_settle(prober, b->server_count);
	updates_by_hand_turn(&hand, clock_mono_ns());
	retire_go_on(&b->live->retire);
}

static void stop(void)
{
	prober_free(prober);
	prober = NULL;
	server_updates_free(&hand.updates);
	backends_by_hand_free(engine.backends);
}

static int teardown(void **state)
{
	(void)state;
	stop();
	if (fake.fd >= 0)
		sys_close(fake.fd);
	if (fake.listener >= 0)
		sys_close(fake.listener);
	ev_loop_destroy(loop);
	return 0;
}

static struct server *server(void)
{
	return engine.backends[0]->servers[0];
}

static const struct probe_view *view(void)
{
	return server()->probe;
}

static void nudge(struct ev_loop *l, struct ev_timer *timer, int revents)
{
	(void)l;
	(void)timer;
	(void)revents;
}

/* One turn of the loop, of a millisecond at the most, and one of the server. */
static void turn(void)
{
	struct ev_timer timer;

	ev_timer_init(&timer, nudge, 0.001, 0.);
	ev_timer_start(loop, &timer);
	(void)ev_run(loop, EVRUN_ONCE);
	ev_timer_stop(loop, &timer);
	updates_by_hand_turn(&hand, clock_mono_ns());
	fake_turn();
}

#define run_until(condition)                                                                                 \
	do {                                                                                                 \
		const double until_ = ev_time() + WAIT_S;                                                    \
		while (!(condition) && ev_time() < until_)                                                   \
			turn();                                                                              \
		assert_true(condition);                                                                      \
	} while (0)

static void run_until_result(const char *code)
{
	run_until(strcmp(probe_code_word(view()->code), code) == 0);
}

/* How many checks have begun. */
static void run_for_conns(unsigned more)
{
	const unsigned wanted = fake.conns + more;

	run_until(fake.conns >= wanted);
}

/* ---- verdicts ---- */

static void connect_that_succeeds_is_enough_for_tcp(void **state)
{
	(void)state;
	start();
	assert_int_equal(view()->code, PROBE_INI);
	assert_int_equal(view()->health, 2);
	assert_true(view()->duration_ms == -1);
	run_until_result("L4OK");
	assert_string_equal(probe_code_text(view()->code), "Layer4 check passed");
	assert_string_equal(view()->detail, "");
	assert_int_equal(view()->health, 4);
	assert_true(view()->duration_ms >= 0);
	assert_true(server_usable(server()));
	assert_int_equal(view()->failures, 0);
}

static void dead_server_goes_down_and_comes_back(void **state)
{
	(void)state;
	start();
	run_until_result("L4OK");
	run_until(fake.fd < 0);
	fake_deafen();
	run_until(!server_usable(server()));
	assert_int_equal(view()->code, PROBE_L4CON);
	assert_string_equal(view()->detail, "connection refused");
	assert_int_equal(view()->failures, 3);
	assert_int_equal(view()->downs, 1);
	assert_int_equal(view()->health, 0);
	/* Further failures of a server that is down are not counted, as in HAProxy. */
	for (int i = 0; i < 100; i++)
		turn();
	fake_listen();
	run_until(server_usable(server()));
	assert_int_equal(view()->failures, 3);
	assert_int_equal(view()->health, 4);
	assert_int_equal(view()->downs, 1);
}

static void new_server_is_up_and_one_failure_takes_it_down(void **state)
{
	(void)state;
	fake_deafen();
	start();
	assert_true(server_usable(server()));
	run_until_result("L4CON");
	assert_false(server_usable(server()));
	assert_int_equal(view()->failures, 1);
}

static void server_that_says_nothing_times_out(void **state)
{
	(void)state;
	wish(CONFIG_CHECK_HTTP);
	backend_config.check.interval_ns = 3600 * NS_PER_SEC;
	backend_config.check.timeout_ns = 10 * NS_PER_MS;
	start();
	run_until_result("L7TOUT");
	assert_string_equal(view()->detail, "no answer");
	assert_true(view()->duration_ms >= 9);
	assert_true(view()->duration_ms < 5000);
	assert_false(server_usable(server()));
}

/* Control gets no CPU. */
static void stall(void)
{
	const struct timespec time = {.tv_sec = 1, .tv_nsec = 300 * NS_PER_MS};

	(void)nanosleep(&time, NULL);
}

/* One check, which is asked once, has a second, and more than that goes by. */
static void start_and_stall(bool answered)
{
	wish(CONFIG_CHECK_HTTP);
	backend_config.check.interval_ns = 3600 * NS_PER_SEC;
	backend_config.check.timeout_ns = NS_PER_SEC;
	fake.answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
	fake.ask = answered ? 20 : SIZE_MAX;
	start();
	if (answered)
		run_until(fake.fd >= 0 && fake.got_len >= 20);
	else
		run_until(fake.fd >= 0 && fake.got_len > 0);
	stall();
}

static void answer_that_is_there_counts_when_control_is_late(void **state)
{
	(void)state;
	start_and_stall(true);
	run_until_result("L7OK");
	assert_int_equal(fake.conns, 1);
	assert_int_equal(view()->failures, 0);
}

static void missed_time_is_no_failure(void **state)
{
	(void)state;
	start_and_stall(false);
	run_until(fake.conns == 2);
	assert_int_equal(view()->failures, 0);
	assert_true(view()->running);
	fake.ask = 20; /* the second one is answered */
	run_until_result("L7OK");
	assert_int_equal(fake.conns, 2);
	assert_int_equal(view()->failures, 0);
	assert_true(server_usable(server()));
}

static void silence_is_a_failure_after_missed_time_too(void **state)
{
	(void)state;
	start_and_stall(false);
	run_until_result("L7TOUT");
	assert_int_equal(fake.conns, 2);
	assert_int_equal(view()->failures, 1);
	assert_false(server_usable(server()));
}

static void connect_that_is_over_counts_when_control_is_late(void **state)
{
	(void)state;
	backend_config.check.interval_ns = 3600 * NS_PER_SEC;
	backend_config.check.timeout_ns = NS_PER_SEC;
	start();
	(void)ev_run(loop, EVRUN_NOWAIT);
	stall();
	run_until_result("L4OK");
	assert_int_equal(fake.conns, 1);
	assert_int_equal(view()->failures, 0);
}

static void http_status_decides(void **state)
{
	char wanted[128];

	(void)state;
	wish(CONFIG_CHECK_HTTP);
	fake.ask = 20;
	fake.answer = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
	start();
	run_until_result("L7STS");
	assert_string_equal(view()->detail, "status 503");
	assert_int_equal(view()->status, 503);
	fake.got[fake.got_len] = '\0';
	(void)snprintf(wanted, sizeof(wanted), "GET /up HTTP/1.0\r\nHost: 127.0.0.1:%u\r\n\r\n",
		       ntohs(address.in.sin_port));
	assert_string_equal(fake.got, wanted);
	run_until(fake.fd < 0);
	assert_int_equal(fake.ended, 1);
	fake.ask = 20;
	fake.answer = "HTTP/1.1 200 OK\r\n\r\n";
	run_until_result("L7OK");
	assert_string_equal(view()->detail, "status 200");
}

static void http_host_asks_in_1_1(void **state)
{
	static const char wanted[] = "HEAD /up HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n";

	(void)state;
	wish(CONFIG_CHECK_HTTP);
	backend_config.check.method = (char *)(uintptr_t)"HEAD";
	backend_config.check.host = (char *)(uintptr_t)"app.test";
	fake.ask = sizeof(wanted) - 1;
	fake.answer = "SSH-2.0\r\n";
	start();
	run_until_result("L7RSP");
	assert_string_equal(view()->detail, "the answer is not HTTP");
	assert_memory_equal(fake.got, wanted, sizeof(wanted) - 1);
}

static void http_body_is_searched(void **state)
{
	(void)state;
	wish(CONFIG_CHECK_HTTP);
	backend_config.check.body = (char *)(uintptr_t)"it's up";
	fake.ask = 1;
	fake.closes = true;
	fake.answer = "HTTP/1.0 200 OK\r\n\r\nit is down";
	start();
	run_until_result("L7RSP");
	assert_string_equal(view()->detail, "expected 'it\\x27s up' not found");
}

static struct config_check_step step_of(bool expect, const char *text)
{
	return (struct config_check_step){
		.expect = expect, .bytes = (uint8_t *)(uintptr_t)text, .len = strlen(text)};
}

static void steps_go_to_and_fro(void **state)
{
	struct config_check_step steps[] = {step_of(true, "220 "), step_of(false, "PING\r\n"),
					    step_of(false, "PONG\r\n"), step_of(true, "+OK"),
					    step_of(true, "+YES")};

	(void)state;
	wish(CONFIG_CHECK_SEND);
	backend_config.check.steps = steps;
	backend_config.check.step_count = 5;
	fake.say_first = "220 hello\r\n";
	fake.ask = 12;
	fake.answer = "+YES then +OK";
	start();
	run_until_result("L7OK");
	assert_memory_equal(fake.got, "PING\r\nPONG\r\n", 12);
	run_until(fake.fd < 0);
	assert_int_equal(fake.ended, 1);
	fake.answer = "-ERR";
	fake.closes = true;
	fake.ask = 12;
	run_until_result("L7RSP");
	assert_string_equal(view()->detail, "expected '+OK' not found");
}

/* The rest of the greeting belongs to the next step, however the bytes came. */
static void what_follows_a_match_is_left_to_the_next_step(void **state)
{
	struct config_check_step steps[] = {step_of(true, "220 "), step_of(false, "HELO\r\n"),
					    step_of(true, "ESMTP")};

	(void)state;
	wish(CONFIG_CHECK_SEND);
	backend_config.check.steps = steps;
	backend_config.check.step_count = 3;
	fake.say_first = "220 ESMTP\r\n";
	start();
	run_until_result("L7OK");
}

static void negated_step_waits_for_the_end(void **state)
{
	struct config_check_step step = step_of(true, "ERR");

	(void)state;
	step.negate = true;
	wish(CONFIG_CHECK_SEND);
	backend_config.check.steps = &step;
	backend_config.check.step_count = 1;
	backend_config.check.timeout_ns = 10 * NS_PER_MS;
	fake.say_first = "fine";
	start();
	run_until_result("L7TOUT"); /* the connection has not ended: HAProxy says so too */
	assert_string_equal(view()->detail, "expected answer not received in time");
	run_until(fake.fd < 0);
	fake.ask = 0;
	fake.closes = true;
	run_until_result("L7OK");
	run_until(fake.fd < 0);
	fake.say_first = "an ERR";
	run_until_result("L7RSP");
	assert_string_equal(view()->detail, "unexpected 'ERR' received");
}

static void endless_answer_is_cut(void **state)
{
	struct config_check_step step = step_of(true, "never");

	(void)state;
	wish(CONFIG_CHECK_SEND);
	backend_config.check.steps = &step;
	backend_config.check.step_count = 1;
	backend_config.check.timeout_ns = 5 * NS_PER_SEC;
	fake.flood = true;
	start();
	run_until_result("L7RSP");
	assert_string_equal(view()->detail, "expected 'never' not found");
	assert_true(view()->duration_ms < 4000);
}

/* ---- manners ---- */

/* When the verdict is known, not when the farewell is over; one of a few checks, as the machine may pause. */
static void check_ends_with_fin(void **state)
{
	double shortest = WAIT_S;

	(void)state;
	start();
	for (int i = 0; i < 5 && shortest >= 0.5; i++) {
		double begun;

		run_until(fake.fd < 0);
		run_for_conns(1);
		begun = ev_time();
		run_until(fake.ended != 0);
		assert_int_equal(fake.ended, 1);
		shortest = ev_time() - begun < shortest ? ev_time() - begun : shortest;
	}
	assert_true(shortest < 0.5);
}

static void greeting_that_nobody_reads_is_no_reset(void **state)
{
	(void)state;
	fake.say_first = "220 a greeting that a tcp check does not wait for\r\n";
	start();
	for (int i = 0; i < 3; i++) {
		run_until(fake.ended != 0);
		assert_int_equal(fake.ended, 1);
		fake.ended = 0;
	}
	assert_int_equal(view()->code, PROBE_L4OK);
}

static void proxy_header_goes_first(void **state)
{
	static const uint8_t local[16] = {'\r', '\n', '\r', '\n', 0,   '\r', '\n', 'Q',
					  'U',  'I',  'T',  '\n', 0x20, 0,    0,    0};
	char wanted[PROXY_V1_MAX];

	(void)state;
	backend_config.check.proxy = CONFIG_CHECK_PROXY_V2;
	start();
	run_until(fake.ended != 0);
	assert_int_equal(fake.got_len, sizeof(local));
	assert_memory_equal(fake.got, local, sizeof(local));
	backend_config.check.proxy = CONFIG_CHECK_PROXY_V1;
	apply();
	run_until(fake.got_len > 16 && fake.ended != 0);
	fake.got[fake.got_len] = '\0';
	(void)snprintf(wanted, sizeof(wanted), " %u\r\n", ntohs(address.in.sin_port));
	assert_memory_equal(fake.got, "PROXY TCP4 127.0.0.1 127.0.0.1 ", 31);
	assert_string_equal(fake.got + fake.got_len - strlen(wanted), wanted);
	assert_int_equal(fake.ended, 1);
	assert_int_equal(view()->code, PROBE_L4OK);
}

/* The next check that begins from now on sends so many bytes. */
static void assert_header_of(size_t len)
{
	run_until(fake.fd < 0);
	run_for_conns(1);
	run_until(fake.ended != 0);
	assert_int_equal(fake.got_len, len);
}

static void who_gets_a_header_from_clients_gets_one_from_checks(void **state)
{
	(void)state;
	server_configs[0].send_proxy = CONFIG_SEND_PROXY_V2;
	start();
	assert_header_of(16);
	backend_config.check.proxy = CONFIG_CHECK_PROXY_OFF;
	apply();
	assert_header_of(0);
	backend_config.check.proxy = CONFIG_CHECK_PROXY_AUTO;
	apply();
	assert_header_of(16);
	server_configs[0].check_port = ntohs(address.in.sin_port);
	apply();
	assert_header_of(0);
	server_configs[0].check_port = 0;
	backend_config.check.port = ntohs(address.in.sin_port);
	apply();
	assert_header_of(0);
	backend_config.check.proxy = CONFIG_CHECK_PROXY_V2;
	apply();
	assert_header_of(16);
	assert_int_equal(view()->code, PROBE_L4OK);
}

static void check_port_is_asked_instead(void **state)
{
	(void)state;
	server_configs[0].check_port = ntohs(address.in.sin_port);
	server_configs[0].addr.addr.in.sin_port = htons(1);
	start();
	run_until_result("L4OK");
	run_until(fake.fd < 0);
	/* The server's own goes before the backend's. */
	backend_config.check.port = 1;
	apply();
	run_for_conns(2);
	server_configs[0].check_port = 0;
	apply();
	run_until_result("L4CON");
}

/* Abstract names are shared by all runs: this one is our own. */
static void move_to_unix(void)
{
	char name[64];

	fake_deafen();
	(void)snprintf(name, sizeof(name), "unix:@weir-test-checks-%d", (int)getpid());
	assert_int_equal(addr_parse(name, &server_configs[0].addr, NULL, NULL), 0);
	address = server_configs[0].addr.addr;
	fake_listen();
}

/* A full backlog has no event: it is asked again, and a check that comes through is as good as any. */
static void full_unix_backlog_is_waited_for(void **state)
{
	int waiting[64];
	size_t count = 0;

	(void)state;
	move_to_unix();
	assert_int_equal(listen(fake.listener, 1), 0);
	do
		waiting[count] = sys_socket(AF_UNIX);
	while (sys_connect(waiting[count++], &address.sa, address.len) == 0 && count < ARRAY_LEN(waiting));
	assert_true(count < ARRAY_LEN(waiting));
	fake.busy = true;
	backend_config.check.interval_ns = 3600 * NS_PER_SEC;
	backend_config.check.timeout_ns = 5 * NS_PER_SEC;
	start();
	for (int i = 0; i < 100; i++)
		turn();
	assert_int_equal(view()->code, PROBE_INI);
	assert_true(view()->running);
	fake.busy = false;
	while (count > 0)
		sys_close(waiting[--count]);
	run_until_result("L4OK");
	assert_true(view()->duration_ms >= 50);
}

static void full_unix_backlog_is_no_server_in_the_end(void **state)
{
	int waiting[2];

	(void)state;
	move_to_unix();
	assert_int_equal(listen(fake.listener, 0), 0);
	for (size_t i = 0; i < ARRAY_LEN(waiting); i++) {
		waiting[i] = sys_socket(AF_UNIX);
		(void)sys_connect(waiting[i], &address.sa, address.len); /* the last finds no room */
	}
	fake.busy = true;
	start();
	run_until_result("L4TOUT");
	assert_string_equal(view()->detail, "backlog full");
	assert_false(server_usable(server()));
	for (size_t i = 0; i < ARRAY_LEN(waiting); i++)
		sys_close(waiting[i]);
}

static void unix_socket_is_checked(void **state)
{
	(void)state;
	move_to_unix();
	start();
	run_until_result("L4OK");
	run_until(fake.ended != 0);
	assert_int_equal(fake.ended, 1);
}

/* ---- our own shortage ---- */

static void lack_of_descriptors_says_nothing_of_a_server(void **state)
{
	struct rlimit now, none;

	(void)state;
	start();
	run_until_result("L4OK");
	run_until(fake.fd < 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
	none = now;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	run_until_result("SOCKERR");
	for (int i = 0; i < 100; i++)
		turn();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	assert_int_equal(view()->code, PROBE_SOCKERR);
	assert_string_equal(view()->detail, "too many open files");
	assert_true(server_usable(server()));
	assert_int_equal(view()->health, 4);
	assert_int_equal(view()->failures, 0);
	run_until_result("L4OK");
}

static void source_that_is_not_ours_says_nothing_of_a_server(void **state)
{
	struct addr_spec spec;

	(void)state;
	assert_int_equal(addr_parse("192.0.2.1:0", &spec, NULL, NULL), 0);
	server_configs[0].source.list = &spec.addr;
	server_configs[0].source.count = 1;
	start();
	run_until_result("SOCKERR");
	assert_true(server_usable(server()));
	assert_int_equal(view()->failures, 0);
}

static void option_that_is_refused_says_nothing_of_a_server(void **state)
{
	(void)state;
	backend_config.tcp.congestion = (char *)(uintptr_t)"no-such-algorithm";
	start();
	run_until_result("SOCKERR");
	assert_true(server_usable(server()));
	assert_int_equal(view()->failures, 0);
}

static void next_source_is_tried_when_one_cannot_be_had(void **state)
{
	struct addr_spec first, second;
	struct addr list[2];

	(void)state;
	assert_int_equal(addr_parse("192.0.2.1:0", &first, NULL, NULL), 0);
	assert_int_equal(addr_parse("127.0.0.9:0", &second, NULL, NULL), 0);
	list[0] = first.addr;
	list[1] = second.addr;
	server_configs[0].source.list = list;
	server_configs[0].source.count = 2;
	backend_config.check.proxy = CONFIG_CHECK_PROXY_V1;
	start();
	run_until_result("L4OK");
	run_until(fake.got_len > 0);
	assert_memory_equal(fake.got, "PROXY TCP4 127.0.0.9 127.0.0.1 ", 31);
}

/* ---- what else changes a server ---- */

static void failed_connects_of_clients_count_as_one_failed_check(void **state)
{
	(void)state;
	backend_config.observe.what = CONFIG_OBSERVE_CONNECT;
	backend_config.check.interval_ns = 3600 * NS_PER_SEC;
	backend_config.check.fast_ns = 3600 * NS_PER_SEC;
	start();
	run_until_result("L4OK");
	atomic_store(&server()->failing, OBSERVE_LIMIT_CHECKED - 1);
	prober_take_news(prober);
	assert_int_equal(view()->health, 4);
	atomic_store(&server()->failing, OBSERVE_LIMIT_CHECKED);
	prober_take_news(prober);
	assert_int_equal(atomic_load(&server()->failing), 0);
	assert_int_equal(view()->health, 3);
	assert_int_equal(view()->code, PROBE_HANA);
	assert_string_equal(view()->detail, "10 failed connects in a row");
	assert_true(server_usable(server()));
	for (int i = 0; i < 2; i++) {
		atomic_store(&server()->failing, OBSERVE_LIMIT_CHECKED + 5);
		prober_take_news(prober);
	}
	assert_false(server_usable(server()));
	assert_int_equal(view()->failures, 3);
	assert_int_equal(view()->downs, 1);
}

static void observed_failures_hasten_the_next_check_and_a_good_one_resets_them(void **state)
{
	(void)state;
	backend_config.observe.what = CONFIG_OBSERVE_CONNECT;
	backend_config.check.interval_ns = 3600 * NS_PER_SEC;
	backend_config.check.fast_ns = NS_PER_MS;
	start();
	run_until_result("L4OK");
	atomic_store(&server()->failing, OBSERVE_LIMIT_CHECKED);
	prober_take_news(prober);
	assert_int_equal(view()->code, PROBE_HANA);
	atomic_store(&server()->failing, 7);
	run_until_result("L4OK"); /* within a millisecond, not in an hour */
	assert_int_equal(view()->health, 4);
	assert_int_equal(atomic_load(&server()->failing), 0);
}

static void failures_are_not_looked_at_unless_observed(void **state)
{
	(void)state;
	start();
	run_until_result("L4OK");
	backend_config.check.interval_ns = 3600 * NS_PER_SEC;
	apply();
	run_for_conns(1);
	run_until(!view()->running);
	atomic_store(&server()->failing, 100);
	prober_take_news(prober);
	assert_int_equal(atomic_load(&server()->failing), 100);
}

static void set_admin(enum server_admin admin)
{
	assert_int_equal(server_updates_set_admin(&hand.updates, server(), admin, "by hand"), 0);
}

static void maintenance_is_not_checked_and_ready_is_at_once(void **state)
{
	unsigned before;

	(void)state;
	fake_deafen();
	start();
	run_until(!server_usable(server()));
	set_admin(SERVER_ADMIN_MAINT);
	assert_int_equal(ev_run(loop, 0), 0); /* comes back: nothing is waited for */
	assert_int_equal(view()->health, 2);
	fake_listen();
	backend_config.check.interval_ns = 3600 * NS_PER_SEC;
	apply();
	before = fake.conns;
	set_admin(SERVER_ADMIN_READY);
	assert_true(server_usable(server()));
	run_until_result("L4OK");
	run_until(fake.conns == before + 1);
	/* A second word changes nothing. */
	set_admin(SERVER_ADMIN_READY);
	set_admin(SERVER_ADMIN_DRAIN);
	assert_int_equal(fake.conns, before + 1);
}

static unsigned eweight(void)
{
	return atomic_load(&server()->eweight);
}

static void slow_start_moves_on_by_itself(void **state)
{
	(void)state;
	server_configs[0].slowstart_ns = NS_PER_SEC;
	server_configs[0].weight = 10;
	fake_deafen();
	start();
	run_until(!server_usable(server()));
	fake_listen();
	run_until(server_usable(server()));
	assert_true(eweight() < 10 * SERVER_WEIGHT_SCALE);
	run_until(eweight() == 10 * SERVER_WEIGHT_SCALE);
	assert_int_equal(server_throttle(server(), clock_mono_ns()), 100);
}

static void slow_start_needs_no_check(void **state)
{
	(void)state;
	server_configs[0].slowstart_ns = NS_PER_SEC;
	server_configs[0].check = false;
	start();
	set_admin(SERVER_ADMIN_MAINT);
	set_admin(SERVER_ADMIN_READY);
	assert_true(eweight() < SERVER_WEIGHT_SCALE);
	run_until(eweight() == SERVER_WEIGHT_SCALE);
	assert_int_equal(ev_run(loop, 0), 0); /* and then nothing is waited for */
	assert_true(updates_by_hand_idle(&hand));
}

static void disabled_server_begins_unchecked(void **state)
{
	(void)state;
	server_configs[0].disabled = true;
	start();
	assert_int_equal(ev_run(loop, 0), 0);
	assert_int_equal(view()->code, PROBE_INI);
}

static void unresolved_server_is_asked_when_it_has_an_address(void **state)
{
	(void)state;
	assert_int_equal(addr_parse("name:80", &server_configs[0].addr, NULL, NULL), 0);
	start();
	for (int i = 0; i < 30; i++)
		turn();
	assert_int_equal(view()->code, PROBE_INI);
	assert_int_equal(server_updates_set_addr(&hand.updates, server(), &address), 0);
	run_until_result("L4OK");
}

static void result_of_an_address_that_has_changed_does_not_count(void **state)
{
	struct addr other;
	unsigned conns;

	(void)state;
	wish(CONFIG_CHECK_HTTP);
	backend_config.check.interval_ns = 3600 * NS_PER_SEC;
	fake.ask = SIZE_MAX;
	start();
	run_until(fake.fd >= 0 && fake.got_len > 0);
	other = address;
	other.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1); /* nobody listens there */
	assert_int_equal(server_updates_set_addr(&hand.updates, server(), &other), 0);
	conns = fake.conns;
	fake_say("HTTP/1.1 503 Busy\r\n\r\n");
	run_until_result("L4CON"); /* at once, not in an hour */
	assert_int_equal(fake.conns, conns);
	assert_int_equal(view()->failures, 1); /* that one alone */
	assert_int_equal(view()->status, 0);
}

/* ---- what is set at run time ---- */

static const struct mark some_mark = {.wall_ns = 1, .by = 7};

static void force(enum server_health health)
{
	assert_int_equal(server_updates_force_health(&hand.updates, server(), health, "set"), 0);
	run_time_mark(server(), SERVER_MARK_HEALTH, &some_mark);
}

static void suspended_checks_ask_nobody_and_change_nothing(void **state)
{
	unsigned before;

	(void)state;
	start();
	run_until_result("L4OK");
	run_time_set_checks(&hand.updates, server(), false, &some_mark);
	run_until(fake.fd < 0);
	before = fake.conns;
	fake_deafen();
	assert_int_equal(ev_run(loop, 0), 0); /* nothing is waited for */
	set_admin(SERVER_ADMIN_DRAIN);
	set_admin(SERVER_ADMIN_READY);
	assert_int_equal(ev_run(loop, 0), 0);
	assert_true(server_usable(server()));
	assert_int_equal(fake.conns, before);
	fake_listen();
	run_time_set_checks(&hand.updates, server(), true, &some_mark);
	run_for_conns(1);
}

static void suspended_checks_stay_so_through_maintenance_and_changes(void **state)
{
	(void)state;
	start();
	run_time_set_checks(&hand.updates, server(), false, &some_mark);
	set_admin(SERVER_ADMIN_MAINT);
	set_admin(SERVER_ADMIN_READY);
	backend_config.check.interval_ns = NS_PER_MS * 10;
	apply();
	wish(CONFIG_CHECK_HTTP);
	apply();
	assert_int_equal(ev_run(loop, 0), 0);
	assert_int_equal(fake.conns, 0);
	run_time_set_checks(&hand.updates, server(), true, &some_mark);
	run_for_conns(1);
}

static void check_under_way_ends_without_a_result_when_suspended(void **state)
{
	(void)state;
	wish(CONFIG_CHECK_HTTP);
	start();
	run_until(fake.fd >= 0 && fake.got_len > 0);
	run_time_set_checks(&hand.updates, server(), false, &some_mark);
	assert_false(view()->running);
	run_until(fake.fd < 0);
	assert_int_equal(view()->code, PROBE_INI);
	assert_int_equal(ev_run(loop, 0), 0);
}

static void checks_go_to_the_address_that_is_set(void **state)
{
	struct addr other = address;

	(void)state;
	other.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1); /* nobody listens there */
	start();
	run_until_result("L4OK");
	assert_int_equal(run_time_set_check_addr(&hand.updates, server(), &other, &some_mark), 0);
	run_until_result("L4CON");
	assert_int_equal(run_time_set_check_addr(&hand.updates, server(), NULL, &some_mark), 0);
	run_until_result("L4OK");
	run_time_set_check_port(&hand.updates, server(), 1, &some_mark);
	run_until_result("L4CON");
	run_time_set_check_port(&hand.updates, server(), 0, &some_mark);
	run_until_result("L4OK");
}

static void result_for_a_check_address_that_has_changed_does_not_count(void **state)
{
	struct addr other = address;

	(void)state;
	wish(CONFIG_CHECK_HTTP);
	backend_config.check.interval_ns = 3600 * NS_PER_SEC;
	start();
	run_until(fake.fd >= 0 && fake.got_len > 0);
	other.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	assert_int_equal(run_time_set_check_addr(&hand.updates, server(), &other, &some_mark), 0);
	fake_say("HTTP/1.1 503 Busy\r\n\r\n");
	run_until_result("L4CON");
	assert_int_equal(view()->status, 0);
}

static void health_that_is_set_holds_until_checks_say_otherwise(void **state)
{
	(void)state;
	start();
	run_until_result("L4OK");
	run_until(view()->health == 4);
	force(SERVER_HEALTH_DOWN);
	assert_false(server_usable(server()));
	assert_int_equal(view()->health, 0);
	assert_int_equal(view()->downs, 1);
	assert_true(mark_is_set(&server()->marks[SERVER_MARK_HEALTH]));
	run_until(view()->health == 1); /* one of two */
	assert_false(server_usable(server()));
	run_until(server_usable(server()));
	assert_false(mark_is_set(&server()->marks[SERVER_MARK_HEALTH]));
	fake_deafen();
	run_until(!server_usable(server()));
	force(SERVER_HEALTH_UP);
	assert_true(server_usable(server()));
	assert_int_equal(view()->health, 4);
	run_until(!server_usable(server()));
}

static void stopping_server_takes_nobody_until_a_check_passes(void **state)
{
	(void)state;
	start();
	run_until_result("L4OK");
	run_time_set_checks(&hand.updates, server(), false, &some_mark);
	force(SERVER_HEALTH_STOPPING);
	assert_int_equal(atomic_load(&server()->state), SERVER_NOLB);
	assert_int_equal(backend_roster(engine.backends[0])->count, 0);
	assert_false(atomic_load(&server()->drains)); /* its sessions are not asked to end */
	run_time_set_checks(&hand.updates, server(), true, &some_mark);
	run_until(server_usable(server()));
	assert_int_equal(backend_roster(engine.backends[0])->count, 1);
}

static void stopping_server_that_fails_goes_down(void **state)
{
	(void)state;
	start();
	run_until_result("L4OK");
	run_until(fake.fd < 0);
	fake_deafen();
	force(SERVER_HEALTH_STOPPING);
	run_until(atomic_load(&server()->state) == SERVER_DOWN);
	assert_false(server()->stopping);
}

/* Answers each check so until the server is in this state. */
static void answer_until(const char *answer, enum server_state wanted)
{
	const double until = ev_time() + WAIT_S;

	fake.answer = answer;
	while (atomic_load(&server()->state) != (int)wanted && ev_time() < until) {
		if (fake.fd < 0)
			fake.ask = 20;
		turn();
	}
	assert_int_equal(atomic_load(&server()->state), wanted);
}

static void server_asks_by_its_status_to_be_drained(void **state)
{
	static const char gone[] = "HTTP/1.1 404 Not Found\r\n\r\n", good[] = "HTTP/1.1 204 x\r\n\r\n";

	(void)state;
	wish(CONFIG_CHECK_HTTP);
	backend_config.check.soft_stop = 404;
	start();
	answer_until(gone, SERVER_NOLB);
	assert_int_equal(view()->code, PROBE_L7OKC);
	assert_int_equal(view()->health, 4);
	assert_int_equal(backend_roster(engine.backends[0])->count, 0);
	answer_until("HTTP/1.1 503 Busy\r\n\r\n", SERVER_DOWN);
	assert_int_equal(view()->failures, 3);
	run_until(fake.fd < 0);
	fake.answer = gone;
	fake.ask = 20;
	run_until(view()->status == 404);
	assert_int_equal(view()->code, PROBE_L7STS);
	assert_int_equal(view()->health, 0);
	run_until(fake.fd < 0);
	answer_until(good, SERVER_UP);
	answer_until(gone, SERVER_NOLB);
	backend_config.check.rise = 3; /* it is kept */
	apply();
	assert_int_equal(atomic_load(&server()->state), SERVER_NOLB);
	answer_until(good, SERVER_UP);
}

static void maintenance_ends_what_was_set(void **state)
{
	(void)state;
	server_configs[0].check = false; /* nothing else would */
	start();
	force(SERVER_HEALTH_DOWN);
	assert_false(server_usable(server()));
	set_admin(SERVER_ADMIN_DRAIN);
	set_admin(SERVER_ADMIN_READY);
	assert_false(server_usable(server()));
	set_admin(SERVER_ADMIN_MAINT);
	force(SERVER_HEALTH_DOWN); /* has no effect now, as in HAProxy */
	set_admin(SERVER_ADMIN_READY);
	assert_true(server_usable(server()));
	force(SERVER_HEALTH_STOPPING);
	set_admin(SERVER_ADMIN_MAINT);
	set_admin(SERVER_ADMIN_READY);
	assert_true(server_usable(server()));
}

/* ---- the words of a server's own line ---- */

static void server_has_times_and_counts_of_its_own(void **state)
{
	(void)state;
	backend_config.check.interval_ns = 3600 * NS_PER_SEC;
	server_configs[0].check_interval_ns = 20 * NS_PER_MS;
	server_configs[0].check_rise = 1;
	server_configs[0].check_fall = 5;
	start();
	assert_int_equal(view()->rise, 1);
	assert_int_equal(view()->fall, 5);
	run_for_conns(3);
	run_until(view()->health == 5);
	server_configs[0].check_fall = 2;
	apply();
	assert_int_equal(view()->fall, 2);
	assert_true(server_usable(server()));
	run_until(fake.fd < 0);
	fake_deafen();
	run_until(!server_usable(server()));
	assert_int_equal(view()->failures, 2);
}

static void server_alone_may_be_checked(void **state)
{
	(void)state;
	wish(CONFIG_CHECK_OFF);
	start();
	run_until_result("L4OK");
}

/* ---- when ---- */

static void nothing_to_check_waits_for_nothing(void **state)
{
	(void)state;
	server_configs[0].check = false;
	start();
	assert_null(view());
	set_admin(SERVER_ADMIN_READY);
	prober_take_news(prober);
	prober_drain(prober);
	assert_int_equal(ev_run(loop, 0), 0);
	assert_int_equal(fake.conns, 0);
}

static void soft_stop_asks_only_while_somebody_waits(void **state)
{
	unsigned before;

	(void)state;
	start();
	run_until_result("L4OK");
	atomic_store(&engine.backends[0]->queue.waiting, 1);
	prober_drain(prober);
	run_for_conns(2);
	atomic_store(&engine.backends[0]->queue.waiting, 0);
	for (int i = 0; i < 100; i++)
		turn();
	run_until(fake.fd < 0 && !view()->running);
	before = fake.conns;
	for (int i = 0; i < 100; i++) /* some intervals */
		turn();
	assert_int_equal(fake.conns, before);
	/* Who was connected before may begin to wait later, and then the server may be found to be up. */
	atomic_store(&engine.backends[0]->queue.waiting, 1);
	run_for_conns(2);
	atomic_store(&engine.backends[0]->queue.waiting, 0);
}

static void soft_stop_does_not_wake_a_server_in_maintenance(void **state)
{
	(void)state;
	start();
	run_until_result("L4OK");
	set_admin(SERVER_ADMIN_MAINT);
	prober_drain(prober);
	assert_int_equal(ev_run(loop, 0), 0); /* comes back: nothing is waited for */
	set_admin(SERVER_ADMIN_READY);
	atomic_store(&engine.backends[0]->queue.waiting, 1);
	run_for_conns(2);
	atomic_store(&engine.backends[0]->queue.waiting, 0);
}

/* From start to start, never more than the interval and at least nine tenths of it. A pause between the first
 * start and the look at the clock costs one of them. */
static void waits_are_shortened_a_little(void **state)
{
	const int64_t interval_ns = 50 * NS_PER_MS;
	int64_t began_ns, took_ns;

	(void)state;
	backend_config.check.interval_ns = interval_ns;
	start();
	run_for_conns(1);
	began_ns = clock_mono_ns();
	run_for_conns(20);
	took_ns = clock_mono_ns() - began_ns;
	assert_true(took_ns > 20 * interval_ns * 85 / 100);
}

static void second_server_has_its_own_place(void **state)
{
	double begun;

	(void)state;
	server_configs[1].check = true;
	backend_config.server_count = 2;
	backend_config.check.interval_ns = 4 * NS_PER_SEC;
	begun = ev_time();
	start();
	run_until_result("L4OK");
	assert_int_equal(engine.backends[0]->servers[1]->probe->code, PROBE_INI);
	run_until(engine.backends[0]->servers[1]->probe->code == PROBE_L4OK);
	assert_true(ev_time() - begun > 1.5); /* half the interval, but for the coarse clock of the loop */
}

#define PROBER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PROBER_TEST(connect_that_succeeds_is_enough_for_tcp),
		PROBER_TEST(suspended_checks_ask_nobody_and_change_nothing),
		PROBER_TEST(suspended_checks_stay_so_through_maintenance_and_changes),
		PROBER_TEST(check_under_way_ends_without_a_result_when_suspended),
		PROBER_TEST(checks_go_to_the_address_that_is_set),
		PROBER_TEST(result_for_a_check_address_that_has_changed_does_not_count),
		PROBER_TEST(health_that_is_set_holds_until_checks_say_otherwise),
		PROBER_TEST(stopping_server_takes_nobody_until_a_check_passes),
		PROBER_TEST(stopping_server_that_fails_goes_down),
		PROBER_TEST(server_asks_by_its_status_to_be_drained),
		PROBER_TEST(maintenance_ends_what_was_set),
		PROBER_TEST(server_has_times_and_counts_of_its_own),
		PROBER_TEST(server_alone_may_be_checked),
		PROBER_TEST(dead_server_goes_down_and_comes_back),
		PROBER_TEST(new_server_is_up_and_one_failure_takes_it_down),
		PROBER_TEST(server_that_says_nothing_times_out),
		PROBER_TEST(answer_that_is_there_counts_when_control_is_late),
		PROBER_TEST(missed_time_is_no_failure),
		PROBER_TEST(silence_is_a_failure_after_missed_time_too),
		PROBER_TEST(connect_that_is_over_counts_when_control_is_late),
		PROBER_TEST(http_status_decides),
		PROBER_TEST(http_host_asks_in_1_1),
		PROBER_TEST(http_body_is_searched),
		PROBER_TEST(steps_go_to_and_fro),
		PROBER_TEST(what_follows_a_match_is_left_to_the_next_step),
		PROBER_TEST(negated_step_waits_for_the_end),
		PROBER_TEST(endless_answer_is_cut),
		PROBER_TEST(check_ends_with_fin),
		PROBER_TEST(greeting_that_nobody_reads_is_no_reset),
		PROBER_TEST(proxy_header_goes_first),
		PROBER_TEST(who_gets_a_header_from_clients_gets_one_from_checks),
		PROBER_TEST(check_port_is_asked_instead),
		PROBER_TEST(unix_socket_is_checked),
		PROBER_TEST(full_unix_backlog_is_waited_for),
		PROBER_TEST(full_unix_backlog_is_no_server_in_the_end),
		PROBER_TEST(lack_of_descriptors_says_nothing_of_a_server),
		PROBER_TEST(source_that_is_not_ours_says_nothing_of_a_server),
		PROBER_TEST(option_that_is_refused_says_nothing_of_a_server),
		PROBER_TEST(next_source_is_tried_when_one_cannot_be_had),
		PROBER_TEST(failed_connects_of_clients_count_as_one_failed_check),
		PROBER_TEST(observed_failures_hasten_the_next_check_and_a_good_one_resets_them),
		PROBER_TEST(failures_are_not_looked_at_unless_observed),
		PROBER_TEST(maintenance_is_not_checked_and_ready_is_at_once),
		PROBER_TEST(slow_start_moves_on_by_itself),
		PROBER_TEST(slow_start_needs_no_check),
		PROBER_TEST(disabled_server_begins_unchecked),
		PROBER_TEST(unresolved_server_is_asked_when_it_has_an_address),
		PROBER_TEST(result_of_an_address_that_has_changed_does_not_count),
		PROBER_TEST(nothing_to_check_waits_for_nothing),
		PROBER_TEST(soft_stop_asks_only_while_somebody_waits),
		PROBER_TEST(soft_stop_does_not_wake_a_server_in_maintenance),
		PROBER_TEST(waits_are_shortened_a_little),
		PROBER_TEST(second_server_has_its_own_place),
	};

	own_network(); /* the server leaves its port, and comes back to it */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
