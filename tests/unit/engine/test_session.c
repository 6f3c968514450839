/* SPDX-License-Identifier: MIT
 *
 * test_session.c - the size and the memory of sessions, and the table of close reasons.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/sys/sys.h"
#include "engine/session.h"
#include "engine/session_slab.h"

static void an_idle_session_costs_at_most_512_bytes(void **state)
{
	(void)state;
	assert_true(sizeof(struct session) + sizeof(struct timer_entry) <= 512);
}

static void every_close_reason_has_words_and_known_letters(void **state)
{
	int i;
	int k;

	(void)state;
	for (i = 0; i < CLOSE_REASONS; i++) {
		const struct close_reason_row *row = close_reason_row((enum close_reason)i);

		assert_true(strlen(row->words) > 3);
		assert_int_equal(strspn(row->name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"),
				 strlen(row->name));
		assert_non_null(strchr("CSPLRIDUKcs-", row->letter1));
		assert_true(row->letter2 == 0 || strchr("RQCHDLT-", row->letter2) != NULL);
		for (k = 0; k < i; k++)
			assert_string_not_equal(row->words,
						close_reason_row((enum close_reason)k)->words);
	}
}

/* Who ended it as he may: both sides, a client that no longer wants an answer, the administrator or his
 * max-lifetime. All else is an error. */
static void an_end_that_was_asked_for_is_no_error(void **state)
{
	static const enum close_reason asked_for[] = {CLOSE_NORMAL, CLOSE_CLIENT_GONE, CLOSE_LIFETIME,
						      CLOSE_KILLED, CLOSE_REMOVED, CLOSE_DRAINED,
						      CLOSE_STOPPED};
	unsigned good = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(asked_for) / sizeof(asked_for[0]); i++)
		assert_false(close_reason_row(asked_for[i])->is_error);
	for (int i = 0; i < CLOSE_REASONS; i++)
		good += !close_reason_row((enum close_reason)i)->is_error;
	assert_int_equal(good, sizeof(asked_for) / sizeof(asked_for[0]));
}

static void a_session_used_again_keeps_only_its_generations(void **state)
{
	struct slab slab;
	struct session *s;
	struct session *again;

	(void)state;
	session_slab_init(&slab);
	s = session_slab_get(&slab);
	assert_non_null(s);
	assert_true(slab.slots > 0);
	s->sides[0].sock.gen = 7;
	s->sides[1].sock.gen = 65535;
	s->tries = 3;
	s->flows[0].bytes_in = 9;
	session_slab_put(&slab, s);
	again = session_slab_get(&slab);
	assert_ptr_equal(again, s);
	assert_int_equal(s->sides[0].sock.gen, 7);
	assert_int_equal(s->sides[1].sock.gen, 65535);
	assert_int_equal(s->tries, 0);
	assert_int_equal(s->flows[0].bytes_in, 0);
	session_slab_put(&slab, again);
	slab_free(&slab);
}

static void the_slab_grows_and_hands_out_each_slot_once(void **state)
{
	struct slab slab;
	struct session *all[1000];
	int i;
	int k;

	(void)state;
	session_slab_init(&slab);
	for (i = 0; i < 1000; i++) {
		all[i] = session_slab_get(&slab);
		assert_non_null(all[i]);
		all[i]->number = (uint32_t)i;
	}
	for (k = 0; k < 1000; k++) {
		assert_int_equal(all[k]->number, k);
		session_slab_put(&slab, all[k]);
	}
	assert_in_range(slab.slots, 1000, 1063);
	slab_free(&slab);
}

/* ---- pages that go and come ---- */

#define PAGES 40

/* A slab whose pages have one session each, of which `count` are in use. */
static void take(struct slab *slab, struct session **all, int count)
{
	session_slab_init(slab);
	slab->page_slots = 1;
	for (int i = 0; i < count; i++) {
		all[i] = session_slab_get(slab);
		assert_non_null(all[i]);
		all[i]->state = SESSION_ACCEPTED;
	}
}

static void put(struct slab *slab, struct session *s)
{
	s->state = SESSION_FREE;
	session_slab_put(slab, s);
}

/* Two cycles end. */
static void give_all_back(struct slab *slab)
{
	for (int i = 0; i < 2; i++) {
		slab_age(slab);
		while (slab_give_back(slab, 3))
			continue;
	}
}

static bool has_memory(const struct session *s)
{
	const uintptr_t page = sys_page_bytes();
	unsigned char in_core = 0;

	assert_int_equal(mincore((void *)((uintptr_t)s & ~(page - 1)), page, &in_core), 0);
	return in_core & 1;
}

static void a_page_without_sessions_goes_after_a_whole_cycle(void **state)
{
	struct slab slab;
	struct session *all[PAGES];

	(void)state;
	take(&slab, all, PAGES);
	for (int i = 1; i < PAGES; i++)
		put(&slab, all[i]);
	assert_int_equal(slab.slots, PAGES);
	slab_age(&slab);
	assert_false(slab_give_back(&slab, PAGES));
	assert_int_equal(slab.slots, PAGES); /* they were in use when this cycle began */
	slab_age(&slab);
	assert_true(slab_give_back(&slab, 1));
	assert_int_equal(slab.slots, PAGES - 1);
	assert_true(slab_rests(&slab));
	assert_false(slab_give_back(&slab, PAGES));
	assert_int_equal(slab.slots, 1);
	assert_false(slab_rests(&slab));
	assert_true(has_memory(all[0]));
	for (int i = 1; i < PAGES; i++)
		assert_false(has_memory(all[i]));
	put(&slab, all[0]);
	slab_free(&slab);
}

static void a_page_that_was_used_in_the_cycle_stays(void **state)
{
	struct slab slab;
	struct session *all[2];
	struct session *again;

	(void)state;
	take(&slab, all, 2);
	put(&slab, all[0]);
	put(&slab, all[1]);
	slab_age(&slab);
	again = session_slab_get(&slab);
	assert_ptr_equal(again, all[1]);
	session_slab_put(&slab, again);
	slab_age(&slab);
	(void)slab_give_back(&slab, PAGES);
	assert_int_equal(slab.slots, 1);
	assert_true(has_memory(all[1]));
	assert_false(has_memory(all[0]));
	slab_free(&slab);
}

static void a_page_that_is_about_to_go_is_used_again_before_it_does(void **state)
{
	struct slab slab;
	struct session *all[1];

	(void)state;
	take(&slab, all, 1);
	put(&slab, all[0]);
	slab_age(&slab);
	slab_age(&slab);
	assert_ptr_equal(session_slab_get(&slab), all[0]);
	assert_false(slab_give_back(&slab, PAGES));
	assert_int_equal(slab.slots, 1);
	session_slab_put(&slab, all[0]);
	slab_free(&slab);
}

static void generations_go_on_in_a_page_that_was_away(void **state)
{
	static const uint16_t last[] = {1, 7, 65534, 65535, 0, 3};
	struct slab slab;
	struct session *all[1];
	struct session *s;

	(void)state;
	take(&slab, all, 1);
	s = all[0];
	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++) {
		s->sides[1].sock.gen = last[i];
		put(&slab, s);
		give_all_back(&slab);
		assert_int_equal(s->sides[0].sock.gen, 0); /* what a late event finds */
		assert_null(s->sides[0].sock.rd);
		assert_ptr_equal(session_slab_get(&slab), s);
		assert_int_equal(s->sides[0].sock.gen, last[i]);
		assert_int_equal(s->sides[1].sock.gen, last[i]);
	}
	session_slab_put(&slab, s);
	slab_free(&slab);
}

static void no_socket_in_use_has_generation_0(void **state)
{
	struct io_sock sock = {.gen = 65535};

	(void)state;
	io_sock_init(&sock, 3, true);
	assert_int_equal(sock.gen, 1);
	io_sock_init(&sock, 3, true);
	assert_int_equal(sock.gen, 2);
}

/* ---- an event for a socket whose page has gone within the batch ---- */

static struct {
	struct io_loop loop;
	struct slab slab;
	struct session *first, *second; /* pages of one session */
	struct io_op ready, close;
	bool again; /* the page of the second is in use again by then */
	int fds[4];
} batch;

static void never(struct io_op *op, int result)
{
	(void)op;
	(void)result;
	fail();
}

/* The event of the first ends the second, whose own event is in the same batch. */
static void end_second(struct io_op *op, int result)
{
	struct io_sock *sock = &batch.second->sides[0].sock;

	(void)op;
	assert_int_equal(result, IO_WANT_IN);
	io_op_init(&batch.close, sock, never);
	batch.close.kind = IO_CLOSE;
	assert_int_equal(io_start(&batch.loop, &batch.close), 0);
	put(&batch.slab, batch.second);
	give_all_back(&batch.slab);
	assert_int_equal(batch.slab.slots, 1);
	if (!batch.again)
		return;
	assert_ptr_equal(session_slab_get(&batch.slab), batch.second);
	io_sock_init(sock, batch.fds[3], false);
}

static void run_batch(bool again)
{
	struct session *all[2];

	memset(&batch, 0, sizeof(batch));
	batch.again = again;
	assert_int_equal(io_loop_init(&batch.loop, &io_epoll_driver), 0);
	take(&batch.slab, all, 2);
	batch.first = all[0];
	batch.second = all[1];
	for (int i = 0; i < 2; i++) {
		struct io_sock *sock = &all[i]->sides[0].sock;

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, &batch.fds[2 * i]), 0);
		io_sock_init(sock, batch.fds[2 * i], false);
		sock->bits = 0;
		assert_int_equal(io_attach(&batch.loop, sock), 0);
	}
	io_loop_turn(&batch.loop); /* what can be written to */
	io_op_init(&batch.ready, &all[0]->sides[0].sock, end_second);
	batch.ready.kind = IO_READY;
	batch.ready.want = IO_WANT_IN;
	assert_int_equal(io_start(&batch.loop, &batch.ready), IO_PENDING);
	assert_int_equal(write(batch.fds[1], "x", 1), 1);
	assert_int_equal(write(batch.fds[3], "x", 1), 1);
	io_loop_turn(&batch.loop);
	assert_int_equal(batch.loop.stale_events, 1);
	assert_int_equal(batch.second->sides[0].sock.bits & IO_READABLE, 0); /* nobody wrote there */
	close(batch.fds[0]);
	close(batch.fds[1]);
	close(batch.fds[3]);
	if (again)
		put(&batch.slab, batch.second);
	put(&batch.slab, batch.first);
	slab_free(&batch.slab);
	io_loop_free(&batch.loop);
}

static void an_event_for_a_page_that_went_within_the_batch_is_stale(void **state)
{
	(void)state;
	run_batch(false);
}

static void an_event_for_a_page_that_went_and_came_within_the_batch_is_stale(void **state)
{
	(void)state;
	run_batch(true);
}

/* ---- walking ---- */

static void a_walk_meets_each_session_that_stays_once(void **state)
{
	struct slab slab;
	struct session *all[PAGES];
	struct session *s;
	uint32_t cursor = 0, budget = 1000000;
	int met[PAGES] = {0};

	(void)state;
	take(&slab, all, PAGES);
	for (int i = 0; i < PAGES; i++)
		all[i]->number = (uint32_t)i;
	for (int i = 0; (s = session_slab_next(&slab, &cursor, &budget)) != NULL; i++) {
		met[s->number]++;
		if (i == 10) { /* behind the walk and before it */
			for (int k = 5; k < 25; k++)
				put(&slab, all[k]);
			give_all_back(&slab);
		}
	}
	assert_null(session_slab_next(&slab, &cursor, &budget));
	for (int i = 0; i < PAGES; i++) {
		assert_in_range(met[i], i <= 10 || i >= 25, i <= 10 || i >= 25);
		if (i < 5 || i >= 25)
			put(&slab, all[i]);
	}
	give_all_back(&slab);
	cursor = 0;
	assert_null(session_slab_next(&slab, &cursor, &budget));
	assert_true(slab_is_over(&slab, cursor));
	cursor = budget = 0;
	assert_null(session_slab_next(&slab, &cursor, &budget));
	assert_false(slab_is_over(&slab, cursor));
	slab_free(&slab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_idle_session_costs_at_most_512_bytes),
		cmocka_unit_test(every_close_reason_has_words_and_known_letters),
		cmocka_unit_test(an_end_that_was_asked_for_is_no_error),
		cmocka_unit_test(a_session_used_again_keeps_only_its_generations),
		cmocka_unit_test(the_slab_grows_and_hands_out_each_slot_once),
		cmocka_unit_test(a_page_without_sessions_goes_after_a_whole_cycle),
		cmocka_unit_test(a_page_that_was_used_in_the_cycle_stays),
		cmocka_unit_test(a_page_that_is_about_to_go_is_used_again_before_it_does),
		cmocka_unit_test(generations_go_on_in_a_page_that_was_away),
		cmocka_unit_test(no_socket_in_use_has_generation_0),
		cmocka_unit_test(an_event_for_a_page_that_went_within_the_batch_is_stale),
		cmocka_unit_test(an_event_for_a_page_that_went_and_came_within_the_batch_is_stale),
		cmocka_unit_test(a_walk_meets_each_session_that_stays_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
