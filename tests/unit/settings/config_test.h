/* SPDX-License-Identifier: MIT
 *
 * config_test.h - shared by the tests of this room: a configuration from text, messages as text.
 *
 * Functions are static inline, because each test is a program of its own.
 */
#ifndef WEIR_TESTS_CONFIG_TEST_H
#define WEIR_TESTS_CONFIG_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/settings/config_reading.h"

/* What one reading gave. */
struct loaded {
	struct config *config; /* owns; NULL = refused */
	char *said;	       /* owns: the messages */
};

/* Reads, and writes the messages to `out`. */
static inline struct config *read_input(const struct config_input *input, FILE *out, enum config_style style)
{
	struct config_reading r;
	struct config *c;

	config_read(input, &r);
	config_reading_print(&r, out, style);
	c = config_reading_take(&r);
	config_reading_free(&r);
	return c;
}

static inline struct config_input input_of_text(const char *text, const char *name)
{
	struct config_input input = {0};

	assert_int_equal(config_input_set_text(&input, name, text), 0);
	return input;
}

static inline struct config_input input_of_path(const char *path)
{
	struct config_input input = {0};

	assert_int_equal(config_input_add_path(&input, path), 0);
	return input;
}

static inline void add_overrides(struct config_input *input, const char *const *overrides, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(config_input_add_override(input, overrides[i]), 0);
}

/* Takes what `input` owns. */
static inline struct loaded load_input(struct config_input *input)
{
	struct loaded l = {0};
	size_t len = 0;
	FILE *diag = open_memstream(&l.said, &len);

	assert_non_null(diag);
	l.config = read_input(input, diag, CONFIG_STYLE_PLAIN);
	config_input_free(input);
	assert_int_equal(fclose(diag), 0);
	assert_non_null(l.said);
	return l;
}

static inline struct loaded load_text(const char *text)
{
	struct config_input input = input_of_text(text, "t.ini");

	return load_input(&input);
}

static inline void unload(struct loaded *l)
{
	config_free(l->config);
	free(l->said);
	l->config = NULL;
	l->said = NULL;
}

/* `text` must be refused, with each of the given pieces in the messages (NULL ends them). */
static inline void assert_refused(const char *text, const char *piece, ...)
{
	struct loaded l = load_text(text);
	va_list ap;

	va_start(ap, piece);
	if (l.config != NULL)
		fail_msg("accepted: %s", text);
	for (; piece != NULL; piece = va_arg(ap, const char *)) {
		if (strstr(l.said, piece) == NULL)
			fail_msg("'%s' is not in:\n%s", piece, l.said);
	}
	va_end(ap);
	unload(&l);
}

/* `text` must be accepted without any message. */
static inline struct loaded assert_accepted(const char *text)
{
	struct loaded l = load_text(text);

	if (l.config == NULL)
		fail_msg("refused:\n%s", l.said);
	assert_string_equal(l.said, "");
	return l;
}

static inline size_t count_of(const char *text, const char *piece)
{
	size_t n = 0;

	for (const char *p = strstr(text, piece); p != NULL; p = strstr(p + 1, piece))
		n++;
	return n;
}

/* A [listen] that is right, to stand beside what is tested. */
#define GOOD "[listen good]\nbind = 127.0.0.1:4000\nserver a = 10.0.0.1:80\n"

#endif
