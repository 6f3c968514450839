/* SPDX-License-Identifier: MIT
 *
 * test_admin.c - clients of the admin socket: requests in pieces, too long, too many, too slow, and
 * answers of workers that come late. The engine is a stand-in of this file. Floor 5.
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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/control/admin_client.h"
#include "weir/engine/tally.h"

#define WAIT_S 10.

static struct counters counters;
static uint64_t asked_token;
static struct engine_answer *answers;

void engine_kill_sessions(struct engine *e, struct server *s)
{
	(void)e;
	(void)s;
}

const struct counters *engine_counters(const struct engine *e, unsigned worker)
{
	(void)e;
	(void)worker;
	return &counters;
}

void engine_ask_sessions(struct engine *e, uint64_t token)
{
	(void)e;
	asked_token = token;
}

void engine_ask_tallies(struct engine *e, uint64_t token)
{
	(void)e;
	asked_token = token;
}

struct engine_answer *engine_take_answer(struct engine *e)
{
	struct engine_answer *a = answers;

	(void)e;
	if (a != NULL)
		answers = a->next;
	return a;
}

static void worker_answers_bytes(uint64_t token, const void *bytes, size_t len)
{
	struct engine_answer *a = calloc(1, sizeof(*a) + len);

	assert_non_null(a);
	a->token = token;
	a->len = len;
	a->text = (char *)(a + 1);
	memcpy(a->text, bytes, len);
	a->next = answers;
	answers = a;
}

static void worker_answers(uint64_t token, const char *text)
{
	worker_answers_bytes(token, text, strlen(text));
}

static struct config_frontend frontend_config = {.name = "web"};
static struct config config = {.frontends = &frontend_config, .frontend_count = 1};
static struct backend backend;
static struct frontend frontend = {.config = &frontend_config, .backend = &backend};
static struct engine engine;
static struct ev_loop *loop;
static struct logwriter *logwriter;
static struct admin_socket listener;
static struct admin_context context;
static struct admin_totals totals;
static struct admin *admin;
static struct config_global global;
static char folder[] = "/tmp/weir-admin-XXXXXX";

static int setup_all(void **state)
{
	(void)state;
	return mkdtemp(folder) != NULL ? 0 : -1;
}

static int teardown_all(void **state)
{
	(void)state;
	return rmdir(folder); /* fails when a test left a socket behind */
}

static int setup(void **state)
{
	const struct config_log *failed;
	int err;

	(void)state;
	memset(&global, 0, sizeof(global));
	global.admin.kind = ADDR_UNIX;
	global.admin.addr.len = sizeof(global.admin.addr.un);
	global.admin.addr.un.sun_family = AF_UNIX;
	(void)snprintf(global.admin.addr.un.sun_path, sizeof(global.admin.addr.un.sun_path), "%s/admin",
		       folder);
	global.admin_owner.mode = 0600;
	global.admin_owner.uid = (uid_t)-1;
	global.admin_owner.gid = (gid_t)-1;
	loop = ev_loop_new(EVFLAG_AUTO);
	logwriter = loop != NULL ? logwriter_new(loop, &global, &failed, &err) : NULL;
	if (logwriter == NULL || admin_socket_open(&listener, &global) != 0)
		return -1;
	engine.config = &config;
	engine.worker_count = 2;
	engine.frontends = &frontend;
	engine.tally_count = 1;
	context.engine = &engine;
	context.logwriter = logwriter;
	context.driver = "epoll";
	context.state = "ready";
	memset(&totals, 0, sizeof(totals));
	context.totals = &totals;
	admin = admin_new(loop, &listener, &context);
	return admin != NULL ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	admin_free(admin);
	admin_socket_close(&listener);
	logwriter_free(logwriter);
	ev_loop_destroy(loop);
	return 0;
}

static int connect_client(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, &global.admin.addr.sa, global.admin.addr.len), 0);
	return fd;
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static void turn(void)
{
	for (int i = 0; i < 8; i++)
		(void)ev_run(loop, EVRUN_NOWAIT);
}

/* Runs the loop until the answer is complete; returns its length. */
static size_t hear(int fd, char *out, size_t room)
{
	double until = ev_time() + WAIT_S;
	size_t len = 0;
	ssize_t n;

	for (;;) {
		(void)ev_run(loop, EVRUN_NOWAIT);
		n = recv(fd, out + len, room - 1 - len, MSG_DONTWAIT);
		if (n == 0)
			break;
		assert_true(n > 0 || errno == EAGAIN);
		len += n > 0 ? (size_t)n : 0;
		assert_true(ev_time() < until);
	}
	out[len] = '\0';
	close(fd);
	return len;
}

static void request_may_come_in_pieces(void **state)
{
	char out[65536];
	int fd = connect_client();

	(void)state;
	say(fd, "show");
	turn();
	say(fd, " info");
	turn();
	say(fd, "\n");
	(void)hear(fd, out, sizeof(out));
	assert_non_null(strstr(out, "workers: 2\n"));
}

static void end_of_stream_ends_the_line(void **state)
{
	char out[4096];
	int fd = connect_client();

	(void)state;
	say(fd, "help");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	(void)hear(fd, out, sizeof(out));
	assert_non_null(strstr(out, "show pools"));
}

static void commands_of_one_line_are_answered_in_order(void **state)
{
	char out[4096];
	int fd = connect_client();
	const char *one, *two;

	(void)state;
	say(fd, "one; ;two;\n");
	(void)hear(fd, out, sizeof(out));
	one = strstr(out, "'one'");
	two = strstr(out, "\n\nerror: unknown command 'two'");
	assert_non_null(one);
	assert_non_null(two);
	assert_true(one < two);
}

static void bad_requests_get_an_answer(void **state)
{
	char out[4096];
	char request[8192];
	int fd = connect_client();

	(void)state;
	memset(request, 'x', sizeof(request));
	assert_int_equal(send(fd, request, sizeof(request), MSG_NOSIGNAL), sizeof(request));
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	(void)hear(fd, out, sizeof(out));
	assert_non_null(strstr(out, "error: the request is longer than 1024 bytes"));
	fd = connect_client();
	assert_int_equal(send(fd, "he\0lp\n", 6, MSG_NOSIGNAL), 6);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	(void)hear(fd, out, sizeof(out));
	assert_non_null(strstr(out, "NUL"));
	fd = connect_client();
	say(fd, "\n");
	(void)hear(fd, out, sizeof(out));
	assert_non_null(strstr(out, "error: empty request"));
	fd = connect_client();
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_int_equal(hear(fd, out, sizeof(out)), 0);
}

static void sessions_of_all_workers_are_collected(void **state)
{
	char out[65536];
	int fd = connect_client();

	(void)state;
	say(fd, "show sess; help\n");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	asked_token = 0;
	turn();
	assert_true(asked_token != 0);
	worker_answers(asked_token + 100, "of another question\n");
	worker_answers(asked_token, "first\n");
	admin_take_answers(admin);
	turn();
	assert_int_equal(recv(fd, out, sizeof(out), MSG_DONTWAIT), -1);
	worker_answers(asked_token, "second\n");
	admin_take_answers(admin);
	(void)hear(fd, out, sizeof(out));
	assert_non_null(strstr(out, "first\nsecond\n\nshow info"));
	assert_null(strstr(out, "another"));
}

static void client_that_left_is_forgotten_by_late_answers(void **state)
{
	char out[65536];
	int fd = connect_client();
	uint64_t token;

	(void)state;
	say(fd, "show sess\n");
	turn();
	token = asked_token;
	close(fd);
	turn();
	worker_answers(token, "first\n");
	worker_answers(token, "second\n");
	admin_take_answers(admin);
	worker_answers(token, "a third answer that nobody waits for\n");
	admin_take_answers(admin);
	fd = connect_client();
	say(fd, "help\n");
	assert_true(hear(fd, out, sizeof(out)) > 0);
}

/* An empty answer would look like a daemon that hung up. */
static void nothing_to_tell_is_an_empty_line(void **state)
{
	char out[4096];
	int fd = connect_client();

	(void)state;
	say(fd, "show sess\n");
	turn();
	worker_answers(asked_token, "");
	worker_answers(asked_token, "");
	admin_take_answers(admin);
	(void)hear(fd, out, sizeof(out));
	assert_string_equal(out, "\n");
}

static void workers_that_do_not_answer_are_told(void **state)
{
	char out[4096];
	int fd = connect_client();

	(void)state;
	say(fd, "show sess\n");
	turn();
	worker_answers(asked_token, "the one that lives\n");
	admin_take_answers(admin);
	(void)hear(fd, out, sizeof(out)); /* after ADMIN_WAIT_S */
	assert_string_equal(out, "the one that lives\nerror: 1 workers did not answer\n");
}

static void tallies_of_all_workers_are_summed(void **state)
{
	const struct tally_sum one = {.bytes_to_server = 100, .sessions_max = 3};
	const struct tally_sum two = {.bytes_to_server = 11, .sessions_max = 2};
	char out[65536];
	int fd = connect_client();

	(void)state;
	say(fd, "show stat json\n");
	turn();
	worker_answers_bytes(asked_token, &one, sizeof(one));
	admin_take_answers(admin);
	turn();
	assert_int_equal(recv(fd, out, sizeof(out), MSG_DONTWAIT), -1);
	worker_answers_bytes(asked_token, &two, sizeof(two));
	admin_take_answers(admin);
	(void)hear(fd, out, sizeof(out));
	assert_non_null(strstr(out, "\"bin\":111,"));
	assert_non_null(strstr(out, "\"smax\":3,"));
}

static void half_a_sum_is_no_answer(void **state)
{
	const struct tally_sum one = {.bytes_to_server = 100};
	char out[4096];
	int fd = connect_client();

	(void)state;
	say(fd, "show stat\n");
	turn();
	worker_answers_bytes(asked_token, &one, sizeof(one));
	admin_take_answers(admin);
	(void)hear(fd, out, sizeof(out)); /* after ADMIN_WAIT_S */
	assert_string_equal(out, "error: 1 workers did not answer\n");
}

/* Reads until `end` is the end of what came. */
static void hear_until(int fd, const char *end, char *out, size_t room)
{
	double until = ev_time() + WAIT_S;
	size_t len = 0;

	out[0] = '\0';
	while (len < strlen(end) || strcmp(out + len - strlen(end), end) != 0) {
		ssize_t n;

		(void)ev_run(loop, EVRUN_NOWAIT);
		n = recv(fd, out + len, room - 1 - len, MSG_DONTWAIT);
		assert_true(n > 0 || (n < 0 && errno == EAGAIN));
		len += n > 0 ? (size_t)n : 0;
		out[len] = '\0';
		assert_true(ev_time() < until);
	}
}

static void a_prompt_keeps_the_connection_for_line_after_line(void **state)
{
	char out[65536];
	int fd = connect_client();

	(void)state;
	say(fd, "prompt\n");
	hear_until(fd, "\n> ", out, sizeof(out));
	assert_string_equal(out, "\n> ");
	say(fd, "set timeout cli 99\n");
	hear_until(fd, "\n> ", out, sizeof(out));
	assert_string_equal(out, "\n> ");
	say(fd, "one\ntwo\n\nqu");
	hear_until(fd, "'two'; try help\n\n> \n> ", out, sizeof(out));
	assert_non_null(strstr(out, "'one'; try help\n\n> error"));
	say(fd, "it\n");
	assert_int_equal(hear(fd, out, sizeof(out)), 0);
}

static void a_thousand_lines_at_once_are_answered_one_by_one(void **state)
{
	char out[65536];
	char request[ADMIN_REQUEST_MAX];
	int fd = connect_client();

	(void)state;
	say(fd, "prompt\n");
	hear_until(fd, "\n> ", out, sizeof(out));
	memset(request, '\n', sizeof(request));
	assert_int_equal(send(fd, request, sizeof(request), MSG_NOSIGNAL), sizeof(request));
	say(fd, "quit\n");
	assert_int_equal(hear(fd, out, sizeof(out)), 3 * sizeof(request));
}

static void prompts_leave_places_for_those_who_ask_and_go(void **state)
{
	int fds[ADMIN_PROMPTS_MAX];
	char out[65536];
	int fd;

	(void)state;
	for (int i = 0; i < ADMIN_PROMPTS_MAX; i++) {
		fds[i] = connect_client();
		say(fds[i], "prompt\n");
		hear_until(fds[i], "\n> ", out, sizeof(out));
	}
	fd = connect_client();
	say(fd, "prompt\n");
	assert_true(hear(fd, out, sizeof(out)) > 0);
	assert_string_equal(out, "error: 8 prompts are open already\n");
	/* One has gone: there is room for another. */
	say(fds[0], "quit\n");
	assert_int_equal(hear(fds[0], out, sizeof(out)), 0);
	fd = connect_client();
	say(fd, "prompt\n");
	hear_until(fd, "\n> ", out, sizeof(out));
	say(fd, "quit\n");
	assert_int_equal(hear(fd, out, sizeof(out)), 0);
	for (int i = 1; i < ADMIN_PROMPTS_MAX; i++) {
		say(fds[i], "quit\n");
		assert_int_equal(hear(fds[i], out, sizeof(out)), 0);
	}
}

static void a_line_has_no_more_commands_than_that(void **state)
{
	char line[2 * ADMIN_COMMANDS_MAX + 16];
	char out[65536];
	int fd = connect_client();

	(void)state;
	for (size_t i = 0; i < sizeof(line); i++)
		line[i] = i % 2 == 0 ? 'x' : ';';
	(void)snprintf(line + sizeof(line) - 4, 4, "y;\n"); /* the last of 40 */
	say(fd, line);
	assert_true(hear(fd, out, sizeof(out)) > 0);
	assert_non_null(strstr(out, "error: a line has at most 32 commands\n"));
	assert_null(strstr(out, "'y'"));
}

/* Fills all places, and asks from one more; its descriptor. */
static int ask_as_seventeenth(int fds[static ADMIN_CLIENTS_MAX])
{
	char out[16];
	int fd;

	for (int i = 0; i < ADMIN_CLIENTS_MAX; i++) {
		fds[i] = connect_client();
		turn();
	}
	fd = connect_client();
	say(fd, "help\n");
	turn();
	assert_int_equal(recv(fd, out, sizeof(out), MSG_DONTWAIT), -1);
	return fd;
}

static void seventeenth_client_waits_for_its_turn(void **state)
{
	int fds[ADMIN_CLIENTS_MAX];
	char out[65536];
	int fd = ask_as_seventeenth(fds);

	(void)state;
	close(fds[0]);
	turn();
	assert_true(hear(fd, out, sizeof(out)) > 0);
	assert_int_equal(totals.evicted, 0);
	for (int i = 1; i < ADMIN_CLIENTS_MAX; i++)
		close(fds[i]);
	turn();
}

/* The first has sent a byte since: the second is the one that did nothing for the longest time. */
static void seventeenth_client_soon_takes_the_place_of_the_idlest(void **state)
{
	int fds[ADMIN_CLIENTS_MAX];
	char out[65536];
	int fd = ask_as_seventeenth(fds);

	(void)state;
	say(fds[0], "h");
	turn();
	assert_true(hear(fd, out, sizeof(out)) > 0);
	assert_int_equal(totals.evicted, 1);
	assert_true(hear(fds[1], out, sizeof(out)) > 0);
	assert_string_equal(out, "error: closed: 16 connections are open, and this one was idle\n");
	say(fds[0], "elp\n");
	assert_true(hear(fds[0], out, sizeof(out)) > 100);
	for (int i = 2; i < ADMIN_CLIENTS_MAX; i++)
		close(fds[i]);
	turn();
}

/* Runs the loop until the connection ends, by FIN or reset. */
static void wait_for_the_end(int fd)
{
	double until = ev_time() + WAIT_S;
	char out[4096];
	ssize_t n;

	do {
		(void)ev_run(loop, EVRUN_NOWAIT);
		n = recv(fd, out, 1, MSG_DONTWAIT);
		assert_true(ev_time() < until);
	} while (n > 0 || (n < 0 && errno == EAGAIN));
	close(fd);
}

/* It takes a byte now and then, which is not enough. */
static void an_answer_has_a_time_that_bytes_do_not_stretch(void **state)
{
	static char big[1 << 20];
	int fd;

	(void)state;
	admin->answer_s = 0.3;
	fd = connect_client();
	memset(big, 's', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	say(fd, "show sess\n");
	turn();
	worker_answers(asked_token, big);
	worker_answers(asked_token, "end\n");
	admin_take_answers(admin);
	wait_for_the_end(fd);
}

static void a_line_at_a_prompt_has_a_time_that_bytes_do_not_stretch(void **state)
{
	double until = ev_time() + WAIT_S;
	char out[4096];
	int fd;

	(void)state;
	admin->line_s = 0.3;
	fd = connect_client();
	say(fd, "prompt; set timeout cli 3600\n");
	hear_until(fd, "\n> ", out, sizeof(out));
	while (send(fd, "x", 1, MSG_NOSIGNAL) == 1) {
		(void)ev_run(loop, EVRUN_NOWAIT);
		assert_true(ev_time() < until);
		(void)usleep(20000);
	}
	close(fd);
}

static void slow_reader_gets_all_of_a_long_answer(void **state)
{
	static char big[1 << 20];
	static char out[sizeof(big) + 4096];
	int fd = connect_client();

	(void)state;
	memset(big, 's', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	say(fd, "show sess\n");
	turn();
	worker_answers(asked_token, big);
	worker_answers(asked_token, "end\n");
	admin_take_answers(admin);
	turn();
	/* Answers of workers come in any order; this one takes the last first. */
	assert_int_equal(hear(fd, out, sizeof(out)), strlen("end\n") + sizeof(big) - 1);
	assert_memory_equal(out, "end\nsss", 7);
}

static void answers_when_descriptors_are_out(void **state)
{
	char out[65536];
	struct rlimit old, low;
	int fd = connect_client();
	int second = connect_client();
	int probe = dup(STDIN_FILENO);

	(void)state;
	assert_true(probe >= 0);
	close(probe);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = old;
	low.rlim_cur = (rlim_t)probe; /* the lowest free descriptor is already too high */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	say(fd, "help\n");
	say(second, "help\n");
	assert_true(hear(fd, out, sizeof(out)) > 0);
	assert_true(hear(second, out, sizeof(out)) > 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

static void path_that_is_live_is_refused_and_a_stale_one_taken(void **state)
{
	struct admin_socket second;
	struct stat st;
	int fd;

	(void)state;
	assert_int_equal(admin_socket_open(&second, &global), -EADDRINUSE);
	admin_socket_close(&second);
	assert_int_equal(stat(global.admin.addr.un.sun_path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	/* The path stays, nobody listens. */
	admin_free(admin);
	admin = NULL;
	assert_int_equal(shutdown(listener.fd, SHUT_RDWR), 0);
	assert_int_equal(admin_socket_open(&second, &global), 0);
	fd = connect_client();
	close(fd);
	/* The path is another's now: the first owner leaves it alone. */
	admin_socket_close(&listener);
	assert_int_equal(stat(global.admin.addr.un.sun_path, &st), 0);
	admin_socket_close(&second);
	assert_int_equal(stat(global.admin.addr.un.sun_path, &st), -1);
}

#define ADMIN_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ADMIN_TEST(request_may_come_in_pieces),
		ADMIN_TEST(end_of_stream_ends_the_line),
		ADMIN_TEST(commands_of_one_line_are_answered_in_order),
		ADMIN_TEST(bad_requests_get_an_answer),
		ADMIN_TEST(sessions_of_all_workers_are_collected),
		ADMIN_TEST(client_that_left_is_forgotten_by_late_answers),
		ADMIN_TEST(nothing_to_tell_is_an_empty_line),
		ADMIN_TEST(workers_that_do_not_answer_are_told),
		ADMIN_TEST(tallies_of_all_workers_are_summed),
		ADMIN_TEST(half_a_sum_is_no_answer),
		ADMIN_TEST(a_prompt_keeps_the_connection_for_line_after_line),
		ADMIN_TEST(prompts_leave_places_for_those_who_ask_and_go),
		ADMIN_TEST(a_line_has_no_more_commands_than_that),
		ADMIN_TEST(a_thousand_lines_at_once_are_answered_one_by_one),
		ADMIN_TEST(seventeenth_client_waits_for_its_turn),
		ADMIN_TEST(seventeenth_client_soon_takes_the_place_of_the_idlest),
		ADMIN_TEST(an_answer_has_a_time_that_bytes_do_not_stretch),
		ADMIN_TEST(a_line_at_a_prompt_has_a_time_that_bytes_do_not_stretch),
		ADMIN_TEST(slow_reader_gets_all_of_a_long_answer),
		ADMIN_TEST(answers_when_descriptors_are_out),
		ADMIN_TEST(path_that_is_live_is_refused_and_a_stale_one_taken),
	};

	return cmocka_run_group_tests(tests, setup_all, teardown_all);
}
