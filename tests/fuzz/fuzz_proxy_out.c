/* SPDX-License-Identifier: MIT
 *
 * fuzz_proxy_out.c - what is to be said to a server, made into a PROXY header and read back.
 *
 * The input is read as flags, addresses, a unique id and TLVs. A libFuzzer target; replay.c runs it without
 * one.
 */
#include <errno.h>
#include <stdint.h>

#include "slow_proxy.h"
#include "weir/base/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *at;
	size_t left;
};

static unsigned take(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

static void take_address(struct input *in, uint16_t family, struct addr_brief *a)
{
	a->family = family;
	a->port = (uint16_t)(take(in) << 8 | take(in));
	for (size_t i = 0; i < (family == AF_INET ? 4 : 16); i++)
		a->ip[i] = (uint8_t)take(in);
}

/* TLVs as proxy_parse() gives them: their lengths fit. Sometimes a value is made long. */
static size_t take_tlvs(struct input *in, uint8_t *out, size_t room)
{
	size_t len = 0, value;

	while (in->left > 2) {
		const unsigned type = take(in), size = take(in);

		value = type == PROXY_TLV_CRC32C ? 4 : size;
		if (size > 250 && type >= 0xe0)
			value = size * 60;
		if (type == PROXY_TLV_UNIQUE_ID && value > PROXY_UNIQUE_ID_MAX)
			value = PROXY_UNIQUE_ID_MAX;
		if (len + 3 + value > room)
			break;
		out[len++] = (uint8_t)type;
		out[len++] = (uint8_t)(value >> 8);
		out[len++] = (uint8_t)value;
		for (size_t i = 0; i < value; i++)
			out[len++] = (uint8_t)take(in);
	}
	return len;
}

static void check_addresses(const struct proxy_send *send, const struct proxy_header *h)
{
	const bool known = !send->local && send->src.family == send->dst.family &&
			   (send->version == 2 || send->src.family != AF_UNIX);
	const size_t bytes = h->family == AF_INET ? 4 : 16;

	check(h->family == (known ? send->src.family : 0));
	if (h->family == AF_UNIX)
		check(memcmp(h->unix_dst, send->unix_dst, PROXY_UNIX_PATH) == 0);
	if (h->family != AF_INET && h->family != AF_INET6)
		return;
	check(memcmp(h->src.ip, send->src.ip, bytes) == 0);
	check(memcmp(h->dst.ip, send->dst.ip, bytes) == 0);
	check(h->src.port == send->src.port);
	check(h->dst.port == send->dst.port);
}

/* The first TLV of each type that was given is there, in its order, and the others are ours. */
static void check_tlvs(const struct proxy_send *send, const struct proxy_header *h)
{
	bool seen[256] = {[PROXY_TLV_CRC32C] = true, [PROXY_TLV_NOOP] = true};
	size_t at = 0, len;
	const uint8_t *id;

	seen[PROXY_TLV_UNIQUE_ID] = send->unique_id != NULL;

	for (size_t from = 0; from < send->tlv_len; from += len) {
		const uint8_t *tlv = send->tlvs + from;

		len = 3 + (size_t)(tlv[1] * 256 + tlv[2]);
		if (seen[tlv[0]])
			continue;
		seen[tlv[0]] = true;
		check(at + len <= h->tlv_len);
		check(memcmp(h->tlvs + at, tlv, len) == 0);
		at += len;
	}
	check((proxy_tlv_find(h->tlvs, h->tlv_len, PROXY_TLV_CRC32C, &len) != NULL) == send->crc32c);
	if (send->unique_id == NULL)
		return;
	/* Ours stands alone, and nothing but a checksum is behind it. */
	id = proxy_tlv_find(h->tlvs, h->tlv_len, PROXY_TLV_UNIQUE_ID, &len);
	check(id == h->tlvs + at + 3);
	check(len == send->unique_id_len);
	check(memcmp(id, send->unique_id, len) == 0);
	check(at + 3 + len + (send->crc32c ? 7 : 0) == h->tlv_len);
}

static void make_and_read_back(const struct proxy_send *send)
{
	static uint8_t out[2 * PROXY_MAX];
	const ssize_t n = proxy_make(send, out, sizeof(out));
	struct proxy_header h;
	enum proxy_error why;

	if (n < 0) {
		check(n == -ENOSPC);
		check(send->tlv_len + 512 > PROXY_MAX);
		return;
	}
	check((size_t)n <= proxy_make_room(send));
	check(proxy_parse(out, (size_t)n, &h, &why) == n);
	check(h.version == send->version);
	check(h.local == (send->local && send->version == 2));
	check_addresses(send, &h);
	if (send->version == 2 && !send->local)
		check_tlvs(send, &h);
	check(slow_compare(out, (size_t)n) == NULL);
	check(proxy_make(send, out, (size_t)n - 1) == -ENOSPC);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t families[] = {0, AF_INET, AF_INET6, AF_UNIX};
	static uint8_t tlvs[PROXY_MAX];
	static char path[PROXY_UNIX_PATH];
	struct input in = {.at = data, .left = size};
	const unsigned flags = take(&in), kinds = take(&in);
	struct proxy_send send = {.version = (uint8_t)(1 + (flags & 1)), .local = flags >> 1 & 1,
				  .crc32c = flags >> 2 & 1};

	take_address(&in, families[kinds & 3], &send.src);
	take_address(&in, families[kinds >> 2 & 3], &send.dst);
	send.unix_src = flags >> 3 & 1 ? path : NULL;
	send.unix_dst = path;
	for (size_t i = 0; i < 8; i++)
		path[i] = (char)take(&in);
	if (flags >> 4 & 1) {
		send.unique_id = data;
		send.unique_id_len = size < PROXY_UNIQUE_ID_MAX ? size : PROXY_UNIQUE_ID_MAX;
	}
	send.tlvs = tlvs;
	send.tlv_len = take_tlvs(&in, tlvs, sizeof(tlvs));
	make_and_read_back(&send);
	return 0;
}
