/* SPDX-License-Identifier: MIT
 *
 * test_paused.c - who waits for a limit: the order of wake-ups, and threads that join, leave and wake at the
 * same time, of which none may wait for a place that is free.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "weir/entry/paused.h"

#define WAITERS 4
#define ROUNDS	20000
/* Far more than anybody waits for a place. */
#define LOST_S 60
/* Where one thread at a time runs, nobody may have had to wait after the first rounds. */
#define TRIES 50

static struct paused paused;
static unsigned woken[WAITERS];
static int last; /* who was woken last; -1 = nobody yet */

static void note(void *arg)
{
	const unsigned *which = arg;

	last = (int)(which - woken);
	woken[last]++;
}

static struct paused_one waiters[WAITERS];

static int setup(void **state)
{
	(void)state;
	paused_init(&paused);
	for (int i = 0; i < WAITERS; i++) {
		woken[i] = 0;
		list_init(&waiters[i].link);
		waiters[i].wake = note;
		waiters[i].arg = &woken[i];
	}
	last = -1;
	return 0;
}

static void join(int which)
{
	paused_join(&paused, &waiters[which]);
}

static void leave(int which)
{
	paused_leave(&paused, &waiters[which]);
}

/* Who is woken next; -1 = nobody. */
static int wake(void)
{
	last = -1;
	paused_wake_one(&paused);
	return last;
}

static void nobody_is_woken_where_nobody_waits(void **state)
{
	(void)state;
	assert_true(paused_is_empty(&paused));
	assert_int_equal(wake(), -1);
	join(0);
	assert_false(paused_is_empty(&paused));
	leave(0);
	assert_true(paused_is_empty(&paused));
	assert_int_equal(wake(), -1);
	assert_int_equal(woken[0], 0);
}

static void a_wake_up_goes_to_the_one_woken_longest_ago(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		join(i);
	for (int i = 0; i < 7; i++)
		assert_int_equal(wake(), i % 3); /* who was woken stays, at the end */
	leave(1);
	assert_int_equal(wake(), 2);
	assert_int_equal(wake(), 0);
	/* Who comes, or comes again, has its turn after those that wait. */
	join(3);
	join(1);
	assert_int_equal(wake(), 2);
	assert_int_equal(wake(), 0);
	assert_int_equal(wake(), 3);
	assert_int_equal(wake(), 1);
	assert_int_equal(wake(), 2);
	for (int i = 0; i < WAITERS; i++)
		leave(i);
	assert_true(paused_is_empty(&paused));
}

static void each_of_them_is_woken_by_as_many_wake_ups_as_wait(void **state)
{
	(void)state;
	for (int i = 0; i < WAITERS; i++)
		join(i);
	for (int i = 0; i < WAITERS; i++)
		(void)wake();
	for (int i = 0; i < WAITERS; i++) {
		assert_int_equal(woken[i], 1);
		leave(i);
	}
}

static void leave_and_join_again(void *arg)
{
	note(arg);
	leave(last);
	join(last);
}

/* No lock is held: who is woken may do as it likes. */
static void who_is_woken_may_leave_and_join_at_once(void **state)
{
	(void)state;
	waiters[0].wake = leave_and_join_again;
	join(0);
	join(1);
	assert_int_equal(wake(), 0);
	assert_int_equal(wake(), 1);
	assert_int_equal(wake(), 0);
	leave(0);
	leave(1);
	assert_true(paused_is_empty(&paused));
}

/* ---- threads ---- */

/* A limit as slots.c keeps it, and those who wait for it as listener.c does. */
static atomic_int used;
static atomic_uint waits;
static int places;

struct waiter {
	struct paused_one one;
	sem_t wakeups;
	unsigned served;
	bool is_lost;
	pthread_t thread;
};

static void post(void *arg)
{
	struct waiter *w = arg;

	(void)sem_post(&w->wakeups);
}

static bool take(void)
{
	if (atomic_fetch_add(&used, 1) < places)
		return true;
	/* As in slots.c: what it held for a moment may have kept another one out. */
	atomic_fetch_sub(&used, 1);
	paused_wake_one(&paused);
	return false;
}

static void give_back(void)
{
	atomic_fetch_sub(&used, 1);
	paused_wake_one(&paused);
}

static bool wait_for_wake_up(struct waiter *w)
{
	struct timespec until;

	atomic_fetch_add(&waits, 1);
	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LOST_S;
	while (sem_timedwait(&w->wakeups, &until) != 0)
		if (errno != EINTR)
			return false;
	return true;
}

/* Joins, looks for room, and waits only if there is none. */
static bool wait_for_place(struct waiter *w)
{
	bool ok = true;

	paused_join(&paused, &w->one);
	if (atomic_load(&used) >= places)
		ok = wait_for_wake_up(w);
	paused_leave(&paused, &w->one);
	return ok;
}

static void *work(void *arg)
{
	struct waiter *w = arg;

	while (w->served < ROUNDS && !w->is_lost) {
		if (take()) {
			if (++w->served % 16 == 0)
				(void)sched_yield(); /* cannot fail on Linux */
			give_back();
		} else if (!wait_for_place(w)) {
			w->is_lost = true;
		}
	}
	return NULL;
}

/* Runs `body` for each on a thread of its own, until all have ended. */
static void run_all(struct waiter all[static WAITERS], void *(*body)(void *))
{
	for (int i = 0; i < WAITERS; i++) {
		all[i] = (struct waiter){.one = {.wake = post}};
		all[i].one.arg = &all[i];
		list_init(&all[i].one.link);
		assert_int_equal(sem_init(&all[i].wakeups, 0, 0), 0);
	}
	for (int i = 0; i < WAITERS; i++)
		assert_int_equal(pthread_create(&all[i].thread, NULL, body, &all[i]), 0);
	for (int i = 0; i < WAITERS; i++)
		assert_int_equal(pthread_join(all[i].thread, NULL), 0);
}

/* How many waits it took. */
static unsigned run_once(int limit)
{
	struct waiter all[WAITERS];

	places = limit;
	atomic_store(&used, 0);
	atomic_store(&waits, 0);
	run_all(all, work);
	for (int i = 0; i < WAITERS; i++) {
		assert_false(all[i].is_lost);
		assert_int_equal(all[i].served, ROUNDS);
		assert_int_equal(sem_destroy(&all[i].wakeups), 0);
	}
	assert_int_equal(atomic_load(&used), 0);
	assert_true(paused_is_empty(&paused));
	assert_true(list_empty(&paused.list));
	return atomic_load(&waits);
}

static void run_with(int limit)
{
	for (int i = 0; i < TRIES; i++)
		if (run_once(limit) > 0)
			return;
	fail_msg("with %d places for %d threads nobody had to wait", limit, WAITERS);
}

static void nobody_waits_for_ever_while_others_give_back_places(void **state)
{
	(void)state;
	run_with(1);
	run_with(2);
	run_with(WAITERS - 1);
}

/* Each joins and leaves all the time, and wakes whoever is there. */
static void *churn(void *arg)
{
	struct waiter *w = arg;

	for (w->served = 0; w->served < ROUNDS; w->served++) {
		paused_join(&paused, &w->one);
		paused_wake_one(&paused);
		paused_leave(&paused, &w->one);
		paused_wake_one(&paused);
	}
	return NULL;
}

static void a_wake_up_finds_whoever_waits_while_others_come_and_go(void **state)
{
	struct waiter all[WAITERS];
	struct waiter stays = {.one = {.wake = post, .arg = &stays}};
	int wakeups;

	(void)state;
	list_init(&stays.one.link);
	assert_int_equal(sem_init(&stays.wakeups, 0, 0), 0);
	paused_join(&paused, &stays.one);
	run_all(all, churn);
	/* One is always there, so each wake-up is for somebody; and nobody waits for more than all others. */
	assert_int_equal(sem_getvalue(&stays.wakeups, &wakeups), 0);
	assert_in_range(wakeups, 2 * ROUNDS * WAITERS / (WAITERS + 1), 2 * ROUNDS * WAITERS);
	for (int i = 0; i < WAITERS; i++) {
		int more;

		assert_int_equal(sem_getvalue(&all[i].wakeups, &more), 0);
		wakeups += more;
		assert_int_equal(sem_destroy(&all[i].wakeups), 0);
	}
	assert_int_equal(wakeups, 2 * ROUNDS * WAITERS);
	assert_int_equal(atomic_load(&paused.count), 1);
	paused_leave(&paused, &stays.one);
	assert_true(paused_is_empty(&paused));
	assert_int_equal(sem_destroy(&stays.wakeups), 0);
}

#define PAUSED_TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAUSED_TEST(nobody_is_woken_where_nobody_waits),
		PAUSED_TEST(a_wake_up_goes_to_the_one_woken_longest_ago),
		PAUSED_TEST(each_of_them_is_woken_by_as_many_wake_ups_as_wait),
		PAUSED_TEST(who_is_woken_may_leave_and_join_at_once),
		PAUSED_TEST(nobody_waits_for_ever_while_others_give_back_places),
		PAUSED_TEST(a_wake_up_finds_whoever_waits_while_others_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
