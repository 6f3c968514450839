/* SPDX-License-Identifier: MIT
 *
 * entry_fail.h - lets the system call of a given number fail, and allocations (../base/alloc_fail.h).
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

#include "../base/alloc_fail.h"

int __real_sys_socket(int family);
int __real_sys_bind(int fd, const struct sockaddr *sa, socklen_t len);
int __real_sys_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __real_sys_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __real_file_open_folder(const char *path, const char **name);
int __real_file_lock(int folder, const char *name, pid_t *holder);
int __real_sys_dup(int fd);
int __real_listen(int fd, int backlog);
int __real_getsockname(int fd, struct sockaddr *sa, socklen_t *len);
int __wrap_sys_socket(int family);
int __wrap_sys_bind(int fd, const struct sockaddr *sa, socklen_t len);
int __wrap_sys_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_sys_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __wrap_file_open_folder(const char *path, const char **name);
int __wrap_file_lock(int folder, const char *name, pid_t *holder);
int __wrap_sys_dup(int fd);
int __wrap_listen(int fd, int backlog);
int __wrap_getsockname(int fd, struct sockaddr *sa, socklen_t *len);

static long calls_left = -1; /* that still succeed; -1 = all */
static bool call_failed;

static inline void fail_nothing(void)
{
	fail_allocations_from(-1);
	calls_left = -1;
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

static bool call_fails(void)
{
	if (calls_left < 0 || calls_left-- > 0)
		return false;
	call_failed = true;
	return true;
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

int __wrap_sys_dup(int fd)
{
	return call_fails() ? -EPERM : __real_sys_dup(fd);
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
