/* SPDX-License-Identifier: MIT
 *
 * failure.c - the last failures of a worker: adding, reading, showing.
 *
 * Every word of a slot is atomic, and a version that a writer makes odd first tells a reader that it has seen
 * parts of two failures. The writer never waits.
 */
#include "weir/account/failure.h"

#include <stdio.h>
#include <string.h>

#include "weir/account/close_reason.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/wall_time.h"
#include "session_words.h"

static const char *const phase_words[FAILURE_PHASES] = {
#define PHASE(name, word) [FAILURE_##name] = word,
#include "weir/account/failure_phases.tbl.h"
#undef PHASE
};

const char *failure_phase_word(enum failure_phase phase)
{
	check(phase < FAILURE_PHASES);
	return phase_words[phase];
}

/* ---- the ring ---- */

/* Words are stored with release and loaded with acquire: a reader that has seen one word of a newer failure
 * also sees the version that was made odd before. */
void failure_add(struct failure_ring *r, const struct failure *f)
{
	const uint64_t number = atomic_load_explicit(&r->count, memory_order_relaxed);
	struct failure_slot *slot = &r->slots[number % FAILURES_KEPT];
	uint64_t words[FAILURE_WORDS] = {0};

	memcpy(words, f, sizeof(*f));
	atomic_store_explicit(&slot->version, 2 * number + 1, memory_order_relaxed);
	for (size_t i = 0; i < FAILURE_WORDS; i++)
		atomic_store_explicit(&slot->words[i], words[i], memory_order_release);
	atomic_store_explicit(&slot->version, 2 * number + 2, memory_order_release);
	atomic_store_explicit(&r->count, number + 1, memory_order_release);
}

uint64_t failure_count(const struct failure_ring *r)
{
	return atomic_load_explicit(&r->count, memory_order_acquire);
}

bool failure_get(const struct failure_ring *r, uint64_t number, struct failure *out)
{
	const struct failure_slot *slot = &r->slots[number % FAILURES_KEPT];
	uint64_t words[FAILURE_WORDS];

	if (atomic_load_explicit(&slot->version, memory_order_acquire) != 2 * number + 2)
		return false;
	for (size_t i = 0; i < FAILURE_WORDS; i++)
		words[i] = atomic_load_explicit(&slot->words[i], memory_order_acquire);
	memcpy(out, words, sizeof(*out));
	return atomic_load_explicit(&slot->version, memory_order_relaxed) == 2 * number + 2;
}

/* ---- showing ---- */

static const char *reason_word(const struct failure *f, char buf[static SESSION_REASON_MAX])
{
	return session_reason_word(close_reason_row((enum close_reason)f->reason), buf);
}

static const char *or_dash(const char *name)
{
	return name[0] != '\0' ? name : "-";
}

static const char *error_text(const struct failure *f)
{
	const char *text = f->err != 0 ? strerrordesc_np(f->err) : NULL;

	if (text != NULL)
		return text;
	return f->err != 0 ? "unknown error" : close_reason_row((enum close_reason)f->reason)->words;
}

static const char *error_name(const struct failure *f)
{
	const char *name = f->err != 0 ? strerrorname_np(f->err) : NULL;

	return name != NULL ? name : "-";
}

void failure_show(const struct failure *f, int64_t wall_ns, struct text *out)
{
	char client[ADDR_TEXT_MAX], server[ADDR_TEXT_MAX], reason[SESSION_REASON_MAX], when[WALL_TIME_MAX];

	text_printf(out,
		    "%s phase=%s client=%s frontend=%s backend=%s server=%s server_address=%s errno=%s "
		    "reason=%s try=%u age_s=%.3f bytes_in=%llu bytes_out=%llu id=%u.%u error=\"%s\"\n",
		    wall_time_format_ms(wall_ns, when), failure_phase_word((enum failure_phase)f->phase),
		    f->client.family != 0 ? addr_brief_format(&f->client, client) : "-",
		    or_dash(f->frontend), or_dash(f->backend), or_dash(f->server),
		    f->server_address.len != 0 ? addr_format(&f->server_address, server) : "-",
		    error_name(f), reason_word(f, reason), f->tries, (double)f->age_ns / (double)NS_PER_SEC,
		    (unsigned long long)f->bytes_to_server, (unsigned long long)f->bytes_to_client,
		    f->worker, f->number, error_text(f));
}

static void show_names(const struct failure *f, struct json *out)
{
	char text[ADDR_TEXT_MAX];

	if (f->client.family != 0)
		json_string(out, "client", addr_brief_format(&f->client, text));
	json_string(out, "frontend", f->frontend);
	if (f->backend[0] != '\0')
		json_string(out, "backend", f->backend);
	if (f->server[0] != '\0')
		json_string(out, "server", f->server);
	if (f->server_address.len != 0)
		json_string(out, "server_address", addr_format(&f->server_address, text));
}

void failure_show_json(const struct failure *f, int64_t wall_ns, struct json *out)
{
	char when[WALL_TIME_MAX], reason[SESSION_REASON_MAX];

	json_object(out, NULL);
	json_string(out, "time", wall_time_format_ms(wall_ns, when));
	json_string(out, "phase", failure_phase_word((enum failure_phase)f->phase));
	show_names(f, out);
	if (f->err != 0)
		json_string(out, "errno", error_name(f));
	json_string(out, "error", error_text(f));
	json_string(out, "reason", reason_word(f, reason));
	json_unsigned(out, "try", f->tries);
	json_printf(out, "age_s", "%.3f", (double)f->age_ns / (double)NS_PER_SEC);
	json_unsigned(out, "bytes_in", f->bytes_to_server);
	json_unsigned(out, "bytes_out", f->bytes_to_client);
	json_printf(out, "id", "\"%u.%u\"", f->worker, f->number);
	json_object_end(out);
}
