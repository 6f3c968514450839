/* SPDX-License-Identifier: MIT
 *
 * source_rates.c - how many new connections each source may open in a time: chains of entries, 64 locks.
 *
 * Owns the entries, which are allocated with the table. No lock is held while another is taken, nor for more
 * than one chain. Any thread.
 */
#include "weir/net/source_rates.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/seed.h"
#include "weir/base/spinlock.h"
#include "weir/net/source_key.h"

#define RATES_LOCKS 64u
#define RATES_BITS_MIN 6u
#define RATES_BITS_MAX 24u
/* Entries that one call looks at for one that is no longer needed, when no place is left. */
#define RATES_SWEEP 64u
/* A bucket that is emptier than any can be is from a slower limit, unless another thread's time is ahead. */
#define RATES_SKEW_NS NS_PER_SEC

/* In `place`: the chain, and whether the source is of IPv6. */
#define PLACE_IS_IPV6 (UINT32_C(1) << 31)
#define NONE UINT32_MAX

struct rate_entry {
	uint64_t network;         /* of a struct source_key */
	_Atomic int64_t full_ns;  /* when its bucket is full again; written under the lock of its chain */
	_Atomic uint32_t place;   /* likewise; a sweep reads both without it, and looks again under it */
	uint32_t next;            /* the next one in the chain, or of those to spare; NONE = the last */
};

/* One cache line each. */
struct rate_lock {
	_Alignas(64) struct spinlock lock;
	int64_t newest_ns; /* protected: the latest time that a thread passed */
};

struct source_rates {
	struct rate_lock locks[RATES_LOCKS];
	_Alignas(64) struct spinlock pool; /* for the next two */
	uint32_t used;                     /* entries from here on never had a source */
	uint32_t spare;                    /* the first entry that was given back; NONE = none */
	_Atomic uint32_t hand;             /* where the next sweep begins */
	struct rate_entry *entries;        /* owns */
	uint32_t *chains;                  /* owns: the first entry of each, plus 1; 0 = it is empty */
	uint32_t most;
	unsigned bits; /* of the number of a chain */
	uint64_t seed[SOURCE_SEED_WORDS];
};

struct source_rate source_rate_of(unsigned count, int64_t period_ns, unsigned burst)
{
	struct source_rate r = {0};

	if (count == 0)
		return r;
	check(burst > 0);
	check(period_ns >= count);
	/* Rounded up, so that nobody gets more than was configured. */
	r.each_ns = (period_ns + count - 1) / count;
	check(r.each_ns <= (INT64_C(1) << 62) / burst);
	r.whole_ns = r.each_ns * burst;
	return r;
}

/* ---- the table ---- */

static unsigned bits_for(size_t most)
{
	unsigned bits = RATES_BITS_MIN;

	while (((size_t)1 << bits) < most)
		bits++;
	check(bits <= RATES_BITS_MAX);
	return bits;
}

size_t source_rates_bytes(size_t most)
{
	return sizeof(struct source_rates) + most * sizeof(struct rate_entry) +
	       sizeof(uint32_t) * ((size_t)1 << bits_for(most));
}

struct source_rates *source_rates_new(size_t most)
{
	struct source_rates *t = aligned_alloc(64, (sizeof(*t) + 63) / 64 * 64);

	check(most > 0);
	if (t == NULL)
		return NULL;
	*t = (struct source_rates){.spare = NONE, .most = (uint32_t)most, .bits = bits_for(most)};
	t->entries = calloc(most, sizeof(*t->entries));
	t->chains = calloc((size_t)1 << t->bits, sizeof(*t->chains));
	if (t->entries == NULL || t->chains == NULL) {
		source_rates_free(t);
		return NULL;
	}
	for (unsigned i = 0; i < RATES_LOCKS; i++) {
		spinlock_init(&t->locks[i].lock);
		t->locks[i].newest_ns = 0;
	}
	spinlock_init(&t->pool);
	seed_make(t->seed, ARRAY_LEN(t->seed));
	return t;
}

void source_rates_free(struct source_rates *t)
{
	if (t == NULL)
		return;
	free(t->entries);
	free(t->chains);
	free(t);
}

static struct rate_lock *shared_by(struct source_rates *t, size_t chain)
{
	return &t->locks[chain % RATES_LOCKS];
}

static struct spinlock *lock_of(struct source_rates *t, size_t chain)
{
	return &shared_by(t, chain)->lock;
}

/* Under the lock of the chain. Threads pass the time at which their turn began: of two that let clients of
 * one source in at once, the second may be behind, and must not find a bucket emptier than it is. */
static int64_t newest(struct source_rates *t, size_t chain, int64_t now_ns)
{
	int64_t *newest_ns = &shared_by(t, chain)->newest_ns;

	if (now_ns > *newest_ns || *newest_ns - now_ns > RATES_SKEW_NS)
		*newest_ns = now_ns;
	return *newest_ns;
}

static uint32_t first_of(const struct source_rates *t, size_t chain)
{
	return t->chains[chain] - 1; /* NONE of an empty one */
}

static int64_t full_at(const struct rate_entry *e)
{
	return atomic_load_explicit(&e->full_ns, memory_order_relaxed);
}

static uint32_t place_of(const struct rate_entry *e)
{
	return atomic_load_explicit(&e->place, memory_order_relaxed);
}

static uint32_t place_for(size_t chain, struct source_key k)
{
	return (uint32_t)chain | (k.family == AF_INET6 ? PLACE_IS_IPV6 : 0);
}

static void give_to(struct rate_entry *e, size_t chain, struct source_key k)
{
	e->network = k.network;
	atomic_store_explicit(&e->place, place_for(chain, k), memory_order_relaxed);
	atomic_store_explicit(&e->full_ns, 0, memory_order_relaxed);
}

/* ---- under the lock of a chain ---- */

/* The entry of `k`; NULL = it has none. */
static struct rate_entry *find(const struct source_rates *t, size_t chain, struct source_key k)
{
	for (uint32_t i = first_of(t, chain); i != NONE; i = t->entries[i].next)
		if (t->entries[i].network == k.network && place_of(&t->entries[i]) == place_for(chain, k))
			return &t->entries[i];
	return NULL;
}

/* The entry of `k`, perhaps the one of a source of the same chain that needs none; NULL = there is none. */
static struct rate_entry *find_or_reuse(struct source_rates *t, size_t chain, struct source_key k,
					int64_t now_ns)
{
	struct rate_entry *e = find(t, chain, k);

	if (e != NULL)
		return e;
	for (uint32_t i = first_of(t, chain); i != NONE; i = t->entries[i].next) {
		if (full_at(&t->entries[i]) > now_ns)
			continue;
		give_to(&t->entries[i], chain, k);
		return &t->entries[i];
	}
	return NULL;
}

/* When the bucket is full by `rate`: not beyond what a whole bucket takes. */
static int64_t full_by(const struct rate_entry *e, const struct source_rate *rate, int64_t now_ns)
{
	const int64_t full_ns = full_at(e);

	return full_ns > now_ns + rate->whole_ns + RATES_SKEW_NS ? now_ns + rate->whole_ns : full_ns;
}

/* For how long it must wait for the next token. */
static int64_t wait_ns(int64_t full_ns, const struct source_rate *rate, int64_t now_ns)
{
	const int64_t least_ns = full_ns - (rate->whole_ns - rate->each_ns);

	return least_ns > now_ns ? least_ns - now_ns : 0;
}

static enum source_rate_verdict judge(struct rate_entry *e, const struct source_rate *rate, int64_t now_ns)
{
	int64_t full_ns = full_by(e, rate, now_ns);
	const bool is_over = wait_ns(full_ns, rate, now_ns) > 0;

	if (!is_over)
		full_ns = (full_ns > now_ns ? full_ns : now_ns) + rate->each_ns;
	/* Also if it is over: a slower limit is forgotten once. */
	atomic_store_explicit(&e->full_ns, full_ns, memory_order_relaxed);
	return is_over ? SOURCE_RATE_OVER : SOURCE_RATE_PASSED;
}

/* Takes entry `at` out of the chain, if it is there and its source needs none. */
static bool take_out(struct source_rates *t, size_t chain, uint32_t at, int64_t now_ns)
{
	uint32_t *link = NULL;
	uint32_t i = first_of(t, chain);

	while (i != NONE && i != at) {
		link = &t->entries[i].next;
		i = *link;
	}
	if (i == NONE || full_at(&t->entries[at]) > now_ns)
		return false;
	if (link != NULL)
		*link = t->entries[at].next;
	else
		t->chains[chain] = t->entries[at].next + 1;
	return true;
}

/* ---- places ---- */

/* Is entry `at` one whose source needs none? Then it is taken out. */
static bool take_unneeded(struct source_rates *t, uint32_t at, int64_t now_ns)
{
	size_t chain;
	bool taken;

	if (full_at(&t->entries[at]) > now_ns)
		return false;
	chain = place_of(&t->entries[at]) & ~PLACE_IS_IPV6;
	spinlock_lock(lock_of(t, chain));
	taken = take_out(t, chain, at, now_ns); /* it may have moved meanwhile */
	spinlock_unlock(lock_of(t, chain));
	return taken;
}

/* Looks at some entries per call, beginning where the last one ended. Returns one that is in no chain any
 * more; NONE = none was found. Two workers that sweep at once may look at the same entries, and one gets
 * each. */
static uint32_t sweep(struct source_rates *t, int64_t now_ns)
{
	const uint32_t count = t->most < RATES_SWEEP ? t->most : RATES_SWEEP;
	uint32_t at = atomic_load_explicit(&t->hand, memory_order_relaxed);
	uint32_t found = NONE;

	for (uint32_t n = 0; n < count && found == NONE; n++) {
		if (take_unneeded(t, at, now_ns))
			found = at;
		at = at + 1 < t->most ? at + 1 : 0;
	}
	atomic_store_explicit(&t->hand, at, memory_order_relaxed);
	return found;
}

/* An entry that is in no chain, of the caller from now on; NONE = none was found. */
static uint32_t take_place(struct source_rates *t, int64_t now_ns)
{
	uint32_t at;

	spinlock_lock(&t->pool);
	at = t->spare;
	if (at != NONE)
		t->spare = t->entries[at].next;
	else if (t->used < t->most)
		at = t->used++;
	spinlock_unlock(&t->pool);
	return at != NONE ? at : sweep(t, now_ns);
}

static void give_back(struct source_rates *t, uint32_t at)
{
	spinlock_lock(&t->pool);
	t->entries[at].next = t->spare;
	t->spare = at;
	spinlock_unlock(&t->pool);
}

/* ---- entry points ---- */

/* For a source that had no entry: it gets `at`, unless it has one by now. */
static enum source_rate_verdict take_first(struct source_rates *t, const struct addr_brief *a, uint32_t at,
					   const struct source_rate *rate, int64_t now_ns)
{
	const struct source_key k = source_key_of(a);
	const size_t chain = source_key_chain(t->seed, k, t->bits);
	enum source_rate_verdict verdict;
	struct rate_entry *e;
	bool is_new;

	spinlock_lock(lock_of(t, chain));
	e = find(t, chain, k);
	is_new = e == NULL;
	if (is_new) {
		e = &t->entries[at];
		give_to(e, chain, k);
		e->next = first_of(t, chain);
		t->chains[chain] = at + 1;
	}
	verdict = judge(e, rate, newest(t, chain, now_ns));
	spinlock_unlock(lock_of(t, chain));
	if (!is_new)
		give_back(t, at); /* another worker was faster */
	return verdict;
}

enum source_rate_verdict source_rates_take(struct source_rates *t, const struct addr_brief *a,
					   const struct source_rate *rate, int64_t now_ns)
{
	const struct source_key k = source_key_of(a);
	const size_t chain = source_key_chain(t->seed, k, t->bits);
	enum source_rate_verdict verdict = SOURCE_RATE_NO_ROOM;
	struct rate_entry *e;
	uint32_t at;

	check(rate->each_ns > 0);
	spinlock_lock(lock_of(t, chain));
	e = find_or_reuse(t, chain, k, now_ns);
	if (e != NULL)
		verdict = judge(e, rate, newest(t, chain, now_ns));
	spinlock_unlock(lock_of(t, chain));
	if (e != NULL)
		return verdict;
	at = take_place(t, now_ns);
	return at != NONE ? take_first(t, a, at, rate, now_ns) : SOURCE_RATE_NO_ROOM;
}

int64_t source_rates_wait_ns(struct source_rates *t, const struct addr_brief *a,
			     const struct source_rate *rate, int64_t now_ns)
{
	const struct source_key k = source_key_of(a);
	const size_t chain = source_key_chain(t->seed, k, t->bits);
	const struct rate_entry *e;
	int64_t ns = 0;

	spinlock_lock(lock_of(t, chain));
	e = find(t, chain, k);
	now_ns = newest(t, chain, now_ns);
	if (e != NULL)
		ns = wait_ns(full_by(e, rate, now_ns), rate, now_ns);
	spinlock_unlock(lock_of(t, chain));
	return ns;
}

size_t source_rates_size(struct source_rates *t)
{
	size_t n = 0;

	for (size_t chain = 0; chain < (size_t)1 << t->bits; chain++) {
		spinlock_lock(lock_of(t, chain));
		for (uint32_t i = first_of(t, chain); i != NONE; i = t->entries[i].next)
			n++;
		spinlock_unlock(lock_of(t, chain));
	}
	return n;
}
