/* SPDX-License-Identifier: MIT
 *
 * entries_standin.h - the sockets of a transaction as they are today: each listens at once.
 *
 * Control thread.
 */
#ifndef WEIR_SRC_RELOAD_ENTRIES_STANDIN_H
#define WEIR_SRC_RELOAD_ENTRIES_STANDIN_H

#include "weir/entry/entries.h"

static inline void entries_begin(struct entries *e)
{
	(void)e;
}

static inline int entries_listen(struct entries *e, struct endpoint **failed)
{
	(void)e;
	(void)failed;
	return 0;
}

static inline void entries_end(struct entries *e)
{
	(void)e;
}

static inline struct endpoint *endpoint_for(struct entries *e, struct frontend *fe,
					    const struct entry_change *change, const struct config_bind *b,
					    const struct endpoint *from, struct entry_error *error)
{
	(void)from;
	return change != NULL ? entries_prepare_endpoint_of(e, change, b, error)
			      : entries_prepare_endpoint(e, fe, b, error);
}

#define entries_prepare_endpoint endpoint_for

#endif
