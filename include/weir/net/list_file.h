/* SPDX-License-Identifier: MIT
 *
 * list_file.h - the networks or names of one file: read once, shared by all that name it.
 *
 * Immutable. The same text gives the same object for as long as somebody has it, so a reload that changes
 * nothing parses nothing and takes no memory, and two objects are the same list only if they are the same
 * object. Any thread: a lock guards the list of all and the counts. Lookups take no lock.
 */
#ifndef WEIR_NET_LIST_FILE_H
#define WEIR_NET_LIST_FILE_H

#include <stddef.h>
#include <stdint.h>

#define LIST_FILE_BYTES_MAX (64u << 20)
#define LIST_FILE_ENTRIES_MAX 1000000u

struct host_set;
struct list_file;
struct netset;

enum list_kind { LIST_NETWORKS, LIST_NAMES };

/* Which text it is. Equal texts have equal keys; different ones do not, for all practical purposes. */
struct list_key {
	enum list_kind kind;
	uint64_t sums[2];
	size_t len;
};

/* What a list contains; the member of its kind. */
struct list_sets {
	struct netset *networks;
	struct host_set *names;
};

/* The key of all `len` bytes of a file. */
struct list_key list_key_of(enum list_kind kind, const char *text, size_t len);
/* The list with that key, with a reference for the caller; NULL = nobody has it. */
struct list_file *list_file_find(const struct list_key *key);
/* Makes it from its set, which it takes, and from the number of its entries, with a reference for the caller.
 * If another thread made the same one meanwhile, that one is returned and the set is freed. NULL when out of
 * memory: then nothing is taken. */
struct list_file *list_file_make(const struct list_key *key, struct list_sets sets, size_t count);
/* One more reference. NULL is harmless. */
struct list_file *list_file_hold(struct list_file *l);
/* The last one frees it. NULL is harmless. */
void list_file_drop(struct list_file *l);
/* Borrowed; NULL if it is of the other kind. */
const struct netset *list_file_networks(const struct list_file *l);
const struct host_set *list_file_names(const struct list_file *l);
/* Entries as written. */
size_t list_file_count(const struct list_file *l);
/* The hash to show. */
uint64_t list_file_hash(const struct list_file *l);
/* What its entries are: "networks", "names". Static. */
const char *list_kind_word(enum list_kind kind);
enum list_kind list_file_kind(const struct list_file *l);

#endif
