/* SPDX-License-Identifier: MIT
 *
 * log_target.c - one destination of log lines: stderr, a file or syslog, with a bounded buffer in front.
 *
 * Owns a copy of its settings. Writes from its own buffer, or moves its contents to the queue of its thread.
 * log_out.c knows how to write to a descriptor. Main thread, except log_target_open().
 */
#include "log_target.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/file.h"
#include "weir/sys/low_fds.h"
#include "weir/sys/sys.h"

/* Minimum time between reports of lost lines, as each report may be lost too. */
#define TELL_NS (NS_PER_SEC / 2)
/* Longest wait for a thread at the end; it has already had time to write. */
#define END_MS 300

static_assert(LOG_LINE_MAX < PIPE_BUF, "a line must fit into one write to a pipe");

/* $JOURNAL_STREAM is "DEVICE:INODE" of the socket that systemd passed to us. If stderr has been redirected
 * since, the numbers differ (systemd.exec(5)). */
static bool is_journal_stream(const struct stat *st)
{
	const char *text = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;

	if (text == NULL || sscanf(text, "%llu:%llu", &dev, &ino) != 2)
		return false;
	return dev == st->st_dev && ino == st->st_ino;
}

/* Finds out how to write to the descriptor. */
static void classify(struct log_target *t)
{
	struct stat st;

	log_out_init(&t->out, t->fd);
	t->kind = t->out.kind != LOG_OUT_NONE ? LOG_TARGET_OUT : LOG_TARGET_NONE;
	if (!t->is_file && fstat(t->fd, &st) == 0 && is_journal_stream(&st))
		t->layout.head = LOG_HEAD_PRIORITY;
}

/* O_NONBLOCK makes a FIFO without a reader fail now instead of hanging. */
static int open_file(const char *path, bool *made)
{
	return file_open(path, O_WRONLY | O_APPEND | O_NONBLOCK, 0640, made);
}

static void init_syslog(struct log_target *t)
{
	const struct config_log *c = &t->config;

	t->kind = LOG_TARGET_SYSLOG;
	t->layout.facility = log_layout_facility(c->facility);
	t->layout.head = LOG_HEAD_SYSLOG_LOCAL;
	if (c->address.kind != ADDR_UNIX) {
		t->layout.head = LOG_HEAD_SYSLOG;
		log_layout_find_host(&t->layout);
	}
	log_syslog_init(&t->syslog, &t->config.address.addr);
}

static int open_target(struct log_target *t)
{
	const struct config_log *c = &t->config;

	t->level = c->level;
	log_layout_set_format(&t->layout, c->format);
	if (c->kind == CONFIG_LOG_OFF)
		return 0;
	if (c->kind == CONFIG_LOG_SYSLOG) {
		init_syslog(t);
		return 0;
	}
	t->fd = STDERR_FILENO;
	if (c->kind == CONFIG_LOG_FILE) {
		t->fd = open_file(c->path, &t->made);
		if (t->fd < 0)
			return t->fd;
		t->is_file = true;
		if (t->made)
			log_made_note(&t->made_file, t->fd);
	}
	classify(t);
	return t->is_file && t->kind == LOG_TARGET_NONE ? -EIO : 0; /* not even fstat(2) worked */
}

int log_target_open(struct log_target *t, const struct config_log *c)
{
	int err;

	memset(t, 0, offsetof(struct log_target, bytes));
	t->fd = -1;
	t->syslog.fd = -1;
	err = log_settings_copy(&t->config, c);
	if (!err)
		err = open_target(t);
	if (err)
		log_target_close(t);
	return err;
}

int log_target_connect(struct log_target *t)
{
	int err;

	if (!log_target_is_absent(t))
		return 0;
	err = t->claimed ? 0 : low_fds_claim(1);
	if (err)
		return err;
	t->claimed = true;
	return log_syslog_connect(&t->syslog);
}

void log_target_set_address(struct log_target *t, const struct addr *a)
{
	check(t->config.address.kind == ADDR_NAME);
	log_syslog_close(&t->syslog);
	t->config.address.addr = *a;
	t->syslog.retry_ns = 0; /* it may connect at once */
}

void log_target_unmake(const struct log_target *t)
{
	if (t->is_file && t->made)
		log_made_remove(&t->made_file, t->config.path);
}

const char *log_target_name(const struct log_target *t, char buf[static ADDR_TEXT_MAX])
{
	if (t->is_file)
		return t->config.path;
	return t->kind == LOG_TARGET_SYSLOG ? addr_spec_format(&t->config.address, buf) : "stderr";
}

/* The descriptor changes as files are reopened and syslog daemons come and go; the place where it is stored
 * does not. */
void log_target_report_crashes(struct log_target *t)
{
	if (t->kind == LOG_TARGET_NONE)
		return;
	t->crash_report.fd = t->kind == LOG_TARGET_SYSLOG ? &t->syslog.fd : &t->fd;
	if (t->is_file && t->file != NULL)
		t->crash_report.fd = log_file_fd(t->file);
	log_layout_frame(&t->layout, t->crash_report.frame);
	crash_report_add(&t->crash_report);
}

void log_target_close(struct log_target *t)
{
	crash_report_remove(&t->crash_report);
	log_file_free(t->file, END_MS);
	if (t->is_file && t->fd >= 0)
		sys_close(t->fd);
	log_syslog_close(&t->syslog);
	if (t->claimed)
		low_fds_unclaim(1);
	t->claimed = false;
	log_settings_free(&t->config);
	t->file = NULL;
	t->fd = -1;
	t->is_file = false;
	t->kind = LOG_TARGET_NONE;
	t->start = t->end = 0;
}

/* Called by the thread: opens the file after a rotation. */
static int open_again(const char *path)
{
	bool made;

	return open_file(path, &made);
}

int log_target_start(struct log_target *t, void (*wake)(void *arg), void *arg)
{
	const struct log_file_start start = {
		.fd = t->fd,
		.owned = t->is_file,
		.path = t->is_file ? t->config.path : NULL,
		.open = open_again,
		.wake = wake,
		.arg = arg,
	};
	int err = 0;

	check(t->file == NULL);
	if (t->kind != LOG_TARGET_OUT || t->out.kind == LOG_OUT_SOCKET)
		return 0;
	t->file = log_file_new(&start, &err);
	if (t->file != NULL && t->is_file) {
		t->crash_report.fd = log_file_fd(t->file);
		t->fd = -1;
	}
	return err;
}

void log_target_give(struct log_target *t, uid_t uid, gid_t gid)
{
	/* If refused (a file system without owners), the file stays as it is; reopening it then reports the
	 * error. */
	if (t->is_file && t->made && fchown(t->fd, uid, gid) == 0)
		t->made = false;
}

bool log_target_reopen(struct log_target *t)
{
	if (!t->is_file || t->file == NULL)
		return false;
	log_file_reopen(t->file);
	return true;
}

unsigned log_target_opened(const struct log_target *t, int *err)
{
	struct log_file_view view;

	log_file_look(t->file, &view);
	*err = view.open_err;
	return view.opened;
}

bool log_target_tell_opened(const struct log_target *t)
{
	int err;

	(void)log_target_opened(t, &err);
	if (err)
		log_line(LOG_LEVEL_ERROR,
			 "SIGUSR1: cannot open %s again: %s; the old file stays in use; the user "
			 "weir runs as must be allowed to write there",
			 t->config.path, strerror(-err));
	return err == 0;
}

void log_target_tell_absent(const struct log_target *t)
{
	char text[ADDR_TEXT_MAX];

	/* A name is told when it cannot be resolved. */
	if (log_target_is_absent(t) && t->config.address.kind != ADDR_NAME)
		log_line(LOG_LEVEL_WARNING,
			 "log = syslog:%s: no daemon listens there; its lines are lost until one does",
			 addr_spec_format(&t->config.address, text));
}

uint64_t log_target_lost(const struct log_target *t)
{
	struct log_file_view view = {.lost = 0};

	if (t->file != NULL)
		log_file_look(t->file, &view);
	return t->lost + view.lost;
}

int64_t log_target_stalled_ns(const struct log_target *t)
{
	struct log_file_view view = {.stalled_ns = t->stall_told_ns};

	if (t->file != NULL)
		log_file_look(t->file, &view);
	return view.stalled_ns - t->stall_told_ns;
}

int64_t log_target_waiting_ns(const struct log_target *t)
{
	struct log_file_view view = {.waiting_ns = 0};

	if (t->file != NULL)
		log_file_look(t->file, &view);
	return view.waiting_ns;
}

void log_target_tell_stall(struct log_target *t, uint64_t lines, char *buf, size_t room)
{
	const int64_t ns = log_target_stalled_ns(t);

	/* Most paths are shorter; a truncated one will do. */
	(void)snprintf(buf, room, "%llu log lines were lost: %s%.900s was not written for %lld s",
		       (unsigned long long)lines, t->is_file ? "the log file " : "",
		       t->is_file ? t->config.path : "stderr", (long long)(ns / NS_PER_SEC));
	t->stall_told_ns += ns;
}

bool log_target_has_room(const struct log_target *t)
{
	return t->kind == LOG_TARGET_NONE || LOG_TARGET_BYTES - (t->end - t->start) >= LOG_LINE_MAX;
}

void log_target_add(struct log_target *t, const struct log_entry *e, const char *text)
{
	if (!log_target_wants(t, e->level))
		return;
	if (!log_target_has_room(t)) {
		t->lost++;
		t->no_room++;
		return;
	}
	if (LOG_TARGET_BYTES - t->end < LOG_LINE_MAX) {
		memmove(t->bytes, t->bytes + t->start, t->end - t->start);
		t->end -= t->start;
		t->start = 0;
	}
	t->end += log_layout_line(&t->layout, e, text, t->bytes + t->end);
	check(t->end <= LOG_TARGET_BYTES);
}

/* Returns the bytes of the buffer it is finished with, or -errno if none can be written. syslog gets one line
 * at a time; lines it refuses are counted here. */
static ssize_t write_syslog(struct log_target *t)
{
	const char *from = t->bytes + t->start;
	const char *last = memchr(from, '\n', t->end - t->start);
	const uint64_t refused = t->syslog.refused;
	enum log_sent result;
	size_t sent, len;

	check(last != NULL);
	len = (size_t)(last - from) + 1;
	result = log_syslog_send(&t->syslog, from, len, &sent);
	t->lost += t->syslog.refused - refused;
	switch (result) {
	case LOG_SENT_ALL:
	case LOG_SENT_PART:
		return (ssize_t)sent;
	case LOG_SENT_WAIT:
		return -EAGAIN;
	case LOG_SENT_LOST:
		t->lost++;
		return (ssize_t)len;
	case LOG_SENT_ABSENT:
		break;
	}
	return -ENOTCONN;
}

static ssize_t write_some(struct log_target *t)
{
	if (t->kind == LOG_TARGET_SYSLOG)
		return write_syslog(t);
	return log_out_write(&t->out, t->bytes + t->start, t->end - t->start);
}

/* A full disk or a reader that left: waiting would not help. `show info` has the count. */
static void drop_all(struct log_target *t)
{
	for (size_t i = t->start; i < t->end; i++)
		t->lost += t->bytes[i] == '\n';
	log_out_drop(&t->out);
	t->start = t->end = 0;
}

void log_target_leave(struct log_target *t)
{
	crash_report_remove(&t->crash_report);
	t->leaving = true;
}

bool log_target_has_left(struct log_target *t)
{
	check(t->leaving);
	if (!log_target_is_empty(t))
		return false;
	if (t->file == NULL)
		return true;
	if (!t->told_thread)
		log_file_leave(t->file);
	t->told_thread = true;
	return log_file_has_ended(t->file);
}

void log_target_hurry(struct log_target *t)
{
	const uint64_t lost = t->lost;

	/* Dropping would not end a write that hangs, and one that does not hang needs no hurry. */
	if (t->file != NULL && t->out.kind == LOG_OUT_FILE)
		return;
	drop_all(t);
	t->no_room += t->lost - lost;
	if (!log_target_has_left(t))
		log_file_hurry(t->file);
}

uint64_t log_target_late(const struct log_target *t)
{
	struct log_file_view view = {.unwritten = 0};

	if (t->file != NULL)
		log_file_look(t->file, &view);
	return t->no_room + view.unwritten;
}

/* Lines can be written again: adds one to the empty buffer that reports how many were lost. */
static void tell_lost(struct log_target *t)
{
	const int64_t now_ns = clock_mono_ns();
	const uint64_t lost = log_target_lost(t);
	char sentence[LOG_RECORD_MAX];
	char text[LOG_TEXT_MAX];
	struct log_entry e;

	if (lost == t->lost_told || (t->told_ns != 0 && now_ns - t->told_ns < TELL_NS))
		return;
	if (log_target_stalled_ns(t) > 0)
		log_target_tell_stall(t, lost - t->lost_told, sentence, sizeof(sentence));
	else
		(void)snprintf(sentence, sizeof(sentence), /* always fits */
			       "%llu log lines were lost: this target refused them, or had no room",
			       (unsigned long long)(lost - t->lost_told));
	t->told_ns = now_ns;
	t->lost_told = lost;
	e = log_entry_of_text(LOG_LEVEL_WARNING, clock_wall_ns(), sentence);
	(void)log_entry_format(&e, t->layout.style, text, sizeof(text));
	log_target_add(t, &e, text);
}

/* 0, or -EAGAIN if the queue is full. */
static int give_to_thread(struct log_target *t)
{
	t->start += log_file_put(t->file, t->bytes + t->start, t->end - t->start);
	if (!log_target_is_empty(t))
		return -EAGAIN;
	t->start = t->end = 0;
	return 0;
}

static int flush_to_thread(struct log_target *t)
{
	struct log_file_view view;
	int err = give_to_thread(t);

	if (err)
		return err;
	log_file_look(t->file, &view);
	/* Not while the thread hangs or is refused: the report could be lost too. */
	if (view.refused || view.waiting_ns >= NS_PER_SEC)
		return 0;
	tell_lost(t);
	return give_to_thread(t);
}

bool log_target_wait(struct log_target *t, int timeout_ms)
{
	struct pollfd pfd = {.fd = log_target_fd(t), .events = POLLOUT};

	if (t->file != NULL)
		return log_file_wait(t->file, timeout_ms) && log_target_is_empty(t);
	/* A signal ends the wait early; the caller retries. */
	if (!log_target_is_empty(t))
		(void)poll(&pfd, 1, timeout_ms);
	return log_target_is_empty(t);
}

int log_target_flush(struct log_target *t)
{
	bool told = false;

	if (t->file != NULL)
		return flush_to_thread(t);
	while (!log_target_is_empty(t)) {
		uint64_t lost = t->lost;
		ssize_t n = write_some(t);

		if (n == -EAGAIN)
			return -EAGAIN;
		if (n < 0) {
			drop_all(t);
			break;
		}
		t->start += (size_t)n;
		check(t->start <= t->end);
		if (!log_target_is_empty(t))
			continue;
		t->start = t->end = 0;
		/* Only after a line that was sent, and once: the report may be refused too. */
		if (!told && lost == t->lost)
			tell_lost(t);
		told = true;
	}
	return 0;
}
