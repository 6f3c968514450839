/* SPDX-License-Identifier: MIT
 *
 * check_http.h - the answer to an HTTP health check, read in any pieces.
 *
 * Wants no more of HTTP/1 than a check needs: the status, the end of the head, and for a string in the body
 * where the body ends (RFC 9112: Content-Length, chunks, or the end of the connection). Interim answers
 * (1xx) are passed over. Keeps a line of the head and no byte of the body. Any thread.
 */
#ifndef WEIR_HEALTH_CHECK_HTTP_H
#define WEIR_HEALTH_CHECK_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "check_match.h"

struct config_check;

/* Of a longer line of the head only the start is looked at. */
#define CHECK_HTTP_LINE 256

enum check_http_verdict {
	CHECK_HTTP_MORE,       /* not known yet */
	CHECK_HTTP_GOOD,
	CHECK_HTTP_BAD_STATUS, /* an answer, with another status than wanted */
	CHECK_HTTP_NOT_FOUND,  /* the body has not the wanted string */
	CHECK_HTTP_BROKEN,     /* no HTTP answer, or a part of one; `why` says it */
};

enum check_http_part {
	CHECK_HTTP_STATUS_LINE,
	CHECK_HTTP_HEAD,
	CHECK_HTTP_BODY, /* `left` bytes of it, or to the end of the connection */
	CHECK_HTTP_CHUNK_SIZE,
	CHECK_HTTP_CHUNK,
	CHECK_HTTP_CHUNK_END,
};

struct check_http {
	const struct config_check *config; /* borrows */
	struct check_match match;          /* of config->body, when there is one */
	enum check_http_part part;
	enum check_http_verdict verdict; /* the first that is not MORE stays */
	unsigned status;                 /* 0 = none yet */
	bool chunked;
	bool sized;         /* there was a Content-Length */
	uint64_t left;      /* of the body or of the chunk */
	const char *why;    /* static: what is broken */
	size_t line_len;    /* may be more than is kept */
	char line[CHECK_HTTP_LINE];
};

/* 0 or -ENOMEM, with nothing to be freed. */
int check_http_init(struct check_http *h, const struct config_check *config);
void check_http_free(struct check_http *h);
/* As if nothing had come. */
void check_http_reset(struct check_http *h);
enum check_http_verdict check_http_push(struct check_http *h, const uint8_t *data, size_t len);
/* No more will come, or no more is wanted: never CHECK_HTTP_MORE. */
enum check_http_verdict check_http_end(struct check_http *h);

#endif
