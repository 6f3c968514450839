/* SPDX-License-Identifier: MIT
 *
 * admin_reserve.c - descriptors in reserve, so that admin can accept when the process is out of them.
 *
 * Owns the reserve, but neither the listening sockets nor what it accepts. Main thread.
 */
#include "admin_reserve.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "weir/sys/low_fds.h"
#include "weir/sys/sys.h"

/* False if there was nothing to give up. */
static bool release(struct admin_reserve *r, int i)
{
	if (r->fds[i] < 0)
		return false;
	sys_close(r->fds[i]);
	r->fds[i] = -1;
	return true;
}

void admin_reserve_init(struct admin_reserve *r)
{
	for (int i = 0; i < ADMIN_RESERVE; i++)
		r->fds[i] = -1;
}

void admin_reserve_refill(struct admin_reserve *r)
{
	for (int i = 0; i < ADMIN_RESERVE; i++)
		if (r->fds[i] < 0)
			r->fds[i] = low_fds_open_null();
}

void admin_reserve_free(struct admin_reserve *r)
{
	for (int i = 0; i < ADMIN_RESERVE; i++)
		(void)release(r, i);
}

int admin_reserve_accept(struct admin_reserve *r, int fd)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);
	int client = sys_accept(fd, (struct sockaddr *)&peer, &len);

	for (int i = 0; i < ADMIN_RESERVE && (client == -EMFILE || client == -ENFILE); i++) {
		if (!release(r, i))
			continue;
		len = sizeof(peer);
		client = sys_accept(fd, (struct sockaddr *)&peer, &len);
	}
	/* A worker may have been faster; the client waits in the backlog and we retry later. */
	if (client < 0)
		admin_reserve_refill(r);
	return low_fds_take(client);
}
