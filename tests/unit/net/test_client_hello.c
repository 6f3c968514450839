/* SPDX-License-Identifier: MIT
 *
 * test_client_hello.c - hellos of real clients in every segmentation; good and broken ones by name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "recorded_hellos.h"
#include "weir/net/client_hello.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define BYTES_MAX (8 * CLIENT_HELLO_MAX)

/* ---- hellos of real clients ---- */

static void check_result(const struct recorded_hello *h, const struct client_hello *got)
{
	const char *protocols = h->protocols, *last;
	struct client_hello_protocols list = got->alpn;
	uint8_t protocol[CLIENT_HELLO_PROTOCOL_MAX];
	size_t len = strlen(h->name);

	if (len > 0 && h->name[len - 1] == '.')
		len--;
	assert_int_equal(got->name_len, len);
	assert_int_equal(got->name[len], '\0');
	assert_int_equal(strncasecmp(got->name, h->name, len), 0);
	for (size_t i = 0; i < len; i++)
		assert_false(got->name[i] >= 'A' && got->name[i] <= 'Z');
	while ((len = client_hello_next_protocol(&list, protocol)) > 0) {
		assert_int_equal(strcspn(protocols, " "), len);
		assert_memory_equal(protocols, protocol, len);
		protocols += len;
		protocols += *protocols == ' ';
	}
	assert_int_equal(*protocols, '\0');
	/* The last one, if any, not its beginning, and not another one. */
	last = strrchr(h->protocols, ' ');
	last = last != NULL ? last + 1 : h->protocols;
	assert_int_equal(client_hello_offers(got, last, strlen(last)), *last != '\0');
	assert_false(client_hello_offers(got, last, strlen(last) / 2));
	assert_false(client_hello_offers(got, "spdy/3", 6));
}

/* Copies, so that a sanitizer sees each byte that is read too early. */
static enum client_hello_step read_up_to(struct client_hello_reader *r, const uint8_t *wire, size_t len,
					 struct client_hello *out)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);
	enum client_hello_step step;

	assert_non_null(copy);
	memcpy(copy, wire, len);
	step = client_hello_read(r, copy, len, out);
	if (step == CLIENT_HELLO_WHOLE)
		out->alpn.bytes = wire;
	free(copy);
	return step;
}

static void check_cut(const struct recorded_hello *h, const uint8_t *wire, size_t len, size_t cut)
{
	struct client_hello_reader r;
	struct client_hello got;

	client_hello_begin(&r);
	assert_int_equal(read_up_to(&r, wire, cut, &got), CLIENT_HELLO_MORE);
	assert_int_equal(read_up_to(&r, wire, cut, &got), CLIENT_HELLO_MORE);
	assert_int_equal(read_up_to(&r, wire, len, &got), CLIENT_HELLO_WHOLE);
	assert_int_equal(r.here.at, len);
	check_result(h, &got);
}

static void check_steps(const struct recorded_hello *h, const uint8_t *wire, size_t len, size_t step)
{
	struct client_hello_reader r;
	struct client_hello got;
	size_t at = 0;

	client_hello_begin(&r);
	for (at = step; at < len; at += step)
		assert_int_equal(read_up_to(&r, wire, at, &got), CLIENT_HELLO_MORE);
	assert_int_equal(read_up_to(&r, wire, len, &got), CLIENT_HELLO_WHOLE);
	check_result(h, &got);
}

static void a_recorded_hello_is_read_however_it_is_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < RECORDED_HELLOS; i++) {
		uint8_t wire[CLIENT_HELLO_MAX];
		const size_t len = hex_bytes(recorded_hellos[i].hex, wire);

		for (size_t cut = 0; cut < len; cut++)
			check_cut(&recorded_hellos[i], wire, len, cut);
		for (size_t step = 1; step < 9; step++)
			check_steps(&recorded_hellos[i], wire, len, step);
	}
}

/* Takes the records apart and writes records of `size` bytes. Returns their length. */
static size_t write_records(const uint8_t *wire, size_t len, size_t size, uint8_t *out)
{
	size_t out_len = 0, in_record = 0, left = 0;

	for (size_t at = 0; at < len; at++) {
		if (left == 0) {
			left = (size_t)wire[at + 3] << 8 | wire[at + 4];
			at += 5;
		}
		if (in_record == 0) {
			memcpy(out + out_len, "\x16\x03\x03\0\0", 5);
			out_len += 5;
		}
		out[out_len++] = wire[at];
		left--;
		in_record++;
		out[out_len - in_record - 2] = (uint8_t)(in_record >> 8);
		out[out_len - in_record - 1] = (uint8_t)in_record;
		if (in_record == size)
			in_record = 0;
	}
	return out_len;
}

static void a_recorded_hello_is_read_from_records_of_any_size(void **state)
{
	static uint8_t wire[BYTES_MAX], records[BYTES_MAX];

	(void)state;
	for (size_t i = 0; i < RECORDED_HELLOS; i++) {
		const size_t len = hex_bytes(recorded_hellos[i].hex, wire);

		for (size_t size = 1; size < len; size++) {
			const size_t total = write_records(wire, len, size, records);

			check_cut(&recorded_hellos[i], records, total, size % total);
			if (size == 3 || size % 256 == 0)
				check_steps(&recorded_hellos[i], records, total, 1);
		}
	}
}

/* ---- by name ---- */

#define ZERO8 "0000000000000000"
#define RANDOM ZERO8 ZERO8 ZERO8 ZERO8
/* The lengths of a record and of the body in it, two digits each, and all bytes up to the session id. */
#define BEGIN(record, body) "160301 00" record " 01 0000" body " 0303" RANDOM
#define SHORTEST BEGIN("2d", "29") "00 0002 1301 01 00"
/* The same up to the length of the extensions, `block`. */
#define WITH(record, body, block) BEGIN(record, body) "00 0002 1301 01 00 00" block

/* The last byte is wrong, and those before it are not. */
static const struct {
	const char *what;
	const char *hex;
} broken[] = {
	{"an HTTP request", "47"},
	{"an SSLv2-style hello", "80"},
	{"an alert", "15"},
	{"application data", "17"},
	{"SSH", "53"},
	{"a NUL", "00"},
	{"record version 2", "1602"},
	{"record version 4", "1604"},
	{"record version 3.5", "160305"},
	{"a record longer than 16384", "16030141"},
	{"a record of 16385", "1603014001"},
	{"an empty record", "1603010000"},
	{"a server hello", "16030100ff 02"},
	{"a hello request", "16030100ff 00"},
	{"a hello of 64 KiB", "16030140000101"},
	{"a hello of 16 KiB", "1603014000 010040"},
	{"a hello that ends one byte after the limit", "1603014000 01003ff8"},
	{"one that does with a second record's header", "1603013ff6 01003ff7"},
	{"one that does with a third one's", "1603010004 01003ff2 1603013ff1"},
	{"one that does, as the first byte of a length shows", "1603010004 01003ff2 1603013e"},
	{"a body of 40", "160301002c 01000028"},
	{"version 2", "160301002d 01000029 02"},
	{"version 4", "160301002d 01000029 04"},
	{"a session id of 33", "1603010100 010000fc 0303" RANDOM "21"},
	{"a session id that leaves no room", BEGIN("2d", "29") "01"},
	{"no cipher suite", BEGIN("2d", "29") "00 0000"},
	{"half a cipher suite", BEGIN("2d", "29") "00 0001"},
	{"one and a half", BEGIN("ff", "fb") "00 0003"},
	{"cipher suites that leave no room", BEGIN("2d", "29") "00 0004"},
	{"cipher suites longer than the hello", BEGIN("2d", "29") "00 01"},
	{"cipher suites as long as the rest but one", "160301012a 01000126 0303" RANDOM "00 01"},
	{"no compression method", BEGIN("2d", "29") "00 0002 1301 00"},
	{"compression methods past the end", BEGIN("2d", "29") "00 0002 1301 02"},
	{"one byte after the compression methods", BEGIN("2e", "2a") "00 0002 1301 01"},
	{"an extension of one byte", BEGIN("30", "2c") "00 0002 1301 01"},
	{"a block longer than the hello", WITH("33", "2f", "05")},
	{"a block shorter than the hello", WITH("33", "2f", "03")},
	{"a block much longer", BEGIN("33", "2f") "00 0002 1301 01 00 01"},
	{"an extension past the end", WITH("33", "2f", "04") "0017 0001"},
	{"an extension far past the end", WITH("33", "2f", "04") "0017 01"},
	{"an extension one byte past the end",
	 "1603010132 0100012e 0303" RANDOM "00 0002 1301 01 00 0103 0017 01"},
	{"one byte after an extension", WITH("34", "30", "05") "0017 0000"},
	{"no room for the content of server_name", WITH("33", "2f", "04") "0000"},
	{"no room for the content of ALPN", WITH("36", "32", "07") "0010"},
	{"an empty server_name", WITH("40", "3c", "11") "0000 0000"},
	{"a list of names shorter than its extension", WITH("40", "3c", "11") "0000 000d 000a"},
	{"a list of names longer than its extension", WITH("40", "3c", "11") "0000 000d 000c"},
	{"a list of names far longer", WITH("40", "3c", "11") "0000 000d 01"},
	{"an empty name", WITH("40", "3c", "11") "0000 000d 000b 00 0000"},
	{"a name past the end of its list", WITH("40", "3c", "11") "0000 000d 000b 00 0009"},
	{"one byte after a name", WITH("40", "3c", "11") "0000 000d 000b 00 0007"},
	{"a name of 256",
	 "160301014d 01000149 0303" RANDOM "00 0002 1301 01 00 011e 0000 011a 0118 00 01"},
	{"NUL in a name", WITH("40", "3c", "11") "0000 000d 000b 00 0008 61 00"},
	{"a blank in a name", WITH("40", "3c", "11") "0000 000d 000b 00 0008 61 20"},
	{"DEL in a name", WITH("40", "3c", "11") "0000 000d 000b 00 0008 61 7f"},
	{"UTF-8 in a name", WITH("40", "3c", "11") "0000 000d 000b 00 0008 61 c3"},
	{"a line feed in a name", WITH("40", "3c", "11") "0000 000d 000b 00 0008 61 0a"},
	{"the root as a name", WITH("39", "35", "0a") "0000 0006 0004 00 0001 2e"},
	{"two host names", WITH("40", "3c", "11") "0000 000d 000b 00 0002 6162 00"},
	{"no room for a host name", WITH("38", "34", "09") "0000 0005 0003 00"},
	{"another type past the end", WITH("40", "3c", "11") "0000 000d 000b 01 0009"},
	{"another type far past the end", WITH("40", "3c", "11") "0000 000d 000b 01 01"},
	{"another type one byte past the end",
	 "1603010137 01000133 0303" RANDOM "00 0002 1301 01 00 0108 0000 0104 0102 01 01"},
	{"server_name twice", WITH("47", "43", "18") "0000 0006 0004 00 0001 61 0000"},
	{"an empty ALPN", WITH("40", "3c", "11") "0010 0000"},
	{"ALPN of one byte", WITH("40", "3c", "11") "0010 0003"},
	{"an empty protocol", WITH("40", "3c", "11") "0010 000d 000b 00"},
	{"a protocol past the end", WITH("40", "3c", "11") "0010 000d 000b 0b"},
	{"one byte after a protocol", WITH("40", "3c", "11") "0010 000d 000b 09"},
	{"a list of protocols that is too short", WITH("40", "3c", "11") "0010 000d 000a"},
	{"ALPN twice", WITH("42", "3e", "13") "0010 0005 0003 026832 0010"},
	{"an alert between records", "1603010001 01 15"},
	{"an empty record between records", "1603010001 01 1603010000"},
	{"a wrong type after a first record of one byte", "1603010001 02"},
};

static void a_broken_hello_ends_at_the_first_wrong_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
		uint8_t wire[CLIENT_HELLO_MAX] = {0};
		const size_t len = hex_bytes(broken[i].hex, wire);
		struct client_hello_reader r;
		struct client_hello got;

		client_hello_begin(&r);
		for (size_t at = 0; at < len; at++)
			if (client_hello_read(&r, wire, at, &got) != CLIENT_HELLO_MORE)
				fail_msg("%s ends at %zu of %zu", broken[i].what, at, len);
		if (client_hello_read(&r, wire, len, &got) != CLIENT_HELLO_NOT)
			fail_msg("%s does not end", broken[i].what);
		/* It stays so, whatever comes. */
		assert_int_equal(client_hello_read(&r, wire, sizeof(wire), &got), CLIENT_HELLO_NOT);
		client_hello_begin(&r);
		assert_int_equal(client_hello_read(&r, wire, sizeof(wire), &got), CLIENT_HELLO_NOT);
		assert_int_equal(r.here.at, len);
	}
}

/* Complete with the last byte. */
static const struct {
	const char *what;
	const char *hex;
	const char *name;
	const char *protocol;
	size_t protocol_len;
} good[] = {
	{"the shortest", SHORTEST, "", NULL, 0},
	{"SSL 3.0", "160300002d 01000029 0300" RANDOM "00 0002 1301 01 00", "", NULL, 0},
	{"record version 3.4", "160304002d 01000029 0303" RANDOM "00 0002 1301 01 00", "", NULL, 0},
	{"a version to come", "160301002d 01000029 03ff" RANDOM "00 0002 1301 01 00", "", NULL, 0},
	{"odd compression methods", BEGIN("2e", "2a") "00 0002 1301 02 0540", "", NULL, 0},
	{"no extension in the block", WITH("2f", "2b", "00"), "", NULL, 0},
	{"a name", WITH("40", "3c", "11") "0000 000d 000b 00 0008 612e622e74657374", "a.b.test", NULL, 0},
	{"upper case and a dot", WITH("40", "3c", "11") "0000 000d 000b 00 0008 412e425f5a5b302e", "a.b_z[0",
	 NULL, 0},
	{"a dot twice", WITH("3b", "37", "0c") "0000 0008 0006 00 0003 612e2e", "a.", NULL, 0},
	{"an address", WITH("41", "3d", "12") "0000 000e 000c 00 0009 3132372e302e302e31", "127.0.0.1",
	 NULL, 0},
	{"only another type", WITH("38", "34", "09") "0000 0005 0003 07 0000", "", NULL, 0},
	{"another type first", WITH("40", "3c", "11") "0000 000d 000b 01 0003 000000 00 0002 6162", "ab",
	 NULL, 0},
	{"another type last", WITH("40", "3c", "11") "0000 000d 000b 00 0002 6162 ff 0003 0000ff", "ab",
	 NULL, 0},
	{"a protocol of NUL", WITH("37", "33", "08") "0010 0004 0002 01 00", "", "\0", 1},
	{"ALPN, then a name", WITH("43", "3f", "14") "0010 0005 0003 026832 0000 0007 0005 00 0002 6162",
	 "ab", "h2", 2},
	{"the type in a record of its own",
	 "1603010001 01 160302002c 000029 0303" RANDOM "00 0002 1301 01 00", "", NULL, 0},
};

static void a_good_hello_is_whole_with_its_last_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		uint8_t wire[CLIENT_HELLO_MAX];
		const size_t len = hex_bytes(good[i].hex, wire);
		struct client_hello_reader r;
		struct client_hello got;

		client_hello_begin(&r);
		for (size_t at = 0; at < len; at++)
			if (client_hello_read(&r, wire, at, &got) != CLIENT_HELLO_MORE)
				fail_msg("%s ends at %zu of %zu", good[i].what, at, len);
		if (client_hello_read(&r, wire, len, &got) != CLIENT_HELLO_WHOLE)
			fail_msg("%s does not end", good[i].what);
		assert_string_equal(got.name, good[i].name);
		assert_int_equal(got.name_len, strlen(good[i].name));
		assert_int_equal(got.alpn.left > 0, good[i].protocol != NULL);
		if (good[i].protocol != NULL)
			assert_true(client_hello_offers(&got, good[i].protocol, good[i].protocol_len));
		/* What follows does not matter, and the answer stays. */
		memset(wire + len, 0xff, 100);
		assert_int_equal(client_hello_read(&r, wire, len + 100, &got), CLIENT_HELLO_WHOLE);
		assert_int_equal(r.here.at, len);
	}
}

static void the_longest_hello_is_read_and_offers_what_it_offers(void **state)
{
	static uint8_t wire[CLIENT_HELLO_MAX + 1];
	const char *begin = "1603014000 01003ff7 0303" RANDOM "00 0002 1301 01 00 3fcc 0010 3fc8 3fc6";
	size_t len = hex_bytes(begin, wire), last = 0;
	struct client_hello_reader r;
	struct client_hello got;

	(void)state;
	while (len < CLIENT_HELLO_MAX) {
		const size_t left = CLIENT_HELLO_MAX - len;
		const size_t one = left > 256 + 2 ? 255 : left > 256 ? 100 : left - 1;

		wire[len] = (uint8_t)one;
		memset(wire + len + 1, (int)(len & 0xff), one);
		last = len;
		len += 1 + one;
	}
	client_hello_begin(&r);
	assert_int_equal(client_hello_read(&r, wire, len - 1, &got), CLIENT_HELLO_MORE);
	assert_int_equal(client_hello_read(&r, wire, len, &got), CLIENT_HELLO_WHOLE);
	assert_int_equal(got.alpn.left, 0x3fc6);
	/* The first one, the last one, and none of that length with other bytes. */
	assert_true(client_hello_offers(&got, wire + 59, wire[58]));
	assert_true(client_hello_offers(&got, wire + last + 1, wire[last]));
	assert_false(client_hello_offers(&got, wire + 58, wire[58]));
	assert_false(client_hello_offers(&got, wire, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recorded_hello_is_read_however_it_is_cut),
		cmocka_unit_test(a_recorded_hello_is_read_from_records_of_any_size),
		cmocka_unit_test(a_broken_hello_ends_at_the_first_wrong_byte),
		cmocka_unit_test(a_good_hello_is_whole_with_its_last_byte),
		cmocka_unit_test(the_longest_hello_is_read_and_offers_what_it_offers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
