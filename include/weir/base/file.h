/* SPDX-License-Identifier: MIT
 *
 * file.h - open, lock and change files in folders that others can write to, without being redirected.
 *
 * Anyone who can write to a folder can replace any name in it with a link, at any moment. So a name is looked
 * up once, without following a link, and everything else acts on the descriptor. The folders above the last
 * one are trusted: links in them are followed, so only root may be able to change those folders. Any thread.
 */
#ifndef WEIR_BASE_FILE_H
#define WEIR_BASE_FILE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Returns a descriptor (O_PATH) of the folder of `path`, which the caller closes, or -errno. `*name` is the
 * last component of `path` and points into it. */
int file_open_folder(const char *path, const char **name);
/* Is `name` in `folder` the file of `st` itself, not a link to it? */
bool file_is_at(const struct stat *st, int folder, const char *name);

/* Opens `path` with `flags` (O_CREAT, O_CLOEXEC and O_NOCTTY are added), and creates it with `mode` if it is
 * missing, which sets `*made`. In a folder that others can write to, root follows no link (-ELOOP) and
 * accepts no file that has a second name (-EMLINK). Returns the descriptor or -errno. */
int file_open(const char *path, int flags, mode_t mode, bool *made);

/* Locks the empty file `name` in `folder`, mode 600, and creates it if it is missing. The lock belongs to the
 * process and ends with it, or when the process closes any descriptor of that file (F_SETLK, fcntl(2)). Only
 * the kernel knows the holder; the file is never written to. Returns the descriptor, or -errno: -EAGAIN:
 * another process holds the lock, or has just released it; `*holder` is its process ID, 0 if unknown;
 * -EACCES: the file belongs to another user; -EPERM: there is no such file, and we may not create one in this
 * folder; -EEXIST: it is not a regular file, or it has a second name. */
int file_lock(int folder, const char *name, pid_t *holder);
/* Releases that lock and removes the file if it is still the one at `name`. Closes `fd`. */
void file_unlock(int fd, int folder, const char *name);

/* Returns a descriptor (O_PATH) of the file that bind(2) of the Unix socket `fd` created as `name` in
 * `folder`; the caller closes it. With CAP_NET_ADMIN the kernel identifies the file. Without it the name is
 * looked up, and -ESTALE means that something other than a socket of this user is there. Otherwise another
 * -errno. */
int file_of_socket(int fd, int folder, const char *name);
/* chmod(2) on a descriptor, which may be O_PATH. 0 or -errno. */
int file_set_mode(int fd, mode_t mode);
/* close(2). */
void file_close(int fd);

#endif
