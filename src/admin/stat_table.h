/* SPDX-License-Identifier: MIT
 *
 * stat_table.h - the table of `show stat`, row by row, in each of its forms.
 *
 * The form depends on the question: HAProxy's CSV, its typed lines or its lists of JSON objects, or our JSON,
 * which is an object per row. Main thread.
 */
#ifndef WEIR_ADMIN_STAT_TABLE_H
#define WEIR_ADMIN_STAT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/admin/admin_commands.h"
#include "weir/base/json.h"

enum stat_column {
#define COLUMN(name, tags, type) STAT_##name,
#include "stat_columns.tbl.h"
#undef COLUMN
	STAT_COLUMNS,
	STAT_none = STAT_COLUMNS /* a tally without a column */
};

/* HAProxy's numbers of the types, and their bits in the filter. */
enum stat_type { TYPE_FRONTEND = 0, TYPE_BACKEND = 1, TYPE_SERVER = 2 };

struct stat_cell {
	const char *text; /* borrows; NULL = a number, if it is set */
	uint64_t number;  /* shown as signed: HAProxy has a -1 */
	bool set;
};

struct stat_table {
	const struct admin_question *q; /* borrows */
	struct text *out;               /* borrows */
	struct json json;               /* writes to `out` */
	struct stat_cell row[STAT_COLUMNS];
};

void stat_table_begin(struct stat_table *t, const struct admin_question *q, struct text *out);
void stat_table_end(struct stat_table *t);
/* Texts are borrowed until stat_row_end(). */
void stat_row_begin(struct stat_table *t, const char *proxy, const char *name, enum stat_type type);
/* Writes the row if the question wants it. */
void stat_row_end(struct stat_table *t, size_t iid, size_t sid);
void stat_put_number(struct stat_table *t, enum stat_column column, uint64_t number);
void stat_put_text(struct stat_table *t, enum stat_column column, const char *text);
/* Of the row that has begun: a mask with one bit, 1 << enum stat_type. */
unsigned stat_row_type(const struct stat_table *t);

#endif
