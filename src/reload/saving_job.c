/* SPDX-License-Identifier: MIT
 *
 * saving_job.c - writes the state file (confirmed.h) on its own thread, so that control waits for no disk.
 *
 * Owns copies of all that the thread needs. Whoever finishes last frees the job: control joins a thread that
 * has finished and detaches one that has not. The thread logs nothing.
 */
#include "weir/reload/saving_job.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/crash_report.h"
#include "weir/base/thread.h"

struct saving_job {
	pthread_t thread;
	pthread_mutex_t lock; /* protects `done`, `abandoned` and the call of `wake` */
	bool done;
	bool abandoned;
	void (*wake)(void *arg);
	void *wake_arg;
	/* The thread's until it is done, then control's. */
	char *folder;		 /* owns */
	struct confirmed saved; /* owns */
	int result;
};

/* Mutex calls fail only through our own mistakes. */
static void lock(struct saving_job *job)
{
	check(pthread_mutex_lock(&job->lock) == 0);
}

static void unlock(struct saving_job *job)
{
	check(pthread_mutex_unlock(&job->lock) == 0);
}

static void destroy(struct saving_job *job)
{
	confirmed_free(&job->saved);
	free(job->folder);
	(void)pthread_mutex_destroy(&job->lock);
	free(job);
}

static void *run(void *arg)
{
	struct saving_job *job = arg;
	bool abandoned;

	crash_report_thread("weir-saving");
	job->result = confirmed_save(job->folder, &job->saved);
	lock(job);
	abandoned = job->abandoned;
	job->done = true;
	if (!abandoned)
		job->wake(job->wake_arg);
	unlock(job);
	/* If it was not abandoned, control may have freed it by now. */
	if (abandoned)
		destroy(job);
	return NULL;
}

struct saving_job *saving_job_begin(const char *folder, const struct confirmed *c, void (*wake)(void *arg),
				    void *wake_arg, int *err)
{
	struct saving_job *job = calloc(1, sizeof(*job));

	*err = -ENOMEM;
	if (job == NULL)
		return NULL;
	(void)pthread_mutex_init(&job->lock, NULL); /* cannot fail on Linux with default attributes */
	job->wake = wake;
	job->wake_arg = wake_arg;
	confirmed_copy(&job->saved, c);
	job->folder = strdup(folder);
	if (job->folder != NULL)
		*err = thread_start(&job->thread, run, job);
	if (!*err)
		return job;
	destroy(job);
	return NULL;
}

bool saving_job_is_done(struct saving_job *job)
{
	bool done;

	lock(job);
	done = job->done;
	unlock(job);
	return done;
}

int saving_job_result(struct saving_job *job)
{
	check(saving_job_is_done(job));
	return job->result;
}

void saving_job_free(struct saving_job *job)
{
	pthread_t thread;
	bool done;

	if (job == NULL)
		return;
	lock(job);
	done = job->done;
	thread = job->thread;
	job->abandoned = true;
	unlock(job);
	if (!done) {
		(void)pthread_detach(thread); /* it sees `abandoned` and frees the job */
		return;
	}
	(void)pthread_join(thread, NULL); /* it has only to return */
	destroy(job);
}
