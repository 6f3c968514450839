/* SPDX-License-Identifier: MIT
 *
 * test_settings.c - versions of what a server is: who keeps one, when it is freed, and that it comes back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config_of_servers.h"
#include "live_by_hand.h"
#include "balance/server_change.h"
#include "balance/settings_parts.h"
#include "weir/base/counted.h"

#define DISTINCT 100000u

struct fixture {
	struct config_of_servers c;
	struct backend *b;
	struct server *s;
	struct retire *retire;
	struct chunks counts; /* as a worker has them */
};

static struct addr nth(uint32_t n)
{
	struct addr a;

	memset(&a, 0, sizeof(a));
	a.len = sizeof(a.in);
	a.in.sin_family = AF_INET;
	a.in.sin_port = htons(80);
	a.in.sin_addr.s_addr = htonl(0x0a000000u + n);
	return a;
}

static void start(struct fixture *f)
{
	config_of_servers_init(&f->c, (unsigned[]){1}, 1);
	f->b = backend_by_hand(&f->c.config);
	assert_non_null(f->b);
	f->s = f->b->servers[0];
	f->retire = &f->b->live->retire;
	chunks_init(&f->counts, sizeof(counted_entry));
	assert_int_equal(slot_space_add_table(&f->b->live->versions, &f->counts), 0);
}

static void finish(struct fixture *f)
{
	slot_space_remove_table(&f->b->live->versions, &f->counts);
	chunks_free(&f->counts);
	backend_by_hand_free(f->b);
}

static const struct server_settings *set(struct fixture *f, uint32_t n)
{
	const struct addr a = nth(n);

	assert_int_equal(server_set_addr(f->s, &a), 0);
	assert_memory_equal(&server_addr(f->s)->in, &a.in, sizeof(a.in));
	return server_settings(f->s);
}

static void version_is_freed_once_nobody_uses_it(void **state)
{
	const struct server_settings *one, *two;
	struct fixture f;

	(void)state;
	start(&f);
	one = set(&f, 1);
	counted_take(&f.counts, &one->version.counted);
	two = set(&f, 2);
	assert_ptr_not_equal(one, two);
	retire_go_on(f.retire);
	assert_int_equal(retire_count(f.retire), 1); /* the first address of all is gone */
	assert_true(one->has_addr);
	assert_true(counted_give_back(&f.counts, &one->version.counted)); /* control waits for that */
	retire_go_on(f.retire);
	assert_int_equal(retire_count(f.retire), 0);
	assert_ptr_equal(f.s->versions.next->next, &f.s->versions); /* one is left */
	finish(&f);
}

static void version_in_use_comes_back_without_a_copy(void **state)
{
	const struct server_settings *seen[3];
	struct fixture f;

	(void)state;
	start(&f);
	for (uint32_t i = 0; i < 3; i++) {
		seen[i] = set(&f, i);
		counted_take(&f.counts, &seen[i]->version.counted);
	}
	for (uint32_t i = 0; i < 1000; i++) {
		assert_ptr_equal(set(&f, i % 3), seen[i % 3]);
		if (i % 7 == 0)
			retire_go_on(f.retire);
	}
	for (uint32_t i = 0; i < 3; i++)
		(void)counted_give_back(&f.counts, &seen[i]->version.counted);
	retire_go_on(f.retire);
	assert_int_equal(retire_count(f.retire), 0);
	assert_int_equal(f.b->live->versions.count, 2); /* of the server and of its backend */
	finish(&f);
}

static void addresses_that_differ_in_port_or_family_are_others(void **state)
{
	const struct server_settings *one, *other;
	struct addr a = nth(1);
	struct fixture f;

	(void)state;
	start(&f);
	one = set(&f, 1);
	a.in.sin_port = htons(81);
	assert_int_equal(server_set_addr(f.s, &a), 0);
	other = server_settings(f.s);
	assert_ptr_not_equal(one, other);
	assert_int_equal(addr_port(&one->addr), 80);
	assert_int_equal(addr_port(&other->addr), 81);
	memset(&a, 0, sizeof(a));
	a.len = sizeof(a.in6);
	a.in6.sin6_family = AF_INET6;
	assert_int_equal(server_set_addr(f.s, &a), 0);
	assert_ptr_not_equal(server_settings(f.s), one);
	assert_ptr_not_equal(server_settings(f.s), other);
	assert_int_equal(f.b->live->versions.count, 5); /* with the first, and that of the backend */
	finish(&f);
}

static void the_one_in_effect_is_never_leaving(void **state)
{
	const struct server_settings *one;
	struct fixture f;

	(void)state;
	start(&f);
	one = set(&f, 1);
	counted_take(&f.counts, &one->version.counted);
	(void)set(&f, 2);
	assert_true(atomic_load(&one->version.counted.leaving));
	assert_ptr_equal(set(&f, 1), one);
	assert_false(counted_give_back(&f.counts, &one->version.counted));
	retire_go_on(f.retire);
	assert_ptr_equal(server_settings(f.s), one);
	finish(&f);
}

/* A name server that never gives the same address twice. */
static void hundred_thousand_addresses_leave_nothing_behind(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	for (uint32_t i = 0; i < DISTINCT; i++) {
		(void)set(&f, i);
		retire_go_on(f.retire);
	}
	assert_int_equal(f.b->live->versions.count, 2);
	assert_true(slot_space_peak(&f.b->live->versions) < 8);
	assert_true(server_usable(f.s));
	finish(&f);
}

static void without_counts_versions_stay_as_long_as_the_server(void **state)
{
	const struct server_settings *one;
	struct fixture f;

	(void)state;
	start(&f);
	slot_space_remove_table(&f.b->live->versions, &f.counts);
	one = set(&f, 1);
	(void)set(&f, 2);
	retire_go_on(f.retire);
	assert_true(one->has_addr);
	assert_ptr_equal(set(&f, 1), one);
	finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_is_freed_once_nobody_uses_it),
		cmocka_unit_test(version_in_use_comes_back_without_a_copy),
		cmocka_unit_test(addresses_that_differ_in_port_or_family_are_others),
		cmocka_unit_test(the_one_in_effect_is_never_leaving),
		cmocka_unit_test(hundred_thousand_addresses_leave_nothing_behind),
		cmocka_unit_test(without_counts_versions_stay_as_long_as_the_server),
	};

	log_set_level(LOG_LEVEL_ERROR); /* thousands of changes are no news */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
