/* SPDX-License-Identifier: MIT
 *
 * admin_form.h - the commands of the admin protocol as people write them: one form each.
 *
 * Constants only. Any thread.
 */
#ifndef WEIR_ADMIN_ADMIN_FORM_H
#define WEIR_ADMIN_ADMIN_FORM_H

#include <stdbool.h>
#include <stddef.h>

/* All texts are static. */
struct admin_form {
	const char *words; /* begin the command: "set server" */
	const char *more;  /* its arguments: "BACKEND/SERVER weight N|N%"; "[...]" may be left out */
	const char *help;
};

/* Describes form number `i`; false after the last. A command with several forms has them in a row. */
bool admin_form_at(size_t i, struct admin_form *form);

#endif
