/* SPDX-License-Identifier: MIT
 *
 * slow_proxy.h - a second reader of PROXY headers, for comparison, written in other ways.
 *
 * Version 1 is split at its blanks and each word is given to the C library; version 2 is looked at as a
 * whole. Whether a piece of a header can still become one is found by trying: it is completed in every way
 * that matters. Tests only.
 */
#ifndef FUZZ_SLOW_PROXY_H
#define FUZZ_SLOW_PROXY_H

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/net/proxy.h"

enum slow_verdict { SLOW_HEADER, SLOW_MORE, SLOW_BAD };

struct slow_header {
	size_t len;
	int family; /* 0 unless the addresses below count */
	uint8_t src[16], dst[16];
	unsigned sport, dport;
	bool local;
};

/* ---- version 1 ---- */

static inline bool slow_ip(int family, const char *text, uint8_t *ip)
{
	char again[INET6_ADDRSTRLEN];
	const char *tail = text;
	uint8_t four[4];

	if (inet_pton(family, text, ip) != 1)
		return false;
	if (family == AF_INET)
		return inet_ntop(family, ip, again, sizeof(again)) != NULL && strcmp(again, text) == 0;
	if (strchr(text, '.') == NULL)
		return true;
	if (strncasecmp(text, "::ffff:", 7) == 0)
		tail = text + 7;
	else if (strncmp(text, "::", 2) == 0)
		tail = text + 2;
	return tail != text && slow_ip(AF_INET, tail, four);
}

static inline bool slow_port(const char *text, unsigned *port)
{
	char again[32];
	char *end;
	const long value = strtol(text, &end, 10);

	(void)snprintf(again, sizeof(again), "%ld", value); /* always fits */
	*port = (unsigned)value;
	return *end == '\0' && strcmp(again, text) == 0 && value >= 0 && value <= 65535;
}

/* Is this line, CRLF included, a header? */
static inline bool slow_line(const uint8_t *p, size_t len, struct slow_header *out)
{
	char text[PROXY_V1_MAX + 1], *words[7], *rest = text;
	size_t count = 0;

	memset(out, 0, sizeof(*out));
	out->len = len;
	if (len > PROXY_V1_MAX || len < 2 || memcmp(p + len - 2, "\r\n", 2) != 0)
		return false;
	memcpy(text, p, len - 2);
	text[len - 2] = '\0';
	if (strncmp(text, "PROXY UNKNOWN", 13) == 0)
		return len == 15 || text[13] == ' ';
	if (strlen(text) != len - 2)
		return false;
	while (count < 7 && rest != NULL)
		words[count++] = strsep(&rest, " ");
	if (count != 6 || strcmp(words[0], "PROXY") != 0)
		return false;
	if (strcmp(words[1], "TCP4") == 0)
		out->family = AF_INET;
	else if (strcmp(words[1], "TCP6") == 0)
		out->family = AF_INET6;
	else
		return false;
	return slow_ip(out->family, words[2], out->src) && slow_ip(out->family, words[3], out->dst) &&
	       slow_port(words[4], &out->sport) && slow_port(words[5], &out->dport);
}

static inline size_t slow_blanks(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += *text == ' ';
	return n;
}

/* Does some end make a header of this beginning of a line, which holds no CRLF? */
static inline bool slow_line_may_come(const uint8_t *p, size_t len)
{
	static const char *const lines[] = {
		"PROXY UNKNOWN\r\n",
		"PROXY TCP4 1.1.1.1 1.1.1.1 1 1\r\n",
		"PROXY TCP6 1:1:1:1:1:1:1:1 1:1:1:1:1:1:1:1 1 1\r\n",
		"PROXY TCP6 :: :: 1 1\r\n",
		"PROXY TCP6 ::1 ::1 1 1\r\n",
		"PROXY TCP6 ::1.1.1.1 ::1.1.1.1 1 1\r\n",
	};
	uint8_t whole[2 * PROXY_V1_MAX];
	char text[PROXY_V1_MAX + 1];
	struct slow_header h;
	bool unknown;

	if (len >= PROXY_V1_MAX)
		return false;
	memcpy(text, p, len);
	text[len] = '\0';
	unknown = strncmp(text, "PROXY UNKNOWN", 13) == 0;
	memcpy(whole, p, len);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		for (const char *tail = lines[i]; *tail != '\0'; tail++) {
			const size_t tail_len = strlen(tail);

			if (!unknown && i > 0 && slow_blanks(text) + slow_blanks(tail) != 5)
				continue;
			if (len + tail_len > PROXY_V1_MAX)
				continue;
			memcpy(whole + len, tail, tail_len);
			if (slow_line(whole, len + tail_len, &h))
				return true;
		}
	}
	return false;
}

static inline enum slow_verdict slow_v1(const uint8_t *p, size_t len, struct slow_header *out)
{
	const uint8_t *end = memmem(p, len < PROXY_V1_MAX ? len : PROXY_V1_MAX, "\r\n", 2);

	if (end != NULL)
		return slow_line(p, (size_t)(end - p) + 2, out) ? SLOW_HEADER : SLOW_BAD;
	return slow_line_may_come(p, len) ? SLOW_MORE : SLOW_BAD;
}

/* ---- version 2 ---- */

/* Bit by bit, with the remainder written as the standard has it: highest power first. */
static inline uint32_t slow_crc32c(const uint8_t *p, size_t len)
{
	uint32_t rest = 0xffffffff, turned = 0;

	for (size_t i = 0; i < len * 8; i++) {
		const uint32_t bit = p[i / 8] >> (i % 8) & 1;
		const bool over = (rest >> 31) ^ bit;

		rest = rest << 1 ^ (over ? 0x1edc6f41u : 0);
	}
	for (int i = 0; i < 32; i++)
		turned |= (rest >> i & 1) << (31 - i);
	return ~turned;
}

/* May a TLV of this type and length stand where `room` bytes are left, its own three included? */
static inline bool slow_tlv_fits(unsigned type, size_t len, size_t room, bool had_crc)
{
	const size_t left = room - 3 - len;

	if (len + 3 > room || left == 1 || left == 2)
		return false;
	if (type == 2 && len > 255)
		return false;
	if (type == 5 && len > 128)
		return false;
	return type != 3 || (len == 4 && !had_crc);
}

/* Is there a length that begins with the bytes that are known, and fits? */
static inline bool slow_tlv_may_fit(const uint8_t *p, size_t known, size_t room, bool had_crc)
{
	for (size_t len = 0; len + 3 <= room; len++)
		if ((known < 2 || p[1] == len >> 8) && slow_tlv_fits(p[0], len, room, had_crc))
			return true;
	return false;
}

/* The TLVs of which `known` bytes are there and `room` will be. */
static inline enum slow_verdict slow_tlvs(const uint8_t *p, size_t known, size_t room, size_t *crc)
{
	size_t at = 0;

	*crc = 0;
	if (room == 1 || room == 2)
		return SLOW_BAD;
	while (at < room) {
		size_t len;

		if (at >= known)
			return SLOW_MORE;
		if (known - at < 3)
			return slow_tlv_may_fit(p + at, known - at, room - at, *crc != 0) ? SLOW_MORE
											  : SLOW_BAD;
		len = p[at + 1] * 256u + p[at + 2];
		if (!slow_tlv_fits(p[at], len, room - at, *crc != 0))
			return SLOW_BAD;
		if (p[at] == 3)
			*crc = at + 3;
		at += 3 + len;
	}
	return known >= room ? SLOW_HEADER : SLOW_MORE;
}

static inline bool slow_sum_fits(const uint8_t *p, size_t len, size_t crc)
{
	uint8_t *copy = malloc(len);
	uint32_t sum;
	bool fits;

	if (copy == NULL)
		abort();
	memcpy(copy, p, len);
	memset(copy + crc, 0, 4);
	sum = htonl(slow_crc32c(copy, len));
	fits = memcmp(&sum, p + crc, 4) == 0;
	free(copy);
	return fits;
}

static inline void slow_addresses(const uint8_t *p, struct slow_header *out)
{
	const size_t bytes = p[13] == 0x11 ? 4 : 16;

	out->family = p[13] == 0x11 ? AF_INET : p[13] == 0x21 ? AF_INET6 : p[13] == 0x31 ? AF_UNIX : 0;
	if (out->family != AF_INET && out->family != AF_INET6)
		return;
	memcpy(out->src, p + 16, bytes);
	memcpy(out->dst, p + 16 + bytes, bytes);
	out->sport = p[16 + 2 * bytes] * 256u + p[17 + 2 * bytes];
	out->dport = p[18 + 2 * bytes] * 256u + p[19 + 2 * bytes];
}

static inline enum slow_verdict slow_v2(const uint8_t *p, size_t len, struct slow_header *out)
{
	static const char sig[12] = "\r\n\r\n\0\r\nQUIT\n";
	size_t total, addresses, crc = 0;
	enum slow_verdict v;

	if (memcmp(p, sig, len < 12 ? len : 12) != 0)
		return SLOW_BAD;
	if (len > 12 && p[12] != 0x20 && p[12] != 0x21)
		return SLOW_BAD;
	out->local = len > 12 && p[12] == 0x20;
	if (len > 13 && !out->local && strchr("\x11\x21\x31", p[13]) == NULL) /* its NUL is a family too */
		return SLOW_BAD;
	if (len > 14 && 16 + 256u * p[14] > PROXY_MAX)
		return SLOW_BAD;
	if (len < 16)
		return SLOW_MORE;
	total = 16 + 256u * p[14] + p[15];
	out->len = total;
	if (total > PROXY_MAX)
		return SLOW_BAD;
	if (out->local)
		return len < total ? SLOW_MORE : SLOW_HEADER;
	addresses = 16 + (p[13] == 0x11 ? 12u : p[13] == 0x21 ? 36u : p[13] == 0x31 ? 216u : 0);
	if (total < addresses)
		return SLOW_BAD;
	v = slow_tlvs(p + addresses, len > addresses ? len - addresses : 0, total - addresses, &crc);
	if (v != SLOW_HEADER)
		return v;
	if (len < total)
		return SLOW_MORE;
	if (crc != 0 && !slow_sum_fits(p, total, addresses + crc))
		return SLOW_BAD;
	slow_addresses(p, out);
	return SLOW_HEADER;
}

static inline enum slow_verdict slow_parse(const uint8_t *p, size_t len, struct slow_header *out)
{
	memset(out, 0, sizeof(*out));
	if (len == 0)
		return SLOW_MORE;
	return p[0] == 'P' ? slow_v1(p, len, out) : slow_v2(p, len, out);
}

/* Do both readers say the same of these bytes? The first difference in words; NULL = they agree. */
static inline const char *slow_compare(const uint8_t *p, size_t len)
{
	struct proxy_header fast;
	struct slow_header slow;
	enum proxy_error why;
	const ssize_t n = proxy_parse(p, len, &fast, &why);
	const enum slow_verdict v = slow_parse(p, len, &slow);
	const size_t bytes = slow.family == AF_INET ? 4 : 16;

	if ((n < 0) != (v == SLOW_BAD) || (n == 0) != (v == SLOW_MORE))
		return "verdict";
	if (n <= 0)
		return (n < 0) == (why != PROXY_OK) ? NULL : "an error without a name";
	if ((size_t)n != slow.len)
		return "length";
	if (fast.local != slow.local || fast.version != (p[0] == 'P' ? 1 : 2))
		return "version or command";
	if (fast.family != slow.family)
		return "family";
	if (slow.family != AF_INET && slow.family != AF_INET6)
		return NULL;
	if (memcmp(fast.src.ip, slow.src, bytes) != 0 || memcmp(fast.dst.ip, slow.dst, bytes) != 0)
		return "address";
	return fast.src.port == slow.sport && fast.dst.port == slow.dport ? NULL : "port";
}

/* Gives ever more of the bytes, as `next_cut` says, as a connection would; is the end the same as with all at
 * once? `next_cut` returns how many more come, 0 is taken as 1. */
static inline bool slow_is_cut_proof(const uint8_t *p, size_t len, size_t (*next_cut)(void *arg), void *arg)
{
	struct proxy_header h;
	enum proxy_error whole_why, why = PROXY_OK;
	const ssize_t whole = proxy_parse(p, len, &h, &whole_why);
	ssize_t n = 0;
	size_t have = 0;

	while (n == 0 && have < len) {
		const size_t more = next_cut(arg);

		have += more == 0 ? 1 : more;
		if (have > len)
			have = len;
		n = proxy_parse(p, have, &h, &why);
	}
	return n == whole && why == whole_why;
}

#endif
