/* SPDX-License-Identifier: MIT
 *
 * network.c - networks as weir writes them, from those of allow, geo and map.
 *
 * Main thread.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "network.h"
#include "weir/base/digit.h"

#define OTHERS_MAX 64 /* networks that another is without */
#define PARTS_MAX  64 /* that are left of it */

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
	(void)work_clear_bits(address, family == AF_INET ? 32 : 128, (unsigned)bits); /* it may have none */
	if (inet_ntop(family, address, out, sizeof(out)) == NULL)
		return text;
	return arena_printf(a, "%s/%lu", out, bits);
}

/* ---- networks without others ---- */

bool nginx_net_read(struct arena *a, const char *text, struct nginx_net *out)
{
	const char *slash = strchr(text, '/');
	const size_t len = slash != NULL ? (size_t)(slash - text) : strlen(text);
	const size_t digits = slash != NULL ? strspn(slash + 1, "0123456789") : 0;
	unsigned most;

	*out = (struct nginx_net){.family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET};
	most = out->family == AF_INET ? 32 : 128;
	if (slash != NULL && (digits == 0 || digits > 3 || slash[1 + digits] != '\0'))
		return false;
	out->bits = slash != NULL ? (unsigned)strtoul(slash + 1, NULL, 10) : most;
	return out->bits <= most && inet_pton(out->family, arena_strndup(a, text, len), out->address) == 1;
}

bool nginx_net_covers(const struct nginx_net *all, const struct nginx_net *one)
{
	if (all->family != one->family || all->bits > one->bits)
		return false;
	for (unsigned bit = 0; bit < all->bits; bit++)
		if (((all->address[bit / 8] ^ one->address[bit / 8]) & (0x80 >> bit % 8)) != 0)
			return false;
	return true;
}

static void add_network(struct arena *a, const struct nginx_net *net, struct work_list *out)
{
	char text[INET6_ADDRSTRLEN] = "";
	const bool whole = net->bits == (net->family == AF_INET ? 32 : 128);

	(void)inet_ntop(net->family, net->address, text, sizeof(text));
	work_list_add(a, out,
		      whole ? arena_printf(a, "%s", text) : arena_printf(a, "%s/%u", text, net->bits));
}

/* Halves the network until each part is in one of `others`, or has nothing in common with them. False: there
 * are too many parts. */
static bool add_parts(struct arena *a, const struct nginx_net *net, const struct nginx_net *others,
		      size_t count, struct work_list *out)
{
	bool shares = false;

	for (size_t i = 0; i < count; i++) {
		if (nginx_net_covers(&others[i], net))
			return true;
		shares = shares || nginx_net_covers(net, &others[i]);
	}
	if (!shares) {
		add_network(a, net, out);
		return out->count <= PARTS_MAX;
	}
	for (unsigned half = 0; half < 2; half++) {
		struct nginx_net part = *net;

		if (half == 1)
			part.address[net->bits / 8] |= (unsigned char)(0x80 >> net->bits % 8);
		part.bits++;
		if (!add_parts(a, &part, others, count, out))
			return false;
	}
	return true;
}

bool nginx_network_without(struct arena *a, const char *text, const struct work_list *others,
			   struct work_list *out)
{
	struct nginx_net net, *list = NULL;

	if (others->count > OTHERS_MAX || !nginx_net_read(a, text, &net))
		return false;
	for (size_t i = 0; i < others->count; i++) {
		list = arena_grow(a, list, i, sizeof(*list));
		if (!nginx_net_read(a, others->items[i], &list[i]))
			return false;
	}
	return add_parts(a, &net, list, others->count, out);
}

/* ---- ranges and patterns ---- */

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
