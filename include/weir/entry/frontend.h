/* SPDX-License-Identifier: MIT
 *
 * frontend.h - a frontend at run time: how many clients it has, and its settings.
 *
 * Made, changed and freed by control. Its counts are atomics, touched once per connection. Its settings are
 * immutable versions: workers find them through an endpoint's (endpoint.h), never here.
 */
#ifndef WEIR_ENTRY_FRONTEND_H
#define WEIR_ENTRY_FRONTEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/base/list.h"
#include "weir/base/mark.h"
#include "weir/base/rate.h"
#include "weir/base/retire.h"
#include "weir/entry/paused.h"
#include "weir/net/source_rates.h"

struct backend;
struct config_frontend;
struct entries;
struct source_table;

/* One version. Lives as long as a version of an endpoint names it. */
struct frontend_settings {
	struct list link;	      /* among the living versions of its frontend; control */
	struct frontend *frontend;    /* borrows */
	const struct config_frontend *config; /* owns: a copy without binds */
	struct backend *backend;      /* borrows; used when no route matches */
	struct backend **routes;      /* owns; for config->routes, in the same order */
	/* Versions of endpoints that name it, the frontend while in effect, a change that is prepared;
	 * control. */
	unsigned users;
	struct source_rate source_rate; /* of rate-limit-per-source */
	bool guarded;	/* admission.c has rules to apply */
	bool choosy;	/* some of them apply to the peer's own address, before it becomes a session */
	bool sniffs;	/* clients send a TLS hello or an RDP request first */
	bool names;	/* the names that clients ask for are used */
};

/* What an administrator wants of it: halt.h. */
enum frontend_admin {
	FRONTEND_ADMIN_READY,
	FRONTEND_ADMIN_DISABLED,
	FRONTEND_ADMIN_SHUT, /* shut down */
};

enum frontend_mark {
#define FRONTEND_MARK(name, word) FRONTEND_MARK_##name,
#include "weir/entry/frontend_marks.tbl.h"
#undef FRONTEND_MARK
	FRONTEND_MARKS
};

struct frontend {
	/* Control only. */
	struct list link; /* in entries */
	struct retired retired;
	struct entries *entries; /* borrows */
	const struct config_frontend *config; /* of the settings in effect */
	struct frontend_settings *settings;   /* in effect */
	struct list versions;		      /* owns: struct frontend_settings */
	struct list endpoints;		      /* owns: struct endpoint */
	uint32_t slot;
	unsigned own_limit; /* its own maxconn, 0 = that of the process */
	unsigned set_limit; /* instead, if `is_limit_set` */
	bool is_limit_set;  /* by an administrator */
	enum frontend_admin admin;
	struct mark marks[FRONTEND_MARKS]; /* of what differs from the file */
	unsigned iid;	    /* for reports: see entries_build(); 0 = not added yet */
	unsigned changes;   /* that were committed */
	bool is_away;	    /* unlisten.h: no server is up, and its addresses are left */
	bool is_shut;	    /* the same: one is up, and some address cannot be taken again */
	bool closes;	    /* it was removed, and its sessions end */
	int64_t changed_ns; /* last change of `admin`, `is_away` or `is_shut`, or when it was made */
	bool has_choice;    /* its clients go, or went, to more than one backend */

	/* Control writes, workers read. */
	atomic_bool removed;
	_Atomic(struct source_table *) sources; /* owns; NULL until maxconn-per-source is set */
	_Atomic(struct source_rates *) source_rates; /* owns; NULL until rate-limit-per-source is set */
	atomic_uint limit; /* maxconn */

	_Alignas(64) atomic_int sessions;
	_Atomic uint64_t total;
	_Atomic uint64_t denied; /* clients that admission.c turned away */
	struct paused paused;	 /* listeners that wait because `limit` is reached */
	struct paused rate_paused; /* listeners that wait because of rate-limit */
	struct rate rate;	   /* for rate-limit; its limit is 0 without one */
};

/* Tables of sources that a change brings; each NULL if none is needed, or there is one. */
struct frontend_tables {
	struct source_table *sources;
	struct source_rates *rates;
};

/* The maxconn of this frontend at this moment. Any thread. */
static inline unsigned frontend_limit(const struct frontend *fe)
{
	return atomic_load_explicit(&fe->limit, memory_order_relaxed);
}

#endif
