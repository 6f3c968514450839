/* SPDX-License-Identifier: MIT
 *
 * failing.h - notes failures of sessions, and of clients that never became one, in the rings of a worker.
 *
 * Whatever the log level, and without any limit: a ring keeps the last ones (account/failure.h). A worker's
 * thread.
 */
#ifndef WEIR_ENGINE_FAILING_H
#define WEIR_ENGINE_FAILING_H

#include <stdint.h>

#include "weir/account/close_reason.h"
#include "session.h"

struct addr_brief;
struct endpoint_settings;
struct worker;

/* A client was turned away before it became a session; `number` is that of its log line. */
void failing_turned_away(struct worker *w, const struct endpoint_settings *entry,
			 const struct addr_brief *client, enum close_reason why, uint32_t number);
/* A try to connect failed with `err` < 0; `reason` is why the session ends if it was the last. Sets
 * s->try_failed, which the next try clears. */
void failing_connect(struct session *s, int err, enum close_reason reason);
/* A side of an established session was reset or lost, with `err` < 0; s->reason is set. */
void failing_side(const struct session *s, enum side_name side, int err);
/* The session ends. Notes that if it is an error that has not been noted by one of the above. */
void failing_end(const struct session *s);

#endif
