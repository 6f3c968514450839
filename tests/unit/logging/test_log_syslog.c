/* SPDX-License-Identifier: MIT
 *
 * test_log_syslog.c - datagrams, streams and UDP to a syslog that leaves and comes again.
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

#include "logging/log_syslog.h"
#include "logging/log_target.h"
#include "../base/own_network.h"

struct fixture {
	struct config_log config;
	struct log_target target;
	int fd; /* of the receiver */
};

/* A receiver at an address of its own: abstract, or a port of the loopback. */
static int receive_at(struct addr_spec *spec, int family, int type)
{
	socklen_t len = sizeof(spec->addr.un);
	int fd = socket(family, type, 0);

	assert_true(fd >= 0);
	if (spec->addr.len == 0 && family == AF_INET) {
		assert_int_equal(addr_parse("127.0.0.1:0", spec, NULL, NULL), 0);
	} else if (spec->addr.len == 0) {
		char name[64];

		(void)snprintf(name, sizeof(name), "unix:@weir-test-syslog-%d", (int)getpid());
		assert_int_equal(addr_parse(name, spec, NULL, NULL), 0);
	}
	assert_int_equal(bind(fd, &spec->addr.sa, spec->addr.len), 0);
	assert_int_equal(getsockname(fd, &spec->addr.sa, &len), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 5), 0);
	return fd;
}

static void open_at(struct fixture *f, int family, int type)
{
	memset(f, 0, offsetof(struct fixture, target));
	f->config.kind = CONFIG_LOG_SYSLOG;
	f->config.level = 6;
	f->config.address.kind = family == AF_INET ? ADDR_IP : ADDR_UNIX;
	f->fd = receive_at(&f->config.address, family, type);
	assert_int_equal(log_target_open(&f->target, &f->config), 0);
	(void)log_target_connect(&f->target); /* perhaps nobody listens yet */
	assert_int_equal(f->target.kind, LOG_TARGET_SYSLOG);
}

static void add(struct fixture *f, const char *sentence)
{
	const struct log_entry e = log_entry_of_text(LOG_LEVEL_INFO, 0, sentence);

	log_target_add(&f->target, &e, sentence);
}

/* One message must be there and end so. */
static void expect(int fd, const char *end)
{
	char buf[4096];
	ssize_t n = recv(fd, buf, sizeof(buf) - 1, MSG_DONTWAIT);

	assert_true(n > (ssize_t)strlen(end));
	assert_memory_equal(buf + n - strlen(end), end, strlen(end));
	assert_memory_equal(buf, strstr(end, "were lost") != NULL ? "<28>" : "<30>", 4);
}

static void a_line_is_a_datagram_without_newline(void **state)
{
	static const int families[] = {AF_UNIX, AF_INET};
	struct fixture *f = malloc(sizeof(*f));

	(void)state;
	assert_non_null(f);
	for (int i = 0; i < 2; i++) {
		open_at(f, families[i], SOCK_DGRAM);
		add(f, "one");
		add(f, "two");
		assert_int_equal(log_target_flush(&f->target), 0);
		expect(f->fd, families[i] == AF_UNIX ? "]: one" : " - - one");
		expect(f->fd, families[i] == AF_UNIX ? "]: two" : " - - two");
		assert_int_equal(recv(f->fd, &i, 0, MSG_DONTWAIT), -1);
		assert_int_equal(f->target.lost, 0);
		log_target_close(&f->target);
		close(f->fd);
	}
	free(f);
}

static void a_stream_gets_lines_that_end_with_nul(void **state)
{
	struct fixture *f = malloc(sizeof(*f));
	char buf[4096];
	ssize_t n;
	int fd;

	(void)state;
	assert_non_null(f);
	open_at(f, AF_UNIX, SOCK_STREAM);
	fd = accept(f->fd, NULL, NULL);
	assert_true(fd >= 0);
	add(f, "one");
	add(f, "two");
	assert_int_equal(log_target_flush(&f->target), 0);
	n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
	assert_true(n > 20);
	assert_int_equal(buf[n - 1], '\0');
	assert_string_equal(buf + n - 4, "two");
	assert_string_equal(buf + strlen(buf) - 3, "one");
	assert_int_equal(strlen(buf) + 1 + strlen(buf + strlen(buf) + 1) + 1, n);
	close(fd);
	log_target_close(&f->target);
	close(f->fd);
	free(f);
}

/* Opens a stream and adds lines until the socket takes no more; it may take half a line. Returns the
 * receiver's end. */
static int open_full_stream(struct fixture *f)
{
	char text[1500];
	int fd;

	open_at(f, AF_UNIX, SOCK_STREAM);
	fd = accept(f->fd, NULL, NULL);
	assert_true(fd >= 0);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	do {
		add(f, text);
	} while (log_target_flush(&f->target) == 0);
	return fd;
}

static void a_line_begun_on_a_lost_stream_is_not_ended_on_the_next(void **state)
{
	struct fixture *f = malloc(sizeof(*f));
	static char many[1 << 20];
	ssize_t n, at = 0;
	int fd;

	(void)state;
	assert_non_null(f);
	fd = open_full_stream(f);
	f->target.syslog.begun = true; /* as if it had */
	close(fd);
	f->target.syslog.retry_ns = 0;
	assert_int_equal(log_target_flush(&f->target), 0);
	assert_true(f->target.lost >= 1);
	add(f, "whole");
	assert_int_equal(log_target_flush(&f->target), 0);
	fd = accept(f->fd, NULL, NULL);
	assert_true(fd >= 0);
	n = recv(fd, many, sizeof(many), MSG_DONTWAIT);
	assert_true(n > 0);
	for (; at < n; at += (ssize_t)strlen(many + at) + 1)
		assert_memory_equal(many + at, "<", 1);
	close(fd);
	log_target_close(&f->target);
	close(f->fd);
	free(f);
}

static void the_line_after_one_that_was_dropped_half_sent_goes(void **state)
{
	struct fixture *f = malloc(sizeof(*f));
	char buf[8192];
	uint64_t lost;
	ssize_t n;
	int fd;

	(void)state;
	assert_non_null(f);
	fd = open_full_stream(f);
	f->target.syslog.begun = true; /* as if half a line had gone */
	close(fd);
	close(f->fd);
	assert_int_equal(log_target_flush(&f->target), 0);
	assert_true(log_target_is_absent(&f->target));
	lost = f->target.lost;
	f->fd = receive_at(&f->config.address, AF_UNIX, SOCK_STREAM);
	f->target.syslog.retry_ns = 0;
	add(f, "whole");
	assert_int_equal(log_target_flush(&f->target), 0);
	assert_int_equal(f->target.lost, lost);
	fd = accept(f->fd, NULL, NULL);
	assert_true(fd >= 0);
	n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
	assert_true(n > 0);
	assert_string_equal(buf + strlen(buf) - 5, "whole");
	close(fd);
	log_target_close(&f->target);
	close(f->fd);
	free(f);
}

static void a_syslog_that_is_away_costs_lines_and_is_found_again(void **state)
{
	struct fixture *f = malloc(sizeof(*f));
	int64_t retry_ns;

	(void)state;
	assert_non_null(f);
	open_at(f, AF_UNIX, SOCK_DGRAM);
	close(f->fd);
	f->target.syslog.retry_ns = 0;
	add(f, "lost");
	add(f, "lost too");
	assert_int_equal(log_target_flush(&f->target), 0);
	assert_true(log_target_is_absent(&f->target));
	assert_int_equal(f->target.lost, 2);
	/* Nobody is asked for again within the pause, even if somebody is there. */
	retry_ns = f->target.syslog.retry_ns;
	assert_true(retry_ns > 0);
	f->fd = receive_at(&f->config.address, AF_UNIX, SOCK_DGRAM);
	add(f, "lost in the pause");
	assert_int_equal(log_target_flush(&f->target), 0);
	assert_int_equal(f->target.lost, 3);
	assert_int_equal(f->target.syslog.retry_ns, retry_ns);
	f->target.syslog.retry_ns = 0; /* the pause is over */
	add(f, "back");
	assert_int_equal(log_target_flush(&f->target), 0);
	expect(f->fd, "]: back");
	expect(f->fd, "3 log lines were lost: this target refused them, or had no room");
	/* It restarts within the pause's rules: the line that finds out is not lost. */
	close(f->fd);
	f->fd = receive_at(&f->config.address, AF_UNIX, SOCK_DGRAM);
	f->target.syslog.retry_ns = 0;
	add(f, "again");
	assert_int_equal(log_target_flush(&f->target), 0);
	expect(f->fd, "]: again");
	assert_int_equal(f->target.lost, 3);
	log_target_close(&f->target);
	close(f->fd);
	free(f);
}

static void a_full_receiver_is_waited_for(void **state)
{
	struct fixture *f = malloc(sizeof(*f));
	char buf[4096];
	int sent = 0, got = 0;

	(void)state;
	assert_non_null(f);
	open_at(f, AF_UNIX, SOCK_DGRAM);
	do {
		add(f, "line");
		sent++;
	} while (log_target_flush(&f->target) == 0);
	assert_int_equal(log_target_fd(&f->target), f->target.syslog.fd);
	while (recv(f->fd, buf, sizeof(buf), MSG_DONTWAIT) > 0) {
		got++;
		(void)log_target_flush(&f->target);
	}
	assert_int_equal(got, sent);
	assert_int_equal(f->target.lost, 0);
	log_target_close(&f->target);
	close(f->fd);
	free(f);
}

static void udp_that_nobody_takes_is_counted_and_goes_on(void **state)
{
	struct fixture *f = malloc(sizeof(*f));

	(void)state;
	assert_non_null(f);
	open_at(f, AF_INET, SOCK_DGRAM);
	close(f->fd);
	for (int i = 0; i < 4; i++) {
		add(f, "nobody");
		assert_int_equal(log_target_flush(&f->target), 0);
	}
	/* The loopback says at once that the port is closed; of the last one nobody has asked. */
	assert_int_equal(f->target.lost, 3);
	f->fd = receive_at(&f->config.address, AF_INET, SOCK_DGRAM);
	add(f, "back");
	assert_int_equal(log_target_flush(&f->target), 0);
	expect(f->fd, " - - back");
	assert_int_equal(f->target.lost, 4);
	log_target_close(&f->target);
	close(f->fd);
	free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_a_datagram_without_newline),
		cmocka_unit_test(a_stream_gets_lines_that_end_with_nul),
		cmocka_unit_test(a_line_begun_on_a_lost_stream_is_not_ended_on_the_next),
		cmocka_unit_test(the_line_after_one_that_was_dropped_half_sent_goes),
		cmocka_unit_test(a_syslog_that_is_away_costs_lines_and_is_found_again),
		cmocka_unit_test(a_full_receiver_is_waited_for),
		cmocka_unit_test(udp_that_nobody_takes_is_counted_and_goes_on),
	};

	own_network(); /* the receiver leaves its port, and comes back to it */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
