/* SPDX-License-Identifier: MIT
 *
 * test_rdp_request.c - the cookie in the first packet of RDP clients: whole, byte by byte, and damaged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/net/rdp_request.h"

#define HEADERS	      11
#define NEGOTIATION   "\x01\x00\x08\x00\x03\x00\x00\x00"
#define PACKETS	      100000
#define LINE_MAX_HERE 300

struct packet {
	uint8_t bytes[HEADERS + LINE_MAX_HERE + 8];
	size_t len;
};

/* A Connection Request with this line (its CR LF included, or ""), and the negotiation of current clients. */
static struct packet request(const char *line)
{
	static const uint8_t head[HEADERS] = {3, 0, 0, 0, 0, 0xe0, 0, 0, 0, 0, 0};
	const size_t len = strlen(line);
	struct packet p;

	assert_true(len <= LINE_MAX_HERE);
	memset(&p, 0, sizeof(p));
	memcpy(p.bytes, head, HEADERS);
	memcpy(p.bytes + HEADERS, line, len);
	memcpy(p.bytes + HEADERS + len, NEGOTIATION, 8);
	p.len = HEADERS + len + 8;
	p.bytes[2] = (uint8_t)(p.len >> 8);
	p.bytes[3] = (uint8_t)p.len;
	p.bytes[4] = (uint8_t)(p.len - 5 < 254 ? p.len - 5 : 254);
	return p;
}

/* In two pieces, the first of `first` bytes. From copies that end where the bytes do, so that a sanitizer
 * sees each read behind them. */
static enum rdp_request read_cut(const uint8_t *bytes, size_t len, size_t first, struct rdp_cookie *out)
{
	const size_t ends[] = {first, len};
	enum rdp_request found = RDP_REQUEST_MORE;
	struct rdp_reader r;

	rdp_request_begin(&r);
	for (size_t i = 0; i < 2 && found == RDP_REQUEST_MORE; i++) {
		uint8_t *copy = malloc(ends[i]);

		assert_non_null(copy);
		memcpy(copy, bytes, ends[i]);
		found = rdp_request_read(&r, copy, ends[i], out);
		assert_true(r.at <= ends[i]);
		assert_true(r.at <= RDP_REQUEST_MAX);
		free(copy);
	}
	return found;
}

static enum rdp_request read_one_by_one(const uint8_t *bytes, size_t len, struct rdp_cookie *out)
{
	enum rdp_request found = RDP_REQUEST_MORE;
	struct rdp_reader r;

	rdp_request_begin(&r);
	for (size_t n = 1; found == RDP_REQUEST_MORE && n <= len; n++)
		found = rdp_request_read(&r, bytes, n, out);
	return found;
}

static void assert_same(const struct rdp_cookie *a, const struct rdp_cookie *b)
{
	assert_int_equal(a->ip, b->ip);
	assert_int_equal(a->port, b->port);
}

/* The same answer in one piece, byte by byte, and in two pieces however they are cut. */
static enum rdp_request read_packet(const struct packet *p, struct rdp_cookie *out)
{
	struct rdp_cookie other = {0};
	enum rdp_request found;

	*out = (struct rdp_cookie){0};
	found = read_cut(p->bytes, p->len, p->len, out);
	assert_int_equal(read_one_by_one(p->bytes, p->len, &other), found);
	assert_same(&other, out);
	for (size_t cut = 1; cut < p->len; cut++) {
		other = (struct rdp_cookie){0};
		assert_int_equal(read_cut(p->bytes, p->len, cut, &other), found);
		assert_same(&other, out);
	}
	return found;
}

static void assert_names(const char *line, uint8_t a, uint8_t b, uint8_t c, uint8_t d, uint16_t port)
{
	const struct packet p = request(line);
	const uint8_t ip[] = {a, b, c, d};
	struct rdp_cookie cookie;

	assert_int_equal(read_packet(&p, &cookie), RDP_REQUEST_COOKIE);
	assert_memory_equal(&cookie.ip, ip, sizeof(ip));
	assert_int_equal(cookie.port, port);
}

static void assert_plain(const char *line)
{
	const struct packet p = request(line);
	struct rdp_cookie cookie;

	assert_int_equal(read_packet(&p, &cookie), RDP_REQUEST_PLAIN);
	assert_int_equal(cookie.port, 0);
}

static void a_cookie_names_an_address_and_a_port(void **state)
{
	(void)state;
	/* As terminal servers write it. */
	assert_names("Cookie: msts=3640205228.15629.0000\r\n", 172, 31, 249, 216, 3389);
	assert_names("Cookie: msts=16777226.15629.0000\r\n", 10, 0, 0, 1, 3389);
	assert_names("Cookie: msts=0016777226.00080.0000\r\n", 10, 0, 0, 1, 0x5000);
	assert_names("Cookie: msts=4294967295.65535.0000\r\n", 255, 255, 255, 255, 65535);
	assert_names("cookie:MSTS=1.256.\r\n", 1, 0, 0, 0, 1);
	assert_names("Cookie:    msts=1.256.x y\r\n", 1, 0, 0, 0, 1);
}

static void what_is_no_address_and_port_is_no_cookie(void **state)
{
	static const char *const lines[] = {
		"",
		"Cookie: mstshash=eltons\r\n",
		"Cookie: msts=4294967296.15629.0000\r\n",
		"Cookie: msts=16777226.65536.0000\r\n",
		"Cookie: msts=16777226.0.0000\r\n",
		"Cookie: msts=00016777226.15629.0000\r\n",
		"Cookie: msts=16777226.015629.0000\r\n",
		"Cookie: msts=.15629.0000\r\n",
		"Cookie: msts=16777226..0000\r\n",
		"Cookie: msts=16777226.15629\r\n",
		"Cookie: msts=16777226.15629.0000\rx",
		"Cookie: msts=16777226.15629.0000",
		"Cookie: msts=-1.15629.0000\r\n",
		"Cookie: msts=fe80:0:0:0:1.15629.0000\r\n",
		"Cookie: msts=\r\n",
		"Cookie msts=16777226.15629.0000\r\n",
		"Set-Cookie: msts=16777226.15629.0000\r\n",
		"tsv://MS Terminal Services Plugin.1.Farm\r\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_plain(lines[i]);
}

static enum rdp_request read_changed(size_t at, uint8_t byte)
{
	struct packet p = request("Cookie: msts=16777226.15629.0000\r\n");
	struct rdp_cookie cookie;

	p.bytes[at] = byte;
	return read_packet(&p, &cookie);
}

static void the_headers_must_be_those_of_a_request(void **state)
{
	(void)state;
	assert_int_equal(read_changed(0, 2), RDP_REQUEST_NOT);
	assert_int_equal(read_changed(0, 0x16), RDP_REQUEST_NOT);
	assert_int_equal(read_changed(1, 1), RDP_REQUEST_NOT);
	assert_int_equal(read_changed(2, 5), RDP_REQUEST_NOT);  /* longer than RDP_REQUEST_MAX */
	assert_int_equal(read_changed(3, 10), RDP_REQUEST_NOT); /* shorter than its headers */
	assert_int_equal(read_changed(4, 5), RDP_REQUEST_NOT);
	assert_int_equal(read_changed(5, 0xd0), RDP_REQUEST_NOT); /* Connection Confirm */
	assert_int_equal(read_changed(5, 0xe1), RDP_REQUEST_COOKIE); /* with a credit */
	assert_int_equal(read_changed(8, 7), RDP_REQUEST_COOKIE);
	/* The line goes on behind the end of the packet. */
	assert_int_equal(read_changed(3, 11), RDP_REQUEST_PLAIN);
	assert_int_equal(read_changed(3, HEADERS + 30), RDP_REQUEST_PLAIN);
	assert_int_equal(read_changed(3, HEADERS + 33), RDP_REQUEST_PLAIN);
	assert_int_equal(read_changed(3, HEADERS + 34), RDP_REQUEST_COOKIE);
}

static void an_answer_comes_with_the_byte_that_decides_it(void **state)
{
	const struct packet p = request("Cookie: msts=16777226.15629.0000\r\n");
	const struct packet user = request("Cookie: mstshash=a\r\n");
	struct rdp_cookie cookie;

	(void)state;
	for (size_t n = 1; n < HEADERS + 34; n++)
		assert_int_equal(read_one_by_one(p.bytes, n, &cookie), RDP_REQUEST_MORE);
	assert_int_equal(read_one_by_one(p.bytes, HEADERS + 34, &cookie), RDP_REQUEST_COOKIE);
	assert_int_equal(read_one_by_one(user.bytes, HEADERS + 12, &cookie), RDP_REQUEST_MORE);
	assert_int_equal(read_one_by_one(user.bytes, HEADERS + 13, &cookie), RDP_REQUEST_PLAIN);
}

/* Packets that are valid but for a few bytes, and some of random bytes altogether. */
static void damaged_packets_get_the_same_answer_however_they_are_cut(void **state)
{
	size_t seen[4] = {0};

	(void)state;
	srand(1);
	for (int n = 0; n < PACKETS; n++) {
		struct rdp_cookie at_once = {0}, slow = {0}, cut = {0};
		enum rdp_request found;
		struct packet p;
		char line[64];

		(void)snprintf(line, sizeof(line), "Cookie: msts=%u.%u.0000\r\n", (unsigned)rand() * 2u,
			       (unsigned)rand() % 65535 + 1);
		p = request(line);
		for (int i = rand() % 4; i > 0; i--)
			p.bytes[(size_t)rand() % p.len] = (uint8_t)rand();
		for (size_t i = n % 16 == 0 ? 0 : p.len; i < p.len; i++)
			p.bytes[i] = (uint8_t)rand();
		p.len = n % 3 == 0 ? 1 + (size_t)rand() % p.len : p.len;
		found = read_cut(p.bytes, p.len, p.len, &at_once);
		assert_int_equal(read_one_by_one(p.bytes, p.len, &slow), found);
		assert_int_equal(read_cut(p.bytes, p.len, 1 + (size_t)rand() % p.len, &cut), found);
		assert_same(&slow, &at_once);
		assert_same(&cut, &at_once);
		assert_int_equal(at_once.port != 0, found == RDP_REQUEST_COOKIE);
		seen[found]++;
	}
	for (size_t i = 0; i < 4; i++)
		assert_true(seen[i] > PACKETS / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cookie_names_an_address_and_a_port),
		cmocka_unit_test(what_is_no_address_and_port_is_no_cookie),
		cmocka_unit_test(the_headers_must_be_those_of_a_request),
		cmocka_unit_test(an_answer_comes_with_the_byte_that_decides_it),
		cmocka_unit_test(damaged_packets_get_the_same_answer_however_they_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
