/* SPDX-License-Identifier: MIT
 *
 * tcp_aborts.h - TCP connections that the kernel has aborted for want of memory.
 *
 * It does so with sockets that a process has closed and whose bytes are still on their way: beyond tcp_mem or
 * tcp_max_orphans, tcp(7), of the whole machine. Nobody is told, but for a count of the network namespace
 * (TCPAbortOnMemory of /proc/net/netstat). It is looked at after sessions that were closed with bytes
 * unacknowledged, so that an idle daemon sleeps. Main thread.
 */
#ifndef WEIR_HOST_TCP_ABORTS_H
#define WEIR_HOST_TCP_ABORTS_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/base/figure.h"

struct tcp_aborts {
	struct ev_loop *loop; /* borrows */
	const char *path;     /* borrows: as /proc/self/net/netstat */
	struct ev_timer timer;
	double pause_s;   /* until the next look, while the timer is set */
	bool readable;    /* the path had the count at the start */
	uint64_t first;   /* the count at the start */
	uint64_t last;    /* the count when it was last looked at */
	uint64_t closes;  /* what tcp_aborts_check() was last called with */
};

#define TCP_ABORTS_PATH "/proc/self/net/netstat"

/* The count in the text of such a file; false when it is not there. */
bool tcp_aborts_parse(const char *text, uint64_t *count);
/* Where the file cannot be read all the rest does nothing. */
void tcp_aborts_init(struct tcp_aborts *t, struct ev_loop *loop, const char *path);
/* `closes`: the sessions so far that were closed with bytes unacknowledged. When these are more than at
 * the last call, looks a few times within two minutes, and logs what is new. Called for each wake-up. */
void tcp_aborts_check(struct tcp_aborts *t, uint64_t closes);
/* Looks now, logs what is new. True with how many there have been since the start; false: nobody knows. */
bool tcp_aborts_look(struct tcp_aborts *t, uint64_t *since_start);
/* The same as figure_source.publish of a struct tcp_aborts. */
void tcp_aborts_publish(void *aborts, figure_report *report, void *to);
/* Stops its timer. Harmless on a struct of zeros. */
void tcp_aborts_stop(struct tcp_aborts *t);

#endif
