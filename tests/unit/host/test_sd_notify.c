/* SPDX-License-Identifier: MIT
 *
 * test_sd_notify.c - where messages to the service manager go, and that they never block.
 */
#include <errno.h>
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
#include "weir/base/clock.h"
#include "weir/host/sd_notify.h"

static void paths_and_abstract_names_are_addresses(void **state)
{
	char buf[ADDR_TEXT_MAX];
	char longest[200];
	struct addr to;

	(void)state;
	assert_int_equal(sd_notify_address("/run/systemd/notify", &to), 0);
	assert_string_equal(addr_format(&to, buf), "unix:/run/systemd/notify");
	assert_int_equal(sd_notify_address("@a", &to), 0);
	assert_string_equal(addr_format(&to, buf), "unix:@a");
	assert_int_equal(sd_notify_address("", &to), -EINVAL);
	assert_int_equal(sd_notify_address("@", &to), -EINVAL);
	assert_int_equal(sd_notify_address("run/notify", &to), -EINVAL);
	assert_int_equal(sd_notify_address("vsock:2:9999", &to), -EINVAL);
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	longest[0] = '/';
	assert_int_equal(sd_notify_address(longest, &to), -EINVAL);
}

static void a_watchdog_of_somebody_else_is_none(void **state)
{
	(void)state;
	assert_int_equal(sd_notify_watchdog("2000000", NULL, 70), 2 * NS_PER_SEC);
	assert_int_equal(sd_notify_watchdog("2000000", "70", 70), 2 * NS_PER_SEC);
	assert_int_equal(sd_notify_watchdog("2000000", "71", 70), 0);
	assert_int_equal(sd_notify_watchdog("2000000", "x", 70), 0);
	assert_int_equal(sd_notify_watchdog(NULL, "70", 70), 0);
	assert_int_equal(sd_notify_watchdog("0", NULL, 70), 0);
	assert_int_equal(sd_notify_watchdog("2s", NULL, 70), 0);
	assert_int_equal(sd_notify_watchdog("18446744073709551615", NULL, 70), 0);
}

static int manager(const char *name)
{
	const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	struct addr at;

	assert_true(fd >= 0);
	assert_int_equal(sd_notify_address(name, &at), 0);
	assert_int_equal(bind(fd, &at.sa, at.len), 0);
	return fd;
}

static void a_full_manager_blocks_nobody_and_the_environment_is_gone(void **state)
{
	struct sd_notify n;
	char name[64], got[64];
	bool full = false;
	int fd;

	(void)state;
	(void)snprintf(name, sizeof(name), "@weir-test-notify-%d", (int)getpid());
	fd = manager(name);
	(void)setenv("NOTIFY_SOCKET", name, 1);
	(void)setenv("WATCHDOG_USEC", "1000000", 1);
	assert_int_equal(sd_notify_open(&n), 0);
	assert_int_equal(n.watchdog_ns, NS_PER_SEC);
	assert_null(getenv("NOTIFY_SOCKET"));
	assert_null(getenv("WATCHDOG_USEC"));
	/* More than any queue takes: a send that waits would never come back. */
	for (int i = 0; i < 5000; i++)
		full = !sd_notify_send(&n, "STATUS=x");
	assert_true(full);
	assert_int_equal(recv(fd, got, sizeof(got), 0), strlen("STATUS=x"));
	assert_memory_equal(got, "STATUS=x", strlen("STATUS=x"));
	(void)close(fd);
	assert_true(sd_notify_send(&n, "STATUS=x")); /* nobody is there: no use to say it again */
	sd_notify_close(&n);
	assert_true(sd_notify_send(&n, "STATUS=x"));
}

static void without_a_manager_there_is_no_watchdog(void **state)
{
	struct sd_notify n;

	(void)state;
	(void)setenv("WATCHDOG_USEC", "1000000", 1);
	assert_int_equal(sd_notify_open(&n), 0);
	assert_int_equal(n.fd, -1);
	assert_int_equal(n.watchdog_ns, 0);
	(void)setenv("NOTIFY_SOCKET", "nonsense", 1);
	assert_int_equal(sd_notify_open(&n), -EINVAL);
	assert_int_equal(n.fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(paths_and_abstract_names_are_addresses),
	    cmocka_unit_test(a_watchdog_of_somebody_else_is_none),
	    cmocka_unit_test(a_full_manager_blocks_nobody_and_the_environment_is_gone),
	    cmocka_unit_test(without_a_manager_there_is_no_watchdog),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
