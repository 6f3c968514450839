/* SPDX-License-Identifier: MIT
 *
 * facts.h - what the kernel does, as tests that run against Linux and against the model alike.
 *
 * Included by tests/unit/io/test_kernel_facts.c (Linux) and tests/sim/test_model.c (the model),
 * each of which defines the few functions declared first. So the simulator's kernel is calibrated
 * by the same sentences that the engine is built on. Owns its descriptors for one test each.
 * One thread. Tests only.
 */
#ifndef SIM_FACTS_H
#define SIM_FACTS_H

/* clang-format off */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

#include "weir/sys/sys.h"

/* ---- what each side provides ---- */

/* Two connected sockets; `oobinline` is of both. */
static void port_pair(bool tcp, bool oobinline, int fds[2]);
/* Sends one urgent byte. */
static void port_urgent(int fd);
/* Waits until everything sent has arrived and was acknowledged as far as there is room. */
static void port_settle(void);
/* What `from` can send before `to` reads becomes little. */
static void port_small_queue(int from, int to);

/* ---- helpers ---- */

#define FACTS_MASK (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET)

static uint8_t facts_mem[1 << 20];

static void put(int fd, size_t len)
{
	assert_int_equal(sys_send(fd, facts_mem, len), len);
	port_settle();
}

static void put_urgent(int fd)
{
	port_urgent(fd);
	port_settle();
}

static ssize_t get(int fd, size_t len)
{
	return sys_recv(fd, facts_mem, len, 0);
}

static void hard_close(int fd)
{
	const struct linger hard = {.l_onoff = 1, .l_linger = 0};

	assert_int_equal(sys_setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)), 0);
	sys_close(fd);
	port_settle();
}

static void end(int fd)
{
	assert_int_equal(sys_shutdown(fd, SHUT_WR), 0);
	port_settle();
}

static void pipe_of_16_slots(int fds[2])
{
	assert_int_equal(sys_pipe(fds), 0);
	assert_int_equal(sys_pipe_size(fds[0]), 16 * sys_page_bytes());
}

static void pipe_end(int fds[2])
{
	sys_close(fds[0]);
	sys_close(fds[1]);
}

static int watch(int fd)
{
	const int ep = sys_epoll_create();

	assert_true(ep >= 0);
	assert_int_equal(sys_epoll_ctl(ep, EPOLL_CTL_ADD, fd, FACTS_MASK, 7), 0);
	return ep;
}

/* The bits of the next event, 0 when there is none. */
static uint32_t next_event(int ep)
{
	struct epoll_event ev;

	port_settle();
	return sys_epoll_wait(ep, &ev, 1, 0) == 1 ? ev.events : 0;
}

#include "facts_bytes.h"
#include "facts_events.h"

#define FACTS_TESTS                                                                                        \
	cmocka_unit_test(splice_at_mark_says_eagain_for_ever),                                             \
		cmocka_unit_test(splice_at_mark_with_fin_says_zero),                                       \
		cmocka_unit_test(splice_at_mark_with_rst_takes_the_error),                                 \
		cmocka_unit_test(recv_stops_before_mark_and_then_passes_it),                               \
		cmocka_unit_test(recv_drops_the_urgent_byte_without_oobinline),                            \
		cmocka_unit_test(every_event_shows_the_mark_until_it_is_read),                             \
		cmocka_unit_test(unix_splice_passes_the_mark),                                             \
		cmocka_unit_test(unix_recv_meets_the_mark_with_oobinline_only),                            \
		cmocka_unit_test(rst_is_told_once_after_the_data),                                         \
		cmocka_unit_test(so_error_takes_the_reset),                                                \
		cmocka_unit_test(send_takes_the_reset_and_then_says_epipe),                                \
		cmocka_unit_test(rst_raises_all_bits_at_once),                                             \
		cmocka_unit_test(fin_then_rst_reads_as_end_of_file),                                       \
		cmocka_unit_test(close_with_unread_bytes_is_a_reset),                                      \
		cmocka_unit_test(bytes_for_a_closed_socket_come_back_as_reset),                            \
		cmocka_unit_test(unix_close_with_unread_bytes_is_told_after_the_data),                     \
		cmocka_unit_test(reset_leaves_siocoutq_as_it_was),                                         \
		cmocka_unit_test(fin_in_the_same_event_raises_no_second_one),                              \
		cmocka_unit_test(fin_after_the_wait_raises_a_new_event),                                   \
		cmocka_unit_test(out_comes_back_only_after_room),                                          \
		cmocka_unit_test(own_shutdown_is_an_event),                                         \
		cmocka_unit_test(a_socket_before_connect_shows_hup),                                       \
		cmocka_unit_test(one_call_takes_a_page_for_each_slot),                                     \
		cmocka_unit_test(small_pieces_fill_a_pipe_by_its_slots),                                   \
		cmocka_unit_test(a_failed_splice_leaves_the_pipe_alone),                                   \
		cmocka_unit_test(sndbuf_1_and_mod_tell_when_all_is_acknowledged),                          \
		cmocka_unit_test(a_limit_of_hops_holds_bytes_back_until_it_is_lifted)

#endif
