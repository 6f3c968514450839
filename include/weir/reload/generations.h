/* SPDX-License-Identifier: MIT
 *
 * generations.h - what was in effect: when, by whom, what changed, and the texts to go back to.
 *
 * Remembers the last GENERATIONS_MAX, and the text of GENERATIONS_TEXTS_MAX of them that are not the same.
 * Allocates nothing. Main thread.
 */
#ifndef WEIR_RELOAD_GENERATIONS_H
#define WEIR_RELOAD_GENERATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "weir/base/json.h"
#include "weir/base/text.h"
#include "weir/settings/config_text.h"

#define GENERATIONS_MAX		32
#define GENERATIONS_TEXTS_MAX	10
#define GENERATION_CHANGED_MAX	256 /* a longer description is cut */

/* How it came into effect. */
enum generation_how {
	GENERATION_START,
	GENERATION_RELOAD,   /* by a user */
	GENERATION_SIGNAL,   /* by SIGHUP */
	GENERATION_ROLLBACK, /* by a user; also from a trial */
	GENERATION_RETURN,   /* the one before was not confirmed in time */
};

/* What became of it. */
enum generation_fate {
	GENERATION_IN_EFFECT,
	GENERATION_ON_TRIAL, /* in effect as well */
	GENERATION_REPLACED,
	GENERATION_RETURNED, /* not confirmed in time */
	GENERATION_ROLLED_BACK,
};

struct generation {
	uint64_t number;
	enum generation_how how;
	enum generation_fate fate;
	uid_t uid; /* (uid_t)-1 = unknown, or no user */
	int64_t wall_ns;       /* when it came into effect */
	int64_t until_wall_ns; /* ON_TRIAL */
	uint64_t as;	       /* ROLLBACK and RETURN: the generation whose text it has; else 0 */
	/* Shared: one reference; NULL = not kept (any more). */
	struct config_text *text;
	char changed[GENERATION_CHANGED_MAX]; /* "" = nothing, or unknown */
};

/* All zero = empty. */
struct generations {
	struct generation rows[GENERATIONS_MAX]; /* the oldest first; the last one is in effect */
	size_t count;
};

/* `row` is in effect from now on, and the generation before it has the fate `before`. Takes a reference of
 * its own to row->text; forgets what is too old. */
void generations_add(struct generations *g, const struct generation *row, enum generation_fate before);
/* Drops all texts. */
void generations_free(struct generations *g);
/* The one in effect; not empty. */
struct generation *generations_last(struct generations *g);
/* NULL = not remembered. */
const struct generation *generations_find(const struct generations *g, uint64_t number);
/* Could one go back to `row`? Its text is kept, and differs from that in effect. */
bool generations_can_go(const struct generations *g, const struct generation *row);
/* The last generation before the one in effect whose text is kept and differs from that in effect. NULL =
 * there is none. */
const struct generation *generations_before(const struct generations *g);
/* Appends the numbers of the generations to which one can go back, as "1, 2 and 4"; nothing if there is
 * none. Of those with the same text, it names the last. */
void generations_name_kept(const struct generations *g, struct text *out);
/* Appends a line for each, the oldest first, or an array if `json`, which writes to `out`, is not NULL. */
void generations_show(const struct generations *g, struct text *out, struct json *json);

#endif
