/* SPDX-License-Identifier: MIT
 *
 * low_fds.c - low descriptor numbers for control, however many sessions are open.
 *
 * dup3(2) replaces the file behind a number in one step, so that no worker can take the number in between: a
 * new descriptor replaces a placeholder, and a placeholder replaces a descriptor that is closed. Main thread.
 */
#include "weir/sys/low_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/sys/sys.h"

static struct {
	int source; /* owns: placeholders are copies of it */
	int end;    /* the first number above all of ours; 0 = none reserved */
	bool *ours; /* owns: one flag per number below `end` */
	int *list;  /* owns: the numbers that are placeholders now, the highest first */
	unsigned spare; /* entries in `list` */
	unsigned held;	/* numbers that are ours */
	unsigned claimed;
	unsigned least; /* numbers that low_fds_hold() reserved; so many below `least_end` are kept */
	int least_end;
	unsigned held_low; /* of `held`, those below `least_end` */
	int (*ready)(unsigned count, int end);
} low = {.source = -1};

int low_fds_open_null(void)
{
	const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	return fd >= 0 ? fd : sys_eventfd(); /* an empty chroot has no /dev */
}

static void close_spare(unsigned keep)
{
	while (low.spare > keep)
		sys_close(low.list[--low.spare]);
}

/* Room for `more` placeholders. */
static int widen_list(unsigned more)
{
	int *list = realloc(low.list, ((size_t)low.held + more + 1) * sizeof(*list));

	if (list == NULL)
		return -ENOMEM;
	low.list = list;
	return 0;
}

/* A flag for each number below `end`. */
static int widen_flags(int end)
{
	bool *ours;

	if (end <= low.end)
		return 0;
	ours = realloc(low.ours, ((size_t)end + 1) * sizeof(*ours));
	if (ours == NULL)
		return -ENOMEM;
	memset(ours + low.end, 0, (size_t)(end - low.end) + 1);
	low.ours = ours;
	return 0;
}

/* Returns the first number above all of ours, or -errno; either way the list holds what was opened. */
static int open_placeholders(unsigned more)
{
	int end = low.end;

	while (more-- > 0) {
		const int fd = fcntl(low.source, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

		if (fd < 0)
			return -errno;
		low.list[low.spare++] = fd;
		end = fd >= end ? fd + 1 : end;
	}
	return end;
}

/* Puts a number where it belongs among the `count` entries of the list. The list has room. */
static void insert(int fd, unsigned count)
{
	unsigned i = count;

	for (; i > 0 && low.list[i - 1] < fd; i--)
		low.list[i] = low.list[i - 1];
	low.list[i] = fd;
}

/* 0, or -errno with nothing changed. */
static int grow(unsigned more)
{
	const unsigned before = low.spare;
	int err = widen_list(more);
	int end = err ? err : open_placeholders(more);

	if (end >= 0)
		err = widen_flags(end);
	else
		err = end;
	if (!err && low.ready != NULL)
		err = low.ready(low.held + more, end);
	if (err) {
		close_spare(before);
		return err;
	}
	for (unsigned i = before; i < low.spare; i++) {
		low.ours[low.list[i]] = true;
		low.held_low += low.list[i] < low.least_end;
		insert(low.list[i], i);
	}
	low.held += more;
	low.end = end;
	return 0;
}

int low_fds_hold(unsigned count)
{
	int err;

	check(low.end == 0);
	low.source = low_fds_open_null();
	low.end = STDERR_FILENO + 1;
	low.ours = calloc((size_t)low.end + 1, sizeof(*low.ours));
	err = low.ours == NULL ? -ENOMEM : low.source < 0 ? low.source : 0;
	if (!err)
		err = grow(count > low.claimed ? count : low.claimed);
	if (err) {
		low_fds_free();
		return err;
	}
	low.least = low.held;
	low.least_end = low.end;
	low.held_low = low.held;
	return low.end;
}

void low_fds_on_growth(int (*ready)(unsigned count, int end))
{
	low.ready = ready;
}

int low_fds_claim(unsigned count)
{
	const unsigned all = low.claimed + count;
	const int err = low.end > 0 && all > low.held ? grow(all - low.held) : 0;

	if (!err)
		low.claimed = all;
	return err;
}

const char *low_fds_advice(int err)
{
	switch (err) {
	case -EMFILE:
		return "raise the limit of open files (LimitNOFILE= of the unit, or ulimit -n)";
	case -ENFILE:
		return "raise the machine's limit of open files (sysctl fs.file-max)";
	default:
		return "raise the limit of memory (MemoryMax= or LimitAS= of the unit), or add memory";
	}
}

static bool is_surplus(int fd)
{
	return low.held > low.least && low.held > low.claimed &&
	       (fd >= low.least_end || low.held_low > low.least);
}

static void give_back(int fd)
{
	low.ours[fd] = false;
	low.held--;
	low.held_low -= fd < low.least_end;
	while (low.end > low.least_end && !low.ours[low.end - 1])
		low.end--;
	sys_close(fd);
}

/* Closes placeholders that nobody claims any more. Numbers that are in use follow in low_fds_close(). */
static void trim(void)
{
	unsigned closed = 0;

	while (closed < low.spare && is_surplus(low.list[closed]))
		give_back(low.list[closed++]);
	low.spare -= closed;
	if (closed > 0)
		memmove(low.list, low.list + closed, low.spare * sizeof(*low.list));
}

void low_fds_unclaim(unsigned count)
{
	check(count <= low.claimed);
	low.claimed -= count;
	trim();
}

void low_fds_free(void)
{
	close_spare(0);
	if (low.source >= 0)
		sys_close(low.source);
	free(low.list);
	free(low.ours);
	low.list = NULL;
	low.ours = NULL;
	low.source = -1;
	low.end = 0;
	low.held = 0;
	low.least = 0;
	low.least_end = 0;
	low.held_low = 0;
	low.ready = NULL;
}

/* Makes the open number `to` refer to the file of `from`. 0 or -errno. */
static int put_under(int from, int to)
{
	int n;

	do
		n = dup3(from, to, O_CLOEXEC);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

int low_fds_take(int fd)
{
	int number, err;

	if (fd < 0 || low.end == 0)
		return fd;
	if (low.spare == 0) {
		if (fd < low.end)
			return fd;
		sys_close(fd);
		return -EMFILE;
	}
	number = low.list[low.spare - 1];
	err = put_under(fd, number);
	sys_close(fd);
	if (err)
		return err;
	low.spare--;
	return number;
}

void low_fds_close(int fd)
{
	if (fd >= low.end || !low.ours[fd]) {
		sys_close(fd);
		return;
	}
	if (!is_surplus(fd) && put_under(low.source, fd) == 0) {
		insert(fd, low.spare++);
		return;
	}
	/* Nobody claims the number any more. Or dup3(2) failed, which cannot happen between two open numbers:
	 * losing one placeholder is better than a leak. */
	give_back(fd);
}
