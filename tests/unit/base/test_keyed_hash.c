/* SPDX-License-Identifier: MIT
 *
 * test_keyed_hash.c - SipHash-2-4: the vectors of its reference implementation; keys.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/base/keyed_hash.h"

/* Key 00 01 .. 0f, input 00 01 .. of these lengths. */
static void hashes_are_those_of_the_reference(void **state)
{
	static const struct vector {
		size_t len;
		uint64_t hash;
	} vectors[] = {
		{0, 0x726fdb47dd0e0e31u}, {1, 0x74f839c593dc67fdu},  {7, 0xab0200f58b01d137u},
		{8, 0x93f5f5799a932462u}, {15, 0xa129ca6149be45e5u},
	};
	static const uint64_t key[2] = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
	uint8_t input[16];

	(void)state;
	for (size_t i = 0; i < sizeof(input); i++)
		input[i] = (uint8_t)i;
	for (size_t i = 0; i < ARRAY_LEN(vectors); i++)
		assert_int_equal(keyed_hash_sip(key, input, vectors[i].len), vectors[i].hash);
}

static void each_key_makes_other_hashes(void **state)
{
	struct keyed_hash_key a, b;

	(void)state;
	keyed_hash_new_key(&a);
	keyed_hash_new_key(&b);
	assert_true(keyed_hash_same(keyed_hash_bytes(&a, "x", 1), keyed_hash_bytes(&a, "x", 1)));
	assert_false(keyed_hash_same(keyed_hash_bytes(&a, "x", 1), keyed_hash_bytes(&b, "x", 1)));
	assert_false(keyed_hash_same(keyed_hash_bytes(&a, "x", 1), keyed_hash_bytes(&a, "y", 1)));
	assert_int_not_equal(keyed_hash_bytes(&a, "x", 1).half[0], keyed_hash_bytes(&a, "x", 1).half[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hashes_are_those_of_the_reference),
		cmocka_unit_test(each_key_makes_other_hashes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
