/* SPDX-License-Identifier: MIT
 *
 * test_plan_sets.c - what a file means for sets of servers, and for the servers that they have.
 *
 * Linked with --wrap of the allocator, so that each allocation can fail in turn, and all are counted.
 */
#include "../base/alloc_fail.h"
#include "plan_rig.h"
#include "weir/balance/server_set.h"

#define WEB  "[frontend web]\nbind = :80\ndefault-backend = app\n"
#define APP  "[backend app]\n"
#define A    "server a = 10.1.0.1:1\n"
#define POD  "servers pod = dns://app.test:80 max=3\n"
#define SRV  "servers srv = srv://_a._tcp.test\n"
#define BASE WEB APP A POD SRV

static struct plan_rig r;
static struct server_updates updates;

static void nothing_at_end(void *arg)
{
	(void)arg;
}

static void nothing_at(void *arg, int64_t at_ns)
{
	(void)arg;
	(void)at_ns;
}

static struct backend *app(void)
{
	return r.engine.backends[0];
}

/* The name of the set has these hosts of 10.2.0.0/24. */
static void feed(struct server_set *set, const unsigned *hosts, size_t count)
{
	struct set_address *list = calloc(count, sizeof(*list));

	assert_non_null(list);
	for (size_t i = 0; i < count; i++) {
		list[i].weight = (uint16_t)(10 * (i + 1));
		list[i].addr.len = sizeof(list[i].addr.in);
		list[i].addr.in.sin_family = AF_INET;
		list[i].addr.in.sin_port = htons(80);
		list[i].addr.in.sin_addr.s_addr = htonl(0x0a020000u + hosts[i]);
	}
	server_set_answer(&updates, set, NULL, list, count);
	server_updates_publish(&updates);
}

static int setup(void **state)
{
	static const struct server_updates_loop loop = {.at_end = nothing_at_end, .at = nothing_at};

	(void)state;
	rig_open(&r, BASE);
	server_updates_init(&updates, r.engine.backends, r.engine.backend_count, &loop);
	feed(server_set_at(app()->sets.next), (const unsigned[]){1, 2}, 2);
	feed(server_set_at(app()->sets.next->next), (const unsigned[]){7, 8}, 2);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	until_failure = -1;
	server_updates_free(&updates);
	rig_close(&r);
	return 0;
}

/* The plan for these lines of the backend, and its description. */
static void means(const char *lines, const char *servers, const char *described)
{
	char text[1024], shown[1024];

	(void)snprintf(text, sizeof(text), WEB APP "%s", lines);	       /* both fit */
	(void)snprintf(shown, sizeof(shown), "web kept: *:80 kept;\napp kept:%s\n", servers);
	rig_plan(&r, text);
	assert_plan(&r.plan, shown);
	assert_described(&r.plan, described);
}

static void a_line_that_stays_keeps_its_members(void **state)
{
	(void)state;
	means(POD SRV A, " pod kept (set); srv kept (set); a kept; pod1 kept (member); pod2 kept (member); "
			 "srv1 kept (member); srv2 kept (member);",
	      "nothing has changed");
	assert_true(plan_is_empty(&r.plan));
}

static void a_changed_line_changes_its_members(void **state)
{
	(void)state;
	means(A "servers pod = dns://app.test:80 max=3 weight=9\n" SRV,
	      " a kept; pod changed (set); srv kept (set); "
	      "pod1 changed (member); pod2 changed (member); srv1 kept (member); "
	      "srv2 kept (member);",
	      "server app/pod changed");
	assert_int_equal(r.plan.backends[0].servers[3].config->weight, 9);
	assert_int_equal(r.plan.backends[0].servers[3].config->set, CONFIG_SET_NONE);
	means(A "servers pod = dns://app.test:80 max=2\n" SRV,
	      " a kept; pod changed (set); srv kept (set); "
	      "pod1 kept (member); pod2 kept (member); srv1 kept (member); "
	      "srv2 kept (member);",
	      "server app/pod changed");
	means(A POD "servers srv = srv://_a._tcp.test maxconn=5\n",
	      " a kept; pod kept (set); srv changed (set); "
	      "pod1 kept (member); pod2 kept (member); srv1 changed (member); "
	      "srv2 changed (member);",
	      "server app/srv changed");
	assert_int_equal(r.plan.backends[0].servers[5].config->weight, 10); /* of its record */
	assert_int_equal(r.plan.backends[0].servers[6].config->weight, 20);
}

static void a_line_that_goes_takes_its_members(void **state)
{
	(void)state;
	means(A SRV, " a kept; srv kept (set); pod removed (set); "
	      "pod1 removed (member); pod2 removed (member); srv1 kept (member); "
		     "srv2 kept (member);",
	      "server app/pod removed");
	means(A, " a kept; pod removed (set); srv removed (set); "
	      "pod1 removed (member); pod2 removed (member); srv1 removed (member); srv2 removed (member);",
	      "servers app/pod and app/srv removed");
	means(A "servers pod = dns://app.test:81 max=3\n" SRV,
	      " a kept; pod added; srv kept (set); pod removed (set); "
	      "pod1 removed (member); pod2 removed (member); srv1 kept (member); "
	      "srv2 kept (member);",
	      "server app/pod added, server app/pod removed");
	means(A "servers pod = srv://app.test max=3\n" SRV,
	      " a kept; pod added; srv kept (set); pod removed (set); "
	      "pod1 removed (member); pod2 removed (member); srv1 kept (member); "
	      "srv2 kept (member);",
	      "server app/pod added, server app/pod removed");
}

static void a_server_may_take_the_name_of_a_member_that_goes(void **state)
{
	(void)state;
	means(A SRV "server pod1 = 10.2.0.1:80\n",
	      " a kept; srv kept (set); pod1 added; pod removed (set); "
	      "pod1 removed (member); pod2 removed (member); srv1 kept (member); "
	      "srv2 kept (member);",
	      "server app/pod1 added, server app/pod removed");
}

static void a_plan_without_memory_leaves_nothing_behind(void **state)
{
	const long before = allocated;
	int failures = 0;

	(void)state;
	for (long n = 0;; n++) {
		const struct plan_input in = {.next = r.now, .started = &r.now->global, .now = &r.now->global,
					      .engine = &r.engine, .log = r.log};
		char why[LOG_RECORD_MAX];
		struct plan p;
		int err;

		until_failure = n;
		err = plan_make(&p, &in, why, sizeof(why));
		until_failure = -1;
		plan_free(&p);
		assert_int_equal(allocated, before);
		if (err == 0)
			break;
		failures++;
	}
	assert_true(failures > 5);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_line_that_stays_keeps_its_members),
		TEST(a_changed_line_changes_its_members),
		TEST(a_line_that_goes_takes_its_members),
		TEST(a_server_may_take_the_name_of_a_member_that_goes),
		TEST(a_plan_without_memory_leaves_nothing_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
