/* SPDX-License-Identifier: MIT
 *
 * socket_preflight.h - does this kernel, and what we may do, give the socket options that were asked for?
 *
 * Asked at the start and by `check --probe`, so that the first client is not the one to find out. Main
 * thread.
 */
#ifndef WEIR_HOST_SOCKET_PREFLIGHT_H
#define WEIR_HOST_SOCKET_PREFLIGHT_H

#include <stddef.h>

#include "weir/config/config.h"
#include "weir/net/sock.h"

#define OPTION_ERROR_MAX 320

/* Why the kernel has refused `option` with the -errno `err`, and what can be done: a text made in `buf`.
 * `value` is what was written for it, NULL = nothing to show. */
const char *option_error(enum sock_option option, int err, const char *value,
			 char buf[static OPTION_ERROR_MAX]);
/* The same for an option of a listener, whose value is looked up. */
const char *bind_option_error(enum sock_option option, int err, const struct config_frontend *fe,
			      const struct config_bind *b, char buf[static OPTION_ERROR_MAX]);

/* Makes one socket to each server (and no connection). 0, or -errno with the reason in `why`; `*backend` is
 * the one that it is about. */
int socket_preflight_backends(const struct config *c, const struct config_backend **backend, char *why,
			      size_t room);

#endif
