/* SPDX-License-Identifier: MIT
 *
 * net_prefix.c - parses and prints one network; netset.c holds many.
 *
 * Owns the sentences that reject an invalid network. Queries no name server. Any thread.
 */
#include "weir/net/netset.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"

#define IP4_BITS 32u
#define IP6_BITS 128u
/* An IPv4-mapped IPv6 address: ten bytes 0, two bytes 0xff, then the four of the address. */
#define MAPPED_BITS 96u

static unsigned family_bits(const struct net_prefix *p)
{
	return p->family == AF_INET ? IP4_BITS : IP6_BITS;
}

/* Clears the bits after the prefix. Were they all 0 already? */
static bool clear_host_bits(struct net_prefix *p)
{
	bool were_clear = true;

	for (unsigned i = 0; i < family_bits(p) / 8; i++) {
		const unsigned kept = p->bits > i * 8 ? p->bits - i * 8 : 0;
		const uint8_t mask = (uint8_t)(kept >= 8 ? 0xff : 0xff << (8 - kept));

		if ((p->ip[i] & ~mask) != 0)
			were_clear = false;
		p->ip[i] &= mask;
	}
	return were_clear;
}

/* "8": no sign, no blank, no leading zeros. */
static bool parse_bits(const char *text, unsigned max, uint8_t *bits)
{
	unsigned n = 0;

	if (*text == '\0' || (text[0] == '0' && text[1] != '\0'))
		return false;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9')
			return false;
		n = n * 10 + (unsigned)(*text - '0');
		if (n > max)
			return false;
	}
	*bits = (uint8_t)n;
	return true;
}

static int reject(const char **why, const char *sentence)
{
	*why = sentence;
	return -EINVAL;
}

static int refuse_address(const char *ip, const char **why)
{
	const char *colon = strchr(ip, ':');

	if (*ip == '\0')
		return reject(why, "the address is missing: write 10.0.0.0/8 or 2001:db8::/32");
	if (*ip == '[')
		return reject(why, "write an IPv6 network without brackets, as in 2001:db8::/32");
	if (strchr(ip, '%') != NULL)
		return reject(why, "a network cannot have an interface ('%')");
	if (colon != NULL && strchr(colon + 1, ':') == NULL)
		return reject(why, "a network cannot have a port: write 10.0.0.0/8");
	if (colon != NULL)
		return reject(why, "not a valid IPv6 address");
	if (ip[strspn(ip, "0123456789.")] == '\0')
		return reject(why, "not a valid IPv4 address: write four numbers from 0 to 255");
	return reject(why, "names are not looked up here: write an address or a network");
}

/* Converts an IPv4 network written as IPv4-mapped IPv6: no client ever appears in that form. */
static void unmap(struct net_prefix *p)
{
	struct in6_addr ip;

	memcpy(&ip, p->ip, sizeof(ip));
	if (p->family != AF_INET6 || p->bits < MAPPED_BITS || !IN6_IS_ADDR_V4MAPPED(&ip))
		return;
	p->family = AF_INET;
	p->bits = (uint8_t)(p->bits - MAPPED_BITS);
	memmove(p->ip, p->ip + 12, 4);
	memset(p->ip + 4, 0, 12);
}

static int refuse_host_bits(const struct net_prefix *p, const char **why)
{
	static _Thread_local char sentence[NETSET_TEXT_MAX + 64];
	char text[NETSET_TEXT_MAX];

	(void)snprintf(sentence, sizeof(sentence), "bits are set after the prefix: write %s",
		       net_prefix_format(p, text)); /* fits */
	return reject(why, sentence);
}

int net_prefix_parse(const char *text, struct net_prefix *out, const char **why)
{
	const char *slash = strchr(text, '/');
	const size_t len = slash != NULL ? (size_t)(slash - text) : strlen(text);
	struct net_prefix p = {.family = AF_INET};
	char ip[INET6_ADDRSTRLEN + 1];

	memset(out, 0, sizeof(*out));
	if (len >= sizeof(ip))
		return reject(why, "not a valid address or network: write 10.0.0.0/8 or 2001:db8::/32");
	memcpy(ip, text, len);
	ip[len] = '\0';
	if (inet_pton(AF_INET, ip, p.ip) != 1) {
		memset(p.ip, 0, sizeof(p.ip));
		p.family = AF_INET6;
		if (inet_pton(AF_INET6, ip, p.ip) != 1)
			return refuse_address(ip, why);
	}
	p.bits = (uint8_t)family_bits(&p);
	if (slash != NULL && !parse_bits(slash + 1, p.bits, &p.bits))
		return reject(why, p.family == AF_INET
				       ? "write a number from 0 to 32 after '/' of an IPv4 network"
				       : "write a number from 0 to 128 after '/' of an IPv6 network");
	/* The user meant either the network or this one address: do not guess which. */
	if (!clear_host_bits(&p))
		return refuse_host_bits(&p, why);
	unmap(&p);
	*out = p;
	return 0;
}

const char *net_prefix_format(const struct net_prefix *p, char *buf)
{
	size_t len;

	check(p->family == AF_INET || p->family == AF_INET6);
	check(inet_ntop(p->family, p->ip, buf, INET6_ADDRSTRLEN) != NULL);
	len = strlen(buf);
	if (p->bits < family_bits(p))
		(void)snprintf(buf + len, NETSET_TEXT_MAX - len, "/%u", p->bits); /* fits */
	return buf;
}
