/* SPDX-License-Identifier: MIT
 *
 * ring_sys.c - the system calls of the data plane, answered by the byte string of ring_shim.h.
 *
 * Owns the table of descriptors, which are numbers alone: the lowest free one is given out, so that one is
 * in use again as soon as it was closed. A descriptor that is not open, or closed while the ring holds an
 * entry for it, aborts. In the place of src/sys/sys.c. One thread. Tests only.
 */
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/sys/sys.h"
#include "ring_shim.h"

#define FILES_MAX 4096
#define FILES_FIRST 3
/* So much of each end of a piece shows whether it is the right one. */
#define STAMP_BYTES 32
#define PIPE_CAP 65536

static struct shim_file files[FILES_MAX];
static int files_top;
static uint32_t keys;
int64_t shim_now_ns;

void shim_files_begin(void)
{
	memset(files, 0, sizeof(files[0]) * (size_t)files_top);
	files_top = FILES_FIRST;
	keys = 0;
	shim_now_ns = 1000 * NS_PER_SEC;
	shim_set_begin();
}

int shim_files_top(void)
{
	return files_top;
}

int shim_open(enum shim_kind kind)
{
	int fd = FILES_FIRST;

	while (files[fd].kind != SHIM_FREE)
		fd++;
	check(fd < FILES_MAX - 1);
	if (fd >= files_top)
		files_top = fd + 1;
	files[fd] = (struct shim_file){.kind = kind, .key = ++keys, .other = -1, .room = true};
	shim_trace("  descriptor %d opened\n", fd);
	return fd;
}

int shim_open_client(int listener)
{
	const int fd = shim_open(SHIM_SOCKET);

	shim_file(fd)->other = listener;
	shim_file(listener)->clients++;
	return fd;
}

struct shim_file *shim_file(int fd)
{
	check(fd >= FILES_FIRST);
	check(fd < files_top);
	check(files[fd].kind != SHIM_FREE);
	return &files[fd];
}

uint32_t shim_key(int fd)
{
	return fd >= FILES_FIRST && fd < files_top && files[fd].kind != SHIM_FREE ? files[fd].key : 0;
}

void shim_close(int fd)
{
	shim_trace("  descriptor %d closed\n", fd);
	check(!shim_is_pending_fd(fd));
	shim_file(fd)->kind = SHIM_FREE;
}

unsigned shim_open_count(void)
{
	unsigned n = 0;

	for (int fd = FILES_FIRST; fd < files_top; fd++)
		n += files[fd].kind != SHIM_FREE;
	return n;
}

/* ---- streams ---- */

static uint8_t stream_byte(uint32_t key, uint64_t at)
{
	return (uint8_t)(key * 37 + at * 5 + (at >> 8));
}

void shim_fill(int fd, void *data, uint32_t len)
{
	struct shim_file *f = shim_file(fd);
	uint8_t *p = data;

	for (uint32_t i = 0; i < len; i++) {
		if (i == STAMP_BYTES && len > 2 * STAMP_BYTES)
			i = len - STAMP_BYTES;
		p[i] = stream_byte(f->key, f->got + i);
	}
	f->got += len;
}

bool shim_is_stream(uint32_t key, uint64_t offset, const uint8_t *data, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		if (i == STAMP_BYTES && len > 2 * STAMP_BYTES)
			i = len - STAMP_BYTES;
		if (data[i] != stream_byte(key, offset + i))
			return false;
	}
	return true;
}

/* ---- calls ---- */

/* One of `count` errors, or 0: the call succeeds. */
static int error_of(const int *errors, size_t count, uint8_t byte)
{
	shim_count();
	return byte < 256 - 4 * count || shim_is_calm() ? 0 : errors[(size_t)(255 - byte) / 4];
}

#define FAILS_WITH(...)                                                                                    \
	error_of((const int[]){__VA_ARGS__}, ARRAY_LEN(((const int[]){__VA_ARGS__})), shim_byte())

/* -EAGAIN, an end, an error, or how many of `len` bytes are moved. */
static ssize_t move(size_t len)
{
	const int err = FAILS_WITH(-ECONNRESET, -EPIPE, -ENOBUFS, -ETIMEDOUT, -ENOMEM);

	if (err)
		return err;
	if (shim_gives())
		return (ssize_t)len;
	if (shim_is_calm() || shim_is_out() || shim_chance(96))
		return -EAGAIN;
	return shim_length((uint32_t)len);
}

ssize_t sys_recv(int fd, void *data, size_t len, int flags)
{
	struct shim_file *f = shim_file(fd);
	ssize_t n;

	(void)flags;
	check(f->kind == SHIM_SOCKET);
	check(len > 0);
	n = shim_chance(16) || f->ended ? 0 : shim_gives() && !f->in ? -EAGAIN : move(len);
	if (n > 0)
		shim_fill(fd, data, (uint32_t)n);
	if (n == -EAGAIN || (n > 0 && (size_t)n < len))
		f->in = false;
	shim_trace("  recv(%d, %zu) = %zd\n", fd, len, n);
	return n;
}

ssize_t sys_send(int fd, const void *data, size_t len)
{
	struct shim_file *f = shim_file(fd);
	ssize_t n;

	check(f->kind == SHIM_SOCKET);
	check(len > 0);
	n = move(len);
	if (n == -EAGAIN)
		f->room = false;
	(void)shim_sum(data, (uint32_t)len); /* it is there to be read */
	if (n > 0)
		f->put += (uint64_t)n;
	shim_trace("  send(%d, %zu) = %zd\n", fd, len, n);
	return n;
}

ssize_t sys_send_more(int fd, const void *data, size_t len)
{
	return sys_send(fd, data, len);
}

ssize_t sys_splice(int from, int to, size_t len)
{
	const bool in = shim_file(from)->kind == SHIM_SOCKET;
	struct shim_file *pipe = shim_file(in ? shim_file(to)->other : from);
	struct shim_file *sock = shim_file(in ? from : to);
	ssize_t n;

	check(sock->kind == SHIM_SOCKET);
	check(pipe->kind == SHIM_PIPE);
	check(in ? pipe->put == 0 : pipe->put == len);
	if (shim_chance(16))
		n = shim_chance(128) ? -EINVAL : 0;
	else
		n = move(len < PIPE_CAP ? len : PIPE_CAP);
	if (n == -EAGAIN && in)
		sock->in = false;
	else if (n == -EAGAIN)
		sock->room = false;
	if (n > 0 && in) {
		sock->got += (uint64_t)n;
		pipe->put += (uint64_t)n;
	} else if (n > 0) {
		sock->put += (uint64_t)n;
		pipe->put -= (uint64_t)n;
	}
	shim_trace("  splice(%d, %d, %zu) = %zd\n", from, to, len, n);
	return n;
}

ssize_t sys_read(int fd, void *data, size_t len)
{
	struct shim_file *f = shim_file(fd);

	check(len >= sizeof(f->put));
	if (f->kind == SHIM_PIPE) {
		const ssize_t n = f->put == 0 ? -EAGAIN : (ssize_t)(len < f->put ? len : f->put);

		f->put -= n > 0 ? (uint64_t)n : 0;
		return n;
	}
	check(f->kind == SHIM_EVENT);
	if (f->put == 0)
		return -EAGAIN;
	memcpy(data, &f->put, sizeof(f->put));
	f->put = 0;
	return sizeof(f->put);
}

ssize_t sys_write(int fd, const void *data, size_t len)
{
	struct shim_file *f = shim_file(fd);

	(void)data;
	check(f->kind == SHIM_EVENT);
	f->put++;
	return (ssize_t)len;
}

int sys_accept(int fd, struct sockaddr *sa, socklen_t *len)
{
	struct shim_file *f = shim_file(fd);
	const int err = FAILS_WITH(-EMFILE, -ECONNABORTED, -ENFILE, -EPERM, -ENOMEM);

	check(f->kind == SHIM_LISTENER);
	if (err)
		return err;
	if (shim_is_out() || shim_chance(128))
		return -EAGAIN;
	memset(sa, 0, *len);
	sa->sa_family = AF_INET;
	*len = sizeof(struct sockaddr_in);
	return shim_open_client(fd);
}

int sys_connect(int fd, const struct sockaddr *sa, socklen_t len)
{
	check(shim_file(fd)->kind == SHIM_SOCKET);
	check(len > 0);
	check(sa->sa_family == AF_INET || sa->sa_family == AF_UNIX);
	if (shim_chance(64))
		return -EINPROGRESS;
	return FAILS_WITH(-ECONNREFUSED, -EAGAIN, -ENOENT, -ENETUNREACH, -EADDRNOTAVAIL);
}

int sys_socket(int family)
{
	(void)family;
	return shim_open(SHIM_SOCKET);
}

int sys_bind(int fd, const struct sockaddr *sa, socklen_t len)
{
	(void)sa;
	(void)len;
	(void)shim_file(fd);
	return FAILS_WITH(-EADDRINUSE);
}

int sys_port_range(uint16_t *first, uint16_t *last)
{
	*first = 1;
	*last = 0;
	return 0;
}

int sys_route_source(const struct sockaddr *to, socklen_t len, struct sockaddr *from, socklen_t *from_len)
{
	(void)to;
	(void)len;
	(void)from;
	(void)from_len;
	return -ENETUNREACH;
}

int sys_getsockname(int fd, struct sockaddr *sa, socklen_t *len)
{
	const int err = FAILS_WITH(-ENOTCONN, -EINVAL);

	check(*len >= sizeof(struct sockaddr_in));
	(void)shim_file(fd);
	if (err)
		return err;
	memset(sa, 0, sizeof(struct sockaddr_in));
	sa->sa_family = AF_INET;
	*len = sizeof(struct sockaddr_in);
	return 0;
}

int sys_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	const int err = -FAILS_WITH(-ECONNREFUSED, -ECONNRESET, -EPIPE, -ETIMEDOUT, -EHOSTUNREACH);

	(void)level;
	(void)name;
	(void)shim_file(fd);
	check(*len >= sizeof(err));
	memcpy(value, &err, sizeof(err));
	return 0;
}

int sys_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	(void)level;
	(void)name;
	(void)value;
	(void)len;
	(void)shim_file(fd);
	return FAILS_WITH(-EINVAL);
}

int sys_shutdown(int fd, int how)
{
	(void)how;
	check(shim_file(fd)->kind == SHIM_SOCKET);
	return FAILS_WITH(-ENOTCONN);
}

void sys_close(int fd)
{
	shim_close(fd);
}

int sys_pipe(int fds[2])
{
	const int err = FAILS_WITH(-EMFILE);

	if (err)
		return err;
	fds[0] = shim_open(SHIM_PIPE);
	fds[1] = shim_open(SHIM_PIPE);
	shim_file(fds[1])->other = fds[0];
	return 0;
}

int sys_pipe_set_size(int fd, int bytes)
{
	(void)shim_file(fd);
	return bytes;
}

uint32_t sys_page_bytes(void)
{
	return 4096;
}

int sys_pipe_size(int fd)
{
	(void)shim_file(fd);
	return PIPE_CAP;
}

int sys_unread(int fd)
{
	(void)shim_file(fd);
	return shim_chance(128);
}

int sys_unacked(int fd)
{
	(void)shim_file(fd);
	return shim_is_calm() ? 0 : shim_chance(128);
}

int sys_eventfd(void)
{
	const int err = FAILS_WITH(-EMFILE);

	return err ? err : shim_open(SHIM_EVENT);
}

int sys_timerfd(void)
{
	const int err = FAILS_WITH(-EMFILE);

	return err ? err : shim_open(SHIM_EVENT);
}

int sys_timerfd_set(int fd, int64_t at_ns)
{
	check(shim_file(fd)->kind == SHIM_EVENT);
	check(at_ns > 0);
	return FAILS_WITH(-ENOMEM);
}

int64_t sys_now_ns(void)
{
	return shim_now_ns += 1000;
}
