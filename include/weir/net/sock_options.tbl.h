/* SPDX-License-Identifier: MIT
 *
 * sock_options.tbl.h - one row per socket option that a kernel may refuse.
 *
 * SOCK_TCP_OPTION(NAME, word, capability, kind, member, where, level, name): an option of a TCP connection
 * that is a single value. A row of options.tbl.h with MADE_TCP(member) reads and prints it; this row declares
 * its member of struct sock_tcp, copies it there, sets it, and prints it if the kernel refuses it.
 *   word, capability  the name in the configuration, and the capability whose absence causes EPERM, or ""
 *   kind   int; ms: an int of milliseconds; u32, u64; text: a const char *; dscp: an int, for both families.
 *          0, a negative number or NULL keeps the kernel's default
 *   where  LISTENER: connections accepted by plain TCP inherit it (verify that, see sock.h); ACCEPTED: those
 *          accepted by an MPTCP listener do not, so it is set on each; CONNECTED: connections to servers
 *   level, name  the arguments of setsockopt(2)
 * SOCK_OPTION(NAME, word, capability): an option that has its own code.
 *
 * Define one of the two macros or both, then include this file; SOCK_OPTION alone covers all rows.
 */
#ifndef SOCK_OPTION
#define SOCK_OPTION(which, word, capability)
#endif
#ifndef SOCK_TCP_OPTION
#define SOCK_TCP_OPTION(which, word, capability, ...) SOCK_OPTION(which, word, capability)
#endif
SOCK_OPTION(KEEPALIVE, "tcp-keepalive", "")
SOCK_TCP_OPTION(USER_TIMEOUT, "tcp-user-timeout", "", ms, user_timeout_ms,
		SOCK_LISTENER | SOCK_ACCEPTED | SOCK_CONNECTED, IPPROTO_TCP, TCP_USER_TIMEOUT)
SOCK_TCP_OPTION(CONGESTION, "congestion", "CAP_NET_ADMIN", text, congestion, SOCK_LISTENER | SOCK_CONNECTED,
		IPPROTO_TCP, TCP_CONGESTION)
SOCK_TCP_OPTION(MARK, "mark", "CAP_NET_ADMIN", u32, mark, SOCK_LISTENER | SOCK_CONNECTED, SOL_SOCKET, SO_MARK)
SOCK_TCP_OPTION(DSCP, "dscp", "CAP_NET_ADMIN", dscp, dscp, SOCK_LISTENER | SOCK_ACCEPTED | SOCK_CONNECTED,
		IPPROTO_IP, IP_TOS)
SOCK_TCP_OPTION(PACING, "pacing", "", u64, pacing, SOCK_LISTENER | SOCK_ACCEPTED | SOCK_CONNECTED, SOL_SOCKET,
		SO_MAX_PACING_RATE)
SOCK_TCP_OPTION(NOTSENT_LOWAT, "tcp-notsent-lowat", "", u32, notsent_lowat,
		SOCK_LISTENER | SOCK_ACCEPTED | SOCK_CONNECTED, IPPROTO_TCP, TCP_NOTSENT_LOWAT)
SOCK_OPTION(INTERFACE, "interface", "CAP_NET_RAW")
SOCK_OPTION(FREEBIND, "freebind", "")
SOCK_OPTION(TRANSPARENT, "transparent", "CAP_NET_ADMIN")
SOCK_OPTION(TFO, "tfo", "")
SOCK_OPTION(SOURCE_CLIENT, "source=client", "CAP_NET_ADMIN")
#undef SOCK_OPTION
#undef SOCK_TCP_OPTION
