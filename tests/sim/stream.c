/* SPDX-License-Identifier: MIT
 *
 * stream.c - keyed bytes, see stream.h.
 *
 * Owns the table; refuses nothing. One thread. Tests only.
 */
#include "stream.h"

#include "prng.h"

uint8_t stream_table[2 * STREAM_PERIOD];

static const char *head = "";
static size_t head_len;
static uint32_t head_keys;

void stream_init(void)
{
	struct prng r = {.state = 42};

	for (size_t i = 0; i < STREAM_PERIOD; i++) {
		stream_table[i] = (uint8_t)prng_next(&r);
		stream_table[i + STREAM_PERIOD] = stream_table[i];
	}
}

void stream_set_head(const char *text, uint32_t keys)
{
	head = text;
	head_len = strlen(text);
	head_keys = keys;
}

/* How many of `len` bytes are of the head. */
static size_t in_head(uint32_t key, uint32_t off, size_t len)
{
	if (key == 0 || key > head_keys || off >= head_len)
		return 0;
	return len < head_len - off ? len : head_len - off;
}

void stream_fill(uint32_t key, uint32_t off, uint8_t *out, size_t len)
{
	const size_t first = in_head(key, off, len);

	memcpy(out, head + (first > 0 ? off : 0), first);
	out += first;
	off += (uint32_t)first;
	len -= first;
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
	const size_t first = in_head(key, off, len);

	if (first > 0 && memcmp(in, head + off, first) != 0)
		return false;
	in += first;
	off += (uint32_t)first;
	len -= first;
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
