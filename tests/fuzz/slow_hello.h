/* SPDX-License-Identifier: MIT
 *
 * slow_hello.h - a second reader of ClientHellos, for comparison, written in other ways.
 *
 * It sees all bytes at once, takes the records apart first and then reads the message from the outside to
 * the inside (RFC 8446 4.1.2 and 5.1, RFC 6066 3, RFC 7301 3.1). Whether a length can be right is looked up
 * in tables of all the sizes that each part of a hello can have, which are computed from the grammar; whether
 * the first byte of a length can be right, by trying each second byte. Tests only.
 */
#ifndef FUZZ_SLOW_HELLO_H
#define FUZZ_SLOW_HELLO_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "weir/net/client_hello.h"

#define SLOW_SIZES (CLIENT_HELLO_MAX + 1)

struct slow_hello {
	enum client_hello_step verdict;
	size_t at; /* WHOLE: the length on the wire; NOT: bytes up to and with the first wrong one */
	size_t name_len;
	uint8_t name[256]; /* as sent */
	size_t list_len;
	uint8_t list[SLOW_SIZES]; /* the protocols, each after its length */
};

/* ---- which sizes the parts of a hello can have ---- */

/* sizes.X[n]: can X be n bytes long? "From X on": X and all that follows it to the end of its container. */
struct slow_sizes {
	bool extensions[SLOW_SIZES], names[SLOW_SIZES], protocols[SLOW_SIZES]; /* any number of them */
	bool from_block[SLOW_SIZES], from_compressions[SLOW_SIZES], from_ciphers[SLOW_SIZES];
	bool body[SLOW_SIZES];
	bool names_extension[SLOW_SIZES], alpn_extension[SLOW_SIZES], any[SLOW_SIZES], nothing[SLOW_SIZES];
};

/* Fills `sum`: any number of elements of `min` to `max` bytes. */
static inline void slow_repeat(bool *sum, size_t min, size_t max)
{
	sum[0] = true;
	for (size_t n = min; n < SLOW_SIZES; n++)
		for (size_t one = min; one <= max && one <= n && !sum[n]; one++)
			sum[n] = sum[n - one];
}

/* Fills `out`: an element of `min` to `max` bytes in steps of `step`, and then what `then` says. */
static inline void slow_before(bool *out, const bool *then, size_t min, size_t max, size_t step)
{
	for (size_t n = 0; n < SLOW_SIZES; n++)
		for (size_t one = min; one <= max && one <= n && !out[n]; one += step)
			out[n] = then[n - one];
}

static inline const struct slow_sizes *slow_sizes(void)
{
	static struct slow_sizes s;
	static bool done;
	static bool from_session_id[SLOW_SIZES];

	if (done)
		return &s;
	done = true;
	memset(s.any, true, sizeof(s.any));
	s.nothing[0] = true;
	slow_repeat(s.extensions, 4, 4 + 65535);
	slow_repeat(s.names, 3, 3 + 65535);
	slow_repeat(s.protocols, 2, 1 + 255);
	slow_before(s.from_block, s.extensions, 2, 2, 1);
	s.from_block[0] = true;
	slow_before(s.from_compressions, s.from_block, 1 + 1, 1 + 255, 1);
	slow_before(s.from_ciphers, s.from_compressions, 2 + 2, 2 + 65534, 2);
	slow_before(from_session_id, s.from_ciphers, 1, 1 + 32, 1);
	slow_before(s.body, from_session_id, 34, 34, 1);
	for (size_t n = 3; n < SLOW_SIZES; n++) {
		s.names_extension[n] = s.names[n - 2];
		s.alpn_extension[n] = s.protocols[n - 2];
	}
	return &s;
}

/* ---- records ---- */

/* The message, and where each of its bytes was on the wire. */
struct slow_message {
	uint8_t bytes[SLOW_SIZES];
	size_t wire[SLOW_SIZES];
	size_t len;
	size_t broken; /* bytes up to and with the first one that no record can have; SIZE_MAX = none */
};

static inline bool slow_is_header_byte(const uint8_t *header, size_t i)
{
	switch (i) {
	case 0:
		return header[0] == 22;
	case 1:
		return header[1] == 3;
	case 2:
		return header[2] < 5;
	case 3:
		return header[3] * 256 <= 16384;
	default:
		return header[3] * 256 + header[4] >= 1 && header[3] * 256 + header[4] <= 16384;
	}
}

static inline void slow_join(const uint8_t *wire, size_t len, struct slow_message *out)
{
	size_t at = 0;

	out->len = 0;
	out->broken = SIZE_MAX;
	while (at < len) {
		size_t payload;

		for (size_t i = 0; i < 5; i++) {
			if (at + i == len)
				return;
			if (!slow_is_header_byte(wire + at, i)) {
				out->broken = at + i + 1;
				return;
			}
		}
		payload = wire[at + 3] * 256u + wire[at + 4];
		at += 5;
		for (; payload > 0 && at < len && out->len < SLOW_SIZES; payload--, at++) {
			out->wire[out->len] = at;
			out->bytes[out->len++] = wire[at];
		}
		if (payload > 0)
			return;
	}
}

/* The least number of bytes of a message that begins like this. */
static inline size_t slow_least_message(const uint8_t *message, size_t have)
{
	size_t body = 0;

	if (have > 2)
		body = message[2] * 256u;
	if (have > 3)
		body += message[3];
	return 4 + (body > 41 ? body : 41);
}

/* Bytes up to and with the first one after which the hello must exceed the limit; SIZE_MAX = none. `message`
 * are the bytes in the records of `wire`. */
static inline size_t slow_too_long(const uint8_t *wire, size_t len, const struct slow_message *message)
{
	size_t have = 0;    /* bytes of the message */
	size_t payload = 0; /* bytes left in the record */
	size_t header = 0;  /* bytes of its header */

	for (size_t n = 1; n <= len; n++) {
		size_t most = payload, need, total = n;

		if (payload == 0) {
			header++;
			most = 16384;
			if (header == 4 && wire[n - 1] < 64)
				most = wire[n - 1] * 256u + 255;
			if (header == 5) {
				payload = most = wire[n - 2] * 256u + wire[n - 1];
				header = 0;
			}
		} else {
			have++;
			most = --payload;
		}
		if (have > message->len)
			return SIZE_MAX;
		need = slow_least_message(message->bytes, have);
		if (need <= have)
			return SIZE_MAX;
		need -= have;
		if (header > 0)
			total += 5 - header;
		for (; need > most; most = 16384) {
			total += most + 5;
			need -= most;
		}
		if (total + need > CLIENT_HELLO_MAX)
			return n;
	}
	return SIZE_MAX;
}

/* ---- the message ---- */

/* Reading a message; `bad` is the position of the wrong byte. */
struct slow_read {
	const struct slow_message *m;
	size_t at;
	bool is_short;
	bool is_bad;
	size_t bad;
	bool has_names, has_host, has_alpn;
	struct slow_hello *out;
};

/* What a number of one or two bytes can be: the size of the part after it, within a container of which `left`
 * bytes are left after the number. */
struct slow_want {
	size_t left;
	size_t min, max;
	bool is_even;
	const bool *part; /* the sizes of the part */
	const bool *rest; /* and of what comes after it */
};

static inline bool slow_wants(const struct slow_want *w, size_t v)
{
	if (v < w->min || v > w->max || v > w->left || (w->is_even && v % 2 != 0))
		return false;
	return w->part[v] && w->rest[w->left - v];
}

static inline bool slow_fail(struct slow_read *r, size_t at)
{
	r->is_bad = true;
	r->bad = at;
	return false;
}

/* Can we read a byte? */
static inline bool slow_have(struct slow_read *r)
{
	if (r->at < r->m->len)
		return true;
	r->is_short = true;
	return false;
}

static inline bool slow_number(struct slow_read *r, unsigned bytes, const struct slow_want *w, size_t *v)
{
	size_t high = 0;

	if (bytes == 2) {
		bool can_be = false;

		if (!slow_have(r))
			return false;
		high = r->m->bytes[r->at];
		for (size_t low = 0; low < 256 && !can_be; low++)
			can_be = slow_wants(w, high * 256 + low);
		if (!can_be)
			return slow_fail(r, r->at);
		r->at++;
	}
	if (!slow_have(r))
		return false;
	*v = high * 256 + r->m->bytes[r->at];
	if (!slow_wants(w, *v))
		return slow_fail(r, r->at);
	r->at++;
	return true;
}

static inline bool slow_skip(struct slow_read *r, size_t len)
{
	r->at += len;
	if (r->at <= r->m->len)
		return true;
	r->is_short = true;
	return false;
}

static inline bool slow_host(struct slow_read *r, size_t len)
{
	r->out->name_len = len;
	for (size_t i = 0; i < len; i++) {
		uint8_t c;

		if (!slow_have(r))
			return false;
		c = r->m->bytes[r->at];
		if (c <= 0x20 || c >= 0x7f || (len == 1 && c == '.'))
			return slow_fail(r, r->at);
		r->out->name[i] = c;
		r->at++;
	}
	return true;
}

/* The names from here to `end`. */
static inline bool slow_names(struct slow_read *r, size_t end)
{
	const struct slow_sizes *s = slow_sizes();

	while (r->at < end) {
		struct slow_want w = {.max = 65535, .part = s->any, .rest = s->names};
		bool is_host, is_possible = false;
		size_t len;

		if (!slow_have(r))
			return false;
		is_host = r->m->bytes[r->at] == 0;
		w.left = end - r->at - 3;
		if (is_host) {
			w.min = 1;
			w.max = 255;
		}
		for (size_t v = 0; v <= w.left && !is_possible; v++)
			is_possible = slow_wants(&w, v);
		if ((is_host && r->has_host) || !is_possible)
			return slow_fail(r, r->at);
		r->at++;
		r->has_host = r->has_host || is_host;
		if (!slow_number(r, 2, &w, &len) || !(is_host ? slow_host(r, len) : slow_skip(r, len)))
			return false;
	}
	return true;
}

static inline bool slow_protocols(struct slow_read *r, size_t end)
{
	const struct slow_sizes *s = slow_sizes();

	while (r->at < end) {
		struct slow_want w = {.left = end - r->at - 1, .min = 1, .max = 255, .part = s->any,
				      .rest = s->protocols};
		size_t len;

		if (!slow_number(r, 1, &w, &len) || !slow_skip(r, len))
			return false;
		memcpy(r->out->list + r->out->list_len, r->m->bytes + r->at - len - 1, len + 1);
		r->out->list_len += len + 1;
	}
	return true;
}

/* The type of the extension; `*part` gets the sizes of its content. */
static inline bool slow_type(struct slow_read *r, size_t end, size_t *type, const bool **part)
{
	const struct slow_sizes *s = slow_sizes();
	struct slow_want w = {.left = end - r->at - 4, .max = 65535, .rest = s->extensions};
	bool is_possible = false, is_second;

	if (!slow_have(r) || !slow_skip(r, 1) || !slow_have(r))
		return false;
	*type = r->m->bytes[r->at - 1] * 256u + r->m->bytes[r->at];
	*part = *type == 0 ? s->names_extension : *type == 16 ? s->alpn_extension : s->any;
	is_second = (*type == 0 && r->has_names) || (*type == 16 && r->has_alpn);
	w.part = *part;
	for (size_t v = 0; v <= w.left && !is_possible; v++)
		is_possible = slow_wants(&w, v);
	if (is_second || !is_possible)
		return slow_fail(r, r->at);
	r->has_names = r->has_names || *type == 0;
	r->has_alpn = r->has_alpn || *type == 16;
	r->at++;
	return true;
}

static inline bool slow_extension(struct slow_read *r, size_t end)
{
	const struct slow_sizes *s = slow_sizes();
	struct slow_want w = {.max = 65535, .rest = s->extensions};
	struct slow_want list = {.max = 65535, .part = s->any, .rest = s->nothing};
	size_t type, len, list_len;

	if (!slow_type(r, end, &type, &w.part))
		return false;
	w.left = end - r->at - 2;
	if (!slow_number(r, 2, &w, &len))
		return false;
	if (type != 0 && type != 16)
		return slow_skip(r, len);
	list.left = len - 2;
	if (!slow_number(r, 2, &list, &list_len))
		return false;
	return type == 0 ? slow_names(r, r->at + list_len) : slow_protocols(r, r->at + list_len);
}

static inline bool slow_body(struct slow_read *r, size_t end)
{
	const struct slow_sizes *s = slow_sizes();
	struct slow_want id = {.max = 32, .part = s->any, .rest = s->from_ciphers};
	struct slow_want ciphers = {.min = 2, .max = 65534, .is_even = true, .part = s->any,
				    .rest = s->from_compressions};
	struct slow_want compressions = {.min = 1, .max = 255, .part = s->any, .rest = s->from_block};
	struct slow_want block = {.max = 65535, .part = s->extensions, .rest = s->nothing};
	size_t len;

	if (!slow_have(r))
		return false;
	if (r->m->bytes[r->at] != 3)
		return slow_fail(r, r->at);
	if (!slow_skip(r, 34))
		return false;
	id.left = end - r->at - 1;
	if (!slow_number(r, 1, &id, &len) || !slow_skip(r, len))
		return false;
	ciphers.left = end - r->at - 2;
	if (!slow_number(r, 2, &ciphers, &len) || !slow_skip(r, len))
		return false;
	compressions.left = end - r->at - 1;
	if (!slow_number(r, 1, &compressions, &len) || !slow_skip(r, len))
		return false;
	if (r->at == end)
		return true;
	block.left = end - r->at - 2;
	if (!slow_number(r, 2, &block, &len))
		return false;
	while (r->at < end)
		if (!slow_extension(r, end))
			return false;
	return true;
}

/* The type and the length of three bytes, the first of which is 0 in a hello that fits. */
static inline bool slow_whole(struct slow_read *r)
{
	struct slow_want body = {.left = SLOW_SIZES - 1, .max = 65535, .part = slow_sizes()->body,
				 .rest = slow_sizes()->any};
	size_t len;

	for (size_t i = 0; i < 2; i++) {
		if (!slow_have(r))
			return false;
		if (r->m->bytes[i] != (i == 0 ? 1 : 0))
			return slow_fail(r, i);
		r->at++;
	}
	return slow_number(r, 2, &body, &len) && slow_body(r, r->at + len);
}

static inline void slow_hello_read(const uint8_t *wire, size_t len, struct slow_hello *out)
{
	static struct slow_message m;
	struct slow_read r = {.m = &m, .out = out};
	size_t wrong, too_long;

	out->name_len = 0;
	out->list_len = 0;
	slow_join(wire, len, &m);
	too_long = slow_too_long(wire, len, &m);
	wrong = m.broken < too_long ? m.broken : too_long;
	if (slow_whole(&r)) {
		out->at = m.wire[r.at - 1] + 1;
		if (out->at <= wrong) {
			out->verdict = CLIENT_HELLO_WHOLE;
			return;
		}
	}
	if (r.is_bad && m.wire[r.bad] + 1 < wrong)
		wrong = m.wire[r.bad] + 1;
	out->verdict = wrong == SIZE_MAX ? CLIENT_HELLO_MORE : CLIENT_HELLO_NOT;
	out->at = wrong == SIZE_MAX ? len : wrong;
}

/* ---- the comparison ---- */

/* Reads with `r` in pieces; `next_cut` returns the length of each. The verdict. */
static inline enum client_hello_step slow_feed(struct client_hello_reader *r, const uint8_t *wire,
					       size_t len, size_t (*next_cut)(void *), void *arg,
					       struct client_hello *out)
{
	enum client_hello_step step = CLIENT_HELLO_MORE;
	size_t have = 0;

	client_hello_begin(r);
	do {
		const size_t cut = next_cut(arg);

		have = len - have < cut ? len : have + cut;
		step = client_hello_read(r, wire, have, out);
	} while (step == CLIENT_HELLO_MORE && have < len);
	return step;
}

/* NULL, or the name of what differs. `slow` gets what the second reader says. */
static inline const char *slow_compare(const uint8_t *wire, size_t len, size_t (*next_cut)(void *),
				       void *arg, struct slow_hello *slow)
{
	struct client_hello_reader r;
	struct client_hello hello;
	uint8_t protocol[CLIENT_HELLO_PROTOCOL_MAX];
	size_t name_len, at = 0, got;
	enum client_hello_step step;

	slow_hello_read(wire, len, slow);
	step = slow_feed(&r, wire, len, next_cut, arg, &hello);
	if (step != slow->verdict)
		return "the verdict";
	if (r.here.at != slow->at)
		return "the place of the verdict";
	if (step != CLIENT_HELLO_WHOLE)
		return NULL;
	name_len = slow->name_len;
	if (name_len > 0 && slow->name[name_len - 1] == '.')
		name_len--;
	if (hello.name_len != name_len || hello.name[name_len] != '\0')
		return "the length of the name";
	for (size_t i = 0; i < name_len; i++)
		if (hello.name[i] != (isupper(slow->name[i]) ? slow->name[i] | 0x20 : slow->name[i]))
			return "the name";
	while ((got = client_hello_next_protocol(&hello.alpn, protocol)) > 0) {
		if (at >= slow->list_len || slow->list[at] != got)
			return "the length of a protocol";
		if (memcmp(slow->list + at + 1, protocol, got) != 0)
			return "a protocol";
		at += 1 + got;
	}
	return at == slow->list_len ? NULL : "the number of protocols";
}

#endif
