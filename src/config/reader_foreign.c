/* SPDX-License-Identifier: MIT
 *
 * reader_foreign.c - lines as HAProxy and nginx write them: reported, then interpreted as meant.
 *
 * A header without brackets opens its section and a line without '=' becomes an entry, so that what follows
 * is validated in the same run. Nothing is built from them: each was an error. Main thread.
 */
#include "reader_state.h"

#include <string.h>

#include "weir/config/habit.h"
#include "weir/config/options.h"
#include "weir/config/suggest.h"

#define ANYWHERE (IN_GLOBAL | IN_STATS | IN_DEFAULTS | IN_PROXIES)
#define BLANKS	 " \t"

/* The words of a line, as far as this file needs them. */
struct pieces {
	const char *first;
	const char *second; /* "" = none */
	const char *rest;   /* from the third word on */
};

static const char *take_piece(struct arena *a, const char **text)
{
	size_t len = strcspn(*text, BLANKS);
	const char *piece = arena_strndup(a, *text, len);

	*text += len;
	*text += strspn(*text, BLANKS);
	return piece;
}

static struct pieces cut(struct arena *a, const char *text)
{
	struct pieces p;

	p.first = take_piece(a, &text);
	p.second = take_piece(a, &text);
	p.rest = text;
	return p;
}

/* "listen web]": the closing bracket is not part of the name. */
static const char *without_bracket(struct arena *a, const char *text)
{
	const size_t len = strlen(text);

	return len > 0 && text[len - 1] == ']' ? arena_strndup(a, text, len - 1) : text;
}

size_t reader_without_semicolon(const char *text, size_t len)
{
	while (len > 0 && text[len - 1] == ';')
		len--;
	while (len > 0 && strchr(BLANKS, text[len - 1]) != NULL)
		len--;
	return len;
}

/* A section without a possible name: nginx's "server {". Nothing is reported as missing in it. */
static void open_nameless(struct reader *r, struct at at)
{
	const char *name = arena_printf(r->doc->diag->arena, "server-of-line-%u", at.line);

	r->section = document_add_section(r->doc, IN_LISTEN, name, at);
	r->section->bad |= SECTION_BAD_LINE;
}

/* The header in brackets for a block that corresponds to a section of ours; NULL if none does. */
static const char *block_header(struct arena *a, const struct pieces *p)
{
	unsigned kind = section_kind(p->first, strlen(p->first));

	if (p->rest[0] != '\0')
		return NULL;
	if (strcmp(p->first, "upstream") == 0 && p->second[0] != '\0')
		return arena_printf(a, "backend %s", p->second);
	if ((kind & IN_PROXIES) != 0 && p->second[0] != '\0')
		return arena_printf(a, "%s %s", p->first, p->second);
	return (kind & (IN_GLOBAL | IN_DEFAULTS)) != 0 && p->second[0] == '\0' ? p->first : NULL;
}

/* "upstream app {" and the like, `text` without its brace. */
static void open_block(struct reader *r, const char *text, struct at at)
{
	struct diag *d = r->doc->diag;
	struct pieces p = cut(d->arena, text);
	const char *header = block_header(d->arena, &p);
	size_t len;
	const char *hint;

	r->depth++;
	if (header != NULL) {
		diag_error(d, DIAG_SYNTAX, at, "a section begins with its name in brackets, not with '{'");
		diag_hint(d, "write [%s], its lines below it, and no '}'", header);
		reader_open_section(r, header, at);
		r->section->bad |= SECTION_BAD_LINE;
	} else if (strcmp(p.first, "server") == 0 && p.second[0] == '\0') {
		diag_error(d, DIAG_SYNTAX, at, "a section begins with its name in brackets, not with '{'");
		diag_hint(d, "write [listen NAME], its lines below it, and no '}'");
		open_nameless(r, at);
	} else if (strcmp(p.first, "stream") == 0 || strcmp(p.first, "events") == 0) {
		diag_error(d, DIAG_SYNTAX, at, "there are no blocks, only sections");
		diag_hint(d, "leave out '%s {' and its '}'", p.first);
	} else {
		hint = suggest_foreign(FOREIGN_SECTION_OR_BLOCK, p.first, &len);
		if (hint == NULL)
			hint = habit_translate(d->arena, p.first, &len);
		diag_error(d, DIAG_SYNTAX, at, "there are no blocks, only sections");
		diag_hint(d, "%s", hint != NULL ? hint : "leave out this line, its '}' and all lines inside");
		r->skip_depth = r->depth;
	}
}

static void close_block(struct reader *r, struct at at)
{
	if (r->depth == 0) {
		diag_error(r->doc->diag, DIAG_SYNTAX, at, "this '}' closes nothing");
		diag_hint(r->doc->diag, "a section ends where the next one begins");
		return;
	}
	/* Its '{' was reported, and that message said to remove both. */
	if (r->skip_depth == r->depth)
		r->skip_depth = 0;
	r->depth--;
}

/* nginx's "listen 80" is not a section; HAProxy's "listen web" is. */
static bool is_name(const char *text)
{
	return text[0] != '\0' && text[strcspn(text, ":/*;[")] == '\0' &&
	       text[strspn(text, "0123456789.")] != '\0';
}

/* "frontend web", "defaults", "listen stats :8080" */
static bool take_foreign_header(struct reader *r, const char *text, struct at at)
{
	struct diag *d = r->doc->diag;
	struct pieces p = cut(d->arena, without_bracket(d->arena, text));
	unsigned kind = section_kind(p.first, strlen(p.first));
	size_t len;
	const char *hint = suggest_foreign(FOREIGN_SECTION_OR_BLOCK, p.first, &len);
	bool proxy = (kind & IN_PROXIES) != 0;

	if (hint != NULL && p.rest[0] == '\0' && strcmp(p.first, "http") != 0) {
		diag_error(d, DIAG_UNKNOWN_SECTION, at, "there is no section [%s]", p.first);
		diag_hint(d, "%s", hint);
		r->section = document_add_broken(r->doc, p.second);
		return true;
	}
	if (kind == 0 || kind == IN_STATS || (proxy && !is_name(p.second)) || (!proxy && p.rest[0] != '\0'))
		return false;
	diag_error(d, DIAG_SYNTAX, at, "a section name must be in brackets");
	if (!proxy)
		diag_hint(d, "write [%s]", p.first);
	else if (p.rest[0] == '\0')
		diag_hint(d, "write [%s %s]", p.first, p.second);
	else
		diag_hint(d, "write [%s %s], and below it: bind = %s", p.first, p.second, p.rest);
	at.len = (unsigned)strlen(p.first);
	reader_open_section(r, proxy ? arena_printf(d->arena, "%s %s", p.first, p.second) : p.first, at);
	if (p.rest[0] != '\0')
		r->section->bad |= SECTION_BAD_BIND;
	return true;
}

bool reader_take_foreign(struct reader *r, const struct reader_line *line)
{
	struct arena *a = r->doc->diag->arena;
	size_t len = reader_without_semicolon(line->text, line->len);
	struct at at = reader_at(r, line->offset, line->len);

	if (len == 1 && line->text[0] == '}') {
		close_block(r, at);
		return true;
	}
	if (r->skip_depth > 0) {
		r->depth += line->text[line->len - 1] == '{' ? 1 : 0;
		return true;
	}
	if (line->text[line->len - 1] == '{' && memchr(line->text, '=', line->len) == NULL) {
		for (len = line->len - 1; len > 0 && strchr(BLANKS, line->text[len - 1]) != NULL;)
			len--;
		open_block(r, arena_strndup(a, line->text, len), at);
		return true;
	}
	if (memchr(line->text, '=', line->len) != NULL || line->text[line->len - 1] == ';')
		return false;
	return take_foreign_header(r, line->text, at);
}

/* The length of the key in `text`, including its name if one is required and given; 0 = no key. */
static size_t key_length(const char *text, const struct option **option)
{
	size_t len = 0, name, name_len;

	*option = option_find_start(ANYWHERE, text, &len);
	if (*option == NULL || ((*option)->flags & OPT_NAMED) == 0 ||
	    ((*option)->flags & OPT_NAME_OPTIONAL) != 0)
		return len;
	name = len + strspn(text + len, BLANKS);
	name_len = strcspn(text + name, BLANKS);
	/* "server 10.0.0.1:80" of nginx has no name. */
	if (strcspn(text + name, ":/=") < name_len || text[name + name_len] == '\0')
		return len;
	return name + name_len;
}

bool reader_has_equals(const struct reader_line *line)
{
	size_t equals = strcspn(line->text, "=");
	const struct option *o;
	size_t key_len, end;

	if (line->text[equals] == '\0')
		return false;
	key_len = key_length(line->text, &o);
	if (o == NULL || key_len >= equals)
		return true;
	end = key_len + strspn(line->text + key_len, BLANKS);
	if (end == equals)
		return true;
	/* Words between key and '=': only a name is allowed there. */
	if ((o->flags & OPT_NAMED) == 0)
		return false;
	if (strcspn(line->text + end, ":/*") < equals - end)
		return false;
	end += strcspn(line->text + end, " \t=");
	return end + strspn(line->text + end, BLANKS) == equals;
}

static void report_no_equals(struct reader *r, const char *text, struct at at)
{
	struct diag *d = r->doc->diag;
	const char *words = text;
	const char *first = take_piece(d->arena, &words);
	const char *second = take_piece(d->arena, &words);
	const struct option *near = NULL;
	char keys[OPTION_LIST_MAX];

	diag_error(d, DIAG_NO_EQUALS, at, "this line has no '=': it must be 'key = value'");
	if (text[strcspn(text, " \t:")] == ':') {
		diag_hint(d, "write '=' instead of ':'");
		return;
	}
	if (second[0] != '\0')
		near = option_suggest(ANYWHERE, arena_printf(d->arena, "%s %s", first, second));
	if (near == NULL)
		near = option_suggest(ANYWHERE, first);
	if (near != NULL)
		diag_hint(d, "did you mean '%s%s = ...'?", near->key,
			  (near->flags & OPT_NAMED) != 0 ? " NAME" : "");
	else if (option_list_of(ANYWHERE, first, keys)[0] != '\0')
		diag_hint(d, "possible keys: %s", keys);
}

/* A password is not quoted: messages may be logged. */
static void hide_rest(struct arena *a, struct at at)
{
	struct source_line *line = &at.source->lines[at.line - 1];

	line->len = at.col - 1 + at.len;
	line->text = arena_strndup(a, line->text, line->len);
}

struct entry *reader_take_plain(struct reader *r, const struct reader_line *line)
{
	struct arena *a = r->doc->diag->arena;
	size_t len = reader_without_semicolon(line->text, line->len), foreign_len = 0;
	const char *text = arena_strndup(a, line->text, len);
	const struct option *o;
	size_t key_len = key_length(text, &o), value;
	const char *hint = habit_translate(a, text, &foreign_len);
	const bool is_default_server = suggest_starts_with(text, "default-server") > 0;
	struct entry *e;

	/* "log global" is HAProxy's, though "log" is ours. */
	if (hint != NULL && (o == NULL || foreign_len > strlen(o->key))) {
		const struct at at = reader_at(r, line->offset, foreign_len);

		if (strstr(hint, "auth-file") != NULL)
			hide_rest(a, at);
		diag_error(r->doc->diag, DIAG_UNKNOWN_KEY, at, "unknown key '%.*s'", (int)foreign_len, text);
		diag_hint(r->doc->diag, "%s", hint);
		if (!is_default_server)
			return NULL;
		key_len = foreign_len;
	} else if (o == NULL) {
		report_no_equals(r, text, reader_at(r, line->offset, len));
		return NULL;
	}
	value = key_len + strspn(text + key_len, BLANKS);
	e = section_add_entry(r->doc, r->section);
	e->plain = true;
	e->reported = is_default_server;
	/* Its words are validated under our name. */
	e->key = is_default_server ? "server-defaults" : arena_strndup(a, text, key_len);
	e->key_at = reader_at(r, line->offset, key_len);
	e->value = text + value;
	e->value_at = reader_at(r, line->offset + value, len - value);
	return e;
}
