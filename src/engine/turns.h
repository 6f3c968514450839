/* SPDX-License-Identifier: MIT
 *
 * turns.h - how long the turns of the workers' loops take, while control wants to know.
 */
#ifndef WEIR_ENGINE_TURNS_H
#define WEIR_ENGINE_TURNS_H

#include "worker.h"

/* One turn of the loop of `w`, measured if control watches. The worker's thread. */
void turns_take(struct worker *w);

#endif
