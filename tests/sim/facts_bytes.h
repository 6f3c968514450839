/* SPDX-License-Identifier: MIT
 *
 * facts_bytes.h - urgent marks, resets and limits of hops, as tests for both kernels.
 *
 * A part of facts.h, which includes it and says the rest. One thread. Tests only.
 */
#ifndef SIM_FACTS_BYTES_H
#define SIM_FACTS_BYTES_H

/* ---- urgent ---- */

static void splice_at_mark_says_eagain_for_ever(void **state)
{
	int s[2], p[2];

	(void)state; /* cmocka's, unused here as in all below */
	port_pair(true, true, s);
	pipe_of_16_slots(p);
	put(s[0], 100);
	put_urgent(s[0]);
	put(s[0], 100);
	assert_int_equal(sys_splice(s[1], p[1], 65536), 100);
	assert_int_equal(sys_splice(s[1], p[1], 65536), -EAGAIN);
	assert_int_equal(sys_splice(s[1], p[1], 65536), -EAGAIN);
	assert_int_equal(get(s[1], 1), 1);
	assert_int_equal(sys_splice(s[1], p[1], 65536), 100);
	pipe_end(p);
	sys_close(s[0]);
	sys_close(s[1]);
}

static void splice_at_mark_with_fin_says_zero(void **state)
{
	int s[2], p[2];

	(void)state;
	port_pair(true, true, s);
	pipe_of_16_slots(p);
	put_urgent(s[0]);
	put(s[0], 50);
	end(s[0]);
	assert_int_equal(sys_splice(s[1], p[1], 65536), 0);
	assert_int_equal(get(s[1], 1), 1);
	assert_int_equal(sys_splice(s[1], p[1], 65536), 50);
	assert_int_equal(sys_splice(s[1], p[1], 65536), 0);
	pipe_end(p);
	sys_close(s[0]);
	sys_close(s[1]);
}

static void splice_at_mark_with_rst_takes_the_error(void **state)
{
	int s[2], p[2];

	(void)state;
	port_pair(true, true, s);
	pipe_of_16_slots(p);
	put_urgent(s[0]);
	put(s[0], 50);
	hard_close(s[0]);
	assert_int_equal(sys_splice(s[1], p[1], 65536), -ECONNRESET);
	assert_int_equal(sys_splice(s[1], p[1], 65536), 0);
	assert_int_equal(get(s[1], 1), 1);
	assert_int_equal(sys_splice(s[1], p[1], 65536), 50);
	pipe_end(p);
	sys_close(s[1]);
}

static void recv_stops_before_mark_and_then_passes_it(void **state)
{
	int s[2];

	(void)state;
	port_pair(true, true, s);
	put(s[0], 100);
	put_urgent(s[0]);
	put(s[0], 100);
	assert_int_equal(get(s[1], 1000), 100);
	assert_int_equal(get(s[1], 1000), 101);
	assert_int_equal(get(s[1], 1000), -EAGAIN);
	sys_close(s[0]);
	sys_close(s[1]);
}

static void recv_drops_the_urgent_byte_without_oobinline(void **state)
{
	int s[2];

	(void)state;
	port_pair(true, false, s);
	put(s[0], 100);
	put_urgent(s[0]);
	put(s[0], 100);
	assert_int_equal(get(s[1], 1000), 100);
	assert_int_equal(get(s[1], 1000), 100);
	assert_int_equal(get(s[1], 1000), -EAGAIN);
	sys_close(s[0]);
	sys_close(s[1]);
}

static void every_event_shows_the_mark_until_it_is_read(void **state)
{
	int s[2];
	int ep;

	(void)state;
	port_pair(true, true, s);
	ep = watch(s[1]);
	assert_int_equal(next_event(ep), EPOLLOUT);
	put(s[0], 10);
	assert_int_equal(next_event(ep), EPOLLOUT | EPOLLIN);
	put_urgent(s[0]);
	assert_int_equal(next_event(ep), EPOLLOUT | EPOLLIN | EPOLLPRI);
	put(s[0], 10);
	assert_int_equal(next_event(ep), EPOLLOUT | EPOLLIN | EPOLLPRI);
	assert_int_equal(get(s[1], 10), 10);
	put(s[0], 10);
	assert_int_equal(next_event(ep), EPOLLOUT | EPOLLIN | EPOLLPRI);
	assert_int_equal(get(s[1], 100), 21);
	put(s[0], 10);
	assert_int_equal(next_event(ep), EPOLLOUT | EPOLLIN);
	sys_close(ep);
	sys_close(s[0]);
	sys_close(s[1]);
}

static void unix_splice_passes_the_mark(void **state)
{
	int s[2], p[2];
	ssize_t n;
	size_t sum = 0;

	(void)state;
	port_pair(false, true, s);
	pipe_of_16_slots(p);
	put(s[0], 10);
	put_urgent(s[0]);
	put(s[0], 10);
	while ((n = sys_splice(s[1], p[1], 65536)) > 0)
		sum += (size_t)n;
	assert_int_equal(n, -EAGAIN);
	assert_int_equal(sum, 21);
	pipe_end(p);
	sys_close(s[0]);
	sys_close(s[1]);
}

static void unix_recv_meets_the_mark_with_oobinline_only(void **state)
{
	int s[2];
	size_t sum;
	ssize_t n;

	(void)state;
	for (int inl = 0; inl < 2; inl++) {
		port_pair(false, inl == 1, s);
		put(s[0], 10);
		put_urgent(s[0]);
		put(s[0], 10);
		for (sum = 0; (n = get(s[1], 100)) > 0;)
			sum += (size_t)n;
		assert_int_equal(n, -EAGAIN);
		assert_int_equal(sum, inl ? 21 : 20);
		sys_close(s[0]);
		sys_close(s[1]);
	}
}

/* ---- reset ---- */

static void rst_is_told_once_after_the_data(void **state)
{
	int s[2], p[2];

	(void)state;
	for (int by_splice = 0; by_splice < 2; by_splice++) {
		port_pair(true, true, s);
		pipe_of_16_slots(p);
		put(s[0], 3000);
		hard_close(s[0]);
		if (by_splice) {
			assert_int_equal(sys_splice(s[1], p[1], 65536), 3000);
			assert_int_equal(sys_splice(s[1], p[1], 65536), -ECONNRESET);
			assert_int_equal(sys_splice(s[1], p[1], 65536), 0);
		} else {
			assert_int_equal(get(s[1], 65536), 3000);
			assert_int_equal(get(s[1], 65536), -ECONNRESET);
			assert_int_equal(get(s[1], 65536), 0);
		}
		pipe_end(p);
		sys_close(s[1]);
	}
}

static void so_error_takes_the_reset(void **state)
{
	int s[2];
	int value = 0;
	socklen_t len = sizeof(value);

	(void)state;
	port_pair(true, true, s);
	put(s[0], 100);
	hard_close(s[0]);
	assert_int_equal(sys_getsockopt(s[1], SOL_SOCKET, SO_ERROR, &value, &len), 0);
	assert_int_equal(value, ECONNRESET);
	assert_int_equal(get(s[1], 1000), 100);
	assert_int_equal(get(s[1], 1000), 0);
	sys_close(s[1]);
}

static void send_takes_the_reset_and_then_says_epipe(void **state)
{
	int s[2];

	(void)state;
	port_pair(true, true, s);
	put(s[0], 100);
	hard_close(s[0]);
	assert_int_equal(sys_send(s[1], facts_mem, 10), -ECONNRESET);
	assert_int_equal(sys_send(s[1], facts_mem, 10), -EPIPE);
	assert_int_equal(get(s[1], 1000), 100);
	assert_int_equal(get(s[1], 1000), 0);
	sys_close(s[1]);
}

static void rst_raises_all_bits_at_once(void **state)
{
	const uint32_t want = EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLRDHUP;
	int s[2];
	int ep;

	(void)state;
	port_pair(true, true, s);
	ep = watch(s[1]);
	put(s[0], 100);
	assert_int_equal(next_event(ep), EPOLLIN | EPOLLOUT);
	hard_close(s[0]);
	assert_int_equal(next_event(ep), want);
	assert_int_equal(next_event(ep), 0);
	sys_close(ep);
	sys_close(s[1]);
}

static void fin_then_rst_reads_as_end_of_file(void **state)
{
	int s[2];

	(void)state;
	port_pair(true, true, s);
	put(s[0], 10);
	end(s[0]);
	hard_close(s[0]);
	assert_int_equal(get(s[1], 100), 10);
	assert_int_equal(get(s[1], 100), 0);
	assert_int_equal(get(s[1], 100), 0);
	assert_int_equal(sys_send(s[1], facts_mem, 10), -EPIPE);
	sys_close(s[1]);
}

static void close_with_unread_bytes_is_a_reset(void **state)
{
	int s[2];

	(void)state;
	port_pair(true, true, s);
	put(s[0], 10);
	put(s[1], 10);
	sys_close(s[1]);
	port_settle();
	assert_int_equal(get(s[0], 100), 10);
	assert_int_equal(get(s[0], 100), -ECONNRESET);
	sys_close(s[0]);
}

static void bytes_for_a_closed_socket_come_back_as_reset(void **state)
{
	int s[2];

	(void)state;
	port_pair(true, true, s);
	sys_close(s[1]);
	port_settle();
	assert_int_equal(get(s[0], 100), 0);
	assert_int_equal(sys_send(s[0], facts_mem, 10), 10);
	port_settle();
	assert_int_equal(sys_send(s[0], facts_mem, 10), -EPIPE);
	assert_int_equal(get(s[0], 100), 0);
	sys_close(s[0]);
}

static void unix_close_with_unread_bytes_is_told_after_the_data(void **state)
{
	int s[2];

	(void)state;
	for (int unread = 0; unread < 2; unread++) {
		port_pair(false, true, s);
		put(s[0], 10);
		if (unread)
			put(s[1], 10);
		sys_close(s[0]);
		assert_int_equal(sys_send(s[1], facts_mem, 10), -EPIPE);
		assert_int_equal(get(s[1], 100), 10);
		if (unread)
			assert_int_equal(get(s[1], 100), -ECONNRESET);
		assert_int_equal(get(s[1], 100), 0);
		sys_close(s[1]);
	}
}

static void reset_leaves_siocoutq_as_it_was(void **state)
{
	ssize_t n;
	int s[2];

	(void)state;
	port_pair(true, true, s);
	port_small_queue(s[0], s[1]);
	while ((n = sys_send(s[0], facts_mem, 65536)) > 0)
		port_settle();
	assert_true(sys_unacked(s[0]) > 0);
	hard_close(s[1]);
	assert_true(sys_unacked(s[0]) > 0); /* so whoever waits for 0 looks for the error too */
	assert_int_equal(get(s[0], 1), -ECONNRESET);
	sys_close(s[0]);
}

/* ---- a limit of hops ---- */

static void a_limit_of_hops_holds_bytes_back_until_it_is_lifted(void **state)
{
	const int limit = 255, none = 0;
	ssize_t n = -EAGAIN;
	int s[2];

	(void)state;
	port_pair(true, true, s);
	assert_int_equal(sys_setsockopt(s[1], IPPROTO_IP, IP_MINTTL, &limit, sizeof(limit)), 0);
	put(s[0], 100);
	assert_int_equal(get(s[1], 100), -EAGAIN);
	assert_int_equal(sys_unacked(s[0]), 100);
	assert_int_equal(sys_setsockopt(s[1], IPPROTO_IP, IP_MINTTL, &none, sizeof(none)), 0);
	for (int i = 0; i < 5000 && n == -EAGAIN; i++) { /* until the sender tries again */
		port_settle();
		n = get(s[1], 100);
	}
	assert_int_equal(n, 100);
	sys_close(s[0]);
	sys_close(s[1]);
}

#endif
