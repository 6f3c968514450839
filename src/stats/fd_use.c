/* SPDX-License-Identifier: MIT
 *
 * fd_use.c - how many file descriptors this process has open, and how many it may have.
 *
 * Owns nothing. Any thread.
 */
#include "weir/stats/fd_use.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include "weir/engine/engine.h"

/* Both sockets of a session, or both ends of a pipe. */
#define FDS_EACH 2u

uint64_t fd_use_open(const struct engine *e)
{
	struct stat folder;

	/* Its size is their number since Linux 6.2, and 0 before. */
	if (stat("/proc/self/fd", &folder) == 0 && folder.st_size > 0)
		return (uint64_t)folder.st_size;
	return FDS_EACH *
	       (engine_sum(e, sessions) + atomic_load_explicit(&e->pipes.made, memory_order_relaxed));
}

uint64_t fd_use_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (uint64_t)limit.rlim_cur : 0;
}
