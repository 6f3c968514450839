/* SPDX-License-Identifier: MIT
 *
 * test_probe_gate.c - as many handshakes as there may be, and the rest in order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "health/probe_gate.h"

#define CROWD (3 * PROBE_GATE_MAX)

static struct probe_pass *granted[CROWD];
static size_t grants;

static void on_granted(struct probe_pass *p)
{
	assert_true(p->inside);
	granted[grants++] = p;
}

static void crowd(struct probe_gate *g, struct probe_pass passes[CROWD])
{
	grants = 0;
	probe_gate_init(g);
	for (size_t i = 0; i < CROWD; i++) {
		probe_pass_init(&passes[i], on_granted);
		assert_int_equal(probe_gate_enter(g, &passes[i]), i < PROBE_GATE_MAX);
	}
	assert_int_equal(g->inside, PROBE_GATE_MAX);
	assert_int_equal(grants, 0);
}

static void whoever_waits_goes_in_by_order(void **state)
{
	struct probe_gate g;
	struct probe_pass passes[CROWD];

	(void)state;
	crowd(&g, passes);
	for (size_t i = 0; i < CROWD; i++)
		probe_gate_leave(&g, &passes[i]);
	assert_int_equal(grants, CROWD - PROBE_GATE_MAX);
	for (size_t i = 0; i < grants; i++)
		assert_ptr_equal(granted[i], &passes[PROBE_GATE_MAX + i]);
	assert_int_equal(g.inside, 0);
	assert_true(list_empty(&g.waiting));
}

static void whoever_gives_up_takes_no_place(void **state)
{
	struct probe_gate g;
	struct probe_pass passes[CROWD];

	(void)state;
	crowd(&g, passes);
	for (size_t i = PROBE_GATE_MAX; i < CROWD - 1; i++)
		probe_gate_leave(&g, &passes[i]);
	assert_int_equal(grants, 0);
	probe_gate_leave(&g, &passes[3]);
	assert_int_equal(grants, 1);
	assert_ptr_equal(granted[0], &passes[CROWD - 1]);
	/* Twice is harmless, and gives no second place. */
	probe_gate_leave(&g, &passes[3]);
	assert_int_equal(g.inside, PROBE_GATE_MAX);
	assert_false(probe_gate_enter(&g, &passes[3]));
	probe_gate_leave(&g, &passes[0]);
	assert_ptr_equal(granted[1], &passes[3]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whoever_waits_goes_in_by_order),
		cmocka_unit_test(whoever_gives_up_takes_no_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
