/* SPDX-License-Identifier: MIT
 *
 * log_made.c - a file that was created for a target, and goes if the target is given up.
 *
 * Never removes a file that somebody else has put there or written to, except in the moment between its two
 * system calls. Any thread.
 */
#include "log_made.h"

#include <sys/stat.h>
#include <unistd.h>

void log_made_note(struct log_made *m, int fd)
{
	struct stat st;

	*m = (struct log_made){.is_known = fstat(fd, &st) == 0};
	if (!m->is_known)
		return;
	m->dev = st.st_dev;
	m->ino = st.st_ino;
}

void log_made_remove(const struct log_made *m, const char *path)
{
	struct stat st;

	if (!m->is_known || lstat(path, &st) != 0)
		return;
	if (S_ISREG(st.st_mode) && st.st_dev == m->dev && st.st_ino == m->ino && st.st_size == 0)
		(void)unlink(path); /* an empty file that stays does no harm */
}
