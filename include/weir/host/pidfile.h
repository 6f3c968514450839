/* SPDX-License-Identifier: MIT
 *
 * pidfile.h - a file with the process ID, for those who want to signal the process.
 *
 * Main thread.
 */
#ifndef WEIR_HOST_PIDFILE_H
#define WEIR_HOST_PIDFILE_H

#include <stdbool.h>
#include <sys/types.h>

struct pidfile {
	const char *path; /* borrows */
	bool written;
	dev_t dev; /* of the file we wrote: a successor's is a different file */
	ino_t ino;
};

/* Writes this process's ID to `path`, mode 644, atomically, and replaces what was there. -EEXIST if the path
 * is something other than a regular file or a symbolic link. 0 or -errno. */
int pidfile_write(struct pidfile *p, const char *path);
/* Removes it if it is still the file we wrote, with our process ID in it. */
void pidfile_remove(struct pidfile *p);
/* Returns the process ID in the file, or -errno; -EINVAL if it has none. */
int pidfile_read(const char *path);

#endif
