/* SPDX-License-Identifier: MIT
 *
 * live_log.c - who reads the records of sessions, late as a log's writer may be.
 *
 * Owns which worker records now, and the mark that retirement waits for. One thread. Tests only.
 */
#include "live_log.h"

#include "engine/worker.h"
#include "model.h"
#include "poison.h"
#include "rig.h"
#include "weir/base/log.h"

static struct reader {
	bool is_logged;
	struct worker *recording;
	struct log_ring *own; /* owns: control's */
	uint64_t marks[RIG_WORKERS + 1];
} reader;

static struct log_ring *ring_at(unsigned i)
{
	return i < rig.worker_count ? rig.engine.workers[i]->log : reader.own;
}

static void mark(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i <= rig.worker_count; i++)
		reader.marks[i] = log_ring_written(ring_at(i));
}

static bool is_read(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i <= rig.worker_count; i++)
		if (!log_ring_is_read_to(ring_at(i), reader.marks[i]))
			return false;
	return true;
}

struct worker *live_record(struct worker *w)
{
	struct worker *const before = reader.recording;

	if (!reader.is_logged)
		return NULL;
	reader.recording = w;
	log_use_ring(w != NULL ? w->log : reader.own);
	return before;
}

static void read_one(struct log_ring *r)
{
	struct log_entry entry;
	char text[1024];
	size_t len;

	if (!log_ring_peek(r, &entry))
		return;
	len = log_entry_format(&entry, LOG_STYLE_TEXT, text, sizeof(text) - 1);
	text[len] = '\0';
	if (poison_is_in_text(text))
		sim_fail("a record names what was freed");
	trace("  log: %s", text);
	log_ring_pop(r);
}

bool live_read_records(void)
{
	bool more = false;

	if (!reader.is_logged)
		return false;
	for (unsigned i = 0; i <= rig.worker_count; i++) {
		struct log_entry entry;

		for (uint32_t n = prng_below(&model.rng, 4); n > 0; n--)
			read_one(ring_at(i));
		more |= log_ring_peek(ring_at(i), &entry);
	}
	return more;
}

static void no_wake(void *arg)
{
	(void)arg; /* the reader looks in each turn of control */
}

void live_log_open(void)
{
	reader = (struct reader){.is_logged = prng_chance(&model.rng, 30)};
	if (!reader.is_logged)
		return;
	reader.own = log_ring_new(no_wake, NULL);
	log_set_level(LOG_LEVEL_INFO);
	log_use_ring(reader.own);
	rig.engine.records = (struct engine_records){.mark = mark, .is_read = is_read};
}

void live_log_close(void)
{
	if (!reader.is_logged)
		return;
	while (live_read_records())
		continue;
	rig.engine.records = (struct engine_records){0};
	log_use_ring(NULL);
	log_set_level(sim_verbose ? LOG_LEVEL_DEBUG : (enum log_level)0);
	log_ring_free(reader.own);
}
