/* SPDX-License-Identifier: MIT
 *
 * fake_pipes.h - the four calls that the pipe pool makes, over a table instead of the kernel.
 *
 * Defined here and not in a library, so that the linker takes them in place of src/sys/sys.c. Knows
 * each descriptor: closing one twice fails the test. Safe from many threads. One includer a program.
 */
#ifndef WEIR_TESTS_FAKE_PIPES_H
#define WEIR_TESTS_FAKE_PIPES_H

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/io/pipe_pool.h"
#include "weir/sys/sys.h"

#define FAKE_FDS 262144
#define FAKE_FD_FIRST 1000

static struct {
	atomic_int next;
	atomic_int open;  /* descriptors that are open now */
	atomic_int peak;  /* the most that were open */
	atomic_int pipes; /* calls of sys_pipe that succeeded */
	atomic_int sizes; /* calls of sys_pipe_set_size */
	atomic_int bytes[FAKE_FDS]; /* of the pipe behind a descriptor; 0 = closed */
	int pipe_err;    /* sys_pipe fails with it */
	int set_err;     /* sys_pipe_set_size fails with it */
	int birth_bytes; /* size of a new pipe */
	uint32_t page_bytes;
	struct pipe_pool *unlocked; /* no call may be made under its lock; NULL = not watched */
} fake;

static inline void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.birth_bytes = 65536;
	fake.page_bytes = 4096;
}

static inline void fake_watch_lock(void)
{
	check(fake.unlocked == NULL || !atomic_load(&fake.unlocked->lock.held));
}

int sys_pipe(int fds[2])
{
	int open, peak;
	int first;

	fake_watch_lock();
	if (fake.pipe_err != 0)
		return -fake.pipe_err;
	first = atomic_fetch_add(&fake.next, 2);
	check(first + 1 < FAKE_FDS);
	atomic_store(&fake.bytes[first], fake.birth_bytes);
	atomic_store(&fake.bytes[first + 1], fake.birth_bytes);
	fds[0] = FAKE_FD_FIRST + first;
	fds[1] = FAKE_FD_FIRST + first + 1;
	atomic_fetch_add(&fake.pipes, 1);
	open = atomic_fetch_add(&fake.open, 2) + 2;
	peak = atomic_load(&fake.peak);
	while (open > peak && !atomic_compare_exchange_weak(&fake.peak, &peak, open))
		continue;
	return 0;
}

int sys_pipe_set_size(int fd, int bytes)
{
	fake_watch_lock();
	atomic_fetch_add(&fake.sizes, 1);
	if (fake.set_err != 0)
		return -fake.set_err;
	check(atomic_load(&fake.bytes[fd - FAKE_FD_FIRST]) != 0);
	atomic_store(&fake.bytes[fd - FAKE_FD_FIRST], bytes);
	return bytes;
}

uint32_t sys_page_bytes(void)
{
	return fake.page_bytes;
}

int sys_pipe_size(int fd)
{
	return atomic_load(&fake.bytes[fd - FAKE_FD_FIRST]);
}

void sys_close(int fd)
{
	fake_watch_lock();
	check(atomic_exchange(&fake.bytes[fd - FAKE_FD_FIRST], 0) != 0);
	atomic_fetch_sub(&fake.open, 1);
}

#endif
