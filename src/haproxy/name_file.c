/* SPDX-License-Identifier: MIT
 *
 * name_file.c - files of names that an acl compares with -f, read where they are.
 *
 * weir takes such a file as it is, if it has whole names: it reads '*.NAME' and '.NAME' as patterns, which
 * HAProxy compares letter by letter; and it has no -m end. Then the names are taken from the file.
 * Main thread.
 */
#include <string.h>

#include "acl.h"
#include "weir/base/check.h"
#include "weir/config/source.h"

#define NAMES_MAX 1000000 /* taken from files by all rules */

/* A file of names. */
struct name_file {
	struct work_list names;
	bool is_read;
	bool has_patterns; /* of weir's */
};

/* HAProxy takes a line without the blanks before it. */
static void take_line(struct arena *a, struct name_file *f, const char *text, size_t len)
{
	while (len > 0 && (*text == ' ' || *text == '\t')) {
		text++;
		len--;
	}
	while (len > 0 && text[len - 1] == '\r')
		len--;
	if (len == 0 || *text == '#')
		return;
	f->has_patterns = f->has_patterns || *text == '*' || *text == '.';
	work_list_add(a, &f->names, arena_strndup(a, text, len));
}

static const struct name_file *name_file(struct haproxy *h, const char *path)
{
	struct name_file *f = index_find(&h->name_files, path);
	char *text;
	size_t len;

	if (f != NULL)
		return f;
	f = arena_alloc(h->arena, sizeof(*f));
	index_put(h->arena, &h->name_files, path, f);
	if (source_read_file(h->arena, path, true, &text, &len) != 0)
		return f;
	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		const size_t line = end != NULL ? (size_t)(end - text) - at : len - at;

		take_line(h->arena, f, text + at, line);
		at += line + 1;
	}
	f->is_read = f->names.count <= WORK_MAP_MAX;
	return f;
}

bool haproxy_take_names(struct haproxy *h, const char *path, bool whole, struct work_list *names)
{
	const struct name_file *f = name_file(h, path);

	if (!f->is_read || (whole && !f->has_patterns) || h->names_taken + f->names.count > NAMES_MAX)
		return false;
	h->names_taken += f->names.count;
	for (size_t i = 0; i < f->names.count; i++)
		work_list_add(h->arena, names, f->names.items[i]);
	return true;
}
