/* SPDX-License-Identifier: MIT
 *
 * test_probe_hello.c - answers to a ClientHello: whole, cut anywhere, byte by byte, and with any byte wrong.
 *
 * Our own reader of such messages reads what we send.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/net/client_hello.h"
#include "health/probe_hello.h"

#define ANSWER_MAX 700

struct answer {
	uint8_t bytes[ANSWER_MAX];
	size_t len;
};

static void add(struct answer *a, const void *bytes, size_t len)
{
	assert_true(len <= sizeof(a->bytes) - a->len);
	memcpy(a->bytes + a->len, bytes, len);
	a->len += len;
}

static void add_u16(struct answer *a, unsigned value)
{
	const uint8_t bytes[] = {(uint8_t)(value >> 8), (uint8_t)value};

	add(a, bytes, 2);
}

/* A record with a ServerHello: of `version`, with this suite and these extensions. */
static struct answer server_hello(const struct probe_hello *h, unsigned version, unsigned suite,
				  const void *extensions, size_t len)
{
	const size_t body = 2 + 32 + 1 + 32 + 2 + 1 + (len > 0 ? 2 + len : 0);
	struct answer a = {.len = 0};
	uint8_t random[32];

	memset(random, 0xa5, sizeof(random));
	add(&a, "\x16\x03\x03", 3);
	add_u16(&a, (unsigned)body + 4);
	add(&a, "\x02\0", 2);
	add_u16(&a, (unsigned)body);
	add_u16(&a, version);
	add(&a, random, 32);
	add(&a, "\x20", 1);
	add(&a, h->session, 32);
	add_u16(&a, suite);
	add(&a, "\0", 1);
	if (len > 0) {
		add_u16(&a, (unsigned)len);
		add(&a, extensions, len);
	}
	return a;
}

/* Two extensions: of TLS 1.3, its version behind something else. */
#define NEW "\0\x33\0\4abcd\0\x2b\0\2\3\4"
#define OLD "\xff\1\0\1\0"

static struct answer tls_1_3(const struct probe_hello *h)
{
	return server_hello(h, 0x0303, 0x1301, NEW, sizeof(NEW) - 1);
}

static struct answer tls_1_2(const struct probe_hello *h)
{
	return server_hello(h, 0x0303, 0xc02f, OLD, sizeof(OLD) - 1);
}

static size_t ask(struct probe_hello *h, const char *name, const char *alpn, uint8_t out[PROBE_HELLO_ROOM])
{
	const struct probe_hello_question q = {name, alpn};

	memset(h, 0x5a, sizeof(*h));
	probe_hello_init(h);
	return probe_hello_make(h, &q, out);
}

static void assert_answer(struct probe_hello *h, const struct answer *a, enum probe_answer wanted,
			  const char *detail)
{
	uint8_t *exact = malloc(a->len + (a->len == 0)); /* a sanitizer sees a read beyond it */

	assert_non_null(exact);
	memcpy(exact, a->bytes, a->len);
	probe_hello_init(h);
	(void)probe_hello_push(h, exact, a->len);
	free(exact);
	assert_int_equal(probe_hello_end(h), wanted);
	if (detail != NULL)
		assert_string_equal(h->detail, detail);
}

static void what_is_sent_is_a_hello_with_name_and_protocols(void **state)
{
	uint8_t out[PROBE_HELLO_ROOM];
	struct client_hello_reader reader;
	struct client_hello read;
	struct probe_hello h;
	size_t len = ask(&h, "www.example.com", "h2,http/1.1", out);

	(void)state;
	client_hello_begin(&reader);
	assert_int_equal(client_hello_read(&reader, out, len, &read), CLIENT_HELLO_WHOLE);
	assert_string_equal(read.name, "www.example.com");
	assert_true(client_hello_offers(&read, "h2", 2));
	assert_true(client_hello_offers(&read, "http/1.1", 8));
	len = ask(&h, NULL, NULL, out);
	client_hello_begin(&reader);
	assert_int_equal(client_hello_read(&reader, out, len, &read), CLIENT_HELLO_WHOLE);
	assert_int_equal(read.name_len, 0);
	assert_int_equal(read.alpn.left, 0);
}

static void the_longest_question_has_room(void **state)
{
	char name[254], alpn[201];
	uint8_t out[PROBE_HELLO_ROOM];
	struct probe_hello h;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	memset(alpn, 'p', sizeof(alpn) - 1);
	for (size_t i = 1; i < sizeof(alpn) - 1; i += 2)
		alpn[i] = ',';
	alpn[sizeof(alpn) - 2] = 'p';
	name[sizeof(name) - 1] = alpn[sizeof(alpn) - 1] = '\0';
	assert_in_range(ask(&h, name, alpn, out), 600, PROBE_HELLO_ROOM);
}

static void a_server_hello_is_good(void **state)
{
	uint8_t out[PROBE_HELLO_ROOM];
	struct probe_hello h;
	struct answer a;

	(void)state;
	(void)ask(&h, NULL, NULL, out);
	a = tls_1_3(&h);
	assert_answer(&h, &a, PROBE_ANSWER_GOOD, "TLS 1.3");
	a = tls_1_2(&h);
	assert_answer(&h, &a, PROBE_ANSWER_GOOD, "TLS 1.2");
	a = server_hello(&h, 0x0303, 0xc014, NULL, 0);
	assert_answer(&h, &a, PROBE_ANSWER_GOOD, "TLS 1.2");
	/* Whatever follows, even in the same record. */
	a = tls_1_2(&h);
	add(&a, "anything", 8);
	a.bytes[4] += 8;
	assert_answer(&h, &a, PROBE_ANSWER_GOOD, "TLS 1.2");
}

static void what_is_not_good_has_a_reason(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		enum probe_answer answer;
		const char *detail;
	} rows[] = {
#define ROW(text, answer, detail) {text, sizeof(text) - 1, answer, detail}
		ROW("", PROBE_ANSWER_BROKEN, "connection closed without an answer"),
		ROW("\x15\3\3\0\2\2\x28", PROBE_ANSWER_REFUSED, "TLS alert: handshake failure"),
		ROW("\x15\3\1\0\2\2\x46", PROBE_ANSWER_REFUSED, "TLS alert: protocol version"),
		ROW("\x15\3\3\0\2\1\x63", PROBE_ANSWER_REFUSED, "TLS alert 99"),
		ROW("\x15\3\3\0\2\2", PROBE_ANSWER_BROKEN, "the answer ends too early"),
		ROW("\x15\3\3\0\3\2\x28\0", PROBE_ANSWER_BROKEN, "the answer is not TLS"),
		ROW("HTTP/1.1 400 Bad Request\r\n", PROBE_ANSWER_BROKEN, "the answer is not TLS"),
		ROW("\x16\3\5", PROBE_ANSWER_BROKEN, "the answer is not TLS"),
		ROW("\x16\3\3\0\0", PROBE_ANSWER_BROKEN, "the answer is not TLS"),
		ROW("\x16\3\3\x40\1", PROBE_ANSWER_BROKEN, "the answer is not TLS"),
		ROW("\x16\3\3\0\4\x0e", PROBE_ANSWER_BROKEN, "the answer is not a ServerHello"),
		ROW("\x16\3\3\0\4\2\0\0\x25", PROBE_ANSWER_BROKEN, "the ServerHello is malformed"),
		ROW("\x16\3\3\0\4\2\0\1\xfd", PROBE_ANSWER_BROKEN, "the ServerHello is malformed"),
		ROW("\x16\3\3\0\4\2\xff\xff\xff", PROBE_ANSWER_BROKEN, "the ServerHello is malformed"),
	};
	struct probe_hello h;
	uint8_t out[PROBE_HELLO_ROOM];

	(void)state;
	(void)ask(&h, NULL, NULL, out);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct answer a = {.len = rows[i].len};

		memcpy(a.bytes, rows[i].bytes, a.len);
		assert_answer(&h, &a, rows[i].answer, rows[i].detail);
	}
}

static void old_versions_and_other_suites_are_not_good(void **state)
{
	static const char twice_wrong[] = "\0\x2b\0\2\3\3";
	uint8_t out[PROBE_HELLO_ROOM];
	struct probe_hello h;
	struct answer a;

	(void)state;
	(void)ask(&h, NULL, NULL, out);
	a = server_hello(&h, 0x0302, 0xc014, NULL, 0);
	assert_answer(&h, &a, PROBE_ANSWER_REFUSED, "the server speaks no TLS newer than 1.1");
	a = server_hello(&h, 0x0303, 0x009f, NULL, 0); /* DHE */
	assert_answer(&h, &a, PROBE_ANSWER_BROKEN, "the ServerHello is malformed");
	a = server_hello(&h, 0x0303, 0x1301, NULL, 0); /* of TLS 1.3 */
	assert_answer(&h, &a, PROBE_ANSWER_BROKEN, NULL);
	a = server_hello(&h, 0x0303, 0xc02f, NEW, sizeof(NEW) - 1);
	assert_answer(&h, &a, PROBE_ANSWER_BROKEN, NULL);
	a = server_hello(&h, 0x0303, 0x1301, twice_wrong, sizeof(twice_wrong) - 1);
	assert_answer(&h, &a, PROBE_ANSWER_BROKEN, NULL);
	a = server_hello(&h, 0x0304, 0x1301, NULL, 0);
	assert_answer(&h, &a, PROBE_ANSWER_BROKEN, NULL);
}

/* As many records as bytes. */
static void fragments_are_put_together(void **state)
{
	uint8_t out[PROBE_HELLO_ROOM];
	struct probe_hello h;
	struct answer a;

	(void)state;
	(void)ask(&h, NULL, NULL, out);
	a = tls_1_3(&h);
	probe_hello_init(&h);
	for (size_t i = 5; i < a.len; i++) {
		const uint8_t record[] = {0x16, 3, 3, 0, 1, a.bytes[i]};

		assert_int_equal(h.answer, PROBE_ANSWER_MORE);
		(void)probe_hello_push(&h, record, sizeof(record));
	}
	assert_int_equal(h.answer, PROBE_ANSWER_GOOD);
	/* An alert between two of them is the answer. */
	probe_hello_init(&h);
	(void)probe_hello_push(&h, (const uint8_t *)"\x16\3\3\0\1\2\x15\3\3\0\2\2\x50", 13);
	assert_int_equal(h.answer, PROBE_ANSWER_REFUSED);
	assert_string_equal(h.detail, "TLS alert: internal error");
}

static void each_cut_is_early_and_each_single_byte_is_the_same(void **state)
{
	uint8_t out[PROBE_HELLO_ROOM];
	struct probe_hello h;
	struct answer a;

	(void)state;
	(void)ask(&h, NULL, NULL, out);
	a = tls_1_3(&h);
	for (size_t cut = 1; cut < a.len; cut++) {
		struct answer part = a;

		part.len = cut;
		assert_answer(&h, &part, PROBE_ANSWER_BROKEN, "the answer ends too early");
	}
	probe_hello_init(&h);
	for (size_t i = 0; i < a.len; i++) {
		assert_int_equal(h.answer, PROBE_ANSWER_MORE);
		(void)probe_hello_push(&h, &a.bytes[i], 1);
	}
	assert_int_equal(probe_hello_end(&h), PROBE_ANSWER_GOOD);
}

/* What a wrong byte may not do is to read beyond the end, or to leave the answer open. */
static void every_byte_may_be_wrong(void **state)
{
	uint8_t out[PROBE_HELLO_ROOM];
	struct probe_hello h;
	size_t good = 0, tried = 0;

	(void)state;
	(void)ask(&h, NULL, NULL, out);
	for (int old = 0; old < 2; old++) {
		const struct answer a = old ? tls_1_2(&h) : tls_1_3(&h);

		for (size_t i = 0; i < a.len; i++) {
			for (unsigned byte = 0; byte < 256; byte++) {
				struct answer wrong = a;

				wrong.bytes[i] = (uint8_t)byte;
				probe_hello_init(&h);
				(void)probe_hello_push(&h, wrong.bytes, wrong.len);
				(void)probe_hello_end(&h);
				assert_int_not_equal(h.answer, PROBE_ANSWER_MORE);
				assert_int_not_equal(h.detail[0], '\0');
				good += h.answer == PROBE_ANSWER_GOOD;
				tried++;
			}
		}
	}
	/* The random bytes, the session id of TLS 1.2, contents of extensions that we do not look at. */
	assert_in_range(good, 96 * 256, tried * 2 / 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_sent_is_a_hello_with_name_and_protocols),
		cmocka_unit_test(the_longest_question_has_room),
		cmocka_unit_test(a_server_hello_is_good),
		cmocka_unit_test(what_is_not_good_has_a_reason),
		cmocka_unit_test(old_versions_and_other_suites_are_not_good),
		cmocka_unit_test(fragments_are_put_together),
		cmocka_unit_test(each_cut_is_early_and_each_single_byte_is_the_same),
		cmocka_unit_test(every_byte_may_be_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
