/* SPDX-License-Identifier: MIT
 *
 * socket_preflight.h - do this kernel and our privileges permit the configured socket options?
 *
 * Tested at startup and by `check --probe`, so that the first client does not run into it. Main thread.
 */
#ifndef WEIR_HOST_SOCKET_PREFLIGHT_H
#define WEIR_HOST_SOCKET_PREFLIGHT_H

#include <stddef.h>

#include "weir/config/config.h"
#include "weir/net/sock.h"

#define OPTION_ERROR_MAX 320

/* Explains why the kernel refused `option` with the -errno `err`, and what can be done. Written to `buf`.
 * `value` is the configured value; NULL = do not show one. */
const char *option_error(enum sock_option option, int err, const char *value,
			 char buf[static OPTION_ERROR_MAX]);
/* The same for an option of a listener, whose value is looked up. */
const char *bind_option_error(enum sock_option option, int err, const struct config_frontend *fe,
			      const struct config_bind *b, char buf[static OPTION_ERROR_MAX]);

/* Makes one socket per server (without connecting). 0, or -errno with the reason in `why` and the backend
 * concerned in `*backend`. */
int socket_preflight_backends(const struct config *c, const struct config_backend **backend, char *why,
			      size_t room);
/* The same for the servers of one backend. */
int socket_preflight_backend(const struct config_backend *b, char *why, size_t room);

#endif
