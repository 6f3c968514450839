/* SPDX-License-Identifier: MIT
 *
 * haproxy.h - reads a HAProxy configuration and converts it. Main thread.
 *
 * What is read is from the manual of HAProxy 2.6, and where that is silent, what HAProxy 2.6 itself does.
 */
#ifndef WEIR_HAPROXY_HAPROXY_H
#define WEIR_HAPROXY_HAPROXY_H

#include "weir/draft/work.h"

/* Reads HAProxy's files and folders (their *.cfg, sorted bytewise, as haproxy does) one after the other.
 * False after an error. */
bool haproxy_read(struct old_reading *r, const char *const *paths, size_t count);
/* Does the line begin a section of HAProxy's? */
bool haproxy_begins_section(const struct old_line *line);
/* The words of one line of HAProxy's, without its comment: as many as fit in `max`. Returns how many, or -1
 * with `*error`. `*comment` is where the comment begins, or NULL. Variables stay as ${NAME}. */
int haproxy_words(struct arena *a, const char *text, const char **words, size_t max, const char **comment,
		  const char **error);
/* HAProxy's .if: 1 true, 0 false, -1 it depends on what is not known here. */
int haproxy_condition(struct arena *a, char *const *environment, const char *text);

/* Converts what was read. */
void haproxy_convert(struct work *w);

#endif
