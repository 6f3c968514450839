/* SPDX-License-Identifier: MIT
 *
 * test_log.c - lines without a ring, levels, limits, escapes; and a ring with one thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "log_take.h"
#include "weir/base/log.h"

struct fixture {
	struct log_ring *ring;
	int wakes;
	int stderr_fd; /* the real one */
	int pipe_rd;
};

static void count_wake(void *arg)
{
	struct fixture *f = arg;

	f->wakes++;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int fds[2];

	assert_non_null(f);
	f->ring = log_ring_new(count_wake, f);
	assert_non_null(f->ring);
	assert_int_equal(pipe(fds), 0);
	f->pipe_rd = fds[0];
	f->stderr_fd = dup(STDERR_FILENO);
	assert_true(dup2(fds[1], STDERR_FILENO) >= 0);
	close(fds[1]);
	log_set_level(LOG_LEVEL_DEBUG);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	log_use_ring(NULL);
	(void)dup2(f->stderr_fd, STDERR_FILENO);
	close(f->stderr_fd);
	close(f->pipe_rd);
	log_ring_free(f->ring);
	free(f);
	return 0;
}

/* Everything that went to stderr; the write end is closed by it. */
static const char *said(struct fixture *f, char *buf, size_t room)
{
	size_t len = 0;
	ssize_t n;

	(void)dup2(f->stderr_fd, STDERR_FILENO);
	while (len < room - 1 && (n = read(f->pipe_rd, buf + len, room - 1 - len)) > 0)
		len += (size_t)n;
	buf[len] = '\0';
	return buf;
}

/* Takes one record, which must be there, as "LEVEL TEXT". */
static const char *take(struct fixture *f, char *buf, size_t room)
{
	char text[LOG_RECORD_MAX];
	enum log_level level = LOG_LEVEL_DEBUG;
	int64_t wall_ns = 0;
	size_t len = log_take(f->ring, &level, &wall_ns, text, sizeof(text));

	assert_true(len > 0);
	assert_int_equal(len, strlen(text));
	(void)snprintf(buf, room, "%d %s", (int)level, text);
	return buf;
}

static void assert_empty(struct fixture *f)
{
	char text[64];
	enum log_level level;
	int64_t wall_ns;

	assert_int_equal(log_take(f->ring, &level, &wall_ns, text, sizeof(text)), 0);
}

static size_t format_pair(enum log_style style, const void *body, size_t len, char *out, size_t room)
{
	int pair[2];

	assert_int_equal(style, LOG_STYLE_TEXT);
	assert_int_equal(len, sizeof(pair));
	memcpy(pair, body, sizeof(pair));
	return (size_t)snprintf(out, room, "%d+%d", pair[0], pair[1]);
}

static size_t format_nothing(enum log_style style, const void *body, size_t len, char *out, size_t room)
{
	(void)style;
	(void)body;
	(void)len;
	(void)room;
	out[0] = '\0';
	return 0;
}

static size_t format_checks_alignment(enum log_style style, const void *body, size_t len, char *out,
				      size_t room)
{
	const unsigned odd = (unsigned)((uintptr_t)body % _Alignof(max_align_t));

	(void)style;
	return (size_t)snprintf(out, room, "%zu:%u", len, odd);
}

static void without_a_ring_lines_go_to_stderr_with_their_level(void **state)
{
	struct fixture *f = *state;
	const int pair[2] = {3, 4};
	char buf[256];

	log_line(LOG_LEVEL_ALERT, "the %s is on fire", "house");
	log_record(LOG_LEVEL_INFO, format_pair, pair, sizeof(pair));
	assert_string_equal(said(f, buf, sizeof(buf)),
			    "weir: alert: the house is on fire\nweir: info: 3+4\n");
}

static void line_longer_than_a_record_is_cut_and_says_so(void **state)
{
	struct fixture *f = *state;
	char longer[3 * LOG_RECORD_MAX];
	char buf[4 * LOG_RECORD_MAX];

	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	log_use_ring(f->ring);
	log_line(LOG_LEVEL_ERROR, "%s", longer);
	(void)take(f, buf, sizeof(buf));
	assert_int_equal(strlen(buf), 2 + LOG_RECORD_MAX - 1);
	assert_string_equal(buf + strlen(buf) - 4, "a...");
	assert_empty(f);
	log_use_ring(NULL);
	log_line(LOG_LEVEL_ERROR, "%s", longer);
	(void)said(f, buf, sizeof(buf));
	assert_string_equal(buf + strlen(buf) - 5, "a...\n");
}

static void records_below_the_level_are_not_made(void **state)
{
	struct fixture *f = *state;
	char buf[64];

	log_use_ring(f->ring);
	log_set_level(LOG_LEVEL_WARNING);
	assert_true(log_wants(LOG_LEVEL_WARNING));
	assert_false(log_wants(LOG_LEVEL_NOTICE));
	log_line(LOG_LEVEL_NOTICE, "no");
	log_line(LOG_LEVEL_WARNING, "yes");
	assert_string_equal(take(f, buf, sizeof(buf)), "4 yes");
	assert_empty(f);
}

static void records_come_out_in_order_with_level_and_time(void **state)
{
	struct fixture *f = *state;
	const int pair[2] = {1, 2};
	const int64_t before = clock_wall_ns();
	enum log_level level;
	int64_t wall_ns;
	char buf[64];

	log_use_ring(f->ring);
	log_line(LOG_LEVEL_INFO, "first");
	log_record(LOG_LEVEL_DEBUG, format_pair, pair, sizeof(pair));
	log_line(LOG_LEVEL_ERROR, "third");
	assert_string_equal(take(f, buf, sizeof(buf)), "6 first");
	assert_string_equal(take(f, buf, sizeof(buf)), "7 1+2");
	assert_int_equal(log_take(f->ring, &level, &wall_ns, buf, sizeof(buf)), 5);
	assert_true(wall_ns >= before);
	assert_true(wall_ns <= clock_wall_ns());
	assert_empty(f);
}

static void record_without_text_is_passed_over(void **state)
{
	struct fixture *f = *state;
	char buf[64];

	log_use_ring(f->ring);
	log_record(LOG_LEVEL_INFO, format_nothing, NULL, 0);
	log_line(LOG_LEVEL_INFO, "something");
	log_record(LOG_LEVEL_INFO, format_nothing, NULL, 0);
	assert_string_equal(take(f, buf, sizeof(buf)), "6 something");
	assert_empty(f);
}

static void body_is_aligned_for_any_type(void **state)
{
	struct fixture *f = *state;
	uint8_t body[LOG_RECORD_MAX] = {0};
	char buf[64];
	char want[64];

	log_use_ring(f->ring);
	for (size_t len = 0; len <= sizeof(body); len++) {
		log_record(LOG_LEVEL_INFO, format_checks_alignment, body, len);
		(void)snprintf(want, sizeof(want), "6 %zu:0", len);
		assert_string_equal(take(f, buf, sizeof(buf)), want);
	}
}

static void sleeping_reader_is_woken_once_by_the_first_record(void **state)
{
	struct fixture *f = *state;
	char buf[64];

	log_use_ring(f->ring);
	log_line(LOG_LEVEL_INFO, "a");
	assert_int_equal(f->wakes, 1);
	log_line(LOG_LEVEL_INFO, "b");
	assert_int_equal(f->wakes, 1);
	(void)take(f, buf, sizeof(buf));
	(void)take(f, buf, sizeof(buf));
	log_line(LOG_LEVEL_INFO, "c"); /* the reader has not yet seen the ring empty */
	assert_int_equal(f->wakes, 1);
	(void)take(f, buf, sizeof(buf));
	assert_empty(f);
	log_line(LOG_LEVEL_INFO, "d");
	assert_int_equal(f->wakes, 2);
}

static void full_ring_drops_counts_and_goes_on(void **state)
{
	struct fixture *f = *state;
	unsigned made = 0;
	unsigned taken = 0;
	char text[64];
	enum log_level level;
	int64_t wall_ns;

	log_use_ring(f->ring);
	while (log_ring_dropped(f->ring) == 0)
		log_line(LOG_LEVEL_INFO, "line %u", made++);
	/* A head and a short text are less than 64 bytes; more than one in 64 would be waste. */
	assert_true(made > LOG_RING_BYTES / 64);
	log_line(LOG_LEVEL_INFO, "one more");
	assert_int_equal(log_ring_dropped(f->ring), 2);
	while (log_take(f->ring, &level, &wall_ns, text, sizeof(text)) > 0) {
		char want[64];

		(void)snprintf(want, sizeof(want), "line %u", taken++);
		assert_string_equal(text, want);
	}
	assert_int_equal(taken, made - 1);
	log_line(LOG_LEVEL_INFO, "room again");
	assert_int_equal(log_take(f->ring, &level, &wall_ns, text, sizeof(text)), 10);
}

/* Also where 32 bits would wrap around. */
static void a_mark_is_reached_when_all_before_it_is_read(void **state)
{
	struct fixture *f = *state;
	char buf[64];
	uint64_t empty, one, two;

	atomic_store(&f->ring->head, UINT32_MAX - LOG_RING_BYTES / 2 + 1u);
	atomic_store(&f->ring->tail, UINT32_MAX - LOG_RING_BYTES / 2 + 1u);
	log_use_ring(f->ring);
	empty = log_ring_written(f->ring);
	assert_true(log_ring_is_read_to(f->ring, empty));
	for (int i = 0; i < 3000; i++) {
		log_line(LOG_LEVEL_INFO, "one %d", i);
		one = log_ring_written(f->ring);
		log_line(LOG_LEVEL_INFO, "two %d", i);
		two = log_ring_written(f->ring);
		assert_true(empty < one && one < two);
		assert_true(log_ring_is_read_to(f->ring, empty));
		assert_false(log_ring_is_read_to(f->ring, one));
		(void)take(f, buf, sizeof(buf));
		assert_true(log_ring_is_read_to(f->ring, one));
		assert_false(log_ring_is_read_to(f->ring, two));
		(void)take(f, buf, sizeof(buf));
		assert_true(log_ring_is_read_to(f->ring, two));
		empty = two;
	}
	assert_true(empty > UINT32_MAX);
	assert_int_equal(log_ring_dropped(f->ring), 0);
}

static size_t next_length(uint32_t *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return 1 + *seed / 65536u % (LOG_RECORD_MAX - 2);
}

/* Lengths that walk through all positions of the ring's end, many times round, in a ring that is
 * full again and again: what was not dropped comes out as it went in. */
static void records_of_all_lengths_survive_the_end_of_a_full_ring(void **state)
{
	static size_t lengths[65536];
	struct fixture *f = *state;
	size_t put = 0, taken = 0;
	uint32_t seed = 1;
	char text[LOG_RECORD_MAX];
	enum log_level level;
	int64_t wall_ns;

	log_use_ring(f->ring);
	for (int i = 0; i < 30000; i++) {
		const uint64_t dropped = log_ring_dropped(f->ring);
		const size_t len = next_length(&seed);

		memset(text, (int)('a' + put % 26), len);
		text[len] = '\0';
		log_line(LOG_LEVEL_INFO, "%s", text);
		if (log_ring_dropped(f->ring) == dropped)
			lengths[put++] = len;
		/* A few more are put than taken, so the ring fills up and stays near its end. */
		if (next_length(&seed) % 16 == 0)
			continue;
		assert_int_equal(log_take(f->ring, &level, &wall_ns, text, sizeof(text)),
				 lengths[taken]);
		assert_int_equal(text[0], 'a' + taken % 26);
		assert_int_equal(text[lengths[taken] - 1], 'a' + taken % 26);
		taken++;
	}
	assert_true(log_ring_dropped(f->ring) > 0);
	assert_true(put > 20000);
}

static void limit_lets_a_burst_pass_each_second_and_tells_of_the_rest(void **state)
{
	struct fixture *f = *state;
	struct log_limit limit = {0};
	char buf[128];

	log_use_ring(f->ring);
	assert_true(log_limit_ok(&limit, LOG_CAUSE_CONNECT, 7, 5 * NS_PER_SEC, 2));
	assert_true(log_limit_ok(&limit, LOG_CAUSE_CONNECT, 7, 5 * NS_PER_SEC + 1, 2));
	assert_false(log_limit_ok(&limit, LOG_CAUSE_CONNECT, 7, 5 * NS_PER_SEC + 2, 2));
	assert_false(log_limit_ok(&limit, LOG_CAUSE_CONNECT, 7, 6 * NS_PER_SEC - 1, 2));
	assert_empty(f);
	assert_true(log_ring_has_left_out(f->ring));
	assert_true(log_limit_ok(&limit, LOG_CAUSE_CONNECT, 7, 6 * NS_PER_SEC, 2));
	assert_string_equal(take(f, buf, sizeof(buf)),
			    "5 2 more lines were left out: failed connects to servers");
	assert_true(log_limit_ok(&limit, LOG_CAUSE_CONNECT, 7, 6 * NS_PER_SEC, 2));
	assert_empty(f); /* told once */
	assert_false(log_ring_has_left_out(f->ring));
}

/* Two servers that fail, or one in two ways: none of the first lines is held back by the other. */
static void the_first_line_of_each_kind_passes_and_counts_are_of_a_cause(void **state)
{
	struct fixture *f = *state;
	struct log_limit limit = {0}, other = {0};
	char buf[512];

	log_use_ring(f->ring);
	for (uint32_t key = 0; key < LOG_LIMIT_KEYS; key++)
		assert_true(log_limit_ok(&limit, LOG_CAUSE_CONNECT, key, 5 * NS_PER_SEC, 1));
	assert_true(log_limit_ok(&other, LOG_CAUSE_ACCEPT, 0, 5 * NS_PER_SEC, 1));
	for (uint32_t key = 0; key < LOG_LIMIT_KEYS + 3; key++)
		assert_false(log_limit_ok(&limit, LOG_CAUSE_CONNECT, key, 5 * NS_PER_SEC, 1));
	assert_false(log_limit_ok(&other, LOG_CAUSE_ACCEPT, 0, 5 * NS_PER_SEC, 1));
	assert_empty(f);
	/* A kind that was held back has its line in the next second, and the count is that of its cause. */
	assert_true(log_limit_ok(&limit, LOG_CAUSE_CONNECT, LOG_LIMIT_KEYS + 2, 6 * NS_PER_SEC, 1));
	assert_string_equal(take(f, buf, sizeof(buf)),
			    "5 8 more lines were left out: failed connects to servers");
	assert_empty(f);
	assert_int_equal(log_ring_take_left_out(f->ring, LOG_CAUSE_ACCEPT), 1);
	assert_false(log_ring_has_left_out(f->ring));
}

static void what_was_left_out_is_an_object_too(void **state)
{
	const struct log_left_out one = {LOG_CAUSE_SHORTAGE, 1};
	const struct log_entry e = log_entry_of_left_out(0, &one);
	char out[256];

	(void)state;
	(void)log_entry_format(&e, LOG_STYLE_JSON, out, sizeof(out));
	assert_string_equal(out, "\"event\":\"left_out\",\"cause\":\"shortage\",\"count\":1,"
				 "\"message\":\"1 more line was left out: "
				 "resource shortages on this machine\"");
}

static void first_line_that_is_left_out_wakes_a_sleeping_reader_and_is_taken_once(void **state)
{
	struct fixture *f = *state;
	struct log_limit limit = {0};

	log_use_ring(f->ring);
	assert_empty(f); /* quiet from here on */
	assert_true(log_limit_ok(&limit, LOG_CAUSE_CONNECT, 7, 5 * NS_PER_SEC, 1));
	assert_int_equal(f->wakes, 0); /* its line would have */
	assert_false(log_limit_ok(&limit, LOG_CAUSE_CONNECT, 7, 5 * NS_PER_SEC, 1));
	assert_false(log_limit_ok(&limit, LOG_CAUSE_CONNECT, 7, 5 * NS_PER_SEC, 1));
	assert_int_equal(f->wakes, 1);
	assert_int_equal(log_ring_take_left_out(f->ring, LOG_CAUSE_CONNECT), 2);
	assert_int_equal(log_ring_take_left_out(f->ring, LOG_CAUSE_CONNECT), 0);
	assert_true(log_limit_ok(&limit, LOG_CAUSE_CONNECT, 7, 6 * NS_PER_SEC, 1));
	assert_empty(f); /* the reader has told it */
	/* A thread without a ring tells it by itself. */
	log_use_ring(NULL);
	assert_false(log_limit_ok(&limit, LOG_CAUSE_CONNECT, 7, 6 * NS_PER_SEC, 1));
	assert_true(log_limit_ok(&limit, LOG_CAUSE_CONNECT, 7, 7 * NS_PER_SEC, 1));
}

static void text_of_any_bytes_is_one_printable_line(void **state)
{
	struct fixture *f = *state;
	char buf[256];

	log_use_ring(f->ring);
	log_line(LOG_LEVEL_INFO, "a\nb\x1b[2J\r'\"\\\xc3\xa4");
	assert_string_equal(take(f, buf, sizeof(buf)), "6 a\\x0ab\\x1b[2J\\x0d'\"\\\\xc3\\xa4");
}

static void record_is_made_in_each_style_from_one_place(void **state)
{
	struct fixture *f = *state;
	struct log_entry e;
	char text[256], json[256];
	size_t text_len, json_len;

	log_use_ring(f->ring);
	log_line(LOG_LEVEL_WARNING, "the \"%s\" is\n\\out", "cat");
	assert_true(log_ring_peek(f->ring, &e));
	assert_true(log_ring_peek(f->ring, &e)); /* it stays until it is removed */
	assert_int_equal(e.level, LOG_LEVEL_WARNING);
	text_len = log_entry_format(&e, LOG_STYLE_TEXT, text, sizeof(text));
	json_len = log_entry_format(&e, LOG_STYLE_JSON, json, sizeof(json));
	assert_int_equal(text_len, strlen(text));
	assert_int_equal(json_len, strlen(json));
	assert_string_equal(text, "the \"cat\" is\\x0a\\out");
	assert_string_equal(json,
			    "\"event\":\"message\",\"message\":\"the \\\"cat\\\" is\\\\x0a\\\\out\"");
	log_ring_pop(f->ring);
	assert_empty(f);
}

static void escape_leaves_no_byte_that_could_harm_a_line(void **state)
{
	char out[64];

	(void)state;
	log_escape("a\n\"b'\\\x7f\xff ~", 10, out, sizeof(out));
	assert_string_equal(out, "a\\x0a\\x22b\\x27\\x5c\\x7f\\xff ~");
	log_escape("a\0b", 3, out, sizeof(out));
	assert_string_equal(out, "a\\x00b");
}

static void escape_is_cut_between_escapes_and_always_ends(void **state)
{
	char out[6] = "zzzzz";

	(void)state;
	log_escape("ab\n", 3, out, 6);
	assert_string_equal(out, "ab");
	log_escape("a\nb", 3, out, 6);
	assert_string_equal(out, "a\\x0a");
	log_escape("abcdefgh", 8, out, 6);
	assert_string_equal(out, "abcde");
	log_escape("abc", 3, out, 1);
	assert_string_equal(out, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void a_word_is_of_one_level_and_back(void **state)
{
	enum log_level level = LOG_LEVEL_INFO;

	(void)state;
	assert_true(log_level_of_word("alert", &level));
	assert_int_equal(level, LOG_LEVEL_ALERT);
	assert_true(log_level_of_word("debug", &level));
	assert_int_equal(level, LOG_LEVEL_DEBUG);
	assert_string_equal(log_level_word(LOG_LEVEL_WARNING), "warning");
	assert_false(log_level_of_word("warn", &level));
	assert_int_equal(level, LOG_LEVEL_DEBUG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_ring_lines_go_to_stderr_with_their_level),
		TEST(line_longer_than_a_record_is_cut_and_says_so),
		TEST(records_below_the_level_are_not_made),
		TEST(records_come_out_in_order_with_level_and_time),
		TEST(record_without_text_is_passed_over),
		TEST(body_is_aligned_for_any_type),
		TEST(sleeping_reader_is_woken_once_by_the_first_record),
		TEST(full_ring_drops_counts_and_goes_on),
		TEST(a_mark_is_reached_when_all_before_it_is_read),
		TEST(records_of_all_lengths_survive_the_end_of_a_full_ring),
		TEST(limit_lets_a_burst_pass_each_second_and_tells_of_the_rest),
		TEST(the_first_line_of_each_kind_passes_and_counts_are_of_a_cause),
		TEST(what_was_left_out_is_an_object_too),
		TEST(first_line_that_is_left_out_wakes_a_sleeping_reader_and_is_taken_once),
		TEST(text_of_any_bytes_is_one_printable_line),
		TEST(record_is_made_in_each_style_from_one_place),
		cmocka_unit_test(a_word_is_of_one_level_and_back),
		cmocka_unit_test(escape_leaves_no_byte_that_could_harm_a_line),
		cmocka_unit_test(escape_is_cut_between_escapes_and_always_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
