/* SPDX-License-Identifier: MIT
 *
 * capabilities.c - the capabilities of the calling thread, by capget(2) and capset(2).
 *
 * libc has no function for them. Decides nothing. Any thread.
 */
#include "capabilities.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From linux/capability.h, which some libc development packages lack. */
#define VERSION_3 0x20080522

struct head {
	uint32_t version;
	int pid; /* 0: the calling thread */
};

/* Two of them: capabilities 0 to 31, and 32 to 63. */
struct half {
	uint32_t effective;
	uint32_t permitted;
	uint32_t inheritable;
};

int capabilities_get(struct capabilities *c)
{
	struct head head = {.version = VERSION_3};
	struct half halves[2] = {{0}, {0}};

	if (syscall(SYS_capget, &head, halves) != 0)
		return -errno;
	c->effective = (uint64_t)halves[1].effective << 32 | halves[0].effective;
	c->permitted = (uint64_t)halves[1].permitted << 32 | halves[0].permitted;
	c->inheritable = (uint64_t)halves[1].inheritable << 32 | halves[0].inheritable;
	return 0;
}

int capabilities_set(const struct capabilities *c)
{
	struct head head = {.version = VERSION_3};
	const struct half halves[2] = {
		{(uint32_t)c->effective, (uint32_t)c->permitted, (uint32_t)c->inheritable},
		{(uint32_t)(c->effective >> 32), (uint32_t)(c->permitted >> 32),
		 (uint32_t)(c->inheritable >> 32)},
	};

	return syscall(SYS_capset, &head, halves) != 0 ? -errno : 0;
}
