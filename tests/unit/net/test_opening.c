/* SPDX-License-Identifier: MIT
 *
 * test_opening.c - HTTP and SSH by their first bytes, whole and byte by byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/net/opening.h"

/* The same answer whether the bytes arrive at once or one by one. */
static enum opening read_text(const char *text)
{
	const uint8_t *bytes = (const uint8_t *)text;
	const size_t len = strlen(text);
	struct opening_reader whole, slow;
	enum opening at_once, found = OPENING_MORE;

	opening_begin(&whole);
	opening_begin(&slow);
	at_once = opening_read(&whole, bytes, len);
	for (size_t i = 1; i <= len && found == OPENING_MORE; i++)
		found = opening_read(&slow, bytes, i);
	assert_int_equal(at_once, found);
	return found;
}

static void a_request_line_is_http(void **state)
{
	(void)state;
	assert_int_equal(read_text("GET / HTTP/1.1\r\n"), OPENING_HTTP);
	assert_int_equal(read_text("GET / HTTP/1"), OPENING_HTTP);
	assert_int_equal(read_text("GET / HTTP/"), OPENING_MORE);
	assert_int_equal(read_text("PRI * HTTP/2.0\r\n"), OPENING_HTTP);
	assert_int_equal(read_text("M-SEARCH * HTTP/1.1"), OPENING_HTTP);
	assert_int_equal(read_text("CONNECT a:443 HTTP/1.1"), OPENING_HTTP);
	assert_int_equal(read_text("OPTIONS http://a.example/x?y=1 HTTP/1.1"), OPENING_HTTP);
	assert_int_equal(read_text("SSH-X / HTTP/1.1"), OPENING_HTTP);
}

static void an_identification_is_ssh(void **state)
{
	(void)state;
	assert_int_equal(read_text("SSH-2.0-OpenSSH_9.2\r\n"), OPENING_SSH);
	assert_int_equal(read_text("SSH-1.99-x"), OPENING_SSH);
	assert_int_equal(read_text("SSH-2"), OPENING_SSH);
	assert_int_equal(read_text("SSH-"), OPENING_MORE);
	assert_int_equal(read_text("SSH2-"), OPENING_NEITHER);
	assert_int_equal(read_text("SSH--2"), OPENING_NEITHER);
}

static void anything_else_is_neither(void **state)
{
	(void)state;
	assert_int_equal(read_text("HELO a.example\r\n"), OPENING_NEITHER);
	assert_int_equal(read_text("GET /\r\n"), OPENING_NEITHER);
	assert_int_equal(read_text("GET  / HTTP/1.1"), OPENING_NEITHER);
	assert_int_equal(read_text("GET / HTTPS"), OPENING_NEITHER);
	assert_int_equal(read_text("GET / HTTP/x"), OPENING_NEITHER);
	assert_int_equal(read_text(" / HTTP/1.1"), OPENING_NEITHER);
	assert_int_equal(read_text("get / HTTP/1.1"), OPENING_NEITHER);
	assert_int_equal(read_text("\r\nGET / HTTP/1.1"), OPENING_NEITHER);
	assert_int_equal(read_text("\x16\x03\x01"), OPENING_NEITHER);
	assert_int_equal(read_text("ABCDEFGHIJKLMNOPQRSTUVWX"), OPENING_MORE);
	assert_int_equal(read_text("ABCDEFGHIJKLMNOPQRSTUVWXY"), OPENING_NEITHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_line_is_http),
		cmocka_unit_test(an_identification_is_ssh),
		cmocka_unit_test(anything_else_is_neither),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
