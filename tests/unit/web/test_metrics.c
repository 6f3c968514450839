/* SPDX-License-Identifier: MIT
 *
 * test_metrics.c - families, labels and samples, in both forms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "web/metrics.h"

static struct text out;
static struct metrics m;

static void begin(bool openmetrics)
{
	text_free(&out);
	text_init(&out);
	metrics_init(&m, &out, openmetrics);
}

static void assert_text(const char *wanted)
{
	assert_false(out.failed);
	assert_string_equal(out.bytes, wanted);
	text_free(&out);
}

static void a_family_has_one_head_and_its_samples(void **state)
{
	(void)state;
	begin(false);
	metrics_family(&m, "weir_frontend_", "sessions_total", METRIC_COUNTER, "sessions");
	metrics_sample(&m);
	metrics_label(&m, "frontend", "a");
	metrics_value(&m, 1);
	metrics_sample(&m);
	metrics_label(&m, "frontend", "b");
	metrics_label(&m, "x", "y");
	metrics_value(&m, UINT64_MAX);
	metrics_end(&m);
	assert_text("# HELP weir_frontend_sessions_total sessions\n"
		    "# TYPE weir_frontend_sessions_total counter\n"
		    "weir_frontend_sessions_total{frontend=\"a\"} 1\n"
		    "weir_frontend_sessions_total{frontend=\"b\",x=\"y\"} 18446744073709551615\n");
}

static void openmetrics_names_families_without_their_ends(void **state)
{
	(void)state;
	begin(true);
	metrics_family(&m, "weir_process_", "accepted", METRIC_COUNTER, "a");
	metrics_sample(&m);
	metrics_value(&m, 2);
	metrics_family(&m, "weir_", "build_info", METRIC_INFO, "b");
	metrics_sample(&m);
	metrics_label(&m, "version", "1");
	metrics_value(&m, 1);
	metrics_end(&m);
	assert_text("# HELP weir_process_accepted a\n# TYPE weir_process_accepted counter\n"
		    "weir_process_accepted_total 2\n"
		    "# HELP weir_build b\n# TYPE weir_build info\nweir_build_info{version=\"1\"} 1\n"
		    "# EOF\n");
}

static void a_family_without_samples_is_not_there(void **state)
{
	(void)state;
	begin(false);
	metrics_family(&m, "weir_", "a", METRIC_GAUGE, "a");
	metrics_family(&m, "weir_", "b_info", METRIC_INFO, "b");
	metrics_sample(&m);
	metrics_value(&m, 1);
	metrics_end(&m);
	assert_text("# HELP weir_b_info b\n# TYPE weir_b_info gauge\nweir_b_info 1\n");
}

/* The last line of what one sample gives. */
static void assert_sample(const char *name, enum metric_type type, uint64_t value, const char *wanted)
{
	const char *line;

	begin(false);
	metrics_family(&m, "w_", name, type, "h");
	metrics_sample(&m);
	metrics_value(&m, value);
	line = strstr(out.bytes, "\nw_");
	assert_non_null(line);
	assert_string_equal(line + 1, wanted);
}

static void units_become_seconds(void **state)
{
	(void)state;
	assert_sample("a_ns", METRIC_GAUGE, 1500000000, "w_a_seconds 1.500000000\n");
	assert_sample("a_us", METRIC_GAUGE, 7, "w_a_seconds 0.000007\n");
	assert_sample("a_ms", METRIC_GAUGE, 12345, "w_a_seconds 12.345\n");
	assert_sample("a_s", METRIC_GAUGE, 12, "w_a_seconds 12\n");
	assert_sample("a_ns_total", METRIC_COUNTER, 1, "w_a_seconds_total 0.000000001\n");
	assert_sample("a_ns", METRIC_COUNTER, 1, "w_a_seconds_total 0.000000001\n");
	assert_sample("a_bytes", METRIC_GAUGE, 3, "w_a_bytes 3\n");
	assert_sample("bytes_per_s", METRIC_GAUGE, 3, "w_bytes_per_second 3\n");
	assert_sample("sessions", METRIC_GAUGE, 3, "w_sessions 3\n");
}

/* Where the name says seconds already. */
static void a_unit_can_be_given(void **state)
{
	(void)state;
	begin(false);
	metrics_family(&m, "w_", "wait_seconds_total", METRIC_COUNTER, "h");
	metrics_unit(&m, "ns");
	metrics_sample(&m);
	metrics_value(&m, 2500000000);
	metrics_family(&m, "w_", "bytes", METRIC_GAUGE, "h");
	metrics_unit(&m, "bytes");
	metrics_sample(&m);
	metrics_value(&m, 7);
	assert_text("# HELP w_wait_seconds_total h\n# TYPE w_wait_seconds_total counter\n"
		    "w_wait_seconds_total 2.500000000\n"
		    "# HELP w_bytes h\n# TYPE w_bytes gauge\nw_bytes 7\n");
}

static void a_histogram_has_parts(void **state)
{
	(void)state;
	begin(true);
	metrics_family(&m, "w_", "t_seconds", METRIC_HISTOGRAM, "h");
	metrics_unit(&m, "us");
	metrics_sample_part(&m, "_bucket");
	metrics_label(&m, "n", "a");
	metrics_label_limit(&m, 1500000);
	metrics_count(&m, 2);
	metrics_sample_part(&m, "_bucket");
	metrics_label_limit(&m, UINT64_MAX);
	metrics_count(&m, 3);
	metrics_sample_part(&m, "_sum");
	metrics_value(&m, 7);
	metrics_family(&m, "w_", "b", METRIC_HISTOGRAM, "h");
	metrics_sample_part(&m, "_bucket");
	metrics_label_limit(&m, 1023);
	metrics_count(&m, 0);
	assert_text("# HELP w_t_seconds h\n# TYPE w_t_seconds histogram\n"
		    "w_t_seconds_bucket{n=\"a\",le=\"1.500000\"} 2\nw_t_seconds_bucket{le=\"+Inf\"} 3\n"
		    "w_t_seconds_sum 0.000007\n"
		    "# HELP w_b h\n# TYPE w_b histogram\nw_b_bucket{le=\"1023.0\"} 0\n");
}

static void negative_numbers_are_scaled_too(void **state)
{
	(void)state;
	begin(false);
	metrics_family(&m, "w_", "a", METRIC_GAUGE, "h");
	metrics_sample(&m);
	metrics_value_scaled(&m, -1, 0);
	metrics_sample(&m);
	metrics_value_scaled(&m, -1500, 3);
	assert_text("# HELP w_a h\n# TYPE w_a gauge\nw_a -1\nw_a -1.500\n");
}

static void hostile_labels_and_helps_are_escaped(void **state)
{
	(void)state;
	begin(false);
	metrics_family(&m, "w_", "a", METRIC_GAUGE, "x\\y\nz\"");
	metrics_sample(&m);
	metrics_label(&m, "n", "a\"b\\c\nd\\");
	metrics_value(&m, 1);
	assert_text("# HELP w_a x\\\\y\\nz\"\n# TYPE w_a gauge\nw_a{n=\"a\\\"b\\\\c\\nd\\\\\"} 1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_family_has_one_head_and_its_samples),
		cmocka_unit_test(openmetrics_names_families_without_their_ends),
		cmocka_unit_test(a_family_without_samples_is_not_there),
		cmocka_unit_test(units_become_seconds),
		cmocka_unit_test(a_unit_can_be_given),
		cmocka_unit_test(a_histogram_has_parts),
		cmocka_unit_test(negative_numbers_are_scaled_too),
		cmocka_unit_test(hostile_labels_and_helps_are_escaped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
