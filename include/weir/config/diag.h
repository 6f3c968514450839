/* SPDX-License-Identifier: MIT
 *
 * diag.h - errors and warnings about a configuration: collected, sorted, printed with a caret.
 *
 * Collects the messages of both reading and validation, so that one run shows every mistake. Prints at most
 * DIAG_SHOWN_MAX errors and counts the rest. Main thread.
 */
#ifndef WEIR_CONFIG_DIAG_H
#define WEIR_CONFIG_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "weir/config/arena.h"
#include "weir/config/source.h"

#define DIAG_SHOWN_MAX 20

struct json;
struct reading_files;

enum diag_level { DIAG_LEVEL_ERROR, DIAG_LEVEL_WARNING };

/* The kind of message: a stable word of --format=json. */
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
	const char *hint; /* printed next to the caret; NULL = none */
	size_t order;	  /* order of reporting, to keep the sort stable */
};

struct diag {
	struct arena *arena; /* borrows, for its lifetime */
	/* Borrows: "NAME=VALUE", then NULL: what ${NAME} stands for. NULL = as the process has it. */
	char *const *environment;
	/* Borrows: where values have their files from (src/settings/reading_files.h); NULL = the disk. */
	struct reading_files *files;
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
	void (*costs)(struct json *j, const void *arg); /* adds members to the object; NULL = none */
	const void *arg;
};

void diag_error(struct diag *d, enum diag_code code, struct at at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void diag_warning(struct diag *d, enum diag_code code, struct at at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Adds what to do about the message reported last. */
void diag_hint(struct diag *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "line 9", or "line 9 of other.ini" when `there` is in another source than `here`. */
const char *diag_where(struct diag *d, struct at here, struct at there);
/* "no-unit" for DIAG_NO_UNIT. */
const char *diag_code_word(enum diag_code code);
/* "error" or "warning". */
const char *diag_level_word(enum diag_level level);
/* Sorts the messages by place. */
void diag_sort(struct diag *d);
/* Prints all messages sorted by place, at most DIAG_SHOWN_MAX of each level. */
void diag_print(struct diag *d, FILE *out, bool colour);
/* Prints all messages as one JSON object; `counts` (or NULL) is part of it. In diag_json.c. */
void diag_print_json(struct diag *d, const char *file, const struct diag_counts *counts, FILE *out);

#endif
