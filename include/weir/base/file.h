/* SPDX-License-Identifier: MIT
 *
 * file.h - files at names that strangers may own: opened, locked and changed without being led elsewhere.
 *
 * Whoever may write to a folder can put a link in the place of any name there, at any moment. So a name is
 * looked up once, without following a link, and all else is done to the descriptor. The folders above the
 * last one are trusted: links in them are followed, so nobody but root may be able to swap those. Any thread.
 */
#ifndef WEIR_BASE_FILE_H
#define WEIR_BASE_FILE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* The folder of `path` as a descriptor (O_PATH), and in `*name` the last part of `path`, which it borrows.
 * The caller closes it. Or -errno. */
int file_open_folder(const char *path, const char **name);
/* Is `name` in `folder` the file of `st`, and no link to it? */
bool file_is_at(const struct stat *st, int folder, const char *name);

/* Opens `path` with `flags` (O_CREAT, O_CLOEXEC and O_NOCTTY are added), and makes it with `mode` where it is
 * missing: `*made`. Root follows no link in a folder that somebody else may write to (-ELOOP), and takes no
 * file there that has a second name (-EMLINK). The descriptor or -errno. */
int file_open(const char *path, int flags, mode_t mode, bool *made);

/* Locks the empty file `name` in `folder`, mode 600, which is made where it is missing. The lock is the
 * process's and ends with it, or when any descriptor of that file is closed here (F_SETLK, fcntl(2)): the
 * kernel alone says who has it, and the file is never written to. The descriptor, or -errno:
 * -EAGAIN another process has the lock, or has just given it back: `*holder` is its number, 0 when unknown;
 * -EACCES the file is somebody else's; -EPERM there is none, and we may make none in this folder;
 * -EEXIST it is no plain file, or one that has another name too. */
int file_lock(int folder, const char *name, pid_t *holder);
/* Ends that lock and takes the file away, if it is still the one at `name`. Closes `fd`. */
void file_unlock(int fd, int folder, const char *name);

/* A descriptor (O_PATH) for the file that bind(2) of the Unix socket `fd` has made, as `name` in `folder`.
 * The kernel names it to whoever has CAP_NET_ADMIN. For others the name is looked up, and -ESTALE says that
 * something else than a socket of this user is there. The caller closes it. Or another -errno. */
int file_of_socket(int fd, int folder, const char *name);
/* chmod(2) for a descriptor, also one of O_PATH. 0 or -errno. */
int file_set_mode(int fd, mode_t mode);
/* close(2). */
void file_close(int fd);

#endif
