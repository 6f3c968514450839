/* SPDX-License-Identifier: MIT
 *
 * listen_error.h - why a socket cannot listen, as text, and what the operator can do.
 *
 * Main thread.
 */
#ifndef WEIR_HOST_LISTEN_ERROR_H
#define WEIR_HOST_LISTEN_ERROR_H

#include <sys/types.h>

#include "weir/net/addr.h"

#define LISTEN_ERROR_MAX 192

/* Explains the -errno `err` from listening at `at`: a static text, strerror(3)'s, or one written to `buf`. */
const char *listen_error(int err, const struct addr_spec *at, char buf[static LISTEN_ERROR_MAX]);
/* The same; for -EADDRINUSE names the process `holder`, unless that is 0. */
const char *listen_error_by(int err, const struct addr_spec *at, pid_t holder,
			    char buf[static LISTEN_ERROR_MAX]);
/* Why mode and owner of a path cannot be changed while its socket listens; strerror(3)'s or static. */
const char *listen_error_of_owner(int err);

#endif
