/* SPDX-License-Identifier: MIT
 *
 * override.c - the -o arguments: "SECTION.KEY=VALUE" replaces the lines of the files.
 *
 * Replaces lines of the document before interpretation, so that an override is validated and reported like
 * any line. Rejects sections that no file has. Main thread.
 */
#include <string.h>

#include "weir/config/suggest.h"
#include "build.h"

/* One argument, split into its parts. */
struct override {
	struct document *doc;
	const char *text;
	struct at at; /* the whole argument */
};

static struct at part_at(const struct override *o, size_t offset, size_t len)
{
	struct at at = o->at;

	at.col = (unsigned)offset + 1;
	at.len = (unsigned)len;
	return at;
}

/* The section named by the `len` bytes before a dot, or NULL. */
static struct section *section_named(const struct override *o, size_t len)
{
	size_t word_len = strcspn(o->text, " .=");
	unsigned kind = section_kind(o->text, word_len < len ? word_len : len);
	const char *name;

	if (kind == 0)
		return NULL;
	if ((kind & IN_PROXIES) == 0)
		return word_len == len ? document_add_section(o->doc, kind, NULL, part_at(o, 0, len)) : NULL;
	if (word_len >= len)
		return NULL;
	name = arena_strndup(o->doc->diag->arena, o->text + word_len + 1, len - word_len - 1);
	return document_find(o->doc, kind, name + strspn(name, " "));
}

/* Names may contain dots: the first dot that ends the name of a known section counts. Its offset goes to
 * `*dot`. */
static struct section *find_section(const struct override *o, size_t equals, size_t *dot)
{
	for (size_t i = 0; i < equals; i++) {
		struct section *s;

		if (o->text[i] != '.')
			continue;
		s = section_named(o, i);
		if (s != NULL) {
			*dot = i;
			return s;
		}
	}
	return NULL;
}

static void report_no_section(const struct override *o, size_t equals)
{
	struct diag *d = o->doc->diag;
	size_t len = strcspn(o->text, ".=");
	const char *written = arena_strndup(d->arena, o->text, len);
	const char *near_kind = NULL;
	struct suggest near;

	if (len >= equals || o->text[equals] == '\0') {
		diag_error(d, DIAG_SYNTAX, part_at(o, 0, equals), "-o is SECTION.KEY=VALUE");
		diag_hint(d, "for example global.threads=2 or 'listen web.maxconn=10'");
		return;
	}
	diag_error(d, DIAG_UNKNOWN_SECTION, part_at(o, 0, len), "no file has a section [%s]", written);
	suggest_init(&near, written);
	/* These three need not occur in a file. */
	suggest_offer(&near, section_word(IN_GLOBAL), NULL);
	suggest_offer(&near, section_word(IN_STATS), NULL);
	suggest_offer(&near, section_word(IN_DEFAULTS), NULL);
	for (const struct section *s = o->doc->first; s != NULL; s = s->next) {
		const char *word = section_word(s->kind);
		const char *text = s->name == NULL ? word : arena_printf(d->arena, "%s %s", word, s->name);

		suggest_offer(&near, text, s);
		if (s->name != NULL && strcmp(s->name, written) == 0)
			near_kind = text;
	}
	if (near_kind == NULL)
		near_kind = near.best;
	if (near_kind != NULL)
		diag_hint(d, "did you mean '%s'?", near_kind);
}

/* Does the new line replace the line `e`? */
static bool replaces(const struct entry *e, unsigned kind, const struct option_match *by)
{
	struct option_match old = option_find(kind, e->key);

	if (old.option != by->option)
		return false;
	/* A second -o for a key that repeats adds to the first. */
	if (e->override && (by->option->flags & OPT_REPEAT) != 0 && by->name[0] == '\0')
		return false;
	return by->name[0] == '\0' || strcmp(old.name, by->name) == 0;
}

static void remove_replaced(struct section *s, const struct option_match *by)
{
	struct entry **link = &s->first;

	s->last = NULL;
	while (*link != NULL) {
		if (replaces(*link, s->kind, by)) {
			*link = (*link)->next;
			continue;
		}
		s->last = *link;
		link = &(*link)->next;
	}
}

static bool bytes_ok(const struct override *o)
{
	for (size_t i = 0; o->text[i] != '\0'; i++) {
		unsigned char c = (unsigned char)o->text[i];

		if (c >= 0x20 && c != 0x7f)
			continue;
		diag_error(o->doc->diag, DIAG_BAD_BYTE, part_at(o, i, 1), "a control byte (0x%02x)", c);
		return false;
	}
	return true;
}

static void apply_one(const struct override *o)
{
	struct diag *d = o->doc->diag;
	size_t equals = strcspn(o->text, "="), dot = 0, key_start, key_len, value_start;
	struct section *s = find_section(o, equals, &dot);
	struct option_match match;
	struct entry *e;
	const char *key;

	if (!bytes_ok(o))
		return;
	if (o->text[equals] == '\0' || s == NULL) {
		report_no_section(o, equals);
		return;
	}
	key_start = dot + 1 + strspn(o->text + dot + 1, " ");
	key_len = equals > key_start ? equals - key_start : 0;
	while (key_len > 0 && o->text[key_start + key_len - 1] == ' ')
		key_len--;
	value_start = equals + 1 + strspn(o->text + equals + 1, " ");
	key = arena_strndup(d->arena, o->text + key_start, key_len);
	match = option_find(s->kind, key);
	if (match.option != NULL && match.option->type == OPT_INCLUDE) {
		diag_error(d, DIAG_BAD_INCLUDE, part_at(o, key_start, key_len),
			   "'include' belongs in a file");
		diag_hint(d, "give the file with -f");
		return;
	}
	if (match.option != NULL)
		remove_replaced(s, &match);
	e = section_add_entry(o->doc, s);
	e->key = key;
	e->key_at = part_at(o, key_start, key_len);
	e->value = arena_strndup(d->arena, o->text + value_start, strlen(o->text + value_start));
	e->value_at = part_at(o, value_start, strlen(e->value));
	e->override = true;
}

void override_apply(struct document *doc, struct source *source)
{
	doc->overrides = source;
	for (size_t i = 0; i < source->line_count; i++) {
		struct override o = {doc, source->lines[i].text, {source, (unsigned)i + 1, 1, 1}};

		apply_one(&o);
	}
}
