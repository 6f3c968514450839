/* SPDX-License-Identifier: MIT
 *
 * reading_files.c - where a reading has its files from: the disk, or the text of an earlier reading.
 *
 * Owns nothing that the arena does not. Main thread, or that of a reading.
 */
#include "reading_files.h"

#include <errno.h>
#include <string.h>

#include "weir/base/check.h"

static void release_text(void *bytes)
{
	text_free(bytes);
}

void reading_files_init(struct reading_files *f, struct arena *a, struct config_text *kept)
{
	*f = (struct reading_files){.kept = kept};
	if (kept == NULL)
		f->taken = arena_alloc_owner(a, sizeof(*f->taken), release_text);
}

static struct text_items known_items(const struct reading_files *f)
{
	if (f->kept != NULL)
		return config_text_items(f->kept);
	return (struct text_items){f->taken->bytes, f->taken->len};
}

/* Too much of it is as good as none. */
static void record(struct reading_files *f, struct arena *a, const struct text_item *item)
{
	f->incomplete = f->incomplete || f->taken->len + item->name_len + item->len > CONFIG_TEXT_BYTES_MAX;
	if (f->incomplete)
		return;
	text_item_add(f->taken, item);
	if (f->taken->failed)
		arena_no_memory(a);
}

static void record_file(struct reading_files *f, struct arena *a, const char *name, const char *bytes,
			size_t len)
{
	const struct text_item item = {TEXT_FILE, name, strlen(name), bytes, len};

	record(f, a, &item);
}

/* 0 once its lines are added; -ENODATA if the file is not known, and has to come from the disk. */
static int add_known(const struct reading_files *f, struct arena *a, struct source *s)
{
	struct text_item item;

	if (!text_item_find(known_items(f), TEXT_FILE, s->name, &item))
		return -ENODATA;
	source_add_text(a, s, item.bytes, item.len);
	return 0;
}

int reading_files_add(struct reading_files *f, struct arena *a, struct source *s, bool regular)
{
	char *bytes = NULL;
	size_t len = 0;
	int err;

	if (f != NULL && add_known(f, a, s) == 0)
		return 0;
	if (f != NULL && f->kept != NULL)
		return -ENODATA;
	err = source_read_file(a, s->name, regular, &bytes, &len);
	if (f != NULL && err)
		f->incomplete = true;
	if (err)
		return err;
	if (f != NULL)
		record_file(f, a, s->name, bytes, len);
	source_take_text(a, s, bytes, len);
	return 0;
}

int reading_files_read_list(struct reading_files *f, struct arena *a, const char *name, const char **bytes,
			    size_t *len)
{
	struct text_item item;
	char *text = NULL;
	int err;

	if (f != NULL && text_item_find(known_items(f), TEXT_FILE, name, &item)) {
		*bytes = item.bytes;
		*len = item.len;
		return 0;
	}
	if (f != NULL && f->kept != NULL)
		return -ENODATA;
	err = source_read_list(a, name, &text, len);
	if (f != NULL && err)
		f->incomplete = true;
	if (err)
		return err;
	if (f != NULL)
		record_file(f, a, name, text, *len);
	*bytes = text;
	return 0;
}

int reading_files_add_text(struct reading_files *f, struct arena *a, struct source *s, const char *text)
{
	const size_t len = strlen(text);

	if (f->kept != NULL)
		return add_known(f, a, s);
	record_file(f, a, s->name, text, len);
	source_add_text(a, s, text, len);
	return 0;
}

bool reading_files_has_folder(const struct reading_files *f, const char *name)
{
	struct text_item item;

	check(f->kept != NULL);
	return text_item_find(known_items(f), TEXT_FOLDER, name, &item);
}

int reading_files_recall(const struct reading_files *f, struct arena *a, enum text_item_kind kind,
			 const char *name, struct name_list *list)
{
	struct text_item item;
	char *at, *end;

	check(f->kept != NULL);
	*list = (struct name_list){0};
	if (!text_item_find(known_items(f), kind, name, &item))
		return -ENODATA;
	at = arena_strndup(a, item.bytes, item.len);
	for (end = at + item.len; at < end; at += strlen(at) + 1) {
		list->names = arena_grow(a, list->names, list->count, sizeof(*list->names));
		list->names[list->count++] = at;
	}
	return 0;
}

void reading_files_record(struct reading_files *f, struct arena *a, enum text_item_kind kind,
			  const char *name, const struct name_list *list)
{
	struct text_item item = {.kind = kind, .name = name, .name_len = strlen(name)};
	char *bytes;

	for (size_t i = 0; i < list->count; i++)
		item.len += strlen(list->names[i]) + 1;
	bytes = arena_alloc(a, item.len + 1);
	item.bytes = bytes;
	for (size_t i = 0; i < list->count; i++) {
		const size_t size = strlen(list->names[i]) + 1;

		memcpy(bytes, list->names[i], size);
		bytes += size;
	}
	record(f, a, &item);
}

struct config_text *reading_files_finish(struct reading_files *f, struct arena *a)
{
	struct config_text *t;

	if (f->kept != NULL)
		return config_text_hold(f->kept);
	if (f->incomplete || f->taken->len == 0 || f->taken->len > CONFIG_TEXT_BYTES_MAX)
		return NULL;
	t = config_text_make(f->taken);
	if (t == NULL)
		arena_no_memory(a);
	return t;
}
