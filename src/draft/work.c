/* SPDX-License-Identifier: MIT
 *
 * work.c - what the conversions of both programs share: notes, files, and the words of the table of foreign
 * words for what is not converted.
 *
 * Main thread.
 */
#include "weir/draft/work.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/password.h"
#include "weir/config/foreign.h"
#include "weir/config/options.h"
#include "weir/config/suggest.h"

void work_note(struct work *w, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = arena_vprintf(w->arena, fmt, ap);
	va_end(ap);
	if (index_find(&w->notes_made, text) != NULL)
		return;
	index_put(w->arena, &w->notes_made, text, w);
	w->notes = arena_grow(w->arena, w->notes, w->note_count, sizeof(*w->notes));
	w->notes[w->note_count++] = text;
}

/* The text of a file, and the number of the next one of its name. */
struct numbered {
	const char *text;
	unsigned next;
};

const char *work_file(struct work *w, const char *name, const char *text)
{
	const char *free_name = name;
	struct numbered *first = index_find(&w->files_by_name, name), *file;

	if (first != NULL && strcmp(first->text, text) == 0)
		return name;
	while (index_find(&w->files_by_name, free_name) != NULL)
		free_name = arena_printf(w->arena, "%s-%u", name, first->next++);
	file = arena_alloc(w->arena, sizeof(*file));
	*file = (struct numbered){text, 2};
	index_put(w->arena, &w->files_by_name, free_name, file);
	w->files = arena_grow(w->arena, w->files, w->file_count, sizeof(*w->files));
	w->files[w->file_count++] = (struct work_file){free_name, text};
	return free_name;
}

/* The row for the longest of the words that `text` begins with. */
static const struct foreign *find_row(const struct work *w, const char *text, bool in_line)
{
	const struct foreign *best = NULL;
	size_t count, longest = 0;
	const struct foreign *rows = foreign_rows(&count);

	for (size_t i = 0; i < count; i++) {
		const struct foreign *f = &rows[i];

		if (f->whose != w->whose || f->area == FOREIGN_SECTION ||
		    foreign_is_in_line(f->area) != in_line)
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

const char *work_log_level(const char *word)
{
	static const char *const levels[][2] = {
	    {"emerg", "alert"}, {"alert", "alert"},	{"crit", "error"},   {"err", "error"},
	    {"error", "error"}, {"warning", "warning"}, {"warn", "warning"}, {"notice", "notice"},
	    {"info", "info"},	{"debug", "debug"}};

	for (size_t i = 0; i < ARRAY_LEN(levels); i++)
		if (strcmp(word, levels[i][0]) == 0)
			return levels[i][1];
	return NULL;
}

bool work_log_is_new(struct work *w, struct old_line *line, const char *target)
{
	if (index_find(&w->logs, target) != NULL) {
		old_set(w->arena, line, OLD_NO_EFFECT, "weir logs there already");
		return false;
	}
	index_put(w->arena, &w->logs, target, line);
	return true;
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
	size_t len = 1;
	char *out, *at;

	for (size_t i = 0; i < count; i++)
		len += strlen(list[i]) + strlen(between);
	out = at = arena_alloc(a, len);
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			at = stpcpy(at, between);
		at = stpcpy(at, list[i]);
	}
	return out;
}

const char *work_password_hash(struct arena *a, const char *password)
{
	char hash[PASSWORD_HASH_MAX];

	return password_make(password, hash) ? arena_strndup(a, hash, strlen(hash)) : NULL;
}

const char *work_spaced(struct arena *a, const char *list)
{
	char *out = arena_strndup(a, list, strlen(list));

	for (char *c = out; *c != '\0'; c++)
		if (*c == ',')
			*c = ' ';
	return out;
}

bool work_has_item(const char *list, char between, const char *item)
{
	const char separators[] = {between, '\0'};
	const size_t len = strlen(item);

	while (*list != '\0') {
		const size_t size = strcspn(list, separators);

		if (size == len && strncmp(list, item, len) == 0)
			return true;
		list += size + (list[size] == between);
	}
	return false;
}

const char *work_lines(struct arena *a, const char *list)
{
	char *out = arena_printf(a, "%s\n", list);

	for (char *c = out; *c != '\0'; c++)
		if (*c == ',')
			*c = '\n';
	return out;
}

/* Can an item be judged here? What is in files and variables is known on the target machine. */
static bool is_judged(const char *item)
{
	return item[0] != '@' && strstr(item, "${") == NULL;
}

#define NETWORKS_BYTES 100 /* of a line that a person can read */

void work_add_list(struct ini *ini, struct ini_section *s, struct old_line *from, const char *key,
		   const struct work_list *list, bool judged)
{
	const char *text = "", *stand_in = "";

	for (size_t i = 0; i < list->count; i++) {
		text = ini_join(ini->arena, text, list->items[i]);
		if (!judged && is_judged(list->items[i]))
			stand_in = ini_join(ini->arena, stand_in, list->items[i]);
		if (strlen(text) < NETWORKS_BYTES && i + 1 < list->count)
			continue;
		ini_add(ini, s, from, key, "%s", text)->stand_in = judged ? NULL : stand_in;
		text = stand_in = "";
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

/* "src=10.0.0.1,@FILE" without the file; NULL: nothing is left. */
static const char *without_files(struct arena *a, const char *word)
{
	const size_t key = strcspn(word, "=");
	struct work_list all = {.count = 0}, judged = {.count = 0};

	if (word[key] != '=')
		return NULL;
	work_list_split(a, &all, word + key + 1);
	for (size_t i = 0; i < all.count; i++)
		if (is_judged(all.items[i]))
			work_list_add(a, &judged, all.items[i]);
	if (judged.count == 0)
		return NULL;
	return arena_printf(a, "%.*s=%s", (int)key, word, work_joined(a, judged.items, judged.count, ","));
}

const char *work_without_files(struct arena *a, const char *text)
{
	const char *out = "";

	while (*text != '\0') {
		const size_t len = strcspn(text, " ");
		const char *word = arena_strndup(a, text, len);

		if (strchr(word, '@') != NULL) {
			const char *rest = without_files(a, word);

			word = rest != NULL			 ? rest
			       : strncmp(word, "src=", 4) == 0 ? "src=192.0.2.1"
							       : "sni=name.invalid";
		}
		out = ini_join(a, out, word);
		text += len + (text[len] == ' ');
	}
	return out;
}

size_t work_word_len(const char *text)
{
	bool quoted = false;
	size_t len = 0;

	for (; text[len] != '\0' && (quoted || text[len] != ' '); len++) {
		if (text[len] == '\\' && text[len + 1] != '\0')
			len++;
		else if (text[len] == '"')
			quoted = !quoted;
	}
	return len;
}

/* The word with "x" in place of each ${NAME}. */
static const char *with_x(struct arena *a, const char *word)
{
	const char *out = "";

	for (const char *at; (at = strstr(word, "${")) != NULL && strchr(at, '}') != NULL;
	     word = strchr(at, '}') + 1)
		out = arena_printf(a, "%s%.*sx", out, (int)(at - word), word);
	return arena_printf(a, "%s%s", out, word);
}

const char *work_without_variables(struct arena *a, const char *text, const char *first)
{
	const char *out = NULL;

	while (*text != '\0') {
		const size_t len = work_word_len(text);
		const char *word = arena_strndup(a, text, len);
		const bool varies = strstr(word, "${") != NULL;

		if (varies && strchr(word, '"') != NULL)
			word = with_x(a, word);
		else if (varies)
			word = out == NULL ? first : "";
		if (word[0] != '\0')
			out = out == NULL ? word : ini_join(a, out, word);
		text += len + (text[len] == ' ');
	}
	return out != NULL ? out : first;
}

void work_add_closed(struct ini *ini, const char *name)
{
	ini_add(ini, ini_section(ini, IN_BACKEND, name, NULL), NULL, "server none", "127.0.0.1:1 disabled");
}
