/* SPDX-License-Identifier: MIT
 *
 * test_options.c - the options table: every row is whole, and every example works.
 */
#include "config_test.h"

#include "weir/config/foreign.h"
#include "weir/config/options.h"
#include "weir/config/suggest.h"
#include "weir/net/sock.h"
#include "settings/setting.h"

static void every_row_has_help_and_example(void **state)
{
	(void)state;
	for (size_t i = 0; i < option_count; i++) {
		const struct option *o = &options[i];
		size_t len = strlen(o->help);

		if (len < 8 || o->help[len - 1] != '.')
			fail_msg("help of '%s': %s", o->key, o->help);
		if (strstr(o->example, o->key) == NULL)
			fail_msg("example of '%s': %s", o->key, o->example);
		if (strchr(o->example, '=') == NULL)
			fail_msg("example of '%s' is no line: %s", o->key, o->example);
		assert_int_not_equal(o->sections, 0);
	}
}

/* Is `key` a word of `line`, alone or before '='? */
static bool has_word(const char *line, const char *key)
{
	size_t len = strlen(key);

	for (const char *p = strstr(line, key); p != NULL; p = strstr(p + 1, key)) {
		bool starts = p > line && p[-1] == ' ';

		if (starts && (p[len] == '\0' || p[len] == ' ' || p[len] == '='))
			return true;
	}
	return false;
}

/* The example must be one of this key, not of another that has the same letters in it. */
static void every_example_is_of_its_own_key(void **state)
{
	const unsigned sections = IN_GLOBAL | IN_STATS | IN_DEFAULTS | IN_PROXIES;

	(void)state;
	for (size_t i = 0; i < option_count; i++) {
		const struct option *o = &options[i];
		char key[64];
		size_t len = strcspn(o->example, "=");

		assert_true(len > 1 && len < sizeof(key));
		memcpy(key, o->example, len);
		key[len - 1] = '\0'; /* the blank */
		if ((o->sections & sections) == 0) {
			if (!has_word(o->example, o->key))
				fail_msg("the example of '%s' has no such word: %s", o->key, o->example);
		} else if (option_find(o->sections & sections, key).option != o) {
			fail_msg("the example of '%s' is of another key: %s", o->key, o->example);
		}
	}
}

static void no_two_rows_answer_to_one_key(void **state)
{
	(void)state;
	for (size_t i = 0; i < option_count; i++) {
		for (size_t j = 0; j < i; j++) {
			if ((options[i].sections & options[j].sections) != 0 &&
			    strcmp(options[i].key, options[j].key) == 0)
				fail_msg("'%s' has two rows for one place", options[i].key);
		}
	}
}

static void every_built_row_has_a_type_that_can_be_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < option_count; i++) {
		const struct option *o = &options[i];
		bool by_builder = o->type == OPT_BIND || o->type == OPT_SERVER || o->type == OPT_SERVERS ||
				  o->type == OPT_SERVER_WORDS || o->type == OPT_BACKEND ||
				  o->type == OPT_INCLUDE || o->type == OPT_ROUTE;

		if (o->type == OPT_LATER || by_builder)
			continue;
		if (setting_type_of(o->type)->parse == NULL)
			fail_msg("nothing reads '%s'", o->key);
		assert_true(o->effect != 0);
		assert_true((o->effect & ~o->sections) == 0);
		assert_true(o->min <= o->max);
	}
}

/* Words of this version in the list of an OPT_CHOICE. */
static size_t words_of(const struct option *o)
{
	size_t words = 0;

	for (const char *p = o->words; *p != '\0'; p += *p == '|') {
		words += *p == '!' ? 0 : 1;
		p += strcspn(p, "|");
	}
	return words;
}

static void every_word_of_a_choice_has_its_constant(void **state)
{
	static const struct {
		const char *member;
		size_t constants;
	} choices[] = {
#define OPTION_CHOICE(member, ...) {#member, ARRAY_LEN(((int[]){__VA_ARGS__}))},
#include "weir/config/option_members.tbl.h"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(choices); i++) {
		const struct option *o =
			option_find(IN_GLOBAL | IN_PROXIES | IN_BIND, choices[i].member).option;

		assert_non_null(o);
		assert_int_equal(o->type, OPT_CHOICE);
		assert_int_equal(choices[i].constants, words_of(o));
	}
}

#define PROXY_LINES                                                                                          \
	(IN_LISTEN | IN_BIND | IN_SERVER | IN_SET | IN_BALANCE | IN_KEEPALIVE | IN_CHECK |                   \
	 IN_ROUTE | IN_SNIFF | IN_OBSERVE | IN_SOURCE_RATE | IN_STICKY)

/* The example of a row, in a file where it may stand. */
static struct loaded load_example(const struct option *o)
{
	struct loaded l;
	char text[1024];

	if ((o->sections & (IN_GLOBAL | IN_LOG | IN_SYSLOG | IN_ADMIN)) != 0)
		(void)snprintf(text, sizeof(text), "[global]\n%s\n" GOOD, o->example);
	else if ((o->sections & (IN_STATS | IN_STATS_BIND)) != 0)
		(void)snprintf(text, sizeof(text), "[stats]\n%s\n" GOOD, o->example);
	else if ((o->sections & PROXY_LINES) != 0)
		(void)snprintf(
			text, sizeof(text),
			"[backend app]\nserver z = 10.0.0.1:80\n[%s x]\nbind = 127.0.0.1:4001\n%s\n%s%s",
			o->type == OPT_BACKEND ? "frontend" : "listen",
			o->type == OPT_BACKEND ? "" : "server q = 10.0.0.2:80", o->example,
			strcmp(o->key, "persist") == 0 ? "\nsniff = rdp\n" : "\n");
	else
		fail_msg("nowhere to put '%s'", o->key);
	l = load_text(text);
	return l;
}

static void every_example_is_accepted_or_refused_as_not_in_this_version(void **state)
{
	(void)state;
	for (size_t i = 0; i < option_count; i++) {
		const struct option *o = &options[i];
		struct loaded l;
		bool machine;

		if (o->type == OPT_AUTH || o->type == OPT_CHECK_PATH)
			continue; /* their files would have to be there: test_auth.py, test_checks_exec.c */
		l = load_example(o);
		/* A user that is not here, or TLS. */
		machine = strstr(l.said, "on this machine") != NULL ||
			  strstr(l.said, "built without") != NULL;
		if (o->type == OPT_LATER) {
			if (l.config != NULL || strstr(l.said, "is not in this version") == NULL)
				fail_msg("'%s' was swallowed: %s", o->key, l.said);
		} else if (l.config == NULL && !machine) {
			fail_msg("the example of '%s' is refused:\n%s", o->key, l.said);
		}
		unload(&l);
	}
}

/* Two tables name an option of a connection: what is read and has no row there would reach no socket. */
static void every_option_of_a_connection_is_one_of_a_socket(void **state)
{
	static const struct {
		const char *word;
		size_t offset;
	} rows[] = {
#define SOCK_TCP_OPTION(which, word, capability, kind, member, ...)                                          \
	{word, offsetof(struct config_proxy, tcp.member)},
#include "weir/net/sock_options.tbl.h"
		{"tcp-nodelay", offsetof(struct config_proxy, tcp.nodelay)},
		{"tcp-keepalive", offsetof(struct config_proxy, tcp)},
	};
	const size_t first = offsetof(struct config_proxy, tcp), end = first + sizeof(struct config_tcp);
	size_t found = 0, k;

	(void)state;
	for (size_t i = 0; i < option_count; i++) {
		const struct option *o = &options[i];

		if ((o->sections & IN_PROXIES) == 0 || o->offset < first || o->offset >= end)
			continue;
		for (k = 0; k < ARRAY_LEN(rows) && strcmp(o->key, rows[k].word) != 0; k++)
			;
		if (k == ARRAY_LEN(rows))
			fail_msg("'%s' has no row in sock_options.tbl.h", o->key);
		assert_int_equal(o->offset, rows[k].offset);
		found++;
	}
	assert_int_equal(found, ARRAY_LEN(rows));
}

static void keys_take_dash_underscore_and_blank(void **state)
{
	const char *const same[] = {"timeout-connect", "timeout_connect", "timeout connect",
				    "timeout\tconnect"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(same); i++) {
		struct option_match m = option_find(IN_BACKEND, same[i]);

		assert_non_null(m.option);
		assert_string_equal(m.option->key, "timeout-connect");
	}
	assert_null(option_find(IN_BACKEND, "timeoutconnect").option);
	assert_null(option_find(IN_BACKEND, "timeout-connect x").option);
}

static void named_keys_give_their_name(void **state)
{
	struct option_match m = option_find(IN_BACKEND, "server  web1");

	(void)state;
	assert_non_null(m.option);
	assert_string_equal(m.name, "web1");
	assert_int_equal(m.name_offset, 8);
	assert_string_equal(option_find(IN_BACKEND, "servers pod").option->key, "servers");
	assert_string_equal(option_find(IN_BACKEND, "server").name, "");
}

static void near_words_are_found_and_far_ones_are_not(void **state)
{
	(void)state;
	assert_int_equal(suggest_distance("server", "sevrer"), 1);
	assert_int_equal(suggest_distance("", "abc"), 3);
	assert_int_equal(suggest_distance("timeout_connect", "timeout-connect"), 0);
	assert_string_equal(option_suggest(IN_BACKEND, "timout-conect")->key, "timeout-connect");
	assert_string_equal(option_suggest(IN_GLOBAL, "thread")->key, "threads");
	assert_null(option_suggest(IN_GLOBAL, "zzzzzz"));
	assert_null(option_suggest(IN_GLOBAL, "x"));
}

static bool is_line(const struct foreign *f)
{
	return !foreign_is_in_line(f->area) && f->area != FOREIGN_SECTION;
}

static void translated_words_are_no_keys_of_ours(void **state)
{
	size_t count;
	const struct foreign *rows = foreign_rows(&count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		if (rows[i].hint == NULL || !is_line(&rows[i]))
			continue;
		if (option_find(IN_GLOBAL | IN_DEFAULTS | IN_PROXIES, rows[i].word).option != NULL)
			fail_msg("'%s' is a key of ours", rows[i].word);
		assert_non_null(suggest_translate(rows[i].word));
	}
}

/* In any section, or as a word of a line. */
static bool is_key(const char *key)
{
	for (size_t i = 0; i < option_count; i++)
		if (strcmp(options[i].key, key) == 0)
			return true;
	return false;
}

static bool has_ours(enum foreign_state state)
{
	return state == FOREIGN_SAME || state == FOREIGN_RENAMED || state == FOREIGN_DIFFERS;
}

static void a_row_of_a_foreign_word_fits_its_state(void **state)
{
	size_t count;
	const struct foreign *rows = foreign_rows(&count);

	(void)state;
	assert_true(count > 600);
	for (size_t i = 0; i < count; i++) {
		const struct foreign *f = &rows[i];

		if (f->ours != NULL && !is_key(f->ours))
			fail_msg("'%s' of '%s' is no key of ours", f->ours, f->word);
		if (f->ours != NULL && !has_ours(f->state))
			fail_msg("'%s' is said to do nothing here, and to be '%s'", f->word, f->ours);
		/* What differs may be outside the file, and a section is no key. */
		if (f->ours == NULL && has_ours(f->state) && f->hint == NULL && f->note == NULL)
			fail_msg("of '%s' nothing says what to write", f->word);
		assert_false(f->hint != NULL && f->note != NULL);
	}
}

static void no_foreign_word_has_two_rows(void **state)
{
	size_t count;
	const struct foreign *rows = foreign_rows(&count);

	(void)state;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			if (rows[i].whose == rows[j].whose && rows[i].area == rows[j].area &&
			    strcmp(rows[i].word, rows[j].word) == 0)
				fail_msg("'%s' has two rows", rows[i].word);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_has_help_and_example),
		cmocka_unit_test(every_example_is_of_its_own_key),
		cmocka_unit_test(no_two_rows_answer_to_one_key),
		cmocka_unit_test(every_built_row_has_a_type_that_can_be_read),
		cmocka_unit_test(every_word_of_a_choice_has_its_constant),
		cmocka_unit_test(every_example_is_accepted_or_refused_as_not_in_this_version),
		cmocka_unit_test(every_option_of_a_connection_is_one_of_a_socket),
		cmocka_unit_test(keys_take_dash_underscore_and_blank),
		cmocka_unit_test(named_keys_give_their_name),
		cmocka_unit_test(near_words_are_found_and_far_ones_are_not),
		cmocka_unit_test(translated_words_are_no_keys_of_ours),
		cmocka_unit_test(a_row_of_a_foreign_word_fits_its_state),
		cmocka_unit_test(no_foreign_word_has_two_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
