/* SPDX-License-Identifier: MIT
 *
 * log.c - records in a ring of their thread, or lines on stderr for a thread without one.
 *
 * Owns the ring's layout. Never blocks the writer, never takes a lock, and allocates only new rings. The
 * writer is the ring's thread, the reader is control.
 */
#include "weir/base/log.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/log_fields.h"

/* Records begin at multiples of this, so a body may hold any type, and the space before the end of the ring
 * always fits a filler. */
#define RECORD_ALIGN 16u
#define RING_MASK (LOG_RING_BYTES - 1)

/* Precedes each body. A filler covers the rest of the ring when the next record would not fit there in one
 * piece; only its first RECORD_ALIGN bytes are written. */
struct record {
	uint32_t size; /* including this head and padding: a multiple of RECORD_ALIGN */
	uint32_t len;  /* of the body */
	uint32_t level;
	uint32_t filler; /* 1 = skip this one */
	int64_t wall_ns;
	log_format_fn format;
};

#define RECORD_HEAD ((uint32_t)((sizeof(struct record) + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN))

static_assert((LOG_RING_BYTES & RING_MASK) == 0, "positions are masked: a power of two");
static_assert(offsetof(struct record, wall_ns) == RECORD_ALIGN, "a filler has all of a head up to wall_ns");
static_assert(LOG_RING_BYTES >= 4 * (LOG_RECORD_MAX + 2 * RECORD_ALIGN), "a ring holds four records or more");

static _Thread_local struct log_ring *thread_ring; /* borrows, until log_use_ring(NULL) */
static _Thread_local _Atomic uint32_t loose_left_out[LOG_CAUSES]; /* of a thread without a ring */
static atomic_int wanted_level = LOG_LEVEL_INFO;
static atomic_bool counts_wanted;

struct log_ring *log_ring_new(void (*wake)(void *arg), void *wake_arg)
{
	struct log_ring *r = aligned_alloc(_Alignof(struct log_ring), sizeof(*r));

	check(wake != NULL);
	if (r == NULL)
		return NULL;
	memset(r, 0, sizeof(*r));
	/* The reader has not looked yet, so the first record must wake it. */
	atomic_init(&r->quiet, true);
	r->wake = wake;
	r->wake_arg = wake_arg;
	return r;
}

void log_ring_free(struct log_ring *r)
{
	check(r == NULL || r != thread_ring);
	free(r);
}

void log_use_ring(struct log_ring *r)
{
	thread_ring = r;
}

void log_set_level(enum log_level level)
{
	atomic_store_explicit(&wanted_level, (int)level, memory_order_relaxed);
}

bool log_wants(enum log_level level)
{
	return (int)level <= atomic_load_explicit(&wanted_level, memory_order_relaxed);
}

void log_want_counts(bool wanted)
{
	atomic_store_explicit(&counts_wanted, wanted, memory_order_relaxed);
}

bool log_wants_counts(void)
{
	return atomic_load_explicit(&counts_wanted, memory_order_relaxed);
}

static const struct {
	enum log_level level;
	const char *word;
} levels[] = {
#define LOG_LEVEL(name, number, word) {LOG_LEVEL_##name, word},
#include "weir/base/log_levels.tbl.h"
#undef LOG_LEVEL
};

const char *log_level_word(enum log_level level)
{
	for (size_t i = 0; i < ARRAY_LEN(levels); i++)
		if (levels[i].level == level)
			return levels[i].word;
	return "info";
}

bool log_level_of_word(const char *word, enum log_level *level)
{
	for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
		if (strcmp(levels[i].word, word) != 0)
			continue;
		*level = levels[i].level;
		return true;
	}
	return false;
}

/* One write(2) per line, so that lines of several threads do not mix. */
static void print_line(enum log_level level, const char *text, size_t len)
{
	char line[LOG_RECORD_MAX + 32];
	int n = snprintf(line, sizeof(line), "weir: %s: %.*s\n", log_level_word(level), (int)len, text);

	check(n > 0);
	check((size_t)n < sizeof(line));
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		return; /* there is nowhere else to report it */
}

/* A contiguous place for `size` bytes, after a filler if necessary; `*end` is the head to publish. NULL when
 * there is no room. */
static uint8_t *reserve(struct log_ring *r, uint32_t size, uint64_t *end)
{
	const uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	const uint64_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);
	const uint32_t left = LOG_RING_BYTES - (uint32_t)(head & RING_MASK);
	const uint32_t skip = size <= left ? 0 : left;
	const struct record filler = {.size = skip, .filler = 1};

	check(head - tail <= LOG_RING_BYTES);
	if (LOG_RING_BYTES - (head - tail) < skip + size)
		return NULL;
	if (skip != 0)
		memcpy(&r->bytes[head & RING_MASK], &filler, RECORD_ALIGN);
	*end = head + skip + size;
	return &r->bytes[(head + skip) & RING_MASK];
}

static void wake_reader(struct log_ring *r)
{
	/* The writer writes, then reads `quiet`; the reader writes `quiet`, then reads what the writer
	 * writes. In one total order at least one of us sees the other's write, so no record waits for a
	 * wake-up that never comes. Weaker orders allow both to miss it. */
	if (atomic_load_explicit(&r->quiet, memory_order_seq_cst) &&
		atomic_exchange_explicit(&r->quiet, false, memory_order_seq_cst))
		r->wake(r->wake_arg);
}

static void ring_put(struct log_ring *r, const struct record *record, const void *body)
{
	uint64_t end;
	uint8_t *at = reserve(r, record->size, &end);

	if (at == NULL) {
		const uint64_t dropped = atomic_load_explicit(&r->dropped, memory_order_relaxed);

		atomic_store_explicit(&r->dropped, dropped + 1, memory_order_relaxed);
		return;
	}
	memcpy(at, record, sizeof(*record));
	if (record->len != 0)
		memcpy(at + RECORD_HEAD, body, record->len);
	atomic_store_explicit(&r->head, end, memory_order_seq_cst);
	wake_reader(r);
}

void log_record(enum log_level level, log_format_fn format, const void *body, size_t len)
{
	struct log_ring *r = thread_ring;
	struct record record = {.len = (uint32_t)len, .level = level, .format = format};
	char text[LOG_RECORD_MAX];
	size_t n;

	check(format != NULL);
	check(len <= LOG_RECORD_MAX);
	if (!log_wants(level))
		return;
	if (r == NULL) {
		n = format(LOG_STYLE_TEXT, body, len, text, sizeof(text));
		check(n < sizeof(text));
		if (n > 0)
			print_line(level, text, n);
		return;
	}
	record.size = RECORD_HEAD + (record.len + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN;
	record.wall_ns = clock_wall_ns();
	ring_put(r, &record, body);
}

static size_t format_text(enum log_style style, const void *body, size_t len, char *out, size_t room)
{
	struct log_fields f;

	if (style == LOG_STYLE_TEXT)
		return log_plain(body, len, out, room);
	log_fields_init(&f, out, room);
	log_fields_text(&f, "event", "message");
	log_fields_bytes(&f, "message", body, len);
	return f.text.len;
}

void log_line(enum log_level level, const char *fmt, ...)
{
	char text[LOG_RECORD_MAX];
	va_list ap;
	int n;

	if (!log_wants(level))
		return;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* A conversion may need memory that is not there; the words around it say something too. */
	if (n < 0)
		n = snprintf(text, sizeof(text), "%s", fmt);
	if ((size_t)n >= sizeof(text)) {
		n = (int)sizeof(text) - 1;
		memcpy(text + sizeof(text) - sizeof(LOG_CUT_MARK), LOG_CUT_MARK, sizeof(LOG_CUT_MARK));
	}
	log_record(level, format_text, text, (size_t)n);
}

static const struct {
	const char *word;
	const char *what;
} causes[LOG_CAUSES] = {
#define LOG_CAUSE(name, word, what) [LOG_CAUSE_##name] = {word, what},
#include "weir/base/log_causes.tbl.h"
#undef LOG_CAUSE
};

static size_t format_left_out(enum log_style style, const void *body, size_t len, char *out, size_t room)
{
	struct log_left_out l;
	struct log_fields f;
	char text[128];
	int n;

	check(len == sizeof(l));
	memcpy(&l, body, sizeof(l));
	check(l.cause < LOG_CAUSES);
	n = snprintf(text, sizeof(text), "%u more line%s left out: %s", l.count,
		     l.count == 1 ? " was" : "s were", causes[l.cause].what);
	check(n > 0);
	if (style == LOG_STYLE_TEXT)
		return log_plain(text, (size_t)n, out, room);
	log_fields_init(&f, out, room);
	log_fields_text(&f, "event", "left_out");
	log_fields_text(&f, "cause", causes[l.cause].word);
	log_fields_number(&f, "count", "%u", l.count);
	log_fields_text(&f, "message", text);
	return f.text.len;
}

static void hold_back(struct log_ring *r, enum log_cause cause)
{
	_Atomic uint32_t *left_out = r != NULL ? &r->left_out[cause] : &loose_left_out[cause];

	/* The first one makes sure that it will be reported. */
	if (atomic_fetch_add_explicit(left_out, 1, memory_order_seq_cst) == 0 && r != NULL)
		wake_reader(r);
}

/* The slot of this kind in this second, if it may write another line; -1 if its lines are used up or there
 * are too many kinds. */
static int find_kind(struct log_limit *l, uint32_t key, int64_t second, uint32_t burst)
{
	int free_at = -1;

	for (int i = 0; i < LOG_LIMIT_KEYS; i++) {
		const bool fresh = l->kinds[i].used > 0 && l->kinds[i].second == second;

		if (fresh && l->kinds[i].key == key)
			return l->kinds[i].used < burst ? i : -1;
		if (!fresh && free_at < 0)
			free_at = i;
	}
	if (free_at >= 0) {
		l->kinds[free_at].second = second;
		l->kinds[free_at].key = key;
		l->kinds[free_at].used = 0;
	}
	return free_at;
}

bool log_limit_ok(struct log_limit *l, enum log_cause cause, uint32_t key, int64_t now_ns, uint32_t burst)
{
	struct log_ring *r = thread_ring;
	_Atomic uint32_t *left_out = r != NULL ? &r->left_out[cause] : &loose_left_out[cause];
	const int i = find_kind(l, key, now_ns / NS_PER_SEC, burst);
	struct log_left_out untold = {.cause = cause};

	check(burst > 0);
	check(cause < LOG_CAUSES);
	if (i < 0) {
		hold_back(r, cause);
		return false;
	}
	l->kinds[i].used++;
	if (atomic_load_explicit(left_out, memory_order_relaxed) == 0)
		return true;
	untold.count = atomic_exchange_explicit(left_out, 0, memory_order_relaxed);
	if (untold.count > 0)
		log_record(LOG_LEVEL_NOTICE, format_left_out, &untold, sizeof(untold));
	return true;
}

/* Would `c` do harm in a line, or be mistaken for something else? */
static bool must_escape(unsigned char c)
{
	return c < ' ' || c > 126 || c == '"' || c == '\'' || c == '\\';
}

void log_escape(const char *in, size_t len, char *out, size_t room)
{
	static const char digits[] = "0123456789abcdef";
	size_t n = 0;

	check(room > 0);
	for (size_t i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)in[i];

		/* An escape is written whole or not at all. */
		if (n + (must_escape(c) ? 4 : 1) >= room)
			break;
		if (must_escape(c)) {
			out[n++] = '\\';
			out[n++] = 'x';
			out[n++] = digits[c >> 4];
			out[n++] = digits[c & 15];
		} else {
			out[n++] = (char)c;
		}
	}
	out[n] = '\0';
}

/* Is the ring empty? An empty ring is marked quiet, then checked again. */
static bool ring_is_empty(struct log_ring *r, uint64_t tail)
{
	if (atomic_load_explicit(&r->head, memory_order_acquire) != tail)
		return false;
	atomic_store_explicit(&r->quiet, true, memory_order_seq_cst);
	if (atomic_load_explicit(&r->head, memory_order_seq_cst) == tail)
		return true;
	/* A record arrived in between. Its wake-up may be on its way too; an extra one is harmless. */
	atomic_store_explicit(&r->quiet, false, memory_order_seq_cst);
	return false;
}

bool log_ring_peek(struct log_ring *r, struct log_entry *e)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	while (!ring_is_empty(r, tail)) {
		const uint8_t *at = &r->bytes[tail & RING_MASK];
		struct record record = {.size = 0};

		memcpy(&record, at, RECORD_ALIGN);
		check(record.size >= RECORD_ALIGN);
		check(record.size <= LOG_RING_BYTES - (uint32_t)(tail & RING_MASK));
		if (record.filler == 0) {
			memcpy(&record, at, sizeof(record));
			*e = (struct log_entry){.level = (enum log_level)record.level,
						.wall_ns = record.wall_ns,
						.format = record.format,
						.body = at + RECORD_HEAD,
						.len = record.len};
			return true;
		}
		tail += record.size;
		atomic_store_explicit(&r->tail, tail, memory_order_release);
	}
	return false;
}

void log_ring_pop(struct log_ring *r)
{
	const uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	struct record record = {.size = 0};

	check(atomic_load_explicit(&r->head, memory_order_acquire) != tail);
	memcpy(&record, &r->bytes[tail & RING_MASK], RECORD_ALIGN);
	check(record.filler == 0);
	atomic_store_explicit(&r->tail, tail + record.size, memory_order_release);
}

struct log_entry log_entry_of_text(enum log_level level, int64_t wall_ns, const char *text)
{
	return (struct log_entry){level, wall_ns, format_text, text, strlen(text)};
}

struct log_entry log_entry_of_left_out(int64_t wall_ns, const struct log_left_out *left_out)
{
	return (struct log_entry){LOG_LEVEL_NOTICE, wall_ns, format_left_out, left_out, sizeof(*left_out)};
}

size_t log_entry_format(const struct log_entry *e, enum log_style style, char *out, size_t room)
{
	size_t n;

	check(room > 0);
	n = e->format(style, e->body, e->len, out, room);
	check(n < room);
	return n;
}

bool log_ring_has_left_out(const struct log_ring *r)
{
	for (size_t i = 0; i < LOG_CAUSES; i++)
		if (atomic_load_explicit(&r->left_out[i], memory_order_seq_cst) > 0)
			return true;
	return false;
}

uint32_t log_ring_take_left_out(struct log_ring *r, enum log_cause cause)
{
	return atomic_exchange_explicit(&r->left_out[cause], 0, memory_order_relaxed);
}

uint64_t log_ring_written(const struct log_ring *r)
{
	return atomic_load_explicit(&r->head, memory_order_acquire);
}

bool log_ring_is_read_to(const struct log_ring *r, uint64_t mark)
{
	/* Pairs with the release in log_ring_pop(): the reader no longer looks at what it has popped. */
	return atomic_load_explicit(&r->tail, memory_order_acquire) >= mark;
}

uint64_t log_ring_dropped(const struct log_ring *r)
{
	return atomic_load_explicit(&r->dropped, memory_order_relaxed);
}
