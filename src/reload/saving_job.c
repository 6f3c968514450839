/* SPDX-License-Identifier: MIT
 *
 * saving_job.c - writes the state file (confirmed.h) on its own thread, so that control waits for no disk.
 *
 * Owns copies of all that the thread needs. The thread logs nothing.
 */
#include "weir/reload/saving_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/thread_job.h"

struct saving_job {
	struct thread_job on_thread;
	/* The thread's until it is done, then control's. */
	char *folder;		 /* owns */
	struct confirmed saved; /* owns */
	int result;
};

static void destroy(struct saving_job *job)
{
	confirmed_free(&job->saved);
	free(job->folder);
	thread_job_destroy(&job->on_thread);
	free(job);
}

static void work(struct thread_job *on_thread)
{
	struct saving_job *job = container_of(on_thread, struct saving_job, on_thread);

	job->result = confirmed_save(job->folder, &job->saved);
}

static void drop(struct thread_job *on_thread)
{
	destroy(container_of(on_thread, struct saving_job, on_thread));
}

struct saving_job *saving_job_begin(const char *folder, const struct confirmed *c, void (*wake)(void *arg),
				    void *wake_arg, int *err)
{
	static const struct thread_job_calls calls = {"weir-saving", work, drop};
	struct saving_job *job = calloc(1, sizeof(*job));

	*err = -ENOMEM;
	if (job == NULL)
		return NULL;
	thread_job_init(&job->on_thread, &calls, wake, wake_arg);
	confirmed_copy(&job->saved, c);
	job->folder = strdup(folder);
	if (job->folder != NULL)
		*err = thread_job_start(&job->on_thread);
	if (!*err)
		return job;
	destroy(job);
	return NULL;
}

bool saving_job_is_done(struct saving_job *job)
{
	return thread_job_is_done(&job->on_thread);
}

int saving_job_result(struct saving_job *job)
{
	check(saving_job_is_done(job));
	return job->result;
}

void saving_job_free(struct saving_job *job)
{
	if (job != NULL && thread_job_leave(&job->on_thread))
		destroy(job);
}
