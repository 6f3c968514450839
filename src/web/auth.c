/* SPDX-License-Identifier: MIT
 *
 * auth.c - who may use the HTTP endpoint: verifies passwords on a helper thread, and remembers right ones.
 *
 * Owns the queue and the verification under way. Equal credentials are verified once for all requests that
 * wait for them, so that the parts of a page count as one guess. A guess counts as failed from the moment
 * that it is queued until it has proved right: guesses made at the same time have no advantage. Main thread.
 */
#include "auth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "weir/base/check.h"
#include "weir/base/log.h"
#include "weir/base/thread_job.h"

/* setpriority(2): a fifth of a CPU beside a busy worker, so that one can log in to a busy machine. A sandbox
 * may refuse it. */
#define LOW_PRIORITY 5

/* One password on its way to and through a thread. */
struct verification {
	struct thread_job job; /* first; begun once the verification is the first of the queue */
	struct list link;      /* in `queue` */
	struct list waiters;   /* none: nobody wants the answer any more */
	struct keyed_hash digest;
	struct keyed_hash source;
	struct addr_brief from;
	bool known; /* there is such a user; otherwise the answer is no */
	bool right; /* the thread's, until the job is done, like the next */
	bool failed;
	char hash[PASSWORD_HASH_MAX];
	char password[PASSWORD_GIVEN_MAX];
};

struct auth {
	struct ev_loop *loop;	   /* borrows */
	struct web_totals *totals; /* borrows */
	struct ev_async done;
	struct keyed_hash_key key;
	struct list queue; /* owns; the first is under way if `running` */
	unsigned count;	   /* in `queue` */
	bool running;
	struct log_limit limit;
	struct remembered {
		struct keyed_hash digest;
		int64_t until_ns; /* monotonic; 0 = unused */
	} remembered[AUTH_REMEMBERED];
	struct auth_sources sources;
};

/* ---- what is remembered ---- */

static bool is_remembered(const struct auth *a, struct keyed_hash digest, int64_t now_ns)
{
	for (size_t i = 0; i < AUTH_REMEMBERED; i++)
		if (a->remembered[i].until_ns > now_ns && keyed_hash_same(a->remembered[i].digest, digest))
			return true;
	return false;
}

static void remember(struct auth *a, struct keyed_hash digest, int64_t now_ns)
{
	struct remembered *oldest = a->remembered;

	for (size_t i = 1; i < AUTH_REMEMBERED; i++)
		if (a->remembered[i].until_ns < oldest->until_ns)
			oldest = &a->remembered[i];
	*oldest = (struct remembered){digest, now_ns + AUTH_REMEMBERED_NS};
}

/* The hash is part of it, so that a changed password is verified at once. */
static struct keyed_hash digest_of(const struct auth *a, const struct auth_given *given, const char *hash)
{
	char bytes[sizeof(*given) + PASSWORD_HASH_MAX] = "";
	struct keyed_hash digest;

	memcpy(bytes, given, sizeof(*given));
	memcpy(bytes + sizeof(*given), hash, strlen(hash));
	digest = keyed_hash_bytes(&a->key, bytes, sizeof(bytes));
	explicit_bzero(bytes, sizeof(bytes));
	return digest;
}

/* ---- the thread ---- */

static void work(struct thread_job *job)
{
	struct verification *v = container_of(job, struct verification, job);

	(void)setpriority(PRIO_PROCESS, 0, LOW_PRIORITY); /* of this thread alone */
	v->right = password_is_right(v->hash, v->password, &v->failed);
	explicit_bzero(v->password, sizeof(v->password));
}

static void free_verification(struct verification *v)
{
	thread_job_destroy(&v->job);
	explicit_bzero(v, sizeof(*v));
	free(v);
}

static void drop(struct thread_job *job)
{
	free_verification(container_of(job, struct verification, job));
}

static void wake(void *arg)
{
	struct auth *a = arg;

	ev_async_send(a->loop, &a->done);
}

/* ---- the queue ---- */

static struct verification *first_of(const struct auth *a)
{
	return list_entry(a->queue.next, struct verification, link);
}

static void leave_queue(struct auth *a, struct verification *v)
{
	list_remove(&v->link);
	a->count--;
}

static void answer(struct verification *v, enum auth_verdict verdict)
{
	while (!list_empty(&v->waiters)) {
		struct auth_waiter *w = list_entry(v->waiters.next, struct auth_waiter, link);

		list_remove(&w->link);
		w->done(w, verdict);
	}
}

/* Counts and reports a verdict other than AUTH_PASS. */
static void tell(struct auth *a, enum auth_verdict verdict, const struct addr_brief *from)
{
	char address[ADDR_TEXT_MAX];

	a->totals->auth_wrong += verdict == AUTH_WRONG;
	a->totals->auth_throttled += verdict == AUTH_TOO_MANY;
	a->totals->auth_busy += verdict == AUTH_BUSY || verdict == AUTH_FAILED;
	if (verdict == AUTH_WRONG && log_limit_ok(&a->limit, LOG_CAUSE_WEB, 1, clock_mono_ns(), 1))
		log_line(LOG_LEVEL_WARNING, "the HTTP endpoint refused %s: wrong user or password",
			 addr_brief_format(from, address));
	if (verdict == AUTH_FAILED && log_limit_ok(&a->limit, LOG_CAUSE_WEB, 2, clock_mono_ns(), 1))
		log_line(LOG_LEVEL_ERROR,
			 "the HTTP endpoint cannot verify a password: memory or threads are short, or "
			 "libcrypt does not know its hash; 'htpasswd -B' makes one that it knows");
}

/* The answer to one that is out of the queue; frees it. */
static void finish(struct auth *a, struct verification *v, enum auth_verdict verdict)
{
	const int64_t now_ns = clock_mono_ns();

	tell(a, verdict, &v->from);
	if (verdict != AUTH_WRONG)
		auth_sources_take_back(&a->sources, v->source, now_ns);
	if (verdict == AUTH_PASS)
		remember(a, v->digest, now_ns);
	answer(v, verdict);
	free_verification(v);
}

/* Begins the next one, unless one is under way. */
static void go_on(struct auth *a)
{
	while (!a->running && !list_empty(&a->queue)) {
		struct verification *v = first_of(a);

		a->running = thread_job_start(&v->job) == 0;
		if (a->running)
			return;
		leave_queue(a, v);
		finish(a, v, AUTH_FAILED);
	}
}

static enum auth_verdict verdict_of(const struct verification *v)
{
	if (v->failed)
		return AUTH_FAILED;
	return v->right && v->known ? AUTH_PASS : AUTH_WRONG;
}

static void on_done(struct ev_loop *loop, struct ev_async *async, int revents)
{
	struct auth *a = async->data;
	struct verification *v;
	bool done;

	(void)loop;
	(void)revents;
	if (!a->running || !thread_job_is_done(&first_of(a)->job))
		return;
	v = first_of(a);
	a->running = false;
	leave_queue(a, v);
	done = thread_job_leave(&v->job);
	check(done);
	finish(a, v, verdict_of(v));
	go_on(a);
}

/* ---- judging ---- */

/* The hash to verify against. An unknown user gets that of a user, always the same, so that it takes as long.
 */
static const char *hash_of(const struct auth *a, const struct config_auth *users, const char *name,
			   bool *known)
{
	const char *hash;

	*known = false;
	hash = users->list[keyed_hash_sip(a->key.half, name, strlen(name)) % users->count].hash;
	for (size_t i = 0; i < users->count; i++) {
		if (strcmp(users->list[i].name, name) != 0)
			continue;
		*known = true;
		hash = users->list[i].hash;
	}
	return hash;
}

static struct verification *find_same(const struct auth *a, struct keyed_hash digest)
{
	for (struct list *node = a->queue.next; node != &a->queue; node = node->next) {
		struct verification *v = list_entry(node, struct verification, link);

		if (keyed_hash_same(v->digest, digest))
			return v;
	}
	return NULL;
}

static struct verification *new_verification(struct auth *a, const char *hash, const struct auth_given *given)
{
	static const struct thread_job_calls calls = {"weir-password", work, drop};
	const size_t len = strlen(hash);
	struct verification *v = calloc(1, sizeof(*v));

	if (v == NULL)
		return NULL;
	check(len < sizeof(v->hash));
	thread_job_init(&v->job, &calls, wake, a);
	list_init(&v->waiters);
	memcpy(v->hash, hash, len);
	memcpy(v->password, given->password, sizeof(v->password));
	return v;
}

static void join(struct verification *v, struct auth_waiter *w)
{
	list_push_back(&v->waiters, &w->link);
	w->verification = v;
}

/* Adds it to the queue, for `w`. */
static enum auth_verdict enqueue(struct auth *a, struct verification *v, struct auth_waiter *w)
{
	a->running = a->running || thread_job_start(&v->job) == 0;
	if (!a->running) {
		free_verification(v);
		return AUTH_FAILED;
	}
	list_push_back(&a->queue, &v->link);
	a->count++;
	auth_sources_add(&a->sources, v->source, clock_mono_ns());
	join(v, w);
	return AUTH_NONE;
}

static enum auth_verdict judge_given(struct auth *a, const struct config_auth *users,
				     const struct auth_client *client, const struct auth_given *given,
				     struct auth_waiter *w)
{
	struct verification *v;
	struct keyed_hash digest;
	const char *hash;
	bool known;

	hash = hash_of(a, users, given->user, &known);
	digest = digest_of(a, given, hash);
	if (known && is_remembered(a, digest, clock_mono_ns()))
		return AUTH_PASS;
	v = find_same(a, digest);
	if (v != NULL) {
		join(v, w);
		return AUTH_NONE;
	}
	if (a->count > AUTH_QUEUE)
		return AUTH_BUSY;
	v = new_verification(a, hash, given);
	if (v == NULL)
		return AUTH_FAILED;
	v->digest = digest;
	v->source = auth_source_of(&a->key, &client->address, client->uid);
	v->from = client->address;
	v->known = known;
	return enqueue(a, v, w);
}

enum auth_verdict auth_judge(struct auth *a, const struct config_auth *users,
			     const struct auth_client *client, const char *header, struct auth_waiter *w)
{
	const struct keyed_hash source = auth_source_of(&a->key, &client->address, client->uid);
	enum auth_verdict verdict = AUTH_WRONG;
	struct auth_given given;

	check(users->count > 0);
	check(list_empty(&w->link));
	if (header == NULL)
		return AUTH_ASK;
	/* Before all else: a source that guesses must not learn what is remembered of others. */
	if (auth_sources_wait_ns(&a->sources, source, clock_mono_ns()) > 0)
		verdict = AUTH_TOO_MANY;
	else if (auth_header_read(header, &given))
		verdict = judge_given(a, users, client, &given, w);
	else
		auth_sources_add(&a->sources, source, clock_mono_ns());
	explicit_bzero(&given, sizeof(given));
	tell(a, verdict, &client->address);
	return verdict;
}

unsigned auth_retry_s(const struct auth *a, const struct auth_client *client)
{
	const struct keyed_hash source = auth_source_of(&a->key, &client->address, client->uid);
	const int64_t wait_ns = auth_sources_wait_ns(&a->sources, source, clock_mono_ns());

	return (unsigned)((wait_ns + NS_PER_SEC - 1) / NS_PER_SEC);
}

void auth_forget(struct auth *a, struct auth_waiter *w)
{
	struct verification *v = w->verification;

	if (list_empty(&w->link))
		return;
	list_remove(&w->link);
	if (!list_empty(&v->waiters) || (a->running && v == first_of(a)))
		return;
	/* Nobody has learned anything from it. */
	leave_queue(a, v);
	auth_sources_take_back(&a->sources, v->source, clock_mono_ns());
	free_verification(v);
}

/* ---- the whole ---- */

struct auth *auth_new(struct ev_loop *loop, struct web_totals *totals)
{
	struct auth *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->loop = loop;
	a->totals = totals;
	keyed_hash_new_key(&a->key);
	list_init(&a->queue);
	ev_async_init(&a->done, on_done);
	a->done.data = a;
	ev_async_start(loop, &a->done);
	return a;
}

void auth_free(struct auth *a)
{
	if (a == NULL)
		return;
	while (!list_empty(&a->queue)) {
		struct verification *v = first_of(a);

		check(list_empty(&v->waiters));
		leave_queue(a, v);
		/* Otherwise the thread frees it when it returns. */
		if (!a->running || thread_job_leave(&v->job))
			free_verification(v);
		a->running = false;
	}
	ev_async_stop(a->loop, &a->done);
	explicit_bzero(a, sizeof(*a));
	free(a);
}
