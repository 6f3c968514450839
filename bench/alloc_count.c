/* SPDX-License-Identifier: MIT
 *
 * alloc_count.c - counts the heap calls of any program that it is preloaded into; see alloc.sh.
 *
 *     LD_PRELOAD=liballoc_count.so ALLOC_COUNT_FILE=FILE PROGRAM...
 *
 * FILE then holds four 64-bit counters at any moment: malloc, calloc, realloc, and free of something;
 * aligned requests count as malloc. A forked child counts into the same file. glibc only: the real
 * functions are called by their other names, so that nothing has to be looked up before the first one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COUNT_MALLOC, COUNT_CALLOC, COUNT_REALLOC, COUNT_FREE, COUNT_KINDS };

#define COUNTERS_BYTES (COUNT_KINDS * sizeof(uint64_t))

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);
extern void __libc_free(void *old);

static _Atomic uint64_t before_start[COUNT_KINDS];
static _Atomic uint64_t *counters = before_start;

__attribute__((constructor)) static void counters_share(void)
{
	const char *path = getenv("ALLOC_COUNT_FILE");
	int fd;
	void *shared;

	if (path == NULL)
		return;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	if (ftruncate(fd, COUNTERS_BYTES) == 0) {
		shared = mmap(NULL, COUNTERS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (shared != MAP_FAILED)
			counters = shared; /* what was counted before the start does not matter */
	}
	close(fd);
}

static void count(int kind)
{
	atomic_fetch_add_explicit(&counters[kind], 1, memory_order_relaxed);
}

void *malloc(size_t bytes)
{
	count(COUNT_MALLOC);
	return __libc_malloc(bytes);
}

void *calloc(size_t items, size_t bytes)
{
	count(COUNT_CALLOC);
	return __libc_calloc(items, bytes);
}

void *realloc(void *old, size_t bytes)
{
	count(COUNT_REALLOC);
	return __libc_realloc(old, bytes);
}

void free(void *old)
{
	if (old != NULL)
		count(COUNT_FREE);
	__libc_free(old);
}

void *aligned_alloc(size_t align, size_t bytes)
{
	count(COUNT_MALLOC);
	return __libc_memalign(align, bytes);
}

int posix_memalign(void **out, size_t align, size_t bytes)
{
	void *fresh;

	count(COUNT_MALLOC);
	if (align < sizeof(void *) || (align & (align - 1)) != 0)
		return EINVAL;
	fresh = __libc_memalign(align, bytes);
	if (fresh == NULL)
		return ENOMEM;
	*out = fresh;
	return 0;
}
