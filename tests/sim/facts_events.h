/* SPDX-License-Identifier: MIT
 *
 * facts_events.h - events, pipes and deliver-then-reset, as tests for both kernels.
 *
 * A part of facts.h, which includes it and says the rest. One thread. Tests only.
 */
#ifndef SIM_FACTS_EVENTS_H
#define SIM_FACTS_EVENTS_H

/* ---- events ---- */

static void fin_in_the_same_event_raises_no_second_one(void **state)
{
	int s[2];
	int ep;

	(void)state;
	port_pair(true, true, s);
	ep = watch(s[1]);
	assert_int_equal(next_event(ep), EPOLLOUT);
	put(s[0], 10);
	end(s[0]);
	assert_int_equal(next_event(ep), EPOLLIN | EPOLLOUT | EPOLLRDHUP);
	assert_int_equal(get(s[1], 100), 10);
	assert_int_equal(next_event(ep), 0);
	assert_int_equal(get(s[1], 100), 0);
	sys_close(ep);
	sys_close(s[0]);
	sys_close(s[1]);
}

static void fin_after_the_wait_raises_a_new_event(void **state)
{
	int s[2];
	int ep;

	(void)state;
	port_pair(true, true, s);
	ep = watch(s[1]);
	put(s[0], 10);
	assert_int_equal(next_event(ep), EPOLLIN | EPOLLOUT);
	assert_int_equal(next_event(ep), 0);
	end(s[0]);
	assert_int_equal(next_event(ep), EPOLLIN | EPOLLOUT | EPOLLRDHUP);
	sys_close(ep);
	sys_close(s[0]);
	sys_close(s[1]);
}

static void out_comes_back_only_after_room(void **state)
{
	size_t sent = 0;
	ssize_t n;
	int s[2];
	int ep;

	(void)state;
	for (int tcp = 0; tcp < 2; tcp++) {
		port_pair(tcp == 1, true, s);
		port_small_queue(s[0], s[1]);
		ep = watch(s[0]);
		assert_int_equal(next_event(ep), EPOLLOUT);
		for (sent = 0; (n = sys_send(s[0], facts_mem, 65536)) > 0; port_settle())
			sent += (size_t)n;
		assert_int_equal(n, -EAGAIN);
		assert_int_equal(next_event(ep), 0);
		while (sent > 0) {
			n = get(s[1], 65536);
			if (n > 0)
				sent -= (size_t)n;
			else
				port_settle();
		}
		assert_int_equal(next_event(ep), EPOLLOUT);
		sys_close(ep);
		sys_close(s[0]);
		sys_close(s[1]);
	}
}

static void own_shutdown_is_an_event(void **state)
{
	int s[2];
	int ep;

	(void)state;
	for (int tcp = 0; tcp < 2; tcp++) {
		port_pair(tcp == 1, true, s);
		ep = watch(s[0]);
		assert_int_equal(next_event(ep), EPOLLOUT);
		end(s[0]);
		assert_int_equal(next_event(ep), EPOLLOUT);
		end(s[1]);
		assert_int_equal(next_event(ep), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLHUP);
		sys_close(ep);
		sys_close(s[0]);
		sys_close(s[1]);
	}
}

static void a_socket_before_connect_shows_hup(void **state)
{
	int fd = sys_socket(AF_INET);
	int ep;

	(void)state;
	assert_true(fd >= 0);
	ep = watch(fd);
	assert_int_equal(next_event(ep), EPOLLOUT | EPOLLHUP);
	sys_close(ep);
	sys_close(fd);
}

/* ---- pipes ---- */

static void one_call_takes_a_page_for_each_slot(void **state)
{
	const ssize_t size = 16 * (ssize_t)sys_page_bytes();
	ssize_t sum = 0;
	ssize_t n;
	int s[2], p[2];

	(void)state;
	port_pair(true, true, s);
	pipe_of_16_slots(p);
	for (int i = 0; i < 32; i++) {
		n = sys_send(s[0], facts_mem, 65536);
		assert_true(n > 0);
		port_settle();
		n = sys_splice(s[1], p[1], 1 << 20);
		if (n < 0)
			break;
		assert_true(n <= size);
		sum += n;
	}
	/* A slot takes a fragment of up to 32 KiB: the pipe holds more than its size where a page is less. */
	assert_true(sys_page_bytes() < 32768 ? sum > size : sum == size);
	assert_int_equal(sys_unread(p[0]), sum);
	pipe_end(p);
	sys_close(s[0]);
	sys_close(s[1]);
}

static void small_pieces_fill_a_pipe_by_its_slots(void **state)
{
	int s[2], p[2];

	(void)state;
	port_pair(false, true, s);
	pipe_of_16_slots(p);
	for (int i = 0; i < 20; i++)
		put(s[0], 100);
	assert_int_equal(sys_splice(s[1], p[1], 65536), 1600);
	assert_int_equal(sys_splice(s[1], p[1], 65536), -EAGAIN);
	assert_int_equal(sys_unread(s[1]), 400);
	pipe_end(p);
	sys_close(s[0]);
	sys_close(s[1]);
}

static void a_failed_splice_leaves_the_pipe_alone(void **state)
{
	int s[2], t[2], p[2];

	(void)state;
	port_pair(true, true, s);
	port_pair(true, true, t);
	pipe_of_16_slots(p);
	put(s[0], 1000);
	assert_int_equal(sys_splice(s[1], p[1], 65536), 1000);
	hard_close(t[0]);
	assert_int_equal(sys_splice(p[0], t[1], 1000), -ECONNRESET);
	assert_int_equal(sys_splice(p[0], t[1], 1000), -EPIPE);
	assert_int_equal(sys_unread(p[0]), 1000);
	assert_int_equal(sys_read(p[0], facts_mem, 2000), 1000);
	pipe_end(p);
	sys_close(t[1]);
	sys_close(s[0]);
	sys_close(s[1]);
}

/* ---- deliver, then reset ---- */

static void sndbuf_1_and_mod_tell_when_all_is_acknowledged(void **state)
{
	const int one = 1;
	size_t got = 0;
	size_t sent = 0;
	ssize_t n;
	int s[2];
	int ep;

	(void)state;
	port_pair(true, true, s);
	port_small_queue(s[0], s[1]);
	ep = watch(s[0]);
	(void)next_event(ep); /* the first EPOLLOUT */
	for (; (n = sys_send(s[0], facts_mem, 65536)) > 0; port_settle())
		sent += (size_t)n;
	assert_true(sys_unacked(s[0]) > 2240);
	assert_int_equal(sys_setsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &one, sizeof(one)), 0);
	assert_int_equal(sys_epoll_ctl(ep, EPOLL_CTL_MOD, s[0], EPOLLOUT | EPOLLET, 7), 0);
	assert_int_equal(next_event(ep), 0);
	while (got < sent) {
		n = get(s[1], 4096);
		if (n > 0)
			got += (size_t)n;
		else
			port_settle();
	}
	assert_int_equal(next_event(ep), EPOLLOUT);
	assert_true(sys_unacked(s[0]) <= 2240);
	sys_close(ep);
	hard_close(s[0]);
	assert_int_equal(get(s[1], 10), -ECONNRESET);
	sys_close(s[1]);
}

#endif
