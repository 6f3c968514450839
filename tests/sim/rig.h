/* SPDX-License-Identifier: MIT
 *
 * rig.h - the program under test: one real worker with its engine, pools and a configuration that
 * comes from the seed.
 *
 * Owns the worker from rig_open() to rig_close(). Never looks inside a flow but to check it.
 * One thread. Tests only.
 */
#ifndef SIM_RIG_H
#define SIM_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/engine/engine.h"
#include "engine/session.h"
#include "engine/worker.h"

enum rig_splice { RIG_SPLICE_RANDOM = -1 };

struct rig {
	struct engine engine;
	struct worker *worker; /* owns through the engine */
	int listener_fd;       /* owns through the engine */
	bool client_tcp;
	int64_t connect_timeout_ns;
	const char *header; /* a PROXY header that clients send and servers get; "" = none */
	bool has_timeouts; /* of the sides, half-closed or lifetime: sessions may end by them */
	bool has_evictions; /* sessions may end because their server was marked down, or killed */
	bool changes_settings; /* limits and splice are others every few turns */
	bool gives_pages_back; /* pages of one or two sessions, and a short cycle */
	bool rests; /* the worker has finished, and its loop was told */
	uint32_t turns;
};

extern struct rig rig;

/* `splice` is an enum config_splice, or RIG_SPLICE_RANDOM. */
void rig_open(const struct io_driver *driver, int splice);
/* One turn, and the invariants after it. */
void rig_turn(void);
/* All is over: nothing may be left anywhere. */
void rig_close(void);
/* The descriptor at the other side of the session that has `fd`; -1 when there is none. */
int rig_other_fd(int fd);
/* Has the session that has `fd` a server by now? */
bool rig_is_forwarding(int fd);
/* Does the session that has `fd` go on as if nothing had failed at that side? */
bool rig_trusts(int fd);
/* Does nobody read `fd`, because the other side is full? */
bool rig_is_blocked(int fd);

#endif
