/* SPDX-License-Identifier: MIT
 *
 * plan.h - what a new configuration changes: each part of it beside the live object that it meets.
 *
 * Frontends and backends meet by name; servers by name and address within their backend; the binds of a
 * frontend by their address; targets of the log by their content. What changes nothing is KEPT: nothing is
 * done there. A server meets by the address in the file, wherever it was moved at run time; one that was
 * added at run time, by the address that it has. One that was deleted at run time stays deleted until its
 * line changes. A set of servers meets by its name and what it looks up; its members are beside it, KEPT
 * without a line, CHANGED with a configuration of the plan's own, or REMOVED with their set. A plan changes
 * nothing and borrows from the new configuration and from the live objects, so it is applied, or freed,
 * before control does anything else. Control thread.
 */
#ifndef WEIR_RELOAD_PLAN_H
#define WEIR_RELOAD_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/balance/server_set.h"
#include "weir/balance/tombstone.h"
#include "weir/base/text.h"
#include "weir/config/config.h"
#include "weir/engine/engine.h"
#include "weir/logging/logwriter.h"

enum plan_what { PLAN_KEPT, PLAN_CHANGED, PLAN_ADDED, PLAN_REMOVED };

struct plan_server {
	/* KEPT without `config`: it was added at run time, and stays. KEPT without `live`: it was deleted at
	 * run time, and stays so, as `tombstone` says. */
	enum plan_what what;
	struct server *live;		    /* NULL if added */
	const struct config_server *config; /* NULL if removed */
	/* That of the name, NULL = none. It is dropped with the commit, unless the server stays deleted. KEPT
	 * with nothing else: the new configuration does not name the server. */
	struct tombstone *tombstone;
	struct server_set *set; /* the live set of a line `servers`, whose `live` is NULL; NULL if added */
	bool adopted; /* CHANGED: it was added at run time, and belongs to the configuration from now on */
};

struct plan_backend {
	enum plan_what what; /* of its settings; its servers may have changed in any case */
	struct backend *live;
	const struct config_backend *config;
	struct plan_server *servers; /* owns: those of the new configuration in its order, then the removed
				      * and those that it does not name; all of them ADDED or REMOVED if the
				      * backend is */
	size_t server_count;
	struct config_server *members; /* owns: new configurations of members of sets */
};

struct plan_bind {
	/* KEPT: its socket stays as it is. CHANGED: the socket stays, and gets other options or settings.
	 * ADDED: with `from` it takes over the socket of that endpoint, of this frontend or another; else it
	 * is bound anew. REMOVED: it leaves. An endpoint that another takes over is in no list as REMOVED.
	 * A bind with several sockets has an entry for each, one after another. */
	enum plan_what what;
	struct endpoint *live; /* NULL if added; one that is leaving is CHANGED, as it is to stay after all */
	struct endpoint *from; /* ADDED only; NULL = bound anew */
	const struct config_bind *config; /* NULL if removed */
};

struct plan_frontend {
	enum plan_what what; /* of its settings, where its clients go included */
	struct frontend *live;
	const struct config_frontend *config;
	size_t backend; /* index into plan.backends of where its clients go; its routes' come from config.
			 * SIZE_MAX if removed */
	struct plan_bind *binds; /* owns: those of the new configuration in its order, then the removed */
	size_t bind_count;
	/* It was shut down at run time (entry/halt.h), and its section has changed: it is back in service,
	 * and CHANGED. Its binds that are KEPT or CHANGED and are away return. */
	bool revives;
};

struct plan_log {
	enum plan_what what; /* never CHANGED */
	struct log_outlet *live;
	const struct config_log *config;
};

struct plan {
	const struct config *next; /* borrows */
	struct plan_backend *backends; /* owns: those of `next` in its order, so that indexes in `next` are
					* indexes here; then the removed */
	size_t backend_count;
	struct plan_frontend *frontends; /* the same */
	size_t frontend_count;
	struct plan_log *logs; /* the same; as many as next->global has, then the removed */
	size_t log_count;
	bool admin_changed; /* address, permissions or users of the admin socket */
	bool stats_changed; /* the same of the HTTP endpoint */
	bool global_changed; /* another option of [global] that can change */
	const char *restart[8]; /* static: options that only a restart changes: "threads", "driver", ... */
	size_t restart_count;
};

struct plan_input {
	const struct config *next;
	const struct config_global *started; /* as the daemon was started: for what only a restart changes */
	const struct config_global *now;     /* in effect */
	struct engine *engine;
	struct logwriter *log;
};

/* 0; -ENOMEM; or -EINVAL with `why` (LOG_RECORD_MAX bytes): what the new configuration asks for cannot be
 * had without a restart, as "fd@web" that no passed socket was kept for. After an error `p` is empty. */
int plan_make(struct plan *p, const struct plan_input *in, char *why, size_t room);
/* Does the server stay deleted, although the new configuration names it? */
static inline bool plan_stays_deleted(const struct plan_server *s)
{
	return s->what == PLAN_KEPT && s->live == NULL && s->set == NULL && s->config != NULL;
}

static inline const char *plan_server_name(const struct plan_server *s)
{
	if (s->config != NULL)
		return s->config->name;
	if (s->set != NULL)
		return s->set->config->name;
	return s->live != NULL ? s->live->config->name : s->tombstone->config->name;
}

/* Harmless on an empty plan. */
void plan_free(struct plan *p);
/* Is there nothing to do? */
bool plan_is_empty(const struct plan *p);
/* Appends one line without its end: "2 servers added, frontend web changed, 1 address removed" in the order
 * frontends, addresses, backends, servers, log targets; names where there are at most three; or "nothing has
 * changed". */
void plan_describe(const struct plan *p, struct text *out);
/* Appends the same in full, for `weir plan`: "plan: " and that line; each thing that is added, changed,
 * moved or removed, with the old and the new value of each option; how many things are kept; the sessions of
 * what is removed. The last line is "would change: yes" or "would change: no". `p` was made from `in`. 0; or
 * -ENOMEM, and `out` is to be thrown away. */
int plan_print_text(const struct plan *p, const struct plan_input *in, struct text *out);
/* The same as one JSON object over several lines, as weir(8) describes it; `messages` are whole lines. */
int plan_print_json(const struct plan *p, const struct plan_input *in, const char *messages,
		    struct text *out);

#endif
