/* SPDX-License-Identifier: MIT
 *
 * rounds.h - workers pass the rounds of retirement (base/retire.h).
 *
 * A worker passes at the end of a turn in which it has read the letters that it had when it heard of the
 * round. It holds nothing across the end of a turn but what it counts. One that sleeps is woken, once for
 * each round; one that has ended has passed all of them.
 */
#ifndef WEIR_ENGINE_ROUNDS_H
#define WEIR_ENGINE_ROUNDS_H

#include <stdint.h>

struct engine;
struct worker;

/* A value of `passed`: the worker has ended. */
#define ROUNDS_ENDED UINT64_MAX

/* Prepares e->live. Control thread. */
void rounds_init(struct engine *e);
/* MAIL_ROUND arrived, before its letters are read. The worker's thread. */
void rounds_heard(struct worker *w);
/* The end of a turn after that. The worker's thread. */
void rounds_pass(struct worker *w);
/* It has no session, no letter and no listener any more. The worker's thread. */
void rounds_end(struct worker *w);

#endif
