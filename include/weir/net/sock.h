/* SPDX-License-Identifier: MIT
 *
 * sock.h - sockets and their options: listeners as configured, and connecting sockets.
 *
 * Options that a connection inherits at accept(2) are set once, on the listener, so that an accepted TCP
 * socket needs no setsockopt(2). Measured on Linux 6.18: connections inherit every option of struct sock_tcp,
 * and SO_OOBINLINE, from a TCP listener. An MPTCP listener refuses some options and passes on fewer;
 * sock_accepted_mptcp() sets those. Any thread.
 */
#ifndef WEIR_NET_SOCK_H
#define WEIR_NET_SOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "weir/net/addr.h"

/* The option that the kernel refused. */
enum sock_option {
	SOCK_OPTION_NONE, /* not an option: the address or a limit */
#define SOCK_OPTION(name, word, capability) SOCK_OPTION_##name,
#include "weir/net/sock_options.tbl.h"
	SOCK_OPTIONS
};

/* The sockets that a row's option is set on. */
enum sock_where {
	SOCK_LISTENER = 1 << 0,
	SOCK_ACCEPTED = 1 << 1, /* by MPTCP; plain TCP connections inherit it */
	SOCK_CONNECTED = 1 << 2,
	SOCK_MPTCP_LISTENER = SOCK_LISTENER | 1 << 3, /* what it refuses is set on each accepted socket */
};

/* The type of a value, for each kind in the table. */
#define SOCK_VALUE_int	int
#define SOCK_VALUE_ms	int
#define SOCK_VALUE_u32	uint32_t
#define SOCK_VALUE_u64	uint64_t
#define SOCK_VALUE_text const char * /* borrows */
#define SOCK_VALUE_dscp int

/* Options of a TCP connection; 0 and false keep the kernel's default. */
struct sock_tcp {
	bool nodelay;
	bool keepalive;
	int keepalive_idle_s;
	int keepalive_interval_s;
	int keepalive_count;
#define SOCK_TCP_OPTION(which, word, capability, kind, member, ...) SOCK_VALUE_##kind member;
#include "weir/net/sock_options.tbl.h"
	bool transparent; /* connecting socket: the source need not be a local address (IP_TRANSPARENT) */
	bool lazy_ack; /* connecting socket: the ACK that ends the handshake waits for the first bytes and is
			* sent with them; if there are none yet, sock_ack_now() */
	enum sock_option *refused; /* receives the refused option; NULL = not wanted */
};

struct sock_path;

struct sock_listen {
	int backlog;       /* 0 = 4096 */
	bool v6only;       /* otherwise [::] accepts IPv4 too */
	int defer_accept_s; /* TCP_DEFER_ACCEPT, 0 = off */
	const char *interface; /* SO_BINDTODEVICE; borrows; NULL = any */
	bool freebind;     /* the address need not exist yet */
	bool transparent;  /* accepts connections to non-local addresses that are routed here */
	bool tfo;          /* TCP_FASTOPEN */
	bool mptcp;        /* IPPROTO_MPTCP; plain TCP where the kernel lacks it */
	bool share_port;   /* SO_REUSEPORT: it overlaps with a listener of ours, see sock_leave.h */
	int mode;          /* of a Unix path; -1 = from the umask */
	uid_t uid;         /* (uid_t)-1 = keep */
	gid_t gid;
	struct sock_path *path; /* borrows: state of a Unix path, required for one; see sock_path.h */
	struct sock_tcp tcp;
};

/* The option's name in the configuration, and the capability whose absence causes EPERM ("" = none). */
const char *sock_option_word(enum sock_option option);
const char *sock_option_capability(enum sock_option option);

/* The value of a row's option in `tcp`, as it was given to the kernel; NULL if there is none to show. May use
 * `buf`, which has room for any number. */
const char *sock_option_value(enum sock_option option, const struct sock_tcp *tcp, char *buf, size_t room);

/* Creates a listening socket at `a`; for port 0 the kernel chooses one and `*a` is updated. A Unix path is
 * locked first, and a stale socket there, on which nobody listens, is removed; anything else in the way is
 * -EADDRINUSE with `opt->path->holder`. Mode and owner are set before the first connect can succeed. Release
 * the path with sock_path_release() before closing the descriptor. Returns the descriptor or -errno,
 * including those of sock_path_claim() and sock_path_own(). */
int sock_listen(struct addr *a, const struct sock_listen *opt);

/* The same in two steps. First everything but listen(2): nobody can connect yet, and `a` has its port. */
int sock_bind(struct addr *a, const struct sock_listen *opt);
/* Then listen(2). 0 or -errno; the caller still owns the descriptor and the path. On a socket that listens
 * already it changes only the length of the queue. `backlog` 0 = 4096. */
int sock_start(int fd, int backlog);

/* Could sock_listen() bind the TCP address or abstract name `a`? Binds, never listens, leaves nothing behind.
 * 0 or -errno. */
int sock_try_bind(const struct addr *a, const struct sock_listen *opt);

/* Configures an inherited listening socket as much like one of our own as possible: the options that accepted
 * connections inherit, interface, transparent and tfo, and the backlog unless `opt->backlog` is 0. `v6only`,
 * freebind, mptcp, mode and owner stay as its creator set them. Its address goes to `*a`. The caller still
 * owns the descriptor. 0 or -errno. */
int sock_adopt(int fd, struct addr *a, const struct sock_listen *opt);

/* Is it a Multipath TCP socket? */
bool sock_is_mptcp(int fd);

/* Creates a socket for a connect to `to`: nonblocking, with SO_OOBINLINE (no urgent byte is dropped) and the
 * options of `tcp` except TCP_NODELAY, which sock_nodelay() sets when it begins to matter, and bound to
 * `source` unless its len is 0. Without a port in `source` the kernel chooses one at connect(2), which then
 * fails with -EADDRNOTAVAIL if none is left for this pair of addresses. Returns the descriptor or -errno;
 * -EADDRNOTAVAIL here means that `source` is not an address of this machine. */
int sock_open(const struct addr *to, const struct addr *source, const struct sock_tcp *tcp);

/* Sends a delayed ACK now. The kernel would send it after up to 200 ms (tcp(7), TCP_QUICKACK), and until then
 * the server does not know that it is connected. Worker thread. */
void sock_ack_now(int fd);
/* TCP_NODELAY. A failure costs latency, never a byte, and is ignored. */
void sock_nodelay(int fd);

/* SO_SNDBUF: one write(2) to the socket takes not many more bytes than these, and so only as long: the kernel
 * may let nobody else run on the CPU in the middle of it. A failure costs only that and is ignored. */
void sock_send_at_once(int fd, int bytes);

/* Makes the following close(2) of a TCP socket a reset that drops the contents of its queues. */
void sock_harden(int fd);

/* Sets SO_OOBINLINE, which Unix accept(2) does not inherit: without it the urgent byte is lost. */
void sock_accepted_unix(int fd);
/* Sets the options that a connection does not inherit from an MPTCP listener; `family` is the listener's. A
 * client that speaks plain TCP gets all of them; one that speaks MPTCP those that the kernel supports for
 * it. */
void sock_accepted_mptcp(int fd, int family, const struct sock_tcp *tcp);

/* sock_tcp.c, for sock.c: sets the options of `tcp` on a socket of `family`, either a listener or one that
 * will connect. 0 or -errno. */
int sock_set_tcp(int fd, int family, enum sock_where where, const struct sock_tcp *tcp);
/* sock.c, for sock_change.c. A socket for a listener: MPTCP if `mptcp` and the kernel has it. The descriptor
 * or -errno. */
int sock_make(int family, bool mptcp);
/* The length of the queue of TCP Fast Open. */
int sock_tfo_queue(const struct sock_listen *opt);

#endif
