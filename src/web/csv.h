/* SPDX-License-Identifier: MIT
 *
 * csv.h - reads HAProxy's table as CSV: fields by row and by the name of their column.
 *
 * Main thread.
 */
#ifndef WEIR_WEB_CSV_H
#define WEIR_WEB_CSV_H

#include <stddef.h>

struct csv {
	char **fields; /* owns the array; borrows the fields; the first row has the names */
	size_t columns;
	size_t rows; /* without the first */
};

#define CSV_NO_COLUMN ((size_t)-1)

/* Splits `bytes` (ends in NUL; changed, and borrowed until csv_free()). The first line, without a leading
 * "# ", has the names. 0; -ENOMEM; -EINVAL: a row has fewer fields than the first. */
int csv_read(struct csv *c, char *bytes);
void csv_free(struct csv *c);
/* The number of the column, or CSV_NO_COLUMN. */
size_t csv_column(const struct csv *c, const char *name);
/* The field; "" for CSV_NO_COLUMN. */
const char *csv_field(const struct csv *c, size_t row, size_t column);

#endif
