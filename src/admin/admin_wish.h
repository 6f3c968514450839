/* SPDX-License-Identifier: MIT
 *
 * admin_wish.h - the words of the commands that are wishes: `reload`, `plan`, `rollback`, `confirm`.
 *
 * Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_WISH_H
#define WEIR_ADMIN_ADMIN_WISH_H

#include <stdbool.h>

#include "weir/admin/admin_answers.h"

/* Is it one of the verdicts with which the caller passes a wish on? */
bool admin_is_wish(enum admin_verdict verdict);
/* Fills in what the command's arguments say; wish->path is the caller's then, to free. False if they are
 * wrong, and there is no path. */
bool admin_read_wish(const struct admin_call *c, enum admin_verdict verdict, struct reload_wish *wish);

#endif
