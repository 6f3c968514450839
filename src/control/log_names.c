/* SPDX-License-Identifier: MIT
 *
 * log_names.c - resolves the names of syslog daemons.
 *
 * Owns one watch per target. Control thread.
 */
#include "log_names.h"

#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/log.h"
#include "weir/names/name_choice.h"

#define RETRY_S 1.
/* A name that no longer resolves: a syslog daemon that does not answer loses no more than one without an
 * address. */
#define HOLD_NS (10 * 365 * 86400 * NS_PER_SEC)

struct log_name {
	struct list link;
	struct log_outlet *outlet; /* borrows */
	struct name_watch *watch;  /* owns */
	struct addr now;	   /* its `len` is 0 until the name is resolved */
	unsigned failures;	   /* bad answers in a row */
	bool met;		   /* its target is still there */
};

static void tell_failure(const struct log_name *l)
{
	char name[ADDR_TEXT_MAX];

	log_line(LOG_LEVEL_WARNING, "log = syslog:%s: cannot resolve the name: %s; %s; will retry",
		 addr_spec_format(logwriter_target_host(l->outlet), name), name_watch_why(l->watch),
		 l->now.len != 0 ? "its lines go to its last address" : "its lines are lost until then");
}

static void use(struct log_name *l, const struct addr *a)
{
	char name[ADDR_TEXT_MAX], address[ADDR_TEXT_MAX];

	if (a == &l->now)
		return;
	l->now = *a;
	logwriter_set_address(l->outlet, a);
	log_line(LOG_LEVEL_INFO, "log = syslog:%s is %s",
		 addr_spec_format(logwriter_target_host(l->outlet), name), addr_format(a, address));
}

static void on_answer(void *arg, enum name_outcome outcome, const struct name_address *list, size_t count)
{
	struct log_name *l = arg;

	l->failures = outcome == NAME_GOOD ? 0 : l->failures + 1;
	if (l->failures == 1)
		tell_failure(l);
	if (count > 0)
		use(l, name_choice_of(list, count, l->now.len != 0 ? &l->now : NULL));
}

static void drop(struct log_name *l)
{
	list_remove(&l->link);
	name_watch_free(l->watch);
	free(l);
}

/* False: memory is short. */
static bool add(struct log_names *n, struct log_outlet *o, const struct addr_spec *spec)
{
	struct log_name *l = calloc(1, sizeof(*l));
	struct name_wish wish = {.kind = NAME_HOST,
				 .host = spec->host,
				 .port = spec->port,
				 .family = spec->family,
				 .answered = on_answer,
				 .arg = l};
	int err;

	if (l == NULL)
		return false;
	for (size_t i = 0; i < NAME_OUTCOMES; i++)
		wish.terms.hold_ns[i] = HOLD_NS;
	l->watch = name_watch_new(n->resolver, &wish, &err);
	if (l->watch == NULL) {
		free(l);
		return false;
	}
	l->outlet = o;
	l->met = true;
	list_push_back(&n->list, &l->link);
	name_watch_start(l->watch);
	return true;
}

static struct log_name *find(const struct log_names *n, const struct log_outlet *o)
{
	for (struct list *node = n->list.next; node != &n->list; node = node->next) {
		struct log_name *l = list_entry(node, struct log_name, link);

		if (l->outlet == o)
			return l;
	}
	return NULL;
}

static void drop_unmet(struct log_names *n)
{
	struct list *node, *next;

	list_foreach_safe(&n->list, node, next)
	{
		struct log_name *l = list_entry(node, struct log_name, link);

		if (!l->met)
			drop(l);
		else
			l->met = false;
	}
}

void log_names_follow(struct log_names *n)
{
	bool complete = true;

	if (n->resolver == NULL)
		return;
	for (struct log_outlet *o = NULL; (o = logwriter_next_target(n->log, o)) != NULL;) {
		const struct addr_spec *spec = logwriter_target_host(o);
		struct log_name *l = spec != NULL ? find(n, o) : NULL;

		if (l != NULL)
			l->met = true;
		else if (spec != NULL)
			complete = add(n, o, spec) && complete;
	}
	drop_unmet(n);
	ev_timer_stop(n->loop, &n->retry);
	if (complete)
		return;
	ev_timer_set(&n->retry, RETRY_S, 0.);
	ev_timer_start(n->loop, &n->retry);
}

static void on_retry(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	(void)loop;
	(void)revents;
	log_names_follow(timer->data);
}

void log_names_begin(struct log_names *n, struct ev_loop *loop, struct resolver *r, struct logwriter *log)
{
	*n = (struct log_names){.loop = loop, .resolver = r, .log = log};
	list_init(&n->list);
	ev_init(&n->retry, on_retry);
	n->retry.data = n;
	log_names_follow(n);
}

void log_names_end(struct log_names *n)
{
	if (n->resolver == NULL)
		return;
	drop_unmet(n); /* none has been met since the last time */
	ev_timer_stop(n->loop, &n->retry);
	n->resolver = NULL;
}
