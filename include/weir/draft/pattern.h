/* SPDX-License-Identifier: MIT
 *
 * pattern.h - regular expressions over server names as the names that they stand for. Main thread.
 */
#ifndef WEIR_DRAFT_PATTERN_H
#define WEIR_DRAFT_PATTERN_H

#include "weir/config/arena.h"

/* The names for a regular expression of `product` such as "^(www|api)\.a\.com$", with commas in between:
 * NAME, *.NAME, .NAME or "any"; "" if no name fits. NULL: it stands for others. `*differs` says how the names
 * differ from it, if they do. */
const char *pattern_names(struct arena *a, const char *product, const char *text, const char **differs);

#endif
