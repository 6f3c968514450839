/* SPDX-License-Identifier: MIT
 *
 * log_outlets.c - all targets of the log: those that take lines, and those that have been removed and still
 * write.
 *
 * A removed target is freed by the turn of control that finds its buffer empty and its thread ended. One
 * without a thread, or with a pipe, has LEAVE_S for that; then its lines are dropped and counted. Main
 * thread.
 */
#include "log_outlets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"

/* How long a removed target may wait for the reader of its pipe or socket. */
#define LEAVE_S 30.0
/* At the end: longest wait for one target while others may also have lines to write. */
#define SLICE_MS 20

static struct log_outlet *outlet_of(struct list *node)
{
	return list_entry(node, struct log_outlet, node);
}

struct log_outlet *log_outlets_next(const struct log_outlets *all, const struct log_outlet *o)
{
	struct list *next = o == NULL ? all->list.next : o->node.next;

	return next != &all->list ? outlet_of(next) : NULL;
}

static void free_outlet(struct log_outlet *o)
{
	struct log_outlets *all = o->all;

	list_remove(&o->node);
	if (all != NULL) {
		ev_io_stop(all->loop, &o->writable);
		ev_timer_stop(all->loop, &o->patience);
	}
	log_target_close(&o->target);
	free(o);
}

/* ---- writing ---- */

static void flush(struct log_outlet *o)
{
	/* The descriptor may differ afterwards: syslog sockets come and go. */
	ev_io_stop(o->all->loop, &o->writable);
	if (log_target_flush(&o->target) == -EAGAIN && o->target.file == NULL) {
		ev_io_set(&o->writable, log_target_fd(&o->target), EV_WRITE);
		ev_io_start(o->all->loop, &o->writable);
	}
}

/* Removed targets report their losses here, as they have no line of their own any more. */
static void fold(struct log_outlet *o)
{
	const struct log_target *t = &o->target;
	const uint64_t lost = log_target_lost(t);
	char name[ADDR_TEXT_MAX];

	o->all->gone_lost += lost;
	o->all->gone_late += log_target_late(t);
	if (lost > t->lost_told)
		log_line(LOG_LEVEL_WARNING,
			 "%llu log lines were lost: the removed target %.900s refused them, or had no room",
			 (unsigned long long)(lost - t->lost_told), log_target_name(t, name));
}

/* For one that leaves. Frees it if it has finished. */
static void settle(struct log_outlet *o)
{
	if (!log_target_is_empty(&o->target))
		flush(o);
	if (!log_target_has_left(&o->target))
		return;
	fold(o);
	free_outlet(o);
}

static void on_writable(struct ev_loop *loop, struct ev_io *io, int revents)
{
	struct log_outlet *o = io->data;
	struct log_outlets *all = o->all;

	(void)loop;
	(void)revents;
	if (o->target.leaving)
		settle(o);
	else
		flush(o);
	all->room(all->arg);
}

static void on_patience(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct log_outlet *o = timer->data;

	(void)loop;
	(void)revents;
	log_target_hurry(&o->target);
	settle(o);
}

static void settle_all(struct log_outlets *all)
{
	struct list *node, *next;

	list_foreach_safe(&all->leaving, node, next)
		settle(outlet_of(node));
}

void log_outlets_set_address(struct log_outlet *o, const struct addr *a)
{
	check(o->all != NULL);
	ev_io_stop(o->all->loop, &o->writable); /* of the descriptor that is closed */
	log_target_set_address(&o->target, a);
	if (!log_target_is_empty(&o->target))
		flush(o);
}

void log_outlets_flush(struct log_outlets *all)
{
	log_outlets_foreach(all, o)
		if (!log_target_is_empty(&o->target))
			flush(o);
	settle_all(all);
}

void log_outlets_hear(struct log_outlets *all)
{
	log_outlets_foreach(all, o)
		if (o->target.file != NULL)
			flush(o);
	settle_all(all);
}

static bool wait_for(struct list *list, int64_t deadline_ns)
{
	struct list *node, *next;
	bool out = true;

	list_foreach_safe(list, node, next) {
		int64_t left_ms = (deadline_ns - clock_mono_ns()) / NS_PER_MS;

		left_ms = left_ms < SLICE_MS ? left_ms : SLICE_MS;
		out = log_target_wait(&outlet_of(node)->target, left_ms > 0 ? (int)left_ms : 0) && out;
	}
	return out;
}

bool log_outlets_wait(struct log_outlets *all, int64_t deadline_ns)
{
	const bool out = wait_for(&all->list, deadline_ns);

	return wait_for(&all->leaving, deadline_ns) && out;
}

/* ---- coming and going ---- */

void log_outlets_init(struct log_outlets *all, struct ev_loop *loop)
{
	all->loop = loop;
	list_init(&all->list);
	list_init(&all->leaving);
}

void log_outlets_free(struct log_outlets *all)
{
	while (!list_empty(&all->list))
		free_outlet(outlet_of(all->list.next));
	while (!list_empty(&all->leaving))
		free_outlet(outlet_of(all->leaving.next));
}

static int start_thread(struct log_outlets *all, struct log_outlet *o)
{
	return log_target_start(&o->target, all->wake, all->arg);
}

int log_outlets_start(struct log_outlets *all, struct log_target **failed)
{
	all->started = true;
	log_outlets_foreach(all, o) {
		const int err = start_thread(all, o);

		*failed = &o->target;
		if (err)
			return err;
		if (o->target.file != NULL)
			ev_io_stop(all->loop, &o->writable); /* the thread waits for it now */
	}
	return 0;
}

struct log_outlet *log_outlets_open(const struct config_log *c, int *err)
{
	struct log_outlet *o = calloc(1, sizeof(*o));

	*err = -ENOMEM;
	if (o == NULL)
		return NULL;
	*err = log_target_open(&o->target, c);
	if (*err) {
		free(o);
		return NULL;
	}
	list_init(&o->node);
	return o;
}

/* A daemon that is not there may come; what we are short of stays short. */
static bool is_shortage(int err)
{
	return err == -ENOMEM || err == -ENOBUFS || err == -EMFILE || err == -ENFILE;
}

int log_outlets_prepare(struct log_outlets *all, struct log_outlet *o)
{
	int err;

	check(o->all == NULL);
	o->all = all;
	ev_io_init(&o->writable, on_writable, log_target_fd(&o->target), EV_WRITE);
	o->writable.data = o;
	ev_timer_init(&o->patience, on_patience, LEAVE_S, 0.);
	o->patience.data = o;
	err = log_target_connect(&o->target);
	/* At the start the daemon runs anyway, and log_target_tell_absent() warns. */
	if (!all->started)
		return 0;
	return is_shortage(err) ? err : start_thread(all, o);
}

void log_outlets_commit(struct log_outlets *all, struct log_outlet *o)
{
	check(o->all == all);
	list_push_back(&all->list, &o->node);
	log_target_report_crashes(&o->target);
}

static void let_leave(struct log_outlets *all, struct log_outlet *o)
{
	list_remove(&o->node);
	list_push_back(&all->leaving, &o->node);
	log_target_leave(&o->target);
	ev_timer_start(all->loop, &o->patience);
	settle(o);
}

static bool has_file(const struct log_outlets *all, const char *path)
{
	log_outlets_foreach(all, o)
		if (o->target.is_file && strcmp(o->target.config.path, path) == 0)
			return true;
	return false;
}

void log_outlets_undo(struct log_outlets *all, struct log_outlet *o)
{
	if (o->target.is_file && !has_file(all, o->target.config.path))
		log_target_unmake(&o->target);
	if (o->target.file != NULL)
		let_leave(all, o);
	else
		free_outlet(o);
}

void log_outlets_drop(struct log_outlet *o)
{
	check(o->all == NULL);
	if (o->target.is_file)
		log_target_unmake(&o->target);
	free_outlet(o);
}

void log_outlets_remove(struct log_outlets *all, struct log_outlet *o)
{
	check(o->all == all);
	check(!o->target.leaving);
	let_leave(all, o);
}

/* ---- all together ---- */

bool log_outlets_have_room(const struct log_outlets *all)
{
	log_outlets_foreach(all, o)
		if (log_target_has_room(&o->target))
			return true;
	return list_empty(&all->list);
}

void log_outlets_set_wanted(const struct log_outlets *all)
{
	int level = LOG_LEVEL_ALERT;
	bool counts = false;

	log_outlets_foreach(all, o) {
		if (o->target.kind == LOG_TARGET_NONE)
			continue;
		level = o->target.level > level ? o->target.level : level;
		counts = counts || o->target.layout.format.counts;
	}
	log_set_level((enum log_level)level);
	log_want_counts(counts);
}

static uint64_t sum(const struct list *list, uint64_t (*of)(const struct log_target *t))
{
	uint64_t n = 0;

	for (struct list *node = list->next; node != list; node = node->next)
		n += of(&outlet_of(node)->target);
	return n;
}

uint64_t log_outlets_lost(const struct log_outlets *all)
{
	return all->gone_lost + sum(&all->list, log_target_lost) + sum(&all->leaving, log_target_lost);
}

uint64_t log_outlets_late(const struct log_outlets *all)
{
	return all->gone_late + sum(&all->list, log_target_late) + sum(&all->leaving, log_target_late);
}

int64_t log_outlets_waiting_ns(const struct log_outlets *all)
{
	int64_t longest_ns = 0;

	log_outlets_foreach(all, o) {
		const int64_t ns = log_target_waiting_ns(&o->target);

		longest_ns = ns > longest_ns ? ns : longest_ns;
	}
	return longest_ns;
}
