/* SPDX-License-Identifier: MIT
 *
 * endpoint.h - a bound address: its socket's options as configured, and what is said when one is missing.
 *
 * Control's thread, but for endpoint_accepted().
 */
#ifndef WEIR_ENTRY_ENDPOINT_H
#define WEIR_ENTRY_ENDPOINT_H

#include <stdbool.h>

#include "weir/config/config.h"
#include "weir/net/addr.h"
#include "weir/net/sock.h"
#include "weir/net/sock_path.h"

struct frontend;

/* One bound address. The descriptor is shared by all workers. */
struct endpoint {
	const struct config_bind *config; /* borrows */
	struct frontend *frontend;        /* borrows */
	struct addr addr;                 /* as bound: with port 0 the kernel's choice */
	int fd;                           /* owns */
	unsigned part;                    /* of several sockets of one bind: 1, 2, ...; else 0 */
	struct sock_path path;            /* owns: of a Unix path that we made */
	bool mptcp;                       /* an MPTCP listener: see endpoint_accepted() */
	enum sock_option refused;         /* which option made the bind fail, if it was one */
};

/* The options of a section in the words of io; borrows from `tcp`. Any thread. */
struct sock_tcp sock_tcp_of(const struct config_tcp *tcp);
/* Those of a listener; borrows from both. Any thread. */
struct sock_listen sock_listen_of(const struct config_frontend *fe, const struct config_bind *b);

/* Binds and listens where the configuration says. 0, or -errno with ep->refused. */
int endpoint_bind(struct endpoint *ep);
/* Takes an inherited descriptor, also on failure, and gives it the options that it can still have. 0, or
 * -errno with ep->refused. */
int endpoint_adopt(struct endpoint *ep, int fd);
/* For each accepted TCP connection of an endpoint that is `mptcp`: what its listener could not hand
 * down. A worker's thread. */
void endpoint_accepted(const struct endpoint *ep, int fd);

#endif
