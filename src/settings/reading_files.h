/* SPDX-License-Identifier: MIT
 *
 * reading_files.h - where a reading has its files from: the disk, or the text of an earlier reading.
 *
 * What comes from the disk is recorded, and each file is read once: a file of networks that two frontends
 * name is the same for both. Memory is the arena's: these functions jump when it runs out. Main thread, or
 * that of a reading.
 */
#ifndef WEIR_SRC_SETTINGS_READING_FILES_H
#define WEIR_SRC_SETTINGS_READING_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/config/arena.h"
#include "weir/config/source.h"
#include "text_items.h"

struct reading_files {
	struct config_text *kept; /* borrows; NULL = the disk */
	struct text *taken; /* in the arena: items read so far; NULL = nothing is recorded */
	bool incomplete;    /* something could not be read, or there is too much of it: there is no text */
};

/* The names that a directory or a pattern stands for. */
struct name_list {
	char **names; /* in the arena, or of whoever made the list */
	size_t count;
};

/* `kept` (NULL = the disk) is borrowed as long as `f` is used. */
void reading_files_init(struct reading_files *f, struct arena *a, struct config_text *kept);
/* Adds the lines of the file `s->name`, as source_read_file(); -ENODATA: the kept text does not have it.
 * NULL for `f`: from the disk, and nothing is recorded. */
int reading_files_add(struct reading_files *f, struct arena *a, struct source *s, bool regular);
/* All bytes of the file of a list, which stay until the next call of any of these functions: as
 * source_read_list(), and -ENODATA likewise. */
int reading_files_read_list(struct reading_files *f, struct arena *a, const char *name, const char **bytes,
			    size_t *len);
/* As reading_files_add(), with a text in memory in place of the file: from the kept text, or `text`, which is
 * recorded. */
int reading_files_add_text(struct reading_files *f, struct arena *a, struct source *s, const char *text);
/* Is `name` a directory in the kept text? */
bool reading_files_has_folder(const struct reading_files *f, const char *name);
/* What `name` stood for in the kept text, in `list`. 0 or -ENODATA. */
int reading_files_recall(const struct reading_files *f, struct arena *a, enum text_item_kind kind,
			 const char *name, struct name_list *list);
/* Records what `name` stands for on the disk. */
void reading_files_record(struct reading_files *f, struct arena *a, enum text_item_kind kind,
			  const char *name, const struct name_list *list);
/* The text of the whole reading, with a reference for the caller; NULL = there is none. Call once, at its
 * end. */
struct config_text *reading_files_finish(struct reading_files *f, struct arena *a);

#endif
