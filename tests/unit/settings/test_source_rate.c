/* SPDX-License-Identifier: MIT
 *
 * test_source_rate.c - rate-limit-per-source and limit-exempt, in a whole configuration.
 */
#include "same_config.h"

#include "weir/base/clock.h"
#include "weir/net/source_rates.h"

#define OPEN "[listen a]\nbind = 10.0.0.1:80\nserver a = 10.0.0.2:80\n"

static char *printed(const struct config *c, bool memory)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	if (memory)
		config_print_rate_memory(c, "# ", out);
	else
		config_print(c, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void assert_rate(const char *value, unsigned count, int64_t period_ns, unsigned burst,
			const char *wanted)
{
	char text[256], line[128];
	const struct config_source_rate *r;
	struct loaded l;
	char *all;

	(void)snprintf(text, sizeof(text), OPEN "rate-limit-per-source = %s\n", value);
	(void)snprintf(line, sizeof(line), "\nrate-limit-per-source = %s\n", wanted);
	l = assert_accepted(text);
	r = &l.config->frontends[0].source_rate;
	assert_int_equal(r->count, count);
	assert_int_equal(r->period_ns, period_ns);
	assert_int_equal(r->burst, burst);
	assert_round_trip(l.config);
	all = printed(l.config, false);
	if (strstr(all, line) == NULL)
		fail_msg("'%s' wanted in:\n%s", line, all);
	free(all);
	unload(&l);
}

static void it_is_a_number_in_a_time_with_a_burst(void **state)
{
	(void)state;
	assert_rate("off", 0, 0, 0, "off");
	assert_rate("20/10s", 20, 10 * NS_PER_SEC, 20, "20/10s");
	assert_rate("1_000/1h burst=50", 1000, 3600 * NS_PER_SEC, 50, "1000/1h burst=50");
	assert_rate("5/1m burst=5", 5, 60 * NS_PER_SEC, 5, "5/1m");
	assert_rate("1/1d burst=3_6_4", 1, 86400 * NS_PER_SEC, 364, "1/1d burst=364");
	assert_rate("1/1m30s", 1, 90 * NS_PER_SEC, 1, "1/1m30s");
	assert_rate("1000000/1s", 1000000, NS_PER_SEC, 1000000, "1000000/1s");
}

static void what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *value, *what, *hint;
	} rows[] = {
		{"0/1s", "'0' lets nobody in", "write off for no limit"},
		{"5", "'5' has no time", "20/10s"},
		{"5/", "'5/' has no time", "20/10s"},
		{"5/0", "'0' is no time", "20/10s"},
		{"5/10", "t.ini:4:27: error: '10' has no unit", "as in 10s"},
		{"x/1s", "'x' is not a number of connections", "20/10s"},
		{"-1/1s", "'-1' is not a number of connections", "20/10s"},
		{"5/s", "'s' is not a time", "1000/1h"},
		{"5/1x", "'1x' is not a time", "1000/1h"},
		{"5/25h", "'25h' is too long", "1d"},
		{"1_000_001/1s", "'1_000_001' is too large", "1000000"},
		{"99999999999999999999/1s", "is too large", "1000000"},
		{"1001/1ms", "is too fast", "1000000 connections per second"},
		{"off burst=3", "is off and takes no options", ""},
		{"5/1s burts=3", "has no option 'burts'", "did you mean 'burst'?"},
		{"5/1s 3", "has no option '3'", "weir help rate-limit-per-source"},
		{"5/1s burst=0", "'burst' is 0; allowed: 1 to 1000000", ""},
		{"5/1s burst=1000001", "'burst' is 1000001", ""},
		{"1/1d burst=366", "takes more than a year", "a smaller burst"},
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		/* A limit that failed is no reason to say that limit-exempt has none. */
		(void)snprintf(text, sizeof(text), OPEN "rate-limit-per-source = %s\nlimit-exempt = ::1\n",
			       rows[i].value);
		assert_refused(text, rows[i].what, rows[i].hint, "1 error, 0 warnings", NULL);
	}
	assert_refused(OPEN "limit-exempt = 10.0.0.1/8\n", "t.ini:4:16: error: '10.0.0.1/8'", NULL);
	assert_refused("[backend b]\nserver a = x:1\nrate-limit-per-source = 1/1s\n", "does not belong in",
		       NULL);
}

static void exempt_sources_are_networks(void **state)
{
	struct loaded l = assert_accepted(OPEN "rate-limit-per-source = 1/1s\n"
					  "limit-exempt = 10.0.0.0/8, ::1\nlimit-exempt = 192.0.2.7\n");
	const struct config_frontend *f = &l.config->frontends[0];
	char *text = printed(l.config, false);

	(void)state;
	assert_int_equal(f->exempt_list.count, 3);
	assert_non_null(f->exempt);
	assert_non_null(strstr(text, "\nlimit-exempt = 10.0.0.0/8 ::1 192.0.2.7\n"));
	free(text);
	assert_round_trip(l.config);
	unload(&l);
	l = assert_accepted(OPEN "maxconn-per-source = 1\nlimit-exempt = ::1\n");
	unload(&l);
}

static void without_a_limit_they_have_no_effect(void **state)
{
	struct loaded l = load_text(OPEN "limit-exempt = ::1\nrate-limit = 3\nmaxconn = 5\n");

	(void)state;
	assert_non_null(l.config);
	assert_non_null(strstr(l.said, "t.ini:4:1: warning: 'limit-exempt' has no effect: the section has no "
				       "limit per source"));
	assert_int_equal(count_of(l.said, "warning"), 1);
	unload(&l);
	/* Those of [defaults] are for other sections. */
	l = assert_accepted("[defaults]\nlimit-exempt = ::1\n" OPEN);
	assert_round_trip(l.config);
	unload(&l);
}

static void its_memory_is_told(void **state)
{
	struct loaded l = assert_accepted(OPEN "rate-limit-per-source = 1/1s\n" GOOD);
	char *text = printed(l.config, true);

	(void)state;
	assert_string_equal(text, "# a (t.ini:1): rate-limit-per-source takes up to 3 MiB of memory, for "
				  "100000 sources\n");
	assert_int_equal(config_rate_memory(&l.config->frontends[0]), source_rates_bytes(SOURCE_RATES_MAX));
	assert_int_equal(config_rate_memory(&l.config->frontends[1]), 0);
	free(text);
	unload(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_a_number_in_a_time_with_a_burst),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(exempt_sources_are_networks),
		cmocka_unit_test(without_a_limit_they_have_no_effect),
		cmocka_unit_test(its_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
