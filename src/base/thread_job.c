/* SPDX-License-Identifier: MIT
 *
 * thread_job.c - one piece of work on a thread of its own, which may hang and then be abandoned.
 *
 * The thread logs nothing.
 */
#include "weir/base/thread_job.h"

#include "weir/base/check.h"
#include "weir/base/crash_report.h"
#include "weir/base/thread.h"

/* Mutex calls fail only through our own mistakes. */
static void lock(struct thread_job *job)
{
	check(pthread_mutex_lock(&job->lock) == 0);
}

static void unlock(struct thread_job *job)
{
	check(pthread_mutex_unlock(&job->lock) == 0);
}

static void *run(void *arg)
{
	struct thread_job *job = arg;
	bool abandoned;

	crash_report_thread(job->calls->thread_name);
	job->calls->work(job);
	lock(job);
	abandoned = job->abandoned;
	job->done = true;
	if (!abandoned)
		job->wake(job->wake_arg);
	unlock(job);
	/* If it was not abandoned, its owner may have freed it by now. */
	if (abandoned)
		job->calls->drop(job);
	return NULL;
}

void thread_job_init(struct thread_job *job, const struct thread_job_calls *calls, void (*wake)(void *arg),
		     void *wake_arg)
{
	*job = (struct thread_job){.calls = calls, .wake = wake, .wake_arg = wake_arg};
	(void)pthread_mutex_init(&job->lock, NULL); /* cannot fail on Linux with default attributes */
}

int thread_job_start(struct thread_job *job)
{
	return thread_start(&job->thread, run, job);
}

bool thread_job_is_done(struct thread_job *job)
{
	bool done;

	lock(job);
	done = job->done;
	unlock(job);
	return done;
}

bool thread_job_leave(struct thread_job *job)
{
	pthread_t thread;
	bool done;

	lock(job);
	done = job->done;
	thread = job->thread;
	job->abandoned = true;
	unlock(job);
	if (done)
		(void)pthread_join(thread, NULL); /* it has only to return */
	else
		(void)pthread_detach(thread); /* it sees `abandoned` and frees the job */
	return done;
}

void thread_job_destroy(struct thread_job *job)
{
	(void)pthread_mutex_destroy(&job->lock);
}
