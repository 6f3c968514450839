/* SPDX-License-Identifier: MIT
 *
 * test_sticky_table.c - which server each client has: what one client is, who leaves, what a move keeps, also
 * under threads.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/net/sticky_table.h"

#define FOREVER INT64_MAX

static struct sticky_table *new_table(uint32_t size)
{
	return sticky_table_new(STICKY_CLIENTS, size);
}

static struct sticky_key key_of(enum sticky_keys kind, const char *text)
{
	struct addr_brief a = {.family = AF_INET, .port = 4711};
	struct sticky_key k;

	if (inet_pton(AF_INET, text, a.ip) != 1) {
		a.family = AF_INET6;
		assert_int_equal(inet_pton(AF_INET6, text, a.ip), 1);
	}
	assert_true(sticky_key_of(kind, &a, &k));
	return k;
}

static struct sticky_key key(const char *text)
{
	return key_of(STICKY_CLIENTS, text);
}

static struct sticky_key nth(uint32_t n)
{
	const struct addr_brief a = {.family = n % 2 == 0 ? AF_INET : AF_INET6,
				     .ip = {10, (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n}};
	struct sticky_key k;

	assert_true(sticky_key_of(STICKY_CLIENTS, &a, &k));
	return k;
}

static uint64_t set(struct sticky_table *t, struct sticky_key k, uint64_t from, uint64_t to, int64_t now_ns)
{
	const struct sticky_change c = {.from = from, .to = to, .now_ns = now_ns, .expires_ns = now_ns + 100};
	bool evicted;

	return sticky_table_set(t, &k, &c, &evicted);
}

static uint64_t look(struct sticky_table *t, const char *text, int64_t now_ns)
{
	const struct sticky_key k = key(text);

	return sticky_table_look(t, &k, now_ns);
}

static void one_client_is_an_ipv4_address_or_a_network_of_ipv6(void **state)
{
	static const struct addr_brief local = {.family = AF_UNIX}, none = {.family = 0};
	struct sticky_table *t = new_table(100);
	struct sticky_key k;

	(void)state;
	assert_non_null(t);
	(void)set(t, key("192.0.2.1"), 0, 7, 0);
	(void)set(t, key("2001:db8::1"), 0, 8, 0);
	assert_int_equal(look(t, "192.0.2.1", 0), 7);
	assert_int_equal(look(t, "::ffff:192.0.2.1", 0), 7);
	assert_int_equal(look(t, "192.0.2.2", 0), 0);
	assert_int_equal(look(t, "2001:db8::ffff:ffff:ffff:ffff", 0), 8);
	assert_int_equal(look(t, "2001:db8:0:1::1", 0), 0);
	assert_int_equal(look(t, "c000:201::", 0), 0); /* the same bytes as the IPv4 address */
	assert_false(sticky_key_of(STICKY_CLIENTS, &local, &k));
	assert_false(sticky_key_of(STICKY_CLIENTS, &none, &k));
	assert_int_equal(sticky_table_used(t), 2);
	sticky_table_put(t);
	sticky_table_put(NULL);
}

static uint64_t look_for(struct sticky_table *t, const char *text)
{
	const struct sticky_key k = key_of(STICKY_DESTINATIONS, text);

	return sticky_table_look(t, &k, 0);
}

static void a_destination_is_a_whole_address(void **state)
{
	static const char *const addresses[] = {"192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2",
						"2001:db8:0:0:1::1", "2001:db8:0:1::1", "c000:201::"};
	struct sticky_table *t = sticky_table_new(STICKY_DESTINATIONS, 100);
	const struct sticky_key mapped = key_of(STICKY_DESTINATIONS, "::ffff:192.0.2.1");
	struct addr_brief a;

	(void)state;
	assert_non_null(t);
	assert_int_equal(sticky_table_keys(t), STICKY_DESTINATIONS);
	for (uint64_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
		(void)set(t, key_of(STICKY_DESTINATIONS, addresses[i]), 0, i + 1, 0);
	for (uint64_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
		assert_int_equal(look_for(t, addresses[i]), i + 1);
	assert_int_equal(sticky_table_look(t, &mapped, 0), 1);
	assert_int_equal(look_for(t, "2001:db8::3"), 0);
	a = sticky_key_addr(&(const struct sticky_key){.family = AF_INET6, .network = 1, .host = 2});
	assert_memory_equal(a.ip + 8, &(const uint64_t){2}, 8);
	assert_int_equal(sticky_table_clear(t, &mapped), 1);
	assert_int_equal(look_for(t, "192.0.2.1"), 0);
	assert_int_equal(sticky_table_bytes(STICKY_DESTINATIONS, 100),
			 sticky_table_bytes(STICKY_CLIENTS, 100) + 101 * 8);
	sticky_table_put(t);
}

static void the_first_of_two_choices_stands(void **state)
{
	struct sticky_table *t = new_table(100);

	(void)state;
	assert_int_equal(set(t, key("192.0.2.1"), 0, 1, 0), 1);
	assert_int_equal(set(t, key("192.0.2.1"), 0, 2, 0), 1);	 /* the other worker's */
	assert_int_equal(set(t, key("192.0.2.1"), 0, 1, 0), 1);	 /* or the same one */
	assert_int_equal(set(t, key("192.0.2.1"), 1, 3, 0), 3);	 /* which has gone down */
	assert_int_equal(set(t, key("192.0.2.1"), 1, 2, 0), 3);	 /* as the other worker also saw */
	assert_int_equal(look(t, "192.0.2.1", 0), 3);
	sticky_table_put(t);
}

static void an_entry_expires_after_its_last_use(void **state)
{
	struct sticky_table *t = new_table(100);
	const struct sticky_key k = key("192.0.2.1");

	(void)state;
	(void)set(t, k, 0, 5, 0);
	assert_int_equal(sticky_table_use(t, &k, 99, 200), 5);
	assert_int_equal(sticky_table_look(t, &k, 199), 5);
	assert_int_equal(sticky_table_look(t, &k, 200), 0);
	assert_int_equal(sticky_table_used(t), 1);
	assert_int_equal(sticky_table_use(t, &k, 200, 300), 0);
	assert_int_equal(sticky_table_used(t), 0);
	(void)set(t, k, 0, 6, 300);
	assert_int_equal(sticky_table_look(t, &k, 399), 6);
	assert_int_equal(set(t, k, 0, 7, 400), 7); /* nobody has it any more */
	sticky_table_age(t, 499);
	assert_int_equal(sticky_table_used(t), 1);
	sticky_table_age(t, 500);
	assert_int_equal(sticky_table_used(t), 0);
	sticky_table_put(t);
}

static void where_it_is_full_the_one_used_least_recently_leaves(void **state)
{
	struct sticky_table *t = new_table(3);
	const struct sticky_change c = {.to = 9, .now_ns = 10, .expires_ns = FOREVER};
	const struct sticky_key first = key("192.0.2.1"), fourth = key("192.0.2.4");
	bool evicted;

	(void)state;
	(void)set(t, key("192.0.2.1"), 0, 1, 1);
	(void)set(t, key("192.0.2.2"), 0, 2, 2);
	(void)set(t, key("192.0.2.3"), 0, 3, 3);
	assert_int_equal(sticky_table_use(t, &first, 4, 200), 1);
	assert_int_equal(sticky_table_set(t, &fourth, &c, &evicted), 9);
	assert_true(evicted);
	assert_int_equal(sticky_table_used(t), 3);
	assert_int_equal(look(t, "192.0.2.2", 10), 0);
	assert_int_equal(look(t, "192.0.2.1", 10), 1);
	assert_int_equal(look(t, "192.0.2.3", 10), 3);
	/* What has expired makes room without that. */
	assert_int_equal(set(t, key("192.0.2.5"), 0, 5, 150), 5);
	assert_int_equal(look(t, "192.0.2.1", 150), 1);
	assert_int_equal(look(t, "192.0.2.4", 150), 9);
	assert_int_equal(look(t, "192.0.2.5", 150), 5);
	sticky_table_put(t);
}

static void a_large_table_takes_as_many_as_its_size_and_no_more(void **state)
{
	static const uint32_t sizes[] = {1, 2, 1023, 2047, 2048, 5000, 65537, 100000};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const uint32_t size = sizes[i];
		struct sticky_table *t = new_table(size);
		uint32_t right = 0;

		assert_non_null(t);
		assert_int_equal(sticky_table_size(t), size);
		assert_true(sticky_table_bytes(STICKY_CLIENTS, size) >= (size_t)size * 40);
		assert_true(sticky_table_bytes(STICKY_CLIENTS, size) <= 64 * 1024 + (size_t)size * 64);
		for (uint32_t n = 0; n < 2 * size + 10; n++) {
			(void)set(t, nth(n), 0, n + 1, 0);
			assert_true(sticky_table_used(t) <= size);
		}
		assert_int_equal(sticky_table_used(t), size);
		for (uint32_t n = 0; n < 2 * size + 10; n++) {
			const struct sticky_key k = nth(n);
			const uint64_t server = sticky_table_look(t, &k, 0);

			assert_true(server == 0 || server == n + 1);
			right += server != 0;
		}
		assert_int_equal(right, size);
		assert_int_equal(sticky_table_clear(t, NULL), size);
		assert_int_equal(sticky_table_used(t), 0);
		sticky_table_put(t);
	}
}

static void an_administrator_reads_and_clears(void **state)
{
	struct sticky_table *t = new_table(10);
	const struct sticky_key k = key("2001:db8:0:5::7"), other = key("192.0.2.9");
	struct sticky_row rows[10];
	struct addr_brief a;
	uint32_t next = 1;

	(void)state;
	(void)set(t, key("192.0.2.1"), 0, 1, 1);
	(void)set(t, k, 0, 2, 2);
	assert_int_equal(sticky_table_read(t, 0, &next, rows, 10), 2);
	assert_int_equal(next, 0);
	assert_int_equal(rows[0].server, 1);
	assert_int_equal(rows[1].server, 2);
	assert_int_equal(rows[1].expires_ns, 102);
	next = 1;
	assert_int_equal(sticky_table_read(t, 0, &next, rows, 1), 1);
	assert_int_equal(sticky_table_read(t, 0, &next, rows, 1), 1);
	assert_int_equal(next, 0);
	a = sticky_key_addr(&rows[0].key);
	assert_int_equal(a.family, AF_INET6);
	assert_memory_equal(a.ip, "\x20\x01\x0d\xb8\0\0\0\x05\0\0\0\0\0\0\0\0", 16);
	assert_true(sticky_table_find(t, &k, rows));
	assert_int_equal(rows[0].server, 2);
	assert_false(sticky_table_find(t, &other, rows));
	assert_int_equal(sticky_table_clear(t, &other), 0);
	assert_int_equal(sticky_table_clear(t, &k), 1);
	assert_false(sticky_table_find(t, &k, rows));
	assert_int_equal(sticky_table_clear(t, NULL), 1);
	assert_int_equal(sticky_table_used(t), 0);
	sticky_table_put(t);
}

/* To a larger one, to a smaller one, and on from there, while somebody still has the first. */
static void move(struct sticky_table *t, struct sticky_table *to)
{
	sticky_table_begin_move(t, to);
	while (sticky_table_step_move(t))
		continue;
	assert_false(sticky_table_step_move(t));
	assert_ptr_equal(sticky_table_to(t), to);
}

static void a_move_keeps_those_who_were_used_last(void **state)
{
	struct sticky_table *first = new_table(3000);
	struct sticky_table *larger = new_table(100000);
	struct sticky_table *smaller = new_table(10);
	const struct sticky_key oldest = nth(0), newest = nth(1999);

	(void)state;
	for (uint32_t n = 0; n < 2000; n++)
		(void)set(first, nth(n), 0, n + 1, 0);
	const uint32_t had = sticky_table_used(first);

	assert_int_equal(had, 2000);
	move(first, larger);
	assert_int_equal(sticky_table_used(larger), had);
	assert_int_equal(sticky_table_look(larger, &oldest, 0), 1);
	/* Whoever has the first one works with the new one. */
	assert_int_equal(sticky_table_use(first, &oldest, 50, 4000), 1);
	assert_int_equal(set(first, key("192.0.2.1"), 0, 77, 50), 77);
	assert_int_equal(look(larger, "192.0.2.1", 50), 77);
	assert_int_equal(sticky_table_used(larger), had + 1);
	/* Each part has an order of its own; a small table has one part. */
	for (uint32_t n = 1990; n < 2000; n++) {
		const struct sticky_key k = nth(n);

		(void)sticky_table_use(larger, &k, 51, 5000);
	}
	move(larger, smaller);
	assert_int_equal(sticky_table_used(smaller), 10);
	assert_int_equal(set(first, key("192.0.2.2"), 0, 78, 52), 78);
	assert_int_equal(look(smaller, "192.0.2.2", 52), 78);
	assert_int_equal(sticky_table_used(smaller), 10);
	(void)sticky_table_hold(first); /* as a roster does */
	sticky_table_put(larger);
	sticky_table_put(smaller);
	sticky_table_put(first);
	assert_int_equal(sticky_table_look(first, &newest, 5000), 0);
	sticky_table_put(first); /* and what it holds */
}

static void a_move_keeps_the_order(void **state)
{
	struct sticky_table *t = new_table(4), *to = new_table(3);

	(void)state;
	for (uint32_t n = 0; n < 4; n++)
		(void)set(t, nth(n), 0, n + 1, n);
	move(t, to);
	const struct sticky_key a = nth(0), b = nth(1), d = nth(3);

	assert_int_equal(sticky_table_look(to, &a, 4), 0);
	assert_int_equal(sticky_table_look(to, &b, 4), 2);
	(void)set(to, nth(9), 0, 10, 4);
	assert_int_equal(sticky_table_look(to, &b, 4), 0);
	assert_int_equal(sticky_table_look(to, &d, 4), 4);
	sticky_table_put(t);
	sticky_table_put(to);
}

#define HOSTS 3000u

/* All of one network. */
static struct sticky_key host(uint32_t n)
{
	const struct addr_brief a = {.family = AF_INET6,
				     .ip = {0x20, 1, 0xd, 0xb8, [13] = (uint8_t)(n >> 16),
					    [14] = (uint8_t)(n >> 8), [15] = (uint8_t)n}};
	struct sticky_key k;

	assert_true(sticky_key_of(STICKY_DESTINATIONS, &a, &k));
	return k;
}

static void a_move_keeps_whole_addresses(void **state)
{
	struct sticky_table *t = sticky_table_new(STICKY_DESTINATIONS, 2 * HOSTS);
	struct sticky_table *to = sticky_table_new(STICKY_DESTINATIONS, 4 * HOSTS);

	(void)state;
	assert_true(sticky_table_parts(t) > 1);
	for (uint32_t n = 0; n < HOSTS; n++)
		(void)set(t, host(n), 0, n + 1, 0);
	move(t, to);
	for (uint32_t n = 0; n < HOSTS; n++) {
		const struct sticky_key k = host(n);
		struct sticky_row row;

		assert_int_equal(sticky_table_look(to, &k, 0), n + 1);
		assert_true(sticky_table_find(to, &k, &row));
		assert_true(row.key.host == k.host);
	}
	assert_int_equal(sticky_table_used(to), HOSTS);
	sticky_table_put(t);
	sticky_table_put(to);
}

/* ---- large tables: when a client was used last is when its entry expires ---- */

#define MANY 100000u

/* A third of the clients come once more, the last ones first. Returns the time of the last use. */
static int64_t fill(struct sticky_table *t, uint32_t clients)
{
	int64_t now = 0;

	for (uint32_t n = 0; n < clients; n++) {
		const struct sticky_key k = nth(n);
		const struct sticky_change c = {.to = n + 1, .expires_ns = ++now};
		bool evicted;

		(void)sticky_table_set(t, &k, &c, &evicted);
	}
	for (uint32_t n = clients / 3 * 3; n > 0; n -= 3) {
		const struct sticky_key k = nth(n - 1);

		(void)sticky_table_use(t, &k, 0, ++now);
	}
	return now;
}

static int by_use(const void *a, const void *b)
{
	const struct sticky_row *x = a, *y = b;

	return (x->expires_ns > y->expires_ns) - (x->expires_ns < y->expires_ns);
}

/* All entries in the order of their last use; the caller frees them. */
static struct sticky_row *rows_of(struct sticky_table *t, size_t *count)
{
	struct sticky_row *rows = calloc(sticky_table_used(t) + 1, sizeof(*rows));

	assert_non_null(rows);
	*count = 0;
	for (unsigned part = 0; part < sticky_table_parts(t); part++)
		for (uint32_t next = 1; next != 0;)
			*count += sticky_table_read(t, part, &next, rows + *count, 256);
	assert_int_equal(*count, sticky_table_used(t));
	qsort(rows, *count, sizeof(*rows), by_use);
	return rows;
}

static void of_many_a_smaller_table_keeps_those_used_last(void **state)
{
	struct sticky_table *t = new_table(MANY), *to = new_table(MANY / 10);
	const int64_t now = fill(t, MANY);
	struct sticky_row *before, *had, *has;
	int64_t oldest_left[64];
	size_t before_count, had_count, has_count, missing = 0;

	(void)state;
	before = rows_of(t, &before_count);
	move(t, to);
	had = rows_of(to, &had_count);
	assert_int_equal(had_count, MANY / 10);
	/* By chance a part may be full before the others: not by so much. */
	for (uint32_t i = 1; i <= MANY / 10 * 8 / 10; i++)
		missing += !sticky_table_find(to, &before[before_count - i].key, &(struct sticky_row){0});
	assert_int_equal(missing, 0);
	/* Those that are left out do not come back by the old table. */
	assert_int_equal(sticky_table_use(t, &before[0].key, 0, FOREVER), 0);
	assert_int_equal(sticky_table_look(t, &before[before_count / 2].key, 0), 0);
	assert_int_equal(sticky_table_used(to), had_count);
	for (uint32_t n = 0; n < 2000; n++) {
		const struct sticky_key k = nth(MANY + n);
		const struct sticky_change c = {.to = 1, .expires_ns = now + 1 + n};
		bool evicted;

		(void)sticky_table_set(to, &k, &c, &evicted);
		assert_true(evicted);
	}
	has = rows_of(to, &has_count);
	assert_int_equal(has_count, had_count);
	for (size_t i = has_count; i > 0; i--)
		oldest_left[has[i - 1].part] = has[i - 1].expires_ns;
	for (size_t i = 0; i < had_count; i++)
		if (!sticky_table_find(to, &had[i].key, &(struct sticky_row){0}))
			assert_true(had[i].expires_ns < oldest_left[had[i].part]);
	free(before);
	free(had);
	free(has);
	sticky_table_put(t);
	sticky_table_put(to);
}

/* Neighbours would be in a few parts with some seeds, and each table has its own. */
static void until_a_table_is_nearly_full_everybody_has_a_place(void **state)
{
	(void)state;
	for (int i = 0; i < 500; i++) {
		struct sticky_table *t = new_table(4096);

		for (uint32_t n = 0; n < 3328; n++) {
			const struct sticky_key k = nth(n);
			const struct sticky_change c = {.to = n + 1, .expires_ns = FOREVER};
			bool evicted;

			(void)sticky_table_set(t, &k, &c, &evicted);
			assert_false(evicted);
		}
		sticky_table_put(t);
	}
}

/* The second half of those in `before` are used: they move out of their turn. */
static void use_half(struct sticky_table *t, const struct sticky_row *before, size_t count, int64_t now)
{
	for (size_t i = count / 2; i < count; i++)
		assert_int_not_equal(sticky_table_use(t, &before[i].key, 0, now + (int64_t)i), 0);
}

static void during_a_move_both_are_one_table(void **state)
{
	const uint32_t size = MANY / 4;
	struct sticky_table *t = new_table(size), *to = new_table(2 * size);
	const int64_t now = fill(t, size / 2);
	struct sticky_row *before, *rows;
	size_t count, steps = 0, mixed = 0;

	(void)state;
	before = rows_of(t, &count);
	assert_int_equal(count, size / 2);
	sticky_table_begin_move(t, to);
	do {
		const bool is_mixed = sticky_table_used(to) > 0 && sticky_table_used(to) < count;

		assert_int_equal(sticky_table_size(t), 2 * size);
		assert_int_equal(sticky_table_used(t), count);
		mixed += is_mixed;
		if (++steps % 4 != 0 && !is_mixed)
			continue;
		rows = rows_of(t, &count);
		assert_int_equal(count, size / 2);
		free(rows);
		use_half(t, before, 100, now);
	} while (sticky_table_step_move(t));
	/* Two dozen for most seeds of the hash; few for one that puts clients that follow each other into one
	 * part, as then whole batches are moved. */
	assert_true(mixed > 0);
	assert_int_equal(sticky_table_used(to), count);
	free(before);
	sticky_table_put(t);
	sticky_table_put(to);
}

/* Before its memory is there, before it begins, early, and late. */
static void a_table_that_moves_can_be_cleared_and_given_up(void **state)
{
	static const unsigned steps[] = {0, 20, 0, 0};
	static const uint32_t moved[] = {0, 0, 1, MANY / 16};
	const uint32_t size = MANY / 4;

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct sticky_table *t = new_table(size), *to = new_table(2 * size);
		const struct sticky_key a = nth(1);

		(void)fill(t, size / 2);
		sticky_table_begin_move(t, to);
		for (unsigned n = 0; n < steps[i]; n++)
			assert_true(sticky_table_step_move(t));
		while (sticky_table_used(to) < moved[i])
			assert_true(sticky_table_step_move(t));
		assert_int_equal(sticky_table_clear(t, &a), 1);
		assert_int_equal(sticky_table_clear(t, NULL), size / 2 - 1);
		assert_int_equal(sticky_table_used(t), 0);
		assert_int_equal(sticky_table_clear(t, NULL), 0);
		for (uint32_t n = 0; n < 1000; n++) {
			const struct sticky_key k = nth(n);

			assert_int_equal(sticky_table_look(t, &k, 0), 0);
			assert_int_equal(set(t, k, 0, 7 + n, 0), 7 + n);
		}
		sticky_table_put(to);
		if (i % 2 == 0)
			while (sticky_table_step_move(t))
				continue;
		assert_int_equal(sticky_table_used(t), 1000);
		assert_int_equal(sticky_table_look(t, &a, 0), 8);
		sticky_table_put(t);
	}
}

static void of_many_a_larger_table_keeps_the_order(void **state)
{
	struct sticky_table *t = new_table(MANY), *to = new_table(2 * MANY);
	const int64_t now = fill(t, MANY / 2);
	struct sticky_row *rows;
	size_t count, gone = 0;

	(void)state;
	move(t, to);
	rows = rows_of(to, &count);
	assert_int_equal(count, MANY / 2);
	for (int64_t at = 0; at < now; at += now / 20) {
		sticky_table_age(to, at);
		while (gone < count && rows[gone].expires_ns <= at)
			gone++;
		assert_int_equal(sticky_table_used(to), count - gone);
	}
	free(rows);
	sticky_table_put(t);
	sticky_table_put(to);
}

/* Each scrape ages every table; after a quiet night all of a large one has expired. */
static void of_many_that_have_expired_a_call_removes_some(void **state)
{
	struct sticky_table *t = new_table(5 * MANY);
	const unsigned parts = sticky_table_parts(t);
	const int64_t now = fill(t, 4 * MANY);
	uint32_t calls = 0;

	(void)state;
	assert_int_equal(sticky_table_used(t), 4 * MANY);
	do {
		const uint32_t before = sticky_table_used(t);

		sticky_table_age(t, now);
		assert_true(sticky_table_used(t) < before);
		assert_true(before - sticky_table_used(t) <= STICKY_AGED_MAX * parts);
		calls++;
	} while (sticky_table_used(t) > 0);
	assert_int_equal(calls, 4 * MANY / parts / STICKY_AGED_MAX + 1);
	sticky_table_put(t);
}

/* ---- threads ---- */

#define THREADS 4
#define TURNS	200000
#define CLIENTS 64

struct shared {
	struct sticky_table *table;
	pthread_barrier_t start;
	_Atomic uint64_t first[CLIENTS]; /* what the table said first of this client; 0 = nothing yet */
};

/* Each client has one server for ever, whoever chose it. */
static void *choose(void *arg)
{
	struct shared *s = arg;
	uint64_t random = (uint64_t)(uintptr_t)&random | 1;

	(void)pthread_barrier_wait(&s->start); /* which thread is told to be the last does not matter */
	for (int i = 0; i < TURNS; i++) {
		uint64_t server, before = 0;
		struct sticky_key k;
		uint32_t client;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		client = (uint32_t)(random >> 32) % CLIENTS;
		k = nth(client);
		server = sticky_table_use(s->table, &k, i, FOREVER);
		if (server == 0) {
			const struct sticky_change c = {.to = (random & 0xff) + 1, .expires_ns = FOREVER};
			bool evicted;

			server = sticky_table_set(s->table, &k, &c, &evicted);
		}
		if (!atomic_compare_exchange_strong(&s->first[client], &before, server) && before != server)
			return (void *)"a client has two servers";
	}
	return NULL;
}

static void a_client_has_one_server_under_threads_and_moves(void **state)
{
	struct sticky_table *tables[8];
	struct shared s = {.table = new_table(4096)};
	pthread_t t[THREADS];
	void *error;

	(void)state;
	assert_int_equal(pthread_barrier_init(&s.start, NULL, THREADS), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, choose, &s), 0);
	tables[0] = s.table;
	for (uint32_t i = 1; i < 8; i++) {
		tables[i] = new_table(i % 2 == 0 ? 100000 : 128);
		move(tables[i - 1], tables[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(t[i], &error), 0);
		if (error != NULL)
			fail_msg("%s", (const char *)error);
	}
	assert_int_equal(sticky_table_used(tables[7]), CLIENTS);
	for (uint32_t i = 0; i < 8; i++)
		sticky_table_put(tables[i]);
	pthread_barrier_destroy(&s.start);
}

#define CROWD_TABLES 6

struct crowd {
	struct sticky_table *table;
	uint32_t clients;
	bool may_leave; /* there are more clients than some table takes */
	atomic_bool ends;
	atomic_uint rounds;
};

/* A client has its server all the time, or none. */
static void *come_back(void *arg)
{
	struct crowd *w = arg;

	do {
		for (uint32_t n = 0; n < w->clients; n++) {
			const struct sticky_key k = nth(n);
			const uint64_t server = n % 5 == 0 ? sticky_table_use(w->table, &k, 0, FOREVER)
							   : sticky_table_look(w->table, &k, 0);

			if (server != n + 1 && !(w->may_leave && server == 0))
				return (void *)"a client has lost its server";
		}
		atomic_fetch_add(&w->rounds, 1);
	} while (!atomic_load(&w->ends));
	return NULL;
}

/* Through tables of these sizes, of which the last one remains. */
static void move_a_crowd(struct crowd *w, const uint32_t *sizes, size_t count)
{
	struct sticky_table *tables[CROWD_TABLES] = {new_table(sizes[0])};
	pthread_t t[THREADS];
	void *error;

	assert_true(count <= CROWD_TABLES);
	w->table = tables[0];
	(void)fill(w->table, w->clients);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, come_back, w), 0);
	while (atomic_load(&w->rounds) == 0)
		(void)sched_yield();
	for (size_t i = 1; i < count; i++) {
		tables[i] = new_table(sizes[i]);
		assert_non_null(tables[i]);
		move(tables[i - 1], tables[i]);
	}
	atomic_store(&w->ends, true);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(t[i], &error), 0);
		if (error != NULL)
			fail_msg("%s", (const char *)error);
	}
	assert_true(sticky_table_used(tables[count - 1]) <= sizes[count - 1]);
	if (!w->may_leave)
		assert_int_equal(sticky_table_used(tables[count - 1]), w->clients);
	for (size_t i = 0; i < count; i++)
		sticky_table_put(tables[i]);
}

static void who_comes_while_the_table_moves_is_known(void **state)
{
	static const uint32_t sizes[] = {60000, 200000, 40000, 2000000, 50000, 100000};
	struct crowd w = {.clients = 20000};

	(void)state;
	move_a_crowd(&w, sizes, sizeof(sizes) / sizeof(sizes[0]));
}

static void who_comes_while_a_smaller_table_fills_up_takes_a_place(void **state)
{
	static const uint32_t sizes[] = {60000, 19000, 60000, 15000, 3000, 100};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct crowd w = {.clients = 20000, .may_leave = true};

		move_a_crowd(&w, sizes, sizeof(sizes) / sizeof(sizes[0]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_client_is_an_ipv4_address_or_a_network_of_ipv6),
		cmocka_unit_test(a_destination_is_a_whole_address),
		cmocka_unit_test(the_first_of_two_choices_stands),
		cmocka_unit_test(an_entry_expires_after_its_last_use),
		cmocka_unit_test(where_it_is_full_the_one_used_least_recently_leaves),
		cmocka_unit_test(a_large_table_takes_as_many_as_its_size_and_no_more),
		cmocka_unit_test(an_administrator_reads_and_clears),
		cmocka_unit_test(a_move_keeps_those_who_were_used_last),
		cmocka_unit_test(a_move_keeps_the_order),
		cmocka_unit_test(a_move_keeps_whole_addresses),
		cmocka_unit_test(until_a_table_is_nearly_full_everybody_has_a_place),
		cmocka_unit_test(of_many_a_smaller_table_keeps_those_used_last),
		cmocka_unit_test(during_a_move_both_are_one_table),
		cmocka_unit_test(a_table_that_moves_can_be_cleared_and_given_up),
		cmocka_unit_test(of_many_a_larger_table_keeps_the_order),
		cmocka_unit_test(of_many_that_have_expired_a_call_removes_some),
		cmocka_unit_test(a_client_has_one_server_under_threads_and_moves),
		cmocka_unit_test(who_comes_while_the_table_moves_is_known),
		cmocka_unit_test(who_comes_while_a_smaller_table_fills_up_takes_a_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
