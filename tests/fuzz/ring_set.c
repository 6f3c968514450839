/* SPDX-License-Identifier: MIT
 *
 * ring_set.c - the epoll set beside the ring: which watched socket gets which events, the bytes say.
 *
 * Owns the one set and what is known of the sockets in it (struct shim_file). Edges as the kernel has them:
 * an honest one reports the present state when a socket is added, and a change of it once; it never
 * repeats what was taken. The other one reports anything, also of sockets that were closed long ago. Adding
 * a descriptor twice, or changing one that was never added, aborts. One thread. Tests only.
 */
#include <string.h>

#include "weir/base/check.h"
#include "weir/sys/sys.h"
#include "io/parked.h"
#include "ring_shim.h"

#define PAST_DATA 16
#define STICKY (EPOLLRDHUP | EPOLLHUP | EPOLLERR)

static int set_fd;
static bool untold; /* something is ready, and the poll of the set has not said so */
static uint64_t past[PAST_DATA]; /* what sockets were added with: a circle */
static uint32_t past_count;

void shim_set_begin(void)
{
	set_fd = -1;
	untold = false;
	past_count = 0;
}

bool shim_set_is_untold(void)
{
	return untold;
}

void shim_set_told(void)
{
	untold = false;
}

/* It has the bits of `mask`, and what is true of it anyway. */
static void raise(struct shim_file *f, uint32_t mask)
{
	f->sticky |= mask & STICKY;
	if (mask & EPOLLIN)
		f->in = true;
	if (mask & EPOLLOUT)
		f->room = true;
	if (f->in)
		mask |= EPOLLIN;
	if (f->room)
		mask |= EPOLLOUT;
	mask = (mask | f->sticky) & (f->watched | EPOLLERR | EPOLLHUP) & 0xffff;
	if (f->watched == 0 || mask == 0)
		return;
	shim_trace("  event of %u: %#x\n", f->key, mask);
	f->ready = mask;
	untold = true;
}

void shim_set_raise(int fd, uint32_t mask)
{
	raise(shim_file(fd), mask);
}

/* One of the sockets that are watched; -1. */
static int pick(uint8_t which)
{
	const int top = shim_files_top();
	int left = which % 8;
	int found = -1;

	for (int round = 0; round < 2; round++) {
		for (int fd = 0; fd < top; fd++) {
			if (shim_key(fd) == 0 || shim_file(fd)->watched == 0)
				continue;
			found = fd;
			if (left-- == 0)
				return fd;
		}
	}
	return found;
}

bool shim_set_luck(void)
{
	const uint8_t b = shim_byte();
	const int fd = pick(b / 8);

	if (fd < 0)
		return false;
	raise(shim_file(fd), shim_mask(b));
	return true;
}

/* ---- calls ---- */

int sys_epoll_create(void)
{
	check(set_fd < 0);
	if (shim_chance(8))
		return -EMFILE;
	set_fd = shim_open(SHIM_SET);
	return set_fd;
}

int sys_epoll_ctl(int epfd, int op, int fd, uint32_t events, uint64_t data)
{
	struct shim_file *f = shim_file(fd);

	shim_count();
	check(epfd == set_fd);
	check(shim_file(epfd)->kind == SHIM_SET);
	check(f->kind == SHIM_SOCKET);
	check(events & EPOLLET);
	check(op == EPOLL_CTL_ADD || op == EPOLL_CTL_MOD);
	check((f->watched != 0) == (op == EPOLL_CTL_MOD));
	if (op == EPOLL_CTL_ADD && shim_chance(24)) {
		f->refused = true;
		return shim_chance(128) ? -ENOSPC : -ENOMEM;
	}
	shim_trace("  watch %d: %#x\n", fd, events);
	f->watched = events;
	f->data = data;
	f->ready = 0;
	past[past_count++ % PAST_DATA] = data;
	raise(f, 0);
	return 0;
}

/* Anything, for a socket that was added at some time. */
static int lie(struct epoll_event *events, int max)
{
	const uint32_t there = past_count < PAST_DATA ? past_count : PAST_DATA;
	const int count = shim_byte() % 4;

	if (count == 3 || there == 0)
		return count == 3 ? -EINTR : 0;
	for (int i = 0; i < count && i < max; i++) {
		const uint8_t b = shim_byte();

		events[i].data.u64 = past[b % there];
		if (b >= 192)
			events[i].data.u64 ^= (uint64_t)(b - 191u) << 48;
		events[i].events = b & 64 ? ~UINT32_C(0) : shim_byte() | (uint32_t)shim_byte() << 8;
		shim_trace("  a lie: event %#x\n", events[i].events);
	}
	return count < max ? count : max;
}

int sys_epoll_wait(int epfd, struct epoll_event *events, int max, int64_t timeout_ns)
{
	const int top = shim_files_top();
	int count = 0;

	shim_count();
	check(epfd == set_fd);
	check(shim_file(epfd)->kind == SHIM_SET);
	check(max > 0);
	check(timeout_ns == 0);
	if (!shim_is_honest() && shim_chance(64))
		return lie(events, max);
	for (int fd = 0; fd < top && count < max; fd++) {
		struct shim_file *f = shim_key(fd) != 0 ? shim_file(fd) : NULL;

		if (f == NULL || f->ready == 0)
			continue;
		events[count].events = f->ready;
		events[count++].data.u64 = f->data;
		shim_trace("  event of %d: %#x\n", fd, f->ready);
		f->ready = 0;
	}
	return count;
}
