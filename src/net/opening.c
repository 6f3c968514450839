/* SPDX-License-Identifier: MIT
 *
 * opening.c - does a client begin as HTTP or SSH does?
 *
 * RFC 9112, 3 (request line), RFC 4253, 4.2 (identification). Owns nothing. Any thread.
 */
#include "weir/net/opening.h"

#include <stdbool.h>
#include <string.h>

#include "weir/base/check.h"

enum step { STEP_METHOD, STEP_TARGET_FIRST, STEP_TARGET, STEP_VERSION };

static const char ssh[] = "SSH-", version[] = "HTTP/";

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static enum opening read_method(struct opening_reader *r, const uint8_t *bytes)
{
	const uint8_t c = bytes[r->at];

	if (c == ' ' && r->method > 0) {
		r->step = STEP_TARGET_FIRST;
		return OPENING_MORE;
	}
	if (is_digit(c) && r->at == sizeof(ssh) - 1 && memcmp(bytes, ssh, sizeof(ssh) - 1) == 0)
		return OPENING_SSH;
	if (!((c >= 'A' && c <= 'Z') || c == '-' || c == '_') || r->method == OPENING_METHOD_MAX)
		return OPENING_NEITHER;
	r->method++;
	return OPENING_MORE;
}

static enum opening read_target(struct opening_reader *r, uint8_t c)
{
	if (c == ' ' && r->step == STEP_TARGET) {
		r->step = STEP_VERSION;
		r->method = 0;
		return OPENING_MORE;
	}
	r->step = STEP_TARGET;
	return c > ' ' && c != 0x7f ? OPENING_MORE : OPENING_NEITHER;
}

static enum opening read_version(struct opening_reader *r, uint8_t c)
{
	if (r->method == sizeof(version) - 1)
		return is_digit(c) ? OPENING_HTTP : OPENING_NEITHER;
	return c == (uint8_t)version[r->method++] ? OPENING_MORE : OPENING_NEITHER;
}

static enum opening read_byte(struct opening_reader *r, const uint8_t *bytes)
{
	switch ((enum step)r->step) {
	case STEP_METHOD:
		return read_method(r, bytes);
	case STEP_TARGET_FIRST:
	case STEP_TARGET:
		return read_target(r, bytes[r->at]);
	case STEP_VERSION:
		break;
	}
	return read_version(r, bytes[r->at]);
}

enum opening opening_read(struct opening_reader *r, const uint8_t *bytes, size_t len)
{
	enum opening found = OPENING_MORE;

	check(len >= r->at);
	check(len <= UINT16_MAX);
	for (; r->at < len && found == OPENING_MORE; r->at++)
		found = read_byte(r, bytes);
	return found;
}
