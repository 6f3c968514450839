/* SPDX-License-Identifier: MIT
 *
 * server_set.c - a line `servers` at run time: the servers that a name has addresses for.
 *
 * Adds and removes servers as live_change.h does, so that a member that comes or goes is no other than one of
 * a reload. Control thread.
 */
#include "weir/balance/server_set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/balance/backend.h"
#include "weir/balance/live_change.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/config/copy.h"
#include "weir/config/same.h"
#include "live_parts.h"
#include "server_change.h"

#define SWEEP_NS	 NS_PER_SEC
#define LINES_PER_SECOND 1

enum { LINE_CHANGE, LINE_MEMORY, LINE_SURPLUS, LINE_TROUBLE };

/* ---- the set itself ---- */

struct server_set *server_set_new(struct backend *b, const struct config_server *config)
{
	struct server_set *set = calloc(1, sizeof(*set));

	check(config->set != CONFIG_SET_NONE);
	if (set == NULL)
		return NULL;
	list_init(&set->link);
	set->owner = b;
	set->config = config_server_copy(config);
	if (set->config == NULL) {
		free(set);
		return NULL;
	}
	return set;
}

static void drop_config(struct server_set *set)
{
	config_server_copy_free((struct config_server *)(uintptr_t)set->config); /* made by this file */
}

void server_set_free(struct server_set *set)
{
	check(set->watch == NULL);
	list_remove(&set->link);
	drop_config(set);
	config_server_copy_free(set->next);
	free(set->list);
	free(set);
}

void server_set_commit_add(struct server_set *set)
{
	list_push_back(&set->owner->sets, &set->link);
}

int server_set_prepare_change(struct server_set *set, const struct config_server *config)
{
	check(set->next == NULL);
	set->next = config_server_copy(config);
	return set->next != NULL ? 0 : -ENOMEM;
}

void server_set_commit_change(struct server_updates *u, struct server_set *set)
{
	check(set->next != NULL);
	drop_config(set);
	set->config = set->next;
	set->next = NULL;
	if (!set->answered)
		return;
	set->due = true; /* `max` may be another */
	updates_wake_at(u, clock_mono_ns());
}

void server_set_undo_change(struct server_set *set)
{
	config_server_copy_free(set->next);
	set->next = NULL;
}

void server_set_remove(struct server_updates *u, struct server_set *set)
{
	TELL(u, set_leaves, set);
	server_set_free(set);
}

/* ---- members ---- */

static void describe_member(const struct config_server *line, const struct addr *a, unsigned number,
			    struct config_server *out)
{
	*out = *line;
	out->set = CONFIG_SET_NONE;
	out->max = 0;
	(void)snprintf(out->name, sizeof(out->name), "%.*s%u", CONFIG_SET_NAME_MAX, line->name,
		       number); /* it fits */
	out->addr = (struct addr_spec){
		.kind = ADDR_IP, .port = addr_port(a), .client_port = line->addr.client_port, .addr = *a};
}

void server_set_member(const struct config_server *line, const struct server *s, struct config_server *out)
{
	describe_member(line, &s->config->addr.addr, s->set_number, out);
	if (line->set != CONFIG_SET_SRV)
		return;
	out->weight = s->config->weight;
	out->backup = line->backup || s->set_backup;
}

static void apply_share(const struct server_set *set, const struct set_share *share, struct config_server *to)
{
	if (set->config->set != CONFIG_SET_SRV)
		return;
	to->weight = share->weight;
	to->backup = set->config->backup || share->backup;
}

/* Is it "pod12" of the set "pod", or 0? */
static unsigned number_of(const struct server_set *set, const char *name)
{
	const size_t len = strlen(set->config->name);
	unsigned long number;
	char *end;

	if (strncmp(name, set->config->name, len) != 0 || name[len] < '1' || name[len] > '9')
		return 0;
	number = strtoul(name + len, &end, 10);
	return *end == '\0' && number <= UINT32_MAX ? (unsigned)number : 0;
}

struct server_set *server_set_of_name(const struct backend *b, const char *name)
{
	for (const struct list *l = b->sets.next; l != &b->sets; l = l->next)
		if (number_of(server_set_at(l), name) > 0)
			return server_set_at(l);
	return NULL;
}

/* ---- one answer ---- */

/* The members of a set, beside what becomes of them. */
struct work {
	struct server_updates *u;
	struct server_set *set;
	struct server **servers;    /* owns the array */
	struct set_member *members; /* owns */
	size_t count;
	size_t stay, come, leave;
	struct set_plan plan;
	int err; /* something found no memory */
	int64_t now_ns;
};

static void work_close(struct work *w)
{
	set_plan_free(&w->plan);
	free(w->members);
	free(w->servers);
}

static int work_open(struct work *w)
{
	const struct backend *b = w->set->owner;

	w->servers = calloc(b->server_count + 1, sizeof(struct server *));
	w->members = calloc(b->server_count + 1, sizeof(*w->members));
	if (w->servers == NULL || w->members == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < b->server_count; i++) {
		struct server *s = b->servers[i];

		if (s->set != w->set)
			continue;
		w->servers[w->count] = s;
		w->members[w->count++] = (struct set_member){.addr = s->config->addr.addr,
							     .number = s->set_number,
							     .leaves = s->leaves,
							     .order = (uint64_t)s->leave_ns};
	}
	return 0;
}

static void remove_member(struct work *w, struct server *s)
{
	const int err = server_prepare_remove(s);

	if (err)
		w->err = err;
	else
		server_remove(w->u, s);
}

/* Sessions of a server that drains follow `drain`; those of a server that is removed follow `on-removed`. */
static void leave(struct work *w, struct server *s)
{
	int err;

	w->leave++;
	if (s->backend->timeouts.on_removed == CONFIG_ON_REMOVED_CLOSE) {
		remove_member(w, s);
		return;
	}
	s->leave_ns = w->now_ns;
	err = server_set_leaves(s, true, "its address has gone from its set", w->now_ns);
	check(err == 0); /* the backend is held */
	updates_wake_at(w->u, w->now_ns + SWEEP_NS);
}

static void come_back(struct work *w, struct server *s)
{
	const int err = server_set_leaves(s, false, "its address is in its set again", w->now_ns);

	check(err == 0); /* as above */
	w->come++;
}

static void update_share(struct work *w, struct server *s, const struct set_share *share)
{
	struct config_server config;
	struct server_settings *v;
	int err;

	describe_member(w->set->config, &s->config->addr.addr, s->set_number, &config);
	apply_share(w->set, share, &config);
	s->set_backup = share->backup;
	if (config_server_same(&config, s->config))
		return;
	v = server_prepare_change(s, &config, &err);
	if (v == NULL)
		w->err = err;
	else
		server_commit_change(w->u, v);
}

static void meet_fate(struct work *w, struct server *s, const struct set_fate *fate)
{
	switch (fate->verdict) {
	case SET_STAYS:
		w->stay++;
		break;
	case SET_RETURNS:
		come_back(w, s);
		break;
	case SET_LEAVES:
		leave(w, s);
		return;
	case SET_GOES:
		w->leave += !s->leaves;
		remove_member(w, s);
		return;
	case SET_DRAINS:
		return;
	}
	if (fate->has_share)
		update_share(w, s, &fate->share);
}

static int add_member(struct work *w, const struct set_arrival *a)
{
	struct server_set *set = w->set;
	struct config_server config;
	struct server *s;
	int err;

	describe_member(set->config, &a->address->addr, a->number, &config);
	apply_share(set, &a->share, &config);
	err = updates_prepare_add(w->u, set->owner, &config);
	if (err)
		return err;
	s = server_prepare(set->owner, &config, &err);
	if (s != NULL) {
		s->set = set;
		s->set_number = a->number;
		s->set_backup = a->share.backup;
		server_commit_add(w->u, s);
		if (set->answered)
			server_begin_slowly(s);
		updates_wake_for_slowstart(w->u, s);
		w->come++;
	}
	updates_settle_add(w->u, set->owner, &config);
	return s != NULL ? 0 : err;
}

static bool is_taken(void *arg, unsigned number)
{
	const struct server_set *set = arg;
	const struct backend *b = set->owner;

	for (size_t i = 0; i < b->server_count; i++)
		if (b->servers[i]->set != set && number_of(set, b->servers[i]->config->name) == number)
			return true;
	return false;
}

static const char *name_of(const struct server_set *set)
{
	return set->config->addr.host;
}

static bool may_log(struct work *w, uint32_t line)
{
	return log_limit_ok(&w->set->limit, LOG_CAUSE_RESOLVE, line, w->now_ns, LINES_PER_SECOND);
}

static void tell_result(struct work *w)
{
	const struct server_set *set = w->set;
	const char *backend = set->owner->config->name;

	if (w->err && may_log(w, LINE_MEMORY))
		log_line(LOG_LEVEL_ERROR, "set %s/%s: cannot change its servers: %s; will retry in 1 s",
			 backend, set->config->name, strerrordesc_np(-w->err));
	if ((w->come > 0 || w->leave > 0) && may_log(w, LINE_CHANGE))
		log_line(LOG_LEVEL_NOTICE, "set %s/%s ('%s'): %zu in use (%zu kept, %zu added), %zu left",
			 backend, set->config->name, name_of(set), w->stay + w->come, w->stay, w->come,
			 w->leave);
	if (w->plan.surplus > 0 && set->surplus == 0 && may_log(w, LINE_SURPLUS))
		log_line(LOG_LEVEL_WARNING,
			 "set %s/%s ('%s'): addresses not used: %zu; raise 'max', which is %u (%s:%u)",
			 backend, set->config->name, name_of(set), w->plan.surplus, set->config->max,
			 set->config->place.file, set->config->place.line);
}

/* Memory for the roster after all newcomers at once: each that comes finds it large enough. If there is none,
 * they find out. */
static void reserve_for_all(struct work *w)
{
	struct backend *b = w->set->owner;
	size_t weights = 0;

	for (size_t i = 0; i < w->plan.arrival_count; i++)
		weights += w->set->config->set == CONFIG_SET_SRV ? w->plan.arrivals[i].share.weight
								 : w->set->config->weight;
	b->stale = true; /* it will be, and so the memory stays */
	if (backend_reserve(b, b->config, w->plan.arrival_count, weights) == 0)
		backend_unreserve(b);
}

/* Those that leave first: a server that goes may make room for memory. */
static void carry_out(struct work *w)
{
	updates_hold(w->u, w->set->owner);
	for (size_t i = 0; i < w->count; i++)
		meet_fate(w, w->servers[i], &w->plan.fates[i]);
	if (w->plan.arrival_count > 1)
		reserve_for_all(w);
	for (size_t i = 0; i < w->plan.arrival_count; i++) {
		const int err = add_member(w, &w->plan.arrivals[i]);

		if (err)
			w->err = err;
	}
}

static void reconcile(struct server_updates *u, struct server_set *set, int64_t now_ns)
{
	const struct set_rules rules = {
		.max = set->config->max,
		.keeps = set->owner->config->on_empty == CONFIG_ON_EMPTY_KEEP,
		.has_srv = set->config->set == CONFIG_SET_SRV,
		.is_taken = is_taken,
		.arg = set,
	};
	struct work w = {.u = u, .set = set, .now_ns = now_ns};

	w.err = work_open(&w);
	if (!w.err)
		w.err = set_reconcile(&w.plan, &rules, w.members, w.count, set->list, set->count);
	if (!w.err)
		carry_out(&w);
	tell_result(&w);
	set->due = w.err != 0;
	if (set->due)
		updates_wake_at(u, now_ns + SWEEP_NS);
	else
		set->surplus = w.plan.surplus;
	set->answered = set->answered || set->count > 0;
	work_close(&w);
}

/* ---- answers ---- */

static void tell_trouble(struct server_set *set, const char *trouble, int64_t now_ns)
{
	const bool keeps = set->owner->config->on_empty == CONFIG_ON_EMPTY_KEEP;

	if (trouble == NULL || (set->trouble != NULL && strcmp(set->trouble, trouble) == 0))
		return;
	if (!log_limit_ok(&set->limit, LOG_CAUSE_RESOLVE, LINE_TROUBLE, now_ns, LINES_PER_SECOND))
		return;
	log_line(LOG_LEVEL_WARNING, "set %s/%s (%s:%u): no address of '%s': %s; %s", set->owner->config->name,
		 set->config->name, set->config->place.file, set->config->place.line, name_of(set), trouble,
		 !set->answered ? "it has no server yet"
		 : keeps	? "its servers stay in use (on-empty = keep)"
				: "its servers drain (on-empty = drain)");
}

void server_set_answer(struct server_updates *u, struct server_set *set, const char *trouble,
		       struct set_address *list, size_t count)
{
	const int64_t now_ns = clock_mono_ns();

	check(count == 0 || trouble == NULL);
	tell_trouble(set, trouble, now_ns);
	set->trouble = trouble;
	free(set->list);
	set->list = list;
	set->count = count;
	reconcile(u, set, now_ns);
}

/* ---- what takes time ---- */

/* An address that is missing from one answer is often in the next. */
static bool has_drained(const struct server *s, int64_t now_ns)
{
	return now_ns - s->leave_ns >= SWEEP_NS && atomic_load(&s->sessions) == 0 &&
	       atomic_load(&s->queued) == 0;
}

void server_sets_step(struct server_updates *u, struct backend *b, int64_t now_ns)
{
	bool any = false;

	if (list_empty(&b->sets))
		return;
	for (const struct list *l = b->sets.next; l != &b->sets; l = l->next)
		if (server_set_at(l)->due)
			reconcile(u, server_set_at(l), now_ns);
	for (size_t i = b->server_count; i-- > 0;) {
		struct server *s = b->servers[i];

		if (!s->leaves)
			continue;
		if (has_drained(s, now_ns) && server_prepare_remove(s) == 0)
			server_remove(u, s);
		else
			any = true;
	}
	if (any)
		updates_wake_at(u, now_ns + SWEEP_NS);
}

uint64_t server_sets_surplus(const struct server_updates *u)
{
	uint64_t sum = 0;

	server_updates_foreach(u, b)
		for (const struct list *l = b->sets.next; l != &b->sets; l = l->next)
			sum += server_set_at(l)->surplus;
	return sum;
}
