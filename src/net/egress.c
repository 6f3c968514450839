/* SPDX-License-Identifier: MIT
 *
 * egress.c - judges names that clients choose, and the addresses that name servers give for them.
 *
 * Refuses what it does not know. Pure; any thread.
 */
#include "weir/net/egress.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/base/digit.h"

#define LABEL_MAX 63

/* ---- names ---- */

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

/* "127", "0x7f", "0x": what inet_aton(3) and browsers take for the last part of an IPv4 address. */
static bool is_number(const char *label)
{
	const bool hex = label[0] == '0' && label[1] == 'x';
	const char *c = hex ? label + 2 : label;

	while (hex ? is_hex(*c) : is_digit(*c))
		c++;
	return *c == '\0';
}

/* A label ends before `out[at]`, which is a dot or the end; it began at `from`. */
static bool is_label(const char *out, size_t from, size_t at)
{
	return at > from && at - from <= LABEL_MAX && out[from] != '-' && out[at - 1] != '-';
}

bool egress_name_read(const uint8_t *name, size_t len, char out[static EGRESS_NAME_MAX])
{
	size_t label = 0;

	out[0] = '\0';
	if (len == 0 || len >= EGRESS_NAME_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		const uint8_t c = name[i] >= 'A' && name[i] <= 'Z' ? (uint8_t)(name[i] | 0x20) : name[i];

		if (c != '.' && c != '-' && !is_digit((char)c) && (c < 'a' || c > 'z'))
			return false;
		if (c == '.' && !is_label(out, label, i))
			return false;
		out[i] = (char)c;
		if (c == '.')
			label = i + 1;
	}
	out[len] = '\0';
	return label > 0 && is_label(out, label, len) && !is_number(out + label) &&
	       strcmp(out + label, "localhost") != 0;
}

/* ---- addresses ---- */

/* One row of special_nets.tbl.h. */
struct special {
	uint16_t family;
	uint8_t bits;
	bool may_be_allowed;
	uint8_t ip[16];
	const char *what;
};

#define HIGH(group) (uint8_t)((group) >> 8)
#define LOW(group)  (uint8_t)((group) & 255)

static const struct special specials[] = {
#define SPECIAL_NET4(a, b, c, d, bits, allowed, what) {AF_INET, bits, allowed, {a, b, c, d}, what},
#define SPECIAL_NET6(a, b, c, h, bits, allowed, what)                                                       \
	{AF_INET6, bits, allowed,                                                                           \
	 {HIGH(a), LOW(a), HIGH(b), LOW(b), HIGH(c), LOW(c), [14] = HIGH(h), [15] = LOW(h)}, what},
#include "weir/net/special_nets.tbl.h"
#undef SPECIAL_NET4
#undef SPECIAL_NET6
};

/* What is not 2000::/3 and has no row. */
static const struct special unassigned = {AF_INET6, 0, false, {0}, "not a unicast address of the Internet"};

static bool is_in(const struct addr_brief *a, const struct special *net)
{
	const size_t bytes = net->bits / 8;
	const unsigned bits = net->bits % 8;

	if (a->family != net->family || memcmp(a->ip, net->ip, bytes) != 0)
		return false;
	return bits == 0 || (a->ip[bytes] ^ net->ip[bytes]) >> (8 - bits) == 0;
}

/* NULL = of the public Internet. */
static const struct special *special_of(const struct addr_brief *a)
{
	for (size_t i = 0; i < ARRAY_LEN(specials); i++)
		if (is_in(a, &specials[i]))
			return &specials[i];
	return a->family == AF_INET6 && a->ip[0] >> 5 != 1 ? &unassigned : NULL;
}

static bool has(const struct netset *allow_to, const struct addr_brief *a)
{
	return allow_to != NULL && netset_has(allow_to, a);
}

bool egress_translated(const struct addr_brief *a, struct addr_brief *ip4)
{
	static const uint8_t nat64[12] = {0, 0x64, 0xff, 0x9b};

	if (a->family != AF_INET6 || memcmp(a->ip, nat64, sizeof(nat64)) != 0)
		return false;
	*ip4 = (struct addr_brief){.family = AF_INET, .port = a->port};
	memcpy(ip4->ip, a->ip + sizeof(nat64), 4);
	return true;
}

/* ISATAP (RFC 5214 6.1) puts the IPv4 address of a machine behind such an identifier, under any prefix. */
static bool is_isatap(const struct addr_brief *a)
{
	static const uint8_t tail[] = {0, 0x5e, 0xfe};

	return a->family == AF_INET6 && (a->ip[8] & 0xfd) == 0 && memcmp(a->ip + 9, tail, sizeof(tail)) == 0;
}

static bool is_fine_place(const struct addr_brief *a, const struct netset *allow_to)
{
	const struct special *special = special_of(a);

	return special == NULL || (special->may_be_allowed && has(allow_to, a));
}

/* `a`: where the way leads, of NAT64 the address within. */
static enum egress_verdict judge_route(const struct addr_brief *a, const struct netset *allow_to,
				       enum egress_route route)
{
	switch (route) {
	case EGRESS_ROUTE_FAR:
		return EGRESS_FINE;
	case EGRESS_ROUTE_OWN:
		return has(allow_to, a) ? EGRESS_FINE : EGRESS_OWN;
	case EGRESS_ROUTE_GROUP:
		return EGRESS_SPECIAL;
	case EGRESS_ROUTE_LOOP:
		return EGRESS_LOOP;
	case EGRESS_ROUTE_UNKNOWN:
		break;
	}
	return EGRESS_UNKNOWN;
}

enum egress_verdict egress_judge(const struct addr_brief *a, const struct netset *allow_to,
				 enum egress_route route)
{
	struct addr_brief ip4;

	if (a->family != AF_INET && a->family != AF_INET6)
		return EGRESS_SPECIAL;
	if (is_isatap(a))
		return EGRESS_TRANSLATED;
	if (!is_fine_place(a, allow_to))
		return EGRESS_SPECIAL;
	if (!egress_translated(a, &ip4))
		return judge_route(a, allow_to, route);
	return is_fine_place(&ip4, allow_to) ? judge_route(&ip4, allow_to, route) : EGRESS_TRANSLATED;
}

const char *egress_why(const struct addr_brief *a, enum egress_verdict verdict)
{
	const struct special *special = special_of(a);

	switch (verdict) {
	case EGRESS_OWN:
		return "an address of this machine that allow-to does not contain";
	case EGRESS_LOOP:
		return "an address where weir itself listens";
	case EGRESS_UNKNOWN:
		return "an address for which the kernel gave no usable answer";
	case EGRESS_TRANSLATED:
		return "a form of an IPv4 address that is refused";
	case EGRESS_SPECIAL:
		return special != NULL ? special->what : "a broadcast, multicast or anycast address";
	case EGRESS_FINE:
		break;
	}
	return "fine";
}
