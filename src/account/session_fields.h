/* SPDX-License-Identifier: MIT
 *
 * session_fields.h - how the fields of a live session are written; shared by session_facts.c and
 * session_detail.c.
 *
 * Any thread.
 */
#ifndef WEIR_ACCOUNT_SESSION_FIELDS_H
#define WEIR_ACCOUNT_SESSION_FIELDS_H

#include <stdbool.h>

#include "weir/account/session_facts.h"

/* Where fields are written: as " key=value", as lines "key: value", or as members of an object. */
struct fields {
	struct text *text; /* borrows; NULL = `json` */
	struct json *json; /* borrows */
	bool lines;
};

void fields_put(const struct fields *to, const char *key, const char *value);
/* The value is short. */
void fields_put_as(const struct fields *to, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* What `show sess` prints, in its order. */
void session_fields_put(const struct session_facts *f, const struct fields *to);

#endif
