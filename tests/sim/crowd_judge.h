/* SPDX-License-Identifier: MIT
 *
 * crowd_judge.h - what workers share adds up, and nobody waits for what is there; see crowd_judge.c.
 *
 * One thread. Tests only.
 */
#ifndef SIM_CROWD_JUDGE_H
#define SIM_CROWD_JUDGE_H

/* A seed begins. */
void crowd_judge_begin(void);
/* No worker and no control is in the middle of a turn. */
void crowd_judge(void);
/* And nobody will have one any more. */
void crowd_judge_rest(void);

#endif
