/* SPDX-License-Identifier: MIT
 *
 * test_probe_http.c - answers to HTTP checks, whole, cut anywhere, and byte by byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/config/config.h"
#include "health/probe_http.h"

#define A200 "HTTP/1.1 200 x\r\n"
#define CHUNKED A200 "Transfer-Encoding: chunked\r\n\r\n"
#define LONG_100                                                                                             \
	"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"

static struct config_status_range only_204[] = {{204, 204}};
static struct config_status_range some[] = {{200, 299}, {401, 401}};

static struct config_check plain;
static struct config_check body = {.body = (char *)(uintptr_t)"OK"};
static struct config_check head_body = {.method = (char *)(uintptr_t)"HEAD", .body = (char *)(uintptr_t)"OK"};
static struct config_check in_204 = {.statuses = only_204, .status_count = 1};
static struct config_check in_some = {.statuses = some, .status_count = 2};
static struct config_check both = {
	.statuses = some, .status_count = 2, .body = (char *)(uintptr_t)"OK"};

static struct config_check soft = {.statuses = some, .status_count = 2, .soft_stop = 401,
				   .body = (char *)(uintptr_t)"OK"};

/* What is known while the connection is open, and at its end. */
static const struct row {
	const struct config_check *config;
	const char *answer;
	enum probe_http_verdict before, after;
	unsigned status;
} rows[] = {
	/* The status. */
	{&plain, "HTTP/1.0 200 OK\r\n\r\n", PROBE_HTTP_GOOD, PROBE_HTTP_GOOD, 200},
	{&plain, "HTTP/1.1 200\r\n\r\n", PROBE_HTTP_GOOD, PROBE_HTTP_GOOD, 200},
	{&plain, "HTTP/1.1 200 \nServer: x\n\n", PROBE_HTTP_GOOD, PROBE_HTTP_GOOD, 200},
	{&plain, "HTTP/1.1 399 x\r\n\r\nrest", PROBE_HTTP_GOOD, PROBE_HTTP_GOOD, 399},
	{&plain, "HTTP/1.1 400 x\r\n\r\n", PROBE_HTTP_BAD_STATUS, PROBE_HTTP_BAD_STATUS, 400},
	{&plain, "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n\r\n", PROBE_HTTP_BAD_STATUS,
	 PROBE_HTTP_BAD_STATUS, 503},
	{&plain, "HTTP/1.1 199 x\r\n\r\n", PROBE_HTTP_MORE, PROBE_HTTP_BROKEN, 0},
	{&plain, "HTTP/1.1 101 x\r\n\r\n", PROBE_HTTP_BAD_STATUS, PROBE_HTTP_BAD_STATUS, 101},
	{&plain, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
	 PROBE_HTTP_GOOD, PROBE_HTTP_GOOD, 204},
	{&in_204, "HTTP/1.1 200 OK\r\n\r\n", PROBE_HTTP_BAD_STATUS, PROBE_HTTP_BAD_STATUS, 200},
	{&in_204, "HTTP/1.1 204 x\r\n\r\n", PROBE_HTTP_GOOD, PROBE_HTTP_GOOD, 204},
	{&in_some, "HTTP/1.1 401 x\r\n\r\n", PROBE_HTTP_GOOD, PROBE_HTTP_GOOD, 401},
	{&in_some, "HTTP/1.1 300 x\r\n\r\n", PROBE_HTTP_BAD_STATUS, PROBE_HTTP_BAD_STATUS, 300},
	{&soft, "HTTP/1.1 401 x\r\n\r\n", PROBE_HTTP_SOFT_STOP, PROBE_HTTP_SOFT_STOP, 401},
	{&soft, "HTTP/1.1 404 x\r\n\r\n", PROBE_HTTP_BAD_STATUS, PROBE_HTTP_BAD_STATUS, 404},
	{&soft, "HTTP/1.1 200 x\r\n\r\nOK", PROBE_HTTP_GOOD, PROBE_HTTP_GOOD, 200},
	/* What is no answer. */
	{&plain, "", PROBE_HTTP_MORE, PROBE_HTTP_BROKEN, 0},
	{&plain, "HTTP/1.1 200 OK\r\n", PROBE_HTTP_MORE, PROBE_HTTP_BROKEN, 200},
	{&plain, "HTTP/1.1 200 OK", PROBE_HTTP_MORE, PROBE_HTTP_BROKEN, 0},
	{&plain, "SSH-2.0-x\r\n", PROBE_HTTP_BROKEN, PROBE_HTTP_BROKEN, 0},
	{&plain, "HTTQ", PROBE_HTTP_BROKEN, PROBE_HTTP_BROKEN, 0},
	{&plain, "HTTP/2.0 200 OK\r\n\r\n", PROBE_HTTP_BROKEN, PROBE_HTTP_BROKEN, 0},
	{&plain, "HTTP/1.1 20 OK\r\n\r\n", PROBE_HTTP_BROKEN, PROBE_HTTP_BROKEN, 0},
	{&plain, "HTTP/1.1 2000 OK\r\n\r\n", PROBE_HTTP_BROKEN, PROBE_HTTP_BROKEN, 0},
	{&plain, "HTTP/1.1 099 OK\r\n\r\n", PROBE_HTTP_BROKEN, PROBE_HTTP_BROKEN, 0},
	{&plain, "HTTP/1.1 2x0 OK\r\n\r\n", PROBE_HTTP_BROKEN, PROBE_HTTP_BROKEN, 0},
	{&plain, "\r\nHTTP/1.1 200 OK\r\n\r\n", PROBE_HTTP_BROKEN, PROBE_HTTP_BROKEN, 0},
	/* A string in the body, to the end of the connection. */
	{&body, "HTTP/1.0 200 x\r\n\r\nit is OK", PROBE_HTTP_GOOD, PROBE_HTTP_GOOD, 200},
	{&body, "HTTP/1.0 200 OK\r\n\r\nit is not", PROBE_HTTP_MORE, PROBE_HTTP_NOT_FOUND, 200},
	{&body, "HTTP/1.0 503 x\r\n\r\nOK", PROBE_HTTP_GOOD, PROBE_HTTP_GOOD, 503},
	{&both, "HTTP/1.0 503 x\r\n\r\nOK", PROBE_HTTP_BAD_STATUS, PROBE_HTTP_BAD_STATUS, 503},
	{&both, "HTTP/1.0 200 x\r\n\r\nOK", PROBE_HTTP_GOOD, PROBE_HTTP_GOOD, 200},
	/* The same with a length. */
	{&body, A200 "content-length: 2\r\n\r\nOK", PROBE_HTTP_GOOD, PROBE_HTTP_GOOD, 200},
	{&body, A200 "Content-Length:1\r\n\r\nOK", PROBE_HTTP_NOT_FOUND, PROBE_HTTP_NOT_FOUND, 200},
	{&body, A200 "Content-Length: 3 \r\n\r\nO", PROBE_HTTP_MORE, PROBE_HTTP_NOT_FOUND, 200},
	{&body, A200 "Content-Length: 0\r\n\r\n", PROBE_HTTP_NOT_FOUND, PROBE_HTTP_NOT_FOUND, 200},
	{&body, A200 "Content-Length: 1x\r\n\r\n", PROBE_HTTP_BROKEN, PROBE_HTTP_BROKEN, 200},
	{&body, A200 "Content-Length: -1\r\n\r\n", PROBE_HTTP_BROKEN, PROBE_HTTP_BROKEN, 200},
	{&body, A200 "Content-Length: 99999999999999999999\r\n\r\n", PROBE_HTTP_BROKEN,
	 PROBE_HTTP_BROKEN, 200},
	{&body, "HTTP/1.1 204 x\r\n\r\nOK", PROBE_HTTP_NOT_FOUND, PROBE_HTTP_NOT_FOUND, 204},
	{&head_body, A200 "Content-Length: 2\r\n\r\nOK", PROBE_HTTP_NOT_FOUND,
	 PROBE_HTTP_NOT_FOUND, 200},
	/* The same in chunks; a string may lie across them. */
	{&body, CHUNKED "1\r\nO\r\n1;x=y\r\nK\r\n", PROBE_HTTP_GOOD,
	 PROBE_HTTP_GOOD, 200},
	{&body, A200 "Transfer-Encoding: gzip, Chunked\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n",
	 PROBE_HTTP_NOT_FOUND, PROBE_HTTP_NOT_FOUND, 200},
	{&body, A200 "Content-Length: 1\r\ntransfer-encoding: chunked\r\n\r\n2 \r\nOK",
	 PROBE_HTTP_GOOD, PROBE_HTTP_GOOD, 200},
	{&body, CHUNKED "1\r\nOK\r\n", PROBE_HTTP_BROKEN,
	 PROBE_HTTP_BROKEN, 200},
	{&body, CHUNKED "OK\r\n", PROBE_HTTP_BROKEN,
	 PROBE_HTTP_BROKEN, 200},
	{&body, CHUNKED "ffffffffffffffffff\r\n", PROBE_HTTP_BROKEN,
	 PROBE_HTTP_BROKEN, 200},
	{&body, CHUNKED "\r\n", PROBE_HTTP_BROKEN, PROBE_HTTP_BROKEN,
	 200},
	{&body, CHUNKED "5\r\nab", PROBE_HTTP_MORE,
	 PROBE_HTTP_NOT_FOUND, 200},
	/* Lines longer than is kept of them. */
	{&plain, "HTTP/1.1 200 " LONG_100 LONG_100 LONG_100 "\r\nX: " LONG_100 LONG_100 LONG_100 "\r\n\r\n",
	 PROBE_HTTP_GOOD, PROBE_HTTP_GOOD, 200},
	/* What belongs to an interim answer is not of the next. */
	{&body, "HTTP/1.1 103 x\r\nContent-Length: 1\r\n\r\nHTTP/1.1 200 x\r\n\r\nnow OK", PROBE_HTTP_GOOD,
	 PROBE_HTTP_GOOD, 200},
};

/* Pushes the answer in pieces of at most `first`, then `rest` bytes. */
static void walk(struct probe_http *h, const struct row *row, size_t first, size_t rest)
{
	const size_t len = strlen(row->answer);

	probe_http_reset(h);
	for (size_t at = 0, piece = first; at < len; piece = rest) {
		const size_t n = piece < len - at ? piece : len - at;

		(void)probe_http_push(h, (const uint8_t *)row->answer + at, n); /* is asked below */
		at += n;
	}
	if (h->verdict != row->before || probe_http_end(h) != row->after || h->status != row->status)
		fail_msg("row %zu cut at %zu: verdict %d, status %u", (size_t)(row - rows), first, h->verdict,
			 h->status);
	assert_int_equal(h->verdict == PROBE_HTTP_BROKEN, h->why != NULL);
}

static void answers_are_judged_the_same_in_any_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const size_t len = strlen(rows[i].answer);
		struct probe_http h;

		assert_int_equal(probe_http_init(&h, rows[i].config), 0);
		for (size_t cut = 1; cut <= len + 1; cut++) {
			walk(&h, &rows[i], cut, len + 1);
			walk(&h, &rows[i], cut, 1);
		}
		probe_http_free(&h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_judged_the_same_in_any_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
