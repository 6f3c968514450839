/* SPDX-License-Identifier: MIT
 *
 * probe_http.h - the response to an HTTP health check, parsed incrementally.
 *
 * Understands only as much HTTP/1 as a check needs: the status, the end of the header and, to find a string
 * in the body, where the body ends (RFC 9112: Content-Length, chunks, or the end of the connection). Skips
 * interim responses (1xx). Keeps one line of the header and nothing of the body. Any thread.
 */
#ifndef WEIR_HEALTH_PROBE_HTTP_H
#define WEIR_HEALTH_PROBE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe_match.h"

struct config_check;

/* Only this much of a header line is examined. */
#define PROBE_HTTP_LINE 256

enum probe_http_verdict {
	PROBE_HTTP_MORE,       /* not known yet */
	PROBE_HTTP_GOOD,
	PROBE_HTTP_SOFT_STOP,  /* the status by which a server asks to be drained */
	PROBE_HTTP_BAD_STATUS, /* a response with an unwanted status */
	PROBE_HTTP_NOT_FOUND,  /* the body lacks the wanted string */
	PROBE_HTTP_BROKEN,     /* not HTTP, or cut short; see `why` */
};

enum probe_http_part {
	PROBE_HTTP_PART_STATUS_LINE,
	PROBE_HTTP_PART_HEAD,
	PROBE_HTTP_PART_BODY, /* `left` bytes, or until the connection ends */
	PROBE_HTTP_PART_CHUNK_SIZE,
	PROBE_HTTP_PART_CHUNK,
	PROBE_HTTP_PART_CHUNK_END,
};

struct probe_http {
	const struct config_check *config; /* borrows */
	struct probe_match match;          /* for config->body, if set */
	enum probe_http_part part;
	enum probe_http_verdict verdict; /* final once it is not MORE */
	unsigned status;                 /* 0 = none yet */
	bool chunked;
	bool sized;         /* a Content-Length was received */
	uint64_t left;      /* bytes left in the body or chunk */
	const char *why;    /* static: what is wrong */
	size_t line_len;    /* may exceed what is kept */
	char line[PROBE_HTTP_LINE];
};

/* 0, or -ENOMEM with nothing to free. */
int probe_http_init(struct probe_http *h, const struct config_check *config);
void probe_http_free(struct probe_http *h);
/* Back to the state before any input. */
void probe_http_reset(struct probe_http *h);
enum probe_http_verdict probe_http_push(struct probe_http *h, const uint8_t *data, size_t len);
/* No more input will come or is wanted. Never returns PROBE_HTTP_MORE. */
enum probe_http_verdict probe_http_end(struct probe_http *h);

#endif
