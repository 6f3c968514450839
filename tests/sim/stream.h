/* SPDX-License-Identifier: MIT
 *
 * stream.h - keyed bytes: the value of a byte tells its stream (the key) and its offset.
 *
 * Owns one table of random bytes, made once. The period is a prime, so that no power of two of
 * lost or repeated bytes goes unseen. Some streams may begin with a text instead. One thread. Tests only.
 */
#ifndef SIM_STREAM_H
#define SIM_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define STREAM_PERIOD 65521u

/* Twice the period, so that a piece of up to one period is contiguous. */
extern uint8_t stream_table[2 * STREAM_PERIOD];

void stream_init(void);

/* The bytes `off` to `off` + at most STREAM_PERIOD - 1 of stream `key`, behind its head. */
static inline const uint8_t *stream_at(uint32_t key, uint32_t off)
{
	return stream_table + (((uint64_t)key * 7919u + off) % STREAM_PERIOD);
}

/* From now on the streams 1 to `keys` begin with `text`, which lives as long; "" = none does. */
void stream_set_head(const char *text, uint32_t keys);
void stream_fill(uint32_t key, uint32_t off, uint8_t *out, size_t len);
/* True when `in` is exactly those bytes. */
bool stream_match(uint32_t key, uint32_t off, const uint8_t *in, size_t len);

#endif
