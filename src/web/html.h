/* SPDX-License-Identifier: MIT
 *
 * html.h - text in HTML: nothing that a name or a message contains becomes markup.
 *
 * Writes to a text (text.h), which records whether something did not fit. Allocates nothing itself. Any
 * thread.
 */
#ifndef WEIR_WEB_HTML_H
#define WEIR_WEB_HTML_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/base/text.h"

/* How a number is shown. */
enum html_form {
	HTML_COUNT,   /* "12345", "1.23 M" */
	HTML_TROUBLE, /* the same, of something that is better 0 */
	HTML_BYTES,   /* "1.50 KiB" */
	HTML_TIME,    /* of microseconds: "1.50 ms" */
	HTML_PERCENT, /* "99 %" */
	HTML_AGE,     /* of seconds: html_age() */
};

/* Writes markup, unchanged. */
void html_raw(struct text *out, const char *markup);
/* Writes `value` for an element, or for an attribute in quotes. Bytes outside printable ASCII are written as
 * the four characters \xNN, as in a log line. NULL is empty. */
void html_text(struct text *out, const char *value);
/* Writes `value` as a value in the query of a URL. */
void html_query(struct text *out, const char *value);
/* Writes a number as people read it. */
void html_number(struct text *out, enum html_form form, uint64_t value);
/* Is that shorter than the value, so that a program must be given the value as well? */
bool html_is_rounded(enum html_form form, uint64_t value);
/* Writes a duration with its two largest units: "3 h 20 min". */
void html_age(struct text *out, int64_t seconds);

#endif
