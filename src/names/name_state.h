/* SPDX-License-Identifier: MIT
 *
 * name_state.h - the addresses of one name: which count now, which are held, and when the next query is due.
 *
 * Pure: time and answers are arguments, nothing is asked or logged. A round is all questions that are asked
 * about a name together; its result is what was found, and the gaps: questions without a usable answer. An
 * address behind a gap is held, so that a name server that answers for IPv4 but not for IPv6 takes no address
 * away. Any thread.
 */
#ifndef WEIR_NAMES_NAME_STATE_H
#define WEIR_NAMES_NAME_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/names/name_watch.h"

/* Bounds of the time to the next query, whatever a TTL says. */
#define NAME_TTL_MIN_NS (INT64_C(500) * 1000 * 1000)
#define NAME_TTL_MAX_NS (INT64_C(3600) * 1000 * 1000 * 1000)

/* One address in an answer. */
struct name_found {
	struct name_address address;
	uint64_t origin; /* the question that has it as its answer */
};

/* A question without a usable answer. */
struct name_gap {
	uint64_t origin; /* 0 = the question that the others depend on */
	enum name_outcome outcome;
};

struct name_result {
	const struct name_found *found;
	size_t found_count;
	const struct name_gap *gaps;
	size_t gap_count;
};

struct name_entry {
	struct name_found found;
	enum name_outcome why; /* it is lost: NAME_GOOD = an answer no longer has it */
	int64_t lost_ns;       /* since when; 0 = it is not lost */
};

struct name_state {
	struct name_entry *entries; /* owns; sorted by address, no address twice */
	size_t count;
	size_t room;
	enum name_outcome outcome; /* of the last round */
	unsigned failures;         /* rounds in a row without an answer to each question */
	bool changed;              /* the last good round brought or lost an address */
	int64_t bad_since_ns;      /* of the first round in a row that found nothing; 0 = the last one did */
};

/* A zeroed struct is empty. */
void name_state_free(struct name_state *s);

/* The result of a round that ended at `now_ns`. 0; or -ENOMEM, and then the round counts as NAME_OTHER. */
int name_state_take(struct name_state *s, const struct name_result *r, int64_t now_ns);
/* Removes the addresses whose hold has ended. Returns how many. */
size_t name_state_expire(struct name_state *s, const struct name_terms *terms, int64_t now_ns);
/* When the next hold ends; CLOCK_NEVER = none runs. */
int64_t name_state_hold_end(const struct name_state *s, const struct name_terms *terms);

/* How long to wait after a round: `most_ns` after a complete one (as the TTL or the interval says), less
 * after failures. */
int64_t name_state_wait(const struct name_state *s, const struct name_terms *terms, int64_t most_ns);
/* The longest wait that a TTL allows: min(TTL, interval if set), within the bounds above. */
int64_t name_state_ttl_wait(const struct name_terms *terms, uint32_t ttl_s);

#endif
