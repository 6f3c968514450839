/* SPDX-License-Identifier: MIT
 *
 * cgroup.h - how much memory the control groups of this process allow, and how much of it is used.
 *
 * Both versions of control groups, where they are mounted: the group of the process and all above it that can
 * be seen, as each of them limits what is below. What cannot be read is no limit. Main thread.
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
	const char *file; /* static: the file there that has the limit */
};

/* The groups that limit this process, the innermost first of each version. */
struct cgroup_memory {
	struct cgroup_level levels[CGROUP_LEVELS_MAX];
	unsigned count;
};

/* Reads the limits of now. `root` is "", or for tests a folder that stands for "/"; borrowed for the call. */
void cgroup_memory_read(struct cgroup_memory *m, const char *root);
/* The level with the smallest limit; NULL when there is none. Lent as long as `m`. */
const struct cgroup_level *cgroup_memory_smallest(const struct cgroup_memory *m);
/* Bytes in use in a group, without what the kernel can drop at once: pages of files. False: nobody knows. */
bool cgroup_memory_used(const struct cgroup_level *level, uint64_t *used);

#endif
