/* SPDX-License-Identifier: MIT
 *
 * takeover.c - an endpoint takes over the socket of another one, with whoever is queued there.
 *
 * Both have a descriptor of the one socket until workers have left the old endpoint. A worker leaves it
 * without a last accept, and only then begins at the new one: then it finds who is queued. Control thread.
 */
#include <errno.h>
#include <stdlib.h>

#include "weir/base/check.h"
#include "weir/sys/sys.h"
#include "parts.h"

int endpoint_take(struct endpoint *ep, struct endpoint *from, struct entry_error *error)
{
	int fd, err;

	(void)error;
	if (!endpoint_has_socket(from))
		return -EBADF;
	check(from->heir == NULL && !from->claimed);
	err = endpoint_plan_options(&ep->options, from, endpoint_settings(ep)->front->config, ep->config,
				    &ep->refused);
	if (err)
		return err;
	fd = sys_dup(from->fd);
	if (fd < 0)
		return fd;
	err = endpoint_hear(from);
	if (err) {
		sys_close(fd);
		return err;
	}
	ep->fd = fd;
	ep->addr = from->addr;
	ep->inherited = from->inherited;
	ep->mptcp = from->mptcp;
	atomic_store(&ep->from, from);
	from->heir = ep;
	from->claimed = true;
	return 0;
}

void endpoint_commit_take(struct endpoint *ep)
{
	struct endpoint *from = atomic_load(&ep->from);

	if (from == NULL)
		return;
	check(from->claimed && from->heir == ep);
	from->claimed = false;
	ep->path = from->path; /* for the options */
	endpoint_set_options(ep, ep->options);
	ep->options = NULL;
	from->path = (struct sock_path){0};
	atomic_store(&ep->deaf, atomic_load(&from->deaf));
	endpoint_leave_now(from, ENDPOINT_GIVE);
}

void endpoint_forget_take(struct endpoint *ep)
{
	struct endpoint *from = atomic_load(&ep->from), *heir = ep->heir;

	free(ep->options);
	ep->options = NULL;
	/* Where it stood in a chain, the next one waits for the one before. */
	if (heir != NULL)
		atomic_store(&heir->from, from);
	if (from != NULL)
		from->heir = heir;
	if (from != NULL && from->claimed) {
		from->claimed = false;
		endpoint_stop_hearing(from);
		retire_want(&from->entries->live->retire); /* it was held by this alone, perhaps */
	}
	atomic_store(&ep->from, NULL);
	ep->heir = NULL;
}
