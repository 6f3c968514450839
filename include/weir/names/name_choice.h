/* SPDX-License-Identifier: MIT
 *
 * name_choice.h - which of the addresses of a name is used: IPv4 comes first, and then what the answer has
 * first; an address in use stays while the name has it.
 *
 * Pure. Any thread.
 */
#ifndef WEIR_NAMES_NAME_CHOICE_H
#define WEIR_NAMES_NAME_CHOICE_H

#include "weir/names/name_watch.h"

/* The best of the list (name_answered) below `than`, which is of it too; NULL = the best of all. NULL if
 * there is none. */
const struct name_address *name_choice_next(const struct name_address *list, size_t count,
					    const struct name_address *than);
/* The address to use, of a list that is not empty: `now` itself (NULL = none) if the name has it, else the
 * best of the list. */
const struct addr *name_choice_of(const struct name_address *list, size_t count, const struct addr *now);

#endif
