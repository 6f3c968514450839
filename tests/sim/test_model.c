/* SPDX-License-Identifier: MIT
 *
 * test_model.c - the facts of facts.h, asked of the modelled kernel.
 *
 * Owns the model for one test each; all is delivered at once and no fault fires. One thread. Tests.
 */
#include "facts.h"
#include "model.h"
#include "stream.h"

static int fd_of(struct msock *s)
{
	const int fd = mfile_open(FILE_SOCK);

	model.files[fd].sock = s;
	s->fd = fd;
	s->state = SOCK_OPEN;
	return fd;
}

static void port_pair(bool tcp, bool oobinline, int fds[2])
{
	struct msock *a = msock_new(tcp);
	struct msock *b = msock_new(tcp);

	msock_pair(a, b);
	a->oobinline = oobinline;
	b->oobinline = oobinline;
	fds[0] = fd_of(a);
	fds[1] = fd_of(b);
}

static void port_urgent(int fd)
{
	struct msock *s = mfile_sock(fd);

	assert_int_equal(msock_send_room(s, 1), 1);
	msock_sent(s, 1, true);
}

static void port_settle(void)
{
}

static void port_small_queue(int from, int to)
{
	(void)from; /* its queue is small enough */
	mfile_sock(to)->rcvbuf = 8192;
}

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
