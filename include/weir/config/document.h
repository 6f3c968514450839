/* SPDX-License-Identifier: MIT
 *
 * document.h - the configuration as written: sections with their lines, before interpretation.
 *
 * All files of one run become one document; [global] and [defaults] of several files become one section each.
 * Allocated in an arena. Main thread.
 */
#ifndef WEIR_CONFIG_DOCUMENT_H
#define WEIR_CONFIG_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/config/diag.h"
#include "weir/config/source.h"

/* What failed inside a section, so that one mistake is reported once: a frontend whose bind line is wrong is
 * not reported as having no bind. */
enum section_bad {
	SECTION_BAD_BIND = 1 << 0,
	SECTION_BAD_SERVER = 1 << 1,
	SECTION_BAD_BACKEND = 1 << 2,
	SECTION_BAD_SOURCE = 1 << 3, /* a limit per source */
	SECTION_BAD_NAMES = 1 << 4,  /* allow-sni */
	SECTION_BAD_LINE = SECTION_BAD_BIND | SECTION_BAD_SERVER | SECTION_BAD_BACKEND | SECTION_BAD_SOURCE |
			   SECTION_BAD_NAMES,
};

/* One `key = value`. */
struct entry {
	struct entry *next;
	const char *key;   /* as written, trimmed: "server web1", "timeout connect" */
	const char *value; /* as written, trimmed, without its comment */
	struct at key_at;
	struct at value_at;
	bool override; /* from -o */
	bool plain;    /* written without its '=': an error, but still interpreted */
	bool reported; /* that error, or another one in its place, was reported */
};

struct section {
	struct section *next;
	unsigned kind;	  /* one bit of enum option_section; 0 = its lines are skipped */
	const char *name; /* NULL for [global], [stats] and [defaults] */
	struct at at;	  /* the place of the name, or else of the header */
	struct entry *first;
	struct entry *last;
	unsigned bad; /* enum section_bad */
	bool guessed; /* its header is wrong or missing: the lines are still validated */
};

struct document {
	struct diag *diag; /* borrows, for its lifetime */
	struct section *first;
	struct section *last;
	const char **broken; /* names of sections whose header could not be used */
	size_t broken_count;
	struct source **sources;
	size_t source_count;
	const struct source *overrides; /* the -o arguments */
};

struct source *document_add_source(struct document *doc, const char *name);
/* The section to add lines to: a new one, or the existing [global] or [defaults]. */
struct section *document_add_section(struct document *doc, unsigned kind, const char *name, struct at at);
/* A section for lines whose header is wrong or missing: each line is validated by itself, and nothing is
 * reported as missing. `kind` is what the header may have meant; an empty name is replaced. */
struct section *document_add_guessed(struct document *doc, unsigned kind, const char *name, struct at at);
/* A section that is ignored, for lines below an unusable header. */
struct section *document_add_broken(struct document *doc, const char *name);
/* The first section with one of `kinds` and that name (NULL: any name); NULL when there is none. */
struct section *document_find(const struct document *doc, unsigned kinds, const char *name);
bool document_is_broken(const struct document *doc, const char *name);
struct entry *section_add_entry(struct document *doc, struct section *s);

#endif
