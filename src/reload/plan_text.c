/* SPDX-License-Identifier: MIT
 *
 * plan_text.c - a plan in words: one line for each thing that changes, with its options below it.
 *
 * A line begins with '+' (added), '-' (removed), '~' (changed), '>' (moved to another frontend), '=' (kept,
 * with something to say about it) or '!' (needs a restart). Control thread.
 */
#include "plan_items.h"
#include "weir/base/check.h"

#define UNSET "not set"

struct printer {
	struct text *out;
	size_t kept[ITEM_KINDS];
	uint64_t sessions;	 /* of all frontends */
	uint64_t left_frontends; /* sessions of those that are removed */
	uint64_t left_servers;
	bool hidden; /* the item is kept, and so far there is nothing to say about it */
	struct plan_item item;
};

static char sign_of(enum plan_fate fate)
{
	static const char signs[FATES] = {
		[FATE_KEPT] = '=',  [FATE_ADDED] = '+',	  [FATE_CHANGED] = '~',
		[FATE_MOVED] = '>', [FATE_REMOVED] = '-',
	};

	return signs[fate];
}

/* ---- items ---- */

/* What the item is, as it could be found in a file. */
static void add_thing(struct text *out, const struct plan_item *item)
{
	switch (item->kind) {
	case ITEM_FRONTEND:
	case ITEM_BACKEND:
		text_printf(out, "%s %s", plan_kind_word(item->kind), item->name);
		return;
	case ITEM_ADDRESS:
		text_printf(out, "frontend %s: ", item->owner);
		text_printf(out, item->line != NULL ? "%s" : "bind = %s",
			    item->line != NULL ? item->line : item->name);
		return;
	case ITEM_SERVER:
		text_printf(out, "backend %s: ", item->owner);
		text_printf(out, item->line != NULL ? "%s" : "server %s",
			    item->line != NULL ? item->line : item->name);
		return;
	case ITEM_LOG:
		text_printf(out, "global: %s", item->line != NULL ? item->line : "log");
		return;
	case ITEM_GLOBAL:
	case ITEM_KINDS:
		break;
	}
	text_printf(out, "global");
}

static void add_sessions(struct text *out, const struct plan_item *item)
{
	static const struct {
		const char *one;
		const char *many;
	} words[] = {
		[SESSIONS_STAY] = {"stays", "stay"},
		[SESSIONS_GO_ON] = {"goes on", "go on"},
		[SESSIONS_END_IDLE] = {"is closed once idle", "are closed once idle"},
		[SESSIONS_END] = {"is closed", "are closed"},
	};

	if (item->fate != FATE_REMOVED || item->sessions == 0)
		return;
	if (item->sessions == 1)
		text_printf(out, " (1 session %s)", words[item->then].one);
	else
		text_printf(out, " (%llu sessions %s)", (unsigned long long)item->sessions,
			    words[item->then].many);
}

static void add_header(struct text *out, const struct plan_item *item)
{
	text_printf(out, "%c ", sign_of(item->fate));
	add_thing(out, item);
	if (item->fate == FATE_MOVED)
		text_printf(out, " (with its socket, from frontend %s)", item->from_frontend);
	else if (item->fate == FATE_ADDED && item->from_address != NULL)
		text_printf(out, " (takes over the socket of %s, frontend %s)", item->from_address,
			    item->from_frontend);
	if (item->bound_anew)
		text_printf(out, " (bound anew)");
	if (item->sockets > 0)
		text_printf(out, " (%u descriptors, about %llu MiB of memory)", item->sockets,
			    (unsigned long long)((item->memory >> 20) + 1));
	if (item->revives)
		text_printf(out, " (shut down at run time; in service again)");
	if (item->adopted)
		text_printf(out, " (added at run time; the file names it now)");
	add_sessions(out, item);
	text_printf(out, "\n");
}

static void on_begin(void *arg, const struct plan_item *item)
{
	struct printer *p = arg;

	if (item->kind == ITEM_FRONTEND)
		p->sessions += item->sessions;
	if (item->kind == ITEM_FRONTEND && item->fate == FATE_REMOVED)
		p->left_frontends += item->sessions;
	if (item->kind == ITEM_SERVER && item->fate == FATE_REMOVED)
		p->left_servers += item->sessions;
	p->item = *item;
	p->hidden = item->fate == FATE_KEPT;
	if (p->hidden)
		p->kept[item->kind]++;
	else
		add_header(p->out, item);
}

static void on_option(void *arg, const char *key, const char *before, const char *after)
{
	const struct printer *p = arg;

	text_printf(p->out, "    %s: %s -> %s\n", key, before != NULL ? before : UNSET,
		    after != NULL ? after : UNSET);
}

/* A thing that is kept is mentioned after all. */
static void unhide(struct printer *p)
{
	if (!p->hidden)
		return;
	p->hidden = false;
	add_header(p->out, &p->item);
}

static void on_stays(void *arg, const struct run_time_value *v)
{
	struct printer *p = arg;
	char by[RUN_TIME_BY_MAX];

	unhide(p);
	if (v->now == NULL)
		text_printf(p->out, "    %s at run time, %s, and stays so\n", v->word,
			    run_time_by(v->mark, by));
	else if (v->file == NULL)
		text_printf(p->out, "    %s stays %s, set %s\n", v->word, v->now, run_time_by(v->mark, by));
	else
		text_printf(p->out, "    %s stays %s, set %s; the file says %s\n", v->word, v->now,
			    run_time_by(v->mark, by), v->file);
}

static void on_end(void *arg)
{
	(void)arg;
}

static void on_restart(void *arg, const char *key, const char *running, const char *next)
{
	const struct printer *p = arg;

	text_printf(p->out, "! global: %s: %s -> %s (needs a restart)\n", key,
		    running != NULL ? running : UNSET, next != NULL ? next : UNSET);
}

/* ---- the last lines ---- */

static void add_kept(const struct printer *p)
{
	static const struct {
		const char *one;
		const char *many;
	} words[ITEM_GLOBAL] = {
		[ITEM_FRONTEND] = {"frontend", "frontends"}, [ITEM_ADDRESS] = {"address", "addresses"},
		[ITEM_BACKEND] = {"backend", "backends"},    [ITEM_SERVER] = {"server", "servers"},
		[ITEM_LOG] = {"log target", "log targets"},
	};
	bool any = false;

	text_printf(p->out, "kept: ");
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (p->kept[i] == 0)
			continue;
		text_printf(p->out, "%s%zu %s", any ? ", " : "", p->kept[i],
			    p->kept[i] == 1 ? words[i].one : words[i].many);
		any = true;
	}
	text_printf(p->out, any ? "\n" : "nothing\n");
}

int plan_print_text(const struct plan *plan, const struct plan_input *in, struct text *out)
{
	struct printer p = {.out = out};
	const struct plan_viewer viewer = {on_begin, on_option, on_stays, on_end, on_restart, &p};
	int err;

	text_printf(out, "plan: ");
	plan_describe(plan, out);
	text_printf(out, "\n");
	err = plan_items(plan, in, &viewer);
	if (err)
		return err;
	add_kept(&p);
	text_printf(out, "sessions: %llu open, %llu of removed frontends, %llu of removed servers\n",
		    (unsigned long long)p.sessions, (unsigned long long)p.left_frontends,
		    (unsigned long long)p.left_servers);
	text_printf(out, "would change: %s\n", plan_is_empty(plan) ? "no" : "yes");
	return 0;
}
