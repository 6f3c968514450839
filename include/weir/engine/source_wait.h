/* SPDX-License-Identifier: MIT
 *
 * source_wait.h - a client whose source is at its limit waits for a session of that source that is ending.
 *
 * A client that opens one connection after another never exceeds maxconn-per-source, but when its next
 * connection is accepted, the FIN of the last one may still be unread, here or at another worker. So clients
 * wait, for SOURCE_WAIT_NS at most, and only while as many sessions of their source are seen to be ending:
 * each worker that may have such a session first looks at what has arrived on its sockets. Meanwhile they
 * hold no slot of maxconn: each is given the slot of the session whose place it gets. A worker's thread.
 */
#ifndef WEIR_ENGINE_SOURCE_WAIT_H
#define WEIR_ENGINE_SOURCE_WAIT_H

#include <stdbool.h>

#include "weir/base/clock.h"

struct session;
struct worker;

#define SOURCE_WAIT_NS (50 * NS_PER_MS)
/* When all sessions turned out to be in use, no client of that source begins to wait for this long. */
#define SOURCE_AGAIN_NS (10 * NS_PER_MS)
/* Maximum waits of one worker at a time: each has a descriptor and a session, but no slot. */
#define SOURCE_WAITS_MAX 16

/* The session's source has reached its limit. 0: the session waits, in SESSION_HELD. -EAGAIN: there is room
 * again. -EDQUOT: the session must be refused. It must have its extra; the caller sets its timer. */
int source_wait_begin(struct session *s);
/* The session closes, or its time is over: it waits no more. True when it was given a place meanwhile, which
 * it now owns. Harmless for a session that does not wait. */
bool source_wait_end(struct session *s);

/* MAIL_LOOK: a client waits for a session here that may be ending. */
void source_wait_look(struct worker *w);
/* Called at the end of a turn in which `w->look_turns` is not 0. */
void source_wait_turned(struct worker *w);
/* The wait of a session is over. `has_place`: it has a place in its source. */
typedef void source_wait_over(struct session *s, bool has_place);
/* MAIL_PLACES: a client here was given a place, or all workers that were asked have looked. */
void source_wait_take(struct worker *w, source_wait_over *over);

#endif
