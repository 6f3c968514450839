/* SPDX-License-Identifier: MIT
 *
 * privileges.h - becoming another user, for good.
 *
 * Names are looked up before anything is bound (the lookup may read files that the new user may
 * not), the change is made after. There is no way back. Main thread, before the workers start:
 * the change is the whole process's.
 */
#ifndef WEIR_HOST_PRIVILEGES_H
#define WEIR_HOST_PRIVILEGES_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "weir/config/config.h"

struct privileges {
	bool change;
	bool group_given; /* `group` stands in the file; else it is the user's own */
	uid_t uid;
	gid_t gid;
	char login[LOGIN_NAME_MAX + 1]; /* whose groups it gets; "" = `gid` alone */
};

/* Looks `user` and `group` up. A number without an entry is the group's number too, unless `group` says
 * otherwise. 0, or -ENOENT with `*unknown` the name that nobody has. */
int privileges_find(const struct config_global *g, struct privileges *p, const char **unknown);
/* Becomes that user; root without `user` and `group` gives up the groups of whoever started it. 0 or -errno;
 * -EPERM when we are not allowed to. Harmless when we are that user already. */
int privileges_drop(const struct privileges *p);
/* No program that is started from here on, by whatever way, has more rights than we have
 * (PR_SET_NO_NEW_PRIVS, prctl(2)). It is the calling thread's and of those that it makes: before there is
 * another one. 0 or -errno. */
int privileges_renounce(void);
/* Will a daemon with this configuration, started by this user, still be root though nobody has said so?
 * `user = root` says so. */
bool privileges_stay_root(const struct config_global *g);

#endif
