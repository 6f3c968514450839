/* SPDX-License-Identifier: MIT
 *
 * named_servers.c - servers that are configured by name: each follows its first usable address, and goes to
 * the next one when that fails.
 *
 * Owns one entry per name, and memory for those of prepared changes. Control thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/list.h"
#include "weir/config/same.h"
#include "weir/names/name_choice.h"
#include "weir/names/egress_desk.h"
#include "resolver_parts.h"

/* Addresses of one name among which a server changes; those beyond are used only once these have gone. */
#define NAME_CHOICES 8

struct name {
	struct list link;
	struct resolver *resolver; /* borrows */
	struct server *server;     /* borrows */
	struct addr_spec spec;     /* the name that is looked up */
	struct name_watch *watch;  /* owns */
	enum name_outcome outcome; /* of the last answer */
	unsigned failures;         /* bad ones in a row */
	struct addr list[NAME_CHOICES]; /* to choose from, in this order */
	size_t count;              /* of these */
	bool kept;                 /* its hold has ended, but it keeps its address: it was reported */
	struct log_limit limit;    /* for log lines about this name */
};

static void on_answer(void *arg, enum name_outcome outcome, const struct name_address *list, size_t count);

static struct name *at(const struct list *link)
{
	return list_entry(link, struct name, link);
}

/* ---- memory ---- */

static struct name *name_new(struct resolver *r, int *err)
{
	struct name *n = calloc(1, sizeof(*n));

	*err = -ENOMEM;
	if (n == NULL)
		return NULL;
	list_init(&n->link);
	n->resolver = r;
	n->watch = name_watch_blank(r, err);
	if (n->watch == NULL) {
		free(n);
		return NULL;
	}
	return n;
}

static void name_free(struct name *n)
{
	list_remove(&n->link);
	name_watch_free(n->watch);
	free(n);
}

static void trim(struct resolver *r)
{
	for (; r->spare_count > r->reserved; r->spare_count--)
		name_free(at(r->spares.next));
}

int resolver_prepare(struct resolver *r, size_t names)
{
	int err = 0;

	while (r->spare_count < r->reserved + names) {
		struct name *n = name_new(r, &err);

		if (n == NULL) {
			trim(r);
			return err;
		}
		list_push_back(&r->spares, &n->link);
		r->spare_count++;
	}
	r->reserved += names;
	return 0;
}

void resolver_settle(struct resolver *r, size_t names)
{
	check(names <= r->reserved);
	r->reserved -= names;
	trim(r);
}

/* ---- servers come, change and go ---- */

static bool has_name(const struct server *s)
{
	return s->config->addr.kind == ADDR_NAME;
}

static void add(struct resolver *r, struct server *s)
{
	struct name *n = at(r->spares.next);
	struct name_wish wish = {.kind = NAME_HOST, .answered = on_answer, .arg = n};

	check(!list_empty(&r->spares)); /* resolver_prepare() comes first */
	list_remove(&n->link);
	r->spare_count--;
	n->server = s;
	s->name = n;
	n->spec = s->config->addr;
	wish.host = n->spec.host;
	wish.port = n->spec.port;
	wish.family = n->spec.family;
	resolver_terms(s->backend, &wish.terms);
	list_push_back(&r->names, &n->link);
	name_watch_set(n->watch, &wish);
	name_watch_start(n->watch);
}

static void set_count(struct name *n, size_t count)
{
	n->resolver->choices -= n->count > 1;
	n->count = count;
	n->resolver->choices += n->count > 1;
}

static void drop(struct name *n)
{
	set_count(n, 0);
	n->server->name = NULL;
	name_free(n);
}

static void set_terms(const struct name *n)
{
	struct name_terms terms;

	resolver_terms(n->server->backend, &terms);
	name_watch_set_terms(n->watch, &terms);
}

/* DNS is ready before the first client asks. If it cannot start now, each lookup tries again. */
static void hold_dns(struct resolver *r, struct server *s)
{
	s->holds_dns = resolver_hold_dns(r) == 0;
}

static void on_server_added(void *arg, struct server *s)
{
	if (has_name(s))
		add(arg, s);
	else if (s->config->addr.kind == ADDR_SNI && !s->holds_dns)
		hold_dns(arg, s);
}

static int on_prepare_add(void *arg, const struct backend *b, const struct config_server *config)
{
	(void)b;
	return config->addr.kind == ADDR_NAME ? resolver_prepare(arg, 1) : 0;
}

static void on_settle_add(void *arg, const struct backend *b, const struct config_server *config)
{
	(void)b;
	if (config->addr.kind == ADDR_NAME)
		resolver_settle(arg, 1);
}

static void on_server_changed(void *arg, struct server *s)
{
	struct name *n = s->name;

	if (n != NULL && has_name(s) && config_addr_same(&n->spec, &s->config->addr)) {
		set_terms(n);
		return;
	}
	if (n != NULL)
		drop(n);
	on_server_added(arg, s);
}

static void on_backend_changed(void *arg, struct backend *b)
{
	(void)arg;
	for (size_t i = 0; i < b->server_count; i++)
		if (b->servers[i]->name != NULL)
			set_terms(b->servers[i]->name);
}

static void on_server_leaves(void *arg, struct server *s)
{
	if (s->name != NULL)
		drop(s->name);
	if (s->holds_dns)
		resolver_let_go_dns(arg);
	s->holds_dns = false;
}

static int add_all(struct resolver *r)
{
	size_t count = 0;
	int err;

	server_updates_foreach(r->updates, b)
		for (size_t i = 0; i < b->server_count; i++)
			count += has_name(b->servers[i]);
	err = resolver_prepare(r, count);
	if (err)
		return err;
	server_updates_foreach(r->updates, b)
		for (size_t i = 0; i < b->server_count; i++)
			on_server_added(r, b->servers[i]);
	resolver_settle(r, count);
	return 0;
}

int named_servers_begin(struct resolver *r, struct server_updates *u)
{
	r->observer = (struct server_observer){
		.prepare_add = on_prepare_add,
		.settle_add = on_settle_add,
		.server_added = on_server_added,
		.server_changed = on_server_changed,
		.server_leaves = on_server_leaves,
		.backend_changed = on_backend_changed,
		.arg = r,
	};
	r->updates = u;
	list_init(&r->names);
	list_init(&r->spares);
	server_updates_observe(u, &r->observer);
	return add_all(r);
}

void named_servers_end(struct resolver *r)
{
	server_updates_unobserve(&r->observer);
	if (r->updates != NULL)
		server_updates_foreach(r->updates, b)
			for (size_t i = 0; i < b->server_count; i++)
				on_server_leaves(r, b->servers[i]);
	while (!list_empty(&r->names))
		drop(at(r->names.next));
	r->reserved = 0;
	trim(r);
}

/* ---- answers ---- */

/* Keeps the best of an answer to choose from, and returns the address to use. */
static const struct addr *choose(struct name *n, const struct name_address *list, size_t count)
{
	const struct name_address *a = NULL;
	size_t kept = 0;

	while (kept < NAME_CHOICES && (a = name_choice_next(list, count, a)) != NULL)
		n->list[kept++] = a->addr;
	set_count(n, kept);
	return name_choice_of(list, count, server_found_addr(n->server));
}

enum kind { KIND_MEMORY, KIND_ADDRESS };

/* One name that changes constantly must not suppress the first line of any other. */
static bool may_log(struct log_limit *limit, enum kind kind)
{
	return log_limit_ok(limit, LOG_CAUSE_RESOLVE, kind, clock_mono_ns(), 1);
}

static void tell_no_memory(struct name *n, const char *what)
{
	const struct server *s = n->server;

	if (may_log(&n->limit, KIND_MEMORY))
		log_line(LOG_LEVEL_ERROR, "server %s/%s: no memory %s; will retry", s->backend->name,
			 s->config->name, what);
}

static int64_t bad_for_s(const struct name *n)
{
	const int64_t since_ns = name_watch_bad_since_ns(n->watch);

	return since_ns != 0 ? (clock_mono_ns() - since_ns) / NS_PER_SEC : 0;
}

/* An hour without a name server is one line per name, not a thousand. */
static void tell_failure(const struct name *n)
{
	const struct server *s = n->server;
	const bool had = server_found_addr(s) != NULL;

	if (n->failures == 1)
		log_line(LOG_LEVEL_WARNING, "server %s/%s (%s:%u): cannot resolve '%s': %s; %s; will retry",
			 s->backend->name, s->config->name, s->config->place.file, s->config->place.line,
			 n->spec.host, name_watch_why(n->watch),
			 had ? "it keeps its last address for now" : "it gets no connections");
}

static void use_addr(struct name *n, const struct addr *a)
{
	const struct server *s = n->server;
	char text[ADDR_TEXT_MAX];

	if (a == server_found_addr(s))
		return;
	if (server_updates_set_addr(n->resolver->updates, n->server, a) != 0) {
		tell_no_memory(n, "for its new address");
		return;
	}
	if (may_log(&n->limit, KIND_ADDRESS))
		log_line(LOG_LEVEL_INFO, "server %s/%s: '%s' is %s", s->backend->name, s->config->name,
			 n->spec.host, addr_format(a, text));
}

/* Does it have an address that is known to be right? */
static bool is_current(const struct server *s)
{
	if (server_found_addr(s) == NULL)
		return false;
	return s->name == NULL || s->name->outcome == NAME_GOOD;
}

/* Name servers that say nothing take nobody's last server away: the address is dropped only if another
 * server of the backend has a current one. "This name does not exist" is an answer. */
static bool keeps_addr(const struct name *n)
{
	const struct backend *b = n->server->owner;

	if (n->outcome == NAME_NX)
		return false;
	for (size_t i = 0; i < b->server_count; i++)
		if (b->servers[i] != n->server && is_current(b->servers[i]))
			return false;
	return true;
}

/* Its hold has ended. */
static void lose_addr(struct name *n)
{
	const struct server *s = n->server;
	const char *end = "it gets no new connections until the name resolves again";

	if (server_found_addr(s) == NULL)
		return;
	if (keeps_addr(n)) {
		if (!n->kept)
			log_line(LOG_LEVEL_WARNING,
				 "server %s/%s: '%s' has not been resolved for %lld s: %s; it keeps its last "
				 "address, as no other server of the backend has a current one",
				 s->backend->name, s->config->name, n->spec.host, (long long)bad_for_s(n),
				 name_watch_why(n->watch));
		n->kept = true;
		return;
	}
	if (server_updates_set_addr(n->resolver->updates, n->server, NULL) != 0) {
		tell_no_memory(n, "to take its address away");
		return;
	}
	log_line(LOG_LEVEL_WARNING, "server %s/%s: '%s' has not been resolved for %lld s: %s; %s",
		 s->backend->name, s->config->name, n->spec.host, (long long)bad_for_s(n),
		 name_watch_why(n->watch), end);
}

static void tell_recovery(const struct name *n)
{
	const struct server *s = n->server;

	if (n->failures > 0 && server_found_addr(s) != NULL)
		log_line(LOG_LEVEL_NOTICE, "server %s/%s: '%s' resolves again, after %u failures",
			 s->backend->name, s->config->name, n->spec.host, n->failures);
}

static void on_answer(void *arg, enum name_outcome outcome, const struct name_address *list, size_t count)
{
	struct name *n = arg;

	n->outcome = outcome;
	if (outcome == NAME_GOOD) {
		tell_recovery(n);
		n->failures = 0;
		n->kept = false;
	} else {
		n->failures++;
		tell_failure(n);
	}
	if (count > 0)
		use_addr(n, choose(n, list, count));
	else
		lose_addr(n);
}

/* ---- addresses that fail ---- */

/* An address set at run time has no next one. A server that has answered meanwhile keeps its address. */
static void heed(struct name *n)
{
	struct server *s = n->server;
	const struct server_settings *failed = atomic_exchange(&s->failed_at, NULL);
	const struct addr *now = server_found_addr(s);
	size_t i = 0;

	if (failed == NULL || failed != server_settings(s) || s->moved != NULL || now == NULL)
		return;
	if (s->healthy && atomic_load(&s->failing) == 0)
		return;
	while (i < n->count && !addr_equal(&n->list[i], now))
		i++;
	if (n->count > 1)
		use_addr(n, &n->list[(i + 1) % n->count]);
}

void resolver_heed(struct resolver *r)
{
	if (r == NULL)
		return;
	egress_desk_heed(r->egress);
	if (r->choices == 0)
		return;
	for (struct list *node = r->names.next; node != &r->names; node = node->next)
		heed(at(node));
}
