/* SPDX-License-Identifier: MIT
 *
 * test_low_fds.c - numbers that are held, taken and held again.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/sys/low_fds.h"

#define COUNT 3
#define CROWD 50

static int crowd[CROWD];

/* What sessions do to a process. */
static int come(void)
{
	for (int i = 0; i < CROWD; i++)
		crowd[i] = dup(STDIN_FILENO);
	return crowd[CROWD - 1];
}

static void go(void)
{
	for (int i = 0; i < CROWD; i++)
		close(crowd[i]);
}

static void numbers_stay_low_however_many_there_are(void **state)
{
	const int end = low_fds_hold(COUNT);
	int fds[2], one, two;

	(void)state;
	assert_true(end > COUNT);
	assert_true(come() >= end + CROWD - 1);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
		one = low_fds_take(fds[0]);
		two = low_fds_take(fds[1]);
		assert_true(one >= 0);
		assert_true(one < end);
		assert_true(two < end);
		assert_int_not_equal(one, two);
		assert_int_equal(fcntl(fds[0], F_GETFD), -1);
		assert_int_equal(fcntl(one, F_GETFD), FD_CLOEXEC);
		low_fds_close(one);
		assert_int_equal(read(two, fds, sizeof(fds)), 0); /* its peer is closed, not only renamed */
		assert_int_equal(fcntl(one, F_GETFD), FD_CLOEXEC);
		low_fds_close(two);
	}
	go();
	low_fds_free();
	assert_int_equal(fcntl(end - 1, F_GETFD), -1);
}

static void without_a_free_number_it_is_refused(void **state)
{
	const int end = low_fds_hold(COUNT);
	int taken[COUNT], fd;

	(void)state;
	(void)come();
	for (int i = 0; i < COUNT; i++)
		taken[i] = low_fds_take(dup(STDIN_FILENO));
	fd = dup(STDIN_FILENO);
	assert_true(fd >= end);
	assert_int_equal(low_fds_take(fd), -EMFILE);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	low_fds_close(taken[1]);
	taken[1] = low_fds_take(dup(STDIN_FILENO));
	assert_true(taken[1] < end);
	for (int i = 0; i < COUNT; i++)
		low_fds_close(taken[i]);
	go();
	low_fds_free();
}

static void what_is_wrong_or_not_asked_for_stays(void **state)
{
	int fd = dup(STDIN_FILENO);

	(void)state;
	assert_int_equal(low_fds_take(fd), fd); /* nothing is held */
	assert_int_equal(low_fds_take(-ENOMEM), -ENOMEM);
	assert_true(low_fds_hold(COUNT) > fd);
	low_fds_close(fd); /* it is not one of those reserved */
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(low_fds_take(-EMFILE), -EMFILE);
	low_fds_free();
}

/* Else the count of open descriptors would depend on which numbers were free. */
static void what_is_low_takes_a_reserved_number_while_there_is_one(void **state)
{
	const int hole = dup(STDIN_FILENO);
	const int end = low_fds_hold(COUNT);
	int taken[COUNT];

	(void)state;
	assert_true(hole < end);
	for (int i = 0; i < COUNT; i++) {
		taken[i] = low_fds_take(i == 0 ? hole : dup(STDIN_FILENO));
		assert_in_range(taken[i], hole + 1, end - 1);
		assert_int_equal(fcntl(hole, F_GETFD), -1);
	}
	assert_int_equal(dup(STDIN_FILENO), hole);
	assert_int_equal(low_fds_take(hole), hole);
	low_fds_close(hole);
	assert_int_equal(fcntl(hole, F_GETFD), -1);
	for (int i = 0; i < COUNT; i++)
		low_fds_close(taken[i]);
	low_fds_free();
}

/* ---- claims ---- */

static unsigned told_count;
static int told_end, answer;

static int on_growth(unsigned count, int end)
{
	told_count = count;
	told_end = end;
	return answer;
}

static void claims_beyond_what_is_reserved_reserve_more(void **state)
{
	int taken[COUNT + 2];

	(void)state;
	assert_int_equal(low_fds_claim(1), 0); /* before anything is reserved */
	low_fds_on_growth(on_growth);
	answer = 0;
	assert_true(low_fds_hold(COUNT) > COUNT);
	assert_int_equal(told_count, COUNT);
	assert_int_equal(low_fds_claim(COUNT - 1), 0);
	assert_int_equal(told_count, COUNT); /* there were enough */
	(void)come();
	assert_int_equal(low_fds_claim(2), 0);
	assert_int_equal(told_count, COUNT + 2);
	assert_true(told_end > crowd[CROWD - 1]);
	for (int i = 0; i < COUNT + 2; i++) {
		taken[i] = low_fds_take(dup(STDIN_FILENO));
		assert_in_range(taken[i], 0, told_end - 1);
	}
	assert_int_equal(low_fds_take(dup(STDIN_FILENO)), -EMFILE);
	for (int i = 0; i < COUNT + 2; i++)
		low_fds_close(taken[i]);
	low_fds_unclaim(2);
	assert_int_equal(low_fds_claim(2), 0);
	low_fds_unclaim(COUNT + 2);
	go();
	low_fds_free();
}

static int count_open(int from, int to)
{
	int count = 0;

	for (int fd = from; fd < to; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void numbers_that_nobody_claims_any_more_are_given_back(void **state)
{
	const int first = low_fds_hold(COUNT);
	const int high = come() + 1;
	int taken[COUNT + 4];

	(void)state;
	assert_int_equal(low_fds_claim(COUNT), 0);
	for (int round = 0; round < 3; round++) {
		assert_int_equal(low_fds_claim(4), 0);
		assert_int_equal(count_open(high, high + 10), 4);
		low_fds_unclaim(3);
		assert_int_equal(count_open(high, high + 10), 1);
		low_fds_unclaim(1);
		assert_int_equal(count_open(high, high + 10), 0);
	}
	assert_int_equal(low_fds_claim(4), 0);
	for (int i = 0; i < COUNT + 4; i++) {
		taken[i] = low_fds_take(dup(STDIN_FILENO));
		assert_true(i >= COUNT ? taken[i] >= high : taken[i] < first); /* the lowest first */
		assert_true(i == 0 || taken[i] > taken[i - 1]);
	}
	low_fds_unclaim(4);
	assert_int_equal(count_open(high, high + 10), 4); /* all are in use */
	low_fds_close(taken[1]);
	assert_int_equal(fcntl(taken[1], F_GETFD), FD_CLOEXEC); /* reserved at the start */
	for (int i = COUNT; i < COUNT + 4; i++) {
		low_fds_close(taken[i]);
		assert_int_equal(count_open(high, high + 10), COUNT + 3 - i);
	}
	assert_int_equal(low_fds_take(dup(STDIN_FILENO)), taken[1]);
	for (int i = 0; i < COUNT; i++)
		low_fds_close(taken[i]);
	low_fds_unclaim(COUNT);
	assert_int_equal(low_fds_claim(COUNT), 0); /* as after the start */
	low_fds_unclaim(COUNT);
	go();
	low_fds_free();
	assert_int_equal(fcntl(first - 1, F_GETFD), -1);
}

static void numbers_that_became_free_below_are_given_back_too(void **state)
{
	const int before = count_open(0, CROWD);
	const int low = dup(STDIN_FILENO);
	int at_rest;

	(void)state;
	assert_true(low_fds_hold(COUNT) > low);
	assert_int_equal(low_fds_claim(COUNT), 0);
	close(low);
	at_rest = count_open(0, CROWD);
	assert_int_equal(low_fds_claim(2), 0);
	assert_int_equal(fcntl(low, F_GETFD), FD_CLOEXEC);
	assert_int_equal(count_open(0, CROWD), at_rest + 2);
	low_fds_unclaim(2);
	assert_int_equal(count_open(0, CROWD), at_rest);
	low_fds_unclaim(COUNT);
	assert_int_equal(count_open(0, CROWD), at_rest);
	low_fds_free();
	assert_int_equal(count_open(0, CROWD), before);
}

static void claim_that_fails_changes_nothing(void **state)
{
	struct rlimit before, low;
	int next;

	(void)state;
	low_fds_on_growth(on_growth);
	answer = 0;
	assert_true(low_fds_hold(1) > 1);
	assert_int_equal(low_fds_claim(1), 0);
	next = dup(STDIN_FILENO);
	close(next);
	answer = -ENOMEM; /* the loop gets no memory for it */
	assert_int_equal(low_fds_claim(2), -ENOMEM);
	answer = 0;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = (struct rlimit){.rlim_cur = (rlim_t)next, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	assert_int_equal(low_fds_claim(2), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(dup(STDIN_FILENO), next); /* nothing was left open */
	close(next);
	assert_int_equal(low_fds_claim(2), 0);
	low_fds_unclaim(3);
	low_fds_free();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_stay_low_however_many_there_are),
		cmocka_unit_test(without_a_free_number_it_is_refused),
		cmocka_unit_test(what_is_wrong_or_not_asked_for_stays),
		cmocka_unit_test(what_is_low_takes_a_reserved_number_while_there_is_one),
		cmocka_unit_test(claims_beyond_what_is_reserved_reserve_more),
		cmocka_unit_test(numbers_that_nobody_claims_any_more_are_given_back),
		cmocka_unit_test(numbers_that_became_free_below_are_given_back_too),
		cmocka_unit_test(claim_that_fails_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
