/* SPDX-License-Identifier: MIT
 *
 * probe_hello.c - a TLS health check that ends with the ServerHello: the ClientHello, and the answer to it,
 * parsed incrementally.
 *
 * Never trusts the server: each length is tested against what is left. Any thread.
 */
#include "probe_hello.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "weir/base/check.h"
#include "tls_alert.h"

#define RECORD_ALERT 21
#define RECORD_HANDSHAKE 22
#define RECORD_MAX 16384
#define TYPE_CLIENT_HELLO 1
#define TYPE_SERVER_HELLO 2
#define TLS_1_2 0x0303u
#define TLS_1_3 0x0304u
#define EXT_SUPPORTED_VERSIONS 43
/* version, random, an empty session id, cipher suite, compression method */
#define BODY_MIN (2 + 32 + 1 + 2 + 1)
#define BODY_MAX (PROBE_HELLO_ANSWER_MAX - 4)

/* Those of TLS 1.3, then ECDHE of TLS 1.2. */
static const uint16_t suites[] = {0x1301, 0x1302, 0x1303, 0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9,
				  0xcca8, 0xc023, 0xc027, 0xc024, 0xc028, 0xc009, 0xc013, 0xc00a, 0xc014};
#define SUITES_1_3 3

/* ---- the ClientHello ---- */

struct writer {
	uint8_t *out;
	size_t len;
};

static void put(struct writer *w, const void *bytes, size_t len)
{
	check(len <= PROBE_HELLO_ROOM - w->len);
	memcpy(w->out + w->len, bytes, len);
	w->len += len;
}

static void put_u8(struct writer *w, unsigned value)
{
	const uint8_t byte = (uint8_t)value;

	put(w, &byte, 1);
}

static void put_u16(struct writer *w, unsigned value)
{
	put_u8(w, value >> 8);
	put_u8(w, value & 0xff);
}

/* Leaves room for a length of two bytes; returns where. */
static size_t open_u16(struct writer *w)
{
	put_u16(w, 0);
	return w->len;
}

static void close_u16(struct writer *w, size_t start)
{
	w->out[start - 2] = (uint8_t)((w->len - start) >> 8);
	w->out[start - 1] = (uint8_t)(w->len - start);
}

/* A server takes any bytes for random ones. */
static void put_random(struct writer *w, size_t len)
{
	uint8_t bytes[32];

	check(len <= sizeof(bytes));
	if (getrandom(bytes, len, GRND_NONBLOCK) != (ssize_t)len)
		memset(bytes, 0x77, len);
	put(w, bytes, len);
}

static void put_name(struct writer *w, const char *name)
{
	size_t extension, list, text;

	if (name == NULL)
		return;
	put_u16(w, 0);
	extension = open_u16(w);
	list = open_u16(w);
	put_u8(w, 0); /* host name */
	text = open_u16(w);
	put(w, name, strlen(name));
	close_u16(w, text);
	close_u16(w, list);
	close_u16(w, extension);
}

static void put_alpn(struct writer *w, const char *alpn)
{
	size_t extension, list;

	if (alpn == NULL)
		return;
	put_u16(w, 16);
	extension = open_u16(w);
	list = open_u16(w);
	for (const char *at = alpn; *at != '\0';) {
		const size_t len = strcspn(at, ",");

		put_u8(w, (unsigned)len);
		put(w, at, len);
		at += len + (at[len] == ',');
	}
	close_u16(w, list);
	close_u16(w, extension);
}

/* Any 32 bytes are a public key of X25519. The server proves nothing to us, and we need no secret. */
static void put_extensions(struct writer *w, const struct probe_hello_question *q)
{
	static const uint8_t fixed[] = {
		0, 11, 0, 2, 1, 0, /* point formats: uncompressed */
		/* Groups: x25519, P-256, P-384, P-521. */
		0, 10, 0, 10, 0, 8, 0, 0x1d, 0, 0x17, 0, 0x18, 0, 0x19,
		/* Signatures. */
		0, 13, 0, 24, 0, 22, 4, 3, 5, 3, 6, 3, 8, 7, 8, 8, 8, 4, 8, 5, 8, 6, 4, 1, 5, 1, 6, 1,
		0, 23, 0, 0, /* extended master secret */
		0xff, 1, 0, 1, 0, /* renegotiation is understood */
		0, 43, 0, 5, 4, 3, 4, 3, 3, /* versions: 1.3, 1.2 */
		0, 45, 0, 2, 1, 1, /* keys: with (EC)DHE */
		0, 51, 0, 38, 0, 36, 0, 0x1d, 0, 32, /* a share of x25519 */
	};

	put_name(w, q->name);
	put_alpn(w, q->alpn);
	put(w, fixed, sizeof(fixed));
	put_random(w, 32);
}

size_t probe_hello_make(struct probe_hello *h, const struct probe_hello_question *q,
			uint8_t out[PROBE_HELLO_ROOM])
{
	struct writer w = {out, 0};
	size_t record, message, extensions;

	put_u8(&w, RECORD_HANDSHAKE);
	put_u16(&w, 0x0301); /* for old middleboxes */
	record = open_u16(&w);
	put_u16(&w, TYPE_CLIENT_HELLO << 8);
	message = open_u16(&w);
	put_u16(&w, TLS_1_2);
	put_random(&w, 32);
	put_u8(&w, sizeof(h->session));
	put_random(&w, sizeof(h->session));
	memcpy(h->session, w.out + w.len - sizeof(h->session), sizeof(h->session));
	put_u16(&w, sizeof(suites));
	for (size_t i = 0; i < ARRAY_LEN(suites); i++)
		put_u16(&w, suites[i]);
	put_u16(&w, 0x0100); /* one compression method: none */
	extensions = open_u16(&w);
	put_extensions(&w, q);
	close_u16(&w, extensions);
	close_u16(&w, message);
	close_u16(&w, record);
	return w.len;
}

/* ---- the answer ---- */

void probe_hello_init(struct probe_hello *h)
{
	h->answer = PROBE_ANSWER_MORE;
	h->header_len = 0;
	h->record_left = 0;
	h->message_len = 0;
	h->detail[0] = '\0';
}

static void settle(struct probe_hello *h, enum probe_answer answer, const char *detail)
{
	h->answer = answer;
	(void)snprintf(h->detail, sizeof(h->detail), "%s", detail); /* it fits */
}

static void broken(struct probe_hello *h)
{
	settle(h, PROBE_ANSWER_BROKEN, "the ServerHello is malformed");
}

static unsigned u16_at(const uint8_t *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

/* The version: that of its extension, else `version`. 0 if the extensions are malformed. */
static unsigned version_of(const uint8_t *p, size_t len, unsigned version)
{
	if (len == 0)
		return version;
	if (len < 2 || u16_at(p) != len - 2)
		return 0;
	p += 2;
	len -= 2;
	while (len > 0) {
		if (len < 4 || u16_at(p + 2) > len - 4)
			return 0;
		const size_t size = u16_at(p + 2);

		if (u16_at(p) == EXT_SUPPORTED_VERSIONS) {
			if (size != 2 || version != TLS_1_2)
				return 0;
			version = u16_at(p + 4);
			if (version != TLS_1_3)
				return 0;
		}
		p += 4 + size;
		len -= 4 + size;
	}
	return version;
}

static bool is_suite(unsigned suite, unsigned version)
{
	for (size_t i = 0; i < ARRAY_LEN(suites); i++)
		if (suites[i] == suite)
			return (i < SUITES_1_3) == (version == TLS_1_3);
	return false;
}

static void take_server_hello(struct probe_hello *h)
{
	const uint8_t *body = h->message + 4;
	const size_t len = h->message_len - 4, session = body[34];
	unsigned version = u16_at(body);
	const uint8_t *rest = body + 35 + session;

	if (version < TLS_1_2 && version >= 0x0300) {
		settle(h, PROBE_ANSWER_REFUSED, "the server speaks no TLS newer than 1.1");
		return;
	}
	if (version != TLS_1_2 || session > 32 || len < BODY_MIN + session) {
		broken(h);
		return;
	}
	version = version_of(rest + 3, len - BODY_MIN - session, version);
	if (version == 0 || rest[2] != 0 || !is_suite(u16_at(rest), version) ||
	    (version == TLS_1_3 && (session != sizeof(h->session) ||
				    memcmp(body + 35, h->session, sizeof(h->session)) != 0)))
		broken(h);
	else
		settle(h, PROBE_ANSWER_GOOD, version == TLS_1_3 ? "TLS 1.3" : "TLS 1.2");
}

/* One more byte of the handshake message. */
static void take_message_byte(struct probe_hello *h, uint8_t byte)
{
	size_t len;

	h->message[h->message_len++] = byte;
	if (h->message_len == 1 && byte != TYPE_SERVER_HELLO)
		settle(h, PROBE_ANSWER_BROKEN, "the answer is not a ServerHello");
	if (h->message_len < 4 || h->answer != PROBE_ANSWER_MORE)
		return;
	len = (size_t)h->message[1] << 16 | u16_at(h->message + 2);
	if (len < BODY_MIN || len > BODY_MAX)
		broken(h);
	else if (h->message_len == 4 + len)
		take_server_hello(h);
}

/* Level and number; the level is the same to us. */
static void take_alert_byte(struct probe_hello *h, uint8_t byte)
{
	char words[TLS_ALERT_MAX];

	if (h->record_left == 0)
		settle(h, PROBE_ANSWER_REFUSED, tls_alert_words(byte, words));
}

static void take_header_byte(struct probe_hello *h, uint8_t byte)
{
	h->header[h->header_len++] = byte;
	if ((h->header_len == 1 && byte != RECORD_HANDSHAKE && byte != RECORD_ALERT) ||
	    (h->header_len == 2 && byte != 3) || (h->header_len == 3 && byte > 4)) {
		settle(h, PROBE_ANSWER_BROKEN, "the answer is not TLS");
		return;
	}
	if (h->header_len < sizeof(h->header))
		return;
	h->record_left = u16_at(h->header + 3);
	if (h->record_left == 0 || h->record_left > RECORD_MAX ||
	    (h->header[0] == RECORD_ALERT && h->record_left != 2))
		settle(h, PROBE_ANSWER_BROKEN, "the answer is not TLS");
}

enum probe_answer probe_hello_push(struct probe_hello *h, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len && h->answer == PROBE_ANSWER_MORE; i++) {
		if (h->header_len < sizeof(h->header)) {
			take_header_byte(h, data[i]);
			continue;
		}
		h->record_left--;
		if (h->header[0] == RECORD_ALERT)
			take_alert_byte(h, data[i]);
		else
			take_message_byte(h, data[i]);
		if (h->record_left == 0)
			h->header_len = 0;
	}
	return h->answer;
}

enum probe_answer probe_hello_end(struct probe_hello *h)
{
	const bool nothing = h->header_len == 0 && h->message_len == 0;

	if (h->answer == PROBE_ANSWER_MORE)
		settle(h, PROBE_ANSWER_BROKEN, probe_answer_cut(nothing));
	return h->answer;
}
