/* SPDX-License-Identifier: MIT
 *
 * log.h - one ring of records for each thread, written without ever blocking, read by control.
 *
 * A worker copies a small binary record into its own ring (single producer, single consumer);
 * control turns records into text and writes them out. A full ring drops the record and counts
 * it. Messages of a thread that has no ring go straight to stderr.
 * Floor 0.
 */
#ifndef SLUICE_BASE_LOG_H
#define SLUICE_BASE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Syslog's numbers: they are sd-daemon's priorities too. */
enum log_level {
	LOG_LEVEL_ALERT = 1,
	LOG_LEVEL_ERROR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_NOTICE = 5,
	LOG_LEVEL_INFO = 6,
	LOG_LEVEL_DEBUG = 7,
};

#define LOG_RING_BYTES (256u * 1024u)
#define LOG_RECORD_MAX 1024u

/* A record's text, made by the reader: writes at most `room` bytes with NUL, returns the length. */
typedef size_t (*log_format_fn)(const void *body, size_t len, char *out, size_t room);

struct log_ring {
	_Alignas(64) _Atomic uint32_t head; /* writer */
	_Atomic uint64_t dropped;
	_Alignas(64) _Atomic uint32_t tail; /* reader */
	_Atomic bool quiet; /* the reader sleeps: the next record must wake it */
	void (*wake)(void *arg); /* called by the writer; must not block */
	void *wake_arg;
	_Alignas(64) uint8_t bytes[LOG_RING_BYTES];
};

/* Allocates a ring; NULL without memory. */
struct log_ring *log_ring_new(void (*wake)(void *arg), void *wake_arg);
void log_ring_free(struct log_ring *r);

/* Makes `r` the ring of the calling thread (NULL: straight to stderr again). */
void log_use_ring(struct log_ring *r);
/* Records below this level are not made at all. Any thread. */
void log_set_level(enum log_level level);
bool log_wants(enum log_level level);
/* "alert", "error", ... as they stand in lines. */
const char *log_level_word(enum log_level level);

/* A line of text. The caller names the thing and what the operator can do; no newline. What a
 * stranger sent is escaped by the caller with log_escape(). */
void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A binary record of at most LOG_RECORD_MAX bytes, made to text by `format` on the reader's side. */
void log_record(enum log_level level, log_format_fn format, const void *body, size_t len);

/* At most `burst` a second for one cause; the rest is counted, and the next line that passes says
 * how many were left out. Returns true when the line may be made. One struct a cause and thread. */
struct log_limit {
	int64_t second;
	uint32_t used;
	uint32_t left_out;
};
bool log_limit_ok(struct log_limit *l, int64_t now_ns, uint32_t burst);

/* Copies `in` to `out` with control bytes, quotes, backslashes and bytes above 126 as \xNN.
 * Always NUL-terminated, cut to `room`. */
void log_escape(const char *in, size_t len, char *out, size_t room);

/* Reader's side. Takes the oldest record as text: its level, the wall clock in ns when it was made.
 * Returns the length, 0 when the ring is empty (and then it is marked quiet). */
size_t log_ring_take(struct log_ring *r, enum log_level *level, int64_t *wall_ns, char *out, size_t room);
uint64_t log_ring_dropped(const struct log_ring *r);

#endif
