/* SPDX-License-Identifier: MIT
 *
 * test_config_text.c - a text that is kept reads as its files did, whatever has become of them.
 *
 * Every allocation can fail, and all of our own are counted.
 */
#include "config_test.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weir/settings/config_text.h"
#include "../base/alloc_fail.h"

char *__wrap_strdup(const char *text);

/* Its bytes are freed by our code, and so counted. */
char *__wrap_strdup(const char *text)
{
	const size_t size = strlen(text) + 1;
	char *copy = __wrap_malloc(size);

	if (copy != NULL)
		memcpy(copy, text, size);
	return copy;
}

typedef int select_entry(const struct dirent *entry);
typedef int compare_entries(const struct dirent **a, const struct dirent **b);

int __real_scandir(const char *path, struct dirent ***list, select_entry *select, compare_entries *compare);
int __wrap_scandir(const char *path, struct dirent ***list, select_entry *select, compare_entries *compare);
int __wrap_scandir64(const char *path, struct dirent ***list, select_entry *select, compare_entries *compare)
	__attribute__((alias("__wrap_scandir")));

/* The library's memory, which our code frees. */
int __wrap_scandir(const char *path, struct dirent ***list, select_entry *select, compare_entries *compare)
{
	int count;

	*list = NULL;
	if (allocation_fails()) {
		errno = ENOMEM;
		return -1;
	}
	count = __real_scandir(path, list, select, compare);
	allocated += count >= 0 ? count + (*list != NULL) : 0;
	return count;
}

static const char *const names[] = {"t.ini", "one.ini", "more/1.ini", "more/2.ini",
				    "n.cidr", "d/3.ini", "d/4.ini"};
static const char *const texts[] = {
	"\xef\xbb\xbf[global]\r\ninclude = more/*.ini one.ini none/*.ini\r\nmaxconn = 100\n[listen web]\n"
	"bind = 127.0.0.1:4001\nserver a = 10.0.0.1:80\nallow-from = @n.cidr\n"
	"use-backend x = src=10.0.0.0/8\n"
	"[listen other]\nbind = 127.0.0.1:4002\nserver a = 10.0.0.1:81\nallow-from = @n.cidr",
	"[backend x]\nserver a = 10.0.0.2:80\n",
	"",
	"[backend y]\nserver a = 10.0.0.2:81\n",
	"10.0.0.0/8\n::1 # here\n",
	"[backend z]\nserver a = 10.0.0.2:82\n",
	"[backend zz]\nserver a = 10.0.0.2:83\n",
};

struct rig {
	char folder[32];
	char home[256];
	struct config_input input; /* t.ini, and the directory d */
	long allocated;
};

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void remove_files(void)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)unlink(names[i]);
	(void)rmdir("more");
	(void)rmdir("d");
}

static void write_files(void)
{
	(void)mkdir("more", 0700);
	(void)mkdir("d", 0700);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		write_file(names[i], texts[i]);
}

static int set_up(void **state)
{
	struct rig *r = __real_calloc(1, sizeof(*r));

	assert_non_null(r);
	(void)snprintf(r->folder, sizeof(r->folder), "/tmp/weir-text-XXXXXX");
	assert_non_null(mkdtemp(r->folder));
	assert_non_null(getcwd(r->home, sizeof(r->home)));
	assert_int_equal(chdir(r->folder), 0);
	write_files();
	r->allocated = allocated;
	assert_int_equal(config_input_add_path(&r->input, "t.ini"), 0);
	assert_int_equal(config_input_add_path(&r->input, "d"), 0);
	*state = r;
	return 0;
}

static int tear_down(void **state)
{
	struct rig *r = *state;

	config_input_free(&r->input);
	assert_int_equal(allocated, r->allocated);
	remove_files();
	assert_int_equal(chdir(r->home), 0);
	assert_int_equal(rmdir(r->folder), 0);
	__real_free(r);
	return 0;
}

/* What -T shows, freed by the caller; NULL = refused. */
static char *shown(const struct config_input *input)
{
	struct config_reading r;
	char *bytes = NULL;
	size_t len = 0;
	FILE *out;

	config_read(input, &r);
	if (r.config != NULL) {
		out = open_memstream(&bytes, &len);
		assert_non_null(out);
		config_print(r.config, out);
		assert_int_equal(fclose(out), 0);
		allocated++; /* the library's, and free() counts it */
	}
	config_reading_free(&r);
	return bytes;
}

static struct config_text *text_of(const struct config_input *input)
{
	struct config_reading r;
	struct config_text *t;

	config_read(input, &r);
	t = config_reading_take_text(&r);
	assert_null(config_reading_take_text(&r));
	config_reading_free(&r);
	return t;
}

static struct config_text_hash hash_of(const struct config_input *input)
{
	struct config_text *t = text_of(input);
	struct config_text_hash hash;

	assert_non_null(t);
	hash = config_text_hash(t);
	config_text_drop(t);
	return hash;
}

static struct text written(const struct config_text *t)
{
	struct text out;

	text_init(&out);
	config_text_write(t, &out);
	assert_false(out.failed);
	assert_int_equal(out.len, config_text_hash(t).bytes);
	return out;
}

/* ---- reading again ---- */

static void kept_text_reads_the_same_without_any_file(void **state)
{
	struct rig *r = *state;
	char *before = shown(&r->input), *after;

	assert_non_null(before);
	r->input.kept = text_of(&r->input);
	assert_non_null(r->input.kept);
	remove_files();
	after = shown(&r->input);
	assert_non_null(after);
	assert_string_equal(before, after);
	free(before);
	free(after);
}

/* Neither other contents, nor other files that a pattern or a directory would find. */
static void kept_text_ignores_what_has_changed(void **state)
{
	struct rig *r = *state;
	char *before = shown(&r->input), *after;

	assert_non_null(before);
	r->input.kept = text_of(&r->input);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		write_file(names[i], "[backend new]\nserver a = 10.0.0.9:80\n");
	write_file("more/9.ini", "what?");
	write_file("d/9.ini", "what?");
	after = shown(&r->input);
	assert_non_null(after);
	assert_string_equal(before, after);
	free(before);
	free(after);
	assert_int_equal(unlink("more/9.ini") | unlink("d/9.ini"), 0);
}

static void reading_of_a_kept_text_has_that_text(void **state)
{
	struct rig *r = *state;
	struct config_text *again;

	r->input.kept = text_of(&r->input);
	again = text_of(&r->input);
	assert_ptr_equal(again, r->input.kept);
	config_text_drop(again);
}

static void copy_of_an_input_outlives_the_reference_it_was_made_from(void **state)
{
	struct rig *r = *state;
	struct config_input copy;
	char *before = shown(&r->input), *after;

	r->input.kept = text_of(&r->input);
	assert_int_equal(config_input_copy(&copy, &r->input), 0);
	config_text_drop(r->input.kept);
	r->input.kept = NULL;
	remove_files();
	after = shown(&copy);
	assert_non_null(after);
	assert_string_equal(before, after);
	free(before);
	free(after);
	config_input_free(&copy);
}

static void text_in_memory_is_kept_with_what_it_includes(void **state)
{
	struct rig *r = *state;
	struct config_input input = input_of_text("[global]\ninclude = one.ini\n" GOOD, "memory");
	char *before = shown(&input), *after;

	(void)r;
	assert_non_null(before);
	input.kept = text_of(&input);
	remove_files();
	input.text[0] = '?'; /* not read, either */
	after = shown(&input);
	assert_non_null(after);
	assert_string_equal(before, after);
	free(before);
	free(after);
	config_input_free(&input);
}

/* Each kind of thing that a kept text may lack: -o and the environment are not part of it. */
static void what_a_kept_text_lacks_is_an_error(void **state)
{
	static const char *const wanted[][2] = {
		{"[global]\ninclude = ${WEIR_T_NAME}\n", "cannot read 'two.ini': the text that is kept"},
		{"[global]\ninclude = ${WEIR_T_NAME}*\n", "'two.ini*' is not in the text that is kept"},
		{"[listen l]\nbind = 127.0.0.1:1\nserver a = 10.0.0.1:80\nallow-from = @${WEIR_T_NAME}\n",
		 "cannot read 'two.ini': the text that is kept"},
	};
	struct rig *r = *state;
	struct loaded l;

	write_file("two.ini", "10.0.0.0/8");
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		struct config_input input = input_of_path("one.ini");

		write_file("n.cidr", i == 2 ? "10.0.0.0/8" : "");
		write_file("one.ini", wanted[i][0]);
		assert_int_equal(setenv("WEIR_T_NAME", "n.cidr", 1), 0);
		input.kept = text_of(&input);
		assert_non_null(input.kept);
		assert_int_equal(setenv("WEIR_T_NAME", "two.ini", 1), 0);
		l = load_input(&input);
		allocated++; /* of the messages */
		assert_null(l.config);
		if (strstr(l.said, wanted[i][1]) == NULL)
			fail_msg("%s", l.said);
		unload(&l);
	}
	assert_int_equal(unsetenv("WEIR_T_NAME"), 0);
	/* Other paths than those it was read from. */
	write_files();
	write_file("two.ini", "");
	r->input.kept = text_of(&r->input);
	assert_int_equal(config_input_add_path(&r->input, "two.ini"), 0);
	assert_null(shown(&r->input));
	assert_int_equal(unlink("two.ini"), 0);
}

/* ---- which text it is ---- */

static void hash_changes_with_every_file_and_only_then(void **state)
{
	struct rig *r = *state;
	const struct config_text_hash first = hash_of(&r->input);

	assert_true(config_text_hash_same(first, hash_of(&r->input)));
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char longer[512];

		(void)snprintf(longer, sizeof(longer), "%s\n", texts[i]);
		write_file(names[i], longer);
		assert_false(config_text_hash_same(first, hash_of(&r->input)));
		write_file(names[i], texts[i]);
		assert_true(config_text_hash_same(first, hash_of(&r->input)));
	}
	write_file("d/5.ini", "");
	assert_false(config_text_hash_same(first, hash_of(&r->input)));
	assert_int_equal(rename("d/5.ini", "more/5.ini"), 0);
	assert_false(config_text_hash_same(first, hash_of(&r->input)));
	assert_int_equal(unlink("more/5.ini"), 0);
	write_file("d/5.txt", "no part of it");
	assert_true(config_text_hash_same(first, hash_of(&r->input)));
	assert_int_equal(unlink("d/5.txt"), 0);
	assert_int_equal(config_input_add_override(&r->input, "global.maxconn=9"), 0);
	assert_true(config_text_hash_same(first, hash_of(&r->input)));
}

static void text_of_files_with_errors_is_kept_but_not_one_with_holes(void **state)
{
	struct rig *r = *state;
	struct config_text *t;

	write_file("t.ini", "[global]\nmaxconn = ten\n");
	t = text_of(&r->input);
	assert_non_null(t);
	config_text_drop(t);
	write_file("t.ini", "[global]\ninclude = nowhere.ini\n");
	assert_null(text_of(&r->input));
	write_file("t.ini",
		   "[listen l]\nbind = 127.0.0.1:1\nserver a = 10.0.0.1:80\nallow-from = @nowhere\n");
	assert_null(text_of(&r->input));
	write_file("t.ini", "");
	remove_files();
	assert_null(text_of(&r->input));
}

/* Each file is within its own limit. Their contents do not matter. */
static void text_beyond_the_limit_is_not_kept(void **state)
{
	struct config_input input = {0};
	struct config_text *t;
	char name[16];

	(void)state;
	for (int i = 0; i < 6; i++) {
		t = i > 0 ? text_of(&input) : NULL;
		assert_true((t != NULL) == (i > 0));
		config_text_drop(t);
		(void)snprintf(name, sizeof(name), "%d.big", i);
		write_file(name, "");
		assert_int_equal(truncate(name, 14 << 20), 0);
		assert_int_equal(config_input_add_path(&input, name), 0);
	}
	assert_null(text_of(&input)); /* 84 MiB */
	config_input_free(&input);
	for (int i = 0; i < 6; i++) {
		(void)snprintf(name, sizeof(name), "%d.big", i);
		assert_int_equal(unlink(name), 0);
	}
}

/* Two frontends name n.cidr. */
static void file_is_read_and_kept_once(void **state)
{
	static const char item[] = "\nn.cidr\n";
	struct rig *r = *state;
	struct config_text *t = text_of(&r->input);
	struct text bytes = written(t);
	const char *end = bytes.bytes + bytes.len;
	const char *first = memmem(bytes.bytes, bytes.len, item, strlen(item));

	assert_non_null(first);
	assert_null(memmem(first + 1, (size_t)(end - first) - 1, item, strlen(item)));
	text_free(&bytes);
	config_text_drop(t);
}

/* ---- written and read ---- */

static void written_text_reads_back(void **state)
{
	struct rig *r = *state;
	char *before = shown(&r->input), *after;
	struct config_text *t = text_of(&r->input), *back = NULL;
	struct text bytes = written(t);

	assert_int_equal(config_text_parse(bytes.bytes, bytes.len, &back), 0);
	assert_true(config_text_hash_same(config_text_hash(t), config_text_hash(back)));
	config_text_drop(t);
	text_free(&bytes);
	remove_files();
	r->input.kept = back;
	after = shown(&r->input);
	assert_string_equal(before, after);
	free(before);
	free(after);
}

static void damaged_bytes_are_refused_or_another_text(void **state)
{
	struct rig *r = *state;
	struct config_text *t = text_of(&r->input), *back = t;
	struct text bytes = written(t);
	unsigned refused = 0;

	for (size_t len = 0; len < bytes.len; len++) {
		char *exact = __real_malloc(len + 1); /* a sanitizer sees a byte read behind the end */

		assert_non_null(exact);
		memcpy(exact, bytes.bytes, len);
		if (config_text_parse(exact, len, &back) == 0) { /* the last items are missing */
			assert_false(config_text_hash_same(config_text_hash(t), config_text_hash(back)));
			config_text_drop(back);
		} else {
			assert_null(back);
			refused++;
		}
		__real_free(exact);
	}
	assert_true(refused > bytes.len - 20);
	for (size_t at = 0; at < bytes.len; at++) {
		bytes.bytes[at] ^= 1;
		if (config_text_parse(bytes.bytes, bytes.len, &back) == 0)
			assert_false(config_text_hash_same(config_text_hash(t), config_text_hash(back)));
		config_text_drop(back);
		bytes.bytes[at] ^= 1;
	}
	text_add(&bytes, "f", 1);
	assert_int_equal(config_text_parse(bytes.bytes, bytes.len, &back), -EBADMSG);
	text_free(&bytes);
	config_text_drop(t);
}

static void odd_items_are_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} odd[] = {
		{"file 1 1\na\nb", 12},
		{"file 0 1\n\nb\n", 12},
		{"file 01 1\na\nb\n", 14},
		{"file  1\na\nb\n", 12},
		{"file 1 9999999999\na\nb\n", 22},
		{"file 1 99999999999999999999\na\nb\n", 32},
		{"file 99999999999999999999 1\na\nb\n", 32},
		{"file 1 1\n\0\nb\n", 13},
		{"folder 1 1\na\nb\n", 15},
		{"files 1 1\na\nb\n", 14},
		{" file 1 1\na\nb\n", 14},
		{"file", 4},
		{"", 0},
	};
	struct config_text *t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(odd); i++)
		if (config_text_parse(odd[i].bytes, odd[i].len, &t) != -EBADMSG)
			fail_msg("accepted: %s", odd[i].bytes);
	assert_int_equal(config_text_parse("file 1 1\na\nb\nfolder 1 2\nd\na\0\n", 29, &t), 0);
	config_text_drop(t);
}

/* ---- memory ---- */

static void every_allocation_of_a_reading_can_fail(void **state)
{
	struct rig *r = *state;
	struct config_reading reading;
	bool failed = true;
	long n;

	for (int kept = 0; kept < 2; kept++) {
		if (kept)
			r->input.kept = text_of(&r->input);
		for (n = 0, failed = true; failed; n++) {
			const long before = allocated;

			fail_allocations_from(n);
			config_read(&r->input, &reading);
			fail_allocations_from(-1);
			failed = reading.no_memory;
			assert_true((reading.text == NULL) == failed);
			assert_true((reading.config == NULL) == failed);
			config_reading_free(&reading);
			assert_int_equal(allocated, before);
		}
		assert_true(n > 100);
	}
}

static void every_allocation_of_a_copy_can_fail(void **state)
{
	struct rig *r = *state;
	struct config_text *t, *back;
	struct text bytes;
	int err = -ENOMEM;
	long n;

	t = text_of(&r->input);
	bytes = written(t);
	for (n = 0; err == -ENOMEM; n++) {
		const long before = allocated;

		fail_allocations_from(n);
		err = config_text_parse(bytes.bytes, bytes.len, &back);
		fail_allocations_from(-1);
		assert_true((back == NULL) == (err != 0));
		config_text_drop(back);
		assert_int_equal(allocated, before);
	}
	assert_int_equal(err, 0);
	assert_true(n > 2);
	text_free(&bytes);
	r->input.kept = t;
	for (n = 0, err = -ENOMEM; err == -ENOMEM; n++) {
		const long before = allocated;
		struct config_input copy;

		fail_allocations_from(n);
		err = config_input_copy(&copy, &r->input);
		fail_allocations_from(-1);
		assert_ptr_equal(copy.kept, err == 0 ? t : NULL);
		config_input_free(&copy);
		assert_int_equal(allocated, before);
	}
	assert_int_equal(err, 0);
}

static void last_reference_frees_it(void **state)
{
	struct rig *r = *state;
	const long before = allocated;
	struct config_text *t = text_of(&r->input);

	assert_true(allocated > before);
	assert_ptr_equal(config_text_hold(t), t);
	config_text_drop(t);
	assert_true(allocated > before);
	config_text_drop(t);
	assert_int_equal(allocated, before);
	assert_null(config_text_hold(NULL));
	config_text_drop(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(kept_text_reads_the_same_without_any_file),
		TEST(kept_text_ignores_what_has_changed),
		TEST(reading_of_a_kept_text_has_that_text),
		TEST(copy_of_an_input_outlives_the_reference_it_was_made_from),
		TEST(text_in_memory_is_kept_with_what_it_includes),
		TEST(what_a_kept_text_lacks_is_an_error),
		TEST(hash_changes_with_every_file_and_only_then),
		TEST(text_of_files_with_errors_is_kept_but_not_one_with_holes),
		TEST(text_beyond_the_limit_is_not_kept),
		TEST(file_is_read_and_kept_once),
		TEST(written_text_reads_back),
		TEST(damaged_bytes_are_refused_or_another_text),
		TEST(odd_items_are_refused),
		TEST(every_allocation_of_a_reading_can_fail),
		TEST(every_allocation_of_a_copy_can_fail),
		TEST(last_reference_frees_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
