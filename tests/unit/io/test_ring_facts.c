/* SPDX-License-Identifier: MIT
 *
 * test_ring_facts.c - the facts of tests/sim/facts_ring.h, asked of the kernel that we run on.
 *
 * Owns its ring and sockets for one test each; where no ring can be had, all are skipped and the reason is
 * printed. One thread. Tests only.
 */
#include "../../sim/facts_ring.h"

#include <signal.h>
#include <stdio.h>

#include "facts_linux.h"

static void port_long_sleep(void)
{
	(void)alarm(20); /* the test would hang for ever */
}

static int setup(void **state)
{
	return ring_setup(state);
}

static int teardown(void **state)
{
	return ring_teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {RING_FACTS_TESTS};
	const struct ring_shape shape = {.submissions = 8, .completions = 8, .bufs = 4};
	const int err = ring_open(&ring, &shape);

	(void)signal(SIGPIPE, SIG_IGN); /* R16 */
	if (err) {
		printf("skipped: no io_uring is to be had here: %s\n", strerror(-err));
		return 77;
	}
	ring_close(ring);
	return cmocka_run_group_tests_name("ring facts", tests, NULL, NULL);
}
