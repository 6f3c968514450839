/* SPDX-License-Identifier: MIT
 *
 * server_sock.h - the socket of a connection to a server, with the options of its backend.
 *
 * A worker's thread. Floor 4.
 */
#ifndef SLUICE_ENGINE_SERVER_SOCK_H
#define SLUICE_ENGINE_SERVER_SOCK_H

struct addr;
struct session;

/* Makes the socket for a connect of `s` to `to` at s->server: options, source address, mark. 0, with
 * s->sides[SIDE_SERVER].sock ready, or -errno with nothing made. */
int server_sock_open(struct session *s, const struct addr *to);

#endif
