/* SPDX-License-Identifier: MIT
 *
 * list_file.c - the networks or names of one file: read once, shared by all that name it.
 *
 * Owns the list of all that are in use, found by a hash of their text. Opens no file and parses none: it gets
 * the finished set. Any thread.
 */
#include "weir/net/list_file.h"

#include <pthread.h>
#include <stdlib.h>

#include "weir/base/check.h"
#include "weir/base/hash.h"
#include "weir/base/list.h"
#include "weir/net/host_set.h"
#include "weir/net/netset.h"

struct list_file {
	struct list link;
	size_t references;
	struct list_key key;
	size_t count;
	struct list_sets sets; /* owns */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct list all = {&all, &all}; /* borrows; guarded by `lock`, as are the references */

struct list_key list_key_of(enum list_kind kind, const char *text, size_t len)
{
	return (struct list_key){kind, {hash_bytes(text, len, 0), hash_bytes(text, len, 1)}, len};
}

static bool is_same_key(const struct list_key *a, const struct list_key *b)
{
	return a->kind == b->kind && a->len == b->len && a->sums[0] == b->sums[0] &&
	       a->sums[1] == b->sums[1];
}

/* Under the lock. */
static struct list_file *find(const struct list_key *key)
{
	for (struct list *node = all.next; node != &all; node = node->next) {
		struct list_file *l = list_entry(node, struct list_file, link);

		if (is_same_key(&l->key, key)) {
			l->references++;
			return l;
		}
	}
	return NULL;
}

struct list_file *list_file_find(const struct list_key *key)
{
	struct list_file *l;

	pthread_mutex_lock(&lock);
	l = find(key);
	pthread_mutex_unlock(&lock);
	return l;
}

static void free_sets(struct list_sets sets)
{
	netset_free(sets.networks);
	host_set_free(sets.names);
}

struct list_file *list_file_make(const struct list_key *key, struct list_sets sets, size_t count)
{
	struct list_file *made = calloc(1, sizeof(*made)), *l;

	check(key->kind == LIST_NETWORKS ? sets.networks != NULL : sets.names != NULL);
	if (made == NULL)
		return NULL;
	*made = (struct list_file){.references = 1, .key = *key, .count = count, .sets = sets};
	pthread_mutex_lock(&lock);
	l = find(key);
	if (l == NULL)
		list_push_back(&all, &made->link);
	pthread_mutex_unlock(&lock);
	if (l == NULL)
		return made;
	free_sets(sets);
	free(made);
	return l;
}

struct list_file *list_file_hold(struct list_file *l)
{
	if (l == NULL)
		return NULL;
	pthread_mutex_lock(&lock);
	check(l->references > 0);
	l->references++;
	pthread_mutex_unlock(&lock);
	return l;
}

void list_file_drop(struct list_file *l)
{
	size_t left;

	if (l == NULL)
		return;
	pthread_mutex_lock(&lock);
	check(l->references > 0);
	left = --l->references;
	if (left == 0)
		list_remove(&l->link);
	pthread_mutex_unlock(&lock);
	if (left > 0)
		return;
	free_sets(l->sets);
	free(l);
}

const struct netset *list_file_networks(const struct list_file *l)
{
	return l->sets.networks;
}

const struct host_set *list_file_names(const struct list_file *l)
{
	return l->sets.names;
}

size_t list_file_count(const struct list_file *l)
{
	return l->count;
}

uint64_t list_file_hash(const struct list_file *l)
{
	return l->key.sums[0];
}

enum list_kind list_file_kind(const struct list_file *l)
{
	return l->key.kind;
}

const char *list_kind_word(enum list_kind kind)
{
	return kind == LIST_NETWORKS ? "networks" : "names";
}
