/* SPDX-License-Identifier: MIT
 *
 * setting_list.c - files of networks and of names, which a word "@FILE" names: one entry per line.
 *
 * '#' begins a comment. A file whose text is known already is not parsed again. Rejects files that are not
 * such lists. The thread of a reading.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "weir/config/copy.h"
#include "weir/net/host_set.h"
#include "weir/net/netset.h"
#include "reading_files.h"
#include "setting.h"

/* A file that is read. */
struct list_reader {
	const struct setting *s;
	const char *name;
	enum list_kind kind;
	const char *text; /* borrows */
	size_t len;
	struct source *shown; /* its lines, for messages; made for the first one */
	unsigned line;
	size_t count;
	struct net_prefix *prefixes; /* of networks, in the arena */
	struct host_set *names;	     /* of names; borrows */
};

/* A line, without its end. */
struct list_line {
	const char *text;
	size_t len;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct at place(struct list_reader *r, size_t from, size_t len)
{
	struct arena *a = r->s->diag->arena;

	if (r->shown == NULL) {
		r->shown = source_new(a, r->name);
		/* Messages about its lines follow those about the configuration. */
		r->shown->index = ~0u;
		source_add_text(a, r->shown, r->text, r->len);
	}
	return (struct at){r->shown, r->line, (unsigned)from + 1, (unsigned)len};
}

static int bad_entry(struct list_reader *r, size_t from, size_t len, const char *why)
{
	diag_error(r->s->diag, DIAG_BAD_VALUE, place(r, from, len), "%s", why);
	return -EINVAL;
}

static int add_network(struct list_reader *r, const char *entry, size_t from)
{
	struct net_prefix prefix;
	const char *why = NULL;

	/* A place is made for an entry that is wrong, not for each. */
	if (net_prefix_parse(entry, &prefix, &why) != 0)
		return setting_network(r->s, place(r, from, strlen(entry)), entry, &prefix);
	r->prefixes = arena_grow(r->s->diag->arena, r->prefixes, r->count, sizeof(prefix));
	r->prefixes[r->count++] = prefix;
	return 0;
}

static int add_name(struct list_reader *r, const char *entry, size_t from)
{
	struct host_pattern pattern;
	const char *why = NULL;

	if (strcmp(entry, "any") == 0 || strcmp(entry, "none") == 0) {
		(void)bad_entry(r, from, strlen(entry),
				"'any' and 'none' do not belong in a file of names");
		diag_hint(r->s->diag, "write them next to the file: sni=@FILE,none");
		return -EINVAL;
	}
	if (host_pattern_parse(entry, &pattern, &why) != 0)
		return setting_name(r->s, place(r, from, strlen(entry)), entry, &pattern);
	host_set_add(r->names, &pattern);
	r->count++;
	return 0;
}

static int add_entry(struct list_reader *r, const struct list_line *l, size_t from, size_t len)
{
	char entry[HOST_PATTERN_TEXT_MAX + 1];

	if (r->count == LIST_FILE_ENTRIES_MAX)
		return bad_entry(r, from, len, "a list has at most 1000000 entries");
	/* Neither a network nor a name is as long. */
	if (len >= sizeof(entry))
		return bad_entry(r, from, len, r->kind == LIST_NETWORKS ?
				 "this is too long for a network" : "this is too long for a name");
	memcpy(entry, l->text + from, len);
	entry[len] = '\0';
	return r->kind == LIST_NETWORKS ? add_network(r, entry, from) : add_name(r, entry, from);
}

static int add_line(struct list_reader *r, const struct list_line *l)
{
	size_t from = 0, end, rest;

	while (from < l->len && is_blank(l->text[from]))
		from++;
	for (end = from; end < l->len && !is_blank(l->text[end]) && l->text[end] != '#';)
		end++;
	for (rest = end; rest < l->len && is_blank(l->text[rest]);)
		rest++;
	if (memchr(l->text, '\0', l->len) != NULL)
		return bad_entry(r, 0, 0, r->kind == LIST_NETWORKS ? "a NUL byte in a file of networks" :
				 "a NUL byte in a file of names");
	if (end == from)
		return 0;
	if (rest < l->len && l->text[rest] != '#') {
		diag_error(r->s->diag, DIAG_SYNTAX, place(r, rest, 1), "a file of %s has one per line",
			   list_kind_word(r->kind));
		diag_hint(r->s->diag, "write a line for the next one, or '#' before a comment");
		return -EINVAL;
	}
	return add_entry(r, l, from, end - from);
}

/* The lines, as source_take_text() splits them. */
static int add_lines(struct list_reader *r)
{
	const struct diag *d = r->s->diag;
	const unsigned errors = d->errors;
	const char *at = r->text, *end = r->text + r->len;
	int result = 0;

	if (r->len >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
		at += 3;
	/* If the file is not a list at all, a few messages are enough; if it has too much, one is. */
	while (at < end && d->errors - errors < DIAG_SHOWN_MAX) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		struct list_line l = {at, (size_t)((stop != NULL ? stop : end) - at)};

		if (l.len > 0 && l.text[l.len - 1] == '\r')
			l.len--;
		r->line++;
		if (add_line(r, &l) != 0)
			result = -EINVAL;
		if (result != 0 && r->count == LIST_FILE_ENTRIES_MAX)
			break;
		at = stop != NULL ? stop + 1 : end;
	}
	return result;
}

static size_t count_lines(const char *text, size_t len)
{
	size_t lines = 1;

	for (const char *end = text + len; (text = memchr(text, '\n', (size_t)(end - text))) != NULL; text++)
		lines++;
	return lines < LIST_FILE_ENTRIES_MAX ? lines : LIST_FILE_ENTRIES_MAX;
}

/* A set that the arena owns until a list takes it. */
struct names_owner {
	struct host_set *set;
};

static void release_names(void *bytes)
{
	struct names_owner *o = bytes;

	host_set_free(o->set);
	o->set = NULL;
}

/* The list of a text that nobody has read, with a reference; NULL after reporting. */
static struct list_file *parse(struct list_reader *r, const struct list_key *key)
{
	struct arena *a = r->s->diag->arena;
	struct names_owner *o = arena_alloc_owner(a, sizeof(*o), release_names);
	struct list_sets sets = {NULL, NULL};
	struct list_file *list;

	if (r->kind == LIST_NAMES) {
		o->set = r->names = host_set_room(count_lines(r->text, r->len), r->len);
		if (o->set == NULL)
			arena_no_memory(a);
	}
	if (add_lines(r) != 0)
		return NULL;
	if (r->kind == LIST_NAMES)
		sets.names = o->set;
	else
		sets.networks = netset_new(r->prefixes, r->count);
	list = sets.names != NULL || sets.networks != NULL ? list_file_make(key, sets, r->count) : NULL;
	if (list == NULL) {
		netset_free(sets.networks);
		arena_no_memory(a);
	}
	o->set = NULL;
	return list;
}

static int cannot_read(const struct setting *s, const struct word *w, const char *name, int err)
{
	const enum option_type type = s->option->type;
	const bool names = type == OPT_NAMES || type == OPT_EGRESS_NAMES;
	const enum list_kind kind = names ? LIST_NAMES : LIST_NETWORKS;

	diag_error(s->diag, DIAG_CANNOT_READ, w->at, "cannot read '%s': %s", name,
		   err == -EFBIG ? "it is larger than 64 MiB" : source_why_unread(err));
	diag_hint(s->diag, "@FILE is a file of %s, one per line, next to the configuration",
		  list_kind_word(kind));
	return -EINVAL;
}

int setting_add_list(const struct setting *s, const struct word *w, enum list_kind kind,
		     struct config_list **files, size_t *count)
{
	struct arena *a = s->diag->arena;
	struct list_reader r = {.s = s, .name = source_beside(a, w->at.source, w->text + 1), .kind = kind};
	struct list_file **room = config_list_room(a);
	struct list_key key;
	int err = -ENOENT;

	if (w->text[1] != '\0')
		err = reading_files_read_list(s->diag->files, a, r.name, &r.text, &r.len);
	if (err)
		return cannot_read(s, w, r.name, err);
	key = list_key_of(kind, r.text, r.len);
	*room = list_file_find(&key);
	if (*room == NULL)
		*room = parse(&r, &key);
	if (*room == NULL)
		return -EINVAL;
	*files = arena_grow(a, *files, *count, sizeof(**files));
	(*files)[(*count)++] = (struct config_list){arena_printf(a, "%s", r.name), *room};
	return 0;
}

void setting_print_list(const struct config_list *list, FILE *out)
{
	char word[SETTING_TEXT_MAX + 2];

	(void)snprintf(word, sizeof(word), "@%s", list->name);
	words_print_quoted(word, out);
}

void setting_print_list_facts(const struct config_list *list, FILE *out)
{
	fprintf(out, "@%s (%zu %s, hash %016" PRIx64 ")", list->name, list_file_count(list->list),
		list_kind_word(list_file_kind(list->list)), list_file_hash(list->list));
}

bool setting_same_lists(const struct config_list *a, size_t a_count, const struct config_list *b,
			size_t b_count)
{
	bool same = a_count == b_count;

	for (size_t i = 0; same && i < a_count; i++)
		same = a[i].list == b[i].list && strcmp(a[i].name, b[i].name) == 0;
	return same;
}
