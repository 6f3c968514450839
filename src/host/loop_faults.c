/* SPDX-License-Identifier: MIT
 *
 * loop_faults.c - libev's allocator and its handler of fatal errors.
 *
 * The reserve hands out pieces one after another and reclaims them all at once, when none is in use: it only
 * has to let a few tables grow during a shortage. A piece leaves it when it is freed, or when it grows while
 * malloc(3) has memory again.
 */
#include "weir/host/loop_faults.h"

#include <errno.h>
#include <ev.h>
#include <malloc.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/crash_report.h"

/* Twice what the loop uses without any descriptors of ours. */
#define BYTES_MIN 65536u
/* More than the functions of control have ever used. The kernel grows a stack on demand; if no address space
 * is left, it kills the process instead. */
#define STACK_BYTES 262144u

/* Precedes each piece. */
struct piece {
	size_t size;
	alignas(max_align_t) char bytes[];
};

static struct {
	char *bytes; /* owns */
	size_t size;
	size_t used;
	unsigned pieces; /* number in use */
	void *(*source)(void *ptr, size_t size);
} reserve;

static _Noreturn void end_process(const char *what)
{
	char text[256];

	/* Bypasses the log rings, which this very loop would have to read. A truncated text still says what
	 * happened. */
	(void)snprintf(text, sizeof(text), "the control loop cannot go on: %s: %s; the process ends", what,
		       strerror(errno));
	crash_report_cause(text);
	abort();
}

static bool is_ours(const void *ptr)
{
	const uintptr_t at = (uintptr_t)ptr, first = (uintptr_t)reserve.bytes;

	return reserve.bytes != NULL && at >= first && at < first + reserve.size;
}

static void release(void)
{
	check(reserve.pieces > 0);
	if (--reserve.pieces == 0)
		reserve.used = 0;
}

static void *take_from_reserve(size_t size)
{
	const size_t align = alignof(struct piece);
	const size_t whole = (sizeof(struct piece) + size + align - 1) / align * align;
	struct piece *p;

	if (size > reserve.size || whole > reserve.size - reserve.used) {
		errno = ENOMEM;
		end_process("no memory for its tables, and the reserve is used up");
	}
	p = (struct piece *)(void *)(reserve.bytes + reserve.used);
	reserve.used += whole;
	reserve.pieces++;
	p->size = size;
	return p->bytes;
}

/* Resizes a piece of the reserve. */
static void *move(void *ptr, size_t size)
{
	const struct piece *p = container_of(ptr, struct piece, bytes);
	const size_t keep = p->size < size ? p->size : size;
	void *other;

	if (size <= p->size)
		return ptr;
	other = reserve.source(NULL, size);
	if (other == NULL)
		other = take_from_reserve(size);
	memcpy(other, ptr, keep);
	release();
	return other;
}

void *loop_faults_alloc(void *ptr, long size)
{
	void *p;

	check(size >= 0);
	if (size == 0) {
		if (is_ours(ptr))
			release();
		else
			free(ptr);
		return NULL;
	}
	if (is_ours(ptr))
		return move(ptr, (size_t)size);
	p = reserve.source(ptr, (size_t)size);
	if (p != NULL)
		return p;
	p = take_from_reserve((size_t)size);
	if (ptr != NULL) {
		const size_t had = malloc_usable_size(ptr); /* at least the requested size */

		memcpy(p, ptr, had < (size_t)size ? had : (size_t)size);
		free(ptr);
	}
	return p;
}

static void on_error(const char *what)
{
	end_process(what != NULL ? what : "libev");
}

int loop_faults_init(void)
{
	if (reserve.source == NULL)
		reserve.source = realloc;
	ev_set_allocator(loop_faults_alloc);
	ev_set_syserr_cb(on_error);
	return loop_faults_reserve(0, 0);
}

/* Touching one byte at the far end is enough: the kernel extends the stack to it. */
static __attribute__((noinline)) void reserve_stack(void)
{
	volatile char far[STACK_BYTES];

	far[0] = 0;
	(void)far[0];
}

int loop_faults_reserve(size_t fds, size_t numbers)
{
	const size_t size = BYTES_MIN + fds * LOOP_BYTES_PER_FD + numbers * LOOP_BYTES_PER_NUMBER;
	char *bytes;

	reserve_stack();
	if (size <= reserve.size)
		return 0;
	bytes = malloc(size);
	if (bytes == NULL || reserve.pieces > 0) { /* already in use */
		free(bytes);
		return -ENOMEM;
	}
	/* A container's limit counts pages that were written to. */
	memset(bytes, 0, size);
	free(reserve.bytes);
	reserve.bytes = bytes;
	reserve.size = size;
	reserve.used = 0;
	return 0;
}

void loop_faults_free(void)
{
	if (reserve.pieces > 0)
		return; /* still in use */
	free(reserve.bytes);
	reserve.bytes = NULL;
	reserve.size = 0;
}

void loop_faults_set_source(void *(*source)(void *ptr, size_t size))
{
	reserve.source = source;
}
