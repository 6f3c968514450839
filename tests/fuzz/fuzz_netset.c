/* SPDX-License-Identifier: MIT
 *
 * fuzz_netset.c - lines of text as networks: refused in words, or a set that answers as a slow one does.
 *
 * A libFuzzer target; replay.c runs it over the corpus without one. A line that begins with '?' is an
 * address to ask for; each network's own borders are asked for in any case.
 */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/net/netset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LINES_MAX 256

struct input {
	struct net_prefix prefixes[LINES_MAX];
	size_t prefix_count;
	struct addr_brief questions[LINES_MAX];
	size_t question_count;
};

static unsigned width(uint16_t family)
{
	return family == AF_INET ? 32 : 128;
}

static unsigned bit(const uint8_t *ip, unsigned i)
{
	return ip[i / 8] >> (7 - i % 8) & 1u;
}

/* ---- a slow reader, for what was accepted ---- */

/* Writes the network anew from what was understood, without a word of the text, and compares the bits. */
static void check_accepted(const char *text, const struct net_prefix *p)
{
	char buf[NETSET_TEXT_MAX], ip[NETSET_TEXT_MAX];
	struct net_prefix again;
	const char *slash = strchr(text, '/'), *why = NULL;
	const size_t len = slash != NULL ? (size_t)(slash - text) : strlen(text);
	const bool is_mapped = p->family == AF_INET && memchr(text, ':', len) != NULL;
	uint8_t bytes[16] = {0};
	int bits = (int)(is_mapped ? 128 : width(p->family));

	check(len < sizeof(ip));
	memcpy(ip, text, len);
	ip[len] = '\0';
	check(inet_pton(is_mapped ? AF_INET6 : p->family, ip, bytes) == 1);
	if (slash != NULL)
		check(sscanf(slash + 1, "%d", &bits) == 1);
	check(bits - (is_mapped ? 96 : 0) == p->bits);
	check(p->bits <= width(p->family));
	for (unsigned i = 0; i < width(p->family); i++) {
		check(bit(p->ip, i) == bit(bytes + (is_mapped ? 12 : 0), i));
		check(i < p->bits || bit(p->ip, i) == 0);
	}
	check(strlen(net_prefix_format(p, buf)) < NETSET_TEXT_MAX);
	check(net_prefix_parse(buf, &again, &why) == 0);
	check(memcmp(&again, p, sizeof(again)) == 0);
}

/* An address without '/' that the C library knows is never refused. */
static void check_refused(const char *text, const char *why)
{
	uint8_t bytes[16];

	check(why != NULL && strlen(why) > 10);
	for (const char *c = why; *c != '\0'; c++)
		check(*c >= ' ' && *c <= '~');
	check(inet_pton(AF_INET, text, bytes) != 1);
	check(inet_pton(AF_INET6, text, bytes) != 1);
}

static void read_line(struct input *in, const char *line)
{
	struct addr_brief *q = &in->questions[in->question_count];
	struct net_prefix *p = &in->prefixes[in->prefix_count];
	const char *why = NULL;

	if (line[0] == '?') {
		memset(q, 0, sizeof(*q));
		q->family = strchr(line, ':') != NULL ? AF_INET6 : AF_INET;
		in->question_count += inet_pton(q->family, line + 1, q->ip) == 1 ? 1 : 0;
	} else if (net_prefix_parse(line, p, &why) == 0) {
		check_accepted(line, p);
		in->prefix_count++;
	} else {
		check_refused(line, why);
	}
}

/* ---- the slow set ---- */

static bool slow_has(const struct input *in, const struct addr_brief *a)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	const bool is_mapped = a->family == AF_INET6 && memcmp(a->ip, mapped, sizeof(mapped)) == 0;
	const uint16_t family = is_mapped ? AF_INET : a->family;
	const uint8_t *ip = a->ip + (is_mapped ? 12 : 0);

	for (size_t i = 0; i < in->prefix_count; i++) {
		const struct net_prefix *p = &in->prefixes[i];
		unsigned same = 0;

		while (p->family == family && same < p->bits && bit(p->ip, same) == bit(ip, same))
			same++;
		if (p->family == family && same == p->bits)
			return true;
	}
	return false;
}

/* One more or one less, and round the end: that is an address as well. */
static void step(struct addr_brief *a, bool up)
{
	for (unsigned i = width(a->family) / 8; i-- > 0;) {
		a->ip[i] = (uint8_t)(up ? a->ip[i] + 1 : a->ip[i] - 1);
		if (a->ip[i] != (up ? 0x00 : 0xff))
			break;
	}
}

static void ask(const struct input *in, const struct netset *set, const struct addr_brief *a)
{
	check(netset_has(set, a) == slow_has(in, a));
}

static void ask_borders(const struct input *in, const struct netset *set, const struct net_prefix *p)
{
	struct addr_brief a = {.family = p->family};

	memcpy(a.ip, p->ip, sizeof(a.ip));
	ask(in, set, &a);
	step(&a, false);
	ask(in, set, &a);
	memcpy(a.ip, p->ip, sizeof(a.ip));
	for (unsigned i = p->bits; i < width(p->family); i++)
		a.ip[i / 8] |= (uint8_t)(0x80 >> i % 8);
	ask(in, set, &a);
	step(&a, true);
	ask(in, set, &a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct input in;
	char *text = malloc(size + 1), *rest = text, *line;
	struct netset *set;

	check(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	in.prefix_count = 0;
	in.question_count = 0;
	while (in.prefix_count < LINES_MAX && in.question_count < LINES_MAX &&
	       (line = strsep(&rest, "\n")) != NULL)
		read_line(&in, line);
	set = netset_new(in.prefixes, in.prefix_count);
	check(set != NULL);
	for (size_t i = 0; i < in.prefix_count; i++)
		ask_borders(&in, set, &in.prefixes[i]);
	for (size_t i = 0; i < in.question_count; i++)
		ask(&in, set, &in.questions[i]);
	netset_free(set);
	free(text);
	return 0;
}
