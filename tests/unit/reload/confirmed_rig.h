/* SPDX-License-Identifier: MIT
 *
 * confirmed_rig.h - a folder for the state file, texts to put there, and what each test must leave behind.
 *
 * For programs that are linked with alloc_fail of tests/meson.build, and --wrap=strdup.
 */
#ifndef WEIR_TESTS_CONFIRMED_RIG_H
#define WEIR_TESTS_CONFIRMED_RIG_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/reload/confirmed.h"
#include "../base/alloc_fail.h"

char *__wrap_strdup(const char *text);

char *__wrap_strdup(const char *text)
{
	const size_t size = strlen(text) + 1;
	char *copy = __wrap_malloc(size);

	if (copy != NULL)
		memcpy(copy, text, size);
	return copy;
}

struct rig {
	char folder[40];
	char file[64];
	char new[64];
	long allocated; /* before the test */
	unsigned fds;
};

static inline unsigned count_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(folder);
	while (readdir(folder) != NULL)
		n++;
	(void)closedir(folder);
	return n;
}

static inline int set_up(void **state)
{
	struct rig *r = __real_calloc(1, sizeof(*r));

	assert_non_null(r);
	(void)snprintf(r->folder, sizeof(r->folder), "/tmp/weir-confirmed-XXXXXX");
	assert_non_null(mkdtemp(r->folder));
	(void)snprintf(r->file, sizeof(r->file), "%s/confirmed", r->folder);
	(void)snprintf(r->new, sizeof(r->new), "%s/confirmed.new", r->folder);
	r->allocated = allocated;
	r->fds = count_fds();
	*state = r;
	return 0;
}

static inline int tear_down(void **state)
{
	struct rig *r = *state;

	assert_int_equal(allocated, r->allocated);
	assert_int_equal(count_fds(), r->fds);
	(void)unlink(r->file);
	assert_int_equal(rmdir(r->folder), 0); /* nothing else is there */
	__real_free(r);
	return 0;
}

/* A text of one file with these bytes. */
static inline struct config_text *text_with(const char *content)
{
	struct config_text *t;
	char bytes[512];
	const int len = snprintf(bytes, sizeof(bytes), "file 8 %zu\nweir.ini\n%s\n",
				 strlen(content), content);

	assert_int_equal(config_text_parse(bytes, (size_t)len, &t), 0);
	return t;
}

/* What only `content` has. */
static inline struct config_text_hash hash_with(const char *content)
{
	struct config_text *t = text_with(content);
	const struct config_text_hash hash = config_text_hash(t);

	config_text_drop(t);
	return hash;
}

/* A state with `content` as its text (NULL = none) and as many marks. */
static inline void make_state(struct confirmed *c, const char *content, unsigned marks)
{
	*c = (struct confirmed){.text = content != NULL ? text_with(content) : NULL};
	for (unsigned i = 0; i < marks; i++) {
		const struct confirmed_mark mark = {{UINT64_MAX - i, 100 + i},
						    INT64_C(1764000000123456789) + i,
						    i + 2,
						    (enum confirmed_reason)(i % CONFIRMED_REASONS)};

		confirmed_add_mark(c, &mark);
	}
}

static inline bool is_same_mark(const struct confirmed_mark *a, const struct confirmed_mark *b)
{
	return config_text_hash_same(a->text, b->text) && a->wall_ns == b->wall_ns &&
	       a->generation == b->generation && a->reason == b->reason;
}

static inline bool is_same_state(const struct confirmed *a, const struct confirmed *b)
{
	if (a->mark_count != b->mark_count || (a->text == NULL) != (b->text == NULL))
		return false;
	for (unsigned i = 0; i < a->mark_count; i++)
		if (!is_same_mark(&a->marks[i], &b->marks[i]))
			return false;
	if (a->text == NULL)
		return true;
	return config_text_hash_same(config_text_hash(a->text), config_text_hash(b->text));
}

/* The file holds just this. */
static inline void assert_on_disk(const struct rig *r, const struct confirmed *wanted)
{
	struct confirmed c;

	assert_int_equal(confirmed_load(r->folder, &c), 0);
	assert_true(is_same_state(&c, wanted));
	confirmed_free(&c);
}

#endif
