/* SPDX-License-Identifier: MIT
 *
 * sock.h - sockets and their options: listeners as configured, and connecting sockets.
 *
 * What accept(2) lets a connection inherit is set on the listener, once, so that an accepted TCP
 * socket costs no setsockopt(2). Any thread. Floor 1.
 */
#ifndef SLUICE_IO_SOCK_H
#define SLUICE_IO_SOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sluice/io/addr.h"

/* Options of a TCP connection; 0 and false leave the kernel's. */
struct sock_tcp {
	bool nodelay;
	bool keepalive;
	int keepalive_idle_s;
	int keepalive_interval_s;
	int keepalive_count;
	int user_timeout_ms;
	bool lazy_ack; /* of a connecting socket: the ACK that ends the handshake waits for the first bytes
			* and goes with them; where there are none yet, sock_ack_now() */
};

struct sock_listen {
	int backlog;       /* 0 = 4096 */
	bool v6only;       /* else [::] takes IPv4 too */
	int defer_accept_s; /* TCP_DEFER_ACCEPT, 0 = off */
	int mode;          /* of a Unix path; -1 = by umask */
	uid_t uid;         /* (uid_t)-1 = keep */
	gid_t gid;
	struct sock_tcp tcp;
};

/* Makes a listening socket at `a`; port 0 lets the kernel choose, and `*a` is updated. A Unix path
 * where a socket lies on which nobody listens is removed first; anything else in the way is
 * -EADDRINUSE. The mode and owner are right before the first connect can succeed. Returns the
 * descriptor or -errno. */
int sock_listen(struct addr *a, const struct sock_listen *opt);

/* What is in the way of a listener at the Unix address `a`: 0 = nothing (an abstract name has no file), 1 = a
 * socket on which nobody listens, -EADDRINUSE = anything else, or another -errno. Removes nothing; asks
 * by one connect, which a listener sees as a short session. Any thread. */
int sock_find_stale(const struct addr *a);

/* Makes an inherited listening socket as much like our own as it can be: the options that accepted
 * connections inherit, and the backlog unless `opt->backlog` is 0. `v6only`, mode and owner are its
 * maker's. Its address goes to `*a`. The descriptor stays the caller's. 0 or -errno. */
int sock_adopt(int fd, struct addr *a, const struct sock_listen *opt);

/* Makes a socket for a connect to `to`: nonblocking, SO_OOBINLINE (no urgent byte is dropped), the
 * options of `tcp` but TCP_NODELAY, which sock_nodelay() sets when it begins to matter, and bound to
 * `source` unless its len is 0. Returns the descriptor or -errno. */
int sock_open(const struct addr *to, const struct addr *source, const struct sock_tcp *tcp);

/* Sends an ACK that is still waiting. The kernel would do it after up to 200 ms (tcp(7), TCP_QUICKACK), and
 * till then the server does not know that it is connected. Worker thread. */
void sock_ack_now(int fd);
/* TCP_NODELAY. A failure costs latency, never a byte, and is ignored. */
void sock_nodelay(int fd);

/* Unix accept(2) inherits no SO_OOBINLINE: without it the urgent byte is lost. */
void sock_accepted_unix(int fd);

#endif
