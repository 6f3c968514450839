/* SPDX-License-Identifier: MIT
 *
 * seed.h - random numbers that nobody can guess from afar, as keys and seeds of hashes. Any thread.
 */
#ifndef WEIR_BASE_SEED_H
#define WEIR_BASE_SEED_H

#include <stddef.h>
#include <stdint.h>

/* getrandom(2). Early after boot, when there is no entropy, numbers that a remote attacker cannot guess. Does
 * not block or fail. */
void seed_make(uint64_t *words, size_t count);

#endif
