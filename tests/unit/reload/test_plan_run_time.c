/* SPDX-License-Identifier: MIT
 *
 * test_plan_run_time.c - what a file means for servers that were added, deleted or moved at run time.
 */
#include "plan_rig.h"
#include "weir/balance/run_time.h"

#define WEB  "[frontend web]\nbind = :80\ndefault-backend = app\n"
#define APP  "[backend app]\n"
#define A    "server a = 10.1.0.1:1\n"
#define B    "server b = 10.1.0.2:1\n"
#define BASE WEB APP A B

static const struct mark me = {.wall_ns = 77, .by = 1000};

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

static int setup(void **state)
{
	static const struct server_updates_loop loop = {.at_end = nothing_at_end, .at = nothing_at};

	(void)state;
	rig_open(&r, BASE);
	server_updates_init(&updates, r.engine.backends, r.engine.backend_count, &loop);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	server_updates_free(&updates);
	rig_close(&r);
	return 0;
}

static struct backend *app(void)
{
	return r.engine.backends[0];
}

static struct server *named(const char *name)
{
	for (size_t i = 0; i < app()->server_count; i++)
		if (strcmp(app()->servers[i]->config->name, name) == 0)
			return app()->servers[i];
	fail_msg("there is no server %s", name);
	return NULL;
}

static void add(const char *name, const char *address)
{
	struct config_server config = *app()->servers[0]->config;
	struct server *s;

	(void)snprintf(config.name, sizeof(config.name), "%s", name);
	assert_int_equal(addr_parse(address, &config.addr, NULL, NULL), 0);
	assert_int_equal(run_time_add_server(&updates, app(), &config, &me, &s), 0);
	server_updates_publish(&updates);
}

static void delete(const char *name)
{
	struct server *s = named(name);

	assert_int_equal(server_updates_set_admin(&updates, s, SERVER_ADMIN_MAINT, "by test"), 0);
	assert_int_equal(run_time_delete_server(&updates, s, &me), 0);
	server_updates_publish(&updates);
}

static void move(const char *name, const char *address)
{
	struct addr_spec spec;

	assert_int_equal(addr_parse(address, &spec, NULL, NULL), 0);
	assert_int_equal(run_time_set_addr(&updates, named(name), &spec.addr, &me), 0);
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

static void added_server_stays_until_the_file_names_it(void **state)
{
	(void)state;
	add("x", "10.1.0.7:1");
	means(A B, " a kept; b kept; x kept (added);", "nothing has changed");
	means(B, " b kept; a removed; x kept (added);", "server app/a removed");
	means(A B "server x = 10.1.0.7:1\n", " a kept; b kept; x changed (adopted);", "server app/x changed");
	means(A B "server x = 10.1.0.7:1 weight=9\n", " a kept; b kept; x changed (adopted);",
	      "server app/x changed");
	/* As a server of the file whose address changes. */
	means(A B "server x = 10.1.0.8:1\n", " a kept; b kept; x added; x removed;",
	      "server app/x added, server app/x removed");
	/* It goes with its backend. */
	rig_plan(&r, "[frontend web]\nbind = :80\ndefault-backend = new\n[backend new]\n" A);
	assert_plan(&r.plan, "web changed: *:80 kept;\nnew added: a added;\n"
			     "app removed: a removed; b removed; x removed;\n");
}

static void added_server_is_where_it_was_moved_to(void **state)
{
	(void)state;
	add("x", "10.1.0.7:1");
	move("x", "10.1.0.9:1");
	means(A B "server x = 10.1.0.9:1\n", " a kept; b kept; x changed (adopted);", "server app/x changed");
	means(A B "server x = 10.1.0.7:1\n", " a kept; b kept; x added; x removed;",
	      "server app/x added, server app/x removed");
	means(A B "server x = name:1\n", " a kept; b kept; x added; x removed;",
	      "server app/x added, server app/x removed");
}

static void added_server_with_a_name_is_adopted_by_its_name(void **state)
{
	(void)state;
	add("x", "name:1");
	means(A B "server x = name:1\n", " a kept; b kept; x changed (adopted);", "server app/x changed");
	means(A B "server x = other:1\n", " a kept; b kept; x added; x removed;",
	      "server app/x added, server app/x removed");
}

static void server_of_the_file_is_where_the_file_says(void **state)
{
	(void)state;
	move("a", "10.1.0.9:1");
	means(A B, " a kept; b kept;", "nothing has changed");
	means("server a = 10.1.0.1:1 weight=9\n" B, " a changed; b kept;", "server app/a changed");
	means("server a = 10.1.0.9:1\n" B, " a added; b kept; a removed;",
	      "server app/a added, server app/a removed");
}

static void deleted_server_stays_deleted_until_its_line_changes(void **state)
{
	(void)state;
	delete("a");
	means(A B, " a kept (deleted); b kept;", "nothing has changed");
	means(A "server c = 10.1.0.3:1\n" B, " a kept (deleted); c added; b kept;", "server app/c added");
	means("server a = 10.1.0.1:1 weight=9\n" B, " a added (dropped); b kept;", "server app/a added");
	means("server a = 10.1.0.9:1\n" B, " a added (dropped); b kept;", "server app/a added");
	means(B, " b kept; a kept (forgotten) (dropped);", "nothing has changed");
	/* Elsewhere in the file, it is the same line. */
	means(B "\n\n" A, " b kept; a kept (deleted);", "nothing has changed");
}

static void another_of_the_same_name_is_another(void **state)
{
	(void)state;
	delete("a");
	add("a", "10.1.0.7:1");
	means(A B, " a kept (deleted); b kept; a kept (added);", "nothing has changed");
	means("server a = 10.1.0.7:1\n" B, " a changed (adopted) (dropped); b kept;", "server app/a changed");
	means("server a = 10.1.0.8:1\n" B, " a added (dropped); b kept; a removed;",
	      "server app/a added, server app/a removed");
	means(B, " b kept; a kept (added); a kept (forgotten) (dropped);", "nothing has changed");
}

static void thousands_of_deleted_servers_are_planned_at_once(void **state)
{
	const unsigned count = 4000;
	struct text text;

	(void)state;
	text_init(&text);
	text_printf(&text, WEB APP);
	for (unsigned i = 0; i < count; i++)
		text_printf(&text, "server s%u = 10.1.%u.%u:1\n", i, i / 250, i % 250);
	teardown(NULL);
	rig_open(&r, text.bytes);
	server_updates_init(&updates, r.engine.backends, 1,
			    &(struct server_updates_loop){.at_end = nothing_at_end, .at = nothing_at});
	run_time_begin(&updates); /* one roster for all */
	while (app()->server_count > 1) {
		struct server *s = app()->servers[app()->server_count - 1];

		assert_int_equal(server_updates_set_admin(&updates, s, SERVER_ADMIN_MAINT, ""), 0);
		assert_int_equal(run_time_delete_server(&updates, s, &me), 0);
	}
	assert_int_equal(run_time_end(&updates), 0);
	rig_plan(&r, text.bytes);
	assert_described(&r.plan, "nothing has changed");
	assert_int_equal(r.plan.backends[0].server_count, count);
	text_free(&text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(added_server_stays_until_the_file_names_it),
		TEST(added_server_is_where_it_was_moved_to),
		TEST(added_server_with_a_name_is_adopted_by_its_name),
		TEST(server_of_the_file_is_where_the_file_says),
		TEST(deleted_server_stays_deleted_until_its_line_changes),
		TEST(another_of_the_same_name_is_another),
		TEST(thousands_of_deleted_servers_are_planned_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
