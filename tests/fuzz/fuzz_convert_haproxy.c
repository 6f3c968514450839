/* SPDX-License-Identifier: MIT
 *
 * fuzz_convert_haproxy.c - any bytes as a configuration of HAProxy: see convert_fuzz.h.
 *
 * A libFuzzer target; replay.c runs it over the corpus without one.
 */
#include "convert_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Lines that HAProxy has passwords in; the last section takes whatever follows. */
static const char secrets[] = "userlist zz\n"
			      " user zz insecure-password " FUZZ_SECRET "\n"
			      " user zy password " FUZZ_SECRET "\n"
			      "listen zz\n"
			      " bind :1\n"
			      " stats auth zz:" FUZZ_SECRET "\n"
			      " stats uri /" "\n"
			      "backend zy\n"
			      " option tcp-check\n"
			      " tcp-check send AUTH\\ " FUZZ_SECRET "\\r\\n\n"
			      " tcp-check send \"PASS " FUZZ_SECRET "\"\n"
			      " server a 10.0.0.1:1 check agent-send password=" FUZZ_SECRET "\n"
			      "backend zx\n"
			      " option httpchk GET /?token=" FUZZ_SECRET "\n"
			      " http-check send hdr Authorization " FUZZ_SECRET "\n"
			      " http-request set-header Authorization \"Basic " FUZZ_SECRET "\"\n"
			      " server a 10.0.0.1:1 check\n"
			      "global\n"
			      " setenv DB_PASS " FUZZ_SECRET "\n"
			      "# password: " FUZZ_SECRET "\n"
			      "defaults\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	convert_fuzz(CONVERT_HAPROXY, secrets, data, size);
	return 0;
}
