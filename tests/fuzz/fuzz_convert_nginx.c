/* SPDX-License-Identifier: MIT
 *
 * fuzz_convert_nginx.c - any bytes as a configuration of nginx: see convert_fuzz.h.
 *
 * A libFuzzer target; replay.c runs it over the corpus without one.
 */
#include "convert_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Lines that nginx has passwords in. */
static const char secrets[] = "http { server {\n"
			      "# password " FUZZ_SECRET "\n"
			      "set $db_password " FUZZ_SECRET ";\n"
			      "proxy_set_header Authorization \"Basic " FUZZ_SECRET "\";\n"
			      "fastcgi_param DB_PASSWORD " FUZZ_SECRET ";\n"
			      "proxy_pass http://user:" FUZZ_SECRET "@10.0.0.1/;\n"
			      "return 302 /?token=" FUZZ_SECRET ";\n"
			      "} }\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	convert_fuzz(CONVERT_NGINX, secrets, data, size);
	return 0;
}
