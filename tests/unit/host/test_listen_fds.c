/* SPDX-License-Identifier: MIT
 *
 * test_listen_fds.c - the environment of sd_listen_fds(3), and what is no listener.
 */
#include <errno.h>
#include <fcntl.h>
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

#include "weir/base/check.h"
#include "weir/host/listen_fds.h"

struct row {
	const char *values[3]; /* pid, fds, names */
	int want_err;
	size_t want_count;
	const char *want_names; /* of all, with ':' between */
};

static const struct row rows[] = {
    {{NULL, NULL, NULL}, 0, 0, ""},
    {{"70", NULL, NULL}, 0, 0, ""},
    {{NULL, "1", NULL}, 0, 0, ""},
    {{"71", "1", "web"}, 0, 0, ""}, /* of another process */
    {{"70", "0", ""}, 0, 0, ""},
    {{"70", "1", "web"}, 0, 1, "web"},
    {{"70", "1", NULL}, 0, 1, "unknown"},
    {{"70", "2", NULL}, 0, 2, "unknown:unknown"},
    {{"70", "3", "web:web:api"}, 0, 3, "web:web:api"},
    {{"70", "2", ":api"}, 0, 2, "unknown:api"},
    {{"70", "2", "web"}, -EINVAL, 0, ""},
    {{"70", "1", "web:api"}, -EINVAL, 0, ""},
    {{"70", "-1", "web"}, -EINVAL, 0, ""},
    {{"70", "one", "web"}, -EINVAL, 0, ""},
    {{"70", "4097", NULL}, -EINVAL, 0, ""},
    {{"70", "99999999999999999999", NULL}, -EINVAL, 0, ""},
    {{"70x", "1", "web"}, -EINVAL, 0, ""},
    {{"0", "1", "web"}, -EINVAL, 0, ""},
};

static void the_environment_is_read_by_the_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];
		const char *why = NULL;
		struct listen_fds l;
		char names[128] = "";
		size_t used = 0;

		print_message("row %zu\n", i);
		assert_int_equal(listen_fds_parse(&l, r->values, 70, &why), r->want_err);
		assert_int_equal(l.count, r->want_count);
		for (size_t k = 0; k < l.count; k++) {
			assert_int_equal(l.list[k].fd, LISTEN_FDS_FIRST + (int)k);
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", k > 0 ? ":" : "",
						 l.list[k].name);
		}
		assert_string_equal(names, r->want_names);
		if (r->want_err)
			assert_non_null(why);
		listen_fds_free(&l);
	}
}

static void another_process_is_remembered_for_the_message(void **state)
{
	const char *const values[3] = {"71", "1", "web"};
	const char *why = NULL;
	struct listen_fds l;

	(void)state;
	assert_int_equal(listen_fds_parse(&l, values, 70, &why), 0);
	assert_int_equal(l.other_pid, 71);
}

static int made(int domain, int type, bool bound, bool listens)
{
	const int fd = socket(domain, type, 0);

	assert_true(fd >= 0);
	if (bound && domain == AF_UNIX)
		/* Two bytes of family alone: the kernel chooses an abstract name. */
		assert_int_equal(bind(fd, &(struct sockaddr){.sa_family = AF_UNIX}, sizeof(sa_family_t)), 0);
	if (listens)
		assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void assert_verdict(int fd, enum listen_fd_verdict want)
{
	assert_int_equal(listen_fd_look(fd), want);
	(void)close(fd);
}

static void what_is_no_listener_is_told_apart(void **state)
{
	int pipes[2];

	(void)state;
	assert_verdict(made(AF_INET, SOCK_STREAM, false, true), LISTEN_FD_FINE);
	assert_verdict(made(AF_UNIX, SOCK_STREAM, true, true), LISTEN_FD_FINE);
	assert_verdict(made(AF_INET, SOCK_STREAM, false, false), LISTEN_FD_DEAF);
	assert_verdict(made(AF_INET, SOCK_DGRAM, false, false), LISTEN_FD_NO_STREAM);
	assert_verdict(made(AF_UNIX, SOCK_SEQPACKET, true, true), LISTEN_FD_NO_STREAM);
	assert_verdict(made(AF_NETLINK, SOCK_RAW, false, false), LISTEN_FD_NO_FAMILY);
	assert_verdict(open("/dev/null", O_RDONLY), LISTEN_FD_NO_SOCKET);
	assert_int_equal(pipe(pipes), 0);
	assert_verdict(pipes[0], LISTEN_FD_NO_SOCKET);
	assert_verdict(pipes[1], LISTEN_FD_NO_SOCKET);
	assert_int_equal(listen_fd_look(pipes[0]), LISTEN_FD_CLOSED);
}

static void reading_leaves_nothing_to_inherit(void **state)
{
	const char *why = NULL;
	struct listen_fds l;

	(void)state;
	(void)setenv("LISTEN_PID", "1", 1);
	(void)setenv("LISTEN_FDS", "1", 1);
	(void)setenv("LISTEN_FDNAMES", "web", 1);
	assert_int_equal(listen_fds_read(&l, &why), 0);
	assert_int_equal(l.count, 0);
	assert_null(getenv("LISTEN_PID"));
	assert_null(getenv("LISTEN_FDS"));
	assert_null(getenv("LISTEN_FDNAMES"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_environment_is_read_by_the_table),
	    cmocka_unit_test(another_process_is_remembered_for_the_message),
	    cmocka_unit_test(what_is_no_listener_is_told_apart),
	    cmocka_unit_test(reading_leaves_nothing_to_inherit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
