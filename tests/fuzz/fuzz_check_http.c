/* SPDX-License-Identifier: MIT
 *
 * fuzz_check_http.c - any bytes as the answer to an HTTP check, in any pieces, against a slow reader.
 *
 * A libFuzzer target; replay.c runs it over the corpus without one. The input: which check, how the answer is
 * cut, and the answer. The slow reader has all of it at once and knows a line by regular expressions.
 */
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/config.h"
#include "health/probe_http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT(text) ((char *)(uintptr_t)(text))

static struct config_status_range ranges[] = {{200, 204}, {500, 599}};

static const struct config_check checks[] = {
	{.method = TEXT("GET")},
	{.method = TEXT("GET"), .body = TEXT("OK")},
	{.method = TEXT("HEAD"), .body = TEXT("OK")},
	{.method = TEXT("GET"), .statuses = ranges, .status_count = 2},
	{.method = TEXT("GET"), .statuses = ranges, .status_count = 2, .body = TEXT("aab")},
	{.method = TEXT("GET"), .body = TEXT("")},
};

enum line_kind {
	LINE_STATUS,
	LINE_LENGTH,
	LINE_LENGTH_GOOD,
	LINE_CODING,
	LINE_CHUNKED,
	LINE_CHUNK,
	LINE_KINDS
};

static const char *const expressions[LINE_KINDS] = {
	[LINE_STATUS] = "^HTTP/1\\.[0-9] ([1-9][0-9][0-9])( |$)",
	[LINE_LENGTH] = "^content-length:",
	[LINE_LENGTH_GOOD] = "^content-length:[ \t]*([0-9]{1,15})[ \t]*$",
	[LINE_CODING] = "^transfer-encoding:",
	[LINE_CHUNKED] = "^transfer-encoding:.*chunked",
	[LINE_CHUNK] = "^([0-9a-f]{1,15})[ \t]*(;|$)",
};

/* Is `line` of this kind? Its number, of `base`, goes to `*number` unless that is NULL. */
static bool is_kind(enum line_kind kind, const char *line, int base, uint64_t *number)
{
	static regex_t compiled[LINE_KINDS];
	static bool ready[LINE_KINDS];
	regmatch_t groups[2];

	if (!ready[kind])
		check(regcomp(&compiled[kind], expressions[kind],
			      REG_EXTENDED | (kind == LINE_STATUS ? 0 : REG_ICASE)) == 0);
	ready[kind] = true;
	if (regexec(&compiled[kind], line, 2, groups, 0) != 0)
		return false;
	if (number != NULL)
		*number = strtoull(line + groups[1].rm_so, NULL, base);
	return true;
}

struct slow {
	const struct config_check *config;
	const uint8_t *data;
	size_t len;
	size_t at;
	bool ended;
	char line[PROBE_HTTP_LINE];
	bool empty; /* the line */
	uint64_t status;
	uint64_t length;
	bool sized, chunked;
	uint8_t *body;
	size_t body_len;
};

/* The next line, cut as the reader cuts it; false when it is not all there. */
static bool next_line(struct slow *s)
{
	const uint8_t *from = s->data + s->at;
	const uint8_t *end = memchr(from, '\n', s->len - s->at);
	size_t len;

	if (end == NULL)
		return false;
	len = (size_t)(end - from);
	s->at += len + 1;
	if (len > PROBE_HTTP_LINE - 1)
		len = PROBE_HTTP_LINE - 1;
	else if (len > 0 && from[len - 1] == '\r')
		len--;
	memcpy(s->line, from, len);
	s->line[len] = '\0';
	s->empty = len == 0;
	return true;
}

static enum probe_http_verdict slow_status_line(struct slow *s)
{
	static const char start[] = "HTTP/1.";
	const size_t from = s->at, left = s->len - from;
	const size_t there = left < strlen(start) ? left : strlen(start);

	s->sized = false;
	s->chunked = false;
	if (!next_line(s))
		return s->ended || memcmp(s->data + from, start, there) != 0 ? PROBE_HTTP_BROKEN
									     : PROBE_HTTP_MORE;
	return is_kind(LINE_STATUS, s->line, 10, &s->status) ? PROBE_HTTP_GOOD : PROBE_HTTP_BROKEN;
}

static enum probe_http_verdict slow_head(struct slow *s)
{
	while (next_line(s)) {
		if (s->empty)
			return PROBE_HTTP_GOOD;
		if (is_kind(LINE_LENGTH, s->line, 0, NULL)) {
			s->sized = true;
			if (!is_kind(LINE_LENGTH_GOOD, s->line, 10, &s->length))
				return PROBE_HTTP_BROKEN;
		}
		if (is_kind(LINE_CODING, s->line, 0, NULL))
			s->chunked = is_kind(LINE_CHUNKED, s->line, 0, NULL);
	}
	return s->ended ? PROBE_HTTP_BROKEN : PROBE_HTTP_MORE;
}

static bool slow_wants(const struct slow *s)
{
	const struct config_check *c = s->config;
	bool fits = false;

	for (size_t i = 0; i < c->status_count; i++)
		fits = fits || (s->status >= c->statuses[i].first && s->status <= c->statuses[i].last);
	if (c->status_count > 0)
		return fits;
	return c->body != NULL || s->status / 100 == 2 || s->status / 100 == 3;
}

static bool slow_has(const struct slow *s)
{
	return memmem(s->body, s->body_len, s->config->body, strlen(s->config->body)) != NULL;
}

static void add_body(struct slow *s, uint64_t wanted)
{
	const size_t left = s->len - s->at, n = wanted < left ? (size_t)wanted : left;

	memcpy(s->body + s->body_len, s->data + s->at, n);
	s->body_len += n;
	s->at += n;
}

static enum probe_http_verdict slow_chunks(struct slow *s)
{
	while (next_line(s)) {
		uint64_t size;

		if (!is_kind(LINE_CHUNK, s->line, 16, &size))
			return PROBE_HTTP_BROKEN;
		if (size == 0)
			return PROBE_HTTP_NOT_FOUND;
		if (size > s->len - s->at) {
			add_body(s, size);
			return slow_has(s) ? PROBE_HTTP_GOOD : PROBE_HTTP_MORE;
		}
		add_body(s, size);
		if (slow_has(s))
			return PROBE_HTTP_GOOD;
		if (!next_line(s))
			return PROBE_HTTP_MORE;
		if (!s->empty)
			return PROBE_HTTP_BROKEN;
	}
	return PROBE_HTTP_MORE;
}

static enum probe_http_verdict slow_body(struct slow *s)
{
	enum probe_http_verdict v = PROBE_HTTP_MORE;

	if (s->config->body == NULL || s->config->body[0] == '\0')
		return PROBE_HTTP_GOOD;
	if (s->status == 204 || s->status == 304 || strcmp(s->config->method, "HEAD") == 0)
		return PROBE_HTTP_NOT_FOUND;
	if (s->chunked) {
		v = slow_chunks(s);
	} else {
		add_body(s, s->sized ? s->length : UINT64_MAX);
		if (slow_has(s))
			return PROBE_HTTP_GOOD;
		if (s->sized && s->body_len == s->length)
			return PROBE_HTTP_NOT_FOUND;
	}
	return v == PROBE_HTTP_MORE && s->ended ? PROBE_HTTP_NOT_FOUND : v;
}

static enum probe_http_verdict slow_read(struct slow *s)
{
	enum probe_http_verdict v;

	s->at = 0;
	s->body_len = 0;
	do {
		v = slow_status_line(s);
		if (v == PROBE_HTTP_GOOD)
			v = slow_head(s);
		if (v != PROBE_HTTP_GOOD)
			return v;
	} while (s->status < 200 && s->status != 101);
	return slow_wants(s) ? slow_body(s) : PROBE_HTTP_BAD_STATUS;
}

static void compare(struct probe_http *h, struct slow *s, unsigned cuts, unsigned turn)
{
	probe_http_reset(h);
	for (size_t at = 0; at < s->len; turn = turn * 5 + 3) {
		const size_t piece = 1 + turn % (cuts + 1), left = s->len - at;
		const size_t n = piece < left ? piece : left;

		(void)probe_http_push(h, s->data + at, n); /* is asked below */
		at += n;
	}
	s->ended = false;
	check(h->verdict == slow_read(s));
	s->ended = true;
	check(probe_http_end(h) == slow_read(s));
	check(h->verdict != PROBE_HTTP_MORE);
	check((h->verdict == PROBE_HTTP_BROKEN) == (h->why != NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct probe_http h;
	struct slow s;

	if (size < 2)
		return 0;
	memset(&s, 0, sizeof(s));
	s.config = &checks[data[0] % ARRAY_LEN(checks)];
	s.data = data + 2;
	s.len = size - 2;
	s.body = malloc(size);
	check(s.body != NULL);
	check(probe_http_init(&h, s.config) == 0);
	compare(&h, &s, 0, 0);
	compare(&h, &s, data[1], data[1]);
	compare(&h, &s, UINT16_MAX, UINT16_MAX - 1u);
	probe_http_free(&h);
	free(s.body);
	return 0;
}
