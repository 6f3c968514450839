/* SPDX-License-Identifier: MIT
 *
 * text.c - a text that grows, for the answers of the admin socket.
 *
 * Grows by doubling and never past TEXT_BYTES_MAX; never aborts for want of memory. Main thread.
 */
#include "weir/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"

#define TEXT_BYTES_MIN 4096u

void text_init(struct text *t)
{
	memset(t, 0, sizeof(*t));
}

void text_free(struct text *t)
{
	free(t->bytes);
	text_init(t);
}

/* Makes room for `more` bytes and a NUL. */
static bool text_grow(struct text *t, size_t more)
{
	size_t room = t->room != 0 ? t->room : TEXT_BYTES_MIN;
	char *bytes;

	check(t->len <= TEXT_BYTES_MAX);
	if (t->failed)
		return false;
	if (more >= TEXT_BYTES_MAX - t->len) {
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
	if (len == 0 || !text_grow(t, len))
		return;
	memcpy(t->bytes + t->len, bytes, len);
	t->len += len;
	t->bytes[t->len] = '\0';
}

void text_printf(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	check(n >= 0);
	if (!text_grow(t, (size_t)n))
		return;
	va_start(ap, fmt);
	n = vsnprintf(t->bytes + t->len, t->room - t->len, fmt, ap);
	va_end(ap);
	check(n >= 0);
	t->len += (size_t)n;
	check(t->len < t->room);
}
