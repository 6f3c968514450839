/* SPDX-License-Identifier: MIT
 *
 * thread.c - starts threads that handle no signals and may give up rights of their creator.
 *
 * Owns nothing: the caller joins or detaches the thread. Any thread.
 */
#include "weir/base/thread.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"

static int (*_Atomic first_of_all)(void);

/* A thread that has not begun yet; on its creator's stack, and gone once `begun` is posted. */
struct beginning {
	int (*first)(void);
	void *(*run)(void *arg);
	void *arg; /* borrows, for `run` */
	int err;
	sem_t begun;
};

static void *begin(void *arg)
{
	struct beginning *b = arg;
	void *(*const run)(void *arg) = b->run;
	void *const run_arg = b->arg;
	const int err = b->first();

	b->err = err;
	check(sem_post(&b->begun) == 0);
	return err ? NULL : run(run_arg);
}

/* Waits until the thread has called `first`: a matter of one system call. */
static int start_with(pthread_t *thread, struct beginning *b)
{
	int err;

	check(sem_init(&b->begun, 0, 0) == 0);
	err = -pthread_create(thread, NULL, begin, b);
	if (!err) {
		while (sem_wait(&b->begun) != 0)
			check(errno == EINTR);
		err = b->err;
		if (err)
			(void)pthread_join(*thread, NULL); /* it returns at once */
	}
	(void)sem_destroy(&b->begun);
	return err;
}

int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	struct beginning b = {.first = atomic_load(&first_of_all), .run = run, .arg = arg};
	sigset_t all, old;
	int err;

	/* None of the signal calls can fail with these arguments. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	err = b.first != NULL ? start_with(thread, &b) : -pthread_create(thread, NULL, run, arg);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

void thread_set_first(int (*first)(void))
{
	atomic_store(&first_of_all, first);
}

int64_t thread_cpu_ns(pthread_t thread)
{
	struct timespec ts;
	clockid_t id;

	if (pthread_getcpuclockid(thread, &id) != 0 || clock_gettime(id, &ts) != 0)
		return -1;
	return (int64_t)ts.tv_sec * NS_PER_SEC + (int64_t)ts.tv_nsec;
}
