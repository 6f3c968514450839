/* SPDX-License-Identifier: MIT
 *
 * reader_section.c - the sections that headers open, and messages about invalid ones.
 *
 * An unknown section is validated as the one that was probably meant, so that one run reports all its
 * mistakes. Main thread.
 */
#include "reader_state.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/config/options.h"
#include "weir/config/suggest.h"

#define SECTION_NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:"

struct at reader_at(const struct reader *r, size_t offset, size_t len)
{
	struct at at = {r->source, (unsigned)r->next_line, (unsigned)offset + 1, (unsigned)len};

	return at;
}

/* The name in a section header that requires one; NULL after reporting. */
static const char *section_name(struct reader *r, const char *name, struct at at)
{
	struct diag *d = r->doc->diag;
	size_t ok = strspn(name, SECTION_NAME_CHARS);

	if (name[ok] != '\0') {
		at.col += (unsigned)ok;
		at.len = 1;
		diag_error(d, DIAG_BAD_NAME, at, "a name consists of letters, digits and . _ - :");
		return NULL;
	}
	if (strlen(name) >= CONFIG_NAME_MAX) {
		diag_error(d, DIAG_TOO_LONG, at, "a name has at most %d bytes", CONFIG_NAME_MAX - 1);
		return NULL;
	}
	return name;
}

/* Our section for a block of nginx; 0 if there is none. */
static unsigned kind_of_block(const char *word)
{
	if (strcmp(word, "upstream") == 0)
		return IN_BACKEND;
	return strcmp(word, "server") == 0 ? IN_LISTEN : 0;
}

/* Returns the kind that may have been meant; 0 for a section of HAProxy or nginx, whose lines we do not
 * have. */
static unsigned report_unknown_section(struct reader *r, const char *word, const char *name, struct at at)
{
	static const unsigned kinds[] = {IN_GLOBAL, IN_STATS,	 IN_DEFAULTS,
					 IN_LISTEN, IN_FRONTEND, IN_BACKEND};
	struct diag *d = r->doc->diag;
	unsigned kind;
	size_t foreign = 0;
	const char *hint = suggest_foreign(FOREIGN_SECTION_OR_BLOCK, word, &foreign);
	struct suggest s;

	if (*word == '\0') {
		diag_error(d, DIAG_UNKNOWN_SECTION, at, "this section header is empty");
		diag_hint(d, "write [global], [defaults] or [listen NAME]");
		return IN_LISTEN;
	}
	if (hint == NULL)
		hint = suggest_translate(word);
	if (hint == NULL && strcmp(word, "server") == 0) /* nginx's block; as HAProxy's line it is our key */
		hint = "write [listen NAME]; a line 'server NAME = ADDRESS' belongs in it";
	diag_error(d, DIAG_UNKNOWN_SECTION, at, "there is no section [%s]", word);
	suggest_init(&s, word);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		suggest_offer(&s, section_word(kinds[i]), NULL);
	if (s.best != NULL) {
		kind = section_kind(s.best, strlen(s.best));
		diag_hint(d, "did you mean [%s%s%s]?", s.best, *name != '\0' ? " " : "", name);
		return kind;
	}
	if (hint != NULL) {
		diag_hint(d, "%s", hint);
		return kind_of_block(word);
	}
	if (*name == '\0')
		diag_hint(d, "write [listen %s], [frontend %s] or [backend %s]; the others are "
			     "[global] and [defaults]",
			  word, word, word);
	else
		diag_hint(d, "the sections are [global], [defaults], [listen NAME], [frontend NAME] and "
			     "[backend NAME]");
	return IN_LISTEN;
}

/* Is this a valid name of a section? Reports nothing. */
static bool is_section_name(const char *name)
{
	return *name != '\0' && name[strspn(name, SECTION_NAME_CHARS)] == '\0' &&
	       strlen(name) < CONFIG_NAME_MAX;
}

/* "[listn web]": its lines are still validated. "[web]" has the name in place of the word. */
static void open_unknown_section(struct reader *r, const char *word, const char *name, struct at at)
{
	const unsigned kind = report_unknown_section(r, word, name, at);
	const char *meant = *name != '\0' ? name : word;

	if (kind == 0)
		return;
	/* Text after [global] is not a name: other sections cannot refer to it. */
	if ((kind & (IN_GLOBAL | IN_STATS | IN_DEFAULTS)) != 0)
		(void)document_add_broken(r->doc, meant);
	r->section = document_add_guessed(r->doc, kind, is_section_name(meant) ? meant : "", at);
}

/* `inside` is the text between the brackets: "listen web". `at` is the place of its first word. */
void reader_open_section(struct reader *r, const char *inside, struct at at)
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
	r->section = NULL;
	if (kind == 0) {
		open_unknown_section(r, word, name, at);
	} else if ((kind & IN_PROXIES) == 0) {
		if (*name != '\0') {
			diag_error(d, DIAG_BAD_NAME, name_at, "[%s] takes no name", word);
			diag_hint(d, "write [%s]", word);
			r->section = document_add_guessed(r->doc, kind, "", at);
		} else {
			r->section = document_add_section(r->doc, kind, NULL, at);
		}
	} else if (*name == '\0') {
		diag_error(d, DIAG_BAD_NAME, at, "[%s] needs a name", word);
		diag_hint(d, "write [%s NAME]", word);
		r->section = document_add_guessed(r->doc, kind, "", at);
	} else if (section_name(r, name, name_at) != NULL) {
		r->section = document_add_section(r->doc, kind, name, name_at);
	} else {
		(void)document_add_broken(r->doc, name);
		r->section = document_add_guessed(r->doc, kind, "", at);
	}
	if (r->section == NULL)
		r->section = document_add_broken(r->doc, name);
}
