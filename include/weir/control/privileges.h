/* SPDX-License-Identifier: MIT
 *
 * privileges.h - becoming another user, for good.
 *
 * Names are looked up before anything is bound (the lookup may read files that the new user may
 * not), the change is made after. There is no way back. Main thread, before the workers start:
 * the change is the whole process's. Floor 5.
 */
#ifndef WEIR_CONTROL_PRIVILEGES_H
#define WEIR_CONTROL_PRIVILEGES_H

#include <stdbool.h>
#include <sys/types.h>

#include "weir/config/config.h"

struct privileges {
	bool change;
	bool group_given; /* `group` stands in the file; else it is the user's own */
	uid_t uid;
	gid_t gid;
	const char *user; /* borrows from the configuration; NULL = only the group changes */
};

/* Looks `user` and `group` up. 0, or -ENOENT with `*unknown` the name that nobody has. */
int privileges_find(const struct config_global *g, struct privileges *p, const char **unknown);
/* Becomes that user. 0 or -errno; -EPERM when we are not allowed to. Harmless when we are that user
 * already. */
int privileges_drop(const struct privileges *p);

#endif
