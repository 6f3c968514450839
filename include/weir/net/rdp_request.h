/* SPDX-License-Identifier: MIT
 *
 * rdp_request.h - reads the first packet of an RDP client: its Connection Request and the cookie in it.
 *
 * [MS-RDPBCGR] 2.2.1.1: a TPKT header (RFC 2126: version 3, reserved, length of the packet), an X.224
 * Connection Request of seven bytes, and optionally one line that ends with CR LF, in which a load balancer
 * finds "Cookie: msts=IP.PORT.RESERVED": the server's IPv4 address and its port, each as the decimal form of
 * its bytes in network order read as a little-endian number (10.0.0.1 is 16777226, 3389 is 15629). As in
 * HAProxy, the case of "Cookie: msts" and the number of blanks do not matter.
 *
 * A codec without sockets or allocation. Reads each byte once, however they arrive, and no byte behind the
 * packet. Any thread; a reader belongs to one connection.
 */
#ifndef WEIR_NET_RDP_REQUEST_H
#define WEIR_NET_RDP_REQUEST_H

#include <stddef.h>
#include <stdint.h>

/* The longest packet in bytes. That of X.224 has at most 259; the limit leaves room for longer lines. */
#define RDP_REQUEST_MAX 1024

enum rdp_request {
	RDP_REQUEST_MORE,   /* what has arrived can begin a request; more must come */
	RDP_REQUEST_COOKIE, /* a request that names a server: the result is valid */
	RDP_REQUEST_PLAIN,  /* a request without a cookie that is an IPv4 address and a port */
	RDP_REQUEST_NOT,    /* no request begins like this */
};

/* A server as a cookie names it; all zero = none. */
struct rdp_cookie {
	uint32_t ip;   /* in network byte order */
	uint16_t port; /* in host byte order; never 0 of a cookie */
};

/* All zero before the first byte. */
struct rdp_reader {
	uint16_t at;     /* bytes that have been read */
	uint16_t end;    /* length of the packet, once its header was read */
	uint8_t step;    /* of rdp_request.c */
	uint8_t matched; /* bytes of the current word, or digits of the current number */
	uint32_t port;   /* as written */
	uint64_t ip;     /* as written */
};

static inline void rdp_request_begin(struct rdp_reader *r)
{
	*r = (struct rdp_reader){0};
}

/* Continues where the last call stopped. `bytes` has all that the client has sent, those of earlier calls
 * included: at least as many, at most UINT16_MAX. An answer comes as early as the bytes allow. `out` is
 * filled only with RDP_REQUEST_COOKIE. After an answer other than RDP_REQUEST_MORE, do not call again. */
enum rdp_request rdp_request_read(struct rdp_reader *r, const uint8_t *bytes, size_t len,
				  struct rdp_cookie *out);

#endif
