/* SPDX-License-Identifier: MIT
 *
 * sock_leave.h - leaving a listening address without losing a client, and replacing it by an overlapping one.
 *
 * To leave an address: make its listener deaf, stay open for 900 ms and go on accepting (handshakes in flight
 * finish; a SYN that was dropped is sent again after 1 s and finds the new listener), then accept until
 * EAGAIN and close. Do not leave what the new configuration still covers: keep the old socket as one more of
 * the endpoint that covers it.
 *
 * All of these change the socket itself, for everyone who shares it. Never use them on a descriptor that
 * another process passed to us: stop accepting there and close our copy. What is queued belongs to its next
 * owner. Measured on Linux 6.18 unless a source is given. Any thread; none of them blocks.
 */
#ifndef WEIR_NET_SOCK_LEAVE_H
#define WEIR_NET_SOCK_LEAVE_H

/* Makes a listening socket drop SYNs, in silence, so that a client tries again a second later. Handshakes in
 * flight still finish, and what is queued can still be accepted. Nothing to do for a Unix socket.
 *
 * It sets IP_MINTTL to 255 (ip(7)), and for a socket of IPv6 IPV6_MINHOPCOUNT with it: a dual-stack socket
 * judges IPv4 clients by the former and IPv6 clients by the latter. Traps:
 * - an accepted socket inherits the limits and discards what its client sends: sock_accepted_from_deaf();
 * - a client with a TTL of 255 on arrival still gets in: what is deaf may still accept somebody new;
 * - with SYN cookies, the ACK that ends a handshake meets the listener and is dropped too (tcp_v4_rcv() and
 *   tcp_v6_rcv(): without a request socket the listener's limit applies). That client sees a connection whose
 *   first bytes are retransmitted, and a reset if the listener has been closed by then;
 * - an MPTCP listener refuses both options: -EOPNOTSUPP. It can only accept until EAGAIN and close.
 *
 * 0, or -errno: then it hears as before. */
int sock_go_deaf(int fd);

/* The opposite, for a listener that is to stay after all. 0 or -errno; harmless on one that is not deaf. */
int sock_hear_again(int fd);

/* Call for each socket accepted from a listener that is deaf or was when the handshake ended, before its
 * first read. What the client has sent meanwhile was dropped and arrives when the client sends it again.
 * Harmless on any other socket. Cannot fail on a TCP socket. */
void sock_accepted_from_deaf(int fd);

/* Lets another socket of ours be bound to an address that overlaps with the one of this TCP listener: ":80"
 * and "10.0.0.1:80", "[::]:80" and "0.0.0.0:80", or the same address again. Sets SO_REUSEPORT (socket(7)),
 * which the kernel accepts late, on a socket that already listens. The new socket needs it too, before bind:
 * `share_port` of struct sock_listen. If either lacks it, bind(2) returns EADDRINUSE. Nothing to do for a
 * Unix socket. Traps:
 * - both sockets must belong to the same user: the kernel compares the owners of their inodes
 *   (inet_csk_bind_conflict()). A listener made before privileges were dropped must have been given to the
 *   new user by fchown(2) of its descriptor. That does not help an MPTCP listener, whose inner TCP socket
 *   keeps its owner: -EADDRINUSE at bind;
 * - new clients go to the more specific address from the moment it listens. If both are the same, the kernel
 *   spreads them over both; after the undo all go to one, for IPv4 to the new one, for IPv6 to the old one.
 *   So accept from both until one is closed;
 * - sockets that do not listen yet are bound beside one another without it (SO_REUSEADDR), and then bind(2)
 *   refuses what another process has. Set it on all of them before the second one listens;
 * - the undo does not keep out another socket of the same user that asks for SO_REUSEPORT. One that does not
 *   ask is refused, as always.
 *
 * 0 or -errno. */
int sock_share_port(int fd);
int sock_unshare_port(int fd);

#endif
