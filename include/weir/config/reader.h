/* SPDX-License-Identifier: MIT
 *
 * reader.h - the lines of a source, taken apart by libinih behind a reader of our own.
 *
 * The only part of the program that knows libinih. Syntax only: what a key means is not asked
 * here. Main thread.
 */
#ifndef WEIR_CONFIG_READER_H
#define WEIR_CONFIG_READER_H

#include "weir/config/document.h"

#define READER_LINE_MAX 4096
/* Longest key as written, its name included. */
#define READER_KEY_MAX 120

/* Adds the sections and lines of `source` to `doc`, and reports every line that is none. */
void reader_read(struct document *doc, const struct source *source);
/* How long `text` is without its comment and the blanks before that: '#' and ';' begin a comment
 * at the start of a line or after a blank, outside quotes and variables. */
size_t reader_content_len(const char *text, size_t len);

#endif
