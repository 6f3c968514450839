/* SPDX-License-Identifier: MIT
 *
 * pidfile.h - a file with the process's number in it, for those who want to signal it.
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
	dev_t dev; /* of what was written: tells it from a later one */
	ino_t ino;
};

/* Writes this process's number to `path`, mode 644, whole or not at all; what lay there is replaced.
 * A path that is neither a file nor free is -EEXIST. 0 or -errno. */
int pidfile_write(struct pidfile *p, const char *path);
/* Removes it, if it is still the file that was written, with our number in it. */
void pidfile_remove(struct pidfile *p);
/* The number in the file, or -errno; -EINVAL when there is none in it. */
int pidfile_read(const char *path);

#endif
