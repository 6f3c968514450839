/* SPDX-License-Identifier: MIT
 *
 * listen_error.h - why a socket cannot listen, in words, and what the operator can do.
 *
 * Main thread. Floor 5.
 */
#ifndef SLUICE_CONTROL_LISTEN_ERROR_H
#define SLUICE_CONTROL_LISTEN_ERROR_H

#include "sluice/io/addr.h"

/* A static text, or strerror(3)'s, for the -errno `err` of listening at `at`. */
const char *listen_error(int err, const struct addr_spec *at);

#endif
