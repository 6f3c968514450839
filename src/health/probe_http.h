/* SPDX-License-Identifier: MIT
 *
 * probe_http.h - the answer to an HTTP health check, read in any pieces.
 *
 * Wants no more of HTTP/1 than a check needs: the status, the end of the head, and for a string in the body
 * where the body ends (RFC 9112: Content-Length, chunks, or the end of the connection). Interim answers
 * (1xx) are passed over. Keeps a line of the head and no byte of the body. Any thread.
 */
#ifndef WEIR_HEALTH_PROBE_HTTP_H
#define WEIR_HEALTH_PROBE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe_match.h"

struct config_check;

/* Of a longer line of the head only the start is looked at. */
#define PROBE_HTTP_LINE 256

enum probe_http_verdict {
	PROBE_HTTP_MORE,       /* not known yet */
	PROBE_HTTP_GOOD,
	PROBE_HTTP_BAD_STATUS, /* an answer, with another status than wanted */
	PROBE_HTTP_NOT_FOUND,  /* the body has not the wanted string */
	PROBE_HTTP_BROKEN,     /* no HTTP answer, or a part of one; `why` says it */
};

enum probe_http_part {
	PROBE_HTTP_STATUS_LINE,
	PROBE_HTTP_HEAD,
	PROBE_HTTP_BODY, /* `left` bytes of it, or to the end of the connection */
	PROBE_HTTP_CHUNK_SIZE,
	PROBE_HTTP_CHUNK,
	PROBE_HTTP_CHUNK_END,
};

struct probe_http {
	const struct config_check *config; /* borrows */
	struct probe_match match;          /* of config->body, when there is one */
	enum probe_http_part part;
	enum probe_http_verdict verdict; /* the first that is not MORE stays */
	unsigned status;                 /* 0 = none yet */
	bool chunked;
	bool sized;         /* there was a Content-Length */
	uint64_t left;      /* of the body or of the chunk */
	const char *why;    /* static: what is broken */
	size_t line_len;    /* may be more than is kept */
	char line[PROBE_HTTP_LINE];
};

/* 0 or -ENOMEM, with nothing to be freed. */
int probe_http_init(struct probe_http *h, const struct config_check *config);
void probe_http_free(struct probe_http *h);
/* As if nothing had come. */
void probe_http_reset(struct probe_http *h);
enum probe_http_verdict probe_http_push(struct probe_http *h, const uint8_t *data, size_t len);
/* No more will come, or no more is wanted: never PROBE_HTTP_MORE. */
enum probe_http_verdict probe_http_end(struct probe_http *h);

#endif
