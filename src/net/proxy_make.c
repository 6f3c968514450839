/* SPDX-License-Identifier: MIT
 *
 * proxy_make.c - writes the PROXY protocol.
 *
 * proxy_parse() accepts every header built here. Any thread.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/net/proxy.h"
#include "crc32c.h"

#define TLV_HEAD 3u
#define CRC_LEN 4u

/* A header that grows; once something did not fit, `full` stays set. */
struct made {
	uint8_t *out;
	size_t room;
	size_t len;
	bool full;
};

static void put_raw(struct made *m, const void *bytes, size_t len)
{
	if (m->full || len > m->room - m->len) {
		m->full = true;
		return;
	}
	if (len > 0)
		memcpy(m->out + m->len, bytes, len);
	m->len += len;
}

static void put8(struct made *m, unsigned value)
{
	const uint8_t byte = (uint8_t)value;

	put_raw(m, &byte, 1);
}

static void put16(struct made *m, size_t value)
{
	put8(m, (unsigned)(value >> 8 & 255));
	put8(m, (unsigned)(value & 255));
}

static uint16_t same_family(const struct proxy_send *send)
{
	return !send->local && send->src.family == send->dst.family ? send->src.family : 0;
}

/* ---- version 1 ---- */

static ssize_t make_v1(const struct proxy_send *send, struct made *m)
{
	const uint16_t family = same_family(send);
	char line[PROXY_V1_MAX + 1], src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];
	int n;

	if (family == AF_INET || family == AF_INET6) {
		/* The buffers are long enough for any address. */
		(void)inet_ntop(family, send->src.ip, src, sizeof(src));
		(void)inet_ntop(family, send->dst.ip, dst, sizeof(dst));
		n = snprintf(line, sizeof(line), "PROXY %s %s %s %u %u\r\n",
			     family == AF_INET ? "TCP4" : "TCP6", src, dst, send->src.port, send->dst.port);
	} else {
		n = snprintf(line, sizeof(line), "PROXY UNKNOWN\r\n");
	}
	check(n > 0);
	check(n <= PROXY_V1_MAX);
	put_raw(m, line, (size_t)n);
	return m->full ? -ENOSPC : (ssize_t)m->len;
}

/* ---- version 2 ---- */

static void put_path(struct made *m, const char *path)
{
	static const char empty[PROXY_UNIX_PATH];

	put_raw(m, path != NULL ? path : empty, PROXY_UNIX_PATH);
}

static void put_addresses(struct made *m, const struct proxy_send *send, uint16_t family)
{
	const size_t bytes = family == AF_INET ? 4 : 16;

	if (family == AF_UNIX) {
		put_path(m, send->unix_src);
		put_path(m, send->unix_dst);
	} else if (family != 0) {
		put_raw(m, send->src.ip, bytes);
		put_raw(m, send->dst.ip, bytes);
		put16(m, send->src.port);
		put16(m, send->dst.port);
	}
}

static void put_tlv(struct made *m, uint8_t type, const uint8_t *value, size_t len)
{
	put8(m, type);
	put16(m, len);
	put_raw(m, value, len);
}

/* The checksum changes, a NOOP was only padding, and values of ours replace others. */
static bool may_pass(const struct proxy_send *send, uint8_t type)
{
	switch (type) {
	case PROXY_TLV_CRC32C:
	case PROXY_TLV_NOOP:
		return false;
	case PROXY_TLV_UNIQUE_ID:
		return send->unique_id == NULL;
	case PROXY_TLV_AUTHORITY:
		return send->authority == NULL;
	case PROXY_TLV_ALPN:
		return send->alpn == NULL;
	default:
		return true;
	}
}

/* Passes on received TLVs, the first of each type: given two, some readers would take the first and others
 * the last. */
static void pass_tlvs(struct made *m, const struct proxy_send *send)
{
	bool passed[UINT8_MAX + 1] = {false};
	size_t len;

	for (size_t at = 0; at < send->tlv_len; at += TLV_HEAD + len) {
		const uint8_t *p = send->tlvs + at;

		check(send->tlv_len - at >= TLV_HEAD);
		len = (size_t)p[1] << 8 | p[2];
		check(send->tlv_len - at - TLV_HEAD >= len);
		if (passed[p[0]] || !may_pass(send, p[0]))
			continue;
		put_raw(m, p, TLV_HEAD + len);
		passed[p[0]] = true;
	}
}

static void put_own_tlvs(struct made *m, const struct proxy_send *send)
{
	check(send->unique_id_len <= PROXY_UNIQUE_ID_MAX);
	check(send->authority_len <= UINT8_MAX); /* readers accept no longer one */
	check(send->alpn_len <= UINT8_MAX);
	if (send->alpn != NULL)
		put_tlv(m, PROXY_TLV_ALPN, send->alpn, send->alpn_len);
	if (send->authority != NULL)
		put_tlv(m, PROXY_TLV_AUTHORITY, send->authority, send->authority_len);
	if (send->unique_id != NULL)
		put_tlv(m, PROXY_TLV_UNIQUE_ID, send->unique_id, send->unique_id_len);
}

static void set_length(struct made *m)
{
	m->out[14] = (uint8_t)((m->len - PROXY_V2_MIN) >> 8);
	m->out[15] = (uint8_t)(m->len - PROXY_V2_MIN);
}

/* Over the whole header, with zeroes in place of the checksum itself, which is the last four bytes. */
static void set_checksum(struct made *m)
{
	const uint32_t sum = crc32c_end(crc32c_add(CRC32C_INIT, m->out, m->len));

	m->len -= CRC_LEN;
	put16(m, sum >> 16);
	put16(m, sum & 0xffff);
}

static unsigned family_byte(uint16_t family)
{
	switch (family) {
	case AF_INET:
		return 0x11;
	case AF_INET6:
		return 0x21;
	case AF_UNIX:
		return 0x31;
	default:
		return 0;
	}
}

static ssize_t make_v2(const struct proxy_send *send, struct made *m)
{
	static const uint8_t no_sum[CRC_LEN];
	const uint16_t family = same_family(send);

	put_raw(m, proxy_signature(), PROXY_SIGNATURE);
	put8(m, send->local ? 0x20 : 0x21);
	put8(m, family_byte(family));
	put16(m, 0);
	put_addresses(m, send, family);
	pass_tlvs(m, send);
	put_own_tlvs(m, send);
	if (send->crc32c)
		put_tlv(m, PROXY_TLV_CRC32C, no_sum, CRC_LEN);
	if (m->full)
		return -ENOSPC;
	set_length(m);
	if (send->crc32c)
		set_checksum(m);
	return (ssize_t)m->len;
}

ssize_t proxy_make(const struct proxy_send *send, uint8_t *out, size_t room)
{
	struct made m = {.out = out, .room = room < PROXY_MAX ? room : PROXY_MAX};

	check(send->version == 1 || send->version == 2);
	return send->version == 1 ? make_v1(send, &m) : make_v2(send, &m);
}

size_t proxy_make_room(const struct proxy_send *send)
{
	size_t room = PROXY_V2_MIN + 2 * PROXY_UNIX_PATH + send->tlv_len;

	if (send->version == 1)
		return PROXY_V1_MAX;
	room += TLV_HEAD + send->unique_id_len + TLV_HEAD + CRC_LEN;
	room += TLV_HEAD + send->authority_len + TLV_HEAD + send->alpn_len;
	return room < PROXY_MAX ? room : PROXY_MAX;
}
