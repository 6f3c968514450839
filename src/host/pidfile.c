/* SPDX-License-Identifier: MIT
 *
 * pidfile.c - a file with the process ID, for those who want to signal the process.
 *
 * Written under a temporary name and then renamed, so that nobody reads a partial number. Main thread.
 */
#include "weir/host/pidfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_number(struct pidfile *p, const char *path)
{
	struct stat st;
	char text[32];
	const int len = snprintf(text, sizeof(text), "%d\n", (int)getpid());
	const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	int err = 0;

	if (fd < 0)
		return -errno;
	/* The inherited umask should not decide who may read this. */
	if (fchmod(fd, 0644) != 0)
		err = -errno;
	if (!err && fstat(fd, &st) != 0)
		err = -errno;
	if (!err && write(fd, text, (size_t)len) != len)
		err = errno != 0 ? -errno : -ENOSPC;
	if (close(fd) != 0 && !err)
		err = -errno;
	if (err) {
		(void)unlink(path); /* we created it just now */
		return err;
	}
	p->dev = st.st_dev;
	p->ino = st.st_ino;
	return 0;
}

/* Is the file at the path still ours? A successor replaces it by a rename. */
static bool is_ours(const struct pidfile *p)
{
	struct stat st;

	return lstat(p->path, &st) == 0 && st.st_dev == p->dev && st.st_ino == p->ino &&
	       pidfile_read(p->path) == (int)getpid();
}

int pidfile_write(struct pidfile *p, const char *path)
{
	char fresh[PATH_MAX];
	struct stat st;
	int err;

	p->path = path;
	p->written = false;
	/* A device or folder in the place of the file is a mistake on the command line; root must not replace
	 * it. */
	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return -EEXIST;
	if (snprintf(fresh, sizeof(fresh), "%s.%d", path, (int)getpid()) >= (int)sizeof(fresh))
		return -ENAMETOOLONG;
	(void)unlink(fresh); /* left by a killed process with the same ID */
	errno = 0;
	err = write_number(p, fresh);
	if (err)
		return err;
	if (rename(fresh, path) != 0) {
		err = -errno;
		(void)unlink(fresh); /* we created it just now */
		return err;
	}
	p->written = true;
	return 0;
}

int pidfile_read(const char *path)
{
	char text[32];
	char *end;
	long number;
	/* Does not wait if the path is a FIFO. */
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	ssize_t len;

	if (fd < 0)
		return -errno;
	len = read(fd, text, sizeof(text) - 1);
	(void)close(fd); /* only read */
	text[len > 0 ? len : 0] = '\0';
	number = strtol(text, &end, 10);
	if (end == text || (*end != '\0' && *end != '\n') || number <= 0 || number > INT_MAX)
		return -EINVAL;
	return (int)number;
}

void pidfile_remove(struct pidfile *p)
{
	/* Without privileges we may be unable to write to the folder; then the next start replaces the
	 * file. */
	if (p->written && is_ours(p))
		(void)unlink(p->path);
	p->written = false;
}
