/* SPDX-License-Identifier: MIT
 *
 * engine_settings.h - global settings that workers read, and what control changes while they run.
 *
 * A worker loads each setting when it needs it, relaxed, from a cache line that nobody writes otherwise; what
 * it has begun under the old value goes on. Lowering a limit closes nothing: it keeps out what is new until
 * the use has fallen. The functions are for the control thread, from engine_init() on.
 */
#ifndef WEIR_ENGINE_ENGINE_SETTINGS_H
#define WEIR_ENGINE_ENGINE_SETTINGS_H

#include <stdatomic.h>
#include <stdint.h>

#include "weir/config/config.h"

struct engine;
struct engine_limits;
struct frontend;
struct mark;

struct engine_settings {
	_Atomic unsigned maxconn;       /* sessions of the process */
	_Atomic uint32_t rate_limit;    /* clients per second of the process; 0 = no limit */
	_Atomic uint32_t sessions_many; /* a worker with this many notifies control */
	_Atomic int splice;             /* enum config_splice */
	_Atomic int64_t pipe_cycle_ns;  /* 0 = what the pools hold does not age */
};

/* All that was planned from the limits of this process: maxconn, pipes and buffers. */
void engine_set_limits(struct engine *e, const struct engine_limits *limits);
/* Also the limit of each frontend that has none of its own. A higher one wakes paused listeners. A lower one
 * that was set at run time holds all the same. */
void engine_set_maxconn(struct engine *e, unsigned maxconn);
/* The limit of one frontend, 0 = that of the process. A higher one wakes paused listeners. */
void engine_set_frontend_maxconn(struct frontend *fe, unsigned maxconn);
/* Clients per second, 0 = no limit. Wakes listeners paused for the old one. */
void engine_set_rate_limit(struct engine *e, struct frontend *fe, uint32_t limit);
/* Clients per second of the whole process, 0 = no limit; each frontend's own applies as well. Wakes listeners
 * paused for the old one. */
void engine_set_process_rate(struct engine *e, uint32_t limit);

/* ---- what an administrator sets at run time: it survives a reload ---- */

/* The maxconn from now on, until that of the file changes; 0 = that of the limits again. 0; or -ERANGE if it
 * is higher than that, which is what there are descriptors for. */
int engine_override_maxconn(struct engine *e, unsigned maxconn, const struct mark *by);
/* Does it stay when the section `next` takes effect? */
bool engine_maxconn_stays(const struct engine *e, const struct config_global *next);
/* That of the limits holds again. */
void engine_forget_override(struct engine *e);
/* engine_set_process_rate(), with its mark. No file has that rate. */
void engine_override_rate(struct engine *e, uint32_t limit, const struct mark *by);

/* ---- other settings ---- */

/* For sessions that are open, too: a flow follows it with its next read. */
void engine_set_splice(struct engine *e, enum config_splice splice);
/* A cycle under way still takes as long as it took; if there was none, one begins. */
void engine_set_pipe_cycle(struct engine *e, int64_t cycle_ns);
/* UINT32_MAX = never. */
void engine_set_sessions_many(struct engine *e, uint32_t sessions);

#endif
