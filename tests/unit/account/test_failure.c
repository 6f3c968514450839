/* SPDX-License-Identifier: MIT
 *
 * test_failure.c - the ring of the last failures: what it keeps, what a reader sees beside a writer.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/account/close_reason.h"
#include "weir/account/failure.h"

#define RACES 200000u

static struct failure_ring *new_ring(void)
{
	struct failure_ring *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	return r;
}

static struct failure numbered(uint64_t n)
{
	struct failure f;

	memset(&f, 0, sizeof(f));
	f.at_ns = (int64_t)n;
	f.bytes_to_server = n;
	f.number = (uint32_t)n;
	f.tries = (uint8_t)n;
	memset(f.server, 'a' + (int)(n % 26), sizeof(f.server) - 1);
	return f;
}

/* All parts are of the same failure. */
static void assert_whole(const struct failure *f, uint64_t n)
{
	const struct failure want = numbered(n);

	assert_memory_equal(f, &want, sizeof(want));
}

static void the_last_ones_are_kept(void **state)
{
	struct failure_ring *r = new_ring();
	struct failure f;

	(void)state;
	assert_int_equal(failure_count(r), 0);
	assert_false(failure_get(r, 0, &f));
	for (uint64_t n = 0; n < FAILURES_KEPT + 3; n++) {
		f = numbered(n);
		failure_add(r, &f);
		assert_true(failure_get(r, n, &f));
		assert_whole(&f, n);
		assert_false(failure_get(r, n + 1, &f));
	}
	assert_int_equal(failure_count(r), FAILURES_KEPT + 3);
	for (uint64_t n = 0; n < FAILURES_KEPT + 3; n++)
		assert_int_equal(failure_get(r, n, &f), n >= 3);
	free(r);
}

static void *add_many(void *arg)
{
	struct failure_ring *r = arg;

	for (uint64_t n = 0; n < RACES; n++) {
		const struct failure f = numbered(n);

		failure_add(r, &f);
	}
	return NULL;
}

/* Worth most under the thread sanitizer. */
static void a_reader_never_sees_parts_of_two(void **state)
{
	struct failure_ring *r = new_ring();
	uint64_t seen = 0, count = 0;
	pthread_t writer;
	struct failure f;

	(void)state;
	assert_int_equal(pthread_create(&writer, NULL, add_many, r), 0);
	while (count < RACES) {
		count = failure_count(r);
		for (uint64_t n = count > FAILURES_KEPT ? count - FAILURES_KEPT : 0; n < count; n++) {
			if (!failure_get(r, n, &f))
				continue;
			assert_whole(&f, n);
			seen++;
		}
	}
	assert_int_equal(pthread_join(writer, NULL), 0);
	assert_true(seen >= FAILURES_KEPT);
	free(r);
}

static void a_failure_is_a_line_and_an_object(void **state)
{
	struct failure f;
	struct text out;
	struct json json;

	(void)state;
	memset(&f, 0, sizeof(f));
	f.age_ns = 1500000000;
	f.client = (struct addr_brief){.family = AF_INET, .port = 4711, .ip = {192, 0, 2, 1}};
	f.server_address.in.sin_family = AF_INET;
	f.server_address.in.sin_port = htons(80);
	f.server_address.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	f.server_address.len = sizeof(f.server_address.in);
	f.err = ECONNREFUSED;
	f.phase = FAILURE_CONNECT;
	f.reason = CLOSE_CONNECT_REFUSED;
	f.tries = 2;
	f.worker = 1;
	f.number = 7;
	memcpy(f.frontend, "web", 4);
	memcpy(f.backend, "app", 4);
	memcpy(f.server, "a", 2);
	text_init(&out);
	failure_show(&f, INT64_C(1500000000123456789), &out);
	assert_string_equal(out.bytes,
			    "2017-07-14T02:40:00.123Z phase=connect client=192.0.2.1:4711 frontend=web "
			    "backend=app server=a server_address=127.0.0.1:80 errno=ECONNREFUSED "
			    "reason=connect_refused try=2 age_s=1.500 bytes_in=0 bytes_out=0 id=1.7 "
			    "error=\"Connection refused\"\n");
	text_free(&out);
	json_init(&json, &out, JSON_CODES);
	failure_show_json(&f, INT64_C(1500000000123456789), &json);
	assert_string_equal(out.bytes,
			    "{\"time\":\"2017-07-14T02:40:00.123Z\",\"phase\":\"connect\","
			    "\"client\":\"192.0.2.1:4711\",\"frontend\":\"web\",\"backend\":\"app\","
			    "\"server\":\"a\",\"server_address\":\"127.0.0.1:80\","
			    "\"errno\":\"ECONNREFUSED\",\"error\":\"Connection refused\","
			    "\"reason\":\"connect_refused\",\"try\":2,\"age_s\":1.500,\"bytes_in\":0,"
			    "\"bytes_out\":0,\"id\":\"1.7\"}");
	text_free(&out);
}

static void what_there_was_not_is_a_dash(void **state)
{
	struct failure f;
	struct text out;

	(void)state;
	memset(&f, 0, sizeof(f));
	f.phase = FAILURE_ADMISSION;
	f.reason = CLOSE_DENIED;
	memcpy(f.frontend, "web", 4);
	text_init(&out);
	failure_show(&f, 0, &out);
	assert_string_equal(out.bytes,
			    "- phase=admission client=- frontend=web backend=- server=- server_address=- "
			    "errno=- reason=denied try=0 age_s=0.000 bytes_in=0 bytes_out=0 id=0.0 "
			    "error=\"not allowed from this address\"\n");
	text_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_ones_are_kept),
		cmocka_unit_test(a_reader_never_sees_parts_of_two),
		cmocka_unit_test(a_failure_is_a_line_and_an_object),
		cmocka_unit_test(what_there_was_not_is_a_dash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
