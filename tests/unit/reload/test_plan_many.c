/* SPDX-License-Identifier: MIT
 *
 * test_plan_many.c - plans for many pairs of configurations, for large ones, and without memory.
 *
 * Linked with --wrap of the allocator, so that each allocation can fail in turn.
 */
#include <time.h>

#include "../base/alloc_fail.h"
#include "plan_rig.h"
#include "weir/base/hash.h"
#include "weir/config/same.h"

#define PAIRS	       300u
#define PORTS	       4u
#define BACKENDS_LARGE 200u
#define SERVERS_LARGE  5u /* of each of them */

/* ---- configurations at random ---- */

static uint64_t draws;

static unsigned draw(unsigned below)
{
	return (unsigned)(hash_nth(7, draws++) % below);
}

/* The binds of one port, which do not clash. */
static void draw_binds(struct text *fronts, unsigned port)
{
	static const char *const sets[][2] = {
		{NULL, NULL},		{"*", NULL},	       {"0.0.0.0", NULL},
		{"10.0.0.1", NULL},	{"10.0.0.2", NULL},    {"10.0.0.1", "10.0.0.2"},
		{"0.0.0.0", "[::1]"},	{"10.0.0.1", "[::1]"}, {"10.0.0.2", "10.0.0.1"},
	};
	static const char *const options[] = {"",	 "",	   "",	      " backlog=9", " interface=lo",
					      " mptcp", " freebind"};
	const unsigned set = draw(ARRAY_LEN(sets));

	for (unsigned i = 0; i < 2 && sets[set][i] != NULL; i++)
		text_printf(&fronts[draw(3)], "bind = %s:%u%s\n", sets[set][i], port,
			    options[draw(ARRAY_LEN(options))]);
}

static void draw_frontends(struct text *out)
{
	static const char *const names[] = {"web", "feed", "tail"};
	struct text fronts[3];

	for (unsigned i = 0; i < 3; i++)
		text_init(&fronts[i]);
	for (unsigned port = 80; port < 80 + PORTS; port++)
		draw_binds(fronts, port);
	for (unsigned i = 0; i < 3; i++) {
		if (fronts[i].len == 0 && i > 0)
			continue; /* one has to be there */
		text_printf(out, "[frontend %s]\n", names[i]);
		text_add(out, fronts[i].bytes, fronts[i].len);
		text_printf(out, "%sdefault-backend = %s\n", i == 0 ? "bind = unix:@weir-t\n" : "",
			    draw(3) == 0 ? "other" : "app");
		if (draw(4) == 0)
			text_printf(out, "maxconn = 9\n");
		if (draw(4) == 0)
			text_printf(out, "use-backend %s = dst-port=80\n", draw(2) == 0 ? "other" : "app");
		text_free(&fronts[i]);
	}
}

static void draw_backend(struct text *out, const char *name)
{
	text_printf(out, "[backend %s]\n%sserver z = 10.1.0.1:1\n", name,
		    draw(4) == 0 ? "balance = leastconn\n" : "");
	for (unsigned i = 0; i < 6; i++)
		if (draw(2) == 0)
			text_printf(out, "server %c = 10.1.1.%u:1%s\n", (char)('a' + i),
				    draw(5) == 0 ? 99 : i, draw(4) == 0 ? " weight=5" : "");
}

static struct text draw_config(void)
{
	struct text out;
	const bool swapped = draw(2) == 0;

	text_init(&out);
	draw_frontends(&out);
	draw_backend(&out, swapped ? "app" : "other");
	draw_backend(&out, swapped ? "other" : "app");
	if (draw(3) == 0)
		draw_backend(&out, "third");
	assert_false(out.failed);
	return out;
}

/* ---- what must be true of any plan ---- */

static void check_backend(const struct plan_backend *pb, const struct backend *live)
{
	size_t met = 0;

	assert_ptr_equal(pb->live, live);
	for (size_t i = 0; i < pb->server_count; i++) {
		const struct plan_server *s = &pb->servers[i];

		if (pb->config != NULL && i < pb->config->server_count)
			assert_ptr_equal(s->config, &pb->config->servers[i]);
		else
			assert_int_equal(s->what, PLAN_REMOVED);
		met += s->live != NULL;
		for (size_t k = 0; k < i; k++)
			assert_true(s->live == NULL || s->live != pb->servers[k].live);
		if (s->live == NULL || s->config == NULL)
			continue;
		assert_string_equal(s->live->config->name, s->config->name);
		assert_true(config_addr_same(&s->live->config->addr, &s->config->addr));
		assert_int_equal(s->what == PLAN_KEPT, config_server_same(s->live->config, s->config));
	}
	assert_int_equal(met, live != NULL ? live->server_count : 0);
}

static struct backend *find_backend(const struct engine *e, const char *name)
{
	for (size_t i = 0; i < e->backend_count; i++)
		if (strcmp(e->backends[i]->config->name, name) == 0)
			return e->backends[i];
	return NULL;
}

static void check_backends(const struct plan *p, const struct engine *e)
{
	size_t met = 0;

	for (size_t i = 0; i < p->backend_count; i++) {
		const struct plan_backend *pb = &p->backends[i];

		if (i < p->next->backend_count)
			assert_ptr_equal(pb->config, &p->next->backends[i]);
		else
			assert_int_equal(pb->what, PLAN_REMOVED);
		met += pb->live != NULL;
		check_backend(pb, find_backend(e, pb->config != NULL ? pb->config->name
								      : pb->live->config->name));
	}
	assert_int_equal(met, e->backend_count);
}

/* How often the plan speaks of the socket of `ep`. */
static size_t count_mentions(const struct plan *p, const struct endpoint *ep)
{
	size_t n = 0;

	for (size_t i = 0; i < p->frontend_count; i++)
		for (size_t k = 0; k < p->frontends[i].bind_count; k++)
			n += p->frontends[i].binds[k].live == ep || p->frontends[i].binds[k].from == ep;
	return n;
}

/* Nobody whose bind could have had the socket is bound anew, or covers it. */
static void check_removed(const struct plan *p, const struct endpoint *ep)
{
	for (size_t i = 0; i < p->next->frontend_count; i++) {
		const struct plan_frontend *pf = &p->frontends[i];

		for (size_t k = 0; k < pf->bind_count; k++) {
			const struct plan_bind *b = &pf->binds[k];

			if (b->config == NULL)
				continue;
			assert_false(endpoint_is_covered(ep, b->config));
			assert_false(b->what == PLAN_ADDED && b->from == NULL &&
				     config_addr_same(&ep->config->addr, &b->config->addr) &&
				     endpoint_can_become(ep, pf->config, b->config));
		}
	}
}

/* The sockets of a bind are listed together, and only the first may be bound anew. */
static void check_order(const struct plan_frontend *pf)
{
	size_t at = 0;
	const size_t count = pf->config != NULL ? pf->config->bind_count : 0;

	for (size_t i = 0; i < count; i++) {
		const size_t first = at;

		for (; at < pf->bind_count && pf->binds[at].config == &pf->config->binds[i]; at++)
			if (at > first)
				assert_true(pf->binds[at].live != NULL || pf->binds[at].from != NULL);
		assert_true(at > first);
	}
	for (; at < pf->bind_count; at++)
		assert_int_equal(pf->binds[at].what, PLAN_REMOVED);
}

static void check_frontends(const struct plan *p, const struct engine *e)
{
	size_t met = 0, count = 0;

	for (size_t i = 0; i < p->frontend_count; i++) {
		const struct plan_frontend *pf = &p->frontends[i];

		if (i < p->next->frontend_count)
			assert_ptr_equal(pf->config, &p->next->frontends[i]);
		else
			assert_int_equal(pf->what, PLAN_REMOVED);
		met += pf->live != NULL;
		check_order(pf);
		for (size_t k = 0; k < pf->bind_count; k++) {
			const struct plan_bind *b = &pf->binds[k];

			assert_true(b->live == NULL || b->live->frontend == pf->live);
			if (b->what == PLAN_REMOVED)
				check_removed(p, b->live);
		}
	}
	entries_foreach_frontend(&e->entries, fe) {
		count++;
		frontend_foreach_endpoint(fe, ep)
			assert_in_range(count_mentions(p, ep), ep->stage == ENDPOINT_OPEN, 1);
	}
	assert_int_equal(met, count);
}

static void plans_of_any_pair_are_complete(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PAIRS; i++) {
		struct text now = draw_config(), next = draw_config(), line;
		struct plan_rig r;

		rig_open(&r, now.bytes);
		rig_plan(&r, next.bytes);
		check_backends(&r.plan, &r.engine);
		check_frontends(&r.plan, &r.engine);
		text_init(&line);
		plan_describe(&r.plan, &line);
		assert_int_equal(strcmp(line.bytes, "nothing has changed") == 0, plan_is_empty(&r.plan));
		text_free(&line);
		rig_plan(&r, now.bytes);
		assert_described(&r.plan, "nothing has changed");
		rig_close(&r);
		text_free(&now);
		text_free(&next);
	}
}

/* ---- one after another ---- */

static struct backend *backend_at(const struct plan_rig *r, size_t index)
{
	return r->plan.backends[index].live;
}

static struct endpoint *add_endpoint(struct plan_rig *r, struct frontend *fe, const struct plan_bind *b)
{
	struct entries *e = &r->engine.entries;
	struct entry_error error;
	struct endpoint *ep;

	if (b->from == NULL) {
		ep = rig_add(r, fe, b->config);
		rig_stand_in(ep);
		return ep;
	}
	ep = entries_prepare_endpoint(e, fe, NULL, b->config, b->from, &error);
	assert_non_null(ep);
	entries_commit_endpoint(e, ep);
	return ep;
}

/* The settings of a frontend that stays, and of its endpoints that stay. */
static void change_frontend(struct plan_rig *r, const struct plan_frontend *pf, struct backend **routes)
{
	const struct config_bind *binds[16];
	const struct endpoint *endpoints[16];
	struct entry_change change;
	struct entry_wish wish = {.config = pf->config, .backend = backend_at(r, pf->backend),
				  .routes = routes, .binds = binds, .endpoints = endpoints};

	for (size_t i = 0; i < pf->bind_count; i++) {
		const struct plan_bind *b = &pf->binds[i];

		if (b->live == NULL || b->config == NULL)
			continue;
		assert_true(wish.bind_count < ARRAY_LEN(binds));
		binds[wish.bind_count] = b->config;
		endpoints[wish.bind_count++] = b->live;
	}
	assert_int_equal(entries_prepare_change(&r->engine.entries, pf->live, &wish, &change), 0);
	entries_commit_change(&r->engine.entries, &change);
}

static void apply_frontend(struct plan_rig *r, const struct plan_frontend *pf, int64_t now_ns)
{
	struct entries *e = &r->engine.entries;
	struct frontend *fe = pf->live;
	struct backend *routes[4];

	if (pf->what == PLAN_REMOVED)
		return;
	for (size_t i = 0; i < pf->config->route_count; i++)
		routes[i] = backend_at(r, pf->config->routes[i].backend);
	if (fe != NULL) {
		change_frontend(r, pf, routes);
	} else {
		fe = frontend_new(e, pf->config, backend_at(r, pf->backend), routes);
		assert_non_null(fe);
		list_push_back(&e->frontends, &fe->link);
	}
	for (size_t i = 0; i < pf->bind_count; i++) {
		const struct plan_bind *b = &pf->binds[i];

		if (b->what == PLAN_ADDED)
			(void)add_endpoint(r, fe, b);
		else if (b->what == PLAN_REMOVED)
			entries_leave(e, b->live, now_ns);
		else
			assert_int_equal(entries_stay(e, b->live), 0);
	}
}

/* As a reload does, but that no socket is bound. */
static void apply_plan_by_hand(struct plan_rig *r, int64_t now_ns)
{
	for (size_t i = 0; i < r->plan.frontend_count; i++)
		apply_frontend(r, &r->plan.frontends[i], now_ns);
	for (size_t i = 0; i < r->plan.frontend_count; i++)
		if (r->plan.frontends[i].what == PLAN_REMOVED)
			entries_remove_frontend(&r->engine.entries, r->plan.frontends[i].live, now_ns);
	plan_free(&r->plan);
}

static struct text draw_entries(void)
{
	struct text out;
	const bool swapped = draw(2) == 0;

	text_init(&out);
	draw_frontends(&out);
	for (unsigned i = 0; i < 2; i++)
		text_printf(&out, "[backend %s]\nserver a = 10.1.0.1:1\n",
			    (i == 0) == swapped ? "app" : "other");
	assert_false(out.failed);
	return out;
}

/* Sockets leave meanwhile, are taken over, and stay after all. */
static void plan_that_was_applied_leaves_nothing_to_do(void **state)
{
	struct text first = draw_entries();
	int64_t now_ns = 1;
	struct plan_rig r;

	(void)state;
	rig_open(&r, first.bytes);
	for (unsigned i = 0; i < PAIRS; i++) {
		struct text next = draw_entries();

		rig_plan(&r, next.bytes);
		check_frontends(&r.plan, &r.engine);
		apply_plan_by_hand(&r, now_ns);
		rig_plan(&r, next.bytes);
		check_frontends(&r.plan, &r.engine);
		assert_described(&r.plan, "nothing has changed");
		text_free(&next);
		now_ns += (int64_t)draw(4) * 500 * 1000 * 1000;
		if (draw(2) == 0)
			(void)engine_wake(&r.engine, now_ns);
	}
	rig_close(&r);
	text_free(&first);
}

/* ---- without memory ---- */

static void plan_without_memory_is_empty_and_leaves_nothing(void **state)
{
	struct text now = draw_config(), next = draw_config();
	struct plan_rig r;
	struct plan_input in;
	long failures = 0;
	int err = -ENOMEM;

	(void)state;
	rig_open(&r, now.bytes);
	rig_plan(&r, next.bytes);
	plan_free(&r.plan);
	in = (struct plan_input){.engine = &r.engine,
				 .log = r.log,
				 .next = r.next,
				 .started = &r.now->global,
				 .now = &r.now->global};
	while (err != 0) {
		const long before = allocated;

		fail_allocations_from(failures);
		err = plan_make(&r.plan, &in, r.why, sizeof(r.why));
		fail_allocations_from(-1);
		if (err == 0)
			break;
		assert_int_equal(err, -ENOMEM);
		assert_int_equal(allocated, before);
		assert_null(r.plan.next);
		assert_int_equal(r.plan.backend_count + r.plan.frontend_count + r.plan.log_count, 0);
		failures++;
	}
	assert_true(failures > 10);
	check_frontends(&r.plan, &r.engine);
	rig_close(&r);
	text_free(&now);
	text_free(&next);
}

/* ---- large ---- */

static int64_t cpu_ns(void)
{
	struct timespec t;

	assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), 0);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* With `changed`, every other server has another weight and another address comes. */
static struct text large_config(bool changed)
{
	struct text out;

	text_init(&out);
	for (unsigned i = 0; i < BACKENDS_LARGE; i++) {
		text_printf(&out, "[listen l%u]\nbind = 10.0.0.1:%u\nbind = 10.0.0.2:%u\n", i, 1000 + i,
			    1000 + i + (changed ? 1000 : 0));
		for (unsigned k = 0; k < SERVERS_LARGE; k++)
			text_printf(&out, "server s%u = 10.1.0.%u:%u weight=%u\n", k, k, 1000 + i,
				    changed && k % 2 == 0 ? 2 : 1);
	}
	assert_false(out.failed);
	return out;
}

static void thousand_servers_are_planned_at_once(void **state)
{
	struct text now = large_config(false), next = large_config(true);
	struct plan_input in;
	struct plan_rig r;
	int64_t took_ns = INT64_MAX;

	(void)state;
	rig_open(&r, now.bytes);
	rig_plan(&r, next.bytes);
	in = (struct plan_input){.engine = &r.engine,
				 .log = r.log,
				 .next = r.next,
				 .started = &r.now->global,
				 .now = &r.now->global};
	/* The shortest counts: others may have met an interrupt. */
	for (int i = 0; i < 5; i++) {
		const int64_t began_ns = cpu_ns();

		plan_free(&r.plan);
		assert_int_equal(plan_make(&r.plan, &in, r.why, sizeof(r.why)), 0);
		const int64_t once_ns = cpu_ns() - began_ns;

		took_ns = once_ns < took_ns ? once_ns : took_ns;
	}
	print_message("planned in %lld us\n", (long long)took_ns / 1000);
	assert_true(took_ns < INT64_C(100000000)); /* far more than it takes */
	assert_described(&r.plan, "200 addresses added, 200 addresses removed, 600 servers changed");
	rig_close(&r);
	text_free(&now);
	text_free(&next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plans_of_any_pair_are_complete),
		cmocka_unit_test(plan_that_was_applied_leaves_nothing_to_do),
		cmocka_unit_test(plan_without_memory_is_empty_and_leaves_nothing),
		cmocka_unit_test(thousand_servers_are_planned_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
