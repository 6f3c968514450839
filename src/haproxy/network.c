/* SPDX-License-Identifier: MIT
 *
 * network.c - networks of HAProxy's in our words: masks, bits behind the prefix, and "localhost".
 *
 * Main thread.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "acl.h"
#include "weir/base/digit.h"

#define IPV4_BITS 32
#define IPV6_BITS 128

/* The length of "255.255.0.0". -1: bits are missing in between, or it is another text. */
static int length_of_mask(const char *text)
{
	unsigned char mask[4];
	int bits = 0;

	if (inet_pton(AF_INET, text, mask) != 1)
		return -1;
	while (bits < IPV4_BITS && (mask[bits / 8] & (0x80 >> bits % 8)) != 0)
		bits++;
	for (int i = bits; i < IPV4_BITS; i++)
		if ((mask[i / 8] & (0x80 >> i % 8)) != 0)
			return -1;
	return bits;
}

static int length_of(const char *text)
{
	char *end;
	const long bits = strtol(text, &end, 10);

	if (strchr(text, '.') != NULL)
		return length_of_mask(text);
	return is_digit(text[0]) && *end == '\0' && bits <= IPV6_BITS ? (int)bits : -1;
}

const char *haproxy_network(struct arena *a, const char *text)
{
	const char *slash = strchr(text, '/'), *host = text;
	const int family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET;
	const int most = family == AF_INET6 ? IPV6_BITS : IPV4_BITS;
	unsigned char address[sizeof(struct in6_addr)];
	char plain[INET6_ADDRSTRLEN];
	int bits = most;

	/* HAProxy asks for the name once, for an address of IPv4. */
	if (strcmp(text, "localhost") == 0)
		return "127.0.0.1";
	if (slash == NULL)
		return text;
	host = arena_strndup(a, text, (size_t)(slash - text));
	bits = length_of(slash + 1);
	if (bits < 0 || bits > most || inet_pton(family, host, address) != 1)
		return text;
	/* HAProxy does not compare what is behind the prefix. */
	if (work_clear_bits(address, (unsigned)most, (unsigned)bits) &&
	    inet_ntop(family, address, plain, sizeof(plain)) != NULL)
		host = arena_strndup(a, plain, strlen(plain));
	return arena_printf(a, "%s/%d", host, bits);
}
