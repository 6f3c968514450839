/* SPDX-License-Identifier: MIT
 *
 * log_fields.c - text that is safe in a log line, and the members of a JSON log line.
 *
 * Never overruns a buffer and never splits an escape. Any thread.
 */
#include "weir/base/log_fields.h"

#include <stdarg.h>
#include <string.h>

#include "weir/base/check.h"

#define MARK_LEN (sizeof(LOG_CUT_MARK) - 1)
#define BYTE_MAX JSON_BYTE_MAX

/* Writes `c` for text form: as \xNN if it could end the line or hide what follows. */
static size_t escape_text(unsigned char c, char out[static BYTE_MAX])
{
	static const char digits[] = "0123456789abcdef";

	if (c >= ' ' && c <= 126) {
		out[0] = (char)c;
		return 1;
	}
	out[0] = '\\';
	out[1] = 'x';
	out[2] = digits[c >> 4];
	out[3] = digits[c & 15];
	return 4;
}

/* Where a value goes: at most `room` bytes, no NUL. */
struct place {
	char *out;
	size_t room;
	bool json; /* inside the quotes of a JSON string */
};

/* Returns how many bytes were written; text that does not fit is cut with a mark, for which there is room. */
static size_t put_text(const char *in, size_t len, const struct place *to)
{
	char one[BYTE_MAX];
	size_t fits = 0; /* where the mark would go */
	size_t used = 0;

	check(to->room >= MARK_LEN);
	for (size_t i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)in[i];
		size_t n = 1;

		if (json_is_plain(c))
			one[0] = in[i];
		else
			n = to->json ? json_escape(c, JSON_HEX, one) : escape_text(c, one);
		if (used + n > to->room) {
			memcpy(to->out + fits, LOG_CUT_MARK, MARK_LEN);
			return fits + MARK_LEN;
		}
		for (size_t k = 0; k < n; k++)
			to->out[used++] = one[k];
		if (used + MARK_LEN <= to->room)
			fits = used;
	}
	return used;
}

size_t log_plain(const char *in, size_t len, char *out, size_t room)
{
	const struct place to = {.out = out, .room = room - 1};
	size_t n;

	check(room > MARK_LEN);
	n = put_text(in, len, &to);
	out[n] = '\0';
	return n;
}

void log_fields_init(struct log_fields *f, char *out, size_t room)
{
	text_over(&f->text, out, room);
	json_init(&f->json, &f->text, JSON_HEX);
}

/* Drops a member that does not fit. */
static void go_back(struct log_fields *f, size_t len)
{
	f->text.len = len;
	f->text.bytes[len] = '\0';
	f->text.failed = false;
	f->json.more = len > 0;
	f->json.keyed = false;
}

void log_fields_bytes(struct log_fields *f, const char *key, const char *value, size_t len)
{
	const size_t before = f->text.len;
	struct place to = {.json = true};

	json_key(&f->json, key, strlen(key));
	/* Plus two quotes and the NUL. */
	if (f->text.failed || f->text.room - f->text.len < MARK_LEN + 3) {
		go_back(f, before);
		return;
	}
	to.out = f->text.bytes + f->text.len + 1;
	to.room = f->text.room - f->text.len - 3;
	json_printf(&f->json, NULL, "\"");
	f->text.len += put_text(value, len, &to);
	text_add(&f->text, "\"", 1);
	check(!f->text.failed);
}

void log_fields_text(struct log_fields *f, const char *key, const char *value)
{
	log_fields_bytes(f, key, value, strlen(value));
}

void log_fields_number(struct log_fields *f, const char *key, const char *fmt, ...)
{
	const size_t before = f->text.len;
	va_list ap;

	va_start(ap, fmt);
	json_vprintf(&f->json, key, fmt, ap);
	va_end(ap);
	if (f->text.failed)
		go_back(f, before);
}
