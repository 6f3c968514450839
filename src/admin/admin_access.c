/* SPDX-License-Identifier: MIT
 *
 * admin_access.c - who may use the admin socket, and what they may do there.
 *
 * Owns the rule of admin_access.h; reads no byte from a peer. Main thread.
 */
#include "admin_access.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/sys/sys.h"

#define GROUPS_ON_STACK 64 /* enough for most users */

void admin_access_init(struct admin_access *a, const struct config_global *config)
{
	a->config = config;
	a->own_uid = geteuid();
}

static bool has_id(const struct config_ids *ids, uint32_t id)
{
	for (size_t i = 0; i < ids->count; i++)
		if (ids->list[i] == id)
			return true;
	return false;
}

bool admin_access_allows(const struct admin_access *a, const struct admin_peer *peer, const gid_t *groups,
			 size_t group_count)
{
	const struct config_global *g = a->config;
	bool is_abstract;

	if (g == NULL || peer->trusted)
		return peer->trusted;
	check(g->admin.kind == ADDR_UNIX);
	is_abstract = g->admin.addr.un.sun_path[0] == '\0';
	if (g->admin_uids.count == 0 && g->admin_gids.count == 0)
		return !is_abstract;
	if (peer->uid == (uid_t)-1)
		return false;
	if (has_id(&g->admin_uids, peer->uid) || has_id(&g->admin_gids, peer->gid))
		return true;
	for (size_t i = 0; i < group_count; i++)
		if (has_id(&g->admin_gids, groups[i]))
			return true;
	return false;
}

/* SO_PEERGROUPS (Linux 4.13) reports the room it needs with ERANGE. Without it, or without memory, only the
 * peer's own group counts. */
static bool judge_groups(const struct admin_access *a, int fd, const struct admin_peer *peer)
{
	gid_t few[GROUPS_ON_STACK];
	socklen_t len = sizeof(few);
	gid_t *many = NULL;
	bool allowed;
	int err = sys_getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, few, &len);

	if (err == -ERANGE) {
		many = malloc(len);
		err = many != NULL ? sys_getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, many, &len) : -ENOMEM;
	}
	allowed = admin_access_allows(a, peer, many != NULL ? many : few, err == 0 ? len / sizeof(*few) : 0);
	free(many);
	return allowed;
}

bool admin_access_judge(const struct admin_access *a, int fd, struct admin_peer *peer)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	*peer = (struct admin_peer){.uid = (uid_t)-1, .gid = (gid_t)-1};
	if (sys_getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0) {
		peer->uid = cred.uid;
		peer->gid = cred.gid;
		peer->pid = cred.pid;
		peer->trusted = cred.uid == 0 || cred.uid == a->own_uid;
	}
	if (peer->trusted)
		peer->level = CONFIG_ADMIN_ADMIN;
	else if (a->config != NULL)
		peer->level = a->config->admin_level;
	if (peer->trusted || a->config == NULL || a->config->admin_gids.count == 0)
		return admin_access_allows(a, peer, NULL, 0);
	return judge_groups(a, fd, peer);
}

void admin_access_refusal(const struct admin_access *a, const struct admin_peer *peer, struct text *out)
{
	text_printf(out, "error: permission denied: uid %u may not use this socket; %sconnect as root",
		    (unsigned)peer->uid,
		    a->config != NULL ? "add it to allow-uid= or one of its groups to allow-gid= of "
					"'admin-socket' in [global], or "
				      : "");
	if (a->own_uid != 0)
		text_printf(out, " or uid %u", (unsigned)a->own_uid);
	text_add(out, "\n", 1);
}
