/* SPDX-License-Identifier: MIT
 *
 * egress_cache.c - the addresses of names that clients asked for, for as long as their TTL says.
 *
 * Control thread.
 */
#include "egress_cache.h"

#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"

struct known_name {
	struct list chain;
	struct list recent;
	int64_t until_ns;
	uint16_t family;
	uint16_t outcome; /* enum egress_outcome */
	uint16_t count;
	uint16_t name_len;
	struct addr_brief list[]; /* and then the name */
};

static char *name_of(struct known_name *n)
{
	return (char *)&n->list[n->count];
}

void egress_cache_init(struct egress_cache *c)
{
	*c = (struct egress_cache){0};
	list_init(&c->recent);
	keyed_hash_new_key(&c->key);
}

static void forget(struct egress_cache *c, struct known_name *n)
{
	check(c->count > 0);
	list_remove(&n->chain);
	list_remove(&n->recent);
	c->count--;
	free(n);
}

void egress_cache_free(struct egress_cache *c)
{
	while (!list_empty(&c->recent))
		forget(c, list_entry(c->recent.next, struct known_name, recent));
	free(c->chains);
	c->chains = NULL;
}

static struct list *chain_of(const struct egress_cache *c, const char *name)
{
	return &c->chains[keyed_hash_sip(c->key.half, name, strlen(name)) % EGRESS_CACHE_CHAINS];
}

static struct known_name *find(const struct egress_cache *c, const char *name, int family)
{
	const size_t len = strlen(name);
	struct list *chain = chain_of(c, name);

	for (struct list *l = chain->next; l != chain; l = l->next) {
		struct known_name *n = list_entry(l, struct known_name, chain);

		if (n->name_len == len && n->family == family && memcmp(name_of(n), name, len) == 0)
			return n;
	}
	return NULL;
}

bool egress_cache_find(struct egress_cache *c, const char *name, int family, int64_t now_ns,
		       struct egress_found *found)
{
	struct known_name *n = c->chains != NULL ? find(c, name, family) : NULL;

	if (n == NULL)
		return false;
	if (now_ns >= n->until_ns) {
		forget(c, n);
		return false;
	}
	list_remove(&n->recent);
	list_push_back(&c->recent, &n->recent);
	found->outcome = (enum egress_outcome)n->outcome;
	found->count = n->count;
	memcpy(found->list, n->list, n->count * sizeof(n->list[0]));
	return true;
}

/* Room for one more name. */
static bool make_room(struct egress_cache *c, int64_t now_ns)
{
	if (c->chains == NULL) {
		c->chains = calloc(EGRESS_CACHE_CHAINS, sizeof(*c->chains));
		for (unsigned i = 0; c->chains != NULL && i < EGRESS_CACHE_CHAINS; i++)
			list_init(&c->chains[i]);
	}
	if (c->count >= EGRESS_NAMES_MAX) {
		struct known_name *n = list_entry(c->recent.next, struct known_name, recent);

		c->left_early += now_ns < n->until_ns;
		forget(c, n);
	}
	return c->chains != NULL;
}

void egress_cache_put(struct egress_cache *c, const char *name, int family,
		      const struct egress_found *found, int64_t now_ns, int64_t until_ns)
{
	const size_t len = strlen(name);
	struct known_name *n = c->chains != NULL ? find(c, name, family) : NULL;

	check(found->count <= EGRESS_ADDRESSES_MAX);
	check(len < EGRESS_NAME_MAX);
	if (n != NULL)
		forget(c, n);
	if (!make_room(c, now_ns))
		return;
	n = malloc(sizeof(*n) + found->count * sizeof(n->list[0]) + len);
	if (n == NULL)
		return;
	n->until_ns = until_ns;
	n->family = (uint16_t)family;
	n->outcome = (uint16_t)found->outcome;
	n->count = (uint16_t)found->count;
	n->name_len = (uint16_t)len;
	memcpy(n->list, found->list, found->count * sizeof(n->list[0]));
	memcpy(name_of(n), name, len);
	list_push_back(chain_of(c, name), &n->chain);
	list_push_back(&c->recent, &n->recent);
	c->count++;
}
