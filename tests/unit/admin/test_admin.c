/* SPDX-License-Identifier: MIT
 *
 * test_admin.c - clients of the admin socket: requests in pieces, too long, too many, too slow, and
 * workers that show their sessions slowly. These are a stand-in of this file.
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
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/account/tally.h"
#include "weir/base/check.h"
#include "admin/admin_client.h"
#include "engine/session.h"
#include "engine/worker.h"
#include "../engine/objects_by_hand.h"

#define WAIT_S 10.

static struct counters counters;
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

/* Who was asked last, and not withdrawn. */
static struct inquiry *asked;
static unsigned asked_times;

void inquiry_init(struct inquiry *q, bool sums)
{
	memset(q, 0, sizeof(*q));
	q->sums = sums;
}

bool inquiry_is_lent(const struct inquiry *q)
{
	return atomic_load(&q->lent);
}

void inquiry_ask(struct engine *e, unsigned worker, struct inquiry *q)
{
	(void)e;
	assert_false(inquiry_is_lent(q));
	q->worker = worker;
	atomic_store(&q->lent, true);
	asked = q;
	asked_times++;
}

bool inquiry_withdraw(struct engine *e, struct inquiry *q)
{
	(void)e;
	if (asked == q)
		asked = NULL;
	atomic_store(&q->lent, false);
	return true;
}

static struct config_frontend frontend_config = {.name = "web"};
static struct config_backend backend_config = {.name = "web"};
static struct config config = {.frontends = &frontend_config, .frontend_count = 1,
			       .backends = &backend_config, .backend_count = 1};
static struct worker workers[2];
static struct worker *worker_list[] = {&workers[0], &workers[1]};
static struct engine engine;
static struct ev_loop *loop;
static struct admin_socket listener, control;
static struct admin_context context;
static struct admin_totals totals;
static struct stats *stats;
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
	if (loop == NULL || admin_socket_open(&listener, &global) != 0)
		return -1;
	objects_by_hand(&engine, &config);
	for (unsigned i = 0; i < 2; i++)
		tallies_by_hand(&engine, &workers[i]);
	engine.worker_count = 2;
	engine.workers = worker_list;
	context.engine = &engine;
	context.driver = "epoll";
	context.state = DAEMON_READY;
	memset(&totals, 0, sizeof(totals));
	context.totals = &totals;
	stats = stats_new(loop, &engine);
	if (stats == NULL)
		return -1;
	context.stats = stats;
	admin_socket_init(&control);
	admin = admin_new(loop, &listener, &control, &context);
	return admin != NULL ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	admin_free(admin);
	stats_free(stats);
	admin_socket_close(&listener);
	ev_loop_destroy(loop);
	for (unsigned i = 0; i < 2; i++)
		tallies_by_hand_free(&engine, &workers[i]);
	objects_by_hand_free(&engine);
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

static const struct frontend *web(void)
{
	return frontend_by_hand(&engine, 0);
}

/* The worker that is asked shows `count` sessions, with numbers from `first` on. */
static void worker_shows(unsigned first, unsigned count, bool over)
{
	struct inquiry *q = asked;

	assert_non_null(q);
	assert_in_range(count, 0, INQUIRY_SESSIONS_MAX);
	for (unsigned i = 0; i < count && q->sums; i++)
		q->moved[i] = (struct inquiry_bytes){.to_server = 100, .to_client = 1,
						     .frontend_slot = web()->slot,
						     .backend_slot = INQUIRY_NO_SLOT,
						     .server_slot = INQUIRY_NO_SLOT};
	for (unsigned i = 0; i < count && !q->sums; i++)
		q->sessions[i] = (struct session_facts){.frontend = "web",
							.frontend_slot = web()->slot,
							.backend = "web",
							.backend_slot = engine.backends[0]->slot,
							.worker = q->worker, .number = first + i,
							.state = SESSION_FORWARDING, .bytes_to_server = 100,
							.bytes_to_client = 1};
	q->count = count;
	q->place += count;
	q->over = over;
	asked = NULL;
	atomic_store(&q->lent, false);
}

static void news(void)
{
	stats_take_answers(stats);
	turn();
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
	say(fd, "@weir one; ;two;\n");
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
	char request[2 * ADMIN_REQUEST_MAX];
	int fd = connect_client();

	(void)state;
	memset(request, 'x', sizeof(request));
	assert_int_equal(send(fd, request, sizeof(request), MSG_NOSIGNAL), sizeof(request));
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	(void)hear(fd, out, sizeof(out));
	assert_non_null(strstr(out, "error: the request is longer than 16384 bytes"));
	fd = connect_client();
	assert_int_equal(send(fd, "he\0lp\n", 6, MSG_NOSIGNAL), 6);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	(void)hear(fd, out, sizeof(out));
	assert_non_null(strstr(out, "NUL"));
	fd = connect_client();
	say(fd, "@weir\n");
	(void)hear(fd, out, sizeof(out));
	assert_string_equal(out, "error: empty request; try help\n");
	fd = connect_client();
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_int_equal(hear(fd, out, sizeof(out)), 0);
}

static unsigned count_of(const char *text, const char *word)
{
	unsigned n = 0;

	for (; (text = strstr(text, word)) != NULL; text++)
		n++;
	return n;
}

static void workers_are_asked_one_after_the_other(void **state)
{
	char out[65536];
	int fd = connect_client();

	(void)state;
	say(fd, "@weir show sess; help\n");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	turn();
	assert_non_null(asked);
	assert_int_equal(asked->worker, 0);
	worker_shows(7, 2, false);
	news();
	assert_int_equal(asked->worker, 0);
	assert_int_equal(asked->place, 2); /* where it was */
	worker_shows(9, 0, true);
	news();
	assert_int_equal(asked->worker, 1);
	assert_int_equal(asked->place, 0);
	worker_shows(3, 1, true);
	stats_take_answers(stats);
	(void)hear(fd, out, sizeof(out));
	assert_int_equal(count_of(out, ": proto="), 3);
	assert_true(strstr(out, "id=0.7 ") < strstr(out, "id=0.8 "));
	assert_non_null(strstr(strstr(out, "id=1.3 "), "\n\nshow info"));
	assert_null(asked);
}

/* The sums are asked for when the last slice of the list is there: nobody else would begin. */
static void sums_behind_a_list_are_asked_for_at_once(void **state)
{
	char out[65536];
	int fd = connect_client();

	(void)state;
	say(fd, "show sess; show stat\n");
	turn();
	worker_shows(1, 1, true);
	news();
	worker_shows(1, 1, true);
	stats_take_answers(stats);
	assert_non_null(asked);
	assert_int_equal(asked->worker, 0);
	worker_shows(1, 0, true);
	news();
	worker_shows(1, 0, true);
	stats_take_answers(stats);
	(void)hear(fd, out, sizeof(out));
	assert_int_equal(count_of(out, ": proto="), 2);
	assert_int_equal(count_of(out, "# pxname,svname,"), 1);
}

static void sessions_are_one_array_of_json(void **state)
{
	char out[65536];
	int fd = connect_client();

	(void)state;
	say(fd, "@weir show sess json\n");
	turn();
	worker_shows(1, 1, false);
	news();
	worker_shows(2, 0, true);
	news();
	worker_shows(1, 1, true);
	stats_take_answers(stats);
	(void)hear(fd, out, sizeof(out));
	assert_ptr_equal(strstr(out, "[\n  {\"id\":\"0.1\",\"state\":\"forwarding\","), out);
	assert_non_null(strstr(out, "},\n  {\"id\":\"1.1\","));
	assert_string_equal(out + strlen(out) - 4, "}\n]\n");
	fd = connect_client();
	say(fd, "@weir show sess json\n");
	turn();
	worker_shows(1, 0, true);
	news();
	worker_shows(1, 0, true);
	stats_take_answers(stats);
	(void)hear(fd, out, sizeof(out));
	assert_string_equal(out, "[]\n");
}

/* What it does not read is not asked for, and waits in no memory. */
static void who_does_not_read_asks_no_more(void **state)
{
	static char out[1 << 20];
	const struct timespec pause = {.tv_nsec = 1000000};
	int fd = connect_client();
	unsigned slices = 0;

	(void)state;
	say(fd, "@weir show sess\n");
	turn();
	for (; asked != NULL; slices++) {
		assert_in_range(slices, 0, 1000);
		worker_shows(INQUIRY_SESSIONS_MAX * slices, INQUIRY_SESSIONS_MAX, false);
		news();
	}
	assert_true(slices > 1);
	for (int i = 0; i < 5; i++) {
		news();
		assert_null(asked);
		(void)nanosleep(&pause, NULL);
	}
	/* It reads: the rest is asked for. */
	for (int i = 0; asked == NULL; i++) {
		assert_in_range(i, 0, 1000);
		assert_true(recv(fd, out, sizeof(out), MSG_DONTWAIT) > 0);
		turn();
	}
	worker_shows(INQUIRY_SESSIONS_MAX * slices, 0, true);
	news();
	worker_shows(0, 1, true);
	stats_take_answers(stats);
	(void)hear(fd, out, sizeof(out));
	assert_string_equal(strstr(out, " pipes=0\n") != NULL ? out + strlen(out) - 8 : "", "pipes=0\n");
	assert_non_null(strstr(out, "id=1.0 "));
}

static void client_that_left_is_forgotten(void **state)
{
	char out[65536];
	int fd = connect_client();

	(void)state;
	say(fd, "show sess\n");
	turn();
	close(fd);
	turn();
	worker_shows(1, INQUIRY_SESSIONS_MAX, false);
	news(); /* it is found out by writing */
	fd = connect_client();
	say(fd, "show sess\n");
	for (int i = 0; asked == NULL || asked->place > 0; i++) {
		assert_in_range(i, 0, 1000);
		if (asked != NULL)
			worker_shows(1, INQUIRY_SESSIONS_MAX, false);
		news();
	}
	worker_shows(5, 1, true);
	news();
	worker_shows(6, 1, true);
	stats_take_answers(stats);
	(void)hear(fd, out, sizeof(out));
	assert_int_equal(count_of(out, ": proto="), 2);
}

/* An empty answer would look like a daemon that hung up. */
static void nothing_to_tell_is_an_empty_line(void **state)
{
	char out[4096];
	int fd = connect_client();

	(void)state;
	say(fd, "show sess\n");
	turn();
	worker_shows(1, 0, true);
	news();
	worker_shows(1, 0, true);
	stats_take_answers(stats);
	(void)hear(fd, out, sizeof(out));
	assert_string_equal(out, "\n");
}

/* After QUESTION_WAIT_S, and the one behind it after less than that. */
static void workers_that_do_not_answer_are_told(void **state)
{
	char out[4096], json[4096];
	int fd = connect_client();
	int fd_json = connect_client();

	(void)state;
	say(fd, "@weir show sess\n");
	turn();
	worker_shows(1, 1, true);
	news();
	assert_int_equal(asked->worker, 1);
	say(fd_json, "@weir show sess json\n");
	(void)hear(fd, out, sizeof(out));
	assert_non_null(strstr(out, " id=0.1 "));
	assert_string_equal(strchr(out, '\n'), "\nerror: incomplete: 1 worker did not answer\n");
	(void)hear(fd_json, json, sizeof(json));
	assert_string_equal(json, "error: incomplete: 2 workers did not answer\n");
}

static void tallies_of_all_workers_are_summed_once_for_all_who_ask(void **state)
{
	char out[2][65536];
	int fds[2] = {connect_client(), connect_client()};

	(void)state;
	*tally_by_hand(&workers[0], web()->slot) = (struct tally){.bytes_to_server = 1000, .sessions_max = 3};
	*tally_by_hand(&workers[1], web()->slot) = (struct tally){.bytes_to_server = 110, .sessions_max = 2};
	asked_times = 0;
	for (unsigned i = 0; i < 2; i++) {
		say(fds[i], "@weir show stat json\n");
		turn();
	}
	worker_shows(1, 2, false);
	news();
	assert_int_equal(recv(fds[0], out[0], sizeof(out[0]), MSG_DONTWAIT), -1);
	worker_shows(3, 0, true);
	news();
	worker_shows(1, 1, true);
	stats_take_answers(stats);
	(void)hear(fds[0], out[0], sizeof(out[0]));
	assert_non_null(strstr(out[0], "\"bin\":1410,\"bout\":3,"));
	assert_non_null(strstr(out[0], "\"smax\":3,"));
	/* The second asked when the first walk was under way: it has one of its own, with any others. */
	assert_int_equal(asked_times, 4);
	counter_set(&tally_by_hand(&workers[0], web()->slot)->bytes_to_server, 2000);
	worker_shows(1, 0, true);
	news();
	worker_shows(1, 0, true);
	stats_take_answers(stats);
	(void)hear(fds[1], out[1], sizeof(out[1]));
	assert_non_null(strstr(out[1], "\"bin\":2110,\"bout\":3,")); /* nothing falls */
	assert_int_equal(asked_times, 5);
}

static void half_a_sum_is_no_answer(void **state)
{
	char out[4096];
	int fd = connect_client();

	(void)state;
	say(fd, "@weir show stat\n");
	turn();
	worker_shows(1, 1, true);
	news();
	(void)hear(fd, out, sizeof(out)); /* after QUESTION_WAIT_S */
	assert_string_equal(out, "error: incomplete: 1 worker did not answer\n");
	/* It answers late: whoever asks from now on has a sum. */
	fd = connect_client();
	say(fd, "@weir show stat json\n");
	turn();
	worker_shows(1, 1, true);
	news();
	worker_shows(1, 1, true);
	news();
	worker_shows(1, 1, true);
	stats_take_answers(stats);
	(void)hear(fd, out, sizeof(out));
	assert_non_null(strstr(out, "\"bin\":200,"));
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

static void a_prompt_follows_each_answer(void **state)
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
	say(fd, "show version; show version\n");
	hear_until(fd, "> " WEIR_VERSION "\n\n> ", out, sizeof(out));
	assert_string_equal(out, WEIR_VERSION "\n\n> " WEIR_VERSION "\n\n> ");
	say(fd, "show version\nget weight\nqu");
	hear_until(fd, "'backend/server'.\n\n> ", out, sizeof(out));
	assert_string_equal(out, WEIR_VERSION "\n\n> Require 'backend/server'.\n\n> ");
	say(fd, "it\n");
	assert_int_equal(hear(fd, out, sizeof(out)), 0);
}

/* Once for each line, and not for each command. */
static void a_prompt_follows_each_line_of_our_own_verbs(void **state)
{
	char out[65536];
	int fd = connect_client();

	(void)state;
	say(fd, "@weir prompt\n");
	hear_until(fd, "\n> ", out, sizeof(out));
	assert_string_equal(out, "\n> ");
	say(fd, "@weir show version; one\n@weir\n");
	hear_until(fd, "> \n> ", out, sizeof(out));
	assert_string_equal(out, WEIR_VERSION "\n\nerror: unknown command 'one'; try help\n\n> \n> ");
	/* Each line has its own words. */
	say(fd, "get weight\n@weir get weight\nquit\n");
	(void)hear(fd, out, sizeof(out));
	assert_string_equal(out, "Require 'backend/server'.\n\n> error: usage: 'get weight "
				 "BACKEND/SERVER'\n\n> ");
}

static void a_second_prompt_ends_the_first(void **state)
{
	char out[65536];
	int fd = connect_client();

	(void)state;
	say(fd, "prompt\nshow version\nprompt; show version\nshow version\n");
	(void)hear(fd, out, sizeof(out));
	assert_string_equal(out, "\n> " WEIR_VERSION "\n\n> \n" WEIR_VERSION "\n\n");
}

static void each_answer_ends_with_an_empty_line(void **state)
{
	static const struct {
		const char *line, *answer;
	} rows[] = {
		{"show version\n", WEIR_VERSION "\n\n"},
		{"show version;show version\n", WEIR_VERSION "\n\n" WEIR_VERSION "\n\n"},
		{" \tshow   version\t\r\n", WEIR_VERSION "\n\n"},
		{"set timeout cli 5\n", "\n"},
		{"set timeout cli 5; set timeout cli 6s\n", "\n\n"},
		{"set timeout cli x; show version\n", "Invalid timeout value.\n\n" WEIR_VERSION "\n\n"},
		{"show backend\n", "# name\nweb\n\n"},
		{"quit; show version\n", ""},
		{"show version; quit; show version\n", WEIR_VERSION "\n\n"},
		{"@1 show version\n", WEIR_VERSION "\n\n"},
		{"@1 show version; @1 show version\n", WEIR_VERSION "\n\n" WEIR_VERSION "\n\n"},
		{"@weir show version\n", WEIR_VERSION "\n"},
		{"@1 @weir show version; @1 show version\n", WEIR_VERSION "\n\n" WEIR_VERSION "\n"},
		{"@weir set timeout cli 5; set timeout cli 6\n", "\n"},
		{"set severity-output\n", "one of 'none', 'number', 'string' is a required argument\n\n"},
		{"set severity-output number; get weight; show backend; show version\n",
		 "\n[3]: Require 'backend/server'.\n\n# name\nweb\n\n[6]: " WEIR_VERSION "\n\n"},
		{"set severity-output string; get weight web/a; reload now; set severity-output none; "
		 "get weight web/a\n",
		 "\n[err]: No such server.\n\n[err]: error: usage: 'reload [wait] [confirm=TIME [hold]]'\n"
		 "\n\nNo such server.\n\n"},
		{"@weir set severity-output number; get weight web\n",
		 "\nerror: 'web' is not a server; write BACKEND/SERVER\n"},
		{"show\\ version; get weight a\\;b\n", "Unknown command"},
		{"get weight w\\eb/a\\;b; show version\n", "No such server.\n\n" WEIR_VERSION "\n\n"},
		{"@weir get weight web/a\\;b\\ \\\\; show version\n",
		 "error: no server 'a;b \\x5c' in backend 'web'\n\n" WEIR_VERSION "\n"},
	};
	char out[65536];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const bool begins = rows[i].answer[0] == 'U';
		int fd = connect_client();

		say(fd, rows[i].line);
		(void)hear(fd, out, sizeof(out));
		if (begins)
			out[strlen(rows[i].answer)] = '\0';
		assert_string_equal(out, rows[i].answer);
	}
}

/* It lists what there is. */
static void an_empty_command_is_unknown(void **state)
{
	static const char *const lines[] = {"\n", " \n", "@1\n", "show version;\n"};
	char out[65536];

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		int fd = connect_client();
		const char *list;

		say(fd, lines[i]);
		(void)hear(fd, out, sizeof(out));
		list = strstr(out, "Unknown command. Please enter one of the following commands only:\n");
		assert_non_null(list);
		assert_ptr_equal(list, i == 3 ? out + strlen(WEIR_VERSION "\n\n") : out);
		assert_non_null(strstr(list, "\n  show version                            : the version\n"));
		assert_string_equal(out + strlen(out) - 2, "\n\n");
	}
}

static void a_thousand_lines_at_once_are_answered_one_by_one(void **state)
{
	char out[65536];
	char request[6 * 1000 + 1];
	int fd = connect_client();

	(void)state;
	say(fd, "prompt\n");
	hear_until(fd, "\n> ", out, sizeof(out));
	for (size_t i = 0; i < 1000; i++)
		memcpy(request + 6 * i, "@weir\n", 7);
	say(fd, request);
	say(fd, "quit\n");
	assert_int_equal(hear(fd, out, sizeof(out)), 3 * 1000);
}

/* A long line is taken in whole, and its memory given back. */
static void a_line_may_have_16_kib(void **state)
{
	static char line[ADMIN_REQUEST_MAX + 2], out[65536];
	int fd = connect_client();

	(void)state;
	say(fd, "prompt\n");
	hear_until(fd, "\n> ", out, sizeof(out));
	memset(line, ' ', ADMIN_REQUEST_MAX);
	memcpy(line + ADMIN_REQUEST_MAX - 13, "show version\n", 14);
	for (int i = 0; i < 3; i++) {
		say(fd, line);
		hear_until(fd, "\n> ", out, sizeof(out));
		assert_string_equal(out, WEIR_VERSION "\n\n> ");
		assert_ptr_equal(admin->clients[0].request.bytes, admin->clients[0].request.small);
	}
	/* One byte more. */
	memmove(line + ADMIN_REQUEST_MAX - 13, "show versions\n", 14);
	say(fd, line);
	(void)hear(fd, out, sizeof(out));
	assert_string_equal(out, "error: the request is longer than 16384 bytes; try help\n\n");
	turn();
	assert_ptr_equal(admin->clients[0].request.bytes, admin->clients[0].request.small);
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
	assert_string_equal(out, "error: too many prompts are open: at most 8, and 4 of one user\n\n");
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
	static char line[4 * ADMIN_COMMANDS_MAX + 32], out[1 << 16];
	int fd = connect_client();
	size_t len = (size_t)snprintf(line, sizeof(line), "@weir ");

	(void)state;
	for (size_t i = 0; i < ADMIN_COMMANDS_MAX; i++)
		len += (size_t)snprintf(line + len, sizeof(line) - len, "xx;");
	(void)snprintf(line + len, sizeof(line) - len, "yy;zz\n");
	say(fd, line);
	assert_true(hear(fd, out, sizeof(out)) > 0);
	assert_int_equal(count_of(out, "'xx'"), ADMIN_COMMANDS_MAX);
	assert_non_null(strstr(out, "error: too many commands on one line: at most 512\n"));
	assert_null(strstr(out, "'yy'"));
	assert_null(strstr(out, "'zz'"));
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
	assert_string_equal(out,
			    "error: closed to make room for another client, because this connection was "
			    "idle\n");
	say(fds[0], "elp\n");
	assert_true(hear(fds[0], out, sizeof(out)) > 100);
	for (int i = 2; i < ADMIN_CLIENTS_MAX; i++)
		close(fds[i]);
	turn();
}

/* A busy machine, on which nothing runs for longer than a turn. */
static void be_busy(void)
{
	const struct timespec time = {.tv_nsec = 300000000};

	(void)nanosleep(&time, NULL);
	turn();
}

static void what_came_meanwhile_is_answered_before_a_place_is_taken(void **state)
{
	int fds[ADMIN_CLIENTS_MAX];
	char out[65536];
	int fd = ask_as_seventeenth(fds);

	(void)state;
	for (int i = 0; i < ADMIN_CLIENTS_MAX; i++)
		say(fds[i], "show info\n");
	be_busy();
	for (int i = 0; i < ADMIN_CLIENTS_MAX; i++)
		assert_true(hear(fds[i], out, sizeof(out)) > 100);
	assert_true(hear(fd, out, sizeof(out)) > 0);
	assert_int_equal(totals.evicted, 0);
}

/* The worker answers all questions, and with that all clients. */
static void all_get_answers(const int fds[static ADMIN_CLIENTS_MAX])
{
	char out[65536];

	while (asked != NULL) {
		worker_shows(1, 0, true);
		news();
	}
	for (int i = 0; i < ADMIN_CLIENTS_MAX; i++)
		assert_true(hear(fds[i], out, sizeof(out)) > 100);
}

static void who_waits_for_a_late_worker_keeps_his_place(void **state)
{
	int fds[ADMIN_CLIENTS_MAX];
	char out[65536];
	int fd = ask_as_seventeenth(fds);

	(void)state;
	for (int i = 0; i < ADMIN_CLIENTS_MAX; i++)
		say(fds[i], "show stat\n");
	turn();
	be_busy();
	be_busy();
	assert_int_equal(totals.evicted, 0);
	all_get_answers(fds);
	assert_true(hear(fd, out, sizeof(out)) > 0);
	assert_int_equal(totals.evicted, 0);
}

/* They are let in one after the other, and read after that. */
static void newcomers_let_in_together_do_not_take_the_place_of_one_another(void **state)
{
	int fds[ADMIN_CLIENTS_MAX], more[20];
	char out[65536];

	(void)state;
	for (int i = 0; i < ADMIN_CLIENTS_MAX; i++) {
		fds[i] = connect_client();
		say(fds[i], "show stat\n");
		turn();
	}
	for (size_t i = 0; i < ARRAY_LEN(more); i++) {
		more[i] = connect_client();
		say(more[i], "help\n");
	}
	be_busy();
	for (int i = 0; i < 10 && asked != NULL; i++) {
		worker_shows(1, 0, true);
		news();
	}
	turn();
	assert_int_equal(totals.evicted, 0);
	all_get_answers(fds);
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		assert_true(hear(more[i], out, sizeof(out)) > 100);
	assert_int_equal(totals.evicted, 0);
}

/* It takes a byte now and then, which is not enough; the list has no end. */
static void an_answer_has_a_time_that_bytes_do_not_stretch(void **state)
{
	double until = ev_time() + WAIT_S;
	char byte;
	ssize_t n;
	int fd;

	(void)state;
	admin->answer_s = 0.3;
	fd = connect_client();
	say(fd, "show sess\n");
	turn();
	do {
		if (asked != NULL)
			worker_shows(1, INQUIRY_SESSIONS_MAX, false);
		news();
		n = recv(fd, &byte, 1, MSG_DONTWAIT);
		assert_true(ev_time() < until);
	} while (n > 0 || (n < 0 && errno == EAGAIN));
	close(fd);
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
	static char out[1 << 20];
	int fd = connect_client();
	const int small = 4608;
	size_t len = 0;

	(void)state;
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	say(fd, "@weir show sess; help; show sess json\n");
	for (unsigned i = 0; i < 100000; i++) {
		ssize_t n = recv(fd, out + len, 1000, MSG_DONTWAIT);

		if (n == 0)
			break;
		len += n > 0 ? (size_t)n : 0;
		/* 640 of each worker, in all slices the same ones. */
		if (asked != NULL)
			worker_shows(1, INQUIRY_SESSIONS_MAX,
				     asked->place >= 640 - INQUIRY_SESSIONS_MAX);
		news();
	}
	out[len] = '\0';
	close(fd);
	assert_int_equal(count_of(out, ": proto="), 1280);
	assert_int_equal(count_of(out, "{\"id\":"), 1280);
	assert_int_equal(count_of(out, "\n\nshow info"), 1);
	assert_string_equal(out + len - 3, "\n]\n");
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
		ADMIN_TEST(workers_are_asked_one_after_the_other),
		ADMIN_TEST(sums_behind_a_list_are_asked_for_at_once),
		ADMIN_TEST(sessions_are_one_array_of_json),
		ADMIN_TEST(who_does_not_read_asks_no_more),
		ADMIN_TEST(client_that_left_is_forgotten),
		ADMIN_TEST(nothing_to_tell_is_an_empty_line),
		ADMIN_TEST(workers_that_do_not_answer_are_told),
		ADMIN_TEST(tallies_of_all_workers_are_summed_once_for_all_who_ask),
		ADMIN_TEST(half_a_sum_is_no_answer),
		ADMIN_TEST(a_prompt_follows_each_answer),
		ADMIN_TEST(a_prompt_follows_each_line_of_our_own_verbs),
		ADMIN_TEST(a_second_prompt_ends_the_first),
		ADMIN_TEST(each_answer_ends_with_an_empty_line),
		ADMIN_TEST(an_empty_command_is_unknown),
		ADMIN_TEST(a_line_may_have_16_kib),
		ADMIN_TEST(prompts_leave_places_for_those_who_ask_and_go),
		ADMIN_TEST(a_line_has_no_more_commands_than_that),
		ADMIN_TEST(a_thousand_lines_at_once_are_answered_one_by_one),
		ADMIN_TEST(seventeenth_client_waits_for_its_turn),
		ADMIN_TEST(seventeenth_client_soon_takes_the_place_of_the_idlest),
		ADMIN_TEST(what_came_meanwhile_is_answered_before_a_place_is_taken),
		ADMIN_TEST(who_waits_for_a_late_worker_keeps_his_place),
		ADMIN_TEST(newcomers_let_in_together_do_not_take_the_place_of_one_another),
		ADMIN_TEST(an_answer_has_a_time_that_bytes_do_not_stretch),
		ADMIN_TEST(a_line_at_a_prompt_has_a_time_that_bytes_do_not_stretch),
		ADMIN_TEST(slow_reader_gets_all_of_a_long_answer),
		ADMIN_TEST(answers_when_descriptors_are_out),
		ADMIN_TEST(path_that_is_live_is_refused_and_a_stale_one_taken),
	};

	return cmocka_run_group_tests(tests, setup_all, teardown_all);
}
