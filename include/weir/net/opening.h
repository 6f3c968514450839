/* SPDX-License-Identifier: MIT
 *
 * opening.h - does a client begin as HTTP or SSH does? The counterpart of client_hello.h for text.
 *
 * HTTP is a whole request line up to its version ("GET / HTTP/1", also "PRI * HTTP/2"), so commands of other
 * protocols ("HELO a") are none; SSH is "SSH-" and a digit. Reads each byte once, however they arrive. Any
 * thread.
 */
#ifndef WEIR_NET_OPENING_H
#define WEIR_NET_OPENING_H

#include <stddef.h>
#include <stdint.h>

/* A longer word is not a method. */
#define OPENING_METHOD_MAX 24

enum opening { OPENING_MORE, OPENING_HTTP, OPENING_SSH, OPENING_NEITHER };

struct opening_reader {
	uint16_t at;    /* bytes that have been read */
	uint8_t step;   /* of opening.c */
	uint8_t method; /* bytes of the method, or of what follows the target */
};

static inline void opening_begin(struct opening_reader *r)
{
	*r = (struct opening_reader){0};
}

/* `bytes` has all that the client has sent, those of earlier calls included: at least as many, at most
 * UINT16_MAX. After an answer other than OPENING_MORE, do not call again. */
enum opening opening_read(struct opening_reader *r, const uint8_t *bytes, size_t len);

#endif
