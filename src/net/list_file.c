/* SPDX-License-Identifier: MIT
 *
 * list_file.c - the networks or names of one file: read once, shared by all that name it.
 *
 * Found by a hash of its text. Opens no file and parses none: it gets the finished set. Any thread.
 */
#include "weir/net/list_file.h"

#include <stdlib.h>

#include "weir/base/check.h"
#include "weir/base/hash.h"
#include "weir/base/shared.h"
#include "weir/net/host_set.h"
#include "weir/net/netset.h"

struct list_file {
	struct shared shared;
	struct list_key key;
	size_t count;
	struct list_sets sets; /* owns */
};

struct list_key list_key_of(enum list_kind kind, const char *text, size_t len)
{
	return (struct list_key){kind, {hash_bytes(text, len, 0), hash_bytes(text, len, 1)}, len};
}

static bool has_key(const struct shared *s, const void *key)
{
	const struct list_key *a = &container_of(s, struct list_file, shared)->key, *b = key;

	return a->kind == b->kind && a->len == b->len && a->sums[0] == b->sums[0] &&
	       a->sums[1] == b->sums[1];
}

static struct shared_set lists = SHARED_SET(lists, has_key);

static struct list_file *list_of(struct shared *s)
{
	return s != NULL ? container_of(s, struct list_file, shared) : NULL;
}

struct list_file *list_file_find(const struct list_key *key)
{
	return list_of(shared_find(&lists, key));
}

static void free_sets(struct list_sets sets)
{
	netset_free(sets.networks);
	host_set_free(sets.names);
}

static void free_list(struct list_file *l)
{
	free_sets(l->sets);
	free(l);
}

struct list_file *list_file_make(const struct list_key *key, struct list_sets sets, size_t count)
{
	struct list_file *made = calloc(1, sizeof(*made)), *l;

	check(key->kind == LIST_NETWORKS ? sets.networks != NULL : sets.names != NULL);
	if (made == NULL)
		return NULL;
	*made = (struct list_file){.key = *key, .count = count, .sets = sets};
	l = list_of(shared_publish(&lists, &made->shared, key));
	if (l != made)
		free_list(made);
	return l;
}

struct list_file *list_file_hold(struct list_file *l)
{
	if (l != NULL)
		shared_hold(&lists, &l->shared);
	return l;
}

void list_file_drop(struct list_file *l)
{
	if (l != NULL && shared_drop(&lists, &l->shared))
		free_list(l);
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
