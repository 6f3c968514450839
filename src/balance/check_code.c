/* SPDX-License-Identifier: MIT
 *
 * check_code.c - the results of checks in HAProxy's words.
 *
 * A table, made from check_codes.tbl.h. Any thread.
 */
#include "weir/balance/check_view.h"
#include "weir/base/check.h"

static const struct row {
	const char *word;
	const char *text;
	unsigned number;
	enum check_outcome outcome;
} rows[CHECK_CODES] = {
#define CHECK_CODE(id, code, number, result, meaning) [CHECK_##id] = {code, meaning, number, result},
#include "weir/balance/check_codes.tbl.h"
#undef CHECK_CODE
};

static const struct row *row_of(enum check_code code)
{
	check(code < CHECK_CODES);
	return &rows[code];
}

const char *check_code_word(enum check_code code)
{
	return row_of(code)->word;
}

const char *check_code_text(enum check_code code)
{
	return row_of(code)->text;
}

unsigned check_code_number(enum check_code code)
{
	return row_of(code)->number;
}

enum check_outcome check_code_outcome(enum check_code code)
{
	return row_of(code)->outcome;
}
