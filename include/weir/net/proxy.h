/* SPDX-License-Identifier: MIT
 *
 * proxy.h - the PROXY protocol, versions 1 and 2: headers read and made.
 *
 * A codec without sockets and without state: the reader is given all bytes so far and says what it wants, so
 * the result cannot depend on how they were cut. Source: HAProxy's doc/proxy-protocol.txt ("PP").
 * Any thread.
 */
#ifndef WEIR_NET_PROXY_H
#define WEIR_NET_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "weir/net/addr.h"

/* PP 2.1: a v1 header has at most so many bytes, CRLF included. */
#define PROXY_V1_MAX 107
#define PROXY_V2_MIN 16
/* A v2 header begins with so many bytes that nothing else does. */
#define PROXY_SIGNATURE 12
/* A longer v2 header is refused (PROXY_TOO_LONG); HAProxy's limit is its buffer of 16 KiB as well. */
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

/* What is wrong with a header; proxy_error_text() says it in words. */
enum proxy_error {
	PROXY_OK,
	PROXY_NOT_HEADER,    /* the first bytes are those of no header */
	PROXY_BAD_V1,        /* the line breaks the grammar */
	PROXY_BAD_VERSION,   /* v2: version or command */
	PROXY_BAD_FAMILY,    /* v2: family or protocol */
	PROXY_BAD_LENGTH,    /* v2: too short for its addresses */
	PROXY_BAD_TLV,       /* a TLV runs over the end, or has a wrong size; a second checksum */
	PROXY_BAD_CHECKSUM,  /* CRC32c does not fit */
	PROXY_TOO_LONG,      /* v2: more than PROXY_MAX; v1: no end within PROXY_V1_MAX */
};

struct proxy_header {
	uint8_t version; /* 1, 2 */
	bool local;      /* v2 LOCAL: the sender speaks for itself */
	uint16_t family; /* AF_INET, AF_INET6, AF_UNIX; 0 = unknown: use the socket's own addresses */
	struct addr_brief src; /* family 0 when unknown; a Unix peer by family alone */
	struct addr_brief dst;
	const char *unix_src; /* PROXY_UNIX_PATH bytes, maybe without a NUL; lent; NULL unless AF_UNIX */
	const char *unix_dst;
	const uint8_t *tlvs; /* v2: lent, all of them as they came; checked. NULL when local */
	size_t tlv_len;
};

/* Reads the header at the start of `data`. Returns its length (bytes behind it are not looked at), 0 when
 * more bytes are wanted, or -EPROTO with `*why`. What it lends points into `data`. The first byte that no
 * header can have at its place is an error as soon as it is there (a checksum: with the last byte), so
 * calls with ever more of the same bytes end as one call with all of them does. */
ssize_t proxy_parse(const uint8_t *data, size_t len, struct proxy_header *out, enum proxy_error *why);
const char *proxy_error_text(enum proxy_error why);

/* The first TLV of `type` among checked TLVs; its length in `*len`. NULL: none. */
const uint8_t *proxy_tlv_find(const uint8_t *tlvs, size_t tlv_len, uint8_t type, size_t *len);

/* What is to be said to a server. */
struct proxy_send {
	uint8_t version;
	bool local;            /* v2; v1 says UNKNOWN */
	struct addr_brief src; /* different families, or AF_UNIX in v1: UNKNOWN */
	struct addr_brief dst;
	const char *unix_src; /* PROXY_UNIX_PATH bytes each; NULL = empty */
	const char *unix_dst;
	const uint8_t *tlvs;  /* v2: the first of each type is passed on, but for CRC32C and NOOP */
	size_t tlv_len;
	const uint8_t *unique_id; /* v2: takes the place of one in `tlvs`; NULL = none */
	size_t unique_id_len;
	bool crc32c; /* v2: add the checksum */
};

/* Makes the header in `out`; its length, or -ENOSPC. PROXY_MAX bytes are always enough for what
 * proxy_parse() took plus a unique id, or -ENOSPC. */
ssize_t proxy_make(const struct proxy_send *send, uint8_t *out, size_t room);
/* So much room is enough for it, if any is. */
size_t proxy_make_room(const struct proxy_send *send);

/* The PROXY_SIGNATURE bytes. */
const uint8_t *proxy_signature(void);

#endif
