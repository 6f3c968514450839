/* SPDX-License-Identifier: MIT
 *
 * log_format.c - a log format: text with named fields in braces, "{client} {server} {bytes_in}".
 *
 * Refuses control bytes and bytes above 126, so a line stays one line of ASCII. Any thread.
 */
#include "weir/config/log_format.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "weir/base/check.h"

static const char *const words[LOG_NAMES] = {
#define LOG_NAME(name, word, what) [LOG_NAME_##name] = word,
#include "weir/config/log_names.tbl.h"
#undef LOG_NAME
};

static_assert(LOG_FORMAT_MAX <= UINT16_MAX, "a place in a format fits into a piece");
static_assert(sizeof(LOG_FORMAT_TCPLOG) <= LOG_FORMAT_MAX, "our own format is short enough");

const char *log_name_word(enum log_name name)
{
	check(name < LOG_NAMES);
	return words[name];
}

enum log_name log_name_of(const char *word, size_t len)
{
	for (enum log_name i = 0; i < LOG_NAMES; i++)
		if (strlen(words[i]) == len && memcmp(words[i], word, len) == 0)
			return i;
	return LOG_NAME_NONE;
}

static int fault_at(struct log_format_fault *fault, size_t at, size_t len, const char *why)
{
	*fault = (struct log_format_fault){.at = at, .len = len, .is_name = why == NULL, .why = why};
	return -EINVAL;
}

static int add_piece(struct log_format *f, struct log_piece piece, struct log_format_fault *fault)
{
	if (f->count == LOG_FORMAT_PIECES)
		return fault_at(fault, piece.start, piece.len, "a format has at most 128 fields and texts");
	f->pieces[f->count++] = piece;
	return 0;
}

static bool needs_counts(enum log_name name)
{
	return name == LOG_NAME_HA_PROCESS || name == LOG_NAME_HA_FRONTEND_COUNT ||
	       name == LOG_NAME_HA_BACKEND_COUNT || name == LOG_NAME_HA_SERVER_COUNT;
}

/* The field whose brace is at `*at`, which then is behind it. */
static int take_field(struct log_format *f, size_t *at, struct log_format_fault *fault)
{
	const char *word = f->text + *at + 1;
	const size_t len = strcspn(word, "{}");
	const struct log_piece piece = {(uint16_t)log_name_of(word, len), (uint16_t)*at, (uint16_t)(len + 2)};

	if (word[len] != '}')
		return fault_at(fault, *at, 1, "this brace is never closed; write {{ for a brace");
	if (len == 0)
		return fault_at(fault, *at, 2, "these braces are empty");
	if (piece.name == LOG_NAME_NONE)
		return fault_at(fault, *at + 1, len, NULL);
	f->counts = f->counts || needs_counts((enum log_name)piece.name);
	*at += len + 2;
	return add_piece(f, piece, fault);
}

/* The text at `*at`, which then is behind it. Of a double brace, the first one is the text. */
static int take_text(struct log_format *f, size_t *at, struct log_format_fault *fault)
{
	const char *from = f->text + *at;
	const bool is_brace = *from == '{' || *from == '}';
	const size_t len = is_brace ? 1 : strcspn(from, "{}");
	const struct log_piece piece = {LOG_NAME_NONE, (uint16_t)*at, (uint16_t)len};

	if (is_brace && from[1] != from[0])
		return fault_at(fault, *at, 1, "this brace was not opened; write }} for a brace");
	for (size_t i = 0; i < len; i++)
		if (from[i] < ' ' || from[i] > '~')
			return fault_at(fault, *at + i, 1, "a format has only printable ASCII characters");
	*at += is_brace ? 2 : len;
	return add_piece(f, piece, fault);
}

int log_format_parse(struct log_format *f, const char *text, struct log_format_fault *fault)
{
	size_t at = 0;
	int err = 0;

	memset(f, 0, sizeof(*f));
	f->text = text;
	if (strlen(text) > LOG_FORMAT_MAX)
		return fault_at(fault, 0, strlen(text), "a format has at most 511 bytes");
	while (err == 0 && text[at] != '\0') {
		const bool is_field = text[at] == '{' && text[at + 1] != '{';

		err = is_field ? take_field(f, &at, fault) : take_text(f, &at, fault);
	}
	return err;
}

enum log_style log_format_style(const char *value, const char **text)
{
	*text = NULL;
	if (value == NULL || strcmp(value, "text") == 0)
		return LOG_STYLE_TEXT;
	if (strcmp(value, "json") == 0)
		return LOG_STYLE_JSON;
	*text = strcmp(value, "tcplog") == 0 ? LOG_FORMAT_TCPLOG : value;
	return LOG_STYLE_TEXT;
}
