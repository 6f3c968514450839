/* SPDX-License-Identifier: MIT
 *
 * reader.h - splits the lines of a source with libinih, wrapped in a reader of our own.
 *
 * The only part of the program that uses libinih. Syntax only: the meaning of a key does not matter here.
 * Main thread.
 */
#ifndef WEIR_CONFIG_READER_H
#define WEIR_CONFIG_READER_H

#include "weir/config/document.h"

#define READER_LINE_MAX 4096
/* The longest key as written, including its name. */
#define READER_KEY_MAX 120

/* Adds the sections and lines of `source` to `doc`, and reports every line that is neither. */
void reader_read(struct document *doc, const struct source *source);
/* The length of `text` without its comment and the blanks before that: '#' and ';' begin a comment at the
 * start of a line or after a blank, outside quotes and variables. */
size_t reader_content_len(const char *text, size_t len);

#endif
