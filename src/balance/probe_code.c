/* SPDX-License-Identifier: MIT
 *
 * probe_code.c - the results of health checks in HAProxy's words.
 *
 * A table generated from probe_codes.tbl.h. Any thread.
 */
#include "weir/balance/probe_view.h"
#include "weir/base/check.h"

static const struct row {
	const char *word;
	const char *text;
	unsigned number;
	enum probe_outcome outcome;
} rows[PROBE_CODES] = {
#define PROBE_CODE(id, code, number, result, meaning) [PROBE_##id] = {code, meaning, number, result},
#include "weir/balance/probe_codes.tbl.h"
#undef PROBE_CODE
};

static const struct row *row_of(enum probe_code code)
{
	check(code < PROBE_CODES);
	return &rows[code];
}

const char *probe_code_word(enum probe_code code)
{
	return row_of(code)->word;
}

const char *probe_code_text(enum probe_code code)
{
	return row_of(code)->text;
}

unsigned probe_code_number(enum probe_code code)
{
	return row_of(code)->number;
}

enum probe_outcome probe_code_outcome(enum probe_code code)
{
	return row_of(code)->outcome;
}
