/* SPDX-License-Identifier: MIT
 *
 * test_ring_array.c - a ring works without an array of the numbers of its entries.
 *
 * liburing 2.6 and later asks Linux 6.6 and later for such a ring without being told to, also below a
 * program that was built with an older one. Here io_uring_queue_init_params() is replaced by one that does
 * as it does. Over the real kernel.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/sys/ring.h"
#include "weir/sys/sys.h"

#define NO_SQARRAY (1U << 16) /* IORING_SETUP_NO_SQARRAY; liburing 2.3 does not know it */
#define ENTRIES	   8u
#define ROUNDS	   5u

static bool was_replaced;

int __wrap_io_uring_queue_init_params(unsigned entries, struct io_uring *ring, struct io_uring_params *p);

int __wrap_io_uring_queue_init_params(unsigned entries, struct io_uring *ring, struct io_uring_params *p)
{
	int fd;
	int err;

	was_replaced = true;
	p->flags |= NO_SQARRAY;
	fd = (int)syscall(SYS_io_uring_setup, entries, p);
	if (fd < 0)
		return -errno;
	err = io_uring_queue_mmap(fd, p, ring);
	if (err) {
		sys_close(fd);
		return err;
	}
	ring->flags = p->flags;
	ring->features = p->features;
	ring->ring_fd = ring->enter_ring_fd = fd;
	ring->sq.array = NULL;
	return 0;
}

/* More entries than there are places, so that the places are used again. */
static void entries_are_found_by_their_place(void **state)
{
	const struct ring_shape shape = {ENTRIES, 2 * ENTRIES, ENTRIES};
	struct ring_done done[2 * ENTRIES];
	const uint64_t one = 1;
	struct ring *r;
	const int fd = sys_eventfd();
	int err;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(sys_write(fd, &one, sizeof(one)), sizeof(one));
	err = ring_open(&r, &shape);
	assert_true(was_replaced);
	if (err) {
		sys_close(fd);
		printf("skipped: this kernel makes no ring without an array (%d); Linux 6.6 does\n", err);
		skip();
	}
	assert_int_equal(ring_enable(r), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		const unsigned count = ENTRIES - i % 3;

		for (unsigned n = 0; n < count; n++) {
			struct io_uring_sqe *sqe = ring_sqe(r);

			io_uring_prep_poll_add(sqe, fd, POLLIN);
			sqe->user_data = 100 * i + n;
		}
		assert_int_equal(ring_enter(r, NS_PER_SEC), 0);
		assert_int_equal(ring_take(r, done, ARRAY_LEN(done)), count);
		for (unsigned n = 0; n < count; n++) {
			assert_int_equal(done[n].user_data, 100 * i + n);
			assert_int_equal(done[n].res, POLLIN);
		}
	}
	ring_close(r);
	sys_close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(entries_are_found_by_their_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
