/* SPDX-License-Identifier: MIT
 *
 * cgroup.h - how much memory the control groups of this process allow, and how much of it is in use.
 *
 * Reads both versions of control groups, wherever they are mounted: the group of the process and all its
 * visible ancestors, as each of them limits everything below it. What cannot be read counts as no limit. Main
 * thread.
 */
#ifndef WEIR_HOST_CGROUP_H
#define WEIR_HOST_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#define CGROUP_PATH_MAX	  512
#define CGROUP_LEVELS_MAX 16u
#define CGROUP_NO_LIMIT	  UINT64_MAX

/* A group with a limit. */
struct cgroup_level {
	uint64_t limit_bytes;
	bool v2;
	char folder[CGROUP_PATH_MAX];
	const char *file; /* static: the file in that folder that has the limit */
};

/* The groups that limit this process; within each version, the innermost first. */
struct cgroup_memory {
	struct cgroup_level levels[CGROUP_LEVELS_MAX];
	unsigned count;
};

/* Reads the current limits. `root` is "", or in tests a folder used as "/"; borrowed for the call. */
void cgroup_memory_read(struct cgroup_memory *m, const char *root);
/* The level with the smallest limit; NULL if there is none. Valid as long as `m`. */
const struct cgroup_level *cgroup_memory_smallest(const struct cgroup_memory *m);
/* Bytes in use in a group, except file pages, which the kernel can drop at once. False if unknown. */
bool cgroup_memory_used(const struct cgroup_level *level, uint64_t *used);

#endif
