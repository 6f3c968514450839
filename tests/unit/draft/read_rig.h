/* SPDX-License-Identifier: MIT
 *
 * read_rig.h - shared by the tests of this room: a file from text, and what a reading of it gave.
 *
 * Functions are static inline, because each test is a program of its own.
 */
#ifndef WEIR_TESTS_READ_RIG_H
#define WEIR_TESTS_READ_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/draft/old_line.h"

struct read_rig {
	struct arena arena;
	struct old_reading reading;
	char path[64];
	int fd;
};

static inline void rig_begin(struct read_rig *rig, const char *text)
{
	*rig = (struct read_rig){.fd = memfd_create("rig", MFD_CLOEXEC)};
	assert_true(rig->fd >= 0);
	assert_int_equal(write(rig->fd, text, strlen(text)), strlen(text));
	(void)snprintf(rig->path, sizeof(rig->path), "/proc/self/fd/%d", rig->fd);
	rig->reading.arena = &rig->arena;
}

static inline void rig_end(struct read_rig *rig)
{
	arena_free(&rig->arena);
	assert_int_equal(close(rig->fd), 0);
}

/* "LINE:word|word LINE:word{LINE:word}" of all lines; freed with the arena. */
static inline const char *rig_text(struct read_rig *rig, const struct old_lines *lines)
{
	const char *out = "";

	for (size_t i = 0; i < lines->count; i++) {
		const struct old_line *line = lines->list[i];

		out = arena_printf(&rig->arena, "%s%s%u:", out, i > 0 ? " " : "", line->line);
		for (size_t w = 0; w < line->count; w++)
			out = arena_printf(&rig->arena, "%s%s%s", out, w > 0 ? "|" : "", line->words[w]);
		if (line->block)
			out = arena_printf(&rig->arena, "%s{%s}", out, rig_text(rig, &line->inside));
	}
	return out;
}

#endif
