/* SPDX-License-Identifier: MIT
 *
 * probe_hello.h - a TLS health check that ends with the ServerHello: the ClientHello, and the answer to it,
 * parsed incrementally.
 *
 * Needs no TLS library, because nothing is encrypted yet: a server that answers with a ServerHello for TLS
 * 1.2 or 1.3 and an ECDHE key exchange is good, whatever its certificate. An alert, or anything else, is not.
 * Keeps the one message that it reads. Any thread.
 */
#ifndef WEIR_HEALTH_PROBE_HELLO_H
#define WEIR_HEALTH_PROBE_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/balance/probe_view.h"
#include "probe_answer.h"

/* Enough for the longest name and the longest list of protocols. */
#define PROBE_HELLO_ROOM 768
/* A ServerHello that answers ours has about 130 bytes. */
#define PROBE_HELLO_ANSWER_MAX 512
#define PROBE_HELLO_RANDOM 32

struct probe_hello {
	enum probe_answer answer; /* final once it is not MORE */
	uint8_t session[PROBE_HELLO_RANDOM]; /* the session id that was sent */
	uint8_t header[5];  /* of the record */
	size_t header_len;
	size_t record_left; /* bytes of it still to come */
	size_t message_len;
	uint8_t message[PROBE_HELLO_ANSWER_MAX];
	char detail[PROBE_DETAIL_MAX]; /* of the final answer; printable */
};

/* What is asked; both are borrowed, and may be NULL. */
struct probe_hello_question {
	const char *name; /* not an address */
	const char *alpn; /* "h2,http/1.1" */
};

/* Before any input. */
void probe_hello_init(struct probe_hello *h);
/* Writes a ClientHello and returns its length. */
size_t probe_hello_make(struct probe_hello *h, const struct probe_hello_question *q,
			uint8_t out[PROBE_HELLO_ROOM]);
/* Takes more input. What follows a final answer does not matter. */
enum probe_answer probe_hello_push(struct probe_hello *h, const uint8_t *data, size_t len);
/* No more input will come or is wanted. Never returns PROBE_ANSWER_MORE. */
enum probe_answer probe_hello_end(struct probe_hello *h);

#endif
