/* SPDX-License-Identifier: MIT
 *
 * test_tcp_aborts.c - what the kernel counts, when it is looked at, and what is said of it.
 */
#include <ev.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/log.h"
#include "weir/host/tcp_aborts.h"

#define BEFORE "TcpExt: SyncookiesSent TCPAbortOnMemoryFailed TCPAbortOnMemory TCPAbortOnTimeout\n"

struct fixture {
	struct ev_loop *loop;
	struct log_ring *ring;
	struct tcp_aborts aborts;
	char path[64];
};

static void no_wake(void *arg)
{
	(void)arg;
}

static void kernel_counts(const struct fixture *f, unsigned count)
{
	FILE *file = fopen(f->path, "w");

	assert_non_null(file);
	assert_true(fprintf(file, BEFORE "TcpExt: 1 2 %u 4\nIpExt: A\nIpExt: 5\n", count) > 0);
	assert_int_equal(fclose(file), 0);
}

static int open_fixture(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int fd;

	assert_non_null(f);
	memcpy(f->path, "/tmp/weir-aborts-XXXXXX", sizeof("/tmp/weir-aborts-XXXXXX"));
	fd = mkstemp(f->path);
	assert_true(fd >= 0);
	close(fd);
	kernel_counts(f, 7);
	f->loop = ev_loop_new(EVFLAG_AUTO);
	f->ring = log_ring_new(no_wake, NULL);
	assert_non_null(f->loop);
	assert_non_null(f->ring);
	log_use_ring(f->ring);
	tcp_aborts_init(&f->aborts, f->loop, f->path);
	*state = f;
	return 0;
}

static int close_fixture(void **state)
{
	struct fixture *f = *state;

	tcp_aborts_stop(&f->aborts);
	log_use_ring(NULL);
	log_ring_free(f->ring);
	ev_loop_destroy(f->loop);
	(void)unlink(f->path);
	free(f);
	return 0;
}

/* The next line of the log has this in it; NULL: there is none. */
static void log_has(const struct fixture *f, const char *wanted)
{
	struct log_entry e;
	char text[LOG_RECORD_MAX];

	if (!log_ring_peek(f->ring, &e)) {
		assert_null(wanted);
		return;
	}
	assert_true(log_entry_format(&e, LOG_STYLE_TEXT, text, sizeof(text)) > 0);
	if (wanted == NULL)
		fail_msg("nothing was to be said, but: %s", text);
	assert_non_null(strstr(text, wanted));
	assert_int_equal(e.level, LOG_LEVEL_WARNING);
	log_ring_pop(f->ring);
}

static void the_column_is_found_by_its_whole_name(void **state)
{
	uint64_t count = 0;

	(void)state;
	assert_true(tcp_aborts_parse(BEFORE "TcpExt: 1 2 34 4\n", &count));
	assert_int_equal(count, 34);
	assert_true(tcp_aborts_parse("IpExt: A\nIpExt: 1\n" BEFORE "TcpExt: 1 2 18446744073709551615 4",
				     &count));
	assert_true(count == UINT64_MAX);
	assert_true(tcp_aborts_parse("TcpExt: TCPAbortOnMemory\nTcpExt: 5", &count));
	assert_int_equal(count, 5);
}

static void what_is_no_such_text_has_no_count(void **state)
{
	static const char *const texts[] = {
		"", "\n", "TcpExt:", "TcpExt:\nTcpExt:\n", BEFORE, BEFORE "TcpExt: 1 2\n",
		BEFORE "TcpExt: 1 2 x 4\n",
		BEFORE "TcpExt: 1 2 -3 4\n", BEFORE "TcpExt: 1 2 3x 4\n", BEFORE "IpExt: 1 2 3 4\n",
		BEFORE "TcpExt: 1 2 18446744073709551616 4\n", "TcpExt: A B\nTcpExt: 1 2\n",
		"TcpExt: A B\nTCPAbortOnMemory\nTcpExt: 1 2\n",
	};
	uint64_t count = 99;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (tcp_aborts_parse(texts[i], &count))
			fail_msg("text %zu has the count %llu", i, (unsigned long long)count);
}

static void this_kernel_has_the_count(void **state)
{
	struct fixture *f = *state;
	struct tcp_aborts t;
	uint64_t count;

	if (access(TCP_ABORTS_PATH, R_OK) != 0)
		skip(); /* cmocka says so; there is no /proc here */
	tcp_aborts_init(&t, f->loop, TCP_ABORTS_PATH);
	assert_true(t.readable);
	assert_true(tcp_aborts_look(&t, &count));
}

static void what_is_new_is_said_once(void **state)
{
	struct fixture *f = *state;
	uint64_t count = 99;

	assert_true(tcp_aborts_look(&f->aborts, &count));
	assert_int_equal(count, 0);
	log_has(f, NULL);
	kernel_counts(f, 10);
	assert_true(tcp_aborts_look(&f->aborts, &count));
	assert_int_equal(count, 3);
	log_has(f, "aborted 3 closed TCP connections");
	assert_true(tcp_aborts_look(&f->aborts, &count));
	assert_int_equal(count, 3);
	log_has(f, NULL);
}

/* What a timer that is due now would do. */
static void due(struct fixture *f)
{
	assert_true(ev_is_active(&f->aborts.timer));
	ev_invoke(f->loop, &f->aborts.timer, EV_TIMER);
}

static void it_is_looked_at_a_few_times_after_such_a_close_and_then_no_more(void **state)
{
	struct fixture *f = *state;
	unsigned looks;

	tcp_aborts_wake(&f->aborts, 0);
	assert_false(ev_is_active(&f->aborts.timer));
	tcp_aborts_wake(&f->aborts, 1);
	kernel_counts(f, 8);
	due(f);
	log_has(f, "aborted 1 closed");
	tcp_aborts_wake(&f->aborts, 1);
	assert_true(f->aborts.pause_s > 1.);
	tcp_aborts_wake(&f->aborts, 2);
	assert_true(f->aborts.pause_s <= 1.);
	for (looks = 0; looks < 4; looks++) {
		const double pause_s = f->aborts.pause_s;

		due(f);
		if (f->aborts.pause_s <= pause_s)
			break;
	}
	assert_int_equal(looks, 3);
	assert_true(f->aborts.pause_s >= 60.); /* orphans may die late */
	ev_timer_stop(f->loop, &f->aborts.timer); /* it had fired */
	tcp_aborts_wake(&f->aborts, 2);
	assert_false(ev_is_active(&f->aborts.timer));
	log_has(f, NULL);
}

static void where_nothing_can_be_read_nothing_is_done(void **state)
{
	struct fixture *f = *state;
	struct tcp_aborts t = {.loop = NULL};
	uint64_t count;

	tcp_aborts_stop(&t);
	tcp_aborts_init(&t, f->loop, "/nonexistent/netstat");
	tcp_aborts_wake(&t, 1);
	assert_false(ev_is_active(&t.timer));
	assert_false(tcp_aborts_look(&t, &count));
	tcp_aborts_stop(&t);
	/* It may go while we run. */
	(void)unlink(f->path);
	tcp_aborts_wake(&f->aborts, 1);
	ev_timer_stop(f->loop, &f->aborts.timer);
	ev_invoke(f->loop, &f->aborts.timer, EV_TIMER);
	assert_false(ev_is_active(&f->aborts.timer));
	log_has(f, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_column_is_found_by_its_whole_name),
		TEST(what_is_no_such_text_has_no_count),
		TEST(this_kernel_has_the_count),
		TEST(what_is_new_is_said_once),
		TEST(it_is_looked_at_a_few_times_after_such_a_close_and_then_no_more),
		TEST(where_nothing_can_be_read_nothing_is_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
