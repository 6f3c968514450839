/* SPDX-License-Identifier: MIT
 *
 * test_log_layout.c - the shape of a line for each kind of reader.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "logging/log_layout.h"
#include "weir/account/session_record.h"

#define NOON_NS (INT64_C(1795255200123) * 1000000) /* 2026-11-21T10:00:00.123Z */

/* The line of a sentence; of a static buffer, with NUL for its newline. */
static const char *line_of(const struct log_layout *l, enum log_level level, const char *sentence)
{
	static char out[LOG_LINE_MAX];
	const struct log_entry e = log_entry_of_text(level, NOON_NS, sentence);
	char text[LOG_TEXT_MAX];
	size_t len;

	(void)log_entry_format(&e, l->style, text, sizeof(text));
	len = log_layout_line(l, &e, text, out);
	assert_int_equal(out[len - 1], '\n');
	out[len - 1] = '\0';
	assert_int_equal(strlen(out), len - 1);
	assert_null(strchr(out, '\n'));
	return out;
}

static void text_has_what_its_reader_wants_before_it(void **state)
{
	struct log_layout l = {.head = LOG_HEAD_TIME, .facility = 3, .host = "box"};
	char want[128];

	(void)state;
	assert_string_equal(line_of(&l, LOG_LEVEL_WARNING, "hello"),
			    "2026-11-21T10:00:00.123Z warning hello");
	l.head = LOG_HEAD_PRIORITY;
	assert_string_equal(line_of(&l, LOG_LEVEL_INFO, "hello"), "<6>hello");
	l.head = LOG_HEAD_SYSLOG_LOCAL;
	(void)snprintf(want, sizeof(want), "<30>Nov 21 10:00:00 weir[%d]: hello", (int)getpid());
	assert_string_equal(line_of(&l, LOG_LEVEL_INFO, "hello"), want);
	l.head = LOG_HEAD_SYSLOG;
	l.facility = 16;
	(void)snprintf(want, sizeof(want), "<131>1 2026-11-21T10:00:00.123Z box weir %d - - hello",
		       (int)getpid());
	assert_string_equal(line_of(&l, LOG_LEVEL_ERROR, "hello"), want);
}

static void json_is_an_object_behind_the_same_heads(void **state)
{
	static const char object[] = "{\"ts\":\"2026-11-21T10:00:00.123Z\",\"level\":\"info\","
				     "\"event\":\"message\",\"message\":\"a \\\"b\\\"\"}";
	struct log_layout l = {.head = LOG_HEAD_TIME, .style = LOG_STYLE_JSON, .facility = 3, .host = "box"};
	char want[256];

	(void)state;
	assert_string_equal(line_of(&l, LOG_LEVEL_INFO, "a \"b\""), object);
	l.head = LOG_HEAD_PRIORITY;
	(void)snprintf(want, sizeof(want), "<6>%s", object);
	assert_string_equal(line_of(&l, LOG_LEVEL_INFO, "a \"b\""), want);
	l.head = LOG_HEAD_SYSLOG;
	(void)snprintf(want, sizeof(want), "<30>1 2026-11-21T10:00:00.123Z box weir %d - - %s",
		       (int)getpid(), object);
	assert_string_equal(line_of(&l, LOG_LEVEL_INFO, "a \"b\""), want);
}

static void wake(void *arg)
{
	(void)arg;
}

/* The line of a session, without its newline. */
static void session_line(const struct log_layout *l, char out[static LOG_LINE_MAX])
{
	static const struct config_backend backend = {.name = "app"};
	static const struct config_frontend frontend = {.name = "web"};
	const struct session_record r = {.frontend = &frontend, .backend = &backend, .number = 7};
	struct log_ring *ring = log_ring_new(wake, NULL);
	char text[LOG_TEXT_MAX];
	struct log_entry e;

	assert_non_null(ring);
	log_use_ring(ring);
	session_record_log(&r);
	log_use_ring(NULL);
	assert_true(log_ring_peek(ring, &e));
	e.wall_ns = NOON_NS;
	assert_true(log_layout_has_format(l, &e));
	(void)log_layout_format(l, &e, text, sizeof(text));
	out[log_layout_line(l, &e, text, out) - 1] = '\0';
	log_ring_free(ring);
}

static void a_format_of_ones_own_has_no_time_before_it_unless_a_protocol_wants_it(void **state)
{
	struct log_layout l = {.head = LOG_HEAD_TIME, .facility = 3, .host = "box"};
	char out[LOG_LINE_MAX], want[128];

	(void)state;
	log_layout_set_format(&l, "{frontend} {id}");
	session_line(&l, out);
	assert_string_equal(out, "web 0.7");
	l.head = LOG_HEAD_PRIORITY;
	session_line(&l, out);
	assert_string_equal(out, "<6>web 0.7");
	l.head = LOG_HEAD_SYSLOG_LOCAL;
	(void)snprintf(want, sizeof(want), "<30>Nov 21 10:00:00 weir[%d]: web 0.7", (int)getpid());
	session_line(&l, out);
	assert_string_equal(out, want);
	/* Everything else is as with format=text. */
	l.head = LOG_HEAD_TIME;
	assert_string_equal(line_of(&l, LOG_LEVEL_INFO, "hello"), "2026-11-21T10:00:00.123Z info hello");
	log_layout_set_format(&l, "json");
	assert_int_equal(l.style, LOG_STYLE_JSON);
	assert_null(l.format.text);
}

static void longest_text_fits_behind_the_longest_head(void **state)
{
	struct log_layout l = {.facility = 23};
	char sentence[4 * LOG_TEXT_MAX];

	(void)state;
	memset(sentence, '\n', sizeof(sentence) - 1);
	sentence[sizeof(sentence) - 1] = '\0';
	memset(l.host, 'h', sizeof(l.host) - 1);
	for (l.head = LOG_HEAD_TIME; l.head <= LOG_HEAD_SYSLOG; l.head++) {
		const char *end;

		l.style = LOG_STYLE_TEXT;
		end = strstr(line_of(&l, LOG_LEVEL_WARNING, sentence), "\\x0a...");
		assert_string_equal(end, "\\x0a...");
		l.style = LOG_STYLE_JSON;
		end = strstr(line_of(&l, LOG_LEVEL_WARNING, sentence), "\\\\x0a...\"}");
		assert_string_equal(end, "\\\\x0a...\"}");
	}
}

static void host_is_one_word(void **state)
{
	struct log_layout l;

	(void)state;
	memset(&l, 0, sizeof(l));
	log_layout_find_host(&l);
	assert_true(strlen(l.host) > 0);
	assert_null(strchr(l.host, ' '));
}

static void frame_of_crash_report_is_a_line_without_its_time_and_text(void **state)
{
	struct log_layout l = {.head = LOG_HEAD_TIME, .facility = 3, .host = "box"};
	char frame[CRASH_REPORT_FRAME_MAX], want[CRASH_REPORT_FRAME_MAX];

	(void)state;
	log_layout_frame(&l, frame);
	assert_string_equal(frame, "\1 alert \3\n");
	l.head = LOG_HEAD_SYSLOG_LOCAL;
	log_layout_frame(&l, frame);
	(void)snprintf(want, sizeof(want), "<25>\2 weir[%d]: \3\n", (int)getpid());
	assert_string_equal(frame, want);
	l.head = LOG_HEAD_SYSLOG;
	l.style = LOG_STYLE_JSON;
	memset(l.host, 'h', sizeof(l.host) - 1); /* the longest there is */
	log_layout_frame(&l, frame);
	(void)snprintf(want, sizeof(want),
		       "<25>1 \1 %s weir %d - - {\"ts\":\"\1\",\"level\":\"alert\",\"event\":\"message\","
		       "\"message\":\"\3\"}\n",
		       l.host, (int)getpid());
	assert_string_equal(frame, want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_has_what_its_reader_wants_before_it),
		cmocka_unit_test(json_is_an_object_behind_the_same_heads),
		cmocka_unit_test(a_format_of_ones_own_has_no_time_before_it_unless_a_protocol_wants_it),
		cmocka_unit_test(longest_text_fits_behind_the_longest_head),
		cmocka_unit_test(host_is_one_word),
		cmocka_unit_test(frame_of_crash_report_is_a_line_without_its_time_and_text),
	};

	(void)setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
