/* SPDX-License-Identifier: MIT
 *
 * log.h - one ring of records for each thread, written without ever blocking, read by control.
 *
 * A worker copies a small binary record into its own ring (single producer, single consumer);
 * control turns records into text and writes them out, in each style that some target wants. A full
 * ring drops the record and counts it. Messages of a thread that has no ring go straight to stderr.
 *
 * What a stranger can cause is bounded: a line for each session that was let in by the ring, which drops and
 * counts; every other cause by a struct log_limit.
 */
#ifndef WEIR_BASE_LOG_H
#define WEIR_BASE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Syslog's numbers: they are sd-daemon's priorities too. */
enum log_level {
#define LOG_LEVEL(name, number, word) LOG_LEVEL_##name = number,
#include "weir/base/log_levels.tbl.h"
#undef LOG_LEVEL
};

/* What happens so often that its lines are limited. */
enum log_cause {
#define LOG_CAUSE(name, word, what) LOG_CAUSE_##name,
#include "weir/base/log_causes.tbl.h"
#undef LOG_CAUSE
	LOG_CAUSES
};

#define LOG_RING_BYTES (256u * 1024u)
#define LOG_RECORD_MAX 1024u

/* How a line looks. */
enum log_style {
	LOG_STYLE_TEXT, /* words for a person */
	LOG_STYLE_JSON, /* the members of an object, from "event" on, without its braces (log_fields.h) */
	LOG_STYLES
};

/* A record's text, made by the reader: writes at most `room` bytes with NUL, returns the length. Text
 * has no control bytes; JSON is whole however long the record is. */
typedef size_t (*log_format_fn)(enum log_style style, const void *body, size_t len, char *out, size_t room);

struct log_ring {
	_Alignas(64) _Atomic uint32_t head; /* writer */
	_Atomic uint64_t dropped;
	_Atomic uint32_t left_out[LOG_CAUSES]; /* lines that limits held back, not yet reported; both sides */
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
/* The level of that word; false: there is none. */
bool log_level_of_word(const char *word, enum log_level *level);

/* A line of text. The caller names the thing and what the operator can do; no newline. What a
 * stranger sent is escaped by the caller with log_escape(), because a quote in it may mislead; control
 * bytes and bytes above 126 are written as \xNN in any case, so that a line stays one line. */
void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A binary record of at most LOG_RECORD_MAX bytes, made to text by `format` on the reader's side. */
void log_record(enum log_level level, log_format_fn format, const void *body, size_t len);

/* At most `burst` a second for one thing that happens: a cause, and a key that tells its kinds apart (an
 * errno, a server), so that the first line of each is never left out; of more than LOG_LIMIT_KEYS kinds in a
 * second the last ones are. What is left out is counted for the cause; the next line of that cause and thread
 * which passes says how many there were. When none comes, the log's reader says it within two seconds
 * (log_ring_take_left_out). Returns true when the line may be made. All zero is a new one; one struct per
 * thread and thing. */
#define LOG_LIMIT_KEYS 4
struct log_limit {
	struct {
		int64_t second;
		uint32_t key;
		uint32_t used;
	} kinds[LOG_LIMIT_KEYS];
};
bool log_limit_ok(struct log_limit *l, enum log_cause cause, uint32_t key, int64_t now_ns, uint32_t burst);

/* Lines of one cause that limits have held back: "12 more lines were left out: ..." */
struct log_left_out {
	enum log_cause cause;
	uint32_t count;
};

/* Copies `in` to `out` with control bytes, quotes, backslashes and bytes above 126 as \xNN.
 * Always NUL-terminated, cut to `room`. */
void log_escape(const char *in, size_t len, char *out, size_t room);

/* Reader's side: one record. */
struct log_entry {
	enum log_level level;
	int64_t wall_ns; /* when it was made */
	log_format_fn format;
	const void *body; /* borrows */
	size_t len;
};

/* The oldest record, valid until log_ring_pop(); false when the ring is empty (and then it is marked
 * quiet). */
bool log_ring_peek(struct log_ring *r, struct log_entry *e);
/* Removes the record that log_ring_peek() has shown. */
void log_ring_pop(struct log_ring *r);
/* Lines that the reader itself has to say; they borrow what they are given. */
struct log_entry log_entry_of_text(enum log_level level, int64_t wall_ns, const char *text);
struct log_entry log_entry_of_left_out(int64_t wall_ns, const struct log_left_out *left_out);
/* Its text; the length, 0 when it has nothing to say. */
size_t log_entry_format(const struct log_entry *e, enum log_style style, char *out, size_t room);
/* Have limits held lines back that nobody has reported? When the first one is held back a quiet reader is
 * woken, as for a record. */
bool log_ring_has_left_out(const struct log_ring *r);
/* How many of a cause there are; they count as reported from now on. */
uint32_t log_ring_take_left_out(struct log_ring *r, enum log_cause cause);
uint64_t log_ring_dropped(const struct log_ring *r);

#endif
