/* SPDX-License-Identifier: MIT
 *
 * test_model.c - the facts of facts.h, asked of the modelled kernel.
 *
 * Owns the model for one test each; all is delivered at once and no fault fires. One thread. Tests.
 */
#include "facts.h"
#include "facts_model.h"

static int setup(void **state)
{
	(void)state; /* the model is global */
	model_reset(1);
	return 0;
}

static int teardown(void **state)
{
	(void)state; /* as above */
	assert_int_equal(model.open_fds, 0);
	return 0;
}

int main(void)
{
	struct CMUnitTest tests[] = {FACTS_TESTS};

	stream_init();
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		tests[i].setup_func = setup;
		tests[i].teardown_func = teardown;
	}
	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
