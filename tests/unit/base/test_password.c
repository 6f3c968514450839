/* SPDX-License-Identifier: MIT
 *
 * test_password.c - which hashes of passwords are accepted, and which password fits each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/base/password.h"

#define BCRYPT "$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
#define SHA256 "$5$rounds=1000$saltsalt$eKLZU9t9OoPWrqOQsoTIKG0aYkZ5rGOoOQhiIvoSWX2"
#define SHA512                                                                                               \
	"$6$saltsalt$TVLlQcbpFVof5W3Yz4DTP6gRstiNuHwwTt6GLc1E5n0U0aDehy0S5knV8wiOQSpT0Y77vwPZN.Pq.H91p5hVO1"
#define YESCRYPT "$y$j75$abcdefghijklmnop$vZlXu1XtxOBWRxjOpQqONp1WYfMO0dN.H4xeSMU2ZvC"

static const char *const accepted[] = {BCRYPT, SHA256, SHA512, YESCRYPT};

static void each_kind_takes_its_password_and_no_other(void **state)
{
	(void)state;
	if (!password_is_built() || !password_knows_yescrypt())
		skip();
	for (size_t i = 0; i < ARRAY_LEN(accepted); i++) {
		bool failed = true;

		assert_null(password_refusal(accepted[i]));
		assert_true(password_is_right(accepted[i], "secret", &failed));
		assert_false(failed);
		assert_false(password_is_right(accepted[i], "secret ", &failed));
		assert_false(password_is_right(accepted[i], "", &failed));
		assert_false(failed);
	}
}

/* Cut at each byte, or with one more. */
static void no_part_of_a_hash_is_accepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(accepted); i++) {
		char text[PASSWORD_HASH_MAX + 2];

		for (size_t len = 0; len < strlen(accepted[i]); len++) {
			(void)snprintf(text, sizeof(text), "%.*s", (int)len, accepted[i]);
			assert_non_null(password_refusal(text));
		}
		(void)snprintf(text, sizeof(text), "%s.", accepted[i]);
		assert_non_null(password_refusal(text));
	}
}

static void a_hash_that_is_made_is_accepted_and_has_its_own_salt(void **state)
{
	char one[PASSWORD_HASH_MAX], two[PASSWORD_HASH_MAX], longest[74];
	bool failed = true;

	(void)state;
	memset(longest, 'x', sizeof(longest));
	longest[73] = '\0';
	assert_false(password_make(longest, one));
	assert_string_equal(one, "");
	if (!password_is_built())
		skip();
	assert_true(password_make("secret", one));
	assert_true(password_make("secret", two));
	assert_string_not_equal(one, two);
	assert_null(password_refusal(one));
	assert_true(password_is_right(one, "secret", &failed));
	assert_false(failed);
	assert_false(password_is_right(one, "other", &failed));
}

static void weak_and_slow_kinds_are_refused(void **state)
{
	static const char *const refused[] = {
		"$2y$13$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW",
		"$2y$03$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW",
		"$2a$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW",
		"$5$rounds=100001$saltsalt$eKLZU9t9OoPWrqOQsoTIKG0aYkZ5rGOoOQhiIvoSWX2",
		"$5$rounds=999$saltsalt$eKLZU9t9OoPWrqOQsoTIKG0aYkZ5rGOoOQhiIvoSWX2",
		"$5$rounds=-1$saltsalt$eKLZU9t9OoPWrqOQsoTIKG0aYkZ5rGOoOQhiIvoSWX2",
		"$5$rounds=99999999999999999999$saltsalt$eKLZU9t9OoPWrqOQsoTIKG0aYkZ5rGOoOQhiIvoSWX2",
		"$y$jCT$abcdefghijklmnop$vZlXu1XtxOBWRxjOpQqONp1WYfMO0dN.H4xeSMU2ZvC",
		"$y$j9TT$abcdefghijklmnop$vZlXu1XtxOBWRxjOpQqONp1WYfMO0dN.H4xeSMU2ZvC",
		"$1$saltsalt$2vnaRpHa6Jxjz5n83ok8Z0", "$apr1$saltsalt$2vnaRpHa6Jxjz5n83ok8Z0",
		"{SHA}VBPuJHI7uixaa6LQGWx4s+5GKNE=", "secret", "*", "",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		assert_non_null(password_refusal(refused[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_takes_its_password_and_no_other),
		cmocka_unit_test(no_part_of_a_hash_is_accepted),
		cmocka_unit_test(a_hash_that_is_made_is_accepted_and_has_its_own_salt),
		cmocka_unit_test(weak_and_slow_kinds_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
