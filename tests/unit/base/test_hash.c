/* SPDX-License-Identifier: MIT
 *
 * test_hash.c - the hashes against published vectors: a changed hash would move every client.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/hash.h"

static void strings_have_the_published_hashes(void **state)
{
	static const struct {
		const char *text;
		uint64_t seed;
		uint64_t hash;
	} vectors[] = {
		{"", 0, UINT64_C(0xef46db3751d8e999)},
		{"", 2654435761u, UINT64_C(0xac75fda2929b17ef)},
		{"a", 0, UINT64_C(0xd24ec4f1a98c6e5b)},
		{"abc", 0, UINT64_C(0x44bc2cf5ad770999)},
		{"xxhash", 0, UINT64_C(0x32dd38952c4bc720)},
		{"xxhash", 20141025, UINT64_C(0xb559b98d844e0635)},
		{"Nobody inspects the spammish repetition", 0, UINT64_C(0xfbcea83c8a378bf1)},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
		assert_true(hash_bytes(vectors[i].text, strlen(vectors[i].text), vectors[i].seed) ==
			    vectors[i].hash);
}

/* The sanity buffer of the reference implementation: the top bytes of a sequence of products. */
static void sanity_buffer_has_the_published_hashes(void **state)
{
	static const struct {
		size_t len;
		uint64_t hash;        /* seed 0 */
		uint64_t hash_seeded; /* seed 2654435761 */
	} vectors[] = {
		{1, UINT64_C(0xe934a84adb052768), UINT64_C(0x5014607643a9b4c3)},
		{4, UINT64_C(0x9136a0dca57457ee), UINT64_C(0xcaab286bd8e9fdb5)},
		{14, UINT64_C(0x8282dcc4994e35c8), UINT64_C(0xc3bd6bf63deb6df0)},
		{222, UINT64_C(0xb641ae8cb691c174), UINT64_C(0x20cb8ab7ae10c14a)},
	};
	uint8_t buffer[222];
	uint64_t product = 2654435761u;

	(void)state;
	for (size_t i = 0; i < sizeof(buffer); i++) {
		buffer[i] = (uint8_t)(product >> 56);
		product *= UINT64_C(11400714785074694797);
	}
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		assert_true(hash_bytes(buffer, vectors[i].len, 0) == vectors[i].hash);
		assert_true(hash_bytes(buffer, vectors[i].len, 2654435761u) == vectors[i].hash_seeded);
	}
}

/* The first numbers of splitmix64.c with the seed 1234567. */
static void sequence_is_that_of_splitmix64(void **state)
{
	static const uint64_t expected[] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
					    UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
					    UINT64_C(16408922859458223821)};

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		assert_true(hash_nth(1234567, i) == expected[i]);
}

static void order_changes_a_sum(void **state)
{
	(void)state;
	assert_true(hash_add(hash_add(0, 1), 2) != hash_add(hash_add(0, 2), 1));
	assert_true(hash_add(hash_add(0, 1), 1) != hash_add(hash_add(0, 2), 2));
	assert_true(hash_add(0, 0) != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_have_the_published_hashes),
		cmocka_unit_test(sanity_buffer_has_the_published_hashes),
		cmocka_unit_test(sequence_is_that_of_splitmix64),
		cmocka_unit_test(order_changes_a_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
