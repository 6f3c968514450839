/* SPDX-License-Identifier: MIT
 *
 * hosts_file.h - which names hosts(5) has, so that they are left to the system's resolver.
 *
 * Keeps hashes of the names, and reads the file again when it has changed: a file of this machine, which is
 * quick. Control thread.
 */
#ifndef WEIR_NAMES_HOSTS_FILE_H
#define WEIR_NAMES_HOSTS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resolv_conf.h"

#define HOSTS_FILE_PATH "/etc/hosts"

/* A zeroed struct has read nothing. */
struct hosts_file {
	struct file_seen seen;
	uint64_t *names; /* owns; sorted */
	size_t count;
};

void hosts_file_free(struct hosts_file *h);
/* Does the file at `path` have this name? Upper and lower case are the same. Without memory: no. */
bool hosts_file_has(struct hosts_file *h, const char *path, const char *name);

#endif
