/* SPDX-License-Identifier: MIT
 *
 * echo.h - servers of the test: each sends back what it gets, and ends when its client has ended.
 *
 * All of them run on one thread of their own. Main thread.
 */
#ifndef WEIR_TESTS_LIVE_ECHO_H
#define WEIR_TESTS_LIVE_ECHO_H

#include "weir/net/addr.h"

#define ECHO_SERVERS 8u

/* Binds all servers, some to Unix sockets in `folder`, and starts the thread. */
void echo_start(const char *folder);
const struct addr *echo_addr(unsigned server);
/* Connections that are open. */
unsigned echo_open(void);
/* Ends the thread, and closes everything. */
void echo_stop(void);

#endif
