/* SPDX-License-Identifier: MIT
 *
 * log_format.h - a log format: text with named fields in braces, "{client} {server} {bytes_in}".
 *
 * Says which fields there are (log_names.tbl.h) and where they stand in a format; account/session_format.h
 * fills in the values. "{{" and "}}" are braces. Allocates nothing. Any thread.
 */
#ifndef WEIR_CONFIG_LOG_FORMAT_H
#define WEIR_CONFIG_LOG_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base/log.h"

#define LOG_FORMAT_MAX	  511 /* bytes of a format, so that what -T prints fits on a line */
#define LOG_FORMAT_PIECES 128

enum log_name {
#define LOG_NAME(name, word, what) LOG_NAME_##name,
#include "weir/config/log_names.tbl.h"
#undef LOG_NAME
	LOG_NAMES,
	LOG_NAME_NONE = LOG_NAMES /* a piece that is text */
};

/* What HAProxy's 'option tcplog' prints. */
#define LOG_FORMAT_TCPLOG                                                                                    \
	"{%ci}:{%cp} [{%t}] {%ft} {%b}/{%s} {%Tw}/{%Tc}/{%Tt} {%B} {%ts} {%ac}/{%fc}/{%bc}/{%sc}/{%rc} "     \
	"{%sq}/{%bq}"

/* A field, or the bytes of the format from `start` on. */
struct log_piece {
	uint16_t name; /* enum log_name */
	uint16_t start;
	uint16_t len;
};

/* All zero: no format, lines have the words of their style. */
struct log_format {
	const char *text; /* borrows */
	bool counts;      /* a field needs the sessions open at the end: see log_want_counts() */
	size_t count;
	struct log_piece pieces[LOG_FORMAT_PIECES];
};

/* Where a format is wrong. */
struct log_format_fault {
	size_t at;
	size_t len;
	bool is_name;    /* these bytes are a name that no field has */
	const char *why; /* otherwise: a static sentence about them */
};

/* Splits `text`, which is borrowed for as long as `f` is used. 0, or -EINVAL with `*fault` filled. */
int log_format_parse(struct log_format *f, const char *text, struct log_format_fault *fault);
/* What a value of `format=` (NULL = the default) means: the style of lines, and the format of sessions' lines
 * in `*text`, NULL = that of the style. */
enum log_style log_format_style(const char *value, const char **text);
/* The word of a field, static. */
const char *log_name_word(enum log_name name);
/* The field of that word; LOG_NAME_NONE if there is none. */
enum log_name log_name_of(const char *word, size_t len);

#endif
