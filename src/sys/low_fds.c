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
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/sys/sys.h"

static struct {
	int source; /* owns: placeholders are copies of it */
	int end;    /* the first number above all of ours; 0 = none reserved */
	bool *ours; /* owns: one flag per number below `end` */
	int *list;  /* owns: the numbers that are placeholders now */
	unsigned spare; /* entries in `list` */
} low = {.source = -1};

int low_fds_open_null(void)
{
	const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	return fd >= 0 ? fd : sys_eventfd(); /* an empty chroot has no /dev */
}

static void close_spare(void)
{
	while (low.spare > 0)
		sys_close(low.list[--low.spare]);
}

/* 0 or -errno; either way the list holds what was opened. */
static int open_placeholders(unsigned count)
{
	low.source = low_fds_open_null();
	if (low.source < 0)
		return low.source;
	while (low.spare < count) {
		const int fd = fcntl(low.source, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

		if (fd < 0)
			return -errno;
		low.list[low.spare++] = fd;
		low.end = fd >= low.end ? fd + 1 : low.end;
	}
	low.ours = calloc((size_t)low.end + 1, sizeof(*low.ours));
	return low.ours != NULL ? 0 : -ENOMEM;
}

int low_fds_hold(unsigned count)
{
	int err;

	check(low.end == 0);
	low.list = calloc((size_t)count + 1, sizeof(*low.list));
	err = low.list != NULL ? open_placeholders(count) : -ENOMEM;
	if (err) {
		low_fds_free();
		return err;
	}
	for (unsigned i = 0; i < count; i++)
		low.ours[low.list[i]] = true;
	return low.end;
}

void low_fds_free(void)
{
	close_spare();
	if (low.source >= 0)
		sys_close(low.source);
	free(low.list);
	free(low.ours);
	low.list = NULL;
	low.ours = NULL;
	low.source = -1;
	low.end = 0;
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

	if (fd < low.end || low.end == 0)
		return fd;
	if (low.spare == 0) {
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
	if (put_under(low.source, fd) == 0) {
		low.list[low.spare++] = fd;
		return;
	}
	/* Cannot happen between two open numbers; losing one placeholder is better than a leak. */
	low.ours[fd] = false;
	sys_close(fd);
}
