/* SPDX-License-Identifier: MIT
 *
 * record.h - what a worker reports about its sessions: to the log when one ends, to `show sess` while it
 * lives.
 *
 * A worker's thread.
 */
#ifndef WEIR_ENGINE_RECORD_H
#define WEIR_ENGINE_RECORD_H

#include "weir/account/close_reason.h"
#include "weir/account/session_facts.h"

struct endpoint_settings;
struct session;
struct worker;

/* Logs one record for an ended session; for sessions that were never let in, only for some. */
void record_session_end(const struct session *s);
/* The same for a client that never became a session. */
void record_turned_away(struct worker *w, const struct endpoint_settings *entry,
			const struct addr_brief *client, enum close_reason why);
/* The facts of a session that is not free. */
void record_take(const struct session *s, struct session_facts *out);
/* What is added of the only session that someone asks about: costs a system call per side. */
void record_take_detail(const struct session *s, struct session_facts *out);

#endif
