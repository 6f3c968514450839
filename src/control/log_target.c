/* SPDX-License-Identifier: MIT
 *
 * log_target.c - one place where log lines go: stderr or a file, with a bounded buffer before it.
 *
 * stderr is shared with other processes, so O_NONBLOCK is not ours to set: a pipe is asked with
 * poll(2) and then given at most PIPE_BUF bytes, which the kernel takes without waiting when it said
 * that there is a free slot; a socket gets MSG_DONTWAIT. Main thread. Floor 5.
 */
#include "sluice/control/log_target.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sluice/base/check.h"
#include "sluice/base/clock.h"
#include "sluice/io/sys.h"

/* A terminal says "writable" while 256 bytes have room (n_tty's WAKEUP_CHARS). */
#define CHUNK_TERMINAL 256u
#define CHUNK_FILE     LOG_TARGET_BYTES

static_assert(LOG_TARGET_LINE_MAX < PIPE_BUF, "a line must fit into one write to a pipe");

size_t log_target_format(bool is_journal, enum log_level level, int64_t wall_ns, const char *text, size_t len,
			 char out[static LOG_TARGET_LINE_MAX])
{
	time_t seconds = (time_t)(wall_ns / NS_PER_SEC);
	struct tm tm;
	int n;

	if (is_journal) {
		n = snprintf(out, LOG_TARGET_LINE_MAX, "<%d>", (int)level);
	} else {
		(void)gmtime_r(&seconds, &tm); /* fails only for years past an int */
		n = snprintf(out, LOG_TARGET_LINE_MAX, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ %s ",
			     tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
			     (int)(wall_ns % NS_PER_SEC / NS_PER_MS), log_level_word(level));
	}
	check(n > 0);
	check((size_t)n < LOG_TARGET_LINE_MAX - 1);
	if (len > LOG_TARGET_LINE_MAX - 1 - (size_t)n)
		len = LOG_TARGET_LINE_MAX - 1 - (size_t)n;
	memcpy(out + n, text, len);
	out[(size_t)n + len] = '\n';
	return (size_t)n + len + 1;
}

/* $JOURNAL_STREAM is "DEVICE:INODE" of the socket that systemd gave us; when stderr was redirected
 * since, the numbers differ (systemd.exec(5)). */
static bool is_journal_stream(const struct stat *st)
{
	const char *text = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;

	if (text == NULL || sscanf(text, "%llu:%llu", &dev, &ino) != 2)
		return false;
	return dev == st->st_dev && ino == st->st_ino;
}

/* Learns from the descriptor how it must be written to. */
static void classify(struct log_target *t)
{
	struct stat st;

	t->kind = LOG_TARGET_NONE;
	if (fstat(t->fd, &st) != 0)
		return;
	t->kind = LOG_TARGET_STREAM;
	t->chunk = PIPE_BUF;
	if (S_ISREG(st.st_mode)) {
		t->kind = LOG_TARGET_FILE;
		t->chunk = CHUNK_FILE;
	} else if (S_ISSOCK(st.st_mode)) {
		t->kind = LOG_TARGET_SOCKET;
	} else if (S_ISCHR(st.st_mode)) {
		t->chunk = CHUNK_TERMINAL;
	}
	t->is_journal = !t->is_file && is_journal_stream(&st);
}

/* O_NONBLOCK so that a FIFO without a reader is an error now instead of a hang. */
static int open_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);

	return fd < 0 ? -errno : fd;
}

int log_target_open(struct log_target *t, const struct config_log *c)
{
	t->config = c;
	t->kind = LOG_TARGET_NONE;
	t->fd = -1;
	t->is_file = false;
	t->is_journal = false;
	t->level = c != NULL ? c->level : LOG_LEVEL_INFO;
	t->lost = 0;
	t->start = 0;
	t->end = 0;
	if (c != NULL && c->kind == CONFIG_LOG_OFF)
		return 0;
	if (c != NULL && c->kind == CONFIG_LOG_FILE) {
		t->fd = open_file(c->path);
		if (t->fd < 0)
			return t->fd;
		t->is_file = true;
	} else {
		t->fd = STDERR_FILENO;
	}
	classify(t);
	return 0;
}

void log_target_close(struct log_target *t)
{
	if (t->is_file)
		sys_close(t->fd);
	t->fd = -1;
	t->is_file = false;
	t->kind = LOG_TARGET_NONE;
	t->start = t->end = 0;
}

int log_target_reopen(struct log_target *t)
{
	int fd;

	if (!t->is_file)
		return 0;
	fd = open_file(t->config->path);
	if (fd < 0)
		return fd;
	/* What waits for a slow FIFO goes to the new file: no line is cut in two, because writes to a
	 * pipe end at line ends. */
	sys_close(t->fd);
	t->fd = fd;
	classify(t);
	return 0;
}

bool log_target_has_room(const struct log_target *t)
{
	return t->kind == LOG_TARGET_NONE || LOG_TARGET_BYTES - (t->end - t->start) >= LOG_TARGET_LINE_MAX;
}

void log_target_add(struct log_target *t, enum log_level level, int64_t wall_ns, const char *text, size_t len)
{
	if (t->kind == LOG_TARGET_NONE || (int)level > t->level)
		return;
	if (!log_target_has_room(t)) {
		t->lost++;
		return;
	}
	if (LOG_TARGET_BYTES - t->end < LOG_TARGET_LINE_MAX) {
		memmove(t->bytes, t->bytes + t->start, t->end - t->start);
		t->end -= t->start;
		t->start = 0;
	}
	t->end += log_target_format(t->is_journal, level, wall_ns, text, len, t->bytes + t->end);
	check(t->end <= LOG_TARGET_BYTES);
}

/* How much to write at once: whole lines where the chunk allows it, so that the lines of two
 * processes on one pipe do not mix. */
static size_t next_chunk(const struct log_target *t)
{
	size_t len = t->end - t->start;
	const char *last;

	if (len <= t->chunk)
		return len;
	last = memrchr(t->bytes + t->start, '\n', t->chunk);
	return last != NULL ? (size_t)(last - (t->bytes + t->start)) + 1 : t->chunk;
}

static ssize_t write_some(const struct log_target *t, size_t len)
{
	const char *from = t->bytes + t->start;
	struct pollfd pfd = {.fd = t->fd, .events = POLLOUT};
	ssize_t n;

	if (t->kind == LOG_TARGET_SOCKET)
		return sys_send(t->fd, from, len);
	if (t->kind == LOG_TARGET_STREAM) {
		n = poll(&pfd, 1, 0);
		if (n < 0)
			return errno == EINTR ? -EAGAIN : -errno;
		if (n == 0)
			return -EAGAIN;
	}
	return sys_write(t->fd, from, len);
}

static uint64_t count_lines(const char *bytes, size_t len)
{
	uint64_t lines = 0;

	for (size_t i = 0; i < len; i++)
		lines += bytes[i] == '\n';
	return lines;
}

int log_target_flush(struct log_target *t)
{
	ssize_t n;

	while (!log_target_is_empty(t)) {
		n = write_some(t, next_chunk(t));
		if (n == -EAGAIN)
			return -EAGAIN;
		if (n < 0) {
			/* A full disk, a reader that left: waiting would not help, and there is nobody to
			 * tell. The count is in `show info`. */
			t->lost += count_lines(t->bytes + t->start, t->end - t->start);
			t->start = t->end;
			break;
		}
		t->start += (size_t)n;
		check(t->start <= t->end);
	}
	t->start = t->end = 0;
	return 0;
}
