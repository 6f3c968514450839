/* SPDX-License-Identifier: MIT
 *
 * convert.c - one conversion: read, convert, judge the result as `weir -c` does, and account for each line.
 *
 * A line of ours that weir refuses is taken out again, and the line that it came from is lost, with weir's
 * own words. Main thread.
 */
#include "weir/convert/convert.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "weir/base/check.h"
#include "weir/config/options.h"
#include "weir/haproxy/haproxy.h"
#include "weir/nginx/nginx.h"
#include "weir/settings/config_reading.h"

#define JUDGED_MAX 50	       /* rounds; most need one or two */
#define MEMORY_MAX (1u << 30) /* bytes; a file of a million lines needs less than half of it */

struct conversion {
	struct work work;
	const struct convert_wish *wish;
	struct convert_result *result;
};

/* ---- whose configuration is it? ---- */

/* Does the text have a brace that is not of ${NAME}, and no '=' before it? */
static bool opens_block(const char *text, size_t len)
{
	for (size_t i = 0; i < len && text[i] != '='; i++)
		if (text[i] == '{' && (i == 0 || text[i - 1] != '$'))
			return true;
	return false;
}

/* Does the line begin with this word, and open a block (or, if not `block`, have no brace or semicolon)? */
static bool is_head(const char *line, size_t len, const char *word, bool block)
{
	const size_t skip = strspn(line, " \t"), word_len = strlen(word);
	const char *rest = line + skip + word_len;

	if (skip + word_len > len || strncmp(line + skip, word, word_len) != 0)
		return false;
	if (block)
		return opens_block(rest, len - skip - word_len);
	return (skip + word_len == len || strchr(" \t\r", *rest) != NULL) && memchr(line, ';', len) == NULL &&
	       memchr(line, '{', len) == NULL && memchr(line, '=', len) == NULL;
}

/* HAProxy's sections begin a line and have no brace or semicolon; nginx's blocks have a brace. `*sure` is how
 * many lines say so. */
static enum convert_from guess(const char *text, unsigned *sure)
{
	static const char *const haproxy[] = {"global", "defaults", "frontend", "backend", "listen"};
	static const char *const nginx[] = {"stream", "http", "events", "upstream", "server"};
	unsigned heads = 0, blocks = 0;

	while (*text != '\0') {
		const size_t len = strcspn(text, "\n");

		for (size_t i = 0; i < ARRAY_LEN(haproxy); i++)
			heads += is_head(text, len, haproxy[i], false);
		for (size_t i = 0; i < ARRAY_LEN(nginx); i++)
			blocks += is_head(text, len, nginx[i], true);
		text += len + (text[len] == '\n');
	}
	*sure = heads > 0 ? heads : blocks;
	return heads > 0 ? CONVERT_HAPROXY : CONVERT_NGINX;
}

struct recognised {
	enum convert_from from;
	unsigned sure;
};

static void recognise(struct arena *a, const char *path, struct recognised *r)
{
	char *text;
	size_t len;

	if (source_read_file(a, path, true, &text, &len) != 0 || len > OLD_BYTES_MAX)
		return;
	text[len] = '\0';
	r->from = guess(text, &r->sure);
}

enum convert_from convert_recognise(const char *path)
{
	struct recognised r = {.from = CONVERT_GUESS};
	struct arena arena = {0};
	jmp_buf no_memory;

	if (setjmp(no_memory) == 0) {
		arena.no_memory = &no_memory;
		recognise(&arena, path, &r);
	}
	arena_free(&arena);
	/* One line may be a mistake in one of ours. */
	return r.sure > 1 ? r.from : CONVERT_GUESS;
}

static enum convert_from find_out(struct conversion *c)
{
	struct old_reading *reading = c->work.reading;
	const char *path = c->wish->paths[0];
	struct stat st;
	unsigned sure;
	char *text;

	if (c->wish->from != CONVERT_GUESS)
		return c->wish->from;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return CONVERT_HAPROXY;
	text = old_read_file(reading, path, NULL, 0);
	reading->files = 0;
	return text == NULL ? CONVERT_HAPROXY : guess(text, &sure);
}

/* ---- judging ---- */

static void refuse_line(struct work *w, struct ini_line *line, const char *why)
{
	line->left_out = true;
	/* weir's words quote the value. */
	if (line->from != NULL &&
	    (old_secret(line->value) != NULL || strstr(line->from->shown, "***") != NULL))
		old_set(w->arena, line->from, OLD_LOST, "weir refuses what becomes of it: '%s'", line->key);
	else if (line->from != NULL)
		old_set(w->arena, line->from, OLD_LOST, "weir refuses '%s = %s': %s", line->key, line->value,
			why);
	else
		work_note(w, "left out '%s = %s': %s", line->key, line->value, why);
}

static void refuse_section(struct work *w, struct ini_section *s, const char *why)
{
	s->left_out = true;
	if (s->from != NULL)
		old_set(w->arena, s->from, OLD_LOST, "weir refuses the section: %s", why);
}

static bool has_control(const char *text)
{
	for (; *text != '\0'; text++)
		if (((unsigned char)*text < ' ' && *text != '\t') || *text == 0x7f)
			return true;
	return false;
}

/* A line break in a quoted word would begin a line of ours. */
static void refuse_controls(struct work *w)
{
	for (size_t i = 0; i < w->ini.count; i++) {
		struct ini_section *s = w->ini.sections[i];

		if (s->name != NULL && has_control(s->name))
			refuse_section(w, s, "a control character in its name");
		for (size_t l = 0; l < s->count; l++) {
			struct ini_line *line = &s->lines[l];

			if (!line->left_out && (has_control(line->key) || has_control(line->value)))
				refuse_line(w, line, "a control character");
		}
	}
}

/* Takes out the lines that weir refuses, or, if there are none, the sections. Returns whether it took any. */
static bool refuse(struct work *w, const struct config_reading *r, const struct ini_origin *map, size_t count)
{
	bool found = false;

	for (unsigned headers = 0; headers < 2 && !found; headers++) {
		for (size_t i = 0; i < r->diag.count; i++) {
			const struct diag_item *item = &r->diag.items[i];
			const struct ini_origin *origin;

			if (item->level != DIAG_LEVEL_ERROR || item->at.line == 0 || item->at.line > count)
				continue;
			origin = &map[item->at.line - 1];
			if (origin->section->left_out)
				continue;
			if (headers == 1 && origin->line == NULL) {
				refuse_section(w, origin->section, item->text);
				found = true;
			} else if (headers == 0 && origin->line != NULL && !origin->line->left_out) {
				refuse_line(w, origin->line, item->text);
				found = true;
			}
		}
	}
	return found;
}

/* Returns whether weir takes it. */
static bool judge_once(struct conversion *c, bool *changed)
{
	struct work *w = &c->work;
	struct config_input input = {0};
	struct config_reading r;
	struct ini_origin *map;
	struct text text;
	size_t count;
	bool fine;

	text_init(&text);
	ini_write_judged(&w->ini, &text, &map, &count);
	*changed = false;
	if (text.failed ||
	    config_input_set_text(&input, "result", text.bytes != NULL ? text.bytes : "") != 0) {
		text_free(&text);
		arena_no_memory(w->arena);
	}
	if (text.len > SOURCE_BYTES_MAX) {
		text_free(&text);
		config_input_free(&input);
		return old_fail(w->reading, c->wish->paths[0], 0,
				"the result has more than 16 MiB, which weir does not read");
	}
	text_free(&text);
	config_read(&input, &r);
	fine = r.config != NULL;
	if (!fine && !r.no_memory)
		*changed = refuse(w, &r, map, count);
	config_reading_free(&r);
	config_input_free(&input);
	return fine;
}

static bool is_used_elsewhere(const struct work *w, const struct old_line *from)
{
	for (size_t i = 0; i < w->ini.count; i++) {
		const struct ini_section *s = w->ini.sections[i];

		for (size_t l = 0; !s->left_out && l < s->count; l++)
			if (s->lines[l].from == from)
				return true;
	}
	return false;
}

/* The lines of a section that weir refuses are lost with it. */
static void lose_sections(struct work *w)
{
	for (size_t i = 0; i < w->ini.count; i++) {
		const struct ini_section *s = w->ini.sections[i];

		for (size_t l = 0; s->left_out && l < s->count; l++)
			if (s->lines[l].from != NULL && !is_used_elsewhere(w, s->lines[l].from))
				old_set(w->arena, s->lines[l].from, OLD_LOST, "its section is lost");
	}
}

static bool judge(struct conversion *c)
{
	bool changed = true;

	for (unsigned i = 0; i < JUDGED_MAX && changed; i++)
		if (judge_once(c, &changed))
			return true;
	return false;
}

/* ---- the account ---- */

static void count_lines(struct conversion *c)
{
	struct convert_result *r = c->result;

	for (size_t i = 0; i < r->reading.every.count; i++) {
		struct old_line *line = r->reading.every.list[i];

		if (line->fate == OLD_OPEN)
			work_by_table(&c->work, line, 0);
		r->counts[line->fate]++;
	}
}

static bool has_proxy(const struct ini *ini)
{
	for (size_t i = 0; i < ini->count; i++) {
		const unsigned kind = ini->sections[i]->kind;

		if ((kind & (IN_LISTEN | IN_FRONTEND | IN_BACKEND)) != 0 && !ini->sections[i]->left_out)
			return true;
	}
	return false;
}

static void write_result(struct conversion *c)
{
	struct work *w = &c->work;
	struct text out;

	refuse_controls(w);
	ini_shorten(&w->ini);
	if (!has_proxy(&w->ini) || !judge(c))
		return;
	lose_sections(w);
	if (!has_proxy(&w->ini))
		return;
	text_init(&out);
	ini_write(&w->ini, &out);
	if (!out.failed)
		c->result->ini = arena_strndup(w->arena, out.bytes, out.len);
	text_free(&out);
}

static void convert_all(struct conversion *c)
{
	const enum convert_from from = find_out(c);
	struct work *w = &c->work;
	bool read = w->reading->error.text == NULL;

	w->whose = from == CONVERT_HAPROXY ? FOREIGN_HAPROXY : FOREIGN_NGINX;
	if (read && from == CONVERT_HAPROXY)
		read = haproxy_read(w->reading, c->wish->paths, c->wish->path_count);
	for (size_t i = 0; read && from == CONVERT_NGINX && i < c->wish->path_count; i++)
		read = nginx_read(w->reading, c->wish->paths[i]);
	if (!read)
		return;
	if (from == CONVERT_HAPROXY)
		haproxy_convert(w);
	else
		nginx_convert(w);
	write_result(c);
	if (w->reading->error.text == NULL)
		count_lines(c);
}

void convert_run(const struct convert_wish *wish, struct convert_result *r)
{
	struct conversion c = {.wish = wish, .result = r};
	jmp_buf no_memory;

	check(wish->path_count > 0);
	*r = (struct convert_result){.no_memory = true};
	if (setjmp(no_memory) == 0) {
		r->memory.no_memory = &no_memory;
		r->memory.max = MEMORY_MAX;
		r->reading.arena = &r->memory;
		r->reading.prefix = wish->prefix;
		r->reading.environment = wish->environment;
		c.work.arena = &r->memory;
		c.work.reading = &r->reading;
		c.work.ini.arena = &r->memory;
		c.work.with_files = wish->with_files;
		convert_all(&c);
		r->files = c.work.files;
		r->file_count = c.work.file_count;
		r->notes = c.work.notes;
		r->note_count = c.work.note_count;
		r->no_memory = false;
	} else if (r->memory.used > MEMORY_MAX / 2) {
		/* One line of a file can stand for as many as another part of it has. */
		r->reading.error = (struct old_error){
		    wish->paths[0], 0, "its conversion needs more than 1 GiB of memory"};
		r->ini = NULL;
		r->no_memory = false;
	}
	r->memory.no_memory = NULL;
}

void convert_free(struct convert_result *r)
{
	arena_free(&r->memory);
	*r = (struct convert_result){0};
}
