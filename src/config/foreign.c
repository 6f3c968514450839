/* SPDX-License-Identifier: MIT
 *
 * foreign.c - the directives of HAProxy and nginx, and what weir has instead.
 *
 * Owns the rows of foreign.tbl.h. Any thread.
 */
#include "weir/config/foreign.h"

#include "weir/base/check.h"

static const struct foreign rows[] = {
#define FOREIGN(whose, area, state, word, ours, hint)                                                        \
	{FOREIGN_##whose, FOREIGN_##area, FOREIGN_##state, word, ours, hint, NULL},
#define FOREIGN_KNOWN(whose, area, state, word, ours, note)                                                  \
	{FOREIGN_##whose, FOREIGN_##area, FOREIGN_##state, word, ours, NULL, note},
#include "foreign.tbl.h"
#undef FOREIGN
#undef FOREIGN_KNOWN
};

const struct foreign *foreign_rows(size_t *count)
{
	*count = ARRAY_LEN(rows);
	return rows;
}
