/* SPDX-License-Identifier: MIT
 *
 * writer_rig.h - a logwriter that reads one ring, with a file as its first target and room for others.
 */
#ifndef WEIR_TESTS_WRITER_RIG_H
#define WEIR_TESTS_WRITER_RIG_H

#include <dirent.h>
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "weir/base/log.h"
#include "weir/logging/logwriter.h"

#define FILES 3

struct rig {
	struct ev_loop *loop;
	struct log_ring *ring;
	struct ev_async news;
	struct logwriter *writer;
	struct log_outlet *first;
	char folder[32];
	char paths[FILES][64];
	struct config_log configs[FILES];
	int64_t deadline_ns;
	size_t fds; /* open, and threads, when only the first target was there */
	size_t threads;
};

static inline size_t count_entries(const char *path)
{
	DIR *dir = opendir(path);
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		n++;
	assert_int_equal(closedir(dir), 0);
	return n;
}

static inline void count_all(size_t *fds, size_t *threads)
{
	*fds = count_entries("/proc/self/fd");
	*threads = count_entries("/proc/self/task");
}

static inline void wake(void *arg)
{
	struct rig *r = arg;

	ev_async_send(r->loop, &r->news);
}

static inline void on_news(struct ev_loop *loop, struct ev_async *async, int revents)
{
	struct rig *r = async->data;

	(void)loop;
	(void)revents;
	logwriter_wake(r->writer);
}

static inline int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct config_global g;
	const struct config_log *failed;
	int err;

	if (r == NULL)
		return -1;
	(void)snprintf(r->folder, sizeof(r->folder), "/tmp/weir-log-XXXXXX");
	if (mkdtemp(r->folder) == NULL)
		return -1;
	for (int i = 0; i < FILES; i++) {
		(void)snprintf(r->paths[i], sizeof(r->paths[i]), "%s/%d", r->folder, i);
		r->configs[i] = (struct config_log){
			.kind = CONFIG_LOG_FILE, .path = r->paths[i], .level = LOG_LEVEL_INFO};
	}
	memset(&g, 0, sizeof(g));
	g.logs = r->configs;
	g.log_count = 1;
	r->loop = ev_loop_new(EVFLAG_AUTO);
	r->writer = logwriter_new(r->loop, &g, &failed, &err);
	r->ring = log_ring_new(wake, r);
	ev_async_init(&r->news, on_news);
	r->news.data = r;
	ev_async_start(r->loop, &r->news);
	if (r->writer == NULL || r->ring == NULL || logwriter_add_ring(r->writer, r->ring) != 0 ||
	    logwriter_start(r->writer, &failed) != 0)
		return -1;
	log_use_ring(r->ring);
	r->first = logwriter_next_target(r->writer, NULL);
	r->deadline_ns = clock_mono_ns() + 20 * NS_PER_SEC;
	(void)ev_run(r->loop, EVRUN_NOWAIT); /* libev opens its own descriptors */
	count_all(&r->fds, &r->threads);
	*state = r;
	return 0;
}

static inline int teardown(void **state)
{
	struct rig *r = *state;

	log_use_ring(NULL);
	logwriter_free(r->writer);
	log_ring_free(r->ring);
	ev_async_stop(r->loop, &r->news);
	ev_loop_destroy(r->loop);
	for (int i = 0; i < FILES; i++)
		(void)unlink(r->paths[i]);
	(void)rmdir(r->folder);
	free(r);
	return 0;
}

/* One turn of control. */
static inline void turn(struct rig *r)
{
	assert_true(clock_mono_ns() < r->deadline_ns);
	(void)ev_run(r->loop, EVRUN_NOWAIT);
	(void)poll(NULL, 0, 1);
}

/* Until nothing is left but `targets` files, each with its descriptors and its thread. */
static inline void wait_targets(struct rig *r, size_t targets)
{
	size_t fds, threads;

	do {
		turn(r);
		count_all(&fds, &threads);
	} while (fds != r->fds + 2 * (targets - 1) || threads != r->threads + targets - 1);
}

static inline const char *text_of(const char *path)
{
	static char text[4 << 20];
	const int fd = open(path, O_RDONLY);
	ssize_t n = 0;

	if (fd >= 0)
		n = read(fd, text, sizeof(text) - 1);
	assert_true(n >= 0);
	text[n] = '\0';
	if (fd >= 0)
		close(fd);
	return text;
}

static inline size_t lines_in(const char *path)
{
	size_t n = 0;

	/* Under ASan, strchr() would read the rest of the file each time. */
	for (const char *at = text_of(path); *at != '\0'; at++)
		n += *at == '\n';
	return n;
}

static inline void wait_line(struct rig *r, int file, const char *line)
{
	while (strstr(text_of(r->paths[file]), line) == NULL)
		turn(r);
}

static inline struct log_outlet *add(struct rig *r, const struct config_log *c)
{
	struct log_outlet *o;
	int err;

	o = logwriter_open_target(c, &err);
	assert_non_null(o);
	assert_int_equal(logwriter_prepare_target(r->writer, o), 0);
	logwriter_commit_target(r->writer, o);
	return o;
}

#endif
