/* SPDX-License-Identifier: MIT
 *
 * source_wait.h - a client whose source has as many connections as it may waits for one that is ending.
 *
 * A client that opens one connection after the other is never over maxconn-per-source, but the FIN of its
 * last one may still be unread, here or at another worker, when the next one is accepted. So clients wait,
 * SOURCE_WAIT_NS at the most, and only while as many of their source are seen to end: each worker that may
 * have such a session first looks at what has come to its sockets. They hold no slot of maxconn meanwhile:
 * each is given that of the session whose place it gets. A worker's thread.
 */
#ifndef WEIR_ENGINE_SOURCE_WAIT_H
#define WEIR_ENGINE_SOURCE_WAIT_H

#include <stdbool.h>

#include "weir/base/clock.h"

struct session;
struct worker;

#define SOURCE_WAIT_NS (50 * NS_PER_MS)
/* Where all turned out to be in use, nobody of that source begins to wait for so long. */
#define SOURCE_AGAIN_NS (10 * NS_PER_MS)
/* Of one worker at the same time: each has a descriptor and a session, but no slot. */
#define SOURCE_WAITS_MAX 16

/* The session's source has reached its limit. 0: it waits, in SESSION_HELD. -EAGAIN: there is room again.
 * -EDQUOT: it is to be refused. It has its extra; the caller sets its timer. */
int source_wait_begin(struct session *s);
/* The session closes, or its time is over: it waits no more. True when it has been given a place meanwhile,
 * which is its own now. Harmless for who does not wait. */
bool source_wait_end(struct session *s);

/* MAIL_LOOK: somebody waits for a session here that may be ending. */
void source_wait_look(struct worker *w);
/* The end of a turn in which `w->look_turns` is not 0. */
void source_wait_turned(struct worker *w);
/* The wait of a session is over: `has_place` in its source. */
typedef void source_wait_over(struct session *s, bool has_place);
/* MAIL_PLACES: somebody here was given a place, or all that were asked have looked. */
void source_wait_take(struct worker *w, source_wait_over *over);

#endif
