/* SPDX-License-Identifier: MIT
 *
 * rdp_request.c - reads the first packet of an RDP client: its Connection Request and the cookie in it.
 *
 * [MS-RDPBCGR] 2.2.1.1. Owns nothing. Any thread.
 */
#include "weir/net/rdp_request.h"

#include <stdbool.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/digit.h"

/* The headers of TPKT and X.224. */
#define HEADERS_BYTES  11
#define TPKT_VERSION   3
#define X224_BEHIND    6 /* bytes of the X.224 header behind its length, at least */
#define X224_REQUEST   0xe0
#define IP_DIGITS_MAX  10
#define PORT_DIGITS_MAX 5

enum step {
	STEP_HEADERS,
	STEP_COOKIE,
	STEP_BLANKS,
	STEP_MSTS,
	STEP_IP,
	STEP_PORT,
	STEP_REST,
	STEP_LINE_FEED,
};

static const char cookie_word[] = "cookie:", msts_word[] = "msts=";

static enum rdp_request next_step(struct rdp_reader *r, enum step step)
{
	r->step = (uint8_t)step;
	r->matched = 0;
	return RDP_REQUEST_MORE;
}

/* Byte `c` at r->at of the headers. */
static enum rdp_request read_headers(struct rdp_reader *r, uint8_t c)
{
	bool fits = true;

	switch (r->at) {
	case 0:
		fits = c == TPKT_VERSION;
		break;
	case 1:
		fits = c == 0;
		break;
	case 2:
		r->end = (uint16_t)(c << 8);
		fits = r->end <= RDP_REQUEST_MAX;
		break;
	case 3:
		r->end = (uint16_t)(r->end | c);
		fits = r->end >= HEADERS_BYTES && r->end <= RDP_REQUEST_MAX;
		break;
	case 4:
		fits = c >= X224_BEHIND;
		break;
	case 5:
		fits = (c & 0xf0) == X224_REQUEST;
		break;
	default: /* references, and the class */
		break;
	}
	if (!fits)
		return RDP_REQUEST_NOT;
	return r->at + 1 == HEADERS_BYTES ? next_step(r, STEP_COOKIE) : RDP_REQUEST_MORE;
}

static uint8_t lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
}

static enum rdp_request read_word(struct rdp_reader *r, uint8_t c, const char *word, enum step next)
{
	if (lower(c) != (uint8_t)word[r->matched])
		return RDP_REQUEST_PLAIN;
	return word[++r->matched] == '\0' ? next_step(r, next) : RDP_REQUEST_MORE;
}

static enum rdp_request read_ip(struct rdp_reader *r, uint8_t c)
{
	if (c == '.' && r->matched > 0 && r->ip <= UINT32_MAX)
		return next_step(r, STEP_PORT);
	if (!is_digit(c) || r->matched++ == IP_DIGITS_MAX)
		return RDP_REQUEST_PLAIN;
	r->ip = r->ip * 10 + (uint64_t)(c - '0');
	return RDP_REQUEST_MORE;
}

static enum rdp_request read_port(struct rdp_reader *r, uint8_t c)
{
	if (c == '.' && r->matched > 0 && r->port > 0 && r->port <= UINT16_MAX)
		return next_step(r, STEP_REST);
	if (!is_digit(c) || r->matched++ == PORT_DIGITS_MAX)
		return RDP_REQUEST_PLAIN;
	r->port = r->port * 10 + (uint32_t)(c - '0');
	return RDP_REQUEST_MORE;
}

static enum rdp_request read_byte(struct rdp_reader *r, uint8_t c)
{
	switch ((enum step)r->step) {
	case STEP_HEADERS:
		return read_headers(r, c);
	case STEP_COOKIE:
		return read_word(r, c, cookie_word, STEP_BLANKS);
	case STEP_BLANKS:
		if (c == ' ')
			return RDP_REQUEST_MORE;
		(void)next_step(r, STEP_MSTS);
		return read_word(r, c, msts_word, STEP_IP);
	case STEP_MSTS:
		return read_word(r, c, msts_word, STEP_IP);
	case STEP_IP:
		return read_ip(r, c);
	case STEP_PORT:
		return read_port(r, c);
	case STEP_REST:
		return c == '\r' ? next_step(r, STEP_LINE_FEED) : RDP_REQUEST_MORE;
	case STEP_LINE_FEED:
		break;
	}
	return c == '\n' ? RDP_REQUEST_COOKIE : RDP_REQUEST_PLAIN;
}

static struct rdp_cookie cookie_of(const struct rdp_reader *r)
{
	const uint32_t ip = (uint32_t)r->ip;
	const uint8_t bytes[] = {(uint8_t)ip, (uint8_t)(ip >> 8), (uint8_t)(ip >> 16), (uint8_t)(ip >> 24)};
	struct rdp_cookie c = {.port = (uint16_t)((r->port & 0xff) << 8 | r->port >> 8)};

	memcpy(&c.ip, bytes, sizeof(c.ip));
	return c;
}

enum rdp_request rdp_request_read(struct rdp_reader *r, const uint8_t *bytes, size_t len,
				  struct rdp_cookie *out)
{
	enum rdp_request found = RDP_REQUEST_MORE;

	check(len >= r->at);
	check(len <= UINT16_MAX);
	while (found == RDP_REQUEST_MORE && r->at < len) {
		found = read_byte(r, bytes[r->at]);
		r->at++;
		/* `end` is known behind the first four bytes, and no packet is shorter than its headers. */
		if (found == RDP_REQUEST_MORE && r->at >= HEADERS_BYTES && r->at == r->end)
			return RDP_REQUEST_PLAIN;
	}
	if (found == RDP_REQUEST_COOKIE)
		*out = cookie_of(r);
	return found;
}
