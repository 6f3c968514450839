/* SPDX-License-Identifier: MIT
 *
 * reloading.c - the steps of a reload in this daemon.
 *
 * Owns the jobs that read and save, and a timer. The configuration that was in effect is freed once the next
 * one is. Main thread.
 */
#include "reloading.h"

#include <errno.h>
#include <stdio.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/log.h"
#include "weir/reload/apply.h"
#include "weir/reload/plan.h"
#include "startup.h"

static int begin_reading(void *arg, const struct reload_source *from)
{
	struct reloading *r = arg;
	struct daemon *d = r->daemon;
	int err = 0;

	struct config_input input = d->input; /* borrows; the job makes a copy */
	char *path = (char *)(uintptr_t)from->path;

	check(r->job == NULL);
	if (from->kept != NULL)
		input.kept = from->kept;
	if (path != NULL) {
		input.paths = &path;
		input.path_count = 1;
		input.text = NULL;
	}
	r->job = reading_job_begin(&input, from->plan ? NULL : &d->config->global, daemon_notify, d, &err);
	return err;
}

static bool has_read(void *arg)
{
	const struct reloading *r = arg;

	return reading_job_is_done(r->job);
}

static struct config_text *take_text(void *arg)
{
	const struct reloading *r = arg;

	return reading_job_take_text(r->job);
}

static void drop_reading(void *arg, struct config *next)
{
	struct reloading *r = arg;

	reading_job_free(r->job, r->daemon->log);
	r->job = NULL;
	config_free(next);
}

static struct config *take_reading(void *arg, struct text *messages)
{
	struct reloading *r = arg;
	struct config *next;

	reading_job_print(r->job, messages);
	next = reading_job_take(r->job);
	if (next == NULL)
		drop_reading(r, NULL);
	return next;
}

static struct log_outlet *take_target(void *arg, size_t i)
{
	struct reloading *r = arg;

	return reading_job_take_target(r->job, i);
}

/* Nothing reads the configuration that was in effect any more; what was started with is kept. */
static void took_effect(void *arg, const struct config *next)
{
	struct reloading *r = arg;
	struct daemon *d = r->daemon;

	check(next == r->next);
	if (d->config != d->started)
		config_free(d->config);
	d->config = r->next;
	r->next = NULL;
	resolver_configure(d->resolver, &next->global);
	ageing_set_cycle(&d->ageing, next->global.pipe_cycle_ns);
}

static int apply_all(struct reloading *r, const struct plan *plan, char *why, size_t room)
{
	struct daemon *d = r->daemon;
	const struct apply_parts parts = {
		.engine = &d->engine,
		.updates = &d->updates.updates,
		.prober = d->prober,
		.agents = d->agents,
		.resolver = d->resolver,
		.sets = &d->sets,
		.log = d->log,
		.privileges = &d->privileges,
		.facts = &d->facts,
		.admin = {.prepare = admin_moving_prepare,
			  .commit = admin_moving_commit,
			  .undo = admin_moving_undo,
			  .arg = &r->admin},
		.web = {.prepare = web_moving_prepare,
			.commit = web_moving_commit,
			.undo = web_moving_undo,
			.arg = &r->web},
		.took_effect = took_effect,
		.arg = r,
	};
	const struct apply_logs logs = {.take = take_target, .arg = r};

	return apply_plan(&parts, plan, &logs, why, room);
}

static void name_restarts(const struct plan *p, struct text *lines)
{
	for (size_t i = 0; i < p->restart_count; i++)
		text_printf(lines, "%s%s", i == 0 ? "needs a restart: " : ", ", p->restart[i]);
	if (p->restart_count > 0)
		text_printf(lines, "\n");
}

static struct plan_input plan_input(struct daemon *d, const struct config *next)
{
	return (struct plan_input){.next = next,
				   .started = &d->started->global,
				   .now = &d->config->global,
				   .engine = &d->engine,
				   .log = d->log};
}

static int apply(void *arg, struct config *next, const struct reload_outcome *out)
{
	struct reloading *r = arg;
	struct daemon *d = r->daemon;
	const struct plan_input in = plan_input(d, next);
	struct plan plan;
	int err = plan_make(&plan, &in, out->why, out->why_room);

	if (err == 0) {
		name_restarts(&plan, out->lines);
		plan_describe(&plan, out->changed);
		r->next = next;
		err = apply_all(r, &plan, out->why, out->why_room);
		plan_free(&plan);
		unlistening_settle(&d->unlistening);
		log_names_follow(&d->log_names);
	}
	drop_reading(r, err ? next : NULL);
	r->next = NULL;
	return err;
}

static int describe(void *arg, struct config *next, const struct reload_wish *wish,
		    const struct reload_outcome *out)
{
	struct reloading *r = arg;
	const struct plan_input in = plan_input(r->daemon, next);
	const size_t before = out->lines->len;
	struct plan plan;
	int err = plan_make(&plan, &in, out->why, out->why_room);

	if (err == 0) {
		err = wish->json ? plan_print_json(&plan, &in, out->messages, out->lines)
				 : plan_print_text(&plan, &in, out->lines);
		plan_free(&plan);
	}
	if (err) /* no part of a plan */
		text_cut(out->lines, before);
	drop_reading(r, next);
	return err;
}

/* ---- the state file ---- */

static int begin_saving(void *arg, const struct confirmed *what)
{
	struct reloading *r = arg;
	struct daemon *d = r->daemon;
	int err = 0;

	check(r->saving == NULL);
	r->saving = saving_job_begin(r->reload.keeper.folder, what, daemon_notify, d, &err);
	return err;
}

static bool has_saved(void *arg)
{
	const struct reloading *r = arg;

	return saving_job_is_done(r->saving);
}

static void drop_saving(void *arg)
{
	struct reloading *r = arg;

	saving_job_free(r->saving);
	r->saving = NULL;
}

static int take_saved(void *arg)
{
	struct reloading *r = arg;
	const int err = saving_job_result(r->saving);

	drop_saving(r);
	return err;
}

/* ---- what has left ---- */

static uint64_t sessions_of(const struct server *s)
{
	return (uint64_t)atomic_load(&s->sessions);
}

/* Sessions that began with what has left. A server of a removed backend is among those of the backend. */
static uint64_t left_sessions(const struct engine *e, const struct server_updates *u)
{
	uint64_t sum = 0;

	for (const struct list *l = e->entries.leaving.next; l != &e->entries.leaving; l = l->next)
		sum += (uint64_t)atomic_load(&list_entry(l, struct frontend, link)->sessions);
	server_updates_foreach(u, b) {
		for (const struct list *l = b->left.next; l != &b->left; l = l->next)
			sum += sessions_of(list_entry(l, struct server, link));
	}
	return sum;
}

/* Addresses of frontends that stay; a frontend that was removed waits for its own. */
static unsigned left_addresses(const struct engine *e)
{
	unsigned n = 0;

	entries_foreach_frontend(&e->entries, fe) {
		frontend_foreach_endpoint(fe, ep)
			n += ep->stage == ENDPOINT_DEAF || ep->stage == ENDPOINT_LEAVING;
	}
	return n;
}

/* What a later generation left counts, too: nobody can tell it apart. */
static bool is_retired(void *arg, uint64_t generation, struct text *left)
{
	const struct daemon *d = ((struct reloading *)arg)->daemon;
	const size_t count = retire_count(&d->engine.live.retire);
	const unsigned addresses = left_addresses(&d->engine);
	uint64_t sessions;

	(void)generation;
	if (count + addresses == 0 || left == NULL)
		return count + addresses == 0;
	sessions = left_sessions(&d->engine, &d->updates.updates);
	if (addresses > 0)
		text_printf(left, "%u address%s being left", addresses, addresses == 1 ? " is" : "es are");
	else if (sessions > 0)
		text_printf(left, "%llu session%s of removed servers or frontends",
			    (unsigned long long)sessions, sessions == 1 ? "" : "s");
	else
		text_printf(left, "sessions that began before go on with the settings of that time");
	return false;
}

/* ---- the service manager ---- */

static void began(void *arg)
{
	struct reloading *r = arg;
	struct daemon *d = r->daemon;

	sd_service_reloading(&d->service);
	turn_watch_begin(&r->turns);
}

static void ended(void *arg, bool fine)
{
	struct reloading *r = arg;
	struct daemon *d = r->daemon;

	turn_watch_end(&r->turns);
	sd_service_reloaded(&d->service, fine);
}

static void tell(void *arg, const char *trial, const struct confirmed_mark *left)
{
	struct daemon *d = ((struct reloading *)arg)->daemon;

	origin_set_note(d, left);
	if (trial[0] != '\0')
		origin_set_words(d, trial);
}

static void wake(void *arg)
{
	daemon_notify(((struct reloading *)arg)->daemon);
}

static const struct reload_steps steps = {
	.begin_reading = begin_reading,
	.has_read = has_read,
	.take_text = take_text,
	.take_reading = take_reading,
	.drop_reading = drop_reading,
	.apply = apply,
	.describe = describe,
	.begin_saving = begin_saving,
	.has_saved = has_saved,
	.take_saved = take_saved,
	.drop_saving = drop_saving,
	.is_retired = is_retired,
	.began = began,
	.ended = ended,
	.tell = tell,
	.wake = wake,
};

static void on_timer(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	(void)loop;
	(void)revents;
	reloading_wake(timer->data);
}

void reloading_init(struct reloading *r, struct daemon *d)
{
	r->daemon = d;
	r->job = NULL;
	r->saving = NULL;
	ev_init(&r->timer, on_timer);
	r->timer.data = r;
	turn_watch_init(&r->turns, d->loop, &d->engine);
	r->admin = (struct admin_moving){.admin = d->admin, .now = &d->admin_socket};
	r->web = (struct web_moving){.web = d->web, .privileges = &d->privileges};
	reload_init(&r->reload, &steps, r);
	reload_set_origin(&r->reload,
			  &(const struct reload_origin){
				  .text = d->origin.text,
				  .confirmed = &d->origin.confirmed,
				  .folder = d->origin.folder[0] != '\0' ? d->origin.folder : NULL,
				  .from_confirmed = d->origin.from_confirmed,
			  });
}

void reloading_wake(struct reloading *r)
{
	struct ev_loop *loop;
	int64_t now_ns, at_ns;

	if (r->daemon == NULL)
		return;
	loop = r->daemon->loop;
	now_ns = clock_mono_ns();
	at_ns = reload_wake(&r->reload, now_ns);
	ev_timer_stop(loop, &r->timer);
	if (at_ns == CLOCK_NEVER)
		return;
	ev_timer_set(&r->timer, at_ns > now_ns ? (double)(at_ns - now_ns) / (double)NS_PER_SEC : 0., 0.);
	ev_timer_start(loop, &r->timer);
}

void reloading_free(struct reloading *r)
{
	if (r->daemon == NULL)
		return;
	reload_free(&r->reload);
	ev_timer_stop(r->daemon->loop, &r->timer);
	turn_watch_stop(&r->turns);
	r->daemon = NULL;
}
