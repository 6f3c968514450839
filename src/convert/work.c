/* SPDX-License-Identifier: MIT
 *
 * work.c - what the conversions of both programs share: notes, files, and the words of the table of foreign
 * words for what is not converted.
 *
 * Main thread.
 */
#include "work.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/password.h"
#include "weir/config/foreign.h"
#include "weir/config/suggest.h"

void work_note(struct work *w, const char *fmt, ...)
{
	struct convert_result *r = w->result;
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = arena_vprintf(w->arena, fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < r->note_count; i++)
		if (strcmp(r->notes[i], text) == 0)
			return;
	r->notes = arena_grow(w->arena, r->notes, r->note_count, sizeof(*r->notes));
	r->notes[r->note_count++] = text;
}

static bool has_file(const struct convert_result *r, const char *name)
{
	for (size_t i = 0; i < r->file_count; i++)
		if (strcmp(r->files[i].name, name) == 0)
			return true;
	return false;
}

const char *work_file(struct work *w, const char *name, const char *text)
{
	struct convert_result *r = w->result;
	const char *free_name = name;

	for (size_t i = 0; i < r->file_count; i++)
		if (strcmp(r->files[i].text, text) == 0 && strcmp(r->files[i].name, name) == 0)
			return name;
	for (unsigned n = 2; has_file(r, free_name); n++)
		free_name = arena_printf(w->arena, "%s-%u", name, n);
	r->files = arena_grow(w->arena, r->files, r->file_count, sizeof(*r->files));
	r->files[r->file_count++] = (struct convert_file){free_name, text};
	return free_name;
}

static bool is_in_line(enum foreign_area area)
{
	return area == FOREIGN_BIND_WORD || area == FOREIGN_SERVER_WORD || area == FOREIGN_LOG_WORD;
}

/* The row for the longest of the words that `text` begins with; one without advice gives way to a more
 * general one that has some. */
static const struct foreign *find_row(const struct work *w, const char *text, bool in_line)
{
	const struct foreign *best = NULL;
	size_t count, longest = 0;
	const struct foreign *rows = foreign_rows(&count);

	for (size_t i = 0; i < count; i++) {
		const struct foreign *f = &rows[i];

		if (f->whose != w->whose || f->area == FOREIGN_SECTION || is_in_line(f->area) != in_line)
			continue;
		if (strlen(f->word) <= longest || suggest_starts_with(text, f->word) == 0)
			continue;
		longest = strlen(f->word);
		best = f;
	}
	return best;
}

static enum old_fate fate_of(const struct foreign *f)
{
	switch (f->state) {
	case FOREIGN_NO_EFFECT:
		return OLD_NO_EFFECT;
	case FOREIGN_NOT_OURS:
		return OLD_NOT_OURS;
	default:
		return OLD_LOST;
	}
}

static const char *advice_of(struct work *w, const struct foreign *f)
{
	if (f->hint != NULL)
		return f->hint;
	if (f->note != NULL)
		return f->note;
	return f->ours != NULL ? arena_printf(w->arena, "see '%s'", f->ours) : "weir has nothing like it";
}

void work_by_table(struct work *w, struct old_line *line, size_t at)
{
	const struct foreign *f;
	const char *text = "";

	for (size_t i = at; i < line->count && i < at + 8; i++)
		text = ini_join(w->arena, text, line->words[i]);
	f = find_row(w, text, false);
	if (f == NULL)
		old_set(w->arena, line, OLD_LOST, "weir has nothing like '%s'", line->words[0]);
	else
		old_set(w->arena, line, fate_of(f), "%s", advice_of(w, f));
}

bool work_word_by_table(struct work *w, struct old_line *line, const char *word)
{
	const struct foreign *f = find_row(w, word, true);

	if (f != NULL && fate_of(f) == OLD_LOST)
		old_set(w->arena, line, OLD_LOST, "'%s': %s", word, advice_of(w, f));
	return f != NULL;
}

const char *work_duration(struct arena *a, long long ms)
{
	static const struct {
		const char *unit;
		long long ms;
	} units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};

	if (ms <= 0)
		return "0";
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (ms % units[i].ms == 0)
			return arena_printf(a, "%lld%s", ms / units[i].ms, units[i].unit);
	return "0";
}

const char *work_joined(struct arena *a, const char *const *list, size_t count, const char *between)
{
	const char *out = "";

	for (size_t i = 0; i < count; i++)
		out = arena_printf(a, "%s%s%s", out, i > 0 ? between : "", list[i]);
	return out;
}

const char *work_password_hash(struct arena *a, const char *password)
{
	char hash[PASSWORD_HASH_MAX];

	return password_make(password, hash) ? arena_strndup(a, hash, strlen(hash)) : NULL;
}

const char *work_name_of_pattern(struct arena *a, const char *text)
{
	static const struct {
		const char *begin;
		const char *ours;
	} begins[] = {{"^(.*\\.)?", "."}, {"^(.+\\.)?", "."}, {"(.*\\.)?", "."},
		      {"(^|\\.)", "."},	  {"^.*\\.", "*."},   {"^.+\\.", "*."},
		      {".*\\.", "*."},	  {"\\.", "*."},      {"^", ""}};
	const char *ours = NULL;
	char *out;
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_LEN(begins) && ours == NULL; i++) {
		if (strncmp(text, begins[i].begin, strlen(begins[i].begin)) != 0)
			continue;
		ours = begins[i].ours;
		text += strlen(begins[i].begin);
	}
	if (ours == NULL || text[0] == '\0' || text[strlen(text) - 1] != '$')
		return NULL;
	out = arena_alloc(a, strlen(text) + 1);
	for (; *text != '$' || text[1] != '\0'; text++) {
		if (*text == '\\' && text[1] == '.')
			text++;
		else if (strchr("^$.*+?()[]{}|\\", *text) != NULL)
			return NULL;
		out[len++] = *text;
	}
	return arena_printf(a, "%s%s", ours, out);
}

const char *work_spaced(struct arena *a, const char *list)
{
	char *out = arena_strndup(a, list, strlen(list));

	for (char *c = out; *c != '\0'; c++)
		if (*c == ',')
			*c = ' ';
	return out;
}

const char *work_lines(struct arena *a, const char *list)
{
	char *out = arena_printf(a, "%s\n", list);

	for (char *c = out; *c != '\0'; c++)
		if (*c == ',')
			*c = '\n';
	return out;
}

#define NETWORKS_BYTES 100 /* of a line that a person can read */

void work_add_list(struct ini *ini, struct ini_section *s, struct old_line *from, const char *key,
		   const struct work_list *list, bool judged)
{
	const char *text = "";

	for (size_t i = 0; i < list->count; i++) {
		text = ini_join(ini->arena, text, list->items[i]);
		if (strlen(text) < NETWORKS_BYTES && i + 1 < list->count)
			continue;
		ini_add(ini, s, from, key, "%s", text)->stand_in = judged ? NULL : "";
		text = "";
	}
}

void work_list_add(struct arena *a, struct work_list *list, const char *item)
{
	list->items = arena_grow(a, list->items, list->count, sizeof(*list->items));
	list->items[list->count++] = item;
}

void work_list_split(struct arena *a, struct work_list *list, const char *text)
{
	while (*text != '\0') {
		const size_t len = strcspn(text, ",");

		if (len > 0)
			work_list_add(a, list, arena_strndup(a, text, len));
		text += len + (text[len] == ',');
	}
}

const char *work_without_files(struct arena *a, const char *text)
{
	const char *out = "";

	while (*text != '\0') {
		const size_t len = strcspn(text, " ");
		const char *word = arena_strndup(a, text, len);

		if (strchr(word, '@') != NULL)
			word = strncmp(word, "src=", 4) == 0 ? "src=192.0.2.1" : "sni=name.invalid";
		out = ini_join(a, out, word);
		text += len + (text[len] == ' ');
	}
	return out;
}
