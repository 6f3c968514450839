/* SPDX-License-Identifier: MIT
 *
 * sock_path.h - the path of a listening Unix socket: whose it is, its mode and owner, and its end.
 *
 * For a socket at PATH the file PATH.lock is locked for as long as it listens, so that of two daemons that
 * start at once only one takes the path, and that one that ends removes nothing of another's. Abstract names
 * and inherited sockets need none of it. Any thread, one at a time.
 */
#ifndef WEIR_NET_SOCK_PATH_H
#define WEIR_NET_SOCK_PATH_H

#include <stdbool.h>
#include <sys/types.h>

#include "weir/net/sock.h"

/* Zeroed: nothing is held. */
struct sock_path {
	bool locked;  /* `lock_fd` is ours */
	bool bound;   /* the path is ours: device and inode tell it from a later one */
	int lock_fd;  /* owns while `locked` */
	dev_t dev;
	ino_t ino;
	pid_t holder; /* who has the address, after -EADDRINUSE; 0 = not known */
};

/* Locks the path `a` and removes a socket on which nobody listens. Waits half a second at most for a process
 * that has the lock and is about to listen, or to end, and as long again for the socket of one that was
 * killed. 0 or -errno: -EADDRINUSE with `p->holder`; -EEXIST:
 * the lock file is not a plain file of its own. Before bind(2). */
int sock_path_claim(struct sock_path *p, const struct addr *a);
/* Gives the path that bind(2) of `fd` has made the mode and the owner of `opt`: whatever lies at that name by
 * now, nothing else is changed. 0 or -errno; -ESTALE: the name stands for something else. */
int sock_path_own(struct sock_path *p, int fd, const struct addr *a, const struct sock_listen *opt);
/* Removes the path and its lock file, each if it is still ours, and gives the lock back. While the socket is
 * open: that keeps its inode from being given to another file. Harmless when nothing is held. */
void sock_path_release(struct sock_path *p, const struct addr *a);

/* What is in the way of a listener at the Unix address `a`: 0 = nothing (an abstract name has no file), 1 = a
 * socket on which nobody listens, -EADDRINUSE = anything else, with `*holder` who listens (0 = not known, or
 * no socket), or another -errno. Removes nothing; asks by one connect, which a listener sees as a short
 * session. */
int sock_path_look(const struct addr *a, pid_t *holder);

#endif
