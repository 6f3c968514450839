/* SPDX-License-Identifier: MIT
 *
 * test_saving_job.c - a save on its own thread: what it reports, and what it leaves behind.
 */
#include "confirmed_rig.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/file.h>
#include <time.h>

#include "weir/reload/saving_job.h"

#define WAIT_S 60

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
int __real_flock(int fd, int how);
int __wrap_flock(int fd, int how);

static int no_thread;
static bool hangs;
static sem_t arrived, go_on, woken;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	return no_thread != 0 ? no_thread : __real_pthread_create(thread, attr, run, arg);
}

static void wait_for(sem_t *s)
{
	struct timespec until;

	assert_int_equal(clock_gettime(CLOCK_REALTIME, &until), 0);
	until.tv_sec += WAIT_S;
	assert_int_equal(sem_timedwait(s, &until), 0);
}

/* As on a disk that does not answer. */
int __wrap_flock(int fd, int how)
{
	if (hangs) {
		(void)sem_post(&arrived);
		wait_for(&go_on);
	}
	return __real_flock(fd, how);
}

static void on_wake(void *arg)
{
	(void)sem_post(arg);
}

static struct saving_job *begin(const char *folder, const struct confirmed *c)
{
	int err = 1;
	struct saving_job *job = saving_job_begin(folder, c, on_wake, &woken, &err);

	assert_non_null(job);
	assert_int_equal(err, 0);
	return job;
}

static bool was_woken(void)
{
	return sem_trywait(&woken) == 0;
}

static void copy_is_saved_and_wakes_once(void **state)
{
	const struct rig *r = *state;
	struct confirmed c, same;
	struct saving_job *job;
	char folder[64];

	make_state(&c, "one", 2);
	make_state(&same, "one", 2);
	(void)snprintf(folder, sizeof(folder), "%s", r->folder);
	hangs = true;
	job = begin(folder, &c);
	memset(folder, 'x', sizeof(folder) - 1); /* it has copies of both */
	confirmed_free(&c);
	wait_for(&arrived);
	assert_false(saving_job_is_done(job));
	hangs = false;
	(void)sem_post(&go_on);
	wait_for(&woken);
	assert_true(saving_job_is_done(job));
	assert_int_equal(saving_job_result(job), 0);
	saving_job_free(job);
	assert_false(was_woken());
	assert_on_disk(r, &same);
	confirmed_free(&same);
}

static void failure_is_reported(void **state)
{
	struct confirmed c;
	struct saving_job *job;

	(void)state;
	make_state(&c, "one", 2);
	job = begin("/nonexistent-weir", &c);
	wait_for(&woken);
	assert_true(saving_job_is_done(job));
	assert_int_equal(saving_job_result(job), -ENOENT);
	saving_job_free(job);
	confirmed_free(&c);
}

static void wait_for_allocations(long wanted)
{
	const struct timespec moment = {.tv_nsec = 1000000};

	for (int i = 0; i < WAIT_S * 1000 && allocated != wanted; i++)
		(void)nanosleep(&moment, NULL);
	assert_int_equal(allocated, wanted);
}

static void abandoned_job_frees_itself_and_wakes_nobody(void **state)
{
	const struct rig *r = *state;
	struct confirmed c;

	make_state(&c, "one", 2);
	hangs = true;
	saving_job_free(begin(r->folder, &c));
	wait_for(&arrived);
	hangs = false;
	(void)sem_post(&go_on);
	confirmed_free(&c);
	wait_for_allocations(r->allocated);
	while (count_fds() != r->fds)
		continue;
	assert_false(was_woken());
	saving_job_free(NULL);
}

static void nothing_is_left_when_it_cannot_begin(void **state)
{
	const struct rig *r = *state;
	struct confirmed c;
	struct saving_job *job = NULL;
	int err = 0;
	long n;

	make_state(&c, "one", 2);
	no_thread = EAGAIN;
	assert_null(saving_job_begin(r->folder, &c, on_wake, &woken, &err));
	assert_int_equal(err, -EAGAIN);
	no_thread = 0;
	hangs = true; /* so that what the thread allocates does not count */
	for (n = 0; job == NULL; n++) {
		const long before = allocated;

		fail_allocations_from(n);
		job = saving_job_begin(r->folder, &c, on_wake, &woken, &err);
		assert_int_equal(err, job != NULL ? 0 : -ENOMEM);
		if (job == NULL)
			assert_int_equal(allocated, before);
	}
	assert_int_equal(n, 3); /* the job and its folder */
	wait_for(&woken);	/* the thread has no memory */
	assert_int_equal(saving_job_result(job), -ENOMEM);
	fail_allocations_from(-1);
	hangs = false;
	saving_job_free(job);
	confirmed_free(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(copy_is_saved_and_wakes_once),
		TEST(failure_is_reported),
		TEST(abandoned_job_frees_itself_and_wakes_nobody),
		TEST(nothing_is_left_when_it_cannot_begin),
	};

	(void)sem_init(&arrived, 0, 0);
	(void)sem_init(&go_on, 0, 0);
	(void)sem_init(&woken, 0, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
