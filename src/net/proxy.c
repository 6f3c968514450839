/* SPDX-License-Identifier: MIT
 *
 * proxy.c - reads the PROXY protocol: detects the version, and parses version 2.
 *
 * Every test looks at the bytes received, in order, so a shorter input meets the same first error as a longer
 * one, or none yet. In a version 2 header everything except the checksum is rejected at the byte that is
 * wrong. Any thread.
 */
#include "weir/net/proxy.h"

#include <errno.h>
#include <string.h>

#include "crc32c.h"
#include "proxy_v1.h"

/* PP 2.2: family and protocol in one byte. Datagrams (0x12, 0x22, 0x32) cannot be connections here. */
#define FAMILY_UNSPEC 0x00
#define FAMILY_TCP4 0x11
#define FAMILY_TCP6 0x21
#define FAMILY_UNIX 0x31

#define TLV_HEAD 3
#define CRC_LEN 4
#define AUTHORITY_MAX 255

static const uint8_t signature[PROXY_SIGNATURE] = {'\r', '\n', '\r', '\n', 0, '\r',
						   '\n', 'Q',  'U',  'I',  'T', '\n'};

const uint8_t *proxy_signature(void)
{
	return signature;
}

const char *proxy_error_text(enum proxy_error why)
{
	switch (why) {
	case PROXY_OK:
		return "no error";
	case PROXY_NOT_HEADER:
		return "it does not begin like a PROXY header";
	case PROXY_BAD_V1:
		return "the line violates the grammar of version 1";
	case PROXY_BAD_VERSION:
		return "unknown version or command";
	case PROXY_BAD_FAMILY:
		return "unknown family or protocol";
	case PROXY_BAD_LENGTH:
		return "too short for its addresses";
	case PROXY_BAD_TLV:
		return "a TLV runs past the end, occurs twice or has a wrong size";
	case PROXY_BAD_CHECKSUM:
		return "the CRC32c does not match";
	case PROXY_TOO_LONG:
		return "too long";
	}
	return "?";
}

static size_t get16(const uint8_t *p)
{
	return (size_t)p[0] << 8 | p[1];
}

/* ---- TLVs ---- */

/* A header of which `have` bytes have arrived; its TLVs end where it does. */
struct tlvs {
	const uint8_t *data;
	size_t have;
	size_t total;
	size_t crc_at; /* its value; 0 = none */
};

static size_t longest_value(uint8_t type)
{
	switch (type) {
	case PROXY_TLV_CRC32C:
		return CRC_LEN;
	case PROXY_TLV_AUTHORITY:
		return AUTHORITY_MAX;
	case PROXY_TLV_UNIQUE_ID:
		return PROXY_UNIQUE_ID_MAX;
	default:
		return UINT16_MAX;
	}
}

/* Are the `rest` bytes after a TLV none, or enough for another one? */
static bool can_end(size_t rest)
{
	return rest == 0 || rest >= TLV_HEAD;
}

/* Checks the TLV at `at`. 0 and `*next`, or -EPROTO, or -EAGAIN when more bytes are needed first. */
static int verify_tlv(struct tlvs *t, size_t at, size_t *next)
{
	const uint8_t *p = t->data + at;
	const size_t room = t->total - at - TLV_HEAD;
	const size_t have = t->have - at;
	size_t len;

	if (have < 1)
		return -EAGAIN;
	if (p[0] == PROXY_TLV_CRC32C) {
		if (t->crc_at != 0 || room < CRC_LEN || !can_end(room - CRC_LEN))
			return -EPROTO;
		t->crc_at = at + TLV_HEAD;
	}
	if (have < 2)
		return -EAGAIN;
	len = (size_t)p[1] << 8;
	if (len > room || len > longest_value(p[0]))
		return -EPROTO;
	if (have < 3)
		return -EAGAIN;
	len |= p[2];
	if (len > room || len > longest_value(p[0]) || !can_end(room - len))
		return -EPROTO;
	if (p[0] == PROXY_TLV_CRC32C && len != CRC_LEN)
		return -EPROTO;
	*next = at + TLV_HEAD + len;
	return 0;
}

static bool is_checksum_right(const struct tlvs *t)
{
	static const uint8_t zeroes[CRC_LEN];
	const uint8_t *value = t->data + t->crc_at;
	const size_t behind = t->crc_at + CRC_LEN;
	uint32_t sum = CRC32C_INIT;

	if (t->crc_at == 0)
		return true;
	sum = crc32c_add(sum, t->data, t->crc_at);
	sum = crc32c_add(sum, zeroes, CRC_LEN);
	sum = crc32c_end(crc32c_add(sum, t->data + behind, t->total - behind));
	return sum == ((uint32_t)get16(value) << 16 | (uint32_t)get16(value + 2));
}

/* Checks all TLVs from `at` on. */
static enum proxy_error verify_tlvs(const uint8_t *data, size_t have, size_t at, size_t total)
{
	struct tlvs t = {.data = data, .have = have < total ? have : total, .total = total};

	while (at < total && at <= t.have) {
		const int err = verify_tlv(&t, at, &at);

		if (err == -EPROTO)
			return PROXY_BAD_TLV;
		if (err)
			return PROXY_OK;
	}
	return have < total || is_checksum_right(&t) ? PROXY_OK : PROXY_BAD_CHECKSUM;
}

const uint8_t *proxy_tlv_find(const uint8_t *tlvs, size_t tlv_len, uint8_t type, size_t *len)
{
	for (size_t at = 0; at + TLV_HEAD <= tlv_len; at += TLV_HEAD + get16(tlvs + at + 1)) {
		if (tlvs[at] != type)
			continue;
		*len = get16(tlvs + at + 1);
		return tlvs + at + TLV_HEAD;
	}
	return NULL;
}

/* ---- version 2 ---- */

/* The size of the addresses in bytes; -1 = unsupported family. */
static int address_bytes(uint8_t family)
{
	switch (family) {
	case FAMILY_UNSPEC:
		return 0;
	case FAMILY_TCP4:
		return 2 * 4 + 2 * 2;
	case FAMILY_TCP6:
		return 2 * 16 + 2 * 2;
	case FAMILY_UNIX:
		return 2 * PROXY_UNIX_PATH;
	default:
		return -1;
	}
}

static void read_ip(const uint8_t *p, uint16_t family, struct proxy_header *out)
{
	const size_t bytes = family == AF_INET ? 4 : 16;

	out->family = family;
	out->src.family = family;
	out->dst.family = family;
	memcpy(out->src.ip, p, bytes);
	memcpy(out->dst.ip, p + bytes, bytes);
	out->src.port = (uint16_t)get16(p + 2 * bytes);
	out->dst.port = (uint16_t)get16(p + 2 * bytes + 2);
}

static void read_addresses(const uint8_t *p, uint8_t family, struct proxy_header *out)
{
	switch (family) {
	case FAMILY_TCP4:
		read_ip(p, AF_INET, out);
		break;
	case FAMILY_TCP6:
		read_ip(p, AF_INET6, out);
		break;
	case FAMILY_UNIX:
		out->family = AF_UNIX;
		out->src.family = AF_UNIX;
		out->dst.family = AF_UNIX;
		out->unix_src = (const char *)p;
		out->unix_dst = (const char *)p + PROXY_UNIX_PATH;
		break;
	default:
		break; /* unspecified: the socket's own */
	}
}

/* Checks the bytes between the signature and the addresses, as many as have arrived. */
static enum proxy_error verify_head(const uint8_t *data, size_t len)
{
	const bool local = len > 12 && (data[12] & 15) == 0;
	const int addresses = len > 13 && !local ? address_bytes(data[13]) : 0;
	size_t body;

	if (len > 12 && (data[12] >> 4 != 2 || (data[12] & 15) > 1))
		return PROXY_BAD_VERSION;
	if (addresses < 0)
		return PROXY_BAD_FAMILY;
	if (len > 14 && PROXY_V2_MIN + ((size_t)data[14] << 8) > PROXY_MAX)
		return PROXY_TOO_LONG;
	if (len <= 15)
		return PROXY_OK;
	body = get16(data + 14);
	if (PROXY_V2_MIN + body > PROXY_MAX)
		return PROXY_TOO_LONG;
	if (body < (size_t)addresses)
		return PROXY_BAD_LENGTH;
	/* One or two bytes after the addresses are not a TLV. */
	return local || can_end(body - (size_t)addresses) ? PROXY_OK : PROXY_BAD_TLV;
}

static ssize_t v2_parse(const uint8_t *data, size_t len, struct proxy_header *out, enum proxy_error *why)
{
	const size_t same = len < PROXY_SIGNATURE ? len : PROXY_SIGNATURE;
	size_t total, tlvs_at;

	out->version = 2;
	*why = memcmp(data, signature, same) == 0 ? verify_head(data, len) : PROXY_NOT_HEADER;
	if (*why != PROXY_OK)
		return -EPROTO;
	if (len < PROXY_V2_MIN)
		return 0;
	total = PROXY_V2_MIN + get16(data + 14);
	out->local = (data[12] & 15) == 0;
	if (out->local)
		return len < total ? 0 : (ssize_t)total;
	tlvs_at = PROXY_V2_MIN + (size_t)address_bytes(data[13]);
	*why = verify_tlvs(data, len, tlvs_at, total);
	if (*why != PROXY_OK)
		return -EPROTO;
	if (len < total)
		return 0;
	read_addresses(data + PROXY_V2_MIN, data[13], out);
	out->tlvs = data + tlvs_at;
	out->tlv_len = total - tlvs_at;
	return (ssize_t)total;
}

ssize_t proxy_parse(const uint8_t *data, size_t len, struct proxy_header *out, enum proxy_error *why)
{
	memset(out, 0, sizeof(*out));
	*why = PROXY_OK;
	if (len == 0)
		return 0;
	if (data[0] == 'P')
		return proxy_v1_parse(data, len, out, why);
	return v2_parse(data, len, out, why);
}
