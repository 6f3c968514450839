/* SPDX-License-Identifier: MIT
 *
 * test_agent_words.c - the answers of agents: what each says, however it is cut, and what is no answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "health/agent_words.h"

#define NONE -1

static const struct known {
	const char *answer;
	int admin, health; /* enum server_admin, enum agent_health */
	int percent, maxconn;
	const char *detail;
} known[] = {
	{"\n", NONE, AGENT_SAYS_NOTHING, NONE, NONE, ""},
	{"\r\n", NONE, AGENT_SAYS_NOTHING, NONE, NONE, ""},
	{"up\n", NONE, AGENT_SAYS_UP, NONE, NONE, "via agent : up"},
	{"UP\r", NONE, AGENT_SAYS_UP, NONE, NONE, "via agent : UP"},
	{"down\n", NONE, AGENT_SAYS_DOWN, NONE, NONE, "via agent : down"},
	{"fail # disk \"full\"\n", NONE, AGENT_SAYS_DOWN, NONE, NONE,
	 "via agent : fail (disk \\x22full\\x22)"},
	{"stopped # why\n", NONE, AGENT_SAYS_DOWN, NONE, NONE, "via agent : stopped (why)"},
	{"down x # why\n", NONE, AGENT_SAYS_DOWN, NONE, NONE, "via agent : down (why)"},
	{"up x # why\n", NONE, AGENT_SAYS_UP, NONE, NONE, "via agent : up (x)"},
	{"up 5% # why\n", NONE, AGENT_SAYS_UP, 5, NONE, "via agent : up (why)"},
	{"up 5%x\n", NONE, AGENT_SAYS_UP, NONE, NONE,
	 "via agent : up (Trailing garbage in weight string)"},
	{"ready,up,75%,maxconn:30\n", SERVER_ADMIN_READY, AGENT_SAYS_UP, 75, 30, "via agent : up"},
	{"drain maint\n", SERVER_ADMIN_MAINT, AGENT_SAYS_NOTHING, NONE, NONE, ""},
	{"maint\tDrain\n", SERVER_ADMIN_DRAIN, AGENT_SAYS_NOTHING, NONE, NONE, ""},
	{"25% 75%\n", NONE, AGENT_SAYS_NOTHING, 75, NONE, ""},
	{"25600%\n", NONE, AGENT_SAYS_NOTHING, 25600, NONE, ""},
	{"25601%\n", NONE, AGENT_SAYS_NOTHING, 25600, NONE, ""},
	{"99999999999999999999999999%\n", NONE, AGENT_SAYS_NOTHING, 25600, NONE, ""},
	{"5%%\n", NONE, AGENT_SAYS_NOTHING, NONE, NONE, "agent warns : Trailing garbage in weight string"},
	{"257x%\n", NONE, AGENT_SAYS_NOTHING, NONE, NONE,
	 "agent warns : Absolute weight can only be between 0 and 256 inclusive."},
	{"50\n", NONE, AGENT_SAYS_NOTHING, NONE, NONE, "agent reports an error : 50"},
	{"-5%\n", NONE, AGENT_SAYS_NOTHING, NONE, NONE, "agent reports an error : -5%"},
	{"weight:5%\n", NONE, AGENT_SAYS_NOTHING, NONE, NONE, "agent reports an error : weight:5%"},
	{"fail#x\n", NONE, AGENT_SAYS_NOTHING, NONE, NONE, "agent reports an error : fail#x"},
	{"updown\n", NONE, AGENT_SAYS_NOTHING, NONE, NONE, "agent reports an error : updown"},
	{"\xff\x01\n", NONE, AGENT_SAYS_NOTHING, NONE, NONE, "agent reports an error : \\xff\\x01"},
	{"# up\n", NONE, AGENT_SAYS_NOTHING, NONE, NONE, ""},
	{"MaxConn:0\n", NONE, AGENT_SAYS_NOTHING, NONE, 0, ""},
	{"maxconn:2147483647\n", NONE, AGENT_SAYS_NOTHING, NONE, INT32_MAX, ""},
	{"maxconn:2147483648\n", NONE, AGENT_SAYS_NOTHING, NONE, NONE,
	 "agent warns : maxconn can only be between 0 and 2147483647 inclusive."},
	{"maxconn:\n", NONE, AGENT_SAYS_NOTHING, NONE, NONE, "agent warns : Require <maxconn>."},
	{"maxconn:-1\n", NONE, AGENT_SAYS_NOTHING, NONE, NONE,
	 "agent warns : maxconn string empty or preceded by garbage"},
	{"maxconn: 5\n", NONE, AGENT_SAYS_NOTHING, NONE, NONE, "agent reports an error : 5"},
	{"maxconn:5x\n", NONE, AGENT_SAYS_NOTHING, NONE, NONE,
	 "agent warns : Trailing garbage in maxconn string"},
	{"maxconn:5 maxconn:x\n", NONE, AGENT_SAYS_NOTHING, NONE, NONE,
	 "agent warns : maxconn string empty or preceded by garbage"},
};

static void assert_says(const struct agent_words *w, const struct known *k)
{
	assert_int_equal(w->has_admin ? (int)w->admin : NONE, k->admin);
	assert_int_equal(w->health, k->health);
	assert_int_equal(w->has_percent ? (int)w->percent : NONE, k->percent);
	assert_int_equal(w->has_maxconn ? (int)w->maxconn : NONE, k->maxconn);
	assert_string_equal(w->detail, k->detail);
	assert_int_equal(w->code, k->health == AGENT_SAYS_UP     ? PROBE_L7OK
				  : k->health == AGENT_SAYS_DOWN ? PROBE_L7STS
								 : PROBE_CHECKED);
}

static void each_answer_says_the_same_at_every_cut(void **state)
{
	struct agent_line line;
	struct agent_words words;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		const uint8_t *bytes = (const uint8_t *)known[i].answer;
		const size_t len = strlen(known[i].answer);

		for (size_t cut = 0; cut <= len; cut++) {
			const size_t line_len = strcspn(known[i].answer, "\r\n");

			agent_line_reset(&line);
			assert_int_equal(agent_line_push(&line, bytes, cut), cut > line_len);
			assert_true(agent_line_push(&line, bytes + cut, len - cut));
			assert_true(line.ended);
			agent_words_read(&line, &words);
			assert_says(&words, &known[i]);
		}
	}
}

static void what_follows_the_line_does_not_count(void **state)
{
	static const uint8_t answer[] = "up\nmaint down\n";
	struct agent_line line;

	(void)state;
	agent_line_reset(&line);
	assert_true(agent_line_push(&line, answer, sizeof(answer)));
	assert_string_equal(line.text, "up");
}

static void a_zero_byte_or_an_endless_line_is_no_line(void **state)
{
	static uint8_t bytes[AGENT_LINE_MAX + 2];
	struct agent_line line;

	(void)state;
	agent_line_reset(&line);
	assert_true(agent_line_push(&line, (const uint8_t *)"do\0wn\n", 6));
	assert_true(line.broken);
	assert_false(line.ended);

	memset(bytes, 'x', sizeof(bytes));
	bytes[AGENT_LINE_MAX] = '\n';
	agent_line_reset(&line);
	assert_true(agent_line_push(&line, bytes, AGENT_LINE_MAX + 1));
	assert_true(line.ended); /* just as long as it may be */

	bytes[AGENT_LINE_MAX] = 'x';
	agent_line_reset(&line);
	assert_false(agent_line_push(&line, bytes, AGENT_LINE_MAX));
	assert_true(agent_line_push(&line, bytes, 1));
	assert_true(line.broken);
	assert_true(agent_line_push(&line, (const uint8_t *)"\n", 1));
	assert_false(line.ended);
}

/* Whatever it quotes, the text is printable and ends. */
static void a_long_word_is_cut_in_the_report(void **state)
{
	static uint8_t bytes[AGENT_LINE_MAX];
	struct agent_line line;
	struct agent_words words;

	(void)state;
	memset(bytes, 0xfe, sizeof(bytes));
	memcpy(bytes, "down # ", 7);
	bytes[AGENT_LINE_MAX - 1] = '\n';
	agent_line_reset(&line);
	assert_true(agent_line_push(&line, bytes, sizeof(bytes)));
	agent_words_read(&line, &words);
	assert_int_equal(words.health, AGENT_SAYS_DOWN);
	assert_int_equal(strncmp(words.detail, "via agent : down (\\xfe\\xfe", 25), 0);
	assert_true(strlen(words.detail) < PROBE_DETAIL_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_answer_says_the_same_at_every_cut),
		cmocka_unit_test(what_follows_the_line_does_not_count),
		cmocka_unit_test(a_zero_byte_or_an_endless_line_is_no_line),
		cmocka_unit_test(a_long_word_is_cut_in_the_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
