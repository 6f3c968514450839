/* SPDX-License-Identifier: MIT
 *
 * fuzz_proxy_in.c - any bytes as a PROXY header: two readers agree, however the bytes are cut.
 *
 * The first byte of the input seeds the cuts. A libFuzzer target; replay.c runs it without one.
 */
#include <stdint.h>
#include <stdio.h>

#include "slow_proxy.h"
#include "weir/base/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t next_cut(void *arg)
{
	uint32_t *state = arg;

	*state = *state * 1664525u + 1013904223u;
	return *state >> 16 & (*state >> 30 == 0 ? 255 : 7);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *differs;
	uint8_t *bytes;
	uint32_t state;

	if (size < 2)
		return 0;
	/* A copy of exactly that size, so that a sanitizer sees each byte too many that is read. */
	bytes = malloc(size - 1);
	check(bytes != NULL);
	memcpy(bytes, data + 1, size - 1);
	state = data[0];
	differs = slow_compare(bytes, size - 1);
	if (differs != NULL)
		fprintf(stderr, "%s differs\n", differs);
	check(differs == NULL);
	check(slow_is_cut_proof(bytes, size - 1, next_cut, &state));
	free(bytes);
	return 0;
}
