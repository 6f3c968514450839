/* SPDX-License-Identifier: MIT
 *
 * proxy_v1.c - a PROXY line of version 1: "PROXY TCP4 10.0.0.1 10.0.0.2 1000 443\r\n".
 *
 * Walks byte by byte and never looks ahead, so that a byte that no header can have at its position is
 * rejected as soon as it arrives, however the line was split. Stricter than inet_pton(3): a number has no
 * leading zero, and an IPv6 address ends in a dotted quad only after "::" or "::ffff:", where inet_ntop(3)
 * writes one. Any thread.
 */
#include "proxy_v1.h"

#include <errno.h>
#include <string.h>

#include "weir/base/digit.h"

#define IP6_GROUPS 8

struct walk {
	const uint8_t *at;
	const uint8_t *end;
};

/* The result of parsing a piece of the line. */
enum take {
	TAKE_OK,
	TAKE_MORE, /* valid so far */
	TAKE_BAD,
};

/* ---- pieces ---- */

static enum take take_word(struct walk *w, const char *word)
{
	for (; *word != '\0'; word++, w->at++) {
		if (w->at == w->end)
			return TAKE_MORE;
		if (*w->at != (uint8_t)*word)
			return TAKE_BAD;
	}
	return TAKE_OK;
}

/* A decimal number up to `max`; the byte after it has arrived and is left to the caller. */
static enum take take_number(struct walk *w, unsigned max, unsigned *out)
{
	const uint8_t *first = w->at;
	unsigned value = 0;

	for (; w->at < w->end && is_digit(*w->at); w->at++) {
		value = 10 * value + (unsigned)(*w->at - '0');
		if (value > max || (w->at > first && *first == '0'))
			return TAKE_BAD;
	}
	if (w->at == w->end)
		return TAKE_MORE;
	*out = value;
	return w->at > first ? TAKE_OK : TAKE_BAD;
}

/* The octets of a dotted address from index `from` on; the byte after them is left to the caller. */
static enum take take_octets(struct walk *w, unsigned from, uint8_t *ip)
{
	for (unsigned i = from; i < 4; i++) {
		unsigned value = 0;
		enum take t = take_number(w, 255, &value);

		if (t == TAKE_OK && i < 3)
			t = take_word(w, ".");
		if (t != TAKE_OK)
			return t;
		ip[i] = (uint8_t)value;
	}
	return TAKE_OK;
}

static int hex_value(uint8_t c)
{
	if (is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* An IPv6 address being parsed. */
struct ip6 {
	uint16_t groups[IP6_GROUPS];
	unsigned count;
	int gap; /* groups before the "::"; -1 = none yet */
};

/* Is a dotted address allowed in place of the next group? */
static bool takes_dotted(const struct ip6 *a)
{
	return a->gap == 0 && (a->count == 0 || (a->count == 1 && a->groups[0] == 0xffff));
}

/* The value of a group whose digits are all decimal; -1 when it is not an octet. */
static int octet_of(const uint8_t *digits, size_t len)
{
	int value = 0;

	if (len > 3 || (len > 1 && digits[0] == '0'))
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (!is_digit(digits[i]))
			return -1;
		value = 10 * value + digits[i] - '0';
	}
	return value <= 255 ? value : -1;
}

/* One group, or in its place a dotted address, which ends the address. */
static enum take take_group(struct walk *w, struct ip6 *a, bool *dotted)
{
	const uint8_t *first = w->at;
	unsigned value = 0;
	uint8_t ip[4];
	enum take t;
	int octet;

	for (; w->at < w->end && hex_value(*w->at) >= 0; w->at++) {
		if (w->at - first == 4)
			return TAKE_BAD;
		value = value << 4 | (unsigned)hex_value(*w->at);
	}
	if (w->at == w->end)
		return TAKE_MORE;
	if (w->at == first)
		return TAKE_BAD;
	if (*w->at != '.') {
		a->groups[a->count++] = (uint16_t)value;
		return TAKE_OK;
	}
	octet = octet_of(first, (size_t)(w->at - first));
	if (octet < 0 || !takes_dotted(a))
		return TAKE_BAD;
	w->at++;
	ip[0] = (uint8_t)octet;
	t = take_octets(w, 1, ip);
	if (t != TAKE_OK)
		return t;
	*dotted = true;
	a->groups[a->count++] = (uint16_t)(ip[0] << 8 | ip[1]);
	a->groups[a->count++] = (uint16_t)(ip[2] << 8 | ip[3]);
	return TAKE_OK;
}

/* "::" replaces at least one group. */
static unsigned most_groups(const struct ip6 *a)
{
	return a->gap >= 0 ? IP6_GROUPS - 1 : IP6_GROUPS;
}

/* One or two colons after `a->count` groups. After a single colon a group must follow. */
static enum take take_colons(struct walk *w, struct ip6 *a)
{
	if (a->count == most_groups(a))
		return TAKE_BAD;
	w->at++;
	if (w->at == w->end)
		return TAKE_MORE;
	if (*w->at != ':')
		return a->count > 0 ? TAKE_OK : TAKE_BAD;
	if (a->gap >= 0)
		return TAKE_BAD;
	a->gap = (int)a->count;
	w->at++;
	return w->at < w->end ? TAKE_OK : TAKE_MORE;
}

static void spread_groups(const struct ip6 *a, uint8_t *ip)
{
	const unsigned head = a->gap >= 0 ? (unsigned)a->gap : a->count;

	memset(ip, 0, 16);
	for (unsigned i = 0; i < a->count; i++) {
		const unsigned place = i < head ? i : IP6_GROUPS - a->count + i;

		ip[2 * place] = (uint8_t)(a->groups[i] >> 8);
		ip[2 * place + 1] = (uint8_t)a->groups[i];
	}
}

static enum take take_ip6(struct walk *w, uint8_t *ip)
{
	struct ip6 a = {.gap = -1};
	bool dotted = false;
	enum take t;

	if (w->at == w->end)
		return TAKE_MORE;
	while (!dotted) {
		if (*w->at == ':' || a.count > 0) {
			if (*w->at != ':')
				break;
			t = take_colons(w, &a);
			if (t != TAKE_OK)
				return t;
			/* After "::" the address may end, and does when no group is left. */
			if (w->at[-2] == ':' && (hex_value(*w->at) < 0 || a.count == most_groups(&a)))
				break;
		}
		t = take_group(w, &a, &dotted);
		if (t != TAKE_OK)
			return t;
	}
	if (a.gap < 0 && a.count != IP6_GROUPS)
		return TAKE_BAD;
	spread_groups(&a, ip);
	return TAKE_OK;
}

/* ---- lines ---- */

static enum take take_address(struct walk *w, uint16_t family, struct addr_brief *out)
{
	enum take t = family == AF_INET ? take_octets(w, 0, out->ip) : take_ip6(w, out->ip);

	out->family = family;
	return t == TAKE_OK ? take_word(w, " ") : t;
}

static enum take take_port(struct walk *w, const char *behind, struct addr_brief *out)
{
	unsigned port = 0;
	const enum take t = take_number(w, UINT16_MAX, &port);

	out->port = (uint16_t)port;
	return t == TAKE_OK ? take_word(w, behind) : t;
}

static enum take take_addresses(struct walk *w, struct proxy_header *out)
{
	enum take t = take_address(w, out->family, &out->src);

	if (t == TAKE_OK)
		t = take_address(w, out->family, &out->dst);
	if (t == TAKE_OK)
		t = take_port(w, " ", &out->src);
	if (t == TAKE_OK)
		t = take_port(w, "\r\n", &out->dst);
	return t;
}

/* "UNKNOWN", then anything up to the end of the line. */
static enum take take_unknown(struct walk *w, const uint8_t *line, enum proxy_error *why)
{
	if (w->at < w->end && *w->at != ' ')
		return take_word(w, "\r\n");
	for (; w->at < w->end; w->at++) {
		const bool is_cr = *w->at == '\r';

		if (is_cr && w->end - w->at > 1 && w->at[1] == '\n') {
			w->at += 2;
			return TAKE_OK;
		}
		/* The last position of a CR that leaves room for its LF. */
		if (w->at - line == PROXY_V1_MAX - 2 && (!is_cr || w->end - w->at > 1)) {
			*why = PROXY_TOO_LONG;
			return TAKE_BAD;
		}
	}
	return TAKE_MORE;
}

static enum take take_header_line(struct walk *w, const uint8_t *line, struct proxy_header *out,
				  enum proxy_error *why)
{
	enum take t;

	*why = PROXY_NOT_HEADER;
	t = take_word(w, "PROXY");
	if (t != TAKE_OK)
		return t;
	*why = PROXY_BAD_V1;
	t = take_word(w, " ");
	if (t != TAKE_OK)
		return t;
	if (w->at < w->end && *w->at == 'U') {
		t = take_word(w, "UNKNOWN");
		return t == TAKE_OK ? take_unknown(w, line, why) : t;
	}
	t = take_word(w, "TCP");
	if (t != TAKE_OK || w->at == w->end)
		return t == TAKE_OK ? TAKE_MORE : t;
	if (*w->at != '4' && *w->at != '6')
		return TAKE_BAD;
	out->family = *w->at++ == '4' ? AF_INET : AF_INET6;
	t = take_word(w, " ");
	return t == TAKE_OK ? take_addresses(w, out) : t;
}

ssize_t proxy_v1_parse(const uint8_t *data, size_t len, struct proxy_header *out, enum proxy_error *why)
{
	struct walk w = {.at = data, .end = data + len};

	out->version = 1;
	switch (take_header_line(&w, data, out, why)) {
	case TAKE_OK:
		*why = PROXY_OK;
		return w.at - data;
	case TAKE_MORE:
		*why = PROXY_OK;
		return 0;
	default:
		return -EPROTO;
	}
}
