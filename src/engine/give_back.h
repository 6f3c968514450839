/* SPDX-License-Identifier: MIT
 *
 * give_back.h - what a worker gives back when nobody needs it: pipes, buffers, memory of sessions.
 *
 * All of it ages alike (shelf.h): what rests unused for more than one `pipe-cycle` goes. The timer is set
 * only while something rests, so that an idle worker sleeps. A worker's thread.
 */
#ifndef WEIR_ENGINE_GIVE_BACK_H
#define WEIR_ENGINE_GIVE_BACK_H

struct worker;

void give_back_init(struct worker *w);
/* At the end of a turn: sets the timer if something rests. */
void give_back_arm(struct worker *w);

#endif
