/* SPDX-License-Identifier: MIT
 *
 * thread_job.h - one piece of work on a thread of its own, which may hang and then be abandoned.
 *
 * Part of the structure that has what the work needs: the thread's until it is done, then its owner's.
 * Whoever finishes last frees it: the owner joins a thread that has finished and detaches one that has not.
 */
#ifndef WEIR_BASE_THREAD_JOB_H
#define WEIR_BASE_THREAD_JOB_H

#include <pthread.h>
#include <stdbool.h>

struct thread_job;

/* What a kind of job does. */
struct thread_job_calls {
	const char *thread_name; /* static */
	void (*work)(struct thread_job *job);  /* on the thread */
	void (*drop)(struct thread_job *job); /* the same, after an abandoned work: frees all of it */
};

struct thread_job {
	const struct thread_job_calls *calls; /* static */
	pthread_t thread;
	pthread_mutex_t lock; /* protects `done`, `abandoned` and the call of `wake` */
	bool done;
	bool abandoned;
	void (*wake)(void *arg);
	void *wake_arg;
};

/* The thread will call `wake` once when the work is done, unless it is abandoned by then; `wake` must not
 * block or call anything here. Owner's thread, like everything below. */
void thread_job_init(struct thread_job *job, const struct thread_job_calls *calls, void (*wake)(void *arg),
		     void *wake_arg);
/* Begins the work. 0, or -errno: there is no thread. */
int thread_job_start(struct thread_job *job);
bool thread_job_is_done(struct thread_job *job);
/* Nobody wants the result any more. True if the work is done, and the owner frees it; false if the thread
 * does, whenever it returns. Only after a start. */
bool thread_job_leave(struct thread_job *job);
/* For whoever frees it, also if it was never started. */
void thread_job_destroy(struct thread_job *job);

#endif
