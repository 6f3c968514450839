/* SPDX-License-Identifier: MIT
 *
 * test_process_figures.c - what the process publishes about itself, and the ports of its servers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "weir/stats/port_use.h"
#include "weir/stats/process_figures.h"
#include "weir/stats/stat_pace.h"
#include "../engine/small_engine.h"

#define FIGURES_MAX 64

static struct small_config config;
static struct addr sources[3];
static struct engine engine;
static struct stat_pace pace;
static struct process_source source = {&engine, &pace};
static const struct figure *rows[FIGURES_MAX];
static uint64_t values[FIGURES_MAX];
static size_t count;

static void no_news(void *arg)
{
	(void)arg;
}

static int setup(void **state)
{
	(void)state;
	small_config_init(&config);
	memset(sources, 0, sizeof(sources));
	for (unsigned i = 0; i < 3; i++) {
		sources[i].in.sin_family = AF_INET;
		sources[i].len = sizeof(sources[i].in);
	}
	stat_pace_init(&pace, clock_mono_ns(), clock_process_ns());
	return 0;
}

static void open_engine(void)
{
	small_engine_open(&engine, &config.config, 1, no_news);
	small_engine_stand_in(&engine);
	(void)small_engine_worker(&engine, 0);
}

static int teardown(void **state)
{
	(void)state;
	atomic_store(&first_server(&engine)->sessions, 0);
	engine_free(&engine);
	return 0;
}

static void keep(void *to, const struct figure *row, uint64_t value)
{
	(void)to;
	assert_true(count < FIGURES_MAX);
	rows[count] = row;
	values[count++] = value;
}

static uint64_t figure_named(const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(rows[i]->name, name) == 0)
			return values[i];
	fail_msg("no figure is named %s", name);
	return 0;
}

static void publish(void)
{
	count = 0;
	process_publish(&source, keep, NULL);
}

static void every_figure_has_a_name_and_a_help_text_of_its_own(void **state)
{
	(void)state;
	open_engine();
	publish();
	assert_true(count > 10);
	for (size_t i = 0; i < count; i++) {
		assert_true(strlen(rows[i]->help) > 3);
		for (size_t k = 0; k < i; k++) {
			assert_string_not_equal(rows[i]->name, rows[k]->name);
			assert_string_not_equal(rows[i]->help, rows[k]->help);
		}
	}
	assert_int_equal(figure_named("ports_range"), port_range());
	assert_int_equal(figure_named("idle_percent"), 100);
	assert_int_equal(figure_named("pipes_made"), 0);
}

static void ports_in_use_are_the_sessions_of_a_server(void **state)
{
	struct port_use use;

	(void)state;
	open_engine();
	atomic_store(&first_server(&engine)->sessions, 250);
	assert_true(port_use_of_server(first_server(&engine), 1000, &use));
	assert_int_equal(use.used, 250);
	assert_int_equal(use.available, 1000);
	assert_int_equal(port_use_percent(&use), 25);
	use = port_use_most(&engine, 1000);
	assert_int_equal(use.used, 250);
	assert_false(port_use_of_server(first_server(&engine), 0, &use)); /* unknown */
	publish();
	assert_int_equal(figure_named("ports_used"), port_range() > 0 ? 250 : 0);
}

static void each_source_has_ports_of_its_own(void **state)
{
	struct port_use use;

	(void)state;
	sources[1].in.sin_port = htons(7000);
	sources[2].in6.sin6_family = AF_INET6; /* of no use for this server */
	config.server.source.list = sources;
	config.server.source.count = 3;
	open_engine();
	assert_true(port_use_of_server(first_server(&engine), 1000, &use));
	assert_int_equal(use.used, 0);
	assert_int_equal(use.available, 1001);
	assert_int_equal(port_use_percent(&use), 0);
}

static void ports_of_clients_are_not_ours(void **state)
{
	struct port_use use;

	(void)state;
	config.server.source.client = true;
	open_engine();
	assert_false(port_use_of_server(first_server(&engine), 1000, &use));
	use = port_use_most(&engine, 1000);
	assert_int_equal(use.available, 0);
	assert_int_equal(port_use_percent(&use), 0);
}

#define FIGURES_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIGURES_TEST(every_figure_has_a_name_and_a_help_text_of_its_own),
		FIGURES_TEST(ports_in_use_are_the_sessions_of_a_server),
		FIGURES_TEST(each_source_has_ports_of_its_own),
		FIGURES_TEST(ports_of_clients_are_not_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
