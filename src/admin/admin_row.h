/* SPDX-License-Identifier: MIT
 *
 * admin_row.h - the rows of commands.tbl.h, and texts made of them: lists, and what is similar.
 *
 * Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_ROW_H
#define WEIR_ADMIN_ADMIN_ROW_H

#include <stddef.h>

#include "weir/admin/admin_answers.h"
#include "admin_words.h"

/* How an answer becomes JSON. */
enum admin_json { ADMIN_JSON_NEVER, ADMIN_JSON_OF_LINES, ADMIN_JSON_OWN };

enum admin_owner { ADMIN_OF_HAPROXY, ADMIN_OF_WEIR };

struct admin_row {
	const char *words;
	const char *more; /* arguments, for people */
	const char *help;
	enum admin_owner whose;
	enum admin_verdict verdict;
	enum config_admin_level level;            /* that it requires */
	void (*run)(const struct admin_call *c); /* for ADMIN_ANSWERED */
	enum admin_json json;
	unsigned min_args;
	unsigned max_args;
};

/* Row number `i`; NULL after the last. */
const struct admin_row *admin_row(size_t i);
/* Refuses a command that no row begins: names what is similar, or lists what there is. */
void admin_refuse_unknown(const struct admin_call *c, const struct admin_words *w);
/* Refuses the arguments of a command: shows its forms. */
void admin_refuse_form(const struct admin_call *c, const struct admin_row *row);
void admin_refuse_level(const struct admin_call *c, const struct admin_row *row);

#endif
