/* SPDX-License-Identifier: MIT
 *
 * words.h - splits a value into words: removes quotes, expands variables, keeps columns.
 *
 * White space separates words; '...' is literal, "..." still expands variables. ${VAR}, ${VAR:-default} and
 * ${VAR:?message} are read from the environment that diag.h names. Every byte of a word has its column in the
 * source, so a message points at the exact place. One thread at a time.
 */
#ifndef WEIR_CONFIG_WORDS_H
#define WEIR_CONFIG_WORDS_H

#include <stddef.h>

#include "weir/config/diag.h"
#include "weir/config/source.h"

struct word {
	const char *text;
	size_t len;
	const unsigned *cols; /* one per byte, and the column after the last */
	struct at at;	      /* the whole word as written */
};

struct words {
	struct word *list;
	size_t count;
};

/* Splits `value`, which begins at `at`. Returns 0, or -EINVAL after reporting. */
int words_split(struct diag *d, struct at at, const char *value, struct words *out);
/* The part of a word from `offset` on, `len` bytes of it at most. */
struct word word_part(struct diag *d, const struct word *w, size_t offset, size_t len);
/* Joins `left`, `between` (no longer than the gap in the source) and `right` (or NULL) to one word. */
struct word word_joined(struct arena *a, const struct word *left, const char *between,
			const struct word *right);
/* The place of byte `offset` of a word. */
struct at word_at(const struct word *w, size_t offset);
/* How many bytes of `text` form a variable, in which no comment begins: 0 unless `text` begins with "${",
 * then up to and including its '}' (or the end of the text). */
size_t words_variable_len(const char *text);
/* 2 when `text` begins with \" or \\, else 0: between double quotes these do not end the quotes. Of the
 * first only the '"' is kept. */
size_t words_escape_len(const char *text);
/* Writes `text`, quoted if necessary, so that it reads back as one word. */
void words_print_quoted(const char *text, FILE *out);

#endif
