/* SPDX-License-Identifier: MIT
 *
 * admin_access.h - who may use the admin socket, and what they may do there.
 *
 * Root and the daemon's own user always may, with level admin. Others have the level of the line (`level=`):
 *   at an abstract name  whom allow-uid and allow-gid name, nobody when there is neither of them;
 *   at a path            whom the mode of the file lets connect, and of these only whom allow-uid and
 *                        allow-gid name when there is one of them.
 * A uid is what the kernel says of the peer in the user namespace of the daemon: whom that one does not know
 * is the overflow uid (65534), which is a stranger like any other. Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_ACCESS_H
#define WEIR_ADMIN_ADMIN_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "weir/admin/admin_commands.h"

struct admin_access {
	const struct config_global *config; /* borrows */
	uid_t own_uid;
};

/* Remembers `config` (borrowed for as long as the result is used) and the effective uid of this process, so
 * it is called after the privilege drop. */
void admin_access_init(struct admin_access *a, const struct config_global *config);
/* Asks the kernel who is at the other end of `fd`, and fills `peer`, also with its level. False: it must not
 * use the socket. */
bool admin_access_judge(const struct admin_access *a, int fd, struct admin_peer *peer);
/* The judgement itself: is `peer`, who is in `groups` besides its own one, allowed? */
bool admin_access_allows(const struct admin_access *a, const struct admin_peer *peer, const gid_t *groups,
			 size_t group_count);
/* What a refused peer is told: one line. */
void admin_access_refusal(const struct admin_access *a, const struct admin_peer *peer, struct text *out);

#endif
