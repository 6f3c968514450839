/* SPDX-License-Identifier: MIT
 *
 * privileges.h - switching to another user, permanently.
 *
 * Names are looked up before anything is bound, because the new user may not be able to read the files that
 * the lookup needs. The switch itself comes afterwards and cannot be undone. Main thread, before the workers
 * start: the switch applies to the whole process.
 */
#ifndef WEIR_HOST_PRIVILEGES_H
#define WEIR_HOST_PRIVILEGES_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "weir/config/config.h"

struct privileges {
	bool change;
	bool group_given; /* `group` is configured; else it is the user's own */
	uid_t uid;
	gid_t gid;
	char login[LOGIN_NAME_MAX + 1]; /* user whose supplementary groups it gets; "" = `gid` alone */
};

/* Looks up `user` and `group`. A numeric user without a passwd entry is also the group ID, unless `group` is
 * set. 0, or -ENOENT with the unknown name in `*unknown`. */
int privileges_find(const struct config_global *g, struct privileges *p, const char **unknown);
/* Becomes that user. As root without `user` and `group`, drops the groups inherited from whoever started it.
 * 0 or -errno; -EPERM if not permitted. Harmless if we are that user already. */
int privileges_drop(const struct privileges *p);
/* Ensures that no program started from now on, by whatever means, gains more rights than we have
 * (PR_SET_NO_NEW_PRIVS, prctl(2)). It applies to the calling thread and the threads it creates, so call it
 * while there is only one. 0 or -errno. */
int privileges_renounce(void);
/* Would a daemon with this configuration, started by this user, still run as root although nobody asked for
 * it? `user = root` does ask for it. */
bool privileges_stay_root(const struct config_global *g);

#endif
