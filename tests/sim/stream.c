/* SPDX-License-Identifier: MIT
 *
 * stream.c - keyed bytes, see stream.h.
 *
 * Owns the table; refuses nothing. One thread. Tests only.
 */
#include "stream.h"

#include "prng.h"

uint8_t stream_table[2 * STREAM_PERIOD];

void stream_init(void)
{
	struct prng r = {.state = 42};

	for (size_t i = 0; i < STREAM_PERIOD; i++) {
		stream_table[i] = (uint8_t)prng_next(&r);
		stream_table[i + STREAM_PERIOD] = stream_table[i];
	}
}

void stream_fill(uint32_t key, uint32_t off, uint8_t *out, size_t len)
{
	while (len > 0) {
		const size_t n = len < STREAM_PERIOD ? len : STREAM_PERIOD;

		memcpy(out, stream_at(key, off), n);
		out += n;
		off += (uint32_t)n;
		len -= n;
	}
}

bool stream_match(uint32_t key, uint32_t off, const uint8_t *in, size_t len)
{
	while (len > 0) {
		const size_t n = len < STREAM_PERIOD ? len : STREAM_PERIOD;

		if (memcmp(in, stream_at(key, off), n) != 0)
			return false;
		in += n;
		off += (uint32_t)n;
		len -= n;
	}
	return true;
}
