/* SPDX-License-Identifier: MIT
 *
 * crowd_sticky.h - clients that keep their server do; see crowd_sticky.c. One thread. Tests only.
 */
#ifndef SIM_CROWD_STICKY_H
#define SIM_CROWD_STICKY_H

void crowd_sticky_begin(void);
/* Control has had a turn: what it changed may move clients until the next judgement. */
void crowd_sticky_note_control(void);
/* Between two turns. */
void crowd_sticky_judge(void);

#endif
