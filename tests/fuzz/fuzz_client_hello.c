/* SPDX-License-Identifier: MIT
 *
 * fuzz_client_hello.c - any bytes as a TLS ClientHello: two readers agree, however the bytes are cut.
 *
 * The first byte of the input seeds the cuts. The second one, unless it is 0, is the size of the records into
 * which the rest is put; otherwise the rest is the bytes on the wire, record headers included. A libFuzzer
 * target; replay.c runs it without one.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slow_hello.h"
#include "weir/base/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t next_cut(void *arg)
{
	uint32_t *state = arg;

	*state = *state * 1664525u + 1013904223u;
	return 1 + (*state >> 16 & (*state >> 30 == 0 ? 255 : 7));
}

/* Puts the bytes into records. Returns their length. */
static size_t write_records(const uint8_t *data, size_t len, size_t record, uint8_t *out)
{
	size_t out_len = 0;

	while (len > 0) {
		const size_t one = len < record ? len : record;

		memcpy(out + out_len, "\x16\x03\x01\0", 4);
		out[out_len + 4] = (uint8_t)one;
		memcpy(out + out_len + 5, data, one);
		out_len += 5 + one;
		data += one;
		len -= one;
	}
	return out_len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct slow_hello slow;
	const char *differs;
	uint8_t *bytes, *exact;
	uint32_t state;
	size_t len;

	if (size < 2)
		return 0;
	bytes = malloc(6 * size);
	check(bytes != NULL);
	state = data[0];
	if (data[1] == 0) {
		len = size - 2;
		memcpy(bytes, data + 2, len);
	} else {
		len = write_records(data + 2, size - 2, data[1], bytes);
	}
	/* Of exactly that size, so that a sanitizer sees each byte too many that is read. */
	exact = realloc(bytes, len > 0 ? len : 1);
	check(exact != NULL);
	differs = slow_compare(exact, len, next_cut, &state, &slow);
	if (differs != NULL)
		fprintf(stderr, "%s differs\n", differs);
	check(differs == NULL);
	free(exact);
	return 0;
}
