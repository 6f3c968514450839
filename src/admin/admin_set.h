/* SPDX-License-Identifier: MIT
 *
 * admin_set.h - the words of `set server` beyond state and weight.
 *
 * Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_SET_H
#define WEIR_ADMIN_ADMIN_SET_H

#include <stdbool.h>

#include "weir/admin/admin_answers.h"

/* "set server B/S WORD VALUE ...", where `s` is B/S. Answers, unless WORD is not one of these: false. */
bool admin_set_more(const struct admin_call *c, struct server *s);

#endif
