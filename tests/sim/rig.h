/* SPDX-License-Identifier: MIT
 *
 * rig.h - the program under test: real workers with their engine, pools and a configuration that
 * comes from the seed.
 *
 * Owns the workers from rig_open() to rig_close(). Never looks inside a flow but to check it.
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

#define RIG_WORKERS 4 /* at most */

struct rig_options {
	const struct io_driver *driver;
	int splice; /* enum config_splice or RIG_SPLICE_RANDOM */
	unsigned workers;
	void (*notify)(void *arg); /* NULL: control is not there */
};

struct rig {
	struct engine engine;
	unsigned worker_count;
	struct worker *worker; /* the first */
	unsigned maxconn;
	int64_t connect_timeout_ns;
	const char *header; /* a PROXY header that clients send and servers get; "" = none */
	bool has_timeouts; /* of the sides, half-closed or lifetime: sessions may end by them */
	bool drains_idle;   /* `drain = idle`: sessions may end because they are idle */
	bool has_evictions; /* sessions may end because their server was marked down, or killed */
	bool changes_settings; /* limits and splice are others every few turns */
	bool limits_sources; /* frontends have a rate-limit-per-source: clients may be refused */
	bool gives_pages_back; /* pages of one or two sessions, and a short cycle */
	bool rests[RIG_WORKERS]; /* the worker has finished, and its loop was told */
	uint32_t turns; /* with several workers: rounds, in which each had its turn or slept */
};

extern struct rig rig;

void rig_open(const struct rig_options *o);
/* One turn of the only worker, and the invariants after it. */
void rig_turn(void);
/* The same of any worker. */
void rig_turn_worker(struct worker *w);
/* All servers of all backends have a number. */
unsigned rig_server_count(void);
struct server *rig_server(unsigned i);
/* All endpoints with a socket have one too; it wraps. NULL: none has one. */
struct endpoint *rig_endpoint(unsigned i);
/* All is over: nothing may be left anywhere. With one worker. */
void rig_close(void);
/* The parts of that: without sessions nothing is in use, and a worker that has slept for long keeps
 * nothing. */
void rig_check_rest(void);
void rig_check_asleep(const struct worker *w);
/* The descriptor at the other side of the session that has `fd`; -1 when there is none. */
int rig_other_fd(int fd);
/* Has the session that has `fd` a server by now? */
bool rig_is_forwarding(int fd);
/* Does the session that has `fd` go on as if nothing had failed at that side? */
bool rig_trusts(int fd);
/* Does nobody read `fd`, because the other side is full? */
bool rig_is_blocked(int fd);

#endif
