/* SPDX-License-Identifier: MIT
 *
 * file.c - opens, locks and changes files in folders that others can write to, without being redirected.
 *
 * Owns nothing: descriptors are the caller's. Any thread.
 */
#include "weir/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* unix(7). <linux/un.h> defines it but clashes with <sys/un.h>. */
#define FILE_OF_UNIX_SOCKET (SIOCPROTOPRIVATE + 0)

/* Added in Linux 6.6 with the same number on every architecture; older headers lack it. */
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

int file_open_folder(const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX] = ".";
	int fd;

	*name = slash != NULL ? slash + 1 : path;
	if (slash != NULL &&
	    snprintf(folder, sizeof(folder), "%.*s", (int)(*name - path), path) >= (int)sizeof(folder))
		return -ENAMETOOLONG;
	fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

bool file_is_at(const struct stat *st, int folder, const char *name)
{
	struct stat found;

	return fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) == 0 && found.st_dev == st->st_dev &&
	       found.st_ino == st->st_ino;
}

/* ---- opening ---- */

/* Can anyone but root and us create a link in this folder? */
static bool is_open_to_others(int folder)
{
	struct stat st;

	if (fstat(folder, &st) != 0)
		return true;
	return (st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

/* Does the file have another name, perhaps in another folder? The name is compared as well, because a second
 * name may be removed while we look. */
static bool has_other_name(int fd, int folder, const char *name)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return true;
	return S_ISREG(st.st_mode) && (st.st_nlink != 1 || !file_is_at(&st, folder, name));
}

int file_open(const char *path, int flags, mode_t mode, bool *made)
{
	const char *name;
	int folder, fd;
	bool careful;

	*made = false;
	folder = file_open_folder(path, &name);
	if (folder < 0)
		return folder;
	careful = geteuid() == 0 && is_open_to_others(folder);
	flags |= O_CREAT | O_CLOEXEC | O_NOCTTY | (careful ? O_NOFOLLOW : 0);
	fd = openat(folder, name, flags | O_EXCL, mode);
	*made = fd >= 0;
	if (fd < 0 && errno == EEXIST)
		fd = openat(folder, name, flags, mode);
	if (fd < 0)
		fd = -errno;
	if (fd >= 0 && careful && !*made && has_other_name(fd, folder, name)) {
		(void)close(fd); /* nothing was written */
		fd = -EMLINK;
	}
	(void)close(folder); /* O_PATH */
	return fd;
}

/* ---- locking ---- */

static struct flock whole_file(void)
{
	return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
}

/* -EAGAIN with the holder; 0 if the file system has no locks, because then there is nothing to wait for. */
static int take_lock(int fd, pid_t *holder)
{
	struct flock lock = whole_file();

	if (fcntl(fd, F_SETLK, &lock) == 0 || errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS)
		return 0;
	if (errno != EAGAIN && errno != EACCES)
		return -errno;
	lock = whole_file();
	if (fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0)
		*holder = lock.l_pid;
	return -EAGAIN;
}

/* Follows no link, never blocks and writes nothing, so that if a stranger made the name a second name of one
 * of our files, opening it does no harm. */
static int open_lock(int folder, const char *name, bool *made)
{
	const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
	int fd = openat(folder, name, flags | O_CREAT | O_EXCL, 0600);

	*made = fd >= 0;
	if (fd >= 0)
		return fd;
	if (errno != EEXIST)
		return errno == EACCES ? -EPERM : -errno; /* an existing file would have been found */
	fd = openat(folder, name, flags);
	if (fd >= 0)
		return fd;
	if (errno == ENOENT)
		return -EAGAIN; /* it was removed between the two calls */
	return errno == ELOOP || errno == EISDIR || errno == ENXIO ? -EEXIST : -errno;
}

int file_lock(int folder, const char *name, pid_t *holder)
{
	bool made;
	const int fd = open_lock(folder, name, &made);
	struct stat st;
	pid_t other;
	int err = 0;

	*holder = 0;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) != 0)
		err = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_nlink > 1)
		err = -EEXIST;
	if (!err)
		err = take_lock(fd, holder);
	/* The previous holder may have removed the file before we got the lock; then others lock a different
	 * file. */
	if (!err && !file_is_at(&st, folder, name))
		err = -EAGAIN;
	if (!err)
		return fd;
	if (made && take_lock(fd, &other) == 0)
		file_unlock(fd, folder, name); /* so that no file of ours stays behind */
	else
		(void)close(fd); /* nothing was written */
	return err;
}

void file_unlock(int fd, int folder, const char *name)
{
	struct stat st;

	/* While we hold the lock nobody else removes this file. If we may no longer write to the folder, an
	 * empty file stays behind, which is harmless. */
	if (folder >= 0 && fstat(fd, &st) == 0 && file_is_at(&st, folder, name))
		(void)unlinkat(folder, name, 0);
	(void)close(fd); /* nothing was written */
}

/* ---- sockets ---- */

int file_of_socket(int fd, int folder, const char *name)
{
	struct stat st;
	int file = ioctl(fd, FILE_OF_UNIX_SOCKET);

	if (file >= 0)
		return file;
	file = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0)
		return -errno;
	if (fstat(file, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1)
		return file;
	(void)close(file); /* O_PATH */
	return -ESTALE;
}

int file_set_mode(int fd, mode_t mode)
{
	char self[64];

	/* An older kernel, or a seccomp filter without this call, refuses it; the error varies. */
	if (syscall(SYS_fchmodat2, fd, "", mode, AT_EMPTY_PATH) == 0)
		return 0;
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd); /* fits */
	return chmod(self, mode) == 0 ? 0 : -errno;
}

void file_close(int fd)
{
	(void)close(fd); /* no written data depends on it */
}
