/* SPDX-License-Identifier: MIT
 *
 * time_slice.c - by sched_setattr(2), which glibc declares only since 2.41.
 */
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "weir/host/time_slice.h"

/* struct sched_attr of linux/sched/types.h, its first version. */
struct sched_request {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime;
	uint64_t deadline;
	uint64_t period;
};

int time_slice_ask(uint64_t ns)
{
	struct sched_request request = {.size = sizeof(request)};

	if (syscall(SYS_sched_getattr, 0, &request, sizeof(request), 0) < 0)
		return -errno;
	if (request.policy != SCHED_OTHER && request.policy != SCHED_BATCH)
		return -EOPNOTSUPP;
	request.runtime = ns;
	return syscall(SYS_sched_setattr, 0, &request, 0) < 0 ? -errno : 0;
}
