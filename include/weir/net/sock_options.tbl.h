/* SPDX-License-Identifier: MIT
 *
 * sock_options.tbl.h - one row for each socket option that a kernel may refuse:
 * SOCK_OPTION(NAME, word, capability or "").
 *
 * The word is the configuration's, the capability what an EPERM asks for.
 */
SOCK_OPTION(KEEPALIVE, "tcp-keepalive", "")
SOCK_OPTION(USER_TIMEOUT, "tcp-user-timeout", "")
SOCK_OPTION(CONGESTION, "congestion", "CAP_NET_ADMIN")
SOCK_OPTION(MARK, "mark", "CAP_NET_ADMIN")
SOCK_OPTION(DSCP, "dscp", "CAP_NET_ADMIN")
SOCK_OPTION(PACING, "pacing", "")
SOCK_OPTION(NOTSENT_LOWAT, "tcp-notsent-lowat", "")
SOCK_OPTION(INTERFACE, "interface", "CAP_NET_RAW")
SOCK_OPTION(FREEBIND, "freebind", "")
SOCK_OPTION(TRANSPARENT, "transparent", "CAP_NET_ADMIN")
SOCK_OPTION(TFO, "tfo", "")
SOCK_OPTION(SOURCE_CLIENT, "source=client", "CAP_NET_ADMIN")
