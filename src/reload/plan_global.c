/* SPDX-License-Identifier: MIT
 *
 * plan_global.c - [global] of a new configuration beside the one in effect, and beside that of the start.
 *
 * Control thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan_parts.h"
#include "weir/base/check.h"
#include "weir/base/same_text.h"
#include "weir/config/same.h"

/* ---- targets of the log ---- */

/* Each outlet is met once, so that a line that is there twice has two. */
static bool is_met(const struct plan *p, const struct log_outlet *o)
{
	for (size_t i = 0; i < p->log_count; i++)
		if (p->logs[i].live == o)
			return true;
	return false;
}

static struct log_outlet *meet_log(const struct plan *p, const struct logwriter *w,
				   const struct config_log *c)
{
	struct log_outlet *o = logwriter_next_target(w, NULL);

	while (o != NULL && (is_met(p, o) || !logwriter_target_is(o, c)))
		o = logwriter_next_target(w, o);
	return o;
}

static void remove_logs(struct plan *p, const struct logwriter *w)
{
	for (struct log_outlet *o = NULL; (o = logwriter_next_target(w, o)) != NULL;)
		if (!is_met(p, o))
			p->logs[p->log_count++] = (struct plan_log){.what = PLAN_REMOVED, .live = o};
}

int plan_logs(struct plan *p, const struct logwriter *w)
{
	const struct config_global *g = &p->next->global;
	size_t count = g->log_count;

	for (const struct log_outlet *o = NULL; (o = logwriter_next_target(w, o)) != NULL;)
		count++;
	p->logs = calloc(count + 1, sizeof(*p->logs));
	if (p->logs == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < g->log_count; i++) {
		struct log_outlet *o = meet_log(p, w, &g->logs[i]);

		p->logs[p->log_count++] = (struct plan_log){
			.what = o != NULL ? PLAN_KEPT : PLAN_ADDED, .live = o, .config = &g->logs[i]};
	}
	remove_logs(p, w);
	check(p->log_count <= count);
	return 0;
}

/* ---- the admin socket ---- */

static bool is_same_ids(const struct config_ids *a, const struct config_ids *b)
{
	return a->count == b->count &&
	       (a->count == 0 || memcmp(a->list, b->list, a->count * sizeof(*a->list)) == 0);
}

static bool is_same_admin(const struct config_global *a, const struct config_global *b)
{
	if (a->admin.kind == ADDR_NONE && b->admin.kind == ADDR_NONE)
		return true;
	return config_addr_same(&a->admin, &b->admin) && a->admin_owner.mode == b->admin_owner.mode &&
	       a->admin_owner.uid == b->admin_owner.uid && a->admin_owner.gid == b->admin_owner.gid &&
	       a->admin_level == b->admin_level && is_same_ids(&a->admin_uids, &b->admin_uids) &&
	       is_same_ids(&a->admin_gids, &b->admin_gids);
}

/* ---- the HTTP endpoint ---- */

static bool is_same_networks(const struct config_networks *a, const struct config_networks *b)
{
	if (a->count != b->count || a->file_count != b->file_count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct net_prefix *x = &a->list[i], *y = &b->list[i];

		if (x->family != y->family || x->bits != y->bits || memcmp(x->ip, y->ip, sizeof(x->ip)) != 0)
			return false;
	}
	for (size_t i = 0; i < a->file_count; i++)
		if (a->files[i].list != b->files[i].list || strcmp(a->files[i].name, b->files[i].name) != 0)
			return false;
	return true;
}

static bool is_same_auth(const struct config_auth *a, const struct config_auth *b)
{
	if (a->count != b->count || !same_text(a->file, b->file))
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->list[i].name, b->list[i].name) != 0 ||
		    strcmp(a->list[i].hash, b->list[i].hash) != 0)
			return false;
	return true;
}

static bool is_same_stats(const struct config_stats *a, const struct config_stats *b)
{
	if (a->addr.kind == ADDR_NONE && b->addr.kind == ADDR_NONE)
		return true;
	return config_addr_same(&a->addr, &b->addr) && a->owner.mode == b->owner.mode &&
	       a->owner.uid == b->owner.uid && a->owner.gid == b->owner.gid &&
	       is_same_networks(&a->allow_list, &b->allow_list) &&
	       a->per_server_histograms == b->per_server_histograms && is_same_auth(&a->auth, &b->auth);
}

/* ---- all other options ---- */

static bool is_same_number(int64_t a, int64_t b)
{
	return a == b;
}

/* By the type of the member. */
#define IS_SAME(a, b, member)                                                                                \
	_Generic((a)->member, char *: same_text, default: is_same_number)((a)->member, (b)->member)

static bool is_affinity_same(const struct config_global *a, const struct config_global *b)
{
	if (a->affinity != b->affinity || a->affinity != CONFIG_AFFINITY_LIST)
		return a->affinity == b->affinity;
	return a->cpu_count == b->cpu_count &&
	       memcmp(a->cpus, b->cpus, a->cpu_count * sizeof(a->cpus[0])) == 0;
}

static bool is_same_resolvers(const struct config_resolvers *a, const struct config_resolvers *b)
{
	for (size_t i = 0; i < a->count && a->count == b->count; i++)
		if (!addr_equal(&a->list[i], &b->list[i]))
			return false;
	return a->count == b->count;
}

/* How many members made by rows of options.tbl.h differ. */
static size_t count_differing(const struct config_global *a, const struct config_global *b)
{
	size_t n = 0;

#define OPTION_GLOBAL(type, member) n += !IS_SAME(a, b, member);
#include "weir/config/option_members.tbl.h"
	return n;
}

/* Those of them that only a restart changes. */
#define RESTART_MEMBERS(X) X("threads", threads) X("driver", driver) X("user", user) X("group", group)

static size_t count_differing_restart(const struct config_global *a, const struct config_global *b)
{
	size_t n = 0;

#define COUNT(key, member) n += !IS_SAME(a, b, member);
	RESTART_MEMBERS(COUNT)
	return n;
}

bool plan_needs_restart(const char *key)
{
#define IS_KEY(word, member)                                                                                 \
	if (strcmp(key, word) == 0)                                                                          \
		return true;
	RESTART_MEMBERS(IS_KEY)
	return strcmp(key, "cpu-affinity") == 0;
}

static void needs_restart(struct plan *p, const char *key)
{
	check(p->restart_count < ARRAY_LEN(p->restart));
	p->restart[p->restart_count++] = key;
}

void plan_global(struct plan *p, const struct plan_input *in)
{
	const struct config_global *next = &in->next->global;

	p->admin_changed = !is_same_admin(in->now, next);
	p->stats_changed = !is_same_stats(&in->now->stats, &next->stats);
	p->global_changed = count_differing(in->now, next) > count_differing_restart(in->now, next) ||
			    !is_same_resolvers(&in->now->resolvers, &next->resolvers);
#define NOTE(key, member)                                                                                    \
	if (!IS_SAME(in->started, next, member))                                                             \
		needs_restart(p, key);
	RESTART_MEMBERS(NOTE)
	if (!is_affinity_same(in->started, next))
		needs_restart(p, "cpu-affinity");
}
