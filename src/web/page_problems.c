/* SPDX-License-Identifier: MIT
 *
 * page_problems.c - what is wrong now: finds it.
 *
 * Owns nothing. Any thread.
 */
#include "page_problems.h"

#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "page_fills.h"
#include "page_party.h"

/* Lines that were lost longer ago are no problem of now. */
#define LOG_RECENT_S 600
/* A queue without a limit is a problem from here on; one with a limit, from this part of it on. */
#define QUEUE_LONG    10u
#define QUEUE_PERCENT 50u
/* Ends that a party is to blame for are a problem from here on, and from this part of all ends on. */
#define ENDS_LEAST   10u
#define ENDS_PERCENT 10u
/* With more lines than that, servers of several backends share one. */
#define LINES_MANY 8u

/* ---- servers of several backends ---- */

static bool is_alike(const struct page_problem *a, const struct page_problem *b)
{
	return a->kind == PROBLEM_SERVER && b->kind == PROBLEM_SERVER && strcmp(a->state, b->state) == 0 &&
	       strcmp(a->why, b->why) == 0;
}

static void unite(struct page_problem *to, const struct page_problem *from)
{
	for (unsigned i = 0; i < from->count && i < PAGE_PROBLEM_NAMES_MAX; i++)
		if (to->count + i < PAGE_PROBLEM_NAMES_MAX)
			to->names[to->count + i] = from->names[i];
	to->count += from->count;
	to->backends += from->backends;
	to->of += from->of;
	memcpy(to->backend, from->backend, sizeof(to->backend));
	to->oldest_s = from->oldest_s > to->oldest_s ? from->oldest_s : to->oldest_s;
	if (to->newest_s < 0 || (from->newest_s >= 0 && from->newest_s < to->newest_s))
		to->newest_s = from->newest_s;
}

static void remove_at(struct page_problems *p, unsigned i)
{
	memmove(&p->list[i], &p->list[i + 1], (p->count - i - 1) * sizeof(p->list[0]));
	p->count--;
}

/* One cause often hits the servers of many backends. */
static void unite_alike(struct page_problems *p)
{
	for (unsigned i = 0; i < p->count; i++) {
		for (unsigned k = i + 1; k < p->count;) {
			if (!is_alike(&p->list[i], &p->list[k])) {
				k++;
				continue;
			}
			unite(&p->list[i], &p->list[k]);
			remove_at(p, k);
		}
	}
}

/* ---- the list ---- */

/* Room for one of this tone: a new line, else that of the last one that is less bad, which is left out.
 * NULL = there is none. */
static struct page_problem *make_room(struct page_problems *p, enum page_tone tone)
{
	if (p->count < PAGE_PROBLEMS_MAX)
		return &p->list[p->count++];
	for (unsigned i = p->count; i-- > 0;) {
		if (p->list[i].tone >= tone)
			continue;
		p->more += p->list[i].count;
		remove_at(p, i);
		return &p->list[p->count++];
	}
	p->more++;
	return NULL;
}

static struct page_problem *add(struct page_problems *p, enum page_problem_kind kind, enum page_tone tone,
				const char *state)
{
	struct page_problem *new = make_room(p, tone);

	if (new == NULL)
		return NULL;
	*new = (struct page_problem){.kind = kind, .tone = tone, .count = 1, .newest_s = -1, .oldest_s = -1};
	(void)snprintf(new->state, sizeof(new->state), "%s", state); /* cut if it is too long, as all here */
	return new;
}

static void add_of_process(struct page_problems *p, enum page_tone tone, const char *state, const char *what,
			   int64_t since_s, const char *why)
{
	struct page_problem *new = add(p, PROBLEM_PROCESS, tone, state);

	if (new == NULL)
		return;
	(void)snprintf(new->what, sizeof(new->what), "%s", what);
	(void)snprintf(new->why, sizeof(new->why), "%s", why);
	new->newest_s = new->oldest_s = since_s;
}

/* ---- of the process ---- */

/* For how long, since a moment in Unix time; -1 = unknown. */
static int64_t since_s(const struct page_survey *s, uint64_t time_s)
{
	const int64_t now_s = s->facts->wall_ns / NS_PER_SEC;

	if (time_s == 0 || time_s == PAGE_NO_VALUE)
		return -1;
	return now_s > (int64_t)time_s ? now_s - (int64_t)time_s : 0;
}

static void find_reloads(struct page_problems *p, const struct page_survey *s)
{
	const uint64_t *f = s->figures;
	char why[256];

	if (f[PAGE_FIGURE_last_reload_ok] == 0)
		add_of_process(p, PAGE_WARN, "REFUSED", "the last reload",
			       since_s(s, f[PAGE_FIGURE_last_reload_time_s]),
			       "the configuration before it stays in effect; the log has the reason");
	if (f[PAGE_FIGURE_trial_left_s] == 0 || f[PAGE_FIGURE_trial_left_s] == PAGE_NO_VALUE)
		return;
	(void)snprintf(why, sizeof(why),
		       "without 'weir ctl confirm', the generation before returns in %llu s",
		       (unsigned long long)f[PAGE_FIGURE_trial_left_s]);
	add_of_process(p, PAGE_WARN, "ON TRIAL", "the configuration",
		       since_s(s, f[PAGE_FIGURE_last_reload_time_s]), why);
}

static void find_lost_lines(struct page_problems *p, const struct page_survey *s)
{
	const int64_t ago_s = since_s(s, s->figures[PAGE_FIGURE_log_last_dropped_time_s]);
	char why[256];

	if (ago_s < 0 || ago_s >= LOG_RECENT_S)
		return;
	(void)snprintf(why, sizeof(why), "%llu since the start: the log's reader or disk is too slow",
		       (unsigned long long)s->figures[PAGE_FIGURE_log_dropped]);
	add_of_process(p, PAGE_WARN, "LOST", "log lines", ago_s, why);
}

static void find_fills(struct page_problems *p, const struct page_survey *s)
{
	struct page_problem *new;
	struct page_fill f;
	char state[24];

	for (unsigned i = 0; i < PAGE_FILLS; i++) {
		if (!page_fill_get(s, (enum page_fill_id)i, &f) || f.worst == PAGE_GOOD ||
		    f.tone == PAGE_GOOD)
			continue;
		(void)snprintf(state, sizeof(state), f.percent >= 100 ? "FULL" : "%u %% FULL", f.percent);
		new = add(p, PROBLEM_PROCESS, f.tone, state);
		if (new == NULL)
			continue;
		(void)snprintf(new->what, sizeof(new->what), "%s", f.name);
		if (f.where != NULL)
			new->names[0] = *f.where;
		(void)snprintf(new->why, sizeof(new->why), "%s", f.help);
	}
}

/* Clients come and go as they like, and rules are made to turn some away: only of the others. */
static void find_ends(struct page_problems *p, const struct page_ends *ends)
{
	static const enum blame blames[] = {BLAME_SHORTAGE, BLAME_SERVER, BLAME_NETWORK};
	const uint64_t all = page_party_of_all(ends).minute;
	char why[256];

	for (size_t i = 0; i < ARRAY_LEN(blames); i++) {
		const uint64_t minute = page_party_of(ends, blames[i]).minute;
		const unsigned percent = page_party_percent(minute, all);
		const int reason = page_party_reason(ends->minute, blames[i], -1);

		if (reason < 0 ||
		    (blames[i] != BLAME_SHORTAGE && (minute < ENDS_LEAST || percent < ENDS_PERCENT)))
			continue;
		(void)snprintf(why, sizeof(why), "%llu of %llu sessions in the last minute, mainly: %s",
			       (unsigned long long)minute, (unsigned long long)all,
			       close_reason_row((enum close_reason)reason)->words);
		add_of_process(p, PAGE_BAD, "FAILURES", blame_row(blames[i])->words, -1, why);
	}
}

static void find_process(struct page_problems *p, const struct page_survey *s)
{
	find_ends(p, s->facts->ends);
	if (!s->facts->is_ready)
		add_of_process(p, PAGE_WARN, s->facts->state, "weir", -1, "it takes no new clients");
	if (s->figures[PAGE_FIGURE_memory_is_short] == 1)
		add_of_process(p, PAGE_BAD, "PAUSED", "all frontends", -1,
			       "memory is short: new clients wait in the backlog; raise the group's limit or "
			       "lower maxconn");
	find_reloads(p, s);
	find_fills(p, s);
	find_lost_lines(p, s);
}

/* ---- of frontends, backends and servers ---- */

struct walk {
	struct page_problems *p;
	const struct page_survey *s;
	struct page_queue queue;
	char backend[PAGE_NAME_MAX]; /* of `servers` */
	unsigned servers;
};

static bool is_same(const struct page_problem *a, enum page_problem_kind kind, const char *backend,
		    const char *state, const char *why)
{
	return a->kind == kind && strcmp(a->backend, backend) == 0 && strcmp(a->state, state) == 0 &&
	       strncmp(a->why, why, sizeof(a->why) - 1) == 0;
}

/* Also a line of other backends, if it has several: there is no room for one of each. */
static bool takes(const struct page_problem *a, enum page_problem_kind kind, const char *backend,
		  const char *state, const char *why)
{
	return is_same(a, kind, backend, state, why) ||
	       (a->backends > 1 && is_same(a, kind, a->backend, state, why));
}

static void join(struct page_problem *to, const struct page_row *row)
{
	if (to->count < PAGE_PROBLEM_NAMES_MAX)
		page_owner_set(&to->names[to->count], row);
	to->count++;
	if (row->kind == PAGE_SERVER && (to->backends == 0 || strcmp(to->backend, row->backend) != 0)) {
		(void)snprintf(to->backend, sizeof(to->backend), "%s", row->backend);
		to->backends++;
	}
	if (row->since_s < 0)
		return;
	if (to->newest_s < 0 || row->since_s < to->newest_s)
		to->newest_s = row->since_s;
	if (row->since_s > to->oldest_s)
		to->oldest_s = row->since_s;
}

static struct page_problem *line_for(struct page_problems *p, enum page_problem_kind kind,
				     const char *backend, const char *state, const char *why)
{
	for (unsigned i = 0; i < p->count; i++)
		if (takes(&p->list[i], kind, backend, state, why))
			return &p->list[i];
	return NULL;
}

static void add_row(struct walk *w, enum page_problem_kind kind, enum page_tone tone, const char *state,
		    const struct page_row *row, const char *why)
{
	const char *backend = row->kind == PAGE_SERVER ? row->backend : "";
	struct page_problem *old = line_for(w->p, kind, backend, state, why), *new;

	if (old == NULL && w->p->count == PAGE_PROBLEMS_MAX) {
		unite_alike(w->p);
		old = line_for(w->p, kind, backend, state, why);
	}
	if (old != NULL) {
		join(old, row);
		return;
	}
	new = add(w->p, kind, tone, state);
	if (new == NULL)
		return;
	new->count = 0;
	(void)snprintf(new->why, sizeof(new->why), "%s", why);
	join(new, row);
}

static void find_queue(struct walk *w)
{
	const struct page_queue *q = &w->queue;
	struct page_row row = {.kind = PAGE_BACKEND, .name = q->owner.name, .since_s = -1};
	const uint64_t percent = q->limit > 0 ? 100 * q->waiting / q->limit : 0;
	char why[256];

	if (q->waiting == 0 || (q->limit > 0 ? percent < QUEUE_PERCENT : q->waiting < QUEUE_LONG))
		return;
	if (q->limit > 0)
		(void)snprintf(why, sizeof(why),
			       "%llu of %llu clients wait for a server; at maxqueue, others are refused",
			       (unsigned long long)q->waiting, (unsigned long long)q->limit);
	else
		(void)snprintf(why, sizeof(why), "%llu clients wait for a server: all are at their maxconn",
			       (unsigned long long)q->waiting);
	add_row(w, PROBLEM_QUEUE, percent >= 90 ? PAGE_BAD : PAGE_WARN, "QUEUE", &row, why);
}

/* What is known after its last server. */
static void end_backend(struct walk *w)
{
	find_queue(w);
	for (unsigned i = 0; i < w->p->count; i++)
		if (w->p->list[i].kind == PROBLEM_SERVER && strcmp(w->p->list[i].backend, w->backend) == 0)
			w->p->list[i].of += w->servers;
	w->queue = (struct page_queue){0};
	w->servers = 0;
}

static const char *why_of(const struct page_row *row)
{
	if (row->reason != NULL && row->reason[0] != '\0')
		return row->reason;
	return row->check != NULL ? row->check : "";
}

static void find_server(struct walk *w, const struct page_row *row)
{
	w->servers++;
	if (row->tone != PAGE_GOOD)
		add_row(w, PROBLEM_SERVER, row->tone, row->state, row, why_of(row));
	else if (row->is_failing)
		add_row(w, PROBLEM_SERVER, PAGE_WARN, "CHECK FAILS", row, row->check);
}

static void find_row(void *to, const struct page_row *row)
{
	struct walk *w = to;

	if (row->kind == PAGE_FRONTEND) {
		/* While the process ends, all are stopped. */
		if (row->tone != PAGE_GOOD && !row->is_echo && w->s->facts->is_ready)
			add_row(w, PROBLEM_FRONTEND, row->tone, row->state, row, why_of(row));
		return;
	}
	if (row->kind == PAGE_BACKEND) {
		end_backend(w);
		(void)snprintf(w->backend, sizeof(w->backend), "%s", row->name);
		if (row->tone == PAGE_BAD)
			add_row(w, PROBLEM_BACKEND, PAGE_BAD, "NO SERVER", row, why_of(row));
	} else {
		find_server(w, row);
	}
	page_queue_add(&w->queue, row);
}

/* ---- all of them ---- */

void page_problems_find(struct page_problems *p, const struct page_survey *s)
{
	struct walk w = {.p = p, .s = s};

	p->count = p->more = p->bad = 0;
	find_process(p, s);
	s->facts->source.rows(s->facts->source.from, find_row, &w);
	end_backend(&w);
	if (p->count > LINES_MANY)
		unite_alike(p);
	for (unsigned i = 0; i < p->count; i++)
		p->bad += p->list[i].tone == PAGE_BAD;
}
