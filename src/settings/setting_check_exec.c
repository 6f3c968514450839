/* SPDX-License-Identifier: MIT
 *
 * setting_check_exec.c - `check = exec PROGRAM [ARG...] [path=]`: the program, its arguments and its PATH.
 *
 * All words but path= are the program's, unchanged. Whether the program may be run is judged with the whole
 * configuration: validate_exec.c. Main thread, or that of a reading.
 */
#include <errno.h>
#include <string.h>

#include "weir/base/check.h"
#include "setting.h"

/* What -T prints of them must fit on a line, however it is quoted. */
#define ARGS_MAX 32
#define ARG_BYTES_MAX SETTING_TEXT_MAX
#define PATH_BYTES_MAX 255

static bool is_ours(const struct word *w)
{
	return strncmp(w->text, "path=", strlen("path=")) == 0;
}

struct words setting_sort_program(const struct setting *s)
{
	struct words sorted = {arena_alloc(s->diag->arena, s->words.count * sizeof(struct word)), 0};

	for (int ours = 0; ours < 2; ours++)
		for (size_t i = 0; i < s->words.count; i++)
			if (is_ours(&s->words.list[i]) == (ours > 0))
				sorted.list[sorted.count++] = s->words.list[i];
	return sorted;
}

static int too_long(const struct setting *s, const struct word *w)
{
	diag_error(s->diag, DIAG_TOO_LONG, w->at,
		   "a program and its arguments have at most %d bytes, and there are at most %d arguments",
		   ARG_BYTES_MAX, ARGS_MAX);
	diag_hint(s->diag, "write a script that has them");
	return -EINVAL;
}

int setting_take_program(const struct setting *s, struct config_check *c)
{
	struct arena *a = s->diag->arena;
	const struct word *w = &s->words.list[1];
	size_t count = 0, bytes = 0;

	while (1 + count < s->words.count && !is_ours(&w[count]))
		count++;
	if (count == 0) {
		diag_error(s->diag, DIAG_NO_VALUE, s->words.list[0].at, "'check = exec' needs a program");
		diag_hint(s->diag, "write check = exec /usr/local/lib/weir/check-app");
		return -EINVAL;
	}
	if (w->text[0] != '/') {
		diag_error(s->diag, DIAG_BAD_VALUE, w->at, "'%s' is not an absolute path", w->text);
		diag_hint(s->diag, "write check = exec /usr/local/lib/weir/check-app");
		return -EINVAL;
	}
	c->args = arena_alloc(a, count * sizeof(*c->args));
	for (size_t i = 0; i < count; i++) {
		bytes += w[i].len + 1;
		if (i > ARGS_MAX || bytes > ARG_BYTES_MAX)
			return too_long(s, &w[i]);
		if (i > 0)
			c->args[c->arg_count++].text = arena_strndup(a, w[i].text, w[i].len);
	}
	c->program = arena_strndup(a, w->text, w->len);
	return (int)count;
}

void setting_print_program(const struct config_check *c, FILE *out)
{
	fputc(' ', out);
	words_print_quoted(c->program, out);
	for (size_t i = 0; i < c->arg_count; i++) {
		fputc(' ', out);
		words_print_quoted(c->args[i].text, out);
	}
}

int setting_parse_check_path(const struct setting *s, void *field)
{
	const struct config_check *c = s->base;
	const struct word *w = &s->words.list[0];
	char *path = arena_strndup(s->diag->arena, w->text, w->len);

	if (setting_validate_kind(s, c->kind == CONFIG_CHECK_EXEC, "'check = exec'") != 0)
		return -EINVAL;
	if (w->len > PATH_BYTES_MAX) {
		diag_error(s->diag, DIAG_TOO_LONG, w->at, "'path' has at most %d bytes", PATH_BYTES_MAX);
		return -EINVAL;
	}
	/* A program is looked for in the working folder where a part of it is empty or relative. */
	for (size_t i = 0; i <= w->len; i++) {
		if ((i > 0 && path[i - 1] != ':') || path[i] == '/')
			continue;
		(void)setting_bad(s, w, i < w->len ? i : 0, "is not a list of absolute folders");
		diag_hint(s->diag, "write path=/usr/bin:/bin");
		return -EINVAL;
	}
	memcpy(field, &path, sizeof(path));
	return 0;
}
