/* SPDX-License-Identifier: MIT
 *
 * lookup.c - a thread that calls getaddrinfo(3), one request at a time.
 *
 * Owns the jobs in its lists. The thread is joined if it waits and detached if it hangs; whichever side
 * finishes last frees the structure. The thread logs nothing.
 */
#include "lookup.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/crash_report.h"
#include "weir/base/thread.h"

struct lookup {
	struct resolver_calls calls;
	pthread_t thread;
	pthread_mutex_t lock; /* protects everything below */
	pthread_cond_t asked;
	struct list todo; /* owns; appended at the end, as a LIFO would starve jobs */
	struct list done; /* owns */
	void (*wake)(void *arg);
	void *wake_arg;
	bool busy; /* the thread is in a lookup */
	bool quit; /* control has gone: do not call `wake` */
};

static void *lookup_run(void *arg);

/* Mutex calls fail only through our own mistakes. */
static void lock(struct lookup *l)
{
	int err = pthread_mutex_lock(&l->lock);

	check(err == 0);
}

static void unlock(struct lookup *l)
{
	int err = pthread_mutex_unlock(&l->lock);

	check(err == 0);
}

struct lookup *lookup_new(const struct resolver_calls *calls, void (*wake)(void *), void *wake_arg, int *err)
{
	struct lookup *l = calloc(1, sizeof(*l));

	*err = -ENOMEM;
	if (l == NULL)
		return NULL;
	l->calls = *calls;
	list_init(&l->todo);
	list_init(&l->done);
	l->wake = wake;
	l->wake_arg = wake_arg;
	/* Neither fails on Linux with default attributes. */
	(void)pthread_mutex_init(&l->lock, NULL);
	(void)pthread_cond_init(&l->asked, NULL);
	*err = thread_start(&l->thread, lookup_run, l);
	if (*err) {
		(void)pthread_cond_destroy(&l->asked);
		(void)pthread_mutex_destroy(&l->lock);
		free(l);
		return NULL;
	}
	return l;
}

/* NULL if the list is empty. */
static struct lookup_job *take_first(struct list *list)
{
	struct lookup_job *job = list_entry(list->next, struct lookup_job, link);

	if (list_empty(list))
		return NULL;
	list_remove(&job->link);
	return job;
}

static void free_jobs(struct list *list)
{
	struct lookup_job *job;

	while ((job = take_first(list)) != NULL)
		free(job);
}

static void lookup_destroy(struct lookup *l)
{
	free_jobs(&l->todo);
	free_jobs(&l->done);
	(void)pthread_cond_destroy(&l->asked);
	(void)pthread_mutex_destroy(&l->lock);
	free(l);
}

void lookup_free(struct lookup *l)
{
	pthread_t thread;
	bool hangs;

	if (l == NULL)
		return;
	lock(l);
	l->quit = true;
	hangs = l->busy;
	thread = l->thread;
	(void)pthread_cond_signal(&l->asked);
	unlock(l);
	if (hangs) {
		(void)pthread_detach(thread); /* it sees `quit` and destroys `l` itself */
		return;
	}
	(void)pthread_join(thread, NULL);
	lookup_destroy(l);
}

void lookup_ask(struct lookup *l, struct lookup_job *job)
{
	lock(l);
	check(!l->quit);
	list_push_back(&l->todo, &job->link);
	job->waits = true;
	(void)pthread_cond_signal(&l->asked);
	unlock(l);
}

void lookup_withdraw(struct lookup *l, struct lookup_job *job)
{
	bool waits;

	job->who = NULL;
	lock(l);
	waits = job->waits;
	if (waits)
		list_remove(&job->link);
	unlock(l);
	if (waits)
		free(job);
}

struct lookup_job *lookup_take(struct lookup *l)
{
	struct lookup_job *job;

	lock(l);
	job = take_first(&l->done);
	unlock(l);
	return job;
}

static void answer(const struct lookup *l, struct lookup_job *job)
{
	struct addrinfo hints = {
		.ai_family = job->family, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct addrinfo *list = NULL;
	char port[8];

	(void)snprintf(port, sizeof(port), "%u", (unsigned)job->port);
	job->count = 0;
	job->error = l->calls.lookup(job->host, port, &hints, &list);
	job->system_errno = errno;
	if (job->error)
		return;
	for (const struct addrinfo *ai = list; ai != NULL && job->count < LOOKUP_ADDRS_MAX;
	     ai = ai->ai_next) {
		struct addr *a = &job->addrs[job->count];

		if (ai->ai_family != AF_INET && ai->ai_family != AF_INET6)
			continue;
		memset(a, 0, sizeof(*a));
		check(ai->ai_addrlen <= sizeof(a->un));
		memcpy(&a->un, ai->ai_addr, ai->ai_addrlen);
		a->len = ai->ai_addrlen;
		job->count++;
	}
	l->calls.release(list);
	if (job->count == 0)
		job->error = EAI_NONAME;
}

static void *lookup_run(void *arg)
{
	struct lookup *l = arg;
	struct lookup_job *job;

	crash_report_thread("weir-names");
	lock(l);
	while (!l->quit) {
		job = take_first(&l->todo);
		if (job == NULL) {
			(void)pthread_cond_wait(&l->asked, &l->lock);
			continue;
		}
		job->waits = false;
		l->busy = true;
		unlock(l);
		answer(l, job);
		lock(l);
		list_push_back(&l->done, &job->link);
		if (l->quit) {
			/* Abandoned: nobody else has `l` any more. */
			unlock(l);
			lookup_destroy(l);
			return NULL;
		}
		l->busy = false;
		l->wake(l->wake_arg);
	}
	unlock(l);
	return NULL;
}
