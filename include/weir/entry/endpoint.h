/* SPDX-License-Identifier: MIT
 *
 * endpoint.h - a bound address: its socket's options as configured, and what is logged when one is missing.
 *
 * Control thread, except for endpoint_accepted().
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
	struct addr addr;                 /* as bound; for port 0, with the port that the kernel chose */
	int fd;                           /* owns */
	unsigned part;                    /* 1, 2, ... if one bind has several sockets; else 0 */
	struct sock_path path;            /* owns; for a Unix path that we created */
	bool mptcp;                       /* an MPTCP listener: see endpoint_accepted() */
	enum sock_option refused;         /* the option that made the bind fail, if one did */
};

/* The options of a section as net/sock.h takes them; borrows from `tcp`. Any thread. */
struct sock_tcp sock_tcp_of(const struct config_tcp *tcp);
/* The options of a listener; borrows from both. Any thread. */
struct sock_listen sock_listen_of(const struct config_frontend *fe, const struct config_bind *b);

/* Binds and listens where the configuration says. 0, or -errno with ep->refused. */
int endpoint_bind(struct endpoint *ep);
/* Takes ownership of an inherited descriptor, even on failure, and sets the options that can still be set. 0,
 * or -errno with ep->refused. */
int endpoint_adopt(struct endpoint *ep, int fd);
/* Call for each accepted TCP connection of an endpoint that is `mptcp`: sets what the listener could not pass
 * on. A worker's thread. */
void endpoint_accepted(const struct endpoint *ep, int fd);

#endif
