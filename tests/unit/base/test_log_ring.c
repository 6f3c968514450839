/* SPDX-License-Identifier: MIT
 *
 * test_log_ring.c - a writer and a reader on two threads: nothing lost, nothing torn, no wake-up
 * missed. Worth most under the thread sanitizer.
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "log_take.h"
#include "weir/base/log.h"

#define RECORDS 200000u
#define RING_WAITS_MS 10000

struct body {
	uint32_t number;
	uint32_t len; /* of fill[] */
	uint8_t fill[600];
};

struct pair {
	struct log_ring *ring;
	int wake_fd;
	bool lockstep;    /* the writer waits for each record to be read */
	atomic_uint seen; /* the reader has read so many */
	atomic_bool stop; /* the reader gave up */
};

static void wake(void *arg)
{
	const struct pair *p = arg;
	const uint64_t one = 1;

	assert_int_equal(write(p->wake_fd, &one, sizeof(one)), sizeof(one));
}

static void wait_for(int fd, int *timed_out)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};
	uint64_t n;

	*timed_out = poll(&pfd, 1, RING_WAITS_MS) != 1;
	if (!*timed_out)
		assert_int_equal(read(fd, &n, sizeof(n)), sizeof(n));
}

/* Spins, so that the next record is made in the very moment in which the reader looks whether it may
 * sleep. False when the reader gave up. */
static bool wait_seen(struct pair *p, uint32_t number)
{
	unsigned spins = 0;

	while (atomic_load(&p->seen) < number) {
		if (atomic_load(&p->stop))
			return false;
		if (++spins % 1024 == 0)
			sched_yield(); /* on one core the reader needs it */
	}
	return true;
}

/* "NUMBER", or "torn" when the fill is not what the writer put there. */
static size_t format_body(enum log_style style, const void *data, size_t len, char *out, size_t room)
{
	const struct body *b = data;

	(void)style;
	if (len != offsetof(struct body, fill) + b->len)
		return (size_t)snprintf(out, room, "torn");
	for (uint32_t i = 0; i < b->len; i++)
		if (b->fill[i] != (uint8_t)(b->number + i))
			return (size_t)snprintf(out, room, "torn");
	return (size_t)snprintf(out, room, "%u", b->number);
}

static void *writer(void *arg)
{
	struct pair *p = arg;
	struct body b;

	log_use_ring(p->ring);
	for (b.number = 1; b.number <= RECORDS; b.number++) {
		b.len = p->lockstep ? 0 : b.number * 7919u % sizeof(b.fill);
		for (uint32_t i = 0; i < b.len; i++)
			b.fill[i] = (uint8_t)(b.number + i);
		log_record(LOG_LEVEL_INFO, format_body, &b, offsetof(struct body, fill) + b.len);
		if (p->lockstep && !wait_seen(p, b.number))
			break;
	}
	log_use_ring(NULL);
	return NULL;
}

static uint32_t number_of(const char *text)
{
	assert_string_not_equal(text, "torn");
	return (uint32_t)strtoul(text, NULL, 10);
}

static void start(struct pair *p, pthread_t *thread, void *(*run)(void *arg), bool lockstep)
{
	memset(p, 0, sizeof(*p));
	p->ring = log_ring_new(wake, p);
	assert_non_null(p->ring);
	p->wake_fd = eventfd(0, 0);
	assert_true(p->wake_fd >= 0);
	p->lockstep = lockstep;
	assert_int_equal(pthread_create(thread, NULL, run, p), 0);
}

static void finish(struct pair *p, pthread_t thread)
{
	assert_int_equal(pthread_join(thread, NULL), 0);
	close(p->wake_fd);
	log_ring_free(p->ring);
}

/* The writer waits for each record to be read and the reader sleeps whenever the ring is empty: one
 * wake-up that is missed and both wait for each other. */
static void reader_that_sleeps_when_empty_misses_no_record(void **state)
{
	struct pair p;
	pthread_t thread;
	uint32_t seen = 0;
	int timed_out = 0;
	char text[64];
	enum log_level level;
	int64_t wall_ns;

	(void)state;
	start(&p, &thread, writer, true);
	while (seen < RECORDS && !timed_out) {
		if (log_take(p.ring, &level, &wall_ns, text, sizeof(text)) == 0) {
			wait_for(p.wake_fd, &timed_out);
			continue;
		}
		assert_int_equal(number_of(text), seen + 1);
		seen++;
		atomic_store(&p.seen, seen);
		/* The writer needs some 100 ns to see this and to write: be about to sleep in each
		 * nanosecond of them once. */
		for (volatile unsigned i = 0; i < seen % 257; i++)
			continue;
	}
	atomic_store(&p.stop, true);
	finish(&p, thread);
	assert_int_equal(seen, RECORDS);
}

/* The writer is never held up, so the ring runs full: each record is read whole or counted. */
static void what_is_not_read_in_order_was_counted_as_dropped(void **state)
{
	struct pair p;
	pthread_t thread;
	uint32_t last = 0;
	uint64_t seen = 0;
	char text[64];
	enum log_level level;
	int64_t wall_ns;

	(void)state;
	start(&p, &thread, writer, false);
	/* A record that is neither read nor counted makes this go on until the test is stopped. */
	while (seen + log_ring_dropped(p.ring) < RECORDS) {
		if (log_take(p.ring, &level, &wall_ns, text, sizeof(text)) == 0)
			continue;
		assert_true(number_of(text) > last);
		last = number_of(text);
		seen++;
	}
	assert_int_equal(seen + log_ring_dropped(p.ring), RECORDS);
	assert_int_equal(log_take(p.ring, &level, &wall_ns, text, sizeof(text)), 0);
	finish(&p, thread);
	assert_true(seen > 0);
}

/* "NUMBER", found through a pointer. */
static size_t format_pointed(enum log_style style, const void *data, size_t len, char *out, size_t room)
{
	const uint32_t *number;

	(void)style;
	assert_int_equal(len, sizeof(number));
	memcpy(&number, data, sizeof(number));
	return (size_t)snprintf(out, room, "%u", *number);
}

/* Frees each number as soon as the ring has been read past the record that points to it. */
static void *pointing_writer(void *arg)
{
	struct pair *p = arg;

	log_use_ring(p->ring);
	for (uint32_t i = 1; i <= RECORDS / 10 && !atomic_load(&p->stop); i++) {
		uint32_t *number = malloc(sizeof(*number));
		uint64_t mark;

		if (number == NULL)
			break;
		*number = i;
		log_record(LOG_LEVEL_ALERT, format_pointed, &number, sizeof(number));
		mark = log_ring_written(p->ring);
		while (!log_ring_is_read_to(p->ring, mark) && !atomic_load(&p->stop))
			sched_yield();
		*number = 0;
		free(number);
	}
	log_use_ring(NULL);
	return NULL;
}

static void what_a_record_points_to_is_free_once_it_is_read(void **state)
{
	struct pair p;
	pthread_t thread;
	uint32_t seen = 0;
	int timed_out = 0;
	char text[64];
	enum log_level level;
	int64_t wall_ns;

	(void)state;
	start(&p, &thread, pointing_writer, true);
	while (seen < RECORDS / 10 && !timed_out) {
		if (log_take(p.ring, &level, &wall_ns, text, sizeof(text)) == 0) {
			wait_for(p.wake_fd, &timed_out);
			continue;
		}
		seen++;
		if (number_of(text) != seen)
			break;
	}
	atomic_store(&p.stop, true);
	finish(&p, thread);
	assert_int_equal(seen, RECORDS / 10);
	assert_int_equal(number_of(text), seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reader_that_sleeps_when_empty_misses_no_record),
		cmocka_unit_test(what_is_not_read_in_order_was_counted_as_dropped),
		cmocka_unit_test(what_a_record_points_to_is_free_once_it_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
