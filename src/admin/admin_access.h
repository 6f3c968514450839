/* SPDX-License-Identifier: MIT
 *
 * admin_access.h - who may use the admin socket, and what they may do there.
 *
 * Root and the daemon's own user always may, with level admin. Others get the level of the 'admin-socket'
 * line (`level=`) if they are admitted:
 *   abstract name  those in allow-uid and allow-gid; nobody if neither is set;
 *   path           those who may connect by the file mode; with allow-uid or allow-gid, only the listed
 *                  ones among them.
 * At the private control socket, which has no such line, nobody else is admitted.
 * A uid is as the kernel reports it in the user namespace of the daemon. Users unknown there have the
 * overflow uid (65534), which gets no special treatment. Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_ACCESS_H
#define WEIR_ADMIN_ADMIN_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "weir/admin/admin_commands.h"

struct admin_access {
	const struct config_global *config; /* borrows; NULL = the private control socket */
	uid_t own_uid;
};

/* Stores `config` (borrowed for as long as the result is used) and the effective uid of this process, so call
 * it after privileges are dropped. */
void admin_access_init(struct admin_access *a, const struct config_global *config);
/* Asks the kernel who is at the other end of `fd`, and fills in `peer`, including its level. False if it must
 * not use the socket. */
bool admin_access_judge(const struct admin_access *a, int fd, struct admin_peer *peer);
/* The rule itself: is `peer`, with the supplementary groups `groups`, allowed? */
bool admin_access_allows(const struct admin_access *a, const struct admin_peer *peer, const gid_t *groups,
			 size_t group_count);
/* Formats the one line that a refused peer receives. */
void admin_access_refusal(const struct admin_access *a, const struct admin_peer *peer, struct text *out);

#endif
