/* SPDX-License-Identifier: MIT
 *
 * typed_field.h - a value with what HAProxy's `typed` and `json` forms say about it.
 *
 * Main thread.
 */
#ifndef WEIR_ADMIN_TYPED_FIELD_H
#define WEIR_ADMIN_TYPED_FIELD_H

#include <stdint.h>

#include "weir/base/json.h"
#include "weir/base/text.h"

struct typed_field {
	unsigned pos;     /* HAProxy's number of it */
	const char *name; /* borrows, as do all below */
	/* Three letters: the origin (Metric, Status, Key, Config, Product), the nature (Gauge, Limit, ...)
	 * and the scope (Process or Service) of the value. */
	const char *tags;
	const char *type; /* "u32", "u64", "s32" or "str" */
	const char *text; /* NULL = `number` */
	int64_t number;
};

/* "POS.NAME.1:TAGS:TYPE:VALUE" and a newline; 1 is the number of the process. */
void typed_field_line(const struct typed_field *f, struct text *out);
/* Adds the members "field", "processNum", "tags" and "value" to an object that has begun. */
void typed_field_json(const struct typed_field *f, struct json *out);

#endif
