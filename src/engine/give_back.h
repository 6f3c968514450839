/* SPDX-License-Identifier: MIT
 *
 * give_back.h - what a worker gives back when nothing needs it: pipes, buffers, memory of sessions.
 *
 * All of it ages alike (shelf.h): what stays unused for more than one `pipe-cycle` is given back. The timer
 * is set only while something is unused, so that an idle worker sleeps. A worker's thread.
 */
#ifndef WEIR_ENGINE_GIVE_BACK_H
#define WEIR_ENGINE_GIVE_BACK_H

struct worker;

void give_back_init(struct worker *w);
/* Called at the end of a turn: sets the timer if something is unused. */
void give_back_arm(struct worker *w);

#endif
