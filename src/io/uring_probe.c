/* SPDX-License-Identifier: MIT
 *
 * uring_probe.c - can a ring be used here, and if not, why?
 *
 * Finds out by creating rings and using them: a version number says nothing about backports, filters and
 * limits. A start creates one small ring, because its workers create their own right away; a preflight that
 * no start follows creates as many rings, of the same size, as the workers would. Leaves nothing behind. Any
 * thread.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/io/uring.h"
#include "weir/sys/ring.h"
#include "weir/sys/sys.h"
#include "uring_state.h"

/* A working ring answers at once; a broken one must not block the start for ever. */
#define ANSWER_NS NS_PER_SEC

bool uring_is_built(void)
{
	return true;
}

/* kernel.io_uring_disabled (Linux 6.6): 0 for everybody, 1 for a group, 2 for nobody. 0 when it cannot be
 * read: creating the ring will show. */
static int read_disabled(void)
{
	FILE *f = fopen("/proc/sys/kernel/io_uring_disabled", "re");
	int n = 0;

	if (f == NULL)
		return 0;
	if (fscanf(f, "%d", &n) != 1)
		n = 0;
	(void)fclose(f); /* only read from */
	return n;
}

static void explain_memory(char *why, size_t room)
{
	struct rlimit rl;

	/* Before Linux 5.12, and since 6.14, the pages of rings count as locked memory of their user. */
	if (getrlimit(RLIMIT_MEMLOCK, &rl) != 0 || rl.rlim_cur == RLIM_INFINITY)
		(void)snprintf(why, room, "no memory for it");
	else
		(void)snprintf(why, room,
			       "no memory for it, or more than the %llu KiB that this user may lock: raise "
			       "LimitMEMLOCK= of the unit, or ulimit -l, to %u KiB per worker",
			       (unsigned long long)(rl.rlim_cur >> 10), URING_LOCKED_KIB);
}

/* A seccomp filter may return the same error as an old kernel. */
static void explain_version(char *why, size_t room)
{
	struct utsname name;

	if (uname(&name) != 0)
		name.release[0] = '\0';
	(void)snprintf(why, room,
		       "kernel %s lacks what it needs (6.1 or later has it), or a seccomp filter refuses "
		       "that",
		       name.release);
}

static const char *refusal(int err)
{
	const int disabled = read_disabled();

	if (disabled >= 2)
		return "kernel.io_uring_disabled is 2";
	if (disabled == 1)
		return "kernel.io_uring_disabled is 1, and this user is not in the group of "
		       "kernel.io_uring_group";
	if (err == -EACCES)
		return "a security module or a seccomp filter forbids it";
	return "a seccomp filter forbids it: container runtimes do by default, or SystemCallFilter= of the "
	       "unit";
}

/* A truncated reason is still a reason. */
void uring_explain(int err, char *why, size_t room)
{
	check(err < 0);
	switch (err) {
	case -ENOSYS:
		(void)snprintf(why, room, "this kernel is built without it, or a seccomp filter hides it");
		break;
	case -EPERM:
	case -EACCES:
		(void)snprintf(why, room, "%s", refusal(err));
		break;
	case -ENOMEM:
		explain_memory(why, room);
		break;
	case -EINVAL:
	case -EOPNOTSUPP:
		explain_version(why, room);
		break;
	case -EMFILE:
		(void)snprintf(why, room,
			       "no descriptor is left for it: raise LimitNOFILE= of the unit, or ulimit -n");
		break;
	case -ENFILE:
		(void)snprintf(why, room,
			       "the machine has no descriptor left for it: sysctl -w fs.file-max=N");
		break;
	case -ETIME:
		(void)snprintf(why, room, "a ring was created but does not answer");
		break;
	default:
		(void)snprintf(why, room, "%s", strerror(-err));
	}
}

/* Tries one op of the kind that the driver relies on, on a descriptor that is ready: 0 when it completes and
 * stays armed. */
static int try_poll(struct ring *r, int ready_fd)
{
	struct ring_done done;
	int err;

	io_uring_prep_poll_multishot(ring_sqe(r), ready_fd, POLLIN);
	err = ring_enter(r, ANSWER_NS);
	if (err)
		return err;
	if (ring_take(r, &done, 1) == 0)
		return -ETIME;
	if (done.res < 0)
		return done.res;
	return (done.flags & IORING_CQE_F_MORE) != 0 ? 0 : -EINVAL;
}

static int try_ring(struct ring *r)
{
	const uint64_t one = 1;
	const int fd = sys_eventfd();
	int err;

	if (fd < 0)
		return fd;
	(void)sys_write(fd, &one, sizeof(one)); /* never fails: it was 0 */
	err = ring_enable(r);
	if (!err)
		err = try_poll(r, fd);
	sys_close(fd);
	return err;
}

/* Creates a small ring and in addition those of `workers` workers, as at a start; all are closed again. */
static int try_rings(unsigned workers)
{
	static const struct ring_shape small = {8, 16, 8};
	struct ring **rings;
	unsigned made = 0;
	int err = 0;

	/* Not even tried if it is forbidden for everyone: some filters report the attempt to an
	 * administrator. */
	if (read_disabled() >= 2)
		return -EPERM;
	rings = calloc((size_t)workers + 1, sizeof(struct ring *));
	if (rings == NULL)
		return -ENOMEM;
	while (!err && made <= workers) {
		err = ring_open(&rings[made], made == 0 ? &small : &uring_shape);
		if (!err)
			err = try_ring(rings[made++]);
	}
	while (made > 0)
		ring_close(rings[--made]);
	free(rings);
	return err;
}

const struct io_driver *uring_driver(char *why, size_t room)
{
	const int err = try_rings(0);

	if (err) {
		uring_explain(err, why, room);
		return NULL;
	}
	return &io_uring_driver;
}

int uring_rehearse(unsigned workers, char *why, size_t room)
{
	int err;

	check(workers > 0);
	err = try_rings(workers);
	if (err)
		uring_explain(err, why, room);
	else if (room > 0)
		why[0] = '\0';
	return err;
}
