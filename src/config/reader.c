/* SPDX-License-Identifier: MIT
 *
 * reader.c - the lines of a source, taken apart by libinih behind a reader of our own.
 *
 * Debian's libinih 55 joins indented lines to the key above, cuts lines at 199 bytes and section
 * names at 49, takes ':' for '=', knows no '#' comment inside a line, hides empty sections, and
 * reports only the first bad line without telling its handler any number. So it never sees a line
 * as written: take_line() counts, cleans and judges each physical line, keeps section and columns
 * itself, and hands over `key = value`. The handler runs at once after each line, so it can be
 * checked that both read the same. Refuses control bytes, long lines and lines without '='.
 * Main thread. Floor 2.
 */
#include "sluice/config/reader.h"

#include <ini.h>
#include <stdio.h>
#include <string.h>

#include "sluice/base/check.h"
#include "sluice/config/options.h"
#include "sluice/config/suggest.h"
#include "sluice/config/values.h"
#include "sluice/config/words.h"

struct reader {
	struct document *doc;
	const struct source *source;
	size_t next_line; /* index */
	struct section *section;
	bool orphan_reported;  /* a line before any section was reported */
	struct entry *pending; /* given to libinih, not yet come back */
	bool by_number;	       /* its value went as its line number */
};

static struct at reader_at(const struct reader *r, size_t offset, size_t len)
{
	struct at at = {r->source, (unsigned)r->next_line, (unsigned)offset + 1, (unsigned)len};

	return at;
}

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
		if (quote != 0 && c == quote)
			quote = 0;
		else if (quote == 0 && (c == '"' || c == '\''))
			quote = c;
		if (c != ' ' && c != '\t')
			end = i + 1;
	}
	return end;
}

/* Is the line made of bytes that a configuration has? */
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

/* The name in a section header, when there must be one; NULL after reporting. */
static const char *section_name(struct reader *r, const char *name, struct at at)
{
	struct diag *d = r->doc->diag;
	size_t ok = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:");

	if (name[ok] != '\0') {
		at.col += (unsigned)ok;
		at.len = 1;
		diag_error(d, DIAG_BAD_NAME, at, "a name has letters, digits and . _ - : only");
		return NULL;
	}
	if (strlen(name) >= CONFIG_NAME_MAX) {
		diag_error(d, DIAG_TOO_LONG, at, "a name has at most %d bytes", CONFIG_NAME_MAX - 1);
		return NULL;
	}
	return name;
}

static void report_unknown_section(struct reader *r, const char *word, struct at at)
{
	static const unsigned kinds[] = {IN_GLOBAL, IN_DEFAULTS, IN_LISTEN, IN_FRONTEND, IN_BACKEND};
	struct diag *d = r->doc->diag;
	const char *hint = suggest_translate(word);
	struct suggest s;

	diag_error(d, DIAG_UNKNOWN_SECTION, at, "there is no section [%s]", word);
	suggest_init(&s, word);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		suggest_offer(&s, section_word(kinds[i]), NULL);
	if (s.best != NULL)
		diag_hint(d, "did you mean [%s]?", s.best);
	else if (hint != NULL)
		diag_hint(d, "%s", hint);
	else
		diag_hint(d,
			  "there are [global], [defaults], [listen NAME], [frontend NAME], [backend NAME]");
}

/* What stands between the brackets: "listen web". `at` is the place of its first word. */
static struct section *open_section(struct reader *r, const char *inside, struct at at)
{
	struct arena *a = r->doc->diag->arena;
	struct diag *d = r->doc->diag;
	size_t word_len = strcspn(inside, " \t");
	size_t name_offset = word_len + strspn(inside + word_len, " \t");
	const char *name = inside + name_offset;
	const char *word = arena_strndup(a, inside, word_len);
	unsigned kind = section_kind(inside, word_len);
	struct at name_at = at;

	at.len = (unsigned)word_len;
	name_at.col += (unsigned)name_offset;
	name_at.len = (unsigned)strlen(name);
	if (kind == 0) {
		report_unknown_section(r, word, at);
	} else if (kind == IN_STATS) {
		diag_error(d, DIAG_NOT_YET, at, "section [stats] is not in this version");
	} else if ((kind & IN_PROXIES) == 0) {
		if (*name == '\0')
			return document_add_section(r->doc, kind, NULL, at);
		diag_error(d, DIAG_BAD_NAME, name_at, "[%s] has no name", word);
	} else if (*name == '\0') {
		diag_error(d, DIAG_BAD_NAME, at, "[%s] needs a name", word);
		diag_hint(d, "write [%s NAME]", word);
	} else if (section_name(r, name, name_at) != NULL) {
		return document_add_section(r->doc, kind, name, name_at);
	}
	return document_add_broken(r->doc, name);
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
		size_t word_len = strcspn(inside, " \t");
		const char *name = inside + word_len + strspn(inside + word_len, " \t");

		diag_error(d, DIAG_SYNTAX, reader_at(r, offset + len, 1), "this section header has no ']'");
		r->section = document_add_broken(r->doc, name);
		return;
	}
	r->section = open_section(r, inside, reader_at(r, offset + 1 + skip, inside_len));
	if (close + 1 < text + len) {
		size_t after = (size_t)(close + 1 - text);

		diag_error(d, DIAG_SYNTAX, reader_at(r, offset + after, len - after),
			   "nothing may follow a section header");
	}
}

/* A line without '=': says what it should have been. */
static void report_no_delimiter(struct reader *r, const char *text, struct at at)
{
	struct diag *d = r->doc->diag;
	size_t key_len = 0, name_len = 0, rest;
	const struct option *o = option_find_start(IN_GLOBAL | IN_DEFAULTS | IN_PROXIES, text, &key_len);
	const char *hint = suggest_translate(text);

	diag_error(d, DIAG_NO_EQUALS, at, "a line is 'key = value', this one has no '='");
	if (o == NULL && text[strcspn(text, " \t:")] == ':') {
		diag_hint(d, "write '=' instead of ':'");
		return;
	}
	if (o == NULL) {
		if (hint != NULL)
			diag_hint(d, "%s", hint);
		return;
	}
	rest = key_len + strspn(text + key_len, " \t");
	if ((o->flags & OPT_NAMED) != 0 && (o->flags & OPT_NAME_OPTIONAL) == 0)
		name_len = strcspn(text + rest, " \t");
	if (text[rest] == '\0' || text[rest + name_len] == '\0')
		diag_hint(d, "write '%s%s = %s'", o->key, (o->flags & OPT_NAMED) != 0 ? " NAME" : "", "...");
	else if (name_len > 0)
		diag_hint(d, "write '%s %.*s =%s'", o->key, (int)name_len, text + rest,
			  text + rest + name_len);
	else
		diag_hint(d, "write '%s = %s'", o->key, text + rest);
}

/* "server a 10.0.0.1:80 weight": HAProxy's way, where the ':' is the least of it. */
static bool report_second_name(struct reader *r, const char *key, struct at at)
{
	struct diag *d = r->doc->diag;
	size_t start = 0, name_len, more;
	const struct option *o = option_find_start(IN_PROXIES, key, &start);

	if (o == NULL || (o->flags & OPT_NAMED) == 0)
		return false;
	start += strspn(key + start, " \t");
	name_len = strcspn(key + start, " \t");
	more = start + name_len + strspn(key + start + name_len, " \t");
	if (key[more] == '\0')
		return false;
	at.col += (unsigned)more;
	at.len -= (unsigned)more;
	diag_error(d, DIAG_BAD_NAME, at, "'%s' has one name, then '='", o->key);
	diag_hint(d, "write '%s %.*s = ...'", o->key, (int)name_len, key + start);
	return true;
}

/* Is `key` one that libinih reads as we do? */
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
	if (key[plain] != '\0' && report_second_name(r, key, at))
		return false;
	if (key[plain] != '\0') {
		at.col += (unsigned)plain;
		at.len = 1;
		diag_error(d, DIAG_SYNTAX, at, "a key has no '%c'", key[plain]);
		if (key[plain] == ':')
			diag_hint(d, "'=' stands between key and value");
		return false;
	}
	return true;
}

/* `key = value`, cleaned; NULL after reporting. */
static struct entry *take_entry(struct reader *r, const char *text, size_t len, size_t offset)
{
	struct diag *d = r->doc->diag;
	const char *equals = memchr(text, '=', len);
	size_t key_len, value_offset;
	struct entry *e;
	const char *key;

	if (r->section == NULL) {
		if (!r->orphan_reported) {
			diag_error(d, DIAG_NO_SECTION, reader_at(r, offset, len),
				   "this line stands before any section");
			diag_hint(d, "begin with [global], [defaults] or [listen NAME]");
		}
		r->orphan_reported = true;
		return NULL;
	}
	if (r->section->kind == 0)
		return NULL;
	if (equals == NULL) {
		report_no_delimiter(r, arena_strndup(d->arena, text, len), reader_at(r, offset, len));
		return NULL;
	}
	key_len = (size_t)(equals - text);
	while (key_len > 0 && strchr(" \t", text[key_len - 1]) != NULL)
		key_len--;
	key = arena_strndup(d->arena, text, key_len);
	if (!key_ok(r, key, reader_at(r, offset, key_len)))
		return NULL;
	value_offset = (size_t)(equals - text) + 1;
	while (value_offset < len && strchr(" \t", text[value_offset]) != NULL)
		value_offset++;
	e = section_add_entry(r->doc, r->section);
	e->key = key;
	e->key_at = reader_at(r, offset, key_len);
	e->value = arena_strndup(d->arena, text + value_offset, len - value_offset);
	e->value_at = reader_at(r, offset + value_offset, len - value_offset);
	return e;
}

/* The next physical line; the entry on it, or NULL when it holds none. */
static struct entry *take_line(struct reader *r)
{
	const struct source_line *line = &r->source->lines[r->next_line++];
	const char *text = line->text;
	size_t offset = 0, len;
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
	if (text[0] == '[') {
		take_header(r, text, len, offset);
		return NULL;
	}
	e = take_entry(r, text, len, offset);
	if (e == NULL)
		mark_bad(r);
	return e;
}

/* libinih never called the handler for the line that it was given. */
static void report_lost(struct reader *r)
{
	diag_error(r->doc->diag, DIAG_SYNTAX, r->pending->key_at, "this line cannot be read");
	mark_bad(r);
	r->pending = NULL;
}

/* ini_reader: what fgets() would do, with clean lines only. */
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
	/* libinih would cut a long value, and take " ;" for a comment even inside quotes. */
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

	(void)section; /* kept by ourselves: libinih cuts its name and hides empty ones */
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

	/* The return code is the first bad line only; report_lost() has named every one. */
	(void)ini_parse_stream(next_clean_line, &r, confirm_line, &r);
	if (r.pending != NULL)
		report_lost(&r);
}
