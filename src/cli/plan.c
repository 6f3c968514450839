/* SPDX-License-Identifier: MIT
 *
 * plan.c - `weir plan`: asks a running weir what a reload would change.
 *
 * Weir reads the files itself; a file that is named here is given to it with its whole path. Main thread.
 */
#include "plan.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/sys/sys.h"
#include "ask.h"
#include "reload.h"

/* ---- the answer ---- */

struct answer {
	struct ask_sink sink;
	struct text all;
};

static void take(struct ask_sink *sink, const char *bytes, size_t len)
{
	text_add(&container_of(sink, struct answer, sink)->all, bytes, len);
}

static bool begins_with(const char *text, const char *word)
{
	return strncmp(text, word, strlen(word)) == 0;
}

static bool ends_with(const struct text *t, const char *end)
{
	const size_t len = strlen(end);

	return t->len >= len && strcmp(t->bytes + t->len - len, end) == 0;
}

/* Where a line begins with `word`; NULL = nowhere. */
static const char *find_line(const char *text, const char *word)
{
	while (text != NULL && !begins_with(text, word)) {
		text = strchr(text, '\n');
		text += text != NULL;
	}
	return text;
}

/* Prints a plan that begins at `plan`, and what precedes it. */
static enum exit_code show(const char *all, const char *plan, bool changes, bool quiet)
{
	if (!quiet) {
		(void)fwrite(all, 1, (size_t)(plan - all), stderr); /* nowhere to report a failure */
		(void)fputs(plan, stdout); /* cli_main() checks stdout at the end */
	}
	return changes ? EXIT_WOULD_CHANGE : EXIT_FINE;
}

static enum exit_code explain(const char *name, int err)
{
	if (err == -ETIMEDOUT)
		fprintf(stderr, "weir: no answer from %s within %d s\n", name, RELOAD_WAIT_MS / 1000);
	else
		fprintf(stderr, "weir: lost the connection to %s before the plan%s%s\n", name,
			err ? ": " : "", err ? strerror(-err) : "");
	return EXIT_ENVIRONMENT;
}

static enum exit_code conclude(const struct answer *a, const char *name, bool quiet, int err)
{
	const char *text = a->all.len > 0 ? a->all.bytes : "", *plan;

	if (a->all.failed) {
		fputs("weir: out of memory\n", stderr);
		return EXIT_ENVIRONMENT;
	}
	if (text[0] == '{' && ends_with(&a->all, "\n}\n"))
		return show(text, text, find_line(text, "  \"would_change\": true") != NULL, quiet);
	plan = find_line(text, "plan: ");
	if (plan != NULL && ends_with(&a->all, "\nwould change: yes\n"))
		return show(text, plan, true, quiet);
	if (plan != NULL && ends_with(&a->all, "\nwould change: no\n"))
		return show(text, plan, false, quiet);
	(void)fputs(text, stderr); /* nowhere to report a failure */
	if (find_line(text, "not planned: ") != NULL || begins_with(text, "error: "))
		return EXIT_CONFIG;
	if (text[0] != '\0' && !ends_with(&a->all, "\n"))
		fputc('\n', stderr);
	return explain(name, err);
}

bool plan_is_asked(const char *line)
{
	return begins_with(line, "plan\n") || begins_with(line, "plan ");
}

enum exit_code plan_talk(int fd, const char *name, const char *line, bool quiet)
{
	struct answer a = {.sink.take = take};
	enum exit_code code;
	int err;

	text_init(&a.all);
	err = ask_talk(fd, line, RELOAD_WAIT_MS, &a.sink);
	sys_close(fd);
	code = conclude(&a, name, quiet, err);
	text_free(&a.all);
	return code;
}

/* ---- the question ---- */

/* Appends the whole path, with a backslash before what ends a word or a command there. False after explaining
 * on stderr why it cannot be named. */
static bool add_path(struct text *line, const char *path)
{
	char here[PATH_MAX] = "";

	if (path[0] == '\0' || strpbrk(path, "\r\n") != NULL) {
		fputs("weir: plan takes the name of a file, without line breaks\n", stderr);
		return false;
	}
	if (path[0] != '/' && getcwd(here, sizeof(here)) == NULL) {
		fprintf(stderr, "weir: the current directory: %s; give the whole path\n", strerror(errno));
		return false;
	}
	for (const char *part = here; part != NULL; part = part == here ? path : NULL) {
		if (part == path && path[0] != '/')
			text_add(line, "/", 1);
		for (const char *c = part; *c != '\0'; c++)
			text_printf(line, "%s%c", strchr(" \t;\\", *c) != NULL ? "\\" : "", *c);
	}
	return true;
}

static bool make_line(const struct cli_args *a, struct text *line)
{
	text_printf(line, "plan");
	if (a->word_count > 1) {
		fprintf(stderr, "weir: plan takes one file, not also '%s'\n", a->words[1]);
		return false;
	}
	if (a->word_count == 1) {
		text_printf(line, " ");
		if (!add_path(line, a->words[0]))
			return false;
	}
	text_printf(line, "%s\n", a->json ? " json" : "");
	if (line->failed)
		fputs("weir: out of memory\n", stderr);
	return !line->failed;
}

enum exit_code cli_plan(const struct cli_args *a)
{
	enum exit_code code = EXIT_USAGE;
	struct addr found = {.len = 0};
	char name[ADDR_TEXT_MAX];
	struct text line;

	text_init(&line);
	if (make_line(a, &line)) {
		const int fd = reload_find(a, &found, &code);

		if (fd >= 0)
			code = plan_talk(fd, addr_format(&found, name), line.bytes, a->quiet);
	}
	text_free(&line);
	return code;
}
