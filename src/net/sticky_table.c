/* SPDX-License-Identifier: MIT
 *
 * sticky_table.c - which server each client has, or each address that clients connect to: parts with a lock
 * each, and in them chains and an order of use.
 *
 * A lock is held for a few steps. Allocates and frees memory outside the locks. Any thread.
 */
#include <stdlib.h>
#include <string.h>

#include "weir/base/hash.h"
#include "weir/base/seed.h"
#include "sticky_parts.h"

/* Smaller parts would be uneven: what one lacks another may have. */
#define PART_ENTRIES_MIN 1024u
/* What has expired is removed as entries come, so that the oldest are never far behind. */
#define EXPIRED_EACH	 2

/* ---- keys ---- */

bool sticky_key_of(enum sticky_keys kind, const struct addr_brief *a, struct sticky_key *out)
{
	struct source_key k;

	*out = (struct sticky_key){0};
	if (a->family != AF_INET && a->family != AF_INET6)
		return false;
	k = source_key_of(a);
	*out = (struct sticky_key){.network = k.network, .family = (uint32_t)k.family};
	if (kind == STICKY_DESTINATIONS && out->family == AF_INET6)
		memcpy(&out->host, a->ip + 8, 8);
	return true;
}

struct addr_brief sticky_key_addr(const struct sticky_key *k)
{
	struct addr_brief a = {.family = (uint16_t)k->family};

	memcpy(a.ip, &k->network, k->family == AF_INET ? 4 : 8);
	memcpy(a.ip + 8, &k->host, 8);
	return a;
}

/* With a host, there is another pair of words. It is mixed, because clients that come one after the other are
 * a constant apart before: with some seeds they would be in a few parts, and leave where there is no place
 * while others are empty. */
static uint64_t hash_of(const struct sticky_table *t, const struct sticky_key *k)
{
	const uint64_t hash = source_key_hash(t->seed, (struct source_key){k->network, k->family});
	const uint64_t *seed = t->seed + SOURCE_SEED_WORDS;

	if (t->kind == STICKY_CLIENTS)
		return hash_mix(hash);
	return hash_mix(hash + (seed[0] + (uint32_t)k->host) * (seed[1] + (k->host >> 32)));
}

static unsigned part_of(const struct sticky_table *t, uint64_t hash)
{
	return t->part_bits == 0 ? 0 : (unsigned)(hash >> (64 - t->part_bits));
}

uint32_t *sticky_chain_of(const struct sticky_table *t, const struct sticky_part *p, uint64_t hash)
{
	const uint64_t rest = hash << t->part_bits;

	return &p->chains[t->chain_bits == 0 ? 0 : rest >> (64 - t->chain_bits)];
}

/* ---- making and freeing ---- */

static unsigned part_bits_of(uint32_t size)
{
	unsigned bits = 0;

	while (bits < STICKY_PART_BITS_MAX && size >> (bits + 1) >= PART_ENTRIES_MIN)
		bits++;
	return bits;
}

static unsigned chain_bits_of(uint32_t part_room)
{
	unsigned bits = 0;

	while ((UINT32_C(1) << bits) < part_room)
		bits++;
	return bits;
}

/* Of the largest parts: the others have an entry less. */
static uint32_t part_room_of(uint32_t size)
{
	const uint32_t parts = UINT32_C(1) << part_bits_of(size);

	return (size + parts - 1) / parts;
}

/* Of an entry in a table of that kind. */
static size_t bytes_each(enum sticky_keys kind)
{
	return sizeof(struct sticky_entry) + (kind == STICKY_DESTINATIONS ? sizeof(uint64_t) : 0);
}

static size_t memory_of(enum sticky_keys kind, uint32_t size)
{
	const size_t parts = (size_t)1 << part_bits_of(size);
	const size_t chains = (size_t)1 << chain_bits_of(part_room_of(size));

	return (size + parts) * bytes_each(kind) + parts * chains * sizeof(uint32_t);
}

size_t sticky_table_bytes(enum sticky_keys kind, uint32_t size)
{
	return sizeof(struct sticky_table) + memory_of(kind, size);
}

enum sticky_keys sticky_table_keys(const struct sticky_table *t)
{
	return t->kind;
}

/* Gives the parts their shares of the table's memory, which is all 0. */
static void parts_init(struct sticky_table *t)
{
	const uint32_t parts = UINT32_C(1) << t->part_bits;
	struct sticky_entry *entries = t->memory;
	uint64_t *hosts = (uint64_t *)(entries + t->size + parts);
	const bool has_hosts = t->kind == STICKY_DESTINATIONS;
	uint32_t *chains = (uint32_t *)(has_hosts ? hosts + t->size + parts : hosts);

	for (uint32_t i = 0; i < parts; i++) {
		struct sticky_part *p = &t->parts[i];

		*p = (struct sticky_part){
			.room = t->size / parts + (i < t->size % parts),
			.entries = entries,
			.hosts = has_hosts ? hosts : NULL,
			.chains = chains,
		};
		spinlock_init(&p->lock);
		atomic_init(&p->used, 0);
		entries += p->room + 1;
		hosts += p->room + 1;
		chains += (size_t)1 << t->chain_bits;
	}
}

struct sticky_table *sticky_table_new(enum sticky_keys kind, uint32_t size)
{
	struct sticky_table *t = aligned_alloc(64, (sizeof(*t) + 63) / 64 * 64);

	check(size > 0);
	check(size <= STICKY_SIZE_MAX);
	if (t == NULL)
		return NULL;
	memset(t, 0, sizeof(*t));
	t->memory = calloc(1, memory_of(kind, size));
	if (t->memory == NULL) {
		free(t);
		return NULL;
	}
	t->held = 1;
	t->kind = kind;
	t->size = size;
	t->part_bits = part_bits_of(size);
	t->chain_bits = chain_bits_of(part_room_of(size));
	parts_init(t);
	seed_make(t->seed, ARRAY_LEN(t->seed));
	return t;
}

struct sticky_table *sticky_table_hold(struct sticky_table *t)
{
	if (t != NULL)
		t->held++;
	return t;
}

void sticky_table_put(struct sticky_table *t)
{
	struct sticky_table *to;

	/* A table may have moved to one that has moved on. */
	for (; t != NULL && --t->held == 0; t = to) {
		to = t->to;
		free(t->memory);
		free(t);
	}
}

/* ---- entries of a part; under its lock ---- */

static void order_out(struct sticky_part *p, uint32_t n)
{
	struct sticky_entry *e = &p->entries[n];

	p->entries[e->newer].older = e->older;
	p->entries[e->older].newer = e->newer;
}

/* Right behind `at`; behind the head = used last. */
static void order_in(struct sticky_part *p, uint32_t n, uint32_t at)
{
	struct sticky_entry *e = &p->entries[n];

	e->newer = at;
	e->older = p->entries[at].older;
	p->entries[e->older].newer = n;
	p->entries[at].older = n;
}

uint32_t sticky_find(const struct sticky_part *p, const uint32_t *chain, const struct sticky_key *k)
{
	uint32_t n = *chain;

	while (n != 0 && (p->entries[n].network != k->network || p->entries[n].family != k->family ||
			  sticky_host_of(p, n) != k->host))
		n = p->entries[n].next;
	return n;
}

static void set_used(struct sticky_part *p, unsigned used)
{
	check(used <= p->room);
	atomic_store_explicit(&p->used, used, memory_order_relaxed);
}

void sticky_drop(const struct sticky_table *t, struct sticky_part *p, uint32_t n)
{
	struct sticky_entry *e = &p->entries[n];
	const struct sticky_key k = sticky_key_at(p, n);
	uint32_t *at = sticky_chain_of(t, p, hash_of(t, &k));

	check(n != 0);
	while (*at != n) {
		check(*at != 0);
		at = &p->entries[*at].next;
	}
	*at = e->next;
	order_out(p, n);
	e->family = 0;
	e->next = p->free;
	p->free = n;
	set_used(p, sticky_used_of(p) - 1);
}

/* At most `max`; returns how many. */
int sticky_drop_expired(const struct sticky_table *t, struct sticky_part *p, int64_t now_ns, int max)
{
	int n = 0;

	while (n < max && sticky_oldest(p) != 0 && p->entries[sticky_oldest(p)].expires_ns <= now_ns) {
		sticky_drop(t, p, sticky_oldest(p));
		n++;
	}
	return n;
}

/* A free entry, not in order or chain; there must be one. */
static uint32_t take_free(struct sticky_part *p)
{
	uint32_t n = p->free;

	if (n != 0) {
		p->free = p->entries[n].next;
	} else {
		check(p->touched < p->room);
		n = ++p->touched;
	}
	set_used(p, sticky_used_of(p) + 1);
	return n;
}

/* Behind `at` in the order. There must be room. */
void sticky_add(struct sticky_part *p, uint32_t *chain, const struct sticky_content *c, uint32_t at)
{
	const uint32_t n = take_free(p);
	struct sticky_entry *e = &p->entries[n];

	e->network = c->key.network;
	e->family = c->key.family;
	e->server = c->server;
	e->expires_ns = c->expires_ns;
	if (p->hosts != NULL)
		p->hosts[n] = c->key.host;
	e->next = *chain;
	*chain = n;
	order_in(p, n, at);
}

/* Returns the live entry of `k`, 0 = none; one that has expired is removed. */
static uint32_t find_live(const struct sticky_table *t, struct sticky_part *p, uint64_t hash,
			  const struct sticky_key *k, int64_t now_ns)
{
	const uint32_t n = sticky_find(p, sticky_chain_of(t, p, hash), k);

	if (n == 0 || p->entries[n].expires_ns > now_ns)
		return n;
	sticky_drop(t, p, n);
	return 0;
}

static void touch(struct sticky_part *p, uint32_t n, int64_t expires_ns)
{
	p->entries[n].expires_ns = expires_ns;
	if (p->entries[0].older == n)
		return;
	order_out(p, n);
	order_in(p, n, 0);
}

/* ---- entries that go to another table; under the locks of both parts ---- */

void sticky_leave(struct sticky_part *p, uint32_t n)
{
	check(p->to != NULL);
	check(n != 0);
	order_out(p, n);
	p->entries[n].family = 0;
	set_used(p, sticky_used_of(p) - 1);
}

void sticky_carry(struct sticky_part *p, uint32_t n, const struct sticky_place *to, uint32_t at)
{
	const struct sticky_entry *e = &p->entries[n];
	const struct sticky_content c = {sticky_key_at(p, n), e->server, e->expires_ns};
	uint32_t *chain = sticky_chain_of(to->table, to->part, to->hash);

	if (sticky_find(to->part, chain, &c.key) == 0)
		sticky_add(to->part, chain, &c, at);
	sticky_leave(p, n);
}

void sticky_forget(struct sticky_part *p)
{
	p->entries[0].newer = 0;
	p->entries[0].older = 0;
	p->touched = 0;
	p->free = 0;
	set_used(p, 0);
}

/* A client has come before the move has got to its entry: there it is the one used last. */
static void fetch(const struct sticky_place *from, uint32_t n, const struct sticky_place *to)
{
	check(to->part->to == NULL);
	if (sticky_used_of(to->part) == to->part->room)
		sticky_drop(to->table, to->part, sticky_oldest(to->part));
	sticky_carry(from->part, n, to, 0);
}

/* ---- locking ---- */

struct sticky_place sticky_lock_here(struct sticky_table *t, const struct sticky_key *k)
{
	const uint64_t hash = hash_of(t, k);
	struct sticky_part *p = &t->parts[part_of(t, hash)];

	spinlock_lock(&p->lock);
	return (struct sticky_place){t, p, hash};
}

/* The older table's lock is taken first, always. */
struct sticky_place sticky_lock_place(struct sticky_table *t, const struct sticky_key *k)
{
	for (;;) {
		const struct sticky_place here = sticky_lock_here(t, k);
		struct sticky_table *to = here.part->to;
		uint32_t n = 0;

		if (likely(to == NULL))
			return here;
		if (sticky_used_of(here.part) > 0)
			n = sticky_find(here.part, sticky_chain_of(t, here.part, here.hash), k);
		if (n != 0) {
			const struct sticky_place there = sticky_lock_here(to, k);

			fetch(&here, n, &there);
			spinlock_unlock(&here.part->lock);
			return there;
		}
		spinlock_unlock(&here.part->lock);
		t = to;
	}
}

/* ---- clients ---- */

uint64_t sticky_table_use(struct sticky_table *t, const struct sticky_key *k, int64_t now_ns,
			  int64_t expires_ns)
{
	const struct sticky_place at = sticky_lock_place(t, k);
	const uint32_t n = find_live(at.table, at.part, at.hash, k, now_ns);
	uint64_t server = 0;

	if (n != 0) {
		server = at.part->entries[n].server;
		touch(at.part, n, expires_ns);
	}
	spinlock_unlock(&at.part->lock);
	return server;
}

uint64_t sticky_table_look(struct sticky_table *t, const struct sticky_key *k, int64_t now_ns)
{
	const struct sticky_place at = sticky_lock_place(t, k);
	const uint32_t n = sticky_find(at.part, sticky_chain_of(at.table, at.part, at.hash), k);
	const struct sticky_entry *e = &at.part->entries[n];
	const uint64_t server = n != 0 && e->expires_ns > now_ns ? e->server : 0;

	spinlock_unlock(&at.part->lock);
	return server;
}

static void add_new(const struct sticky_place *at, const struct sticky_key *k, const struct sticky_change *c,
		    bool *evicted)
{
	const struct sticky_content content = {*k, c->to, c->expires_ns};
	struct sticky_part *p = at->part;

	(void)sticky_drop_expired(at->table, p, c->now_ns, EXPIRED_EACH);
	*evicted = sticky_used_of(p) == p->room;
	if (*evicted)
		sticky_drop(at->table, p, sticky_oldest(p));
	sticky_add(p, sticky_chain_of(at->table, p, at->hash), &content, 0);
}

uint64_t sticky_table_set(struct sticky_table *t, const struct sticky_key *k, const struct sticky_change *c,
			  bool *evicted)
{
	const struct sticky_place at = sticky_lock_place(t, k);
	const uint32_t n = find_live(at.table, at.part, at.hash, k, c->now_ns);
	struct sticky_entry *e = &at.part->entries[n];
	uint64_t now = c->to;

	check(c->to != 0);
	*evicted = false;
	if (n == 0) {
		add_new(&at, k, c, evicted);
	} else if (e->server == c->from || e->server == c->to) {
		e->server = c->to;
		touch(at.part, n, c->expires_ns);
	} else {
		now = e->server;
	}
	spinlock_unlock(&at.part->lock);
	return now;
}
