/* SPDX-License-Identifier: MIT
 *
 * source_table.c - how many sessions each source has: chains of entries, one lock per 1024 chains.
 *
 * Owns the entries. Allocates and frees memory outside the locks. Any thread.
 */
#include "weir/net/source_table.h"

#include <errno.h>
#include <stdlib.h>

#include "weir/base/check.h"
#include "weir/base/seed.h"
#include "weir/base/spinlock.h"
#include "weir/net/source_key.h"

/* The number of chains: with half a million sources each has 8 entries. Their memory is touched only as it is
 * needed. */
#define SOURCE_CHAIN_BITS 16
#define SOURCE_CHAINS ((size_t)1 << SOURCE_CHAIN_BITS)
#define SOURCE_LOCKS 64u

struct source_entry {
	struct source_entry *next; /* owns: the next one in the chain */
	struct source_key key;
	unsigned count;               /* > 0 while it is in a chain */
	unsigned ending;              /* of these, how many are about to leave */
	uint64_t workers;             /* that have had sessions or waiters of this source */
	struct source_waiter *waiter; /* borrows: the first waiter; NULL = none */
	int64_t wait_again_ns;        /* nobody may wait before this time; monotonic */
};

/* One cache line each. */
struct source_lock {
	_Alignas(64) struct spinlock lock;
};

struct source_table {
	struct source_lock locks[SOURCE_LOCKS];
	struct source_entry **chains; /* owns */
	uint64_t seed[SOURCE_SEED_WORDS];
};

struct source_table *source_table_new(void)
{
	struct source_table *t = aligned_alloc(64, (sizeof(*t) + 63) / 64 * 64);

	if (t == NULL)
		return NULL;
	t->chains = calloc(SOURCE_CHAINS, sizeof(struct source_entry *));
	if (t->chains == NULL) {
		free(t);
		return NULL;
	}
	for (unsigned i = 0; i < SOURCE_LOCKS; i++)
		spinlock_init(&t->locks[i].lock);
	seed_make(t->seed, ARRAY_LEN(t->seed));
	return t;
}

void source_table_free(struct source_table *t)
{
	if (t == NULL)
		return;
	check(source_table_size(t) == 0);
	free(t->chains);
	free(t);
}

static size_t chain_of(const struct source_table *t, struct source_key k)
{
	return source_key_chain(t->seed, k, SOURCE_CHAIN_BITS);
}

static struct spinlock *lock_of(struct source_table *t, size_t chain)
{
	return &t->locks[chain % SOURCE_LOCKS].lock;
}

/* The link in the chain that points to the entry of `k`; the final link, which is NULL, if there is none. */
static struct source_entry **find(const struct source_table *t, size_t chain, struct source_key k)
{
	struct source_entry **at = &t->chains[chain];

	while (*at != NULL && ((*at)->key.network != k.network || (*at)->key.family != k.family))
		at = &(*at)->next;
	return at;
}

static int count_up(struct source_entry *e, unsigned limit, unsigned worker, struct source_entry **out)
{
	if (e->count >= limit)
		return -EDQUOT;
	e->count++;
	e->workers |= source_worker_bit(worker);
	*out = e;
	return 0;
}

/* For the first session of its source: adds the entry `fresh` to the chain, unless there is an entry by
 * now. */
static int enter_first(struct source_table *t, size_t chain, unsigned limit, unsigned worker,
		       struct source_entry *fresh, struct source_entry **out)
{
	struct source_entry *unused = NULL;
	struct source_entry **at;
	int err;

	spinlock_lock(lock_of(t, chain));
	at = find(t, chain, fresh->key);
	if (*at == NULL && limit > 0)
		*at = fresh;
	else
		unused = fresh; /* another worker was faster */
	err = *at != NULL ? count_up(*at, limit, worker, out) : -EDQUOT;
	spinlock_unlock(lock_of(t, chain));
	free(unused);
	return err;
}

int source_table_enter(struct source_table *t, const struct addr_brief *a, unsigned limit, unsigned worker,
		       struct source_entry **out)
{
	const struct source_key k = source_key_of(a);
	const size_t chain = chain_of(t, k);
	struct source_entry *e;
	int err = -ENOENT;

	spinlock_lock(lock_of(t, chain));
	e = *find(t, chain, k);
	if (e != NULL)
		err = count_up(e, limit, worker, out);
	spinlock_unlock(lock_of(t, chain));
	if (err != -ENOENT)
		return err;
	e = calloc(1, sizeof(*e));
	if (e == NULL)
		return -ENOMEM;
	e->key = k;
	return enter_first(t, chain, limit, worker, e, out);
}

void source_table_ending(struct source_table *t, struct source_entry *e)
{
	const size_t chain = chain_of(t, e->key);

	spinlock_lock(lock_of(t, chain));
	e->ending++;
	check(e->ending <= e->count);
	spinlock_unlock(lock_of(t, chain));
}

/* The place passes from the session to the waiter, so the count is unchanged. */
static struct source_waiter take_waiter(struct source_entry *e)
{
	struct source_waiter w = {.wake = NULL};

	if (e->waiter == NULL)
		return w;
	w = *e->waiter;
	e->waiter->granted = true;
	e->waiter = w.next;
	return w;
}

bool source_table_leave(struct source_table *t, struct source_entry *e, bool ending)
{
	const size_t chain = chain_of(t, e->key);
	struct source_entry *ended = NULL;
	struct source_waiter next;

	spinlock_lock(lock_of(t, chain));
	check(e->count > 0);
	check(!ending || e->ending > 0);
	e->ending -= ending;
	next = take_waiter(e);
	if (next.wake == NULL && --e->count == 0) {
		struct source_entry **at = find(t, chain, e->key);

		check(*at == e);
		*at = e->next;
		ended = e;
	}
	spinlock_unlock(lock_of(t, chain));
	free(ended);
	if (next.wake != NULL)
		next.wake(next.wake_arg);
	return next.wake != NULL;
}

/* ---- waiters ---- */

static int wait_at(struct source_entry *e, unsigned limit, int64_t now_ns, struct source_waiter *w)
{
	struct source_waiter **at;
	unsigned before = 0;

	if (e == NULL || e->count < limit)
		return -EAGAIN;
	for (at = &e->waiter; *at != NULL; at = &(*at)->next)
		before++;
	if (before >= limit || before >= SOURCE_WAITERS_MAX || now_ns < e->wait_again_ns)
		return -EDQUOT;
	w->entry = e;
	w->next = NULL;
	w->granted = false;
	*at = w;
	e->workers |= source_worker_bit(w->worker);
	return 0;
}

int source_table_wait(struct source_table *t, const struct addr_brief *a, unsigned limit, int64_t now_ns,
		      struct source_waiter *w, uint64_t *workers)
{
	const struct source_key k = source_key_of(a);
	const size_t chain = chain_of(t, k);
	struct source_entry *e;
	int err;

	check(w->entry == NULL);
	check(w->wake != NULL);
	if (limit == 0)
		return -EDQUOT;
	spinlock_lock(lock_of(t, chain));
	e = *find(t, chain, k);
	err = wait_at(e, limit, now_ns, w);
	if (!err)
		*workers = e->workers;
	spinlock_unlock(lock_of(t, chain));
	return err;
}

/* A waiter's entry always exists: some session is counted in it, or at last the waiter itself. */
bool source_table_is_granted(struct source_table *t, const struct source_waiter *w)
{
	const size_t chain = chain_of(t, w->entry->key);
	bool granted;

	spinlock_lock(lock_of(t, chain));
	granted = w->granted;
	spinlock_unlock(lock_of(t, chain));
	return granted;
}

/* How many waiters there are up to this one. */
static unsigned count_up_to(const struct source_waiter *w)
{
	unsigned n = 1;

	for (const struct source_waiter *at = w->entry->waiter; at != w; at = at->next)
		n++;
	return n;
}

bool source_table_is_hopeful(struct source_table *t, const struct source_waiter *w)
{
	const size_t chain = chain_of(t, w->entry->key);
	bool hopeful;

	spinlock_lock(lock_of(t, chain));
	hopeful = w->granted || count_up_to(w) <= w->entry->ending;
	spinlock_unlock(lock_of(t, chain));
	return hopeful;
}

static void remove_waiter(struct source_entry *e, const struct source_waiter *w)
{
	struct source_waiter **at = &e->waiter;

	while (*at != w) {
		check(*at != NULL);
		at = &(*at)->next;
	}
	*at = w->next;
}

struct source_entry *source_table_stop_waiting(struct source_table *t, struct source_waiter *w,
					       int64_t again_ns)
{
	struct source_entry *e = w->entry;
	const size_t chain = chain_of(t, e->key);

	spinlock_lock(lock_of(t, chain));
	if (!w->granted) {
		remove_waiter(e, w);
		e->wait_again_ns = again_ns;
	}
	spinlock_unlock(lock_of(t, chain));
	w->entry = NULL;
	return w->granted ? e : NULL;
}

bool source_table_is_of(const struct source_entry *e, const struct addr_brief *a)
{
	const struct source_key k = source_key_of(a);

	return e->key.network == k.network && e->key.family == k.family;
}

unsigned source_table_count(struct source_table *t, const struct addr_brief *a)
{
	const struct source_key k = source_key_of(a);
	const size_t chain = chain_of(t, k);
	const struct source_entry *e;
	unsigned count;

	spinlock_lock(lock_of(t, chain));
	e = *find(t, chain, k);
	count = e != NULL ? e->count : 0;
	spinlock_unlock(lock_of(t, chain));
	return count;
}

size_t source_table_size(struct source_table *t)
{
	size_t n = 0;

	for (size_t i = 0; i < SOURCE_CHAINS; i++) {
		spinlock_lock(lock_of(t, i));
		for (const struct source_entry *e = t->chains[i]; e != NULL; e = e->next)
			n++;
		spinlock_unlock(lock_of(t, i));
	}
	return n;
}
