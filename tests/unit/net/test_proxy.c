/* SPDX-License-Identifier: MIT
 *
 * test_proxy.c - PROXY headers: good and broken ones by name, and random ones against a second reader.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/net/proxy.h"
#include "../../fuzz/slow_proxy.h"
#include "net/crc32c.h"

#define RANDOM_HEADERS 100000
#define RANDOM_CUTS 100000
#define BYTES_MAX (PROXY_MAX + 256)

#define SIG "\r\n\r\n\0\r\nQUIT\n"
#define IP4 "\1\2\3\4\5\6\7\x8\0\x50\1\xbb"
#define TEXT(s) (s), sizeof(s) - 1

static ssize_t parse(const void *bytes, size_t len, struct proxy_header *h, enum proxy_error *why)
{
	return proxy_parse(bytes, len, h, why);
}

/* ---- by name ---- */

static const struct {
	const char *line;
	const char *src, *dst; /* as addr_brief_format() writes them; NULL = unknown */
} good_lines[] = {
	{"PROXY TCP4 1.2.3.4 255.255.255.255 0 65535\r\n", "1.2.3.4:0", "255.255.255.255:65535"},
	{"PROXY TCP4 0.0.0.0 10.20.30.40 1 443\r\n", "0.0.0.0:1", "10.20.30.40:443"},
	{"PROXY TCP6 ::1 2001:db8::7 1000 80\r\n", "[::1]:1000", "[2001:db8::7]:80"},
	{"PROXY TCP6 :: 1:2:3:4:5:6:7:: 1 2\r\n", "[::]:1", "[1:2:3:4:5:6:7:0]:2"},
	{"PROXY TCP6 ::2:3:4:5:6:7:8 1:2:3:4:5:6:7:8 1 2\r\n", "[0:2:3:4:5:6:7:8]:1", "[1:2:3:4:5:6:7:8]:2"},
	{"PROXY TCP6 2001:0DB8:0000::00aA FFff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
	 "[2001:db8::aa]:65535", "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535"},
	{"PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 "
	 "65535\r\n",
	 "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535",
	 "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535"},
	{"PROXY TCP6 ::ffff:1.2.3.4 ::5.6.7.8 1 2\r\n", "[::ffff:1.2.3.4]:1", "[::5.6.7.8]:2"},
	{"PROXY UNKNOWN\r\n", NULL, NULL},
	{"PROXY UNKNOWN \r\n", NULL, NULL},
	{"PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n", NULL, NULL},
	{"PROXY UNKNOWN what\rever\nit is\r\r\n", NULL, NULL},
};

static void lines_of_version_1_are_read(void **state)
{
	char text[ADDR_TEXT_MAX];
	struct proxy_header h;
	enum proxy_error why;

	(void)state;
	for (size_t i = 0; i < sizeof(good_lines) / sizeof(good_lines[0]); i++) {
		const size_t len = strlen(good_lines[i].line);

		assert_int_equal(parse(good_lines[i].line, len, &h, &why), len);
		assert_int_equal(h.version, 1);
		assert_false(h.local);
		assert_null(h.tlvs);
		assert_int_equal(h.src.family, h.family);
		assert_int_equal(h.family != 0, good_lines[i].src != NULL);
		if (h.family == 0)
			continue;
		assert_string_equal(addr_brief_format(&h.src, text), good_lines[i].src);
		assert_string_equal(addr_brief_format(&h.dst, text), good_lines[i].dst);
	}
}

/* `at`: the first byte that cannot be; 0 = the last. */
static const struct {
	const char *bytes;
	size_t len;
	enum proxy_error why;
	size_t at;
} bad[] = {
	/* Neither version. */
	{TEXT("G"), PROXY_NOT_HEADER, 0},
	{TEXT("\0"), PROXY_NOT_HEADER, 0},
	{TEXT("PRI * HTTP/2.0\r\n\r\n"), PROXY_NOT_HEADER, 3},
	{TEXT("\r\n\r\n\0\r\nQUIX"), PROXY_NOT_HEADER, 0},
	{TEXT("\r\n\r\nGET /"), PROXY_NOT_HEADER, 5},
	{TEXT("\x16\x03\x01"), PROXY_NOT_HEADER, 1},
	/* Words and blanks of version 1. */
	{TEXT("PROXYTCP4"), PROXY_BAD_V1, 6},
	{TEXT("PROXY\tTCP4"), PROXY_BAD_V1, 6},
	{TEXT("PROXY  TCP4"), PROXY_BAD_V1, 7},
	{TEXT("PROXY tcp4"), PROXY_BAD_V1, 7},
	{TEXT("PROXY TCP5"), PROXY_BAD_V1, 0},
	{TEXT("PROXY UDP4"), PROXY_BAD_V1, 8},
	{TEXT("PROXY UNKNOWNX"), PROXY_BAD_V1, 0},
	{TEXT("PROXY UNKNOWN\rX"), PROXY_BAD_V1, 0},
	{TEXT("PROXY TCP4\r\n"), PROXY_BAD_V1, 11},
	{TEXT("PROXY TCP4  1.2"), PROXY_BAD_V1, 12},
	{TEXT("PROXY TCP4 1.2.3.4  "), PROXY_BAD_V1, 0},
	{TEXT("PROXY TCP4 1.2.3.4 5.6.7.8 1 2 \r\n"), PROXY_BAD_V1, 31},
	{TEXT("PROXY TCP4 1.2.3.4 5.6.7.8 1 2\n"), PROXY_BAD_V1, 0},
	{TEXT("PROXY TCP4 1.2.3.4 5.6.7.8 1 2\rX"), PROXY_BAD_V1, 0},
	{TEXT("PROXY TCP4 1.2.3.4 5.6.7.8 1\r\n"), PROXY_BAD_V1, 29},
	/* Its addresses. */
	{TEXT("PROXY TCP4 ::1 ::1 1 2\r\n"), PROXY_BAD_V1, 12},
	{TEXT("PROXY TCP6 1.2.3.4 5.6.7.8 1 2\r\n"), PROXY_BAD_V1, 13},
	{TEXT("PROXY TCP4 256.2.3.4"), PROXY_BAD_V1, 14},
	{TEXT("PROXY TCP4 01.2.3.4"), PROXY_BAD_V1, 13},
	{TEXT("PROXY TCP4 00"), PROXY_BAD_V1, 0},
	{TEXT("PROXY TCP4 1.2.3 "), PROXY_BAD_V1, 0},
	{TEXT("PROXY TCP4 1.2.3.4."), PROXY_BAD_V1, 0},
	{TEXT("PROXY TCP4 1..2"), PROXY_BAD_V1, 14},
	{TEXT("PROXY TCP4 .1"), PROXY_BAD_V1, 12},
	{TEXT("PROXY TCP4 +1"), PROXY_BAD_V1, 12},
	{TEXT("PROXY TCP4 0x1"), PROXY_BAD_V1, 13},
	{TEXT("PROXY TCP6 1:2:3:4:5:6:7 "), PROXY_BAD_V1, 0},
	{TEXT("PROXY TCP6 1:2:3:4:5:6:7:8:"), PROXY_BAD_V1, 0},
	{TEXT("PROXY TCP6 1::2::"), PROXY_BAD_V1, 0},
	{TEXT("PROXY TCP6 :1"), PROXY_BAD_V1, 0},
	{TEXT("PROXY TCP6 :::"), PROXY_BAD_V1, 0},
	{TEXT("PROXY TCP6 12345"), PROXY_BAD_V1, 0},
	{TEXT("PROXY TCP6 g"), PROXY_BAD_V1, 0},
	{TEXT("PROXY TCP6 1: "), PROXY_BAD_V1, 0},
	{TEXT("PROXY TCP6 1:2:3:4:5:6:7::8"), PROXY_BAD_V1, 0},
	{TEXT("PROXY TCP6 ::2:3:4:5:6:7:8:9"), PROXY_BAD_V1, 27},
	{TEXT("PROXY TCP6 fe80::1%lo"), PROXY_BAD_V1, 19},
	{TEXT("PROXY TCP6 1::1.2.3.4"), PROXY_BAD_V1, 16},
	{TEXT("PROXY TCP6 ::ffff:01."), PROXY_BAD_V1, 0},
	{TEXT("PROXY TCP6 ::ffff:256."), PROXY_BAD_V1, 0},
	{TEXT("PROXY TCP6 ::ffff:1.2.3.4."), PROXY_BAD_V1, 0},
	{TEXT("PROXY TCP6 ::1.2.3.4:"), PROXY_BAD_V1, 0},
	/* Its ports. */
	{TEXT("PROXY TCP4 1.2.3.4 5.6.7.8 65536"), PROXY_BAD_V1, 0},
	{TEXT("PROXY TCP4 1.2.3.4 5.6.7.8 00"), PROXY_BAD_V1, 0},
	{TEXT("PROXY TCP4 1.2.3.4 5.6.7.8 -"), PROXY_BAD_V1, 0},
	{TEXT("PROXY TCP4 1.2.3.4 5.6.7.8 1 80a"), PROXY_BAD_V1, 0},
	{TEXT("PROXY TCP4 1.2.3.4 5.6.7.8 1 099"), PROXY_BAD_V1, 31},
	/* Version 2. */
	{TEXT(SIG "\x11\x11\0\x0c" IP4), PROXY_BAD_VERSION, 13},
	{TEXT(SIG "\x31"), PROXY_BAD_VERSION, 0},
	{TEXT(SIG "\x22"), PROXY_BAD_VERSION, 0},
	{TEXT(SIG "\x21\x12"), PROXY_BAD_FAMILY, 0},
	{TEXT(SIG "\x21\x22"), PROXY_BAD_FAMILY, 0},
	{TEXT(SIG "\x21\x32"), PROXY_BAD_FAMILY, 0},
	{TEXT(SIG "\x21\x01"), PROXY_BAD_FAMILY, 0},
	{TEXT(SIG "\x21\x41"), PROXY_BAD_FAMILY, 0},
	{TEXT(SIG "\x21\x11\0\x0b"), PROXY_BAD_LENGTH, 0},
	{TEXT(SIG "\x21\x11\0\0"), PROXY_BAD_LENGTH, 0},
	{TEXT(SIG "\x21\x21\0\x23"), PROXY_BAD_LENGTH, 0},
	{TEXT(SIG "\x21\x31\0\xd7"), PROXY_BAD_LENGTH, 0},
	{TEXT(SIG "\x21\x11\x40"), PROXY_TOO_LONG, 0},
	{TEXT(SIG "\x20\x00\x3f\xf1"), PROXY_TOO_LONG, 0},
	{TEXT(SIG "\x21\x11\xff\xff"), PROXY_TOO_LONG, 15},
	/* TLVs: two bytes are none, one that runs over, sizes, a second checksum. */
	{TEXT(SIG "\x21\x11\0\x0e" IP4 "\4\0"), PROXY_BAD_TLV, 16},
	{TEXT(SIG "\x21\x11\0\x0f" IP4 "\4\0\1"), PROXY_BAD_TLV, 0},
	{TEXT(SIG "\x21\x11\0\x13" IP4 "\4\1"), PROXY_BAD_TLV, 0},
	{TEXT(SIG "\x21\x11\0\x13" IP4 "\1\0\2h2\4\0"), PROXY_BAD_TLV, 31},
	{TEXT(SIG "\x21\x11\0\x13" IP4 "\3\0\3"), PROXY_BAD_TLV, 0},
	{TEXT(SIG "\x21\x11\0\x12" IP4 "\3"), PROXY_BAD_TLV, 0},
	{TEXT(SIG "\x21\0\0\x0e\3\0\4....\3"), PROXY_BAD_TLV, 0},
	{TEXT(SIG "\x21\0\1\x03\2\1"), PROXY_BAD_TLV, 0},
	{TEXT(SIG "\x21\0\1\x03\5\0\x81"), PROXY_BAD_TLV, 0},
	{TEXT(SIG "\x21\0\0\7\3\0\4\0\0\0\0"), PROXY_BAD_CHECKSUM, 0},
};

static void what_is_wrong_is_named_at_its_first_byte(void **state)
{
	struct proxy_header h;
	enum proxy_error why;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const size_t at = bad[i].at > 0 ? bad[i].at : bad[i].len;

		for (size_t len = 0; len <= bad[i].len; len++) {
			const ssize_t n = parse(bad[i].bytes, len, &h, &why);

			if (n != (len < at ? 0 : -EPROTO) || why != (len < at ? PROXY_OK : bad[i].why))
				fail_msg("row %zu, %zu bytes: %zd, %s", i, len, n, proxy_error_text(why));
			assert_null(slow_compare((const uint8_t *)bad[i].bytes, len));
		}
	}
}

static void a_line_ends_within_107_bytes(void **state)
{
	char line[PROXY_V1_MAX + 8];
	struct proxy_header h;
	enum proxy_error why;

	(void)state;
	memset(line, 'x', sizeof(line));
	memcpy(line, "PROXY UNKNOWN ", 14);
	assert_int_equal(parse(line, 105, &h, &why), 0);
	assert_int_equal(parse(line, 106, &h, &why), -EPROTO);
	assert_int_equal(why, PROXY_TOO_LONG);
	line[105] = '\r';
	assert_int_equal(parse(line, 106, &h, &why), 0);
	assert_int_equal(parse(line, 107, &h, &why), -EPROTO);
	assert_int_equal(why, PROXY_TOO_LONG);
	line[106] = '\n';
	assert_int_equal(parse(line, 107, &h, &why), 107);
	assert_int_equal(parse(line, sizeof(line), &h, &why), 107);
}

static void headers_of_version_2_are_read(void **state)
{
	static const char tcp4[] = SIG "\x21\x11\0\x1a" IP4 "\1\0\2h2\5\0\2id\2\0\1a" "rest";
	static const char tcp6[] = SIG "\x21\x21\0\x24"
		"\x20\1\r\xb8\0\0\0\0\0\0\0\0\0\0\0\1" "\x20\1\r\xb8\0\0\0\0\0\0\0\0\0\0\0\2" "\0\1\0\2";
	static const char local[] = SIG "\x20\x7f\0\5hello!";
	static const char unspec[] = SIG "\x21\0\0\0!";
	static const char summed[] = SIG "\x21\x11\0\x13" IP4 "\3\0\4";
	uint8_t bytes[512];
	char text[ADDR_TEXT_MAX];
	struct proxy_header h;
	enum proxy_error why;
	const uint8_t *tlv;
	uint32_t sum;
	size_t len;

	(void)state;
	assert_int_equal(parse(TEXT(tcp4), &h, &why), 42);
	assert_string_equal(addr_brief_format(&h.src, text), "1.2.3.4:80");
	assert_string_equal(addr_brief_format(&h.dst, text), "5.6.7.8:443");
	tlv = proxy_tlv_find(h.tlvs, h.tlv_len, PROXY_TLV_UNIQUE_ID, &len);
	assert_int_equal(len, 2);
	assert_memory_equal(tlv, "id", 2);
	assert_null(proxy_tlv_find(h.tlvs, h.tlv_len, PROXY_TLV_NOOP, &len));
	assert_int_equal(parse(TEXT(tcp6), &h, &why), 52);
	assert_string_equal(addr_brief_format(&h.dst, text), "[2001:db8::2]:2");
	assert_int_equal(parse(TEXT(local), &h, &why), 21);
	assert_true(h.local);
	assert_int_equal(h.family, 0);
	assert_null(h.tlvs);
	assert_int_equal(parse(TEXT(unspec), &h, &why), 16);
	assert_int_equal(h.family, 0);
	/* The sum is that of the header with four zeroes in its place. */
	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, summed, sizeof(summed) - 1);
	sum = htonl(slow_crc32c(bytes, 35));
	memcpy(bytes + 31, &sum, 4);
	assert_int_equal(parse(bytes, 35, &h, &why), 35);
	bytes[17] ^= 1;
	assert_int_equal(parse(bytes, 35, &h, &why), -EPROTO);
	assert_int_equal(why, PROXY_BAD_CHECKSUM);
	/* Unix. */
	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, SIG "\x21\x31\0\xd8/run/a", 22);
	memset(bytes + 16 + 108, 'b', 108);
	assert_int_equal(parse(bytes, sizeof(bytes), &h, &why), 232);
	assert_int_equal(h.src.family, AF_UNIX);
	assert_string_equal(h.unix_src, "/run/a");
	assert_ptr_equal(h.unix_dst, bytes + 124);
}

static void the_checksum_is_crc32c(void **state)
{
	(void)state;
	/* RFC 3720, B.4. */
	assert_int_equal(crc32c_end(crc32c_add(CRC32C_INIT, (const uint8_t *)"123456789", 9)), 0xe3069283);
	assert_int_equal(slow_crc32c((const uint8_t *)"123456789", 9), 0xe3069283);
}

/* ---- made headers ---- */

static void what_is_made_has_a_known_form(void **state)
{
	struct proxy_send send = {.version = 1, .src = {.family = AF_INET, .port = 80, .ip = {1, 2, 3, 4}},
				  .dst = {.family = AF_INET, .port = 443, .ip = {5, 6, 7, 8}}};
	uint8_t out[512];

	(void)state;
	assert_int_equal(proxy_make(&send, out, sizeof(out)), 35);
	assert_memory_equal(out, "PROXY TCP4 1.2.3.4 5.6.7.8 80 443\r\n", 35);
	assert_int_equal(proxy_make(&send, out, 34), -ENOSPC);
	send.dst.family = AF_INET6;
	assert_int_equal(proxy_make(&send, out, sizeof(out)), 15);
	assert_memory_equal(out, "PROXY UNKNOWN\r\n", 15);
	send.src.family = send.dst.family = AF_UNIX;
	assert_int_equal(proxy_make(&send, out, sizeof(out)), 15);
	send.version = 2;
	send.unix_dst = NULL;
	assert_int_equal(proxy_make(&send, out, sizeof(out)), 232);
	assert_int_equal(out[13], 0x31);
	send.src.family = send.dst.family = AF_INET;
	assert_int_equal(proxy_make(&send, out, sizeof(out)), 28);
	assert_memory_equal(out, SIG "\x21\x11\0\x0c" IP4, 28);
	send.local = true;
	assert_int_equal(proxy_make(&send, out, sizeof(out)), 16);
	assert_memory_equal(out, SIG "\x20\0\0\0", 16);
}

static void tlvs_pass_on_but_for_the_checksum(void **state)
{
	static const uint8_t came[] = "\1\0\2h2\3\0\4....\4\0\3...\xe0\0\1!\5\0\3abc";
	static const uint8_t goes[] = "\1\0\2h2\xe0\0\1!\5\0\3abc\3\0\4";
	struct proxy_send send = {.version = 2, .tlvs = came, .tlv_len = sizeof(came) - 1, .crc32c = true};
	struct proxy_header h;
	enum proxy_error why;
	uint8_t out[512];
	ssize_t n;

	(void)state;
	n = proxy_make(&send, out, sizeof(out));
	assert_int_equal(n, 16 + sizeof(goes) - 1 + 4);
	assert_memory_equal(out + 16, goes, sizeof(goes) - 1);
	assert_int_equal(proxy_parse(out, (size_t)n, &h, &why), n);
}

static void of_one_type_the_first_passes_on_and_ours_wins(void **state)
{
	static const uint8_t came[] = "\5\0\3abc\1\0\2h2\x20\0\1a\5\0\1z\1\0\1x\x20\0\0\xe0\0\0\1\0\0";
	static const uint8_t named[] = "\x20\0\1a\xe0\0\0\1\0\2h3\2\0\4name\5\0\5other";
	static const uint8_t firsts[] = "\5\0\3abc\1\0\2h2\x20\0\1a\xe0\0\0";
	static const uint8_t ours[] = "\1\0\2h2\x20\0\1a\xe0\0\0\5\0\5other";
	struct proxy_send send = {.version = 2, .tlvs = came, .tlv_len = sizeof(came) - 1};
	uint8_t out[512];

	(void)state;
	assert_int_equal(proxy_make(&send, out, sizeof(out)), 16 + sizeof(firsts) - 1);
	assert_memory_equal(out + 16, firsts, sizeof(firsts) - 1);
	send.unique_id = (const uint8_t *)"other";
	send.unique_id_len = 5;
	assert_int_equal(proxy_make(&send, out, sizeof(out)), 16 + sizeof(ours) - 1);
	assert_memory_equal(out + 16, ours, sizeof(ours) - 1);
	/* So do the names of a hello. */
	send.authority = (const uint8_t *)"name";
	send.authority_len = 4;
	send.alpn = (const uint8_t *)"h3";
	send.alpn_len = 2;
	assert_int_equal(proxy_make(&send, out, sizeof(out)), 16 + sizeof(named) - 1);
	assert_memory_equal(out + 16, named, sizeof(named) - 1);
	assert_true(proxy_make_room(&send) >= 16 + sizeof(named) - 1);
	send.authority = send.alpn = NULL;
	send.authority_len = send.alpn_len = 0;
	/* It is added when the client has none, too. */
	send.tlv_len = 0;
	assert_int_equal(proxy_make(&send, out, sizeof(out)), 16 + 8);
	assert_memory_equal(out + 16, "\5\0\5other", 8);
	assert_true(proxy_make_room(&send) >= 24);
}

static void a_header_is_never_longer_than_what_others_take(void **state)
{
	static uint8_t tlv[PROXY_MAX] = {0xe0, (PROXY_MAX - 16 - 3) >> 8, (PROXY_MAX - 16 - 3) & 255};
	static uint8_t out[2 * PROXY_MAX];
	struct proxy_send send = {.version = 2, .tlvs = tlv, .tlv_len = PROXY_MAX - 16};

	(void)state;
	assert_int_equal(proxy_make(&send, out, sizeof(out)), PROXY_MAX);
	send.crc32c = true;
	assert_int_equal(proxy_make(&send, out, sizeof(out)), -ENOSPC);
}

/* ---- random ---- */

static uint64_t seed = 88172645463325252u;

static uint32_t rnd(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % below;
}

static void random_brief(uint16_t family, struct addr_brief *a)
{
	memset(a, 0, sizeof(*a));
	a->family = family;
	a->port = (uint16_t)rnd(rnd(2) ? 65536 : 10);
	for (size_t i = 0; i < (family == AF_INET ? 4 : 16); i++)
		a->ip[i] = (uint8_t)(rnd(3) ? 0 : rnd(256));
	if (family == AF_INET6 && rnd(4) == 0)
		memcpy(a->ip, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
}

static size_t random_tlvs(uint8_t *out)
{
	static const uint8_t types[] = {1, 2, 4, 5, 0x20, 0x30, 0xe0, 0xff};
	size_t len = 0;

	for (uint32_t count = rnd(4); count > 0; count--) {
		const size_t value = rnd(8) ? rnd(20) : rnd(130);

		out[len++] = types[rnd(sizeof(types))];
		if (out[len - 1] == PROXY_TLV_UNIQUE_ID && value > PROXY_UNIQUE_ID_MAX)
			out[len - 1] = 1;
		out[len++] = 0;
		out[len++] = (uint8_t)value;
		for (size_t i = 0; i < value; i++)
			out[len++] = (uint8_t)rnd(256);
	}
	return len;
}

/* A good header of any kind. */
static size_t random_header(uint8_t *out)
{
	static const uint16_t families[] = {0, AF_INET, AF_INET6, AF_UNIX};
	static const char *const odd[] = {"PROXY UNKNOWN 1 2 3\r\n",
					  "PROXY TCP6 1:2:3:4:5:6:7:: ::2:3:4 1 2\r\n",
					  "PROXY TCP6 2001:db8::0001:2 ::FFFF:127.0.0.1 65535 0\r\n"};
	const uint16_t family = families[rnd(4)];
	struct proxy_send send = {.version = (uint8_t)(1 + rnd(2)), .local = rnd(10) == 0, .crc32c = rnd(2)};
	uint8_t tlvs[600];
	ssize_t n;

	if (rnd(10) == 0) {
		const char *line = odd[rnd(3)];

		memcpy(out, line, strlen(line));
		return strlen(line);
	}
	random_brief(family, &send.src);
	random_brief(family, &send.dst);
	send.tlvs = tlvs;
	send.tlv_len = random_tlvs(tlvs);
	if (rnd(3) == 0) {
		send.unique_id = tlvs;
		send.unique_id_len = rnd(PROXY_UNIQUE_ID_MAX + 1);
	}
	if (rnd(3) == 0) {
		send.authority = tlvs;
		send.authority_len = rnd(256);
		send.alpn = tlvs;
		send.alpn_len = rnd(256);
	}
	n = proxy_make(&send, out, BYTES_MAX);
	assert_true(n > 0);
	return (size_t)n;
}

static size_t mutate(uint8_t *bytes, size_t len)
{
	static const char likely[] = "\0\1\2\3\4\5 \r\n.:0159fFPTU\x11\x20\x21\x31\xff";
	const size_t at = rnd((uint32_t)len);

	switch (rnd(6)) {
	case 0:
		bytes[at] = (uint8_t)rnd(256);
		return len;
	case 1:
		bytes[at] = (uint8_t)likely[rnd(sizeof(likely))];
		return len;
	case 2: /* a byte less */
		memmove(bytes + at, bytes + at + 1, len - at - 1);
		return len > 1 ? len - 1 : len;
	case 3: /* a byte more */
		memmove(bytes + at + 1, bytes + at, len - at);
		bytes[at] = (uint8_t)likely[rnd(sizeof(likely))];
		return len + 1;
	case 4: /* cut */
		return at + 1;
	default:
		bytes[at] ^= (uint8_t)(1u << rnd(8));
		return len;
	}
}

/* A header, mostly with something wrong, and what may come behind it. */
static size_t random_input(uint8_t *out)
{
	size_t len = random_header(out);

	for (uint32_t n = rnd(3); n > 0; n--)
		len = mutate(out, len);
	for (uint32_t n = rnd(2) ? 0 : rnd(40); n > 0; n--)
		out[len++] = (uint8_t)rnd(256);
	return len;
}

static void both_readers_agree_on_random_headers(void **state)
{
	static uint8_t bytes[BYTES_MAX];
	uint32_t verdicts[3] = {0};

	(void)state;
	for (int i = 0; i < RANDOM_HEADERS; i++) {
		const size_t len = random_input(bytes);
		struct slow_header slow;
		const char *differs = slow_compare(bytes, len);

		if (differs != NULL) {
			print_message("%.*s\n", (int)len, bytes);
			fail_msg("input %d, %zu bytes: %s differs", i, len, differs);
		}
		verdicts[slow_parse(bytes, len, &slow)]++;
	}
	/* The input is worth something: each verdict is common. */
	for (int i = 0; i < 3; i++)
		assert_true(verdicts[i] > RANDOM_HEADERS / 20);
}

static size_t random_cut(void *most)
{
	return rnd(*(const uint32_t *)most) + 1;
}

static void how_a_header_is_cut_does_not_matter(void **state)
{
	static uint8_t bytes[BYTES_MAX];

	(void)state;
	for (int i = 0; i < RANDOM_CUTS; i++) {
		const size_t len = rnd(3) ? random_header(bytes) : random_input(bytes);
		uint32_t most = rnd(4) ? 1 + rnd(60) : 1;

		if (!slow_is_cut_proof(bytes, len, random_cut, &most))
			fail_msg("segmentation %d differs", i);
	}
}

static void made_headers_read_back(void **state)
{
	static uint8_t bytes[BYTES_MAX], again[BYTES_MAX];
	struct proxy_header h;
	enum proxy_error why;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		const size_t len = random_header(bytes);
		struct proxy_send send = {.version = 2};

		assert_int_equal(proxy_parse(bytes, len, &h, &why), len);
		if (h.version == 1 && h.family == 0)
			continue;
		send.version = h.version;
		send.local = h.local;
		send.src = h.src;
		send.dst = h.dst;
		send.unix_src = h.unix_src;
		send.unix_dst = h.unix_dst;
		send.tlvs = h.tlvs;
		send.tlv_len = h.tlv_len;
		if (proxy_tlv_find(h.tlvs, h.tlv_len, PROXY_TLV_CRC32C, &(size_t){0}) != NULL)
			send.crc32c = true;
		if (bytes[0] != 'P' && !h.local) {
			assert_int_equal(proxy_make(&send, again, sizeof(again)), len);
			assert_memory_equal(again, bytes, len);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_version_1_are_read),
		cmocka_unit_test(what_is_wrong_is_named_at_its_first_byte),
		cmocka_unit_test(a_line_ends_within_107_bytes),
		cmocka_unit_test(headers_of_version_2_are_read),
		cmocka_unit_test(the_checksum_is_crc32c),
		cmocka_unit_test(what_is_made_has_a_known_form),
		cmocka_unit_test(tlvs_pass_on_but_for_the_checksum),
		cmocka_unit_test(of_one_type_the_first_passes_on_and_ours_wins),
		cmocka_unit_test(a_header_is_never_longer_than_what_others_take),
		cmocka_unit_test(both_readers_agree_on_random_headers),
		cmocka_unit_test(how_a_header_is_cut_does_not_matter),
		cmocka_unit_test(made_headers_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
