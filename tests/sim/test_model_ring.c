/* SPDX-License-Identifier: MIT
 *
 * test_model_ring.c - the facts of facts_ring.h, asked of the modelled io_uring.
 *
 * Owns the model for one test each. One thread. Tests only.
 */
#include "facts_ring.h"

#include "facts_model.h"

static void port_long_sleep(void)
{
	model.sleep_max_ns = INT64_MAX;
}

static bool port_urgent_ahead(int fd)
{
	struct msock *to = mfile_sock(fd)->peer;

	to->urg_valid = true;
	to->urg_seq = to->rx_total + 1000;
	mfile_wake(to->fd, EPOLLIN | EPOLLPRI);
	return true;
}

static unsigned port_threads(void)
{
	return 1; /* it fails when it would need another */
}

static int setup(void **state)
{
	model_reset(1);
	return ring_setup(state);
}

static int teardown(void **state)
{
	const int err = ring_teardown(state);

	assert_int_equal(model.open_fds, 0);
	return err;
}

int main(void)
{
	const struct CMUnitTest tests[] = {RING_FACTS_TESTS};

	stream_init();
	return cmocka_run_group_tests_name("ring of the model", tests, NULL, NULL);
}
