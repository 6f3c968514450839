/* SPDX-License-Identifier: MIT
 *
 * test_mailbox.c - signals merge, letters keep their order, a closed mailbox refuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <pthread.h>
#include <string.h>

#include <cmocka.h>

#include "engine/mailbox.h"

#define SENDERS 4
#define LETTERS_EACH 20000

static struct io_loop loop;
static struct mailbox box;

static void begin(void)
{
	assert_int_equal(io_loop_init(&loop, &io_epoll_driver), 0);
	memset(&box, 0, sizeof(box));
	mailbox_init(&box, &loop);
}

static void end(void)
{
	io_loop_free(&loop);
}

static struct letter letter_of(int number)
{
	return (struct letter){.fd = number};
}

static void signals_merge_until_they_are_read(void **state)
{
	(void)state;
	begin();
	mailbox_signal(&box, MAIL_RESUME);
	mailbox_signal(&box, MAIL_DRAIN);
	mailbox_signal(&box, MAIL_RESUME);
	assert_int_equal(mailbox_signals(&box), MAIL_RESUME | MAIL_DRAIN);
	assert_int_equal(mailbox_signals(&box), 0);
	end();
}

static void letters_come_in_order_and_a_full_ring_refuses(void **state)
{
	struct letter l;
	int i;

	(void)state;
	begin();
	for (i = 0; i < MAILBOX_LETTERS; i++) {
		l = letter_of(i);
		assert_true(mailbox_send(&box, &l));
	}
	assert_false(mailbox_send(&box, &l));
	for (i = 0; i < MAILBOX_LETTERS; i++) {
		assert_true(mailbox_take(&box, &l));
		assert_int_equal(l.fd, i);
	}
	assert_false(mailbox_take(&box, &l));
	end();
}

static void a_mailbox_with_letters_does_not_close(void **state)
{
	struct letter l = letter_of(1);

	(void)state;
	begin();
	assert_true(mailbox_send(&box, &l));
	assert_false(mailbox_close(&box));
	assert_true(mailbox_take(&box, &l));
	assert_true(mailbox_close(&box));
	assert_false(mailbox_send(&box, &l));
	end();
}

static int woken;

static void on_woken(struct io_loop *l)
{
	(void)l;
	woken++;
}

static void what_is_sent_after_the_look_wakes_again(void **state)
{
	struct letter l = letter_of(1);

	(void)state;
	begin();
	loop.woken = on_woken;
	woken = 0;
	assert_true(mailbox_send(&box, &l));
	io_loop_turn(&loop);
	assert_int_equal(woken, 1);
	(void)mailbox_signals(&box);
	assert_true(mailbox_take(&box, &l));
	assert_true(mailbox_send(&box, &l));
	io_loop_turn(&loop); /* would sleep for ever if the wake-up had been swallowed */
	assert_int_equal(woken, 2);
	end();
}

static void *sender(void *arg)
{
	const int base = (int)(intptr_t)arg * LETTERS_EACH;
	int i;

	for (i = 0; i < LETTERS_EACH; i++) {
		const struct letter l = letter_of(base + i);

		while (!mailbox_send(&box, &l))
			sched_yield();
	}
	return NULL;
}

static uint64_t received;
static int next_of[SENDERS];

static void on_letters(struct io_loop *unused)
{
	struct letter l;

	(void)unused;
	(void)mailbox_signals(&box);
	while (mailbox_take(&box, &l)) {
		const int from = l.fd / LETTERS_EACH;

		assert_true(from < SENDERS);
		assert_int_equal(l.fd % LETTERS_EACH, next_of[from]);
		next_of[from]++;
		received++;
	}
}

static void no_letter_of_many_senders_is_lost_or_slept_through(void **state)
{
	pthread_t threads[SENDERS];
	uintptr_t i;

	(void)state;
	begin();
	loop.woken = on_letters;
	for (i = 0; i < SENDERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, sender, (void *)i), 0);
	while (received < SENDERS * LETTERS_EACH)
		io_loop_turn(&loop); /* sleeps without a time-out: a lost wake-up hangs the test */
	for (i = 0; i < SENDERS; i++)
		pthread_join(threads[i], NULL);
	assert_false(mailbox_take(&box, &(struct letter){.fd = 0}));
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals_merge_until_they_are_read),
		cmocka_unit_test(letters_come_in_order_and_a_full_ring_refuses),
		cmocka_unit_test(a_mailbox_with_letters_does_not_close),
		cmocka_unit_test(what_is_sent_after_the_look_wakes_again),
		cmocka_unit_test(no_letter_of_many_senders_is_lost_or_slept_through),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
