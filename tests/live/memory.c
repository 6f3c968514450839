/* SPDX-License-Identifier: MIT
 *
 * memory.c - what the program has allocated, and allocations and system calls that fail on purpose.
 */
#include "memory.h"

#include <errno.h>
#include <linux/fcntl.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>

/* unix(7); <linux/un.h> clashes with <sys/un.h>. */
#define FILE_OF_UNIX_SOCKET (SIOCPROTOPRIVATE + 0)

static _Thread_local bool armed, all, lasts;
static _Thread_local const char *fired;
static _Thread_local unsigned left;
static _Thread_local struct memory_own own;
static atomic_size_t bytes, blocks;
static atomic_uint accepts_to_fail;

size_t memory_bytes(void)
{
	return atomic_load(&bytes);
}

size_t memory_blocks(void)
{
	return atomic_load(&blocks);
}

struct memory_own memory_own(void)
{
	return own;
}

void memory_fail(unsigned nth)
{
	armed = true;
	fired = NULL;
	left = nth;
}

void memory_fail_from(unsigned nth)
{
	memory_fail(nth);
	lasts = true;
}

void memory_fail_all(void)
{
	all = true;
}

const char *memory_fail_no_more(void)
{
	armed = all = lasts = false;
	return fired;
}

void memory_fail_accepts(unsigned count)
{
	atomic_store(&accepts_to_fail, count);
}

static bool fails(const char *function, int err)
{
	if (!all && (!armed || left-- > 0))
		return false;
	armed = false;
	all |= lasts;
	if (fired == NULL)
		fired = function;
	errno = err;
	return true;
}

static void add(long some_bytes, long some_blocks)
{
	own.bytes += some_bytes;
	own.blocks += some_blocks;
	atomic_fetch_add(&bytes, (size_t)some_bytes); /* wraps */
	atomic_fetch_add(&blocks, (size_t)some_blocks);
}

static void *taken(void *p)
{
	if (p != NULL)
		add((long)malloc_usable_size(p), 1);
	return p;
}

static void given(void *p)
{
	if (p != NULL)
		add(-(long)malloc_usable_size(p), -1);
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
	return fails("malloc", ENOMEM) ? NULL : taken(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails("calloc", ENOMEM) ? NULL : taken(__real_calloc(count, size));
}

void *__wrap_realloc(void *p, size_t size)
{
	const size_t before = p != NULL ? malloc_usable_size(p) : 0;
	void *wider;

	if (fails("realloc", ENOMEM))
		return NULL;
	wider = __real_realloc(p, size);
	if (wider != NULL)
		add((long)malloc_usable_size(wider) - (long)before, p == NULL);
	return wider;
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	return fails("aligned_alloc", ENOMEM) ? NULL : taken(__real_aligned_alloc(align, size));
}

char *__wrap_strdup(const char *text)
{
	return fails("strdup", ENOMEM) ? NULL : taken(__real_strdup(text));
}

void __wrap_free(void *p)
{
	given(p);
	__real_free(p);
}

/* ---- sockets ---- */

static int opened(int fd)
{
	own.fds += fd >= 0;
	return fd;
}

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
	return fails("socket", EMFILE) ? -1 : opened(__real_socket(family, type, protocol));
}

int __wrap_bind(int fd, const struct sockaddr *sa, socklen_t len)
{
	return fails("bind", EADDRINUSE) ? -1 : __real_bind(fd, sa, len);
}

int __wrap_listen(int fd, int backlog)
{
	return fails("listen", EADDRINUSE) ? -1 : __real_listen(fd, backlog);
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	return fails("setsockopt", EPERM) ? -1 : __real_setsockopt(fd, level, name, value, len);
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	return fails("getsockopt", ENOBUFS) ? -1 : __real_getsockopt(fd, level, name, value, len);
}

int __wrap_getsockname(int fd, struct sockaddr *sa, socklen_t *len)
{
	return fails("getsockname", ENOBUFS) ? -1 : __real_getsockname(fd, sa, len);
}

int __real_connect(int fd, const struct sockaddr *sa, socklen_t len);
int __real_accept4(int fd, struct sockaddr *sa, socklen_t *len, int flags);
int __wrap_connect(int fd, const struct sockaddr *sa, socklen_t len);
int __wrap_accept4(int fd, struct sockaddr *sa, socklen_t *len, int flags);

int __wrap_connect(int fd, const struct sockaddr *sa, socklen_t len)
{
	return fails("connect", EACCES) ? -1 : __real_connect(fd, sa, len);
}

int __wrap_accept4(int fd, struct sockaddr *sa, socklen_t *len, int flags)
{
	unsigned n = atomic_load_explicit(&accepts_to_fail, memory_order_relaxed);

	if (n > 0 && atomic_compare_exchange_strong(&accepts_to_fail, &n, n - 1)) {
		errno = EMFILE;
		return -1;
	}
	return opened(__real_accept4(fd, sa, len, flags));
}

/* ---- files ---- */

/* With 64-bit offsets these have other names in glibc. */
#ifdef __GLIBC__
#define WRAP(name) __wrap_##name##64
#define REAL(name) __real_##name##64
#else
#define WRAP(name) __wrap_##name
#define REAL(name) __real_##name
#endif

int REAL(open)(const char *path, int flags, mode_t mode);
int REAL(openat)(int folder, const char *path, int flags, mode_t mode);
int REAL(fstat)(int fd, struct stat *st);
int REAL(fstatat)(int folder, const char *path, struct stat *st, int flags);
int REAL(fcntl)(int fd, int command, void *value);
int WRAP(open)(const char *path, int flags, mode_t mode);
int WRAP(openat)(int folder, const char *path, int flags, mode_t mode);
int WRAP(fstat)(int fd, struct stat *st);
int WRAP(fstatat)(int folder, const char *path, struct stat *st, int flags);
int WRAP(fcntl)(int fd, int command, void *value);
int __real_close(int fd);
int __real_ioctl(int fd, unsigned long request, void *value);
int __real_unlinkat(int folder, const char *path, int flags);
int __real_fchmod(int fd, mode_t mode);
int __real_chmod(const char *path, mode_t mode);
long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
ssize_t __real_getrandom(void *buffer, size_t len, unsigned flags);
int __wrap_close(int fd);
int __wrap_ioctl(int fd, unsigned long request, void *value);
int __wrap_unlinkat(int folder, const char *path, int flags);
int __wrap_fchmod(int fd, mode_t mode);
int __wrap_chmod(const char *path, mode_t mode);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
ssize_t __wrap_getrandom(void *buffer, size_t len, unsigned flags);

int WRAP(open)(const char *path, int flags, mode_t mode)
{
	return fails("open", EMFILE) ? -1 : opened(REAL(open)(path, flags, mode));
}

int WRAP(openat)(int folder, const char *path, int flags, mode_t mode)
{
	return fails("openat", EMFILE) ? -1 : opened(REAL(openat)(folder, path, flags, mode));
}

int WRAP(fstat)(int fd, struct stat *st)
{
	return fails("fstat", EIO) ? -1 : REAL(fstat)(fd, st);
}

int WRAP(fstatat)(int folder, const char *path, struct stat *st, int flags)
{
	return fails("fstatat", EIO) ? -1 : REAL(fstatat)(folder, path, st, flags);
}

int WRAP(fcntl)(int fd, int command, void *value)
{
	int result;

	if (fails("fcntl", EMFILE))
		return -1;
	result = REAL(fcntl)(fd, command, value);
	return command == F_DUPFD_CLOEXEC ? opened(result) : result;
}

int __real_eventfd(unsigned count, int flags);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *arg),
			  void *arg);
int __wrap_eventfd(unsigned count, int flags);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *arg),
			  void *arg);

int __wrap_eventfd(unsigned count, int flags)
{
	return fails("eventfd", EMFILE) ? -1 : opened(__real_eventfd(count, flags));
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *arg),
			  void *arg)
{
	return fails("pthread_create", EAGAIN) ? EAGAIN
					       : __real_pthread_create(thread, attributes, run, arg);
}

/* Linux has closed the descriptor by then. */
int __wrap_close(int fd)
{
	const int result = __real_close(fd);

	own.fds -= result == 0;
	return fails("close", EIO) ? -1 : result;
}

int __wrap_ioctl(int fd, unsigned long request, void *value)
{
	int result;

	if (fails("ioctl", EMFILE))
		return -1;
	result = __real_ioctl(fd, request, value);
	return request == FILE_OF_UNIX_SOCKET ? opened(result) : result;
}

int __wrap_unlinkat(int folder, const char *path, int flags)
{
	return fails("unlinkat", EACCES) ? -1 : __real_unlinkat(folder, path, flags);
}

int __wrap_fchmod(int fd, mode_t mode)
{
	return fails("fchmod", EPERM) ? -1 : __real_fchmod(fd, mode);
}

int __wrap_chmod(const char *path, mode_t mode)
{
	return fails("chmod", EPERM) ? -1 : __real_chmod(path, mode);
}

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	return fails("syscall", ENOSYS) ? -1 : __real_syscall(number, a, b, c, d, e, f);
}

ssize_t __wrap_getrandom(void *buffer, size_t len, unsigned flags)
{
	return fails("getrandom", EAGAIN) ? -1 : __real_getrandom(buffer, len, flags);
}
