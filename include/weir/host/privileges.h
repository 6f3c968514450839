/* SPDX-License-Identifier: MIT
 *
 * privileges.h - switching to another user, permanently, and the rights that the control thread keeps.
 *
 * Names are looked up before anything is bound, because the new user may not be able to read the files that
 * the lookup needs. The switch itself comes afterwards and cannot be undone. Main thread, before the workers
 * start: the switch applies to the whole process.
 *
 * A daemon that root started can still open addresses afterwards: its control thread keeps what a bind may
 * need, permitted but not effective (capabilities(7)). No other thread has it. A daemon started as the
 * user, with ambient capabilities (conf/weir.service), keeps what it has in all threads; nothing here changes
 * a capability or an owner then.
 */
#ifndef WEIR_HOST_PRIVILEGES_H
#define WEIR_HOST_PRIVILEGES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "weir/config/config.h"

struct privileges {
	bool change;
	bool group_given; /* `group` is configured; else it is the user's own */
	uid_t uid;
	gid_t gid;
	char login[LOGIN_NAME_MAX + 1]; /* user whose supplementary groups it gets; "" = `gid` alone */
	uint64_t wanted; /* capabilities to keep, one bit each */
	uint64_t kept;   /* those that privileges_drop() has kept */
	bool too_many;   /* it became the user, but could not give up the other capabilities */
};

/* Looks up `user` and `group`. A numeric user without a passwd entry is also the group ID, unless `group` is
 * set. 0, or -ENOENT with the unknown name in `*unknown`. */
int privileges_find(const struct config_global *g, struct privileges *p, const char **unknown);
/* Sets what the control thread is to keep for the binds of this configuration: CAP_NET_BIND_SERVICE, and
 * CAP_NET_ADMIN if a frontend has `mark` or `transparent`. */
void privileges_keep(struct privileges *p, const struct config *c);
/* Makes that user the owner of a listening socket of ours, while we are still root. Without this, the new
 * user could not bind an overlapping address while it is open, see net/sock_leave.h. Never for an inherited
 * socket: everybody who has it would see the change. 0 or -errno; 0 if there is nothing to do. */
int privileges_give(const struct privileges *p, int fd);
/* Becomes that user. As root without `user` and `group`, drops the groups inherited from whoever started it.
 * 0 or -errno; -EPERM if not permitted. Harmless if we are that user already. If this process may not keep
 * capabilities, it logs that and keeps none; if it cannot give up the others, that is an error, with
 * `p->too_many`. From now on, thread_start() starts threads without any. */
int privileges_drop(struct privileges *p);
/* Makes the kept capabilities effective for the calling thread; call before a bind(2) or an option of a new
 * listener, and privileges_lower_bind() right after it, whatever came of it. 0, or -errno with nothing
 * changed; 0 if none are kept. Control thread. */
int privileges_raise_bind(const struct privileges *p);
/* Ends that. A failure is logged. */
void privileges_lower_bind(const struct privileges *p);
/* Ensures that no program started from now on, by whatever means, gains more rights than we have
 * (PR_SET_NO_NEW_PRIVS, prctl(2)). It applies to the calling thread and the threads it creates, so call it
 * while there is only one. 0 or -errno. */
int privileges_renounce(void);
/* Would a daemon with this configuration, started by this user, still run as root although nobody asked for
 * it? `user = root` does ask for it. */
bool privileges_stay_root(const struct config_global *g);

#endif
