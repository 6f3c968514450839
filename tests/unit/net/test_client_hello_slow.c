/* SPDX-License-Identifier: MIT
 *
 * test_client_hello_slow.c - hellos of real clients and invented ones, mutated, cut and written in other
 * records, against a second reader. The environment's WEIR_HELLOS is how many; a million take half a minute.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "recorded_hellos.h"
#include "weir/net/client_hello.h"
#include "../../fuzz/slow_hello.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define HELLOS 20000
#define WALKS 300
/* A message that is a little too long, in the smallest records. */
#define BYTES_MAX (6 * (CLIENT_HELLO_MAX + 512))

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state >> 8;
}

static size_t below(size_t n)
{
	return n == 0 ? 0 : (size_t)(random_next() % n);
}

static bool one_in(unsigned n)
{
	return below(n) == 0;
}

/* ---- messages ---- */

struct bytes {
	uint8_t at[BYTES_MAX];
	size_t len;
};

static void add_byte(struct bytes *b, size_t value)
{
	if (b->len < sizeof(b->at))
		b->at[b->len++] = (uint8_t)value;
}

static void add_random(struct bytes *b, size_t len)
{
	while (len-- > 0)
		add_byte(b, random_next());
}

/* Leaves room for a length; end_length() writes it, or now and then a little more or less. */
static size_t begin_length(struct bytes *b, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		add_byte(b, 0);
	return b->len;
}

static void end_length(struct bytes *b, size_t begin, unsigned bytes)
{
	size_t len = b->len - begin;

	if (one_in(200))
		len += below(7) - 3;
	for (unsigned i = 1; i <= bytes; i++, len >>= 8)
		b->at[begin - i] = (uint8_t)len;
}

static void add_host(struct bytes *b)
{
	static const char usual[] = "abcXYZ019-_..";
	const size_t len = one_in(20) ? 250 + below(8) : one_in(30) ? 0 : 1 + below(20);
	const size_t begin = begin_length(b, 2);

	for (size_t i = 0; i < len; i++)
		add_byte(b, one_in(500) ? below(256) : (size_t)usual[below(sizeof(usual) - 1)]);
	end_length(b, begin, 2);
}

static void add_names(struct bytes *b)
{
	const size_t begin = begin_length(b, 2);
	const size_t count = one_in(20) ? 0 : one_in(4) ? 1 + below(3) : 1;
	const size_t host = below(count + (one_in(10) ? 1 : 0));

	for (size_t i = 0; i < count; i++) {
		if (i == host || one_in(50)) {
			add_byte(b, 0);
			add_host(b);
		} else {
			size_t inner;

			add_byte(b, 1 + below(255));
			inner = begin_length(b, 2);
			add_random(b, one_in(20) ? 300 : below(4));
			end_length(b, inner, 2);
		}
	}
	end_length(b, begin, 2);
}

static void add_protocols(struct bytes *b)
{
	const size_t begin = begin_length(b, 2);
	const size_t count = one_in(20) ? 0 : 1 + below(one_in(20) ? 100 : 4);

	for (size_t i = 0; i < count; i++) {
		const size_t inner = begin_length(b, 1);

		add_random(b, one_in(100) ? 0 : one_in(30) ? 255 : 1 + below(8));
		end_length(b, inner, 1);
	}
	end_length(b, begin, 2);
}

static void add_extension(struct bytes *b, bool huge)
{
	static const uint8_t types[] = {0, 16, 0, 16, 1, 10, 43, 51, 255};
	const size_t type = types[below(sizeof(types))];
	size_t begin;

	add_byte(b, one_in(20) ? below(256) : 0);
	add_byte(b, type);
	begin = begin_length(b, 2);
	if (type == 0 && !one_in(50))
		add_names(b);
	else if (type == 16 && !one_in(50))
		add_protocols(b);
	else
		add_random(b, huge ? below(CLIENT_HELLO_MAX + 200) : below(12));
	end_length(b, begin, 2);
}

static void invent(struct bytes *b)
{
	const bool huge = one_in(50);
	size_t message, inner;

	b->len = 0;
	add_byte(b, 1);
	message = begin_length(b, 3);
	add_byte(b, 3);
	add_byte(b, below(5));
	add_random(b, 32);
	inner = begin_length(b, 1);
	add_random(b, one_in(2) ? 0 : below(33));
	end_length(b, inner, 1);
	inner = begin_length(b, 2);
	add_random(b, 2 + 2 * below(one_in(10) ? 300 : 10));
	end_length(b, inner, 2);
	inner = begin_length(b, 1);
	add_random(b, 1 + below(2));
	end_length(b, inner, 1);
	if (!one_in(20)) {
		const size_t count = below(6);

		inner = begin_length(b, 2);
		for (size_t i = 0; i < count; i++)
			add_extension(b, huge && i == 0);
		end_length(b, inner, 2);
	}
	end_length(b, message, 3);
}

/* The message of a real client. */
static void recall(struct bytes *b)
{
	static uint8_t wires[RECORDED_HELLOS][CLIENT_HELLO_MAX];
	static size_t lens[RECORDED_HELLOS];
	const size_t which = below(RECORDED_HELLOS);
	const uint8_t *wire = wires[which];
	size_t left = 0;

	if (lens[which] == 0)
		lens[which] = hex_bytes(recorded_hellos[which].hex, wires[which]);
	b->len = 0;
	for (size_t at = 0; at < lens[which]; left--) {
		if (left == 0) {
			left = (size_t)wire[at + 3] << 8 | wire[at + 4];
			at += 5;
		}
		add_byte(b, wire[at++]);
	}
}

/* A byte that becomes another one, mostly one that is near; a piece that is gone or comes twice. */
static void mutate(struct bytes *b)
{
	static const uint8_t special[] = {0, 1, 2, 3, 4, 16, 0x20, 0x2e, 0x7f, 0x80, 0xff};
	const size_t at = one_in(8) ? below(b->len) : b->len < 40 ? 0 : 38 + below(b->len - 38);
	const size_t len = below(b->len - at < 8 ? b->len - at : 8);

	switch (below(6)) {
	case 0:
		b->at[at] = (uint8_t)random_next();
		break;
	case 1:
		b->at[at] = special[below(sizeof(special))];
		break;
	case 2:
	case 3:
		b->at[at] = (uint8_t)(b->at[at] + below(5) - 2);
		break;
	case 4:
		memmove(b->at + at, b->at + at + len, b->len - at - len);
		b->len -= len;
		break;
	default:
		memmove(b->at + at + len, b->at + at, b->len - at);
		b->len += len;
		break;
	}
	/* Then the outer lengths are right again, or not. */
	if (b->len > 4 && !one_in(3)) {
		b->at[2] = (uint8_t)((b->len - 4) >> 8);
		b->at[3] = (uint8_t)(b->len - 4);
	}
}

/* ---- on the wire ---- */

static size_t record_size(unsigned how)
{
	switch (how) {
	case 0:
		return 1 + below(3);
	case 1:
		return 1 + below(60);
	case 2:
		return 1 + below(2000);
	default:
		return 16384;
	}
}

static void write_wire(const struct bytes *message, struct bytes *wire)
{
	const unsigned how = (unsigned)below(6);
	size_t at = 0;

	wire->len = 0;
	while (at < message->len) {
		size_t size = record_size(how);

		if (size > message->len - at)
			size = message->len - at;
		if (one_in(5000))
			size = 0;
		add_byte(wire, one_in(5000) ? below(256) : 22);
		add_byte(wire, one_in(5000) ? below(256) : 3);
		add_byte(wire, one_in(2000) ? below(256) : below(5));
		add_byte(wire, size >> 8);
		add_byte(wire, size);
		for (size_t i = 0; i < size; i++)
			add_byte(wire, message->at[at++]);
	}
	if (one_in(4))
		add_random(wire, below(20));
	if (one_in(4))
		wire->len = below(wire->len + 1);
}

static size_t cut_most;

static size_t next_cut(void *arg)
{
	(void)arg;
	return 1 + below(cut_most);
}

static void make_wire(struct bytes *wire)
{
	static const size_t cuts[] = {1, 3, 64, 1500, BYTES_MAX};
	static struct bytes message;

	if (one_in(2))
		recall(&message);
	else
		invent(&message);
	for (size_t n = below(4); n > 0; n--)
		mutate(&message);
	write_wire(&message, wire);
	cut_most = cuts[below(ARRAY_LEN(cuts))];
}

/* ---- tests ---- */

static void two_readers_agree_on_every_hello(void **state)
{
	static struct bytes wire;
	static struct slow_hello slow;
	const char *text = getenv("WEIR_HELLOS");
	const unsigned long hellos = text != NULL ? strtoul(text, NULL, 10) : HELLOS;
	unsigned long verdicts[3] = {0}, names = 0, lists = 0;

	(void)state;
	for (unsigned long i = 0; i < hellos; i++) {
		const char *differs;

		make_wire(&wire);
		differs = slow_compare(wire.at, wire.len, next_cut, NULL, &slow);
		if (differs != NULL)
			fail_msg("hello %lu of %zu bytes: %s differs", i, wire.len, differs);
		verdicts[slow.verdict]++;
		names += slow.verdict == CLIENT_HELLO_WHOLE && slow.name_len > 0;
		lists += slow.verdict == CLIENT_HELLO_WHOLE && slow.list_len > 0;
	}
	print_message("%lu hellos: %lu whole (%lu with a name, %lu with protocols), %lu not, %lu begun\n",
		      hellos, verdicts[CLIENT_HELLO_WHOLE], names, lists, verdicts[CLIENT_HELLO_NOT],
		      verdicts[CLIENT_HELLO_MORE]);
	/* Each kind is tried. */
	for (unsigned v = 0; v < 3; v++)
		assert_true(verdicts[v] > hellos / 20);
	assert_true(names > hellos / 20);
	assert_true(lists > hellos / 20);
}

/* MORE promises that some bytes complete the hello: goes on with bytes that are not refused. */
static void a_hello_that_has_begun_can_be_completed(void **state)
{
	static struct bytes wire;

	(void)state;
	for (unsigned i = 0; i < WALKS; i++) {
		struct client_hello_reader r;
		struct client_hello hello;
		enum client_hello_step step = CLIENT_HELLO_NOT;

		while (step != CLIENT_HELLO_MORE) {
			make_wire(&wire);
			client_hello_begin(&r);
			wire.len = below(wire.len + 1);
			step = client_hello_read(&r, wire.at, wire.len, &hello);
		}
		while (step == CLIENT_HELLO_MORE) {
			const struct client_hello_reader before = r;
			const size_t first = random_next();
			unsigned tried = 0;

			assert_true(wire.len < CLIENT_HELLO_MAX);
			do {
				assert_true(tried < 256);
				r = before;
				wire.at[wire.len] = (uint8_t)(first + tried++);
				step = client_hello_read(&r, wire.at, wire.len + 1, &hello);
			} while (step == CLIENT_HELLO_NOT);
			wire.len++;
		}
		assert_int_equal(step, CLIENT_HELLO_WHOLE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_readers_agree_on_every_hello),
		cmocka_unit_test(a_hello_that_has_begun_can_be_completed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
