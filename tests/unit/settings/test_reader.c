/* SPDX-License-Identifier: MIT
 *
 * test_reader.c - every trap of libinih 55, and lines that are none.
 */
#include "config_test.h"

#include "weir/config/options.h"
#include "weir/config/reader.h"

/* A document and what it needs. */
struct fixture {
	struct arena arena;
	struct diag diag;
	struct document doc;
};

static void read_bytes(struct fixture *f, const char *text, size_t len)
{
	struct source *s;

	memset(f, 0, sizeof(*f));
	f->diag.arena = &f->arena;
	f->doc.diag = &f->diag;
	s = document_add_source(&f->doc, "t.ini");
	source_add_text(&f->arena, s, text, len);
	reader_read(&f->doc, s);
}

static void read_text(struct fixture *f, const char *text)
{
	read_bytes(f, text, strlen(text));
}

static const struct entry *entry_at(const struct fixture *f, size_t n)
{
	const struct entry *e = f->doc.first->first;

	for (; n > 0; n--) {
		assert_non_null(e);
		e = e->next;
	}
	assert_non_null(e);
	return e;
}

static void assert_entry(const struct entry *e, const char *key, const char *value)
{
	assert_string_equal(e->key, key);
	assert_string_equal(e->value, value);
}

static void assert_at(struct at at, unsigned line, unsigned col)
{
	assert_int_equal(at.line, line);
	assert_int_equal(at.col, col);
}

/* The first message is about this place and holds this piece. */
static void assert_error(const struct fixture *f, unsigned line, unsigned col, const char *piece)
{
	assert_true(f->diag.errors > 0);
	if (strstr(f->diag.items[0].text, piece) == NULL)
		fail_msg("'%s' is not in '%s'", piece, f->diag.items[0].text);
	assert_at(f->diag.items[0].at, line, col);
}

static void an_indented_key_is_a_key_of_its_own(void **state)
{
	struct fixture f;

	(void)state;
	read_text(&f, "[global]\nthreads = 2\n   driver = epoll\n\tsplice = on\n");
	assert_int_equal(f.diag.errors, 0);
	assert_entry(entry_at(&f, 0), "threads", "2");
	assert_entry(entry_at(&f, 1), "driver", "epoll");
	assert_at(entry_at(&f, 1)->key_at, 3, 4);
	assert_at(entry_at(&f, 1)->value_at, 3, 13);
	assert_entry(entry_at(&f, 2), "splice", "on");
	arena_free(&f.arena);
}

static void a_long_value_comes_whole(void **state)
{
	char text[4000] = "[global]\nuser = ";
	size_t head = strlen(text);
	struct fixture f;

	(void)state;
	memset(text + head, 'x', 3000);
	read_text(&f, text);
	assert_int_equal(f.diag.errors, 0);
	assert_int_equal(strlen(entry_at(&f, 0)->value), 3000);
	arena_free(&f.arena);
}

/* Each length around the buffer of libinih goes through, one way or the other. */
static void values_around_the_buffer_size_come_whole(void **state)
{
	(void)state;
	for (size_t len = 170; len < 210; len++) {
		char text[300] = "[global]\nuser = ";
		size_t head = strlen(text);
		struct fixture f;

		memset(text + head, 'y', len);
		read_text(&f, text);
		assert_int_equal(f.diag.errors, 0);
		assert_int_equal(strlen(entry_at(&f, 0)->value), len);
		arena_free(&f.arena);
	}
}

static void section_names_are_not_cut(void **state)
{
	static const char name[] = "abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz-12345678";
	char text[128];
	struct fixture f;

	(void)state;
	(void)snprintf(text, sizeof(text), "[backend %s]\n", name);
	read_text(&f, text);
	assert_int_equal(f.diag.errors, 0);
	assert_string_equal(f.doc.first->name, name);
	arena_free(&f.arena);
}

static void empty_sections_are_seen(void **state)
{
	struct fixture f;

	(void)state;
	read_text(&f, "[backend a]\n[backend b]\n");
	assert_non_null(document_find(&f.doc, IN_BACKEND, "a"));
	assert_non_null(document_find(&f.doc, IN_BACKEND, "b"));
	arena_free(&f.arena);
}

static void a_colon_is_no_delimiter(void **state)
{
	struct fixture f;

	(void)state;
	read_text(&f, "[listen a]\nbind = :80\n");
	assert_entry(entry_at(&f, 0), "bind", ":80");
	arena_free(&f.arena);
	read_text(&f, "[listen a]\nbind: 80\n");
	assert_error(&f, 2, 1, "has no '='");
	arena_free(&f.arena);
	read_text(&f, "[listen a]\nbind: x = 80\n");
	assert_error(&f, 2, 5, "a key cannot contain ':'");
	arena_free(&f.arena);
}

static void comments_end_lines_outside_quotes_only(void **state)
{
	struct fixture f;

	(void)state;
	read_text(&f, "# a\n; b\n  # c\n[global] # d\nuser = x # y\ngroup = x ; y\n"
		      "log = \"file:/a # b ; c\" # d\nthreads = a#b;c\nsplice = ${X:-it's # on} # e\n");
	assert_int_equal(f.diag.errors, 0);
	assert_entry(entry_at(&f, 0), "user", "x");
	assert_entry(entry_at(&f, 1), "group", "x");
	assert_entry(entry_at(&f, 2), "log", "\"file:/a # b ; c\"");
	assert_entry(entry_at(&f, 3), "threads", "a#b;c");
	assert_entry(entry_at(&f, 4), "splice", "${X:-it's # on}");
	arena_free(&f.arena);
}

static void mark_and_carriage_returns_are_stripped(void **state)
{
	struct fixture f;

	(void)state;
	read_text(&f, "\xef\xbb\xbf[global]\r\nthreads = 2\r\n");
	assert_int_equal(f.diag.errors, 0);
	assert_entry(entry_at(&f, 0), "threads", "2");
	assert_at(f.doc.first->at, 1, 2);
	arena_free(&f.arena);
}

static void bytes_that_are_no_text_are_refused(void **state)
{
	static const char nul[] = "[global]\nuser = a\0b\n";
	struct fixture f;

	(void)state;
	read_bytes(&f, nul, sizeof(nul) - 1);
	assert_error(&f, 2, 9, "NUL");
	arena_free(&f.arena);
	read_text(&f, "[global]\nuser = a\033b\n");
	assert_error(&f, 2, 9, "0x1b");
	arena_free(&f.arena);
	read_text(&f, "[global]\ruser = a\r");
	assert_error(&f, 1, 9, "0x0d");
	arena_free(&f.arena);
}

static void a_line_may_have_4096_bytes_and_no_more(void **state)
{
	char *text = calloc(1, 8192);
	struct fixture f;

	(void)state;
	assert_non_null(text);
	memcpy(text, "[global]\nuser = ", 16);
	memset(text + 16, 'x', READER_LINE_MAX - 7);
	read_text(&f, text);
	assert_int_equal(f.diag.errors, 0);
	arena_free(&f.arena);
	memset(text + 16, 'x', READER_LINE_MAX - 6);
	read_text(&f, text);
	assert_error(&f, 2, 4097, "4097 bytes");
	arena_free(&f.arena);
	free(text);
}

static void every_bad_line_is_reported_not_only_the_first(void **state)
{
	struct fixture f;

	(void)state;
	read_text(&f, "[global]\nfoo\nuser = a\nbar\n= x\n[oops\n[]\n[listen]\n[global x]\n[listen a "
		      "b]\n[global] z\n");
	assert_int_equal(f.diag.errors, 10);
	assert_error(&f, 2, 1, "has no '='");
	assert_entry(entry_at(&f, 0), "user", "a");
	arena_free(&f.arena);
}

static void lines_before_a_section_are_reported_once(void **state)
{
	struct fixture f;

	(void)state;
	read_text(&f, "a = 1\nb = 2\n[global]\nuser = x\n");
	assert_int_equal(f.diag.errors, 1);
	assert_error(&f, 1, 1, "before any section");
	arena_free(&f.arena);
}

static void an_empty_file_has_no_lines(void **state)
{
	struct fixture f;

	(void)state;
	read_text(&f, "");
	assert_int_equal(f.diag.errors, 0);
	assert_null(f.doc.first);
	arena_free(&f.arena);
	read_text(&f, "[global]\nuser = last line without an end");
	assert_entry(entry_at(&f, 0), "user", "last line without an end");
	arena_free(&f.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_indented_key_is_a_key_of_its_own),
		cmocka_unit_test(a_long_value_comes_whole),
		cmocka_unit_test(values_around_the_buffer_size_come_whole),
		cmocka_unit_test(section_names_are_not_cut),
		cmocka_unit_test(empty_sections_are_seen),
		cmocka_unit_test(a_colon_is_no_delimiter),
		cmocka_unit_test(comments_end_lines_outside_quotes_only),
		cmocka_unit_test(mark_and_carriage_returns_are_stripped),
		cmocka_unit_test(bytes_that_are_no_text_are_refused),
		cmocka_unit_test(a_line_may_have_4096_bytes_and_no_more),
		cmocka_unit_test(every_bad_line_is_reported_not_only_the_first),
		cmocka_unit_test(lines_before_a_section_are_reported_once),
		cmocka_unit_test(an_empty_file_has_no_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
