/* SPDX-License-Identifier: MIT
 *
 * test_web_move.c - the HTTP endpoint comes, goes, moves and gets other permissions; each call that can fail
 * does so in turn, and then all is as before.
 */
#include <dirent.h>
#include <ev.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../base/own_network.h"
#include "../engine/objects_by_hand.h"
#include "../entry/entry_fail.h"
#include "web/web_parts.h"
#include "weir/base/file.h"
#include "weir/sys/low_fds.h"

#define CALLS_MAX 200
#define WAIT_S	  10.

int __real_file_set_mode(int fd, mode_t mode);
int __real_dup3(int from, int to, int flags);
int __real_fcntl64(int fd, int command, long value);
int __wrap_file_set_mode(int fd, mode_t mode);
int __wrap_dup3(int from, int to, int flags);
int __wrap_fcntl64(int fd, int command, long value);

static int refuse(void)
{
	errno = EMFILE;
	return -1;
}

int __wrap_file_set_mode(int fd, mode_t mode)
{
	return call_fails() ? -EPERM : __real_file_set_mode(fd, mode);
}

int __wrap_dup3(int from, int to, int flags)
{
	return call_fails() ? refuse() : __real_dup3(from, to, flags);
}

int __wrap_fcntl64(int fd, int command, long value)
{
	return command == F_DUPFD_CLOEXEC && call_fails() ? refuse() : __real_fcntl64(fd, command, value);
}

static struct config_frontend frontend_config = {.name = "web"};
static struct config_server server_config = {.name = "a", .weight = 1};
static struct config_backend backend_config = {.name = "web", .servers = &server_config, .server_count = 1};
static struct config config = {.frontends = &frontend_config, .frontend_count = 1,
			       .backends = &backend_config, .backend_count = 1};
static struct engine engine;
static struct ev_loop *loop;
static struct web_context ctx;
static struct web_socket now, next;
static struct web *web;
static char folder[] = "/tmp/weir-web-XXXXXX";
static struct config_stats none, first, moved, at_path, with_mode;

static void no_csv(void *arg, const struct chunks *sums, bool cleared, struct text *out)
{
	(void)arg, (void)sums, (void)cleared, (void)out;
}

static void no_info(void *arg, struct text *out)
{
	(void)arg, (void)out;
}

static const char *is_ready(void *arg)
{
	(void)arg;
	return NULL;
}

static bool is_not_ending(void *arg)
{
	(void)arg;
	return false;
}

static struct config_stats stats_at(const char *address)
{
	struct config_stats c = {.owner = {.mode = -1, .uid = (uid_t)-1, .gid = (gid_t)-1}};
	const char *why;
	size_t at;

	assert_int_equal(addr_parse(address, &c.addr, &why, &at), 0);
	return c;
}

/* A port that is free now. */
static unsigned free_port(void)
{
	struct config_stats c = stats_at("127.0.0.1:0");
	struct web_socket s;
	unsigned port;

	assert_int_equal(web_socket_open(&s, &c), 0);
	port = addr_port(&s.addr);
	web_socket_close(&s);
	return port;
}

static int setup(void **state)
{
	char text[128];
	const unsigned port = free_port();
	int err;

	(void)state;
	fail_nothing();
	if (low_fds_hold(4) < 0)
		return -1;
	(void)snprintf(text, sizeof(text), "127.0.0.1:%u", port);
	first = stats_at(text);
	(void)snprintf(text, sizeof(text), ":%u", port);
	moved = stats_at(text);
	(void)snprintf(folder, sizeof(folder), "/tmp/weir-web-XXXXXX");
	assert_non_null(mkdtemp(folder));
	(void)snprintf(text, sizeof(text), "unix:%s/stats", folder);
	at_path = stats_at(text);
	with_mode = at_path;
	with_mode.owner.mode = 0640;
	none = (struct config_stats){.addr = {.kind = ADDR_NONE}};
	memset(&engine, 0, sizeof(engine));
	objects_by_hand(&engine, &config);
	loop = ev_loop_new(EVFLAG_AUTO);
	ctx = (struct web_context){.engine = &engine,
				   .stats = stats_new(loop, &engine),
				   .driver = "epoll",
				   .sources = {.csv = no_csv, .info = no_info, .why_not_ready = is_ready,
					       .is_ending = is_not_ending}};
	web_socket_init(&now);
	web = web_new(loop, &now, &ctx, &err);
	return web != NULL ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	fail_nothing();
	web_free(web);
	web_socket_close(&now);
	stats_free(ctx.stats);
	ev_loop_destroy(loop);
	objects_by_hand_free(&engine);
	low_fds_free();
	return rmdir(folder);
}

/* ---- what is there ---- */

static unsigned entries_in(const char *path)
{
	DIR *dir = opendir(path);
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		n++;
	(void)closedir(dir);
	return n;
}

static mode_t mode_of(const struct config_stats *c)
{
	struct stat st;

	assert_int_equal(stat(c->addr.addr.un.sun_path, &st), 0);
	return st.st_mode & 07777;
}

static void on_patience_end(struct ev_loop *l, struct ev_timer *timer, int revents)
{
	(void)timer, (void)revents;
	ev_break(l, EVBREAK_ALL);
}

/* "ok" comes from there. */
static void assert_answers(const struct config_stats *c)
{
	static const char request[] = "GET /healthz HTTP/1.0\r\n\r\n";
	const struct addr *to = &c->addr.addr;
	const int fd = socket(to->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct ev_timer patience;
	char got[1024] = "";
	ssize_t len = 0;

	assert_int_equal(connect(fd, &to->sa, to->len), 0);
	assert_int_equal(write(fd, request, sizeof(request) - 1), (ssize_t)sizeof(request) - 1);
	ev_timer_init(&patience, on_patience_end, WAIT_S, 0.);
	ev_timer_start(loop, &patience);
	while (len <= 0 && ev_is_active(&patience)) {
		ev_run(loop, EVRUN_ONCE);
		len = recv(fd, got, sizeof(got) - 1, MSG_DONTWAIT);
	}
	ev_timer_stop(loop, &patience);
	assert_non_null(strstr(got, " 200 OK"));
	(void)close(fd);
	ev_run(loop, EVRUN_NOWAIT); /* it is noticed */
	ev_run(loop, EVRUN_NOWAIT);
}

/* ---- moves ---- */

static void move_to(const struct config_stats *c)
{
	assert_int_equal(web_prepare_socket(web, &next, c), 0);
	web_commit_socket(web, &next);
	assert_int_equal(next.fd, -1);
	if (c->addr.kind != ADDR_NONE)
		assert_ptr_equal(now.config, c);
}

static void assert_as_before(const struct config_stats *c, unsigned fds, unsigned files)
{
	web_undo_socket(web, &next);
	assert_int_equal(entries_in("/proc/self/fd"), fds);
	assert_int_equal(entries_in(folder), files);
	assert_int_equal(web->http != NULL, c->addr.kind != ADDR_NONE);
	assert_int_equal(now.fd >= 0, c->addr.kind != ADDR_NONE);
}

/* Everything that a move from one to the other needs fails in turn; then it is prepared and undone. */
static void assert_each_failure_is_undone(const struct config_stats *from, const struct config_stats *to)
{
	unsigned fds, files;
	bool failed = true;

	move_to(from);
	if (from->addr.kind != ADDR_NONE)
		assert_answers(from);
	fds = entries_in("/proc/self/fd");
	files = entries_in(folder);
	for (long n = 0; failed; n++) {
		int err;

		assert_true(n < CALLS_MAX);
		fail_call(n);
		err = web_prepare_socket(web, &next, to);
		failed = call_has_failed();
		fail_nothing();
		assert_true(failed || err == 0); /* a call may fail without consequence */
		assert_as_before(from, fds, files);
	}
	failed = true;
	for (long n = 0; failed; n++) {
		int err;

		assert_true(n < CALLS_MAX);
		fail_allocations_from(n);
		err = web_prepare_socket(web, &next, to);
		failed = until_failure == 0;
		fail_nothing();
		assert_true(failed || err == 0);
		assert_as_before(from, fds, files);
	}
	if (from->addr.kind != ADDR_NONE)
		assert_answers(from);
	move_to(to);
	assert_answers(to);
	move_to(&none);
	assert_null(web->http);
}

static void it_comes_and_goes(void **state)
{
	(void)state;
	assert_each_failure_is_undone(&none, &first);
	assert_each_failure_is_undone(&none, &at_path);
}

static void it_moves_to_an_address_that_overlaps(void **state)
{
	int one = 0;
	socklen_t len = sizeof(one);

	(void)state;
	assert_each_failure_is_undone(&first, &moved);
	move_to(&moved);
	move_to(&first);
	/* And lets nobody else in. */
	assert_int_equal(getsockopt(now.fd, SOL_SOCKET, SO_REUSEPORT, &one, &len), 0);
	assert_int_equal(one, 0);
	assert_answers(&first);
}

static void it_moves_to_a_path(void **state)
{
	(void)state;
	assert_each_failure_is_undone(&first, &at_path);
	assert_each_failure_is_undone(&at_path, &first);
}

static void a_path_that_stays_gets_its_mode(void **state)
{
	mode_t mode;

	(void)state;
	assert_each_failure_is_undone(&at_path, &with_mode);
	move_to(&at_path);
	mode = mode_of(&at_path);
	assert_int_not_equal(mode, 0640);
	assert_int_equal(web_prepare_socket(web, &next, &with_mode), 0);
	web_undo_socket(web, &next);
	assert_int_equal(mode_of(&at_path), mode);
	move_to(&with_mode);
	assert_int_equal(mode_of(&at_path), 0640);
	move_to(&at_path);
	assert_int_equal(mode_of(&at_path), mode);
}

static void a_path_that_was_replaced_is_refused(void **state)
{
	(void)state;
	move_to(&at_path);
	assert_int_equal(unlink(at_path.addr.addr.un.sun_path), 0);
	assert_int_not_equal(web_prepare_socket(web, &next, &with_mode), 0);
	assert_ptr_equal(next.kept, &now);
	web_undo_socket(web, &next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_comes_and_goes, setup, teardown),
		cmocka_unit_test_setup_teardown(it_moves_to_an_address_that_overlaps, setup, teardown),
		cmocka_unit_test_setup_teardown(it_moves_to_a_path, setup, teardown),
		cmocka_unit_test_setup_teardown(a_path_that_stays_gets_its_mode, setup, teardown),
		cmocka_unit_test_setup_teardown(a_path_that_was_replaced_is_refused, setup, teardown),
	};

	own_network(); /* one port, at several addresses */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
