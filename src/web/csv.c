/* SPDX-License-Identifier: MIT
 *
 * csv.c - reads HAProxy's table as CSV: fields by row and by the name of their column.
 *
 * Owns the array of fields. Main thread.
 */
#include "csv.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"

static size_t count(const char *text, size_t len, char wanted)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += text[i] == wanted;
	return n;
}

/* Ends the field at `*at` and moves past it. `*last`: it was the last one of its row. */
static char *take_field(char **at, bool *last)
{
	char *field = *at, *from = *at, *to = *at;
	bool quoted = false;

	for (;; from++) {
		if (*from == '"' && (quoted || from == field)) {
			if (quoted && from[1] == '"')
				*to++ = *from++;
			else
				quoted = !quoted;
		} else if (*from == '\0' || (!quoted && (*from == ',' || *from == '\n'))) {
			break;
		} else {
			*to++ = *from;
		}
	}
	*last = *from != ',';
	*at = *from == '\0' ? from : from + 1;
	*to = '\0';
	return field;
}

static int take_row(char **at, char **fields, size_t columns)
{
	bool last = false;
	size_t n = 0;

	while (!last) {
		char *field = take_field(at, &last);

		if (n < columns)
			fields[n++] = field;
	}
	return n == columns ? 0 : -EINVAL;
}

int csv_read(struct csv *c, char *bytes)
{
	const size_t lines = count(bytes, strlen(bytes), '\n') + 1;
	int err = 0;

	*c = (struct csv){0};
	if (strncmp(bytes, "# ", 2) == 0)
		bytes += 2;
	/* The line ends in a comma, behind which there is nothing. */
	c->columns = count(bytes, strcspn(bytes, "\n"), ',');
	c->fields = calloc(lines * (c->columns + 1), sizeof(*c->fields));
	if (c->fields == NULL)
		return -ENOMEM;
	for (size_t line = 0; *bytes != '\0' && !err; line++) {
		check(line < lines);
		err = take_row(&bytes, &c->fields[line * c->columns], c->columns);
		c->rows = line;
	}
	if (err)
		csv_free(c);
	return err;
}

void csv_free(struct csv *c)
{
	free(c->fields);
	*c = (struct csv){0};
}

size_t csv_column(const struct csv *c, const char *name)
{
	for (size_t i = 0; i < c->columns; i++)
		if (strcmp(c->fields[i], name) == 0)
			return i;
	return CSV_NO_COLUMN;
}

const char *csv_field(const struct csv *c, size_t row, size_t column)
{
	check(row < c->rows);
	if (column == CSV_NO_COLUMN)
		return "";
	check(column < c->columns);
	return c->fields[(row + 1) * c->columns + column];
}
