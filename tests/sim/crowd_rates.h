/* SPDX-License-Identifier: MIT
 *
 * crowd_rates.h - no source gets more connections than rate-limit-per-source allows.
 *
 * For seeds in which all clients are one source. One thread. Tests only.
 */
#ifndef SIM_CROWD_RATES_H
#define SIM_CROWD_RATES_H

#define CROWD_SLOTS 256 /* numbers of objects are below */

struct frontend;

void crowd_rates_begin(void);
/* After a turn, for each frontend, whose number is `slot`. */
void crowd_rates_judge(const struct frontend *fe, unsigned slot);

#endif
