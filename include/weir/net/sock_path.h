/* SPDX-License-Identifier: MIT
 *
 * sock_path.h - the path of a listening Unix socket: claiming it, its mode and owner, releasing it.
 *
 * While a socket at PATH listens, the file PATH.lock is locked. So only one of two daemons that start at once
 * takes the path, and a daemon that ends does not remove the path of another one. Abstract names and
 * inherited sockets need none of this. Any thread, one at a time.
 */
#ifndef WEIR_NET_SOCK_PATH_H
#define WEIR_NET_SOCK_PATH_H

#include <stdbool.h>
#include <sys/types.h>

#include "weir/net/sock.h"

/* Zeroed: nothing is held. */
struct sock_path {
	bool locked;  /* `lock_fd` is ours */
	bool bound;   /* the path is ours: device and inode distinguish it from a later one */
	int lock_fd;  /* owns while `locked` */
	dev_t dev;
	ino_t ino;
	pid_t holder; /* the process that has the address, after -EADDRINUSE; 0 = unknown */
};

/* Locks the path `a` and removes a socket on which nobody listens. Waits at most half a second for a process
 * that holds the lock and is about to listen or to end, and at most as long again for the socket of a killed
 * process. 0 or -errno: -EADDRINUSE with `p->holder`; -EEXIST: the lock file is not a regular file, or has a
 * second name. Call before bind(2). */
int sock_path_claim(struct sock_path *p, const struct addr *a);
/* Sets the mode and owner of `opt` on the path that bind(2) of `fd` created. No other file is changed,
 * whatever is at that name by now. 0 or -errno; -ESTALE: the name now refers to something else. */
int sock_path_own(struct sock_path *p, int fd, const struct addr *a, const struct sock_listen *opt);
/* Sets the mode and owner of `opt` on the path later, while its socket is open. No other file is changed. 0
 * or -errno; -ESTALE: the name now refers to something else. */
int sock_path_own_again(const struct sock_path *p, const struct addr *a, const struct sock_listen *opt);
/* Could sock_path_own_again() do that now? Changes nothing. 0 or -errno. */
int sock_path_try_own(const struct sock_path *p, const struct addr *a, const struct sock_listen *opt);
/* Where the path of a socket has what `now` asks for, and is to have what `next` asks for: turns mode and
 * owner in `next` into those to set. What is not asked for any more becomes as a new path would have it.
 * False if they are those of `now`. */
bool sock_path_plan_owner(const struct sock_listen *now, struct sock_listen *next);
/* The mode that bind(2) gives a path by the umask of this process; -1 = unknown. */
int sock_path_mode(void);
/* Removes the path and its lock file, each if it is still ours, and releases the lock. Call while the socket
 * is open: that keeps its inode from being reused for another file. Harmless when nothing is held. */
void sock_path_release(struct sock_path *p, const struct addr *a);

/* Reports what is in the way of a listener at the Unix address `a`: 0 = nothing (an abstract name has no
 * file), 1 = a socket on which nobody listens, -EADDRINUSE = anything else, with the listening process in
 * `*holder` (0 = unknown, or not a socket), or another -errno. Removes nothing; makes one connect, which a
 * listener sees as a short session. */
int sock_path_look(const struct addr *a, pid_t *holder);

#endif
