/* SPDX-License-Identifier: MIT
 *
 * fuzz_convert_nginx.c - any bytes as a configuration of nginx: see convert_fuzz.h.
 *
 * A libFuzzer target; replay.c runs it over the corpus without one.
 */
#include "convert_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	convert_fuzz(CONVERT_NGINX, data, size);
	return 0;
}
