/* SPDX-License-Identifier: MIT
 *
 * variable.h - the variables of a text, such as the target of proxy_pass. Main thread.
 */
#ifndef WEIR_SRC_NGINX_VARIABLE_H
#define WEIR_SRC_NGINX_VARIABLE_H

#include "blocks.h"

#define NGINX_DEPTH_MAX 12 /* variables that a text depends on */

/* One use of a variable in a text. */
struct nginx_variable {
	const char *name;   /* without '$' */
	const char *before; /* the text around it */
	const char *after;
};

/* The first variable at or behind `from`, which is in `text`. */
bool nginx_find_variable(struct arena *a, const char *text, const char *from, struct nginx_variable *v);
/* The text with each variable replaced that has one value only: of set, of a map without a choice, and what
 * all clients of the block have in common. A text that would become very long stays. */
const char *nginx_fold(struct nginx *n, const struct old_line *block, const char *text);
/* Is there a `set $name` for the block? */
bool nginx_is_set(const struct nginx *n, const struct old_line *block, const char *name);
/* The text with every use of `$name` replaced. */
const char *nginx_replace(struct arena *a, const char *text, const char *name, const char *value);
/* The value of an entry "~PATTERN" over the name. "^(.+)$" has all of the name in $1, or in what "(?<...>"
 * calls it: the name comes in its place. */
const char *nginx_whole_group(struct arena *a, const char *pattern, const char *value);
/* The split_clients that makes a variable of the text; NULL: none does. */
struct old_line *nginx_find_split(const struct nginx *n, const char *text);
/* Does the text have a variable of a map or geo? */
bool nginx_has_map(const struct nginx *n, const char *text);

#endif
