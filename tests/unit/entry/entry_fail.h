/* SPDX-License-Identifier: MIT
 *
 * entry_fail.h - lets the allocation, or the system call, of a given number fail, and counts allocations.
 *
 * The program is linked with --wrap of all of these.
 */
#ifndef WEIR_TESTS_ENTRY_FAIL_H
#define WEIR_TESTS_ENTRY_FAIL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

void *__real_calloc(size_t count, size_t size);
void *__real_malloc(size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *p);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *p);
int __real_sys_socket(int family);
int __real_sys_bind(int fd, const struct sockaddr *sa, socklen_t len);
int __real_sys_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __real_sys_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __real_file_open_folder(const char *path, const char **name);
int __real_file_lock(int folder, const char *name, pid_t *holder);
int __real_listen(int fd, int backlog);
int __real_getsockname(int fd, struct sockaddr *sa, socklen_t *len);
int __wrap_sys_socket(int family);
int __wrap_sys_bind(int fd, const struct sockaddr *sa, socklen_t len);
int __wrap_sys_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_sys_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __wrap_file_open_folder(const char *path, const char **name);
int __wrap_file_lock(int folder, const char *name, pid_t *holder);
int __wrap_listen(int fd, int backlog);
int __wrap_getsockname(int fd, struct sockaddr *sa, socklen_t *len);

/* What still succeeds before a failure; -1 = all. All after an allocation that failed fail, too. */
static long allocations_left = -1;
static long calls_left = -1;
static bool call_failed;
static long allocated; /* and not freed */

static inline void fail_nothing(void)
{
	allocations_left = -1;
	calls_left = -1;
}

static inline void fail_allocation(long number)
{
	allocations_left = number;
}

/* That one alone. */
static inline void fail_call(long number)
{
	calls_left = number;
	call_failed = false;
}

/* Was there such a call? */
static inline bool call_has_failed(void)
{
	return call_failed;
}

static bool allocation_fails(void)
{
	if (allocations_left > 0)
		allocations_left--;
	else if (allocations_left == 0)
		return true;
	return false;
}

static bool call_fails(void)
{
	if (calls_left < 0 || calls_left-- > 0)
		return false;
	call_failed = true;
	return true;
}

static void *counted_new(void *p)
{
	allocated += p != NULL;
	return p;
}

void *__wrap_calloc(size_t count, size_t size)
{
	return allocation_fails() ? NULL : counted_new(__real_calloc(count, size));
}

void *__wrap_malloc(size_t size)
{
	return allocation_fails() ? NULL : counted_new(__real_malloc(size));
}

void *__wrap_realloc(void *p, size_t size)
{
	if (allocation_fails())
		return NULL;
	return p == NULL ? counted_new(__real_realloc(p, size)) : __real_realloc(p, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return allocation_fails() ? NULL : counted_new(__real_aligned_alloc(alignment, size));
}

void __wrap_free(void *p)
{
	allocated -= p != NULL;
	__real_free(p);
}

int __wrap_sys_socket(int family)
{
	return call_fails() ? -EPERM : __real_sys_socket(family);
}

int __wrap_sys_bind(int fd, const struct sockaddr *sa, socklen_t len)
{
	return call_fails() ? -EPERM : __real_sys_bind(fd, sa, len);
}

int __wrap_sys_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	return call_fails() ? -EPERM : __real_sys_setsockopt(fd, level, name, value, len);
}

int __wrap_sys_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	return call_fails() ? -EPERM : __real_sys_getsockopt(fd, level, name, value, len);
}

int __wrap_file_open_folder(const char *path, const char **name)
{
	return call_fails() ? -EPERM : __real_file_open_folder(path, name);
}

int __wrap_file_lock(int folder, const char *name, pid_t *holder)
{
	return call_fails() ? -EPERM : __real_file_lock(folder, name, holder);
}

int __wrap_listen(int fd, int backlog)
{
	if (!call_fails())
		return __real_listen(fd, backlog);
	errno = EPERM;
	return -1;
}

int __wrap_getsockname(int fd, struct sockaddr *sa, socklen_t *len)
{
	if (!call_fails())
		return __real_getsockname(fd, sa, len);
	errno = EPERM;
	return -1;
}

#endif
