/* SPDX-License-Identifier: MIT
 *
 * tcp_aborts.h - TCP connections that the kernel aborted because memory ran out.
 *
 * The kernel does this to sockets that a process has closed with bytes still in flight, beyond the
 * machine-wide limits tcp_mem and tcp_max_orphans, tcp(7). The process is not told; there is only a counter
 * per network namespace (TCPAbortOnMemory in /proc/net/netstat). It is read only after sessions were closed
 * with unacknowledged bytes, so an idle daemon sleeps. Main thread.
 */
#ifndef WEIR_HOST_TCP_ABORTS_H
#define WEIR_HOST_TCP_ABORTS_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/base/figure.h"

struct tcp_aborts {
	struct ev_loop *loop; /* borrows */
	const char *path;     /* borrows: /proc/self/net/netstat or the like */
	struct ev_timer timer;
	double pause_s;   /* until the next look, if the timer is set */
	bool readable;    /* the file had the counter at the start */
	uint64_t first;   /* the counter at the start */
	uint64_t previous; /* the counter at the last look */
	uint64_t closes;   /* the argument of the last tcp_aborts_wake() */
};

#define TCP_ABORTS_PATH "/proc/self/net/netstat"

/* The counter in the text of such a file; false if it is missing. */
bool tcp_aborts_parse(const char *text, uint64_t *count);
/* If the file cannot be read, all other functions do nothing. */
void tcp_aborts_init(struct tcp_aborts *t, struct ev_loop *loop, const char *path);
/* `closes`: how many sessions so far were closed with unacknowledged bytes. If more than at the last call,
 * looks a few times within two minutes and logs new aborts. Called for each wake-up. */
void tcp_aborts_wake(struct tcp_aborts *t, uint64_t closes);
/* Looks now and logs new aborts. Returns true and stores the number since the start, or false if unknown. */
bool tcp_aborts_look(struct tcp_aborts *t, uint64_t *since_start);
/* The same for figure_source.publish, with a struct tcp_aborts. */
void tcp_aborts_publish(void *aborts, figure_report *report, void *to);
/* Stops its timer. Harmless on a struct of zeros. */
void tcp_aborts_stop(struct tcp_aborts *t);

#endif
