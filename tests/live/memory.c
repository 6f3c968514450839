/* SPDX-License-Identifier: MIT
 *
 * memory.c - what the program has allocated, and allocations and system calls that fail on purpose.
 */
#include "memory.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

static _Thread_local bool armed, fired;
static _Thread_local unsigned left;
static atomic_size_t bytes, blocks;

size_t memory_bytes(void)
{
	return atomic_load(&bytes);
}

size_t memory_blocks(void)
{
	return atomic_load(&blocks);
}

void memory_fail(unsigned nth)
{
	armed = true;
	fired = false;
	left = nth;
}

bool memory_fail_no_more(void)
{
	armed = false;
	return fired;
}

static bool fails(int err)
{
	if (!armed || left-- > 0)
		return false;
	armed = false;
	fired = true;
	errno = err;
	return true;
}

static void *taken(void *p)
{
	if (p != NULL) {
		atomic_fetch_add(&bytes, malloc_usable_size(p));
		atomic_fetch_add(&blocks, 1);
	}
	return p;
}

static void given(void *p)
{
	if (p != NULL) {
		atomic_fetch_sub(&bytes, malloc_usable_size(p));
		atomic_fetch_sub(&blocks, 1);
	}
}

/* ---- memory ---- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
char *__real_strdup(const char *text);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *p);

void *__wrap_malloc(size_t size)
{
	return fails(ENOMEM) ? NULL : taken(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails(ENOMEM) ? NULL : taken(__real_calloc(count, size));
}

void *__wrap_realloc(void *p, size_t size)
{
	const size_t before = p != NULL ? malloc_usable_size(p) : 0;
	void *wider;

	if (fails(ENOMEM))
		return NULL;
	wider = __real_realloc(p, size);
	if (wider == NULL)
		return NULL;
	atomic_fetch_add(&bytes, malloc_usable_size(wider) - before);
	if (p == NULL)
		atomic_fetch_add(&blocks, 1);
	return wider;
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	return fails(ENOMEM) ? NULL : taken(__real_aligned_alloc(align, size));
}

char *__wrap_strdup(const char *text)
{
	return fails(ENOMEM) ? NULL : taken(__real_strdup(text));
}

void __wrap_free(void *p)
{
	given(p);
	__real_free(p);
}

/* ---- system calls ---- */

int __real_socket(int family, int type, int protocol);
int __real_bind(int fd, const struct sockaddr *sa, socklen_t len);
int __real_listen(int fd, int backlog);
int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __real_getsockname(int fd, struct sockaddr *sa, socklen_t *len);
int __wrap_socket(int family, int type, int protocol);
int __wrap_bind(int fd, const struct sockaddr *sa, socklen_t len);
int __wrap_listen(int fd, int backlog);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __wrap_getsockname(int fd, struct sockaddr *sa, socklen_t *len);

int __wrap_socket(int family, int type, int protocol)
{
	return fails(EMFILE) ? -1 : __real_socket(family, type, protocol);
}

int __wrap_bind(int fd, const struct sockaddr *sa, socklen_t len)
{
	return fails(EADDRINUSE) ? -1 : __real_bind(fd, sa, len);
}

int __wrap_listen(int fd, int backlog)
{
	return fails(EADDRINUSE) ? -1 : __real_listen(fd, backlog);
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	return fails(EPERM) ? -1 : __real_setsockopt(fd, level, name, value, len);
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	return fails(ENOBUFS) ? -1 : __real_getsockopt(fd, level, name, value, len);
}

int __wrap_getsockname(int fd, struct sockaddr *sa, socklen_t *len)
{
	return fails(ENOBUFS) ? -1 : __real_getsockname(fd, sa, len);
}
