/* SPDX-License-Identifier: MIT
 *
 * reader.c - splits the lines of a source with libinih, wrapped in a reader of our own.
 *
 * Debian's libinih 55 joins indented lines to the key above, cuts lines at 199 bytes and section
 * names at 49, takes ':' for '=', knows no '#' comment inside a line, hides empty sections, and
 * reports only the first bad line without telling its handler any number. So libinih never sees a line as
 * written: take_line() counts, cleans and validates each physical line, tracks section and columns itself,
 * and passes on `key = value`. The handler runs immediately after each line, so we can check that both read
 * the same. Rejects control bytes, long lines and lines without '='. Main thread.
 */
#include "weir/config/reader.h"
#include "reader_state.h"

#include <ini.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/habit.h"
#include "weir/config/options.h"
#include "weir/config/values.h"
#include "weir/config/words.h"

static void mark_bad(struct reader *r)
{
	if (r->section != NULL)
		r->section->bad |= SECTION_BAD_LINE;
}

size_t reader_content_len(const char *text, size_t len)
{
	char quote = 0;
	size_t end = 0;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];
		size_t variable = quote == '\'' ? 0 : words_variable_len(text + i);

		if (variable > 0) {
			i += variable - 1;
			end = i + 1;
			continue;
		}
		if (quote == 0 && (c == '#' || c == ';') &&
		    (i == 0 || text[i - 1] == ' ' || text[i - 1] == '\t'))
			break;
		if (quote == '"' && i + 1 < len && words_escape_len(text + i) > 0)
			i++; /* the loop skips the second of the two bytes */
		else if (quote != 0 && c == quote)
			quote = 0;
		else if (quote == 0 && (c == '"' || c == '\''))
			quote = c;
		if (c != ' ' && c != '\t')
			end = i + 1;
	}
	return end;
}

/* Does the line contain only bytes allowed in a configuration? */
static bool bytes_ok(struct reader *r, const struct source_line *line)
{
	struct diag *d = r->doc->diag;

	if (line->len > READER_LINE_MAX) {
		diag_error(d, DIAG_TOO_LONG, reader_at(r, READER_LINE_MAX, 1),
			   "this line has %zu bytes, the limit is %d", line->len, READER_LINE_MAX);
		return false;
	}
	for (size_t i = 0; i < line->len; i++) {
		unsigned char c = (unsigned char)line->text[i];

		if ((c >= 0x20 && c != 0x7f) || c == '\t')
			continue;
		if (c == 0)
			diag_error(d, DIAG_BAD_BYTE, reader_at(r, i, 1),
				   "a NUL byte: this is not a text file, or it is in UTF-16");
		else
			diag_error(d, DIAG_BAD_BYTE, reader_at(r, i, 1), "a control byte (0x%02x)", c);
		return false;
	}
	return true;
}

static void take_header(struct reader *r, const char *text, size_t len, size_t offset)
{
	struct diag *d = r->doc->diag;
	const char *close = memchr(text, ']', len);
	size_t inside_len = close != NULL ? (size_t)(close - text) - 1 : len - 1;
	size_t skip = strspn(text + 1, " \t");
	const char *inside;

	skip = skip < inside_len ? skip : inside_len;
	inside_len -= skip;
	while (inside_len > 0 && strchr(" \t", text[skip + inside_len]) != NULL)
		inside_len--;
	inside = arena_strndup(d->arena, text + 1 + skip, inside_len);
	if (close == NULL) {
		diag_error(d, DIAG_SYNTAX, reader_at(r, offset + len, 1), "this section header has no ']'");
		if (*inside != '\0')
			diag_hint(d, "write [%s]", inside);
	}
	reader_open_section(r, inside, reader_at(r, offset + 1 + skip, inside_len));
	if (close == NULL)
		mark_bad(r);
	if (close != NULL && close + 1 < text + len) {
		size_t after = (size_t)(close + 1 - text);

		diag_error(d, DIAG_SYNTAX, reader_at(r, offset + after, len - after),
			   "nothing may follow a section header");
	}
}

/* Does libinih read `key` as we do? */
static bool key_ok(struct reader *r, const char *key, struct at at)
{
	struct diag *d = r->doc->diag;
	size_t plain = strcspn(key, ":\"'");

	if (key[0] == '\0') {
		diag_error(d, DIAG_SYNTAX, at, "there is no key before '='");
		return false;
	}
	if (strlen(key) > READER_KEY_MAX) {
		diag_error(d, DIAG_TOO_LONG, at, "a key has at most %d bytes", READER_KEY_MAX);
		return false;
	}
	if (key[plain] != '\0') {
		at.col += (unsigned)plain;
		at.len = 1;
		diag_error(d, DIAG_SYNTAX, at, "a key cannot contain '%c'", key[plain]);
		if (key[plain] == ':')
			diag_hint(d, "'=' separates key and value");
		return false;
	}
	return true;
}

/* "listen = 0.0.0.0:80" as in nginx: without the '=' after its first word. */
static const char *without_equals(struct arena *a, const char *text)
{
	const size_t word = strcspn(text, " \t="), blanks = strspn(text + word, " \t");

	if (text[word + blanks] != '=')
		return text;
	return arena_printf(a, "%.*s %s", (int)word, text,
			    text + word + blanks + 1 + strspn(text + word + blanks + 1, " \t"));
}

/* Reports a line before any section: words of nginx are translated; of all other lines only the first is
 * reported. Returns true for these: they are worth validating. */
static bool report_orphan(struct reader *r, const struct reader_line *line)
{
	const struct at at = reader_at(r, line->offset, line->len);
	struct diag *d = r->doc->diag;
	size_t len = 0;
	const char *hint = habit_translate(d->arena, without_equals(d->arena, line->text), &len);

	if (hint != NULL) {
		diag_error(d, DIAG_UNKNOWN_KEY, reader_at(r, line->offset, len), "unknown key '%.*s'",
			   (int)len, line->text);
		diag_hint(d, "%s%s", hint,
			  strncmp(hint, "write 'bind", 11) == 0 ? " in a [listen NAME]" : "");
		return false;
	}
	if (r->orphans == NULL) {
		diag_error(d, DIAG_NO_SECTION, at, "this line is before any section");
		diag_hint(d, "begin with [global], [defaults] or [listen NAME]");
		r->orphans = document_add_guessed(r->doc, IN_LISTEN, "", at);
	}
	return true;
}

/* `key = value`, cleaned; NULL after reporting. */
static struct entry *take_equals(struct reader *r, const struct reader_line *line)
{
	struct diag *d = r->doc->diag;
	const char *text = line->text;
	size_t equals = strcspn(text, "="), key_len = equals, value = equals + 1, len = line->len,
	       foreign = 0;
	struct entry *e;
	const char *key, *hint;

	while (key_len > 0 && strchr(" \t", text[key_len - 1]) != NULL)
		key_len--;
	key = arena_strndup(d->arena, text, key_len);
	hint = habit_translate(d->arena, text, &foreign);
	/* "acl x path_beg = /": the '=' is not the mistake. */
	if (hint != NULL && foreign < key_len &&
	    option_find_start(IN_GLOBAL | IN_STATS | IN_DEFAULTS | IN_PROXIES, key, &(size_t){0}) == NULL) {
		diag_error(d, DIAG_UNKNOWN_KEY, reader_at(r, line->offset, foreign), "unknown key '%.*s'",
			   (int)foreign, key);
		diag_hint(d, "%s", hint);
		return NULL;
	}
	if (!key_ok(r, key, reader_at(r, line->offset, key_len)))
		return NULL;
	while (value < len && strchr(" \t", text[value]) != NULL)
		value++;
	if (value < len && text[len - 1] == ';') {
		diag_error(d, DIAG_SYNTAX, reader_at(r, line->offset + len - 1, 1),
			   "a line does not end with ';'");
		diag_hint(d, "leave it out, or put the value in quotes if the ';' is part of it");
		len = value + reader_without_semicolon(text + value, len - value);
	}
	e = section_add_entry(r->doc, r->section);
	e->key = key;
	e->key_at = reader_at(r, line->offset, key_len);
	e->value = arena_strndup(d->arena, text + value, len - value);
	e->value_at = reader_at(r, line->offset + value, len - value);
	return e;
}

static struct entry *take_in_section(struct reader *r, const struct reader_line *line)
{
	struct entry *e;

	if (r->section->kind == 0)
		return NULL;
	if (reader_has_equals(line))
		return take_equals(r, line);
	e = reader_take_plain(r, line);
	return e != NULL && key_ok(r, e->key, e->key_at) ? e : NULL;
}

static struct entry *take_entry(struct reader *r, const struct reader_line *line)
{
	struct entry *e;

	if (r->section != NULL)
		return take_in_section(r, line);
	if (!report_orphan(r, line))
		return NULL;
	r->section = r->orphans;
	e = take_in_section(r, line);
	r->section = NULL;
	return e;
}

/* Reads the next physical line; returns its entry, or NULL if it has none. */
static struct entry *take_line(struct reader *r)
{
	const struct source_line *line = &r->source->lines[r->next_line++];
	const char *text = line->text;
	size_t offset = 0, len;
	struct reader_line clean;
	struct entry *e;

	if (!bytes_ok(r, line)) {
		mark_bad(r);
		return NULL;
	}
	while (text[offset] == ' ' || text[offset] == '\t')
		offset++;
	text += offset;
	len = reader_content_len(text, line->len - offset);
	if (len == 0)
		return NULL;
	clean = (struct reader_line){arena_strndup(r->doc->diag->arena, text, len), len, offset};
	if (text[0] == '[') {
		take_header(r, text, len, offset);
		return NULL;
	}
	if (reader_take_foreign(r, &clean))
		return NULL;
	e = take_entry(r, &clean);
	if (e == NULL)
		mark_bad(r);
	return e;
}

/* Reports that libinih did not call the handler for the line it was given. */
static void report_lost(struct reader *r)
{
	diag_error(r->doc->diag, DIAG_SYNTAX, r->pending->key_at, "this line cannot be read");
	mark_bad(r);
	r->pending = NULL;
}

/* ini_reader: like fgets(), but with clean lines only. */
static char *next_clean_line(char *str, int num, void *stream)
{
	struct reader *r = stream;
	struct entry *e = NULL;
	int n;

	check(num > READER_KEY_MAX + VALUE_TEXT_MAX);
	if (r->pending != NULL)
		report_lost(r);
	while (e == NULL) {
		if (r->next_line == r->source->line_count)
			return NULL;
		e = take_line(r);
	}
	/* libinih would cut a long value, and treat " ;" as a comment even inside quotes. */
	r->by_number = strlen(e->key) + strlen(e->value) + 8 > (size_t)num || strchr(e->value, ';') != NULL;
	if (r->by_number)
		n = snprintf(str, (size_t)num, "%s = %u\n", e->key, e->key_at.line);
	else
		n = snprintf(str, (size_t)num, "%s = %s\n", e->key, e->value);
	check(n > 0);
	check(n < num);
	r->pending = e;
	return str;
}

/* ini_handler: called at once for the line above; 0 would mean an error. */
static int confirm_line(void *user, const char *section, const char *key, const char *value)
{
	struct reader *r = user;
	const struct entry *e = r->pending;
	uint64_t line = 0;
	bool same;

	(void)section; /* tracked by ourselves: libinih cuts the name and hides empty sections */
	if (e == NULL)
		return 0;
	if (r->by_number)
		same = value_number(value, &line) == 0 && line == e->key_at.line;
	else
		same = strcmp(value, e->value) == 0;
	if (!same || strcmp(key, e->key) != 0)
		report_lost(r);
	r->pending = NULL;
	return 1;
}

void reader_read(struct document *doc, const struct source *source)
{
	struct reader r = {.doc = doc, .source = source};

	/* A positive result is only the first bad line; report_lost() has reported every one. A library built
	 * to keep lines on the heap may run out of memory. */
	if (ini_parse_stream(next_clean_line, &r, confirm_line, &r) < 0)
		arena_no_memory(doc->diag->arena);
	if (r.pending != NULL)
		report_lost(&r);
}
