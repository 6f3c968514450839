/* SPDX-License-Identifier: MIT
 *
 * admin_errors.h - the last failures of all workers, the oldest first, for the answers that show them.
 *
 * Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_ERRORS_H
#define WEIR_ADMIN_ADMIN_ERRORS_H

#include <stddef.h>

#include "weir/admin/admin_answers.h"

/* Which failures; NULL = any. */
struct errors_filter {
	const char *proxy;   /* the frontend or the backend */
	const char *backend;
	const char *server;
};

/* Appends the last `max` of them: a line each, or an item each. Without memory, the answer fails. */
void admin_add_errors(const struct admin_call *c, const struct errors_filter *filter, size_t max);

#endif
