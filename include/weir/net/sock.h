/* SPDX-License-Identifier: MIT
 *
 * sock.h - sockets and their options: listeners as configured, and connecting sockets.
 *
 * What accept(2) lets a connection inherit is set on the listener, once, so that an accepted TCP
 * socket costs no setsockopt(2). Measured on Linux 6.18: a TCP listener hands down every option of
 * struct sock_tcp, SO_OOBINLINE too; an MPTCP listener refuses some and hands down fewer, which
 * sock_accepted_mptcp() makes good. Any thread.
 */
#ifndef WEIR_NET_SOCK_H
#define WEIR_NET_SOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "weir/net/addr.h"

/* Which option the kernel has refused. */
enum sock_option {
	SOCK_OPTION_NONE, /* it was no option: the address, a limit */
#define SOCK_OPTION(name, word, capability) SOCK_OPTION_##name,
#include "weir/net/sock_options.tbl.h"
	SOCK_OPTIONS
};

/* Where an option of a row is set. */
enum sock_where {
	SOCK_LISTENER = 1 << 0,
	SOCK_ACCEPTED = 1 << 1, /* of MPTCP; plain TCP inherits */
	SOCK_CONNECTED = 1 << 2,
	SOCK_MPTCP_LISTENER = SOCK_LISTENER | 1 << 3, /* what it refuses is asked again of what it accepts */
};

/* What keeps a value of the kinds of the table. */
#define SOCK_VALUE_int	int
#define SOCK_VALUE_ms	int
#define SOCK_VALUE_u32	uint32_t
#define SOCK_VALUE_u64	uint64_t
#define SOCK_VALUE_text const char * /* borrows */
#define SOCK_VALUE_dscp int

/* Options of a TCP connection; 0 and false leave the kernel's. */
struct sock_tcp {
	bool nodelay;
	bool keepalive;
	int keepalive_idle_s;
	int keepalive_interval_s;
	int keepalive_count;
#define SOCK_TCP_OPTION(which, word, capability, kind, member, ...) SOCK_VALUE_##kind member;
#include "weir/net/sock_options.tbl.h"
	bool transparent; /* of a connecting socket: the source need not be ours (IP_TRANSPARENT) */
	bool lazy_ack; /* of a connecting socket: the ACK that ends the handshake waits for the first bytes
			* and goes with them; where there are none yet, sock_ack_now() */
	enum sock_option *refused; /* where to say which option it was; NULL = nobody asks */
};

struct sock_path;

struct sock_listen {
	int backlog;       /* 0 = 4096 */
	bool v6only;       /* else [::] takes IPv4 too */
	int defer_accept_s; /* TCP_DEFER_ACCEPT, 0 = off */
	const char *interface; /* SO_BINDTODEVICE; borrows; NULL = any */
	bool freebind;     /* the address may come later */
	bool transparent;  /* takes connections to foreign addresses that routing brings here */
	bool tfo;          /* TCP_FASTOPEN */
	bool mptcp;        /* IPPROTO_MPTCP; plain TCP where the kernel has none */
	int mode;          /* of a Unix path; -1 = by umask */
	uid_t uid;         /* (uid_t)-1 = keep */
	gid_t gid;
	struct sock_path *path; /* borrows: what belongs to a Unix path; needed for one, see sock_path.h */
	struct sock_tcp tcp;
};

/* The option's word in the configuration, and the capability that an EPERM asks for ("" = none). */
const char *sock_option_word(enum sock_option option);
const char *sock_option_capability(enum sock_option option);

/* The value that a row of the table has in `tcp`, as the kernel was told it; NULL: there is none to show. May
 * use `buf`, in which any number has room. */
const char *sock_option_value(enum sock_option option, const struct sock_tcp *tcp, char *buf, size_t room);

/* Makes a listening socket at `a`; port 0 lets the kernel choose, and `*a` is updated. A Unix path is locked,
 * and a socket there on which nobody listens is removed first; anything else in the way is -EADDRINUSE with
 * `opt->path->holder`. The mode and owner are right before the first connect can succeed. Before the
 * descriptor is closed the path is given back: sock_path_release(). Returns the descriptor or -errno, also
 * those of sock_path_claim() and sock_path_own(). */
int sock_listen(struct addr *a, const struct sock_listen *opt);

/* Would sock_listen() get the TCP address or abstract name `a`? Binds, never listens, leaves nothing
 * behind. 0 or -errno. */
int sock_try_bind(const struct addr *a, const struct sock_listen *opt);

/* Makes an inherited listening socket as much like our own as it can be: the options that accepted
 * connections inherit, interface, transparent and tfo, and the backlog unless `opt->backlog` is 0. `v6only`,
 * freebind, mptcp, mode and owner are its maker's. Its address goes to `*a`. The descriptor stays the
 * caller's. 0 or -errno. */
int sock_adopt(int fd, struct addr *a, const struct sock_listen *opt);

/* Is it a socket of Multipath TCP? */
bool sock_is_mptcp(int fd);

/* Makes a socket for a connect to `to`: nonblocking, SO_OOBINLINE (no urgent byte is dropped), the
 * options of `tcp` but TCP_NODELAY, which sock_nodelay() sets when it begins to matter, and bound to
 * `source` unless its len is 0. Without a port in `source` the kernel chooses one at connect(2), which
 * then says -EADDRNOTAVAIL when none is left for this pair of addresses. Returns the descriptor or
 * -errno; -EADDRNOTAVAIL here: `source` is no address of this machine. */
int sock_open(const struct addr *to, const struct addr *source, const struct sock_tcp *tcp);

/* Sends an ACK that is still waiting. The kernel would do it after up to 200 ms (tcp(7), TCP_QUICKACK), and
 * till then the server does not know that it is connected. Worker thread. */
void sock_ack_now(int fd);
/* TCP_NODELAY. A failure costs latency, never a byte, and is ignored. */
void sock_nodelay(int fd);

/* The close(2) of a TCP socket that follows is a reset, and drops what is in its queues. */
void sock_harden(int fd);

/* Unix accept(2) inherits no SO_OOBINLINE: without it the urgent byte is lost. */
void sock_accepted_unix(int fd);
/* What an MPTCP listener cannot hand down, for a connection of `family` (the listener's). A client that
 * speaks plain TCP gets all of it; one that speaks MPTCP what the kernel has for that. */
void sock_accepted_mptcp(int fd, int family, const struct sock_tcp *tcp);

/* sock_tcp.c, for sock.c: the options of `tcp` on a socket of `family`, a listener or one that will connect.
 * 0 or -errno. */
int sock_set_tcp(int fd, int family, enum sock_where where, const struct sock_tcp *tcp);

#endif
