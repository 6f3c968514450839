/* SPDX-License-Identifier: MIT
 *
 * blame.h - whose doing the end of a session was: the client's, the server's, the network's, or ours.
 *
 * A summary of close_reasons.tbl.h for reports; one row per party in blames.tbl.h. Any thread.
 */
#ifndef WEIR_ACCOUNT_BLAME_H
#define WEIR_ACCOUNT_BLAME_H

#include "weir/account/close_reason.h"
#include "weir/account/limited_by.h"

enum blame {
#define BLAME(name, limit, words, help) BLAME_##name,
#include "weir/account/blames.tbl.h"
#undef BLAME
	BLAMES
};

/* All text is static. */
struct blame_row {
	const char *words;
	const char *help;
	enum limited_by limit; /* of sessions that the same party slowed down; LIMITED_UNKNOWN = none */
};

const struct blame_row *blame_row(enum blame blame);
/* Whose doing is that? */
enum blame blame_of(enum close_reason reason);

#endif
