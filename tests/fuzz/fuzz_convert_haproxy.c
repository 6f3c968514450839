/* SPDX-License-Identifier: MIT
 *
 * fuzz_convert_haproxy.c - any bytes as a configuration of HAProxy: see convert_fuzz.h.
 *
 * A libFuzzer target; replay.c runs it over the corpus without one.
 */
#include "convert_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	convert_fuzz(CONVERT_HAPROXY, data, size);
	return 0;
}
