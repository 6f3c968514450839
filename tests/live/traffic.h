/* SPDX-License-Identifier: MIT
 *
 * traffic.h - clients of the test, on threads of their own: each byte that comes back is checked.
 *
 * A client connects to one of the places that are open, sends a stream of its own (demo/keyed.h), ends its
 * half, and must get the same bytes back, and then an end. Only one that has got nothing yet may be turned
 * away, and only when its place has been given up since it chose it. Main thread.
 */
#ifndef WEIR_TESTS_LIVE_TRAFFIC_H
#define WEIR_TESTS_LIVE_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/net/addr.h"

#define TRAFFIC_PLACES 48u

struct traffic_wish {
	unsigned threads;
	unsigned short_sessions; /* of each thread, at a time */
	unsigned long_sessions;	 /* of each thread: they last until they are asked to end */
};

struct traffic_figures {
	uint64_t connected;
	uint64_t sessions;    /* that went well to the end */
	uint64_t turned_away; /* before their first byte */
	uint64_t bytes;	      /* that came back */
	unsigned lasting;     /* long ones that have got their first bytes */
	bool failed;
};

/* Clients may come to `place`, from now on; no longer; after all. */
void traffic_open_place(unsigned place, const struct addr *addr);
void traffic_leave_place(unsigned place);
void traffic_stay_place(unsigned place);

/* Of each thread's long sessions, `long_at_first` begin. */
void traffic_start(const struct traffic_wish *wish, unsigned long_at_first);
struct traffic_figures traffic_figures(void);
/* No more long sessions of each thread than this begin from now on. */
void traffic_want_long(unsigned of_each_thread);
/* So many more long sessions end, drawn by lot; others begin in their stead. */
void traffic_end_long(unsigned count);
/* Lets all sessions end. Control must go on meanwhile: clients may be on their way to a deaf endpoint. */
void traffic_stop(void);
bool traffic_is_over(void);
/* Ends the threads. */
void traffic_join(void);

#endif
