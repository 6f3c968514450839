/* SPDX-License-Identifier: MIT
 *
 * test_complete.c - `weir complete` offers the words that may come next, from every table that has some.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/admin/admin_form.h"
#include "weir/base/check.h"
#include "weir/config/options.h"
#include "command.h"

/* Completes a line, whose last word may be empty: "ctl show ". */
static const char *complete(const char *line)
{
	static char said[65536];
	char copy[256], *next = copy, *words[WORDS_MAX] = {"weir", "complete", "--"};

	assert_true(strlen(line) < sizeof(copy));
	memcpy(copy, line, strlen(line) + 1);
	for (size_t n = 3; next != NULL; n++) {
		assert_true(n + 1 < ARRAY_LEN(words));
		words[n] = strsep(&next, " ");
	}
	said[0] = '\n'; /* before the first line, to find it like the others */
	assert_int_equal(command_run(words, said + 1, sizeof(said) - 1), EXIT_FINE);
	return said;
}

static bool offers(const char *line, const char *word)
{
	const char *said = complete(line);
	const size_t len = strlen(word);

	for (; (said = strchr(said, '\n')) != NULL; said++)
		if (strncmp(said + 1, word, len) == 0 && strchr("\t\n", said[1 + len]) != NULL)
			return true;
	return false;
}

static void nothing(const char *line)
{
	assert_string_equal(complete(line), "\n");
}

static void every_verb_is_offered_first(void **state)
{
	const char *word, *help;

	(void)state;
	for (size_t i = 0; (word = cli_verb_at(i, &help)) != NULL; i++) {
		assert_true(offers("", word));
		assert_true(offers("-q ", word));
		assert_false(offers("-f ", word));
	}
	assert_true(offers("", ":files"));
	assert_true(offers("to", "top"));
	assert_false(offers("to", "status"));
	nothing("xyz.ini ");
	assert_true(offers("convert ", ":files"));
	assert_true(offers("convert a.cfg ", ":files"));
	assert_true(offers("convert --from ", "nginx"));
}

static void every_flag_of_a_verb_is_offered(void **state)
{
	struct cli_flag flag;

	(void)state;
	for (size_t i = 0; cli_flag_at(i, &flag); i++) {
		/* Flags of several verbs in a different sense. */
		const bool is_shared = strcmp(flag.name, "-s") == 0 || strcmp(flag.name, "-o") == 0;

		assert_true(strlen(flag.help) > 0);
		assert_true((flag.value != CLI_VALUE_NONE) == cli_flag_takes_value(flag.name));
		assert_true(offers("ctl -", flag.name) == ((flag.verbs & CLI_CTL) != 0) || is_shared);
		assert_true(offers("-", flag.name) == ((flag.verbs & CLI_RUN) != 0) || is_shared);
	}
	nothing("ctl show info -");
	nothing("ctl -- -");
}

static void a_value_is_offered_after_its_flag(void **state)
{
	(void)state;
	assert_true(offers("-s ", "quit"));
	assert_true(offers("-s ", ":files"));
	assert_false(offers("ctl -s ", "quit"));
	assert_true(offers("ctl -s ", ":files"));
	assert_true(offers("check --format ", "json"));
	assert_true(offers("check --format=j", "--format=json"));
	assert_false(offers("check --format=j", "--format=text"));
	assert_true(offers("help --reference ", "markdown"));
	assert_true(offers("-o ", "global.threads="));
	assert_true(offers("-o defaults.max", "defaults.maxconn="));
	nothing("demo --seconds ");
	nothing("xyz.ini --format ");
}

static void every_key_is_a_topic_of_help(void **state)
{
	(void)state;
	for (size_t i = 0; i < option_count; i++)
		assert_true(offers("help ", options[i].key));
	assert_true(offers("help ", "rollback"));
	assert_true(offers("help ", "backend"));
	nothing("help maxconn ");
}

static void commands_are_offered_word_by_word(void **state)
{
	(void)state;
	assert_true(offers("ctl ", "show"));
	assert_true(offers("ctl s", "set"));
	assert_true(offers("-q ctl --json show ", "stat"));
	assert_true(offers("ctl show servers ", "state"));
	assert_true(offers("ctl show info ", "json"));
	assert_true(offers("ctl set server web/a ", "weight"));
	assert_true(offers("ctl set server web/a state ", "maint"));
	assert_false(offers("ctl set server web/a weight ", "maint"));
	assert_true(offers("ctl reload ", "confirm="));
	assert_true(offers("ctl reload wait ", "confirm="));
	assert_true(offers("ctl reload confirm=3s ", "hold"));
	assert_true(offers("ctl help set ", "weight"));
	assert_true(offers("ctl plan ", ":files"));
	assert_false(offers("ctl reload confirm=", "confirm="));
	nothing("ctl nonsense ");
	nothing("ctl shutdown session ");
}

/* Appends a word of a form to the line, as somebody would type it. */
static void type_word(char line[static 256], const char *word)
{
	const size_t len = strcspn(word, "|"), used = strlen(line);
	const size_t literal = strcspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ|");

	if (literal == len)
		assert_true(offers(line, strndupa(word, len)));
	else if (literal > 0 && word[literal - 1] == '=')
		assert_true(offers(line, strndupa(word, literal)));
	assert_true(snprintf(line + used, 256 - used, "%.*s%s ", (int)literal, word,
			     literal < len ? "x" : "") < (int)(256 - used));
}

/* So no command that somebody adds is forgotten. What is in brackets is typed, too. */
static void every_word_of_every_command_is_offered(void **state)
{
	static const char unknown[] = "ctl -s /nonexistent/weir.sock ";
	struct admin_form form;

	(void)state;
	for (size_t i = 0; admin_form_at(i, &form); i++) {
		char line[256], words[256], *next = words, *word;

		assert_true(strlen(form.help) > 0);
		(void)snprintf(line, sizeof(line), "%s", unknown);
		(void)snprintf(words, sizeof(words), "%s%s%s", form.words, form.more[0] ? " " : "",
			       form.more);
		while ((word = strsep(&next, " ")) != NULL) {
			word += strspn(word, "[");
			if (strchr(word, '[') == NULL)
				word[strcspn(word, "].")] = '\0';
			type_word(line, word);
		}
	}
}

/* Without a weir there are none, and that is not an error. */
static void names_are_those_of_a_running_weir(void **state)
{
	(void)state;
	assert_null(strstr(complete("ctl -s /nonexistent/weir.sock set server "), "\nset"));
}

static void words_in_the_middle_have_no_meaning_of_their_own(void **state)
{
	(void)state;
	nothing("demo ");
	nothing("top ");
	nothing("rollback ");
	assert_true(offers("plan ", ":files"));
	nothing("plan a.ini ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_verb_is_offered_first),
		cmocka_unit_test(every_flag_of_a_verb_is_offered),
		cmocka_unit_test(a_value_is_offered_after_its_flag),
		cmocka_unit_test(every_key_is_a_topic_of_help),
		cmocka_unit_test(commands_are_offered_word_by_word),
		cmocka_unit_test(every_word_of_every_command_is_offered),
		cmocka_unit_test(names_are_those_of_a_running_weir),
		cmocka_unit_test(words_in_the_middle_have_no_meaning_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
