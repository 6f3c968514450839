/* SPDX-License-Identifier: MIT
 *
 * objects.h - frontends, backends and servers with their numbers, for metrics and JSON alike.
 *
 * Numbers come from tallies.tbl.h and objects.tbl.h. Main thread.
 */
#ifndef WEIR_WEB_OBJECTS_H
#define WEIR_WEB_OBJECTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/account/tally.h"
#include "weir/web/web.h"
#include "metrics.h"
#include "wish.h"

/* One frontend, backend or server; borrows all. */
struct object {
	enum wish_scope scope;
	const struct frontend *fe; /* SCOPE_FRONTEND */
	const struct backend *b;   /* SCOPE_BACKEND and SCOPE_SERVER */
	const struct server *s;    /* SCOPE_SERVER */
	const struct chunks *sums;   /* a struct tally_sum at each slot */
	const struct tally_sum *sum; /* its own */
	const struct engine *engine;
	bool stopping;    /* the process takes no new clients */
	int64_t started_ns; /* the process; monotonic, as is the next */
	int64_t now_ns;
	int64_t wall_ns; /* the same moment */
};

/* What a walk through the objects gets. */
struct objects {
	const struct web_context *ctx; /* borrows */
	const struct chunks *sums;     /* borrows: a struct tally_sum at each slot */
	bool no_maint;
	bool stopping;
	int64_t now_ns;
	int64_t wall_ns;
	uint32_t ports; /* port_range(), for the page; 0 = unknown */
};

/* One row about objects of a scope. */
struct object_row {
	const char *name;
	enum metric_type type;
	const char *help;
	uint64_t (*value)(const struct object *o);
};

void objects_init(struct objects *all, const struct web_context *ctx, const struct chunks *sums);
/* Calls `use` for each object of this one scope, servers after their backend's others. */
void objects_foreach(const struct objects *all, enum wish_scope scope,
		     void (*use)(void *arg, const struct object *o), void *arg);
/* Row number `i` of objects.tbl.h for this scope; NULL after the last. */
const struct object_row *object_row(enum wish_scope scope, size_t i);
/* The word of a log line for an enum close_reason, written to `word`. */
#define REASON_WORD_MAX 32
const char *object_reason(int reason, char word[static REASON_WORD_MAX]);
/* Writes the labels that name it. */
void objects_put_labels(struct metrics *m, const struct object *o);
/* The value of a row of tallies.tbl.h. A server has its own count of sessions; the tries of a backend are
 * those of its servers. */
uint64_t object_tally(const struct object *o, const struct tally_row *row);
/* Do objects of this scope have the tally? The time of the last session is on the monotonic clock, which
 * means nothing outside: objects.tbl.h has it in Unix time. */
bool object_has_tally(enum wish_scope scope, const struct tally_row *row);

/* For the table. */
static inline uint64_t object_count(const atomic_int *count)
{
	const int now = atomic_load_explicit(count, memory_order_relaxed);

	return now > 0 ? (uint64_t)now : 0;
}
uint64_t object_down_ns(const struct object *o);
bool object_is_accepting(const struct object *o);
enum server_state object_state(const struct object *o);

#endif
