/* SPDX-License-Identifier: MIT
 *
 * test_config_input.c - an input that is kept and read again, and what a reading owns.
 */
#include "config_test.h"

#include <stdio.h>
#include <unistd.h>

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* What is printed of a reading; freed by the caller. */
static char *said_by(struct config_reading *r, enum config_style style)
{
	char *said = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&said, &len);

	assert_non_null(out);
	config_reading_print(r, out, style);
	assert_int_equal(fclose(out), 0);
	return said;
}

static void input_keeps_copies_in_their_order(void **state)
{
	struct config_input input = {0};
	char name[32];

	(void)state;
	for (int i = 0; i < 9; i++) {
		(void)snprintf(name, sizeof(name), "%d.ini", i);
		assert_int_equal(config_input_add_path(&input, name), 0);
		(void)snprintf(name, sizeof(name), "global.threads=%d", i);
		assert_int_equal(config_input_add_override(&input, name), 0);
	}
	assert_int_equal(config_input_set_text(&input, "a name", "a text"), 0);
	assert_int_equal(input.path_count, 9);
	assert_int_equal(input.override_count, 9);
	assert_string_equal(input.paths[0], "0.ini");
	assert_string_equal(input.paths[8], "8.ini");
	assert_string_equal(input.overrides[8], "global.threads=8");
	assert_string_equal(input.text_name, "a name");
	assert_string_equal(input.text, "a text");
	config_input_free(&input);
	assert_int_equal(input.path_count + input.override_count, 0);
	assert_null(input.paths);
	assert_null(input.text);
	config_input_free(&input);
}

static void copy_outlives_its_original(void **state)
{
	struct config_input input = {0}, copy, empty = {0};

	(void)state;
	assert_int_equal(config_input_add_path(&input, "a.ini"), 0);
	assert_int_equal(config_input_add_path(&input, "b.ini"), 0);
	assert_int_equal(config_input_add_override(&input, "global.threads=1"), 0);
	assert_int_equal(config_input_set_text(&input, "a name", "a text"), 0);
	assert_int_equal(config_input_copy(&copy, &input), 0);
	memset(input.paths[1], 'x', strlen(input.paths[1]));
	config_input_free(&input);
	assert_int_equal(copy.path_count, 2);
	assert_string_equal(copy.paths[0], "a.ini");
	assert_string_equal(copy.paths[1], "b.ini");
	assert_int_equal(copy.override_count, 1);
	assert_string_equal(copy.overrides[0], "global.threads=1");
	assert_string_equal(copy.text_name, "a name");
	assert_string_equal(copy.text, "a text");
	config_input_free(&copy);
	assert_int_equal(config_input_copy(&copy, &empty), 0);
	assert_null(copy.paths);
	config_input_free(&copy);
}

/* Also in a copy. */
static void environment_is_that_of_the_moment_it_was_kept(void **state)
{
	struct config_input input, copy;
	struct config_reading r;
	const char text[] = "[global]\nmaxconn = ${WEIR_T_KEPT}\nthreads = ${WEIR_T:-3}\n" GOOD;

	(void)state;
	input = input_of_text(text, "t.ini");
	assert_int_equal(setenv("WEIR_T_KEPT", "7", 1), 0);
	assert_int_equal(setenv("WEIR_T_", "8", 1), 0);
	assert_int_equal(unsetenv("WEIR_T"), 0);
	assert_int_equal(config_input_keep_environment(&input), 0);
	assert_int_equal(unsetenv("WEIR_T_KEPT"), 0);
	assert_int_equal(setenv("WEIR_T", "9", 1), 0);
	assert_int_equal(config_input_copy(&copy, &input), 0);
	config_input_free(&input);
	config_read(&copy, &r);
	assert_non_null(r.config);
	assert_int_equal(r.config->global.maxconn, 7);
	assert_int_equal(r.config->global.threads, 3);
	config_reading_free(&r);
	config_input_free(&copy);

	input = input_of_text(text, "t.ini");
	config_read(&input, &r);
	assert_null(r.config); /* it is not set any more */
	config_reading_free(&r);
	config_input_free(&input);
	assert_int_equal(unsetenv("WEIR_T"), 0);
	assert_int_equal(unsetenv("WEIR_T_"), 0);
}

/* The same names, and what the file says then; -o holds for each reading. */
static void input_is_read_anew_each_time(void **state)
{
	char path[] = "/tmp/weir-input-XXXXXX";
	struct config_input input = {0};
	struct config_reading first, second, third;
	const int fd = mkstemp(path);
	struct config *kept;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(config_input_add_path(&input, path), 0);
	assert_int_equal(config_input_add_override(&input, "global.threads=3"), 0);
	write_file(path, "[global]\nthreads = 1\nmaxconn = 10\n" GOOD);
	config_read(&input, &first);
	kept = config_reading_take(&first);
	assert_null(config_reading_take(&first));
	write_file(path, "[global]\nmaxconn = ten\n" GOOD);
	config_read(&input, &second);
	write_file(path, "[global]\nmaxconn = 20\n" GOOD);
	config_read(&input, &third);
	assert_non_null(kept);
	assert_null(second.config);
	assert_non_null(third.config);
	assert_int_equal(kept->global.maxconn, 10);
	assert_int_equal(kept->global.threads, 3);
	assert_int_equal(third.config->global.maxconn, 20);
	assert_int_equal(third.config->global.threads, 3);
	config_reading_free(&first);
	config_reading_free(&second);
	config_reading_free(&third);
	assert_int_equal(unlink(path), 0);
	config_input_free(&input);
	/* Nothing of it was borrowed. */
	assert_int_equal(kept->file_count, 1);
	assert_string_equal(kept->files[0], path);
	assert_string_equal(kept->name, path);
	assert_string_equal(kept->overrides[0], "global.threads=3");
	config_free(kept);
}

static void messages_can_be_shown_later_and_twice(void **state)
{
	struct config_input input = input_of_text("[global]\nmaxconn = ten\n" GOOD, "t.ini");
	struct config_reading r;
	char *plain, *again, *json;

	(void)state;
	config_read(&input, &r);
	assert_null(r.config);
	assert_int_equal(r.diag.errors, 1);
	plain = said_by(&r, CONFIG_STYLE_PLAIN);
	json = said_by(&r, CONFIG_STYLE_JSON);
	again = said_by(&r, CONFIG_STYLE_PLAIN);
	assert_non_null(strstr(plain, "t.ini:2:11: error: "));
	assert_non_null(strstr(plain, "t.ini: 1 error, 0 warnings. The running configuration is "
				      "unchanged.\n"));
	assert_non_null(strstr(json, "\"ok\":false,"));
	assert_string_equal(plain, again);
	free(plain);
	free(json);
	free(again);
	config_reading_free(&r);
	config_input_free(&input);
}

static void reading_without_messages_says_nothing(void **state)
{
	struct config_input input = input_of_text(GOOD, "t.ini");
	struct config_reading r;
	char *plain, *json;

	(void)state;
	config_read(&input, &r);
	assert_non_null(r.config);
	plain = said_by(&r, CONFIG_STYLE_PLAIN);
	json = said_by(&r, CONFIG_STYLE_JSON);
	assert_string_equal(plain, "");
	assert_non_null(strstr(json, "\"ok\":true,\"errors\":0,"));
	free(plain);
	free(json);
	config_reading_free(&r); /* with the snapshot */
	assert_null(r.config);
	config_reading_free(&r);
	config_input_free(&input);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(input_keeps_copies_in_their_order),
		cmocka_unit_test(copy_outlives_its_original),
		cmocka_unit_test(environment_is_that_of_the_moment_it_was_kept),
		cmocka_unit_test(input_is_read_anew_each_time),
		cmocka_unit_test(messages_can_be_shown_later_and_twice),
		cmocka_unit_test(reading_without_messages_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
