/* SPDX-License-Identifier: MIT
 *
 * probe_http.c - the response to an HTTP health check, parsed incrementally.
 *
 * A state machine that takes the header line by line and the body in runs. Never trusts the server: a
 * malformed number makes the response broken. Any thread.
 */
#include "probe_http.h"

#include <string.h>
#include <strings.h>

#include "weir/base/check.h"
#include "weir/base/digit.h"
#include "weir/config/config.h"

#define VERSION_START "HTTP/1."
/* This many digits cannot overflow 64 bits. */
#define DIGITS_MAX 15

int probe_http_init(struct probe_http *h, const struct config_check *config)
{
	const char *body = config->body;

	memset(h, 0, sizeof(*h));
	h->config = config;
	return body != NULL ? probe_match_init(&h->match, (const uint8_t *)body, strlen(body)) : 0;
}

void probe_http_free(struct probe_http *h)
{
	probe_match_free(&h->match);
}

void probe_http_reset(struct probe_http *h)
{
	probe_match_reset(&h->match);
	h->part = PROBE_HTTP_PART_STATUS_LINE;
	h->verdict = PROBE_HTTP_MORE;
	h->status = 0;
	h->chunked = false;
	h->sized = false;
	h->left = 0;
	h->why = NULL;
	h->line_len = 0;
}

static void broken(struct probe_http *h, const char *why)
{
	h->verdict = PROBE_HTTP_BROKEN;
	h->why = why;
}

/* ---- the header ---- */

/* The value of a digit in a base up to 16; 99 if it is not a digit. */
static unsigned digit_value(char c)
{
	if (is_digit(c))
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (unsigned)(c - 'A') + 10;
	return 99;
}

/* Parses the number at the start of `text`. Returns how many digits it has, 0 if there are none or too
 * many. */
static size_t read_digits(const char *text, unsigned base, uint64_t *out)
{
	size_t n = 0;

	*out = 0;
	while (digit_value(text[n]) < base) {
		if (n == DIGITS_MAX)
			return 0;
		*out = *out * base + digit_value(text[n]);
		n++;
	}
	return n;
}

static void take_status_line(struct probe_http *h)
{
	/* "HTTP/1.1 200 OK"; some servers omit the reason and the space before it. */
	const char *rest = h->line + strlen(VERSION_START);
	uint64_t status;

	if (strncmp(h->line, VERSION_START, strlen(VERSION_START)) != 0 || !is_digit(rest[0]) ||
	    rest[1] != ' ' || read_digits(rest + 2, 10, &status) != 3 || status < 100 ||
	    (rest[5] != '\0' && rest[5] != ' ')) {
		broken(h, "the answer is not HTTP");
		return;
	}
	h->status = (unsigned)status;
	h->part = PROBE_HTTP_PART_HEAD;
}

static const char *skip_space(const char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

/* The value if this line is header `name`, else NULL. */
static const char *value_of(const struct probe_http *h, const char *name)
{
	const size_t len = strlen(name);

	if (strncasecmp(h->line, name, len) != 0 || h->line[len] != ':')
		return NULL;
	return skip_space(h->line + len + 1);
}

static void take_field(struct probe_http *h)
{
	const char *value = value_of(h, "Content-Length");
	size_t digits;

	if (value != NULL) {
		digits = read_digits(value, 10, &h->left);
		h->sized = true;
		if (digits == 0 || *skip_space(value + digits) != '\0')
			broken(h, "Content-Length is not a number");
		return;
	}
	value = value_of(h, "Transfer-Encoding");
	if (value != NULL)
		h->chunked = strcasestr(value, "chunked") != NULL;
}

static bool is_status_wanted(const struct probe_http *h)
{
	const struct config_check *c = h->config;

	/* As in HAProxy: a check for a string alone accepts any status. */
	if (c->status_count == 0)
		return c->body != NULL || (h->status >= 200 && h->status <= 399);
	for (size_t i = 0; i < c->status_count; i++)
		if (h->status >= c->statuses[i].first && h->status <= c->statuses[i].last)
			return true;
	return false;
}

/* A response without a body, whatever its header says (RFC 9112, 6.3). */
static bool has_no_body(const struct probe_http *h)
{
	return h->status == 204 || h->status == 304 ||
	       (h->config->method != NULL && strcmp(h->config->method, "HEAD") == 0);
}

static void finish_head(struct probe_http *h)
{
	if (h->status < 200 && h->status != 101) {
		h->status = 0;
		h->chunked = false;
		h->sized = false;
		h->part = PROBE_HTTP_PART_STATUS_LINE;
		return;
	}
	if (h->config->soft_stop != 0 && h->status == h->config->soft_stop) {
		h->verdict = PROBE_HTTP_SOFT_STOP;
	} else if (!is_status_wanted(h)) {
		h->verdict = PROBE_HTTP_BAD_STATUS;
	} else if (h->config->body == NULL || h->match.found) {
		h->verdict = PROBE_HTTP_GOOD;
	} else if (has_no_body(h)) {
		h->verdict = PROBE_HTTP_NOT_FOUND;
	} else if (h->chunked) {
		h->part = PROBE_HTTP_PART_CHUNK_SIZE;
	} else {
		h->part = PROBE_HTTP_PART_BODY;
		if (h->sized && h->left == 0)
			h->verdict = PROBE_HTTP_NOT_FOUND;
	}
}

/* ---- chunks ---- */

static void take_chunk_size(struct probe_http *h)
{
	const size_t digits = read_digits(h->line, 16, &h->left);
	const char *rest = skip_space(h->line + digits);

	if (digits == 0 || (*rest != '\0' && *rest != ';'))
		broken(h, "chunk size is not a number");
	else if (h->left == 0)
		h->verdict = PROBE_HTTP_NOT_FOUND;
	else
		h->part = PROBE_HTTP_PART_CHUNK;
}

/* ---- lines and runs ---- */

static void take_whole_line(struct probe_http *h)
{
	size_t kept = h->line_len < sizeof(h->line) ? h->line_len : sizeof(h->line) - 1;

	if (kept == h->line_len && kept > 0 && h->line[kept - 1] == '\r')
		kept--;
	h->line[kept] = '\0';
	h->line_len = 0;
	switch (h->part) {
	case PROBE_HTTP_PART_STATUS_LINE:
		take_status_line(h);
		break;
	case PROBE_HTTP_PART_HEAD:
		if (kept == 0)
			finish_head(h);
		else
			take_field(h);
		break;
	case PROBE_HTTP_PART_CHUNK_SIZE:
		take_chunk_size(h);
		break;
	case PROBE_HTTP_PART_CHUNK_END:
		if (kept != 0)
			broken(h, "chunk longer than its size");
		h->part = PROBE_HTTP_PART_CHUNK_SIZE;
		break;
	case PROBE_HTTP_PART_BODY:
	case PROBE_HTTP_PART_CHUNK:
		check(false); /* these parts have no lines */
	}
}

static void take_line_byte(struct probe_http *h, char c)
{
	const size_t at = h->line_len;

	if (c == '\n') {
		take_whole_line(h);
		return;
	}
	if (at < sizeof(h->line) - 1)
		h->line[at] = c;
	h->line_len++;
	/* A server with another protocol may never end a line. */
	if (h->part == PROBE_HTTP_PART_STATUS_LINE && at < strlen(VERSION_START) && c != VERSION_START[at])
		broken(h, "the answer is not HTTP");
}

/* Takes bytes of the body; returns how many. */
static size_t take_body(struct probe_http *h, const uint8_t *data, size_t len)
{
	const bool ends = h->part == PROBE_HTTP_PART_CHUNK || h->sized;
	size_t n = ends && h->left < len ? (size_t)h->left : len;

	(void)probe_match_push(&h->match, data, n); /* bytes after the string do not matter */
	if (ends)
		h->left -= n;
	if (h->match.found)
		h->verdict = PROBE_HTTP_GOOD;
	else if (ends && h->left == 0 && h->part == PROBE_HTTP_PART_BODY)
		h->verdict = PROBE_HTTP_NOT_FOUND;
	else if (ends && h->left == 0)
		h->part = PROBE_HTTP_PART_CHUNK_END;
	return n;
}

enum probe_http_verdict probe_http_push(struct probe_http *h, const uint8_t *data, size_t len)
{
	size_t at = 0;

	while (at < len && h->verdict == PROBE_HTTP_MORE) {
		if (h->part == PROBE_HTTP_PART_BODY || h->part == PROBE_HTTP_PART_CHUNK)
			at += take_body(h, data + at, len - at);
		else
			take_line_byte(h, (char)data[at++]);
	}
	return h->verdict;
}

enum probe_http_verdict probe_http_end(struct probe_http *h)
{
	if (h->verdict != PROBE_HTTP_MORE)
		return h->verdict;
	if (h->part == PROBE_HTTP_PART_STATUS_LINE && h->line_len == 0)
		broken(h, "connection closed without an answer");
	else if (h->part == PROBE_HTTP_PART_STATUS_LINE || h->part == PROBE_HTTP_PART_HEAD)
		broken(h, "the answer ends within its header");
	else
		h->verdict = PROBE_HTTP_NOT_FOUND;
	return h->verdict;
}
