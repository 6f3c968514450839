/* SPDX-License-Identifier: MIT
 *
 * convert.h - a HAProxy or nginx configuration becomes one INI, and each of its lines is accounted for.
 *
 * Reads files and writes none: the caller decides where the results belong. Nothing that a configuration says
 * is run or connected to. Main thread.
 */
#ifndef WEIR_CONVERT_CONVERT_H
#define WEIR_CONVERT_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "weir/draft/work.h"

enum convert_from { CONVERT_GUESS, CONVERT_HAPROXY, CONVERT_NGINX };

struct convert_wish {
	const char *const *paths; /* borrows; files, or for HAProxy also folders */
	size_t path_count;
	enum convert_from from;
	const char *prefix;	  /* nginx: what relative names are below; NULL = the folder of the file */
	bool with_files;	  /* lists and passwords may be files beside the INI */
	char *const *environment; /* borrows; "NAME=VALUE", then NULL */
};

struct convert_result {
	struct arena memory; /* owns everything else */
	struct old_reading reading;
	const char *ini; /* NULL = no result: `reading.error`, or nothing in it is ours */
	struct work_file *files;
	size_t file_count;
	size_t counts[OLD_FATES]; /* lines by fate */
	const char **notes;	  /* defaults of the other program that differ and have no line */
	size_t note_count;
	bool no_memory;
};

/* Whose configuration is the file of this name, from several of its lines? CONVERT_GUESS: neither's, or it
 * cannot be read. Opens only a regular file. */
enum convert_from convert_recognise(const char *path);
/* Converts into `r`, whose previous contents are ignored; convert_free() frees it. */
void convert_run(const struct convert_wish *wish, struct convert_result *r);
/* Writes a line for each line of the configuration, and the sums; `brief`: only for those that are lost or
 * different. */
void convert_report(const struct convert_result *r, FILE *out, bool brief);
/* The same as one JSON object. */
void convert_report_json(const struct convert_result *r, FILE *out);
void convert_free(struct convert_result *r);

#endif
