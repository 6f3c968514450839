/* SPDX-License-Identifier: MIT
 *
 * diag.h - what is wrong with a configuration: collected, sorted, printed with a caret.
 *
 * Collects everything from reading and from cross-checking, so that one run shows every mistake.
 * Prints at most DIAG_SHOWN_MAX errors and counts the rest. Main thread.
 */
#ifndef WEIR_CONFIG_DIAG_H
#define WEIR_CONFIG_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "weir/config/arena.h"
#include "weir/config/source.h"

#define DIAG_SHOWN_MAX 20

enum diag_level { DIAG_ERROR, DIAG_WARNING };

/* What kind of message it is: a stable word of --format=json. */
enum diag_code {
#define DIAG_CODE(name, word) DIAG_##name,
#include "weir/config/diag_codes.tbl.h"
#undef DIAG_CODE
	DIAG_CODES
};

struct diag_item {
	enum diag_level level;
	enum diag_code code;
	struct at at;
	const char *text;
	const char *hint; /* beside the caret; NULL = none */
	size_t order;	  /* of reporting: keeps the sort stable */
};

struct diag {
	struct arena *arena; /* borrows, for its lifetime */
	struct diag_item *items;
	size_t count;
	unsigned errors;
	unsigned warnings;
};

/* What a summary counts. */
struct diag_counts {
	size_t frontends;
	size_t backends;
	size_t servers;
	unsigned includes;
};

void diag_error(struct diag *d, enum diag_code code, struct at at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void diag_warning(struct diag *d, enum diag_code code, struct at at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* What to do about the message that was reported last. */
void diag_hint(struct diag *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "line 9", or "line 9 of other.ini" when `there` lies in another source than `here`. */
const char *diag_where(struct diag *d, struct at here, struct at there);
/* "no-unit" for DIAG_NO_UNIT. */
const char *diag_code_word(enum diag_code code);
/* "error" or "warning". */
const char *diag_level_word(enum diag_level level);
/* Puts the messages in the order of their places. */
void diag_sort(struct diag *d);
/* Prints all, by place, at most DIAG_SHOWN_MAX of each level. */
void diag_print(struct diag *d, FILE *out, bool colour);
/* Prints all as one JSON object; `counts` (or NULL) is part of it. In diag_json.c. */
void diag_print_json(struct diag *d, const char *file, const struct diag_counts *counts, FILE *out);

#endif
