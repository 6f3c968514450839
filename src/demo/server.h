/* SPDX-License-Identifier: MIT
 *
 * server.h - a server of the demo: a process of its own, with a libev loop.
 *
 * Answers the clients of the demo and verifies what they send. A visitor who speaks HTTP gets a friendly
 * line. On SIGTERM it accepts no new connections, finishes the open ones, and exits. Its counters are in
 * memory shared with the parent, so they outlive even a SIGKILL.
 */
#ifndef WEIR_DEMO_SERVER_H
#define WEIR_DEMO_SERVER_H

#include <stdatomic.h>
#include <stdint.h>

#define SERVER_ERROR_MAX 96

/* One writer, the server. The parent reads the counters at any time, and the text after the server's end. */
struct server_stats {
	_Atomic uint64_t connections; /* from clients of the demo */
	_Atomic uint64_t visitors;    /* all others */
	_Atomic uint64_t open;	      /* of both kinds, at present */
	_Atomic uint64_t errors;      /* wrong bytes, early ends and resets; clients of the demo only */
	char first_error[SERVER_ERROR_MAX];
};

/* Serves `listener` (takes it) until SIGTERM, in a process without threads. Returns its exit code. */
int server_run(const char *name, int listener, struct server_stats *stats);

#endif
