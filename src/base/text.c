/* SPDX-License-Identifier: MIT
 *
 * text.c - a string that grows, for answers of the admin socket, or that fills a buffer of the caller.
 *
 * Grows by doubling and never past TEXT_BYTES_MAX; never aborts when out of memory. Any thread.
 */
#include "weir/base/text.h"

#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"

#define TEXT_BYTES_MIN 4096u

void text_init(struct text *t)
{
	memset(t, 0, sizeof(*t));
}

void text_over(struct text *t, char *buf, size_t room)
{
	check(room > 0);
	*t = (struct text){.bytes = buf, .room = room, .fixed = true};
	buf[0] = '\0';
}

void text_free(struct text *t)
{
	check(!t->fixed);
	free(t->bytes);
	text_init(t);
}

void text_cut(struct text *t, size_t len)
{
	check(len <= t->len);
	t->len = len;
	if (t->bytes != NULL)
		t->bytes[len] = '\0';
}

/* Makes room for `more` bytes and a NUL. */
static bool text_grow(struct text *t, size_t more)
{
	size_t room = t->room != 0 ? t->room : TEXT_BYTES_MIN;
	char *bytes;

	check(t->len <= TEXT_BYTES_MAX);
	if (t->failed)
		return false;
	if (more >= (t->fixed ? t->room : TEXT_BYTES_MAX) - t->len) {
		t->failed = true;
		return false;
	}
	while (room < t->len + more + 1)
		room *= 2;
	if (room == t->room)
		return true;
	bytes = realloc(t->bytes, room);
	if (bytes == NULL) {
		t->failed = true;
		return false;
	}
	t->bytes = bytes;
	t->room = room;
	return true;
}

void text_add(struct text *t, const char *bytes, size_t len)
{
	if (len == 0 || t->failed)
		return;
	if (len >= t->room - t->len && !text_grow(t, len))
		return;
	memcpy(t->bytes + t->len, bytes, len);
	t->len += len;
	t->bytes[t->len] = '\0';
}

void text_vprintf(struct text *t, const char *fmt, va_list ap)
{
	const size_t left = t->room - t->len;
	va_list again;
	int n;

	if (t->failed)
		return;
	va_copy(again, ap);
	n = vsnprintf(left > 0 ? t->bytes + t->len : NULL, left, fmt, again);
	va_end(again);
	check(n >= 0);
	if ((size_t)n >= left) {
		if (left > 0)
			t->bytes[t->len] = '\0';
		if (!text_grow(t, (size_t)n))
			return;
		n = vsnprintf(t->bytes + t->len, t->room - t->len, fmt, ap);
		check(n >= 0);
	}
	t->len += (size_t)n;
	check(t->len < t->room);
}

void text_printf(struct text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	text_vprintf(t, fmt, ap);
	va_end(ap);
}

void text_print(const struct text *t, FILE *out)
{
	if (!t->failed && t->len > 0)
		(void)fwrite(t->bytes, 1, t->len, out); /* the owner of the stream checks it */
}
