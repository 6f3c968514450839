/* SPDX-License-Identifier: MIT
 *
 * test_kernel_facts.c - the facts of tests/sim/facts.h, asked of the kernel that we run on.
 *
 * Owns its sockets for one test each. A kernel that answers differently is a kernel that the
 * drivers' rules and the simulator's model were not made for. One thread. Tests only.
 */
#include "../../sim/facts.h"

#include <signal.h>

#include "facts_linux.h"

int main(void)
{
	const struct CMUnitTest tests[] = {FACTS_TESTS};

	(void)signal(SIGPIPE, SIG_IGN); /* R16 */
	return cmocka_run_group_tests_name("kernel facts", tests, NULL, NULL);
}
