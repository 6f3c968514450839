/* SPDX-License-Identifier: MIT
 *
 * client_hello.h - reads a TLS ClientHello as it arrives: the server name and the offered protocols.
 *
 * A codec without sockets or allocation. The reader remembers where it stopped, so each byte is examined once
 * however the client splits the hello into segments and TLS records. It consumes nothing: the caller keeps
 * the bytes and forwards them. Any thread; a reader belongs to one connection.
 *
 * What counts as a ClientHello (RFC 8446 4.1.2, RFC 5246 7.4.1.2):
 * - One or more records of type handshake, version 3.0 to 3.4, 1 to 16384 bytes long, that begin with a
 *   ClientHello of at most CLIENT_HELLO_MAX bytes on the wire. Bytes after the hello are not examined.
 * - client_version 3.x; TLS 1.3 says 3.3 there. Random, cipher suites, compression methods and unknown
 *   extensions (GREASE too) may have any content, but each length must fit into what surrounds it.
 * - server_name and ALPN at most once, each list exactly as long as its extension and each protocol at least
 *   one byte (RFC 7301 3.1). With Encrypted Client Hello, the outer hello is read.
 * - An SSLv2-style hello is not a ClientHello: it has no extensions, and no current client sends one.
 *
 * The server name (RFC 6066 3): at most one of type host_name, 1 to 255 printable ASCII bytes without blanks;
 * whoever prints it escapes '"' and '\'. Other name types are skipped. An address is accepted, though RFC
 * 6066 forbids it: some clients send it. Any other name (empty, ".", with a NUL, a control or a non-ASCII
 * byte) makes the whole hello invalid: it is neither a name to route by nor the absence of one, and TLS
 * servers refuse most of them. nginx's ssl_preread and HAProxy's req.ssl_sni pass such bytes on. They and
 * sniproxy use the first of two server_name extensions, where a server might use the second; here, two are
 * invalid.
 */
#ifndef WEIR_NET_CLIENT_HELLO_H
#define WEIR_NET_CLIENT_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest hello in bytes, record headers included. */
#define CLIENT_HELLO_MAX 16384
#define CLIENT_HELLO_NAME_MAX 255
#define CLIENT_HELLO_PROTOCOL_MAX 255

enum client_hello_step {
	CLIENT_HELLO_MORE,  /* what has arrived can begin a hello; more must come */
	CLIENT_HELLO_WHOLE, /* complete: the result is valid */
	CLIENT_HELLO_NOT,   /* no hello begins like this, or it is longer than CLIENT_HELLO_MAX */
};

/* A place among the payloads of the records. */
struct client_hello_place {
	uint16_t at;          /* offset on the wire */
	uint16_t record_left; /* bytes of the record from there on; 0 = the next record's header is at `at` */
};

/* All zero before the first byte; client_hello_begin() does that. */
struct client_hello_reader {
	struct client_hello_place here; /* the next byte to examine */
	struct client_hello_place name;
	struct client_hello_place alpn;
	uint16_t hello_left; /* bytes of the hello's body after `here` */
	uint16_t ext_end;    /* what `hello_left` is where the current extension ends */
	uint16_t field_end;  /* the same for a field whose bytes are skipped, or a host name */
	uint16_t alpn_len;   /* bytes of the list; 0 = not offered */
	uint8_t name_len;    /* as sent; 0 = no name */
	uint8_t high;        /* the first byte of a number of two bytes */
	uint8_t record_high; /* the same in a record's header, which may come between the two */
	uint8_t header_have; /* bytes of the current record's header that were examined */
	uint8_t step;        /* what the next byte is */
	uint8_t after_field; /* the step at `field_end` */
	uint8_t ext_step;    /* the step that reads the content of the current extension */
	bool has_names;      /* the extension server_name was seen */
};

/* The protocols not yet returned by client_hello_next_protocol(). Copy it to iterate. */
struct client_hello_protocols {
	const uint8_t *bytes; /* borrows the caller's */
	struct client_hello_place place;
	uint16_t left; /* bytes of the list */
};

struct client_hello {
	uint8_t name_len;                     /* 0 = no name */
	char name[CLIENT_HELLO_NAME_MAX + 1]; /* lower case, one trailing dot removed; ends with a NUL */
	struct client_hello_protocols alpn;   /* in the client's order; valid as long as the bytes */
};

void client_hello_begin(struct client_hello_reader *r);

/* Continues where the last call stopped. `bytes` are all bytes from the first one on, so `len` never shrinks;
 * the caller may move them between calls. A byte that no hello can have at its position is CLIENT_HELLO_NOT
 * as soon as it arrives. `out` is filled only with CLIENT_HELLO_WHOLE. WHOLE and NOT are final. */
enum client_hello_step client_hello_read(struct client_hello_reader *r, const uint8_t *bytes, size_t len,
					 struct client_hello *out);

/* Copies the next protocol to `protocol` (room for CLIENT_HELLO_PROTOCOL_MAX bytes; any bytes, no NUL is
 * added). Returns its length, 0 after the last one. */
size_t client_hello_next_protocol(struct client_hello_protocols *list, uint8_t *protocol);
/* Does the client offer this protocol ("h2")? Compared byte by byte. */
bool client_hello_offers(const struct client_hello *hello, const void *protocol, size_t len);

#endif
