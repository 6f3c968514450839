/* SPDX-License-Identifier: MIT
 *
 * log_file.c - a thread that writes one log file, so that a disk that hangs delays nobody else.
 *
 * The queue is under a lock. The thread copies a batch of whole lines out of it and writes them without the
 * lock. Under the lock only two system calls are made, which cannot hang: one to wake the thread, one to
 * return the pages of an empty queue. The thread sleeps in poll(2) on its own eventfd, so that it can wait
 * for a pipe too. It is joined if it ends in time. If it hangs while the process ends, it is detached, and
 * frees the structure itself should it ever return. The thread logs nothing.
 */
#include "log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/crash_report.h"
#include "weir/base/thread.h"
#include "weir/sys/sys.h"
#include "log_out.h"
#include "log_queue.h"

/* A write that takes this long or longer is reported. */
#define STALL_NS NS_PER_SEC

struct log_file {
	pthread_t thread;
	struct log_file_start start; /* its path is an owned copy */
	int wake_fd;		     /* owns: an eventfd, for waking the thread */

	/* Used by the thread only. */
	struct log_out out;
	size_t batch_at;
	size_t batch_end;
	bool stuck; /* the stream had no room last time */

	pthread_mutex_t lock; /* protects everything below */
	pthread_cond_t news;  /* the thread became idle, or ended */
	bool asleep;	      /* the thread waits for its eventfd with nothing to do */
	bool wants_room;
	bool leaving; /* to end once everything is written */
	bool hurried; /* and not to wait for a pipe until then */
	bool quit;    /* control has gone: do not call `wake` */
	bool left; /* abandoned: the thread frees everything */
	bool ended;
	unsigned asked;	    /* number of reopens requested */
	int64_t since_ns;   /* when the current write began; 0 = none */
	struct log_file_view view;

	struct log_queue queue; /* protected, too; from here on not even cleared: most of it is never used */
	char batch[LOG_OUT_BYTES]; /* the thread's */
};

static void *log_file_run(void *arg);

/* Mutex calls fail only through our own mistakes. */
static void lock(struct log_file *f)
{
	const int err = pthread_mutex_lock(&f->lock);

	check(err == 0);
}

static void unlock(struct log_file *f)
{
	const int err = pthread_mutex_unlock(&f->lock);

	check(err == 0);
}

/* ---- life ---- */

static void destroy(struct log_file *f)
{
	check(!f->start.owned); /* the thread closed it */
	f->queue.used = 0; /* what could not be written is lost */
	log_queue_give_back(&f->queue);
	if (f->wake_fd >= 0)
		sys_close(f->wake_fd);
	free((char *)f->start.path);
	(void)pthread_cond_destroy(&f->news);
	(void)pthread_mutex_destroy(&f->lock);
	free(f);
}

static void init_locks(struct log_file *f)
{
	pthread_condattr_t monotonic;

	/* None of these fails on Linux with these attributes. */
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&f->news, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	(void)pthread_mutex_init(&f->lock, NULL);
}

struct log_file *log_file_new(const struct log_file_start *s, int *err)
{
	struct log_file *f = malloc(sizeof(*f));

	*err = -ENOMEM;
	if (f == NULL)
		return NULL;
	memset(f, 0, offsetof(struct log_file, queue));
	log_queue_init(&f->queue);
	f->start = *s;
	f->start.path = s->path != NULL ? strdup(s->path) : NULL;
	init_locks(f);
	log_out_init(&f->out, s->fd);
	f->wake_fd = sys_eventfd();
	if (f->wake_fd < 0)
		*err = f->wake_fd;
	else if (f->out.kind == LOG_OUT_NONE)
		*err = -EIO; /* not even fstat(2) worked */
	else if (s->path == NULL || f->start.path != NULL)
		*err = thread_start(&f->thread, log_file_run, f);
	if (*err) {
		f->start.owned = false;
		destroy(f);
		return NULL;
	}
	return f;
}

/* Wakes the thread whatever it waits for. */
static void ring_bell(const struct log_file *f)
{
	const uint64_t one = 1;

	(void)sys_write(f->wake_fd, &one, sizeof(one)); /* if full, the thread is being woken already */
}

/* Waits for `news`, holding the lock; false on timeout. */
static bool wait_news(struct log_file *f, int64_t deadline_ns)
{
	const struct timespec at = {.tv_sec = deadline_ns / NS_PER_SEC, .tv_nsec = deadline_ns % NS_PER_SEC};

	return pthread_cond_timedwait(&f->news, &f->lock, &at) == 0;
}

void log_file_free(struct log_file *f, int timeout_ms)
{
	const int64_t deadline_ns = clock_mono_ns() + timeout_ms * NS_PER_MS;
	pthread_t thread;
	bool ended;

	if (f == NULL)
		return;
	lock(f);
	f->leaving = f->hurried = f->quit = true;
	ring_bell(f);
	while (!f->ended && wait_news(f, deadline_ns))
		continue;
	ended = f->ended;
	f->left = !ended;
	thread = f->thread;
	unlock(f);
	if (!ended) {
		(void)pthread_detach(thread); /* it sees `left` and destroys `f` itself */
		return;
	}
	(void)pthread_join(thread, NULL);
	destroy(f);
}

/* ---- called by control ---- */

size_t log_file_put(struct log_file *f, const char *lines, size_t len)
{
	size_t taken;

	lock(f);
	taken = log_queue_put(&f->queue, lines, len);
	f->wants_room = f->wants_room || taken < len;
	if (f->asleep && taken > 0) {
		f->asleep = false;
		ring_bell(f);
	}
	unlock(f);
	return taken;
}

void log_file_reopen(struct log_file *f)
{
	check(f->start.path != NULL);
	lock(f);
	f->asked++;
	f->asleep = false;
	ring_bell(f); /* also when it waits for a pipe */
	unlock(f);
}

void log_file_leave(struct log_file *f)
{
	lock(f);
	f->leaving = true;
	f->asleep = false;
	ring_bell(f);
	unlock(f);
}

void log_file_hurry(struct log_file *f)
{
	lock(f);
	check(f->leaving);
	f->hurried = true;
	ring_bell(f);
	unlock(f);
}

bool log_file_has_ended(struct log_file *f)
{
	bool ended;

	lock(f);
	ended = f->ended;
	unlock(f);
	return ended;
}

const int *log_file_fd(const struct log_file *f)
{
	return &f->start.fd;
}

void log_file_look(struct log_file *f, struct log_file_view *view)
{
	lock(f);
	*view = f->view;
	view->waiting_ns = f->since_ns != 0 ? clock_mono_ns() - f->since_ns : 0;
	unlock(f);
}

static bool is_idle(const struct log_file *f)
{
	return f->ended || (f->queue.used == 0 && f->since_ns == 0 && f->asked == f->view.opened);
}

bool log_file_wait(struct log_file *f, int timeout_ms)
{
	const int64_t deadline_ns = clock_mono_ns() + timeout_ms * NS_PER_MS;
	bool idle;

	lock(f);
	while (!is_idle(f) && wait_news(f, deadline_ns))
		continue;
	idle = is_idle(f);
	unlock(f);
	return idle;
}

/* ---- run by the thread; every function holds the lock unless it says otherwise ---- */

/* Without the lock: waits until woken, or until the stream takes bytes. */
static void sleep_until(struct log_file *f, bool for_room)
{
	struct pollfd fds[] = {{.fd = f->wake_fd, .events = POLLIN}, {.fd = f->out.fd, .events = POLLOUT}};
	uint64_t rung;

	if (poll(fds, for_room ? 2 : 1, -1) > 0 && fds[0].revents != 0)
		(void)sys_read(f->wake_fd, &rung, sizeof(rung)); /* only to reset it */
}

static void wake_control(const struct log_file *f)
{
	if (!f->quit)
		f->start.wake(f->start.arg);
}

/* Copies whole lines into the batch; false if there are none. */
static bool take_batch(struct log_file *f)
{
	f->batch_at = 0;
	f->batch_end = log_queue_take(&f->queue, f->batch, sizeof(f->batch));
	if (f->batch_end == 0)
		return false;
	if (f->wants_room && f->queue.used <= LOG_QUEUE_BYTES / 2) {
		f->wants_room = false;
		wake_control(f);
	}
	return true;
}

/* The current write, or opening, is over. True if it took so long that it should be reported. */
static bool note_time(struct log_file *f)
{
	const int64_t now_ns = clock_mono_ns();
	const int64_t took_ns = now_ns - f->since_ns;
	const bool stalled = f->out.kind == LOG_OUT_FILE && took_ns >= STALL_NS;

	if (stalled)
		f->view.stalled_ns += took_ns;
	f->since_ns = now_ns;
	return stalled;
}

/* A full disk or a reader that left: waiting would not help. */
static void drop_batch(struct log_file *f)
{
	for (size_t i = f->batch_at; i < f->batch_end; i++)
		f->view.lost += f->batch[i] == '\n';
	f->batch_at = f->batch_end;
	f->view.refused = true;
	log_out_drop(&f->out);
}

static void wait_for_room(struct log_file *f)
{
	/* The wake-up for the end may have been consumed already. */
	if (f->hurried)
		return;
	unlock(f);
	sleep_until(f, true);
	lock(f);
}

static void write_batch(struct log_file *f)
{
	bool news;
	ssize_t n;

	unlock(f);
	n = log_out_write(&f->out, f->batch + f->batch_at, f->batch_end - f->batch_at);
	lock(f);
	f->stuck = n == -EAGAIN;
	if (f->stuck) {
		wait_for_room(f);
		return;
	}
	news = note_time(f);
	if (n < 0) {
		drop_batch(f);
		return;
	}
	f->batch_at += (size_t)n;
	news = news || f->view.refused;
	f->view.refused = false;
	if (news)
		wake_control(f);
}

/* The old file has the beginning of a line, so the rest of it goes to neither file. */
static void skip_begun(struct log_file *f)
{
	const char *end;

	if (!f->out.begun || f->batch_at == f->batch_end)
		return;
	end = memchr(f->batch + f->batch_at, '\n', f->batch_end - f->batch_at);
	check(end != NULL);
	f->batch_at = (size_t)(end - f->batch) + 1;
	f->view.lost++;
}

/* Moves the newly opened file to the descriptor number of the old file, which this closes. log_file_fd()
 * lends the number, so it must never refer to anything else. 0 or -errno. */
static int put_in_place(struct log_file *f, struct log_out *out)
{
	const int fd = f->start.open(f->start.path);
	int err = 0;

	if (fd < 0)
		return fd;
	log_out_init(out, fd);
	if (out->kind == LOG_OUT_NONE)
		err = -EIO; /* not even fstat(2) worked */
	else if (dup3(fd, f->start.fd, O_CLOEXEC) < 0)
		err = -errno;
	sys_close(fd);
	out->fd = f->start.fd;
	return err;
}

static void open_again(struct log_file *f)
{
	const unsigned asked = f->asked;
	struct log_out out;
	int err;

	f->since_ns = clock_mono_ns();
	unlock(f);
	err = put_in_place(f, &out);
	lock(f);
	if (!err) {
		skip_begun(f);
		f->out = out;
	}
	(void)note_time(f); /* the next write reports it */
	f->view.open_err = err;
	f->view.opened = asked;
	wake_control(f);
}

static void sleep_until_news(struct log_file *f)
{
	log_queue_give_back(&f->queue);
	f->since_ns = 0;
	f->asleep = true;
	(void)pthread_cond_broadcast(&f->news);
	unlock(f);
	sleep_until(f, false);
	lock(f);
	f->asleep = false;
}

/* At the end the thread still writes what is queued, as long as it does not hang. */
static bool goes_on(const struct log_file *f)
{
	if (!f->leaving)
		return true;
	if (f->left || (f->stuck && f->hurried))
		return false;
	return f->queue.used > 0 || f->batch_at < f->batch_end;
}

/* What the end did not wait for. */
static void drop_rest(struct log_file *f)
{
	const uint64_t before = f->view.lost;

	do
		drop_batch(f);
	while (take_batch(f));
	f->view.unwritten += f->view.lost - before;
}

static void *log_file_run(void *arg)
{
	struct log_file *f = arg;
	bool left;

	crash_report_thread("weir-log");
	lock(f);
	while (goes_on(f)) {
		if (f->asked != f->view.opened) {
			open_again(f);
		} else if (f->batch_at < f->batch_end || take_batch(f)) {
			if (f->since_ns == 0)
				f->since_ns = clock_mono_ns();
			write_batch(f);
		} else {
			sleep_until_news(f);
		}
	}
	drop_rest(f);
	unlock(f);
	if (f->start.owned)
		sys_close(f->start.fd); /* may hang too */
	lock(f);
	f->start.owned = false;
	f->since_ns = 0;
	f->ended = true;
	left = f->left;
	(void)pthread_cond_broadcast(&f->news);
	wake_control(f);
	unlock(f);
	/* Abandoned: nobody else has `f` any more. */
	if (left)
		destroy(f);
	return NULL;
}
