/* SPDX-License-Identifier: MIT
 *
 * acl.h - the terms of HAProxy's conditions, one by one. Main thread.
 */
#ifndef WEIR_SRC_HAPROXY_ACL_H
#define WEIR_SRC_HAPROXY_ACL_H

#include "sections.h"

/* The term for a criterion with its flags and values; `acl` is the line that has it, or NULL. */
struct term *haproxy_term(struct haproxy *h, const struct proxy *p, const char *const *words, size_t count,
			  struct old_line *acl);
/* Takes HAProxy's own name of a condition, such as LOCALHOST. False: it is none. */
bool haproxy_predefined(const char *name, struct term *t);
/* Why weir refuses a file of networks; NULL: it takes all entries, or the file is not here. */
const char *haproxy_network_file_refused(struct haproxy *h, const char *path);

/* Adds the names of a file that weir does not take as it is: none with `whole` names, unless it has patterns
 * of weir's. False: it is taken as it is, or cannot be read. */
bool haproxy_take_names(struct haproxy *h, const char *path, bool whole, struct work_list *names);
/* An address or a network in our words; the text itself if it is neither. */
const char *haproxy_network(struct arena *a, const char *text);

#endif
