/* SPDX-License-Identifier: MIT
 *
 * capabilities.h - the capabilities of the calling thread (capabilities(7)).
 *
 * Each thread has its own; a new one gets those of its creator. Any thread.
 */
#ifndef WEIR_HOST_CAPABILITIES_H
#define WEIR_HOST_CAPABILITIES_H

#include <stdint.h>

/* From linux/capability.h, which some libc development packages lack. */
#define CAPABILITY_NET_BIND_SERVICE (UINT64_C(1) << 10)
#define CAPABILITY_NET_ADMIN	    (UINT64_C(1) << 12)

/* One bit per capability. */
struct capabilities {
	uint64_t effective;
	uint64_t permitted;
	uint64_t inheritable;
};

/* capget(2): 0 or -errno. */
int capabilities_get(struct capabilities *c);
/* capset(2): 0 or -errno; -EPERM for one that is not permitted now. */
int capabilities_set(const struct capabilities *c);

#endif
