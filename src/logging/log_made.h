/* SPDX-License-Identifier: MIT
 *
 * log_made.h - a file that was created for a target, and goes if the target is given up. Any thread.
 */
#ifndef WEIR_LOGGING_LOG_MADE_H
#define WEIR_LOGGING_LOG_MADE_H

#include <stdbool.h>
#include <sys/types.h>

struct log_made {
	bool is_known; /* `dev` and `ino` tell which file it is */
	dev_t dev;
	ino_t ino;
};

/* `fd` is the file that was just created. */
void log_made_note(struct log_made *m, int fd);
/* Removes the file at `path` if it is this one, and empty. */
void log_made_remove(const struct log_made *m, const char *path);

#endif
