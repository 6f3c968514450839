/* SPDX-License-Identifier: MIT
 *
 * log.h - one ring of log records per thread, written without ever blocking, read by control.
 *
 * A worker copies a small binary record into its own ring (single producer, single consumer);
 * control formats the records and writes them out, in each style that a target uses. A full ring drops the
 * record and counts it. Messages of a thread that has no ring go straight to stderr.
 *
 * Anything that a stranger can cause is bounded. The line of each admitted session is bounded by the ring,
 * which drops and counts; every other cause by a struct log_limit.
 */
#ifndef WEIR_BASE_LOG_H
#define WEIR_BASE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Syslog's numbers, which are also sd-daemon's priorities. */
enum log_level {
#define LOG_LEVEL(name, number, word) LOG_LEVEL_##name = number,
#include "weir/base/log_levels.tbl.h"
#undef LOG_LEVEL
};

/* Causes frequent enough that their lines are limited. */
enum log_cause {
#define LOG_CAUSE(name, word, what) LOG_CAUSE_##name,
#include "weir/base/log_causes.tbl.h"
#undef LOG_CAUSE
	LOG_CAUSES
};

#define LOG_RING_BYTES (256u * 1024u)
#define LOG_RECORD_MAX 1024u

/* The format of a line. */
enum log_style {
	LOG_STYLE_TEXT, /* plain text for people */
	LOG_STYLE_JSON, /* the members of an object, from "event" on, without its braces (log_fields.h) */
	LOG_STYLES
};

/* Formats a record, on the reader's side: writes at most `room` bytes including the NUL, returns the length.
 * Text has no control bytes; JSON is complete however long the record is. The body may hold pointers; what
 * they refer to may be freed once the ring has been read past the record: see log_ring_written(). */
typedef size_t (*log_format_fn)(enum log_style style, const void *body, size_t len, char *out, size_t room);

struct log_ring {
	/* Bytes written and read since the start: they never go back or wrap around. */
	_Alignas(64) _Atomic uint64_t head; /* writer */
	_Atomic uint64_t dropped;
	_Atomic uint32_t left_out[LOG_CAUSES]; /* lines suppressed, not yet reported; both sides */
	_Alignas(64) _Atomic uint64_t tail; /* reader */
	_Atomic bool quiet; /* the reader sleeps: the next record must wake it */
	void (*wake)(void *arg); /* called by the writer; must not block */
	void *wake_arg;
	_Alignas(64) uint8_t bytes[LOG_RING_BYTES];
};

/* Allocates a ring; NULL when out of memory. */
struct log_ring *log_ring_new(void (*wake)(void *arg), void *wake_arg);
void log_ring_free(struct log_ring *r);

/* Makes `r` the ring of the calling thread (NULL: straight to stderr again). */
void log_use_ring(struct log_ring *r);
/* Less severe records are not created at all. Any thread. */
void log_set_level(enum log_level level);
bool log_wants(enum log_level level);
/* Does a target print, with each session that ends, how many others are open? Reading them costs a worker
 * cache misses, so it is done only then. Any thread. */
void log_want_counts(bool wanted);
bool log_wants_counts(void);
/* "alert", "error", ... as written in log lines. */
const char *log_level_word(enum log_level level);
/* The level of that word; false: there is none. */
bool log_level_of_word(const char *word, enum log_level *level);

/* A line of text, without a newline. The caller names the object and what the operator can do. The caller
 * escapes with log_escape() anything that a stranger sent, because a quote in it may mislead. Control bytes
 * and bytes above 126 are always written as \xNN, so a line stays one line. */
void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A binary record of at most LOG_RECORD_MAX bytes; `format` turns it into text on the reader's side. */
void log_record(enum log_level level, log_format_fn format, const void *body, size_t len);

/* Allows at most `burst` lines per second for each kind of event, so that the first line of each kind is
 * never suppressed. `key` alone distinguishes the kinds that share a struct (an errno, a server; a caller
 * with several causes makes the keys differ). If a second brings more than LOG_LIMIT_KEYS kinds, those beyond
 * are suppressed. `cause` says under which words suppressed lines are counted. Suppressed lines are counted
 * per cause; the next line of that cause and thread that passes reports how many there were. If none comes,
 * the log's reader reports them within two seconds (log_ring_take_left_out). Returns true when the line may
 * be written. A zeroed struct is ready for use; one per thread. */
#define LOG_LIMIT_KEYS 5
struct log_limit {
	struct {
		int64_t second;
		uint32_t key;
		uint32_t used;
	} kinds[LOG_LIMIT_KEYS];
};
bool log_limit_ok(struct log_limit *l, enum log_cause cause, uint32_t key, int64_t now_ns, uint32_t burst);

/* Lines of one cause that limits suppressed: "12 more lines were left out: ..." */
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
/* Removes the record that log_ring_peek() returned. */
void log_ring_pop(struct log_ring *r);
/* Lines that the reader itself writes; they borrow their arguments. */
struct log_entry log_entry_of_text(enum log_level level, int64_t wall_ns, const char *text);
struct log_entry log_entry_of_left_out(int64_t wall_ns, const struct log_left_out *left_out);
/* Formats the entry; returns the length, 0 when there is nothing to write. */
size_t log_entry_format(const struct log_entry *e, enum log_style style, char *out, size_t room);
/* Have limits suppressed lines that are not yet reported? The first suppressed line wakes a quiet reader, as
 * a record does. */
bool log_ring_has_left_out(const struct log_ring *r);
/* How many lines of a cause were suppressed; from now on they count as reported. */
uint32_t log_ring_take_left_out(struct log_ring *r, enum log_cause cause);
uint64_t log_ring_dropped(const struct log_ring *r);

/* A mark: the end of the last record that the ring holds, or held. A caller that is not the ring's thread
 * sees every record that happened before this call, say by a letter of that thread. Any thread. */
uint64_t log_ring_written(const struct log_ring *r);
/* Has the reader popped every record before this mark? Any thread. */
bool log_ring_is_read_to(const struct log_ring *r, uint64_t mark);

#endif
