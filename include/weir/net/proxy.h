/* SPDX-License-Identifier: MIT
 *
 * proxy.h - the PROXY protocol, versions 1 and 2: reads and builds headers.
 *
 * A codec without sockets or state: the reader gets all bytes received so far and says whether it needs more,
 * so the result cannot depend on how they were split. Source: HAProxy's doc/proxy-protocol.txt ("PP"). Any
 * thread.
 */
#ifndef WEIR_NET_PROXY_H
#define WEIR_NET_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "weir/net/addr.h"

/* PP 2.1: the maximum size of a v1 header in bytes, CRLF included. */
#define PROXY_V1_MAX 107
#define PROXY_V2_MIN 16
/* The length in bytes of the signature that begins every v2 header and nothing else. */
#define PROXY_SIGNATURE 12
/* A longer v2 header is refused (PROXY_TOO_LONG); HAProxy's limit is the same: its buffer of 16 KiB. */
#define PROXY_MAX 16384
#define PROXY_UNIX_PATH 108
/* PP 2.2.5 */
#define PROXY_UNIQUE_ID_MAX 128

/* Types of TLVs (PP 2.2.1 to 2.2.8). */
#define PROXY_TLV_ALPN 0x01
#define PROXY_TLV_AUTHORITY 0x02
#define PROXY_TLV_CRC32C 0x03
#define PROXY_TLV_NOOP 0x04
#define PROXY_TLV_UNIQUE_ID 0x05

/* What is wrong with a header; proxy_error_text() describes it. */
enum proxy_error {
	PROXY_OK,
	PROXY_NOT_HEADER,    /* the first bytes do not begin a header */
	PROXY_BAD_V1,        /* the line violates the grammar */
	PROXY_BAD_VERSION,   /* v2: unknown version or command */
	PROXY_BAD_FAMILY,    /* v2: unknown family or protocol */
	PROXY_BAD_LENGTH,    /* v2: too short for its addresses */
	PROXY_BAD_TLV,       /* a TLV exceeds the header, or has a wrong size; a second checksum */
	PROXY_BAD_CHECKSUM,  /* the CRC32c does not match */
	PROXY_TOO_LONG,      /* v2: more than PROXY_MAX; v1: no end within PROXY_V1_MAX */
};

struct proxy_header {
	uint8_t version; /* 1, 2 */
	bool local;      /* v2 LOCAL: the sender's own connection */
	uint16_t family; /* AF_INET, AF_INET6, AF_UNIX; 0 = unknown: use the socket's own addresses */
	struct addr_brief src; /* family 0 when unknown; only the family of a Unix peer */
	struct addr_brief dst;
	const char *unix_src; /* PROXY_UNIX_PATH bytes, possibly without a NUL; lent; NULL unless AF_UNIX */
	const char *unix_dst;
	const uint8_t *tlvs; /* v2: lent, all TLVs as received, validated. NULL when local */
	size_t tlv_len;
};

/* Reads the header at the start of `data`. Returns its length (bytes after it are not examined), 0 when more
 * bytes are needed, or -EPROTO with `*why`. Lent pointers point into `data`. A byte that no header can have
 * at its position is an error as soon as it arrives (a checksum: with the last byte), so calls with more and
 * more of the same bytes end like one call with all of them. */
ssize_t proxy_parse(const uint8_t *data, size_t len, struct proxy_header *out, enum proxy_error *why);
const char *proxy_error_text(enum proxy_error why);

/* The first TLV of `type` among validated TLVs; its length goes to `*len`. NULL: none. */
const uint8_t *proxy_tlv_find(const uint8_t *tlvs, size_t tlv_len, uint8_t type, size_t *len);

/* The header to send to a server. */
struct proxy_send {
	uint8_t version;
	bool local;            /* v2; v1 sends UNKNOWN */
	struct addr_brief src; /* if the families differ, or AF_UNIX in v1: UNKNOWN */
	struct addr_brief dst;
	const char *unix_src; /* PROXY_UNIX_PATH bytes each; NULL = empty */
	const char *unix_dst;
	const uint8_t *tlvs;  /* v2: the first of each type is passed on, except CRC32C and NOOP */
	size_t tlv_len;
	const uint8_t *unique_id; /* v2: replaces one in `tlvs`, as do the next two; NULL = none */
	size_t unique_id_len;
	const uint8_t *authority;
	size_t authority_len;
	const uint8_t *alpn;
	size_t alpn_len;
	bool crc32c; /* v2: add the checksum */
};

/* Builds the header in `out` and returns its length, or -ENOSPC: one of more than PROXY_MAX bytes, which a
 * header that proxy_parse() accepted may become with what is added to it. */
ssize_t proxy_make(const struct proxy_send *send, uint8_t *out, size_t room);
/* The size of a buffer that is large enough, if any is. */
size_t proxy_make_room(const struct proxy_send *send);

/* The PROXY_SIGNATURE bytes. */
const uint8_t *proxy_signature(void);

#endif
