/* SPDX-License-Identifier: MIT
 *
 * session_name.h - the server name that a client asks for: from its TLS hello, or from a trusted PROXY
 * header.
 *
 * Part of a session's extra. It is sent to the server in a PROXY header, and logged at the end. A worker's
 * thread.
 */
#ifndef WEIR_ENGINE_SESSION_NAME_H
#define WEIR_ENGINE_SESSION_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Few names are longer; those are in a buffer. */
#define SESSION_NAME_INLINE 76

struct buf;
struct client_hello;
struct session;

/* All zero: nothing is known. */
struct session_name {
	bool from_hello;      /* a hello came, with or without a name */
	uint8_t len;          /* of the name; 0 = none */
	uint8_t protocol_len; /* 0 = none, or several: the server will choose */
	uint8_t bytes[SESSION_NAME_INLINE]; /* the name, then the protocol, if both fit */
	struct buf *buf;      /* owns: they are here instead; NULL = they fit */
};

/* Stores what a complete hello says instead of what was stored. False without memory. */
bool session_name_take_hello(struct session *s, const struct client_hello *hello);
/* Stores what the TLVs of a PROXY header say. The caller trusts its sender. False without memory. */
bool session_name_take_tlvs(struct session *s, const uint8_t *tlvs, size_t len);
/* The name, without a NUL; NULL = none. */
const uint8_t *session_name_text(const struct session_name *n);
/* The same for the protocol. */
const uint8_t *session_name_protocol(const struct session_name *n);
/* Frees what it owns, at the session's end. */
void session_name_drop(struct session *s);

#endif
