/* SPDX-License-Identifier: MIT
 *
 * nginx_network.c - networks as weir writes them, from those of allow, geo and map.
 *
 * Main thread.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "nginx.h"
#include "weir/base/digit.h"

/* Clears the bits behind the first `bits` of an address. */
static void mask(unsigned char *address, size_t bytes, unsigned bits)
{
	for (size_t i = 0; i < bytes; i++) {
		if (bits >= 8 * (i + 1))
			continue;
		address[i] = bits <= 8 * i ? 0 : (unsigned char)(address[i] & (0xff00 >> (bits - 8 * i)));
	}
}

const char *nginx_network(struct arena *a, const char *text)
{
	const char *slash = strchr(text, '/');
	unsigned char address[sizeof(struct in6_addr)];
	char out[INET6_ADDRSTRLEN], *end;
	unsigned long bits;
	int family;

	if (slash == NULL || !is_digit(slash[1]))
		return text;
	bits = strtoul(slash + 1, &end, 10);
	family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET;
	if (*end != '\0' || bits > (family == AF_INET ? 32 : 128) ||
	    inet_pton(family, arena_strndup(a, text, (size_t)(slash - text)), address) != 1)
		return text;
	mask(address, family == AF_INET ? 4 : 16, (unsigned)bits);
	if (inet_ntop(family, address, out, sizeof(out)) == NULL)
		return text;
	return arena_printf(a, "%s/%lu", out, bits);
}

/* "10.0.0.0/24" for the `bits` first bits of an address. */
static const char *network_of(struct arena *a, unsigned long long address, unsigned bits)
{
	return arena_printf(a, "%llu.%llu.%llu.%llu/%u", address >> 24 & 255, address >> 16 & 255,
			    address >> 8 & 255, address & 255, bits);
}

const char *nginx_range(struct arena *a, const char *text)
{
	const char *dash = strchr(text, '-'), *list = "";
	struct in_addr first, last;
	unsigned long long from, to;

	if (dash == NULL || inet_pton(AF_INET, arena_strndup(a, text, (size_t)(dash - text)), &first) != 1 ||
	    inet_pton(AF_INET, dash + 1, &last) != 1)
		return NULL;
	from = ntohl(first.s_addr);
	to = ntohl(last.s_addr);
	while (from <= to) {
		unsigned bits = 32;

		while (bits > 0 && (from & ((1ULL << (33 - bits)) - 1)) == 0 &&
		       from + (1ULL << (33 - bits)) - 1 <= to)
			bits--;
		list = arena_printf(a, "%s%s%s", list, list[0] != '\0' ? "," : "", network_of(a, from, bits));
		from += 1ULL << (32 - bits);
	}
	return list[0] != '\0' ? list : NULL;
}

const char *nginx_address_pattern(struct arena *a, const char *text)
{
	unsigned long long address = 0;
	unsigned parts = 0;

	if (*text++ != '^')
		return NULL;
	while (is_digit(*text) && parts < 4) {
		char *end;
		const unsigned long part = strtoul(text, &end, 10);

		if (part > 255)
			return NULL;
		address = address << 8 | part;
		parts++;
		text = end;
		if (strncmp(text, "\\.", 2) != 0)
			break;
		text += 2;
		if (*text == '\0' || strcmp(text, ".*") == 0 || strcmp(text, ".*$") == 0)
			return parts < 4 ? network_of(a, address << (8 * (4 - parts)), 8 * parts) : NULL;
	}
	return parts == 4 && strcmp(text, "$") == 0 ? network_of(a, address, 32) : NULL;
}
