/* SPDX-License-Identifier: MIT
 *
 * work.h - one conversion while it is made: what both readers share. Main thread.
 */
#ifndef WEIR_DRAFT_WORK_H
#define WEIR_DRAFT_WORK_H

#include "weir/config/foreign.h"
#include "weir/draft/index.h"
#include "weir/draft/ini.h"

/* The admin socket of conf/weir.ini, in the RuntimeDirectory of conf/weir.service. */
#define WORK_ADMIN_SOCKET "/run/weir/admin.sock"

/* A file that the INI names: below the folder of the INI. */
struct work_file {
	const char *name; /* "lists/blocked", "stats.htpasswd" */
	const char *text;
};

struct work {
	struct arena *arena;
	struct old_reading *reading;
	struct ini ini;
	enum foreign_whose whose;
	bool with_files; /* lists and passwords may be files beside the INI */
	struct work_file *files;
	size_t file_count;
	struct index files_by_name;
	const char **notes; /* defaults of the other program that differ and have no line */
	size_t note_count;
	struct index notes_made;
	struct index logs;  /* by target */
	struct index host_names; /* by the variable for the address of each */
};

/* Notes what has no line of its own, once. */
void work_note(struct work *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds a file to the result; the name that the INI calls it by. Two files of one name are numbered. */
const char *work_file(struct work *w, const char *name, const char *text);
/* Gives the line the fate and the reason of the table of foreign words, by the words from number `at` on. */
void work_by_table(struct work *w, struct old_line *line, size_t at);
/* The same for a word inside a line. False if the table does not know it. */
bool work_word_by_table(struct work *w, struct old_line *line, const char *word);
/* A level of syslog(3) in our words; NULL: it is none. */
const char *work_log_level(const char *word);
/* Is this the first log to this target? Otherwise the line has no effect. */
bool work_log_is_new(struct work *w, struct old_line *line, const char *target);
/* The variable for the address of a name, where ours takes no name; two names do not share one. */
const char *work_address_variable(struct work *w, const char *name);
/* A duration in our words; "0" for none. */
const char *work_duration(struct arena *a, long long ms);
/* The hash of a password, as htpasswd -B or openssl passwd -6 make it; NULL: this build cannot. */
const char *work_password_hash(struct arena *a, const char *password);
/* The texts, with `between` in between. */
const char *work_joined(struct arena *a, const char *const *list, size_t count, const char *between);
/* Is the item one of a list with `between` in between? */
bool work_has_item(const char *list, char between, const char *item);
/* The text in lower case. */
const char *work_lower_case(struct arena *a, const char *text);
/* Clears what is behind the first `kept` bits of an address of so many `bits`. Was there anything? */
bool work_clear_bits(unsigned char *address, unsigned bits, unsigned kept);
/* The list with each item on a line of its own. */
const char *work_lines(struct arena *a, const char *list);
/* The list with blanks in place of commas. */
const char *work_spaced(struct arena *a, const char *list);

/* The length of the word at `text`; a blank between quotes ends none. */
size_t work_word_len(const char *text);
/* Adds a backend whose clients are closed. */
void work_add_closed(struct ini *ini, const char *name);

/* The words of a use-backend line without @FILE, or with something in its place, to judge it by. */
const char *work_without_files(struct arena *a, const char *text);
/* The same for a line with ${VARIABLES}: an "x" for each in a word with quotes, `first` for another first
 * word that has one, and none of the others. */
const char *work_without_variables(struct arena *a, const char *text, const char *first);

#define WORK_MAP_MAX 20000 /* entries of a map */

/* Items in the arena. */
struct work_list {
	const char **items;
	size_t count;
};

void work_list_add(struct arena *a, struct work_list *list, const char *item);
/* Adds what is between the commas of `text`. */
void work_list_split(struct arena *a, struct work_list *list, const char *text);
/* Adds lines of a key that may be repeated, with the items between blanks. */
void work_add_list(struct ini *ini, struct ini_section *s, struct old_line *from, const char *key,
		   const struct work_list *list, bool judged);

#endif
