/* SPDX-License-Identifier: MIT
 *
 * client_hello.c - reads a TLS ClientHello as it arrives: the server name and the offered protocols.
 *
 * A machine with one function per byte that matters; it returns whether a hello can go on like this. The
 * functions test a length against all that must still follow it, so that the first byte after which nothing
 * can become a hello ends the reading. What does not matter is skipped without a look. Any thread.
 */
#include "weir/net/client_hello.h"

#include <string.h>

#include "weir/base/check.h"

#define RECORD_HEADER 5
#define RECORD_MAX 16384
#define RECORD_HANDSHAKE 22
#define RECORD_MAJOR 3
#define RECORD_MINOR_MAX 4

#define TYPE_CLIENT_HELLO 1
#define SESSION_ID_MAX 32
#define RANDOM_LEN 32
/* version, random, an empty session id, one cipher suite, one compression method */
#define BODY_MIN (2 + RANDOM_LEN + 1 + 2 + 2 + 1 + 1)

#define EXT_HEADER 4
#define EXT_SERVER_NAME 0
#define EXT_ALPN 16
/* A list with one name of an unknown type, empty: the length of the list, the type, the name's length. */
#define NAMES_MIN (2 + 1 + 2)
#define NAME_HEADER 3
#define NAME_HOST 0
/* A list with one protocol of one byte. */
#define ALPN_MIN (2 + 1 + 1)
#define PROTOCOL_MIN 2

/* What the next byte of the handshake message is. */
enum step {
	STEP_TYPE,
	STEP_LENGTH_HIGH,
	STEP_LENGTH_MIDDLE,
	STEP_LENGTH_LOW,
	STEP_VERSION,
	STEP_SESSION_ID,
	STEP_CIPHERS_HIGH,
	STEP_CIPHERS_LOW,
	STEP_COMPRESSIONS,
	STEP_BLOCK_HIGH,
	STEP_BLOCK_LOW,
	STEP_EXT_TYPE_HIGH,
	STEP_EXT_TYPE_LOW,
	STEP_EXT_LENGTH_HIGH,
	STEP_EXT_LENGTH_LOW,
	STEP_NAMES_HIGH,
	STEP_NAMES_LOW,
	STEP_NAME_TYPE,
	STEP_NAME_LENGTH_HIGH,
	STEP_NAME_LENGTH_LOW,
	STEP_HOST_LENGTH_HIGH,
	STEP_HOST_LENGTH_LOW,
	STEP_HOST,
	STEP_ALPN_HIGH,
	STEP_ALPN_LOW,
	STEP_PROTOCOL,
	STEP_COUNT, /* the steps before this one have a function each */
	STEP_SKIP = STEP_COUNT,
	STEP_WHOLE,
	STEP_NOT,
};

void client_hello_begin(struct client_hello_reader *r)
{
	memset(r, 0, sizeof(*r));
}

/* Are the `rest` bytes after an element none, or enough for another one? */
static bool can_end(unsigned rest, unsigned element_min)
{
	return rest == 0 || rest >= element_min;
}

/* The number that `low` completes. */
static uint16_t number(const struct client_hello_reader *r, uint8_t low)
{
	return (uint16_t)(r->high << 8 | low);
}

/* Bytes of the current extension that are still to come. */
static unsigned ext_left(const struct client_hello_reader *r)
{
	return (unsigned)r->hello_left - r->ext_end;
}

/* Keeps the first byte of a number; `step` reads the second one. */
static bool keep_high(struct client_hello_reader *r, uint8_t high, enum step step)
{
	r->high = high;
	r->step = (uint8_t)step;
	return true;
}

/* Begins a field of `len` bytes that `step` reads; then `after` comes. */
static bool begin_field(struct client_hello_reader *r, unsigned len, enum step step, enum step after)
{
	check(len <= r->hello_left);
	r->field_end = (uint16_t)(r->hello_left - len);
	r->after_field = (uint8_t)after;
	r->step = (uint8_t)(len > 0 ? step : after);
	return true;
}

/* What comes after `len` more bytes of an extension, in which `element` may repeat. */
static enum step after_element(const struct client_hello_reader *r, unsigned len, enum step element)
{
	if (ext_left(r) > len)
		return element;
	return r->hello_left > len ? STEP_EXT_TYPE_HIGH : STEP_WHOLE;
}

/* Can the rest of the hello end within CLIENT_HELLO_MAX if `header_left` bytes of a record's header come
 * first, and then at most `payload` bytes before the next header? One more header is enough for any rest. */
static bool fits(const struct client_hello_reader *r, unsigned header_left, unsigned payload)
{
	const unsigned next_header = r->hello_left > payload ? RECORD_HEADER : 0;

	return r->here.at + header_left + r->hello_left + next_header <= CLIENT_HELLO_MAX;
}

/* ---- from the first byte to the extensions ---- */

static bool read_type(struct client_hello_reader *r, uint8_t byte)
{
	r->step = STEP_LENGTH_HIGH;
	return byte == TYPE_CLIENT_HELLO;
}

static bool read_length_high(struct client_hello_reader *r, uint8_t byte)
{
	r->step = STEP_LENGTH_MIDDLE;
	return byte == 0;
}

static bool read_length_middle(struct client_hello_reader *r, uint8_t byte)
{
	return keep_high(r, byte, STEP_LENGTH_LOW) && byte < CLIENT_HELLO_MAX >> 8;
}

static bool read_length_low(struct client_hello_reader *r, uint8_t byte)
{
	r->hello_left = number(r, byte);
	r->step = STEP_VERSION;
	return r->hello_left >= BODY_MIN && fits(r, 0, r->here.record_left);
}

static bool read_version(struct client_hello_reader *r, uint8_t byte)
{
	/* its second byte, which grows with each version but the last, and the random */
	return begin_field(r, 1 + RANDOM_LEN, STEP_SKIP, STEP_SESSION_ID) && byte == RECORD_MAJOR;
}

static bool read_session_id(struct client_hello_reader *r, uint8_t len)
{
	if (len > SESSION_ID_MAX || len + 2u + 2u + 1u + 1u > r->hello_left)
		return false;
	return begin_field(r, len, STEP_SKIP, STEP_CIPHERS_HIGH);
}

static bool read_ciphers_high(struct client_hello_reader *r, uint8_t high)
{
	/* the low byte, at least one compression method and its length */
	return keep_high(r, high, STEP_CIPHERS_LOW) && (high << 8) + 1 + 2 <= r->hello_left;
}

static bool read_ciphers_low(struct client_hello_reader *r, uint8_t low)
{
	const unsigned len = number(r, low);

	if (len < 2 || len % 2 != 0 || len + 2 > r->hello_left)
		return false;
	return begin_field(r, len, STEP_SKIP, STEP_COMPRESSIONS);
}

/* A hello may end after the compression methods; otherwise a block of extensions follows, possibly empty. */
static bool read_compressions(struct client_hello_reader *r, uint8_t len)
{
	unsigned rest;

	if (len == 0 || len > r->hello_left)
		return false;
	rest = r->hello_left - (unsigned)len;
	if (rest > 0 && (rest < 2 || !can_end(rest - 2, EXT_HEADER)))
		return false;
	return begin_field(r, len, STEP_SKIP, rest > 0 ? STEP_BLOCK_HIGH : STEP_WHOLE);
}

/* ---- extensions ---- */

/* The block is all that is left. */
static bool read_block_high(struct client_hello_reader *r, uint8_t high)
{
	return keep_high(r, high, STEP_BLOCK_LOW) && high == (r->hello_left - 1) >> 8;
}

static bool read_block_low(struct client_hello_reader *r, uint8_t low)
{
	r->step = (uint8_t)(r->hello_left > 0 ? STEP_EXT_TYPE_HIGH : STEP_WHOLE);
	return number(r, low) == r->hello_left;
}

static bool read_ext_type_high(struct client_hello_reader *r, uint8_t high)
{
	return keep_high(r, high, STEP_EXT_TYPE_LOW);
}

static unsigned ext_min(enum step step)
{
	switch (step) {
	case STEP_NAMES_HIGH:
		return NAMES_MIN;
	case STEP_ALPN_HIGH:
		return ALPN_MIN;
	default:
		return 0;
	}
}

static bool read_ext_type_low(struct client_hello_reader *r, uint8_t low)
{
	const unsigned type = number(r, low);
	bool is_second = false;

	r->step = STEP_EXT_LENGTH_HIGH;
	r->ext_step = STEP_SKIP;
	if (type == EXT_SERVER_NAME) {
		r->ext_step = STEP_NAMES_HIGH;
		is_second = r->has_names;
		r->has_names = true;
	} else if (type == EXT_ALPN) {
		r->ext_step = STEP_ALPN_HIGH;
		is_second = r->alpn_len > 0;
	}
	return !is_second && 2 + ext_min(r->ext_step) <= r->hello_left;
}

static bool read_ext_length_high(struct client_hello_reader *r, uint8_t high)
{
	return keep_high(r, high, STEP_EXT_LENGTH_LOW) && (high << 8) + 1 <= r->hello_left;
}

static bool read_ext_length_low(struct client_hello_reader *r, uint8_t low)
{
	const unsigned len = number(r, low);

	if (len < ext_min(r->ext_step) || len > r->hello_left || !can_end(r->hello_left - len, EXT_HEADER))
		return false;
	r->ext_end = (uint16_t)(r->hello_left - len);
	r->step = r->ext_step;
	if (r->ext_step == STEP_SKIP)
		return begin_field(r, len, STEP_SKIP, r->ext_end > 0 ? STEP_EXT_TYPE_HIGH : STEP_WHOLE);
	return true;
}

/* ---- server_name: the list is all of the extension ---- */

static bool read_names_high(struct client_hello_reader *r, uint8_t high)
{
	return keep_high(r, high, STEP_NAMES_LOW) && high == (ext_left(r) - 1) >> 8;
}

static bool read_names_low(struct client_hello_reader *r, uint8_t low)
{
	r->step = STEP_NAME_TYPE;
	return number(r, low) == ext_left(r);
}

static bool read_name_type(struct client_hello_reader *r, uint8_t type)
{
	r->step = type == NAME_HOST ? STEP_HOST_LENGTH_HIGH : STEP_NAME_LENGTH_HIGH;
	return type != NAME_HOST || (r->name_len == 0 && ext_left(r) >= 2 + 1);
}

/* RFC 6066 3: each name of a type to come begins with a length of two bytes. */
static bool read_name_length_high(struct client_hello_reader *r, uint8_t high)
{
	return keep_high(r, high, STEP_NAME_LENGTH_LOW) && (unsigned)(high << 8) + 1 <= ext_left(r);
}

static bool read_name_length_low(struct client_hello_reader *r, uint8_t low)
{
	const unsigned len = number(r, low);

	if (len > ext_left(r) || !can_end(ext_left(r) - len, NAME_HEADER))
		return false;
	return begin_field(r, len, STEP_SKIP, after_element(r, len, STEP_NAME_TYPE));
}

static bool read_host_length_high(struct client_hello_reader *r, uint8_t high)
{
	r->step = STEP_HOST_LENGTH_LOW;
	return high == 0;
}

static bool read_host_length_low(struct client_hello_reader *r, uint8_t len)
{
	if (len == 0 || len > ext_left(r) || !can_end(ext_left(r) - len, NAME_HEADER))
		return false;
	r->name = r->here;
	r->name_len = len;
	return begin_field(r, len, STEP_HOST, after_element(r, len, STEP_NAME_TYPE));
}

static bool read_host(struct client_hello_reader *r, uint8_t byte)
{
	if (r->hello_left == r->field_end)
		r->step = r->after_field;
	return byte > ' ' && byte < 0x7f && !(byte == '.' && r->name_len == 1);
}

/* ---- ALPN: the list is all of the extension ---- */

static bool read_alpn_high(struct client_hello_reader *r, uint8_t high)
{
	return keep_high(r, high, STEP_ALPN_LOW) && high == (ext_left(r) - 1) >> 8;
}

static bool read_alpn_low(struct client_hello_reader *r, uint8_t low)
{
	r->step = STEP_PROTOCOL;
	r->alpn = r->here;
	r->alpn_len = (uint16_t)ext_left(r);
	return number(r, low) == ext_left(r);
}

static bool read_protocol(struct client_hello_reader *r, uint8_t len)
{
	if (len == 0 || len > ext_left(r) || !can_end(ext_left(r) - len, PROTOCOL_MIN))
		return false;
	return begin_field(r, len, STEP_SKIP, after_element(r, len, STEP_PROTOCOL));
}

/* ---- all of it ---- */

static bool (*const read_byte[STEP_COUNT])(struct client_hello_reader *r, uint8_t byte) = {
	[STEP_TYPE] = read_type,
	[STEP_LENGTH_HIGH] = read_length_high,
	[STEP_LENGTH_MIDDLE] = read_length_middle,
	[STEP_LENGTH_LOW] = read_length_low,
	[STEP_VERSION] = read_version,
	[STEP_SESSION_ID] = read_session_id,
	[STEP_CIPHERS_HIGH] = read_ciphers_high,
	[STEP_CIPHERS_LOW] = read_ciphers_low,
	[STEP_COMPRESSIONS] = read_compressions,
	[STEP_BLOCK_HIGH] = read_block_high,
	[STEP_BLOCK_LOW] = read_block_low,
	[STEP_EXT_TYPE_HIGH] = read_ext_type_high,
	[STEP_EXT_TYPE_LOW] = read_ext_type_low,
	[STEP_EXT_LENGTH_HIGH] = read_ext_length_high,
	[STEP_EXT_LENGTH_LOW] = read_ext_length_low,
	[STEP_NAMES_HIGH] = read_names_high,
	[STEP_NAMES_LOW] = read_names_low,
	[STEP_NAME_TYPE] = read_name_type,
	[STEP_NAME_LENGTH_HIGH] = read_name_length_high,
	[STEP_NAME_LENGTH_LOW] = read_name_length_low,
	[STEP_HOST_LENGTH_HIGH] = read_host_length_high,
	[STEP_HOST_LENGTH_LOW] = read_host_length_low,
	[STEP_HOST] = read_host,
	[STEP_ALPN_HIGH] = read_alpn_high,
	[STEP_ALPN_LOW] = read_alpn_low,
	[STEP_PROTOCOL] = read_protocol,
};

static bool read_record_header(struct client_hello_reader *r, uint8_t byte)
{
	unsigned len;

	r->here.at++;
	switch (r->header_have++) {
	case 0:
		return byte == RECORD_HANDSHAKE;
	case 1:
		return byte == RECORD_MAJOR;
	case 2:
		return byte <= RECORD_MINOR_MAX;
	case 3:
		r->record_high = byte;
		len = (unsigned)byte << 8 | 0xff;
		return byte <= RECORD_MAX >> 8 && fits(r, 1, len < RECORD_MAX ? len : RECORD_MAX);
	default:
		len = (unsigned)r->record_high << 8 | byte;
		r->header_have = 0;
		r->here.record_left = (uint16_t)len;
		return len > 0 && len <= RECORD_MAX && fits(r, 0, len);
	}
}

/* Moves `len` bytes on within a record. */
static void advance(struct client_hello_reader *r, unsigned len)
{
	r->here.at = (uint16_t)(r->here.at + len);
	r->here.record_left = (uint16_t)(r->here.record_left - len);
	if (r->step > STEP_LENGTH_LOW)
		r->hello_left = (uint16_t)(r->hello_left - len);
}

/* Skips what it can of the current field: `have` bytes have arrived. */
static void skip(struct client_hello_reader *r, size_t have)
{
	size_t len = (size_t)r->hello_left - r->field_end;

	len = len < have ? len : have;
	len = len < r->here.record_left ? len : r->here.record_left;
	advance(r, (unsigned)len);
	if (r->hello_left == r->field_end)
		r->step = r->after_field;
}

/* The next byte at a place that is not the end of the hello. */
static uint8_t next_byte(const uint8_t *bytes, struct client_hello_place *place)
{
	if (place->record_left == 0) {
		place->at = (uint16_t)(place->at + RECORD_HEADER);
		place->record_left = (uint16_t)(bytes[place->at - 2] << 8 | bytes[place->at - 1]);
	}
	place->record_left--;
	return bytes[place->at++];
}

static void fill(const struct client_hello_reader *r, const uint8_t *bytes, struct client_hello *out)
{
	struct client_hello_place place = r->name;

	for (unsigned i = 0; i < r->name_len; i++) {
		const uint8_t c = next_byte(bytes, &place);

		out->name[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
	}
	out->name_len = r->name_len;
	if (out->name_len > 0 && out->name[out->name_len - 1] == '.')
		out->name_len--;
	out->name[out->name_len] = '\0';
	out->alpn = (struct client_hello_protocols){.bytes = bytes, .place = r->alpn, .left = r->alpn_len};
}

enum client_hello_step client_hello_read(struct client_hello_reader *r, const uint8_t *bytes, size_t len,
					 struct client_hello *out)
{
	check(len >= r->here.at);
	while (r->step < STEP_WHOLE && r->here.at < len) {
		const uint8_t byte = bytes[r->here.at];
		bool can_be = true;

		if (r->here.record_left == 0) {
			can_be = read_record_header(r, byte);
		} else if (r->step == STEP_SKIP) {
			skip(r, len - r->here.at);
		} else {
			advance(r, 1);
			can_be = read_byte[r->step](r, byte);
		}
		if (!can_be)
			r->step = STEP_NOT;
	}
	if (r->step == STEP_NOT)
		return CLIENT_HELLO_NOT;
	if (r->step != STEP_WHOLE)
		return CLIENT_HELLO_MORE;
	fill(r, bytes, out);
	return CLIENT_HELLO_WHOLE;
}

size_t client_hello_next_protocol(struct client_hello_protocols *list, uint8_t *protocol)
{
	size_t len;

	if (list->left == 0)
		return 0;
	len = next_byte(list->bytes, &list->place);
	for (size_t i = 0; i < len; i++)
		protocol[i] = next_byte(list->bytes, &list->place);
	list->left = (uint16_t)(list->left - 1 - len);
	return len;
}

bool client_hello_offers(const struct client_hello *hello, const void *protocol, size_t len)
{
	struct client_hello_protocols list = hello->alpn;
	uint8_t offered[CLIENT_HELLO_PROTOCOL_MAX];
	size_t offered_len;

	while ((offered_len = client_hello_next_protocol(&list, offered)) > 0)
		if (offered_len == len && memcmp(offered, protocol, len) == 0)
			return true;
	return false;
}
