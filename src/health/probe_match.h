/* SPDX-License-Identifier: MIT
 *
 * probe_match.h - strings that a health check waits for, found in an answer that comes in any pieces.
 *
 * Pure code that keeps no byte of the answer: a place in each string is enough (Knuth, Morris and Pratt), so
 * the result cannot depend on how the answer was cut. Any thread.
 */
#ifndef WEIR_HEALTH_PROBE_MATCH_H
#define WEIR_HEALTH_PROBE_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config_check_step;

/* One string. */
struct probe_match {
	const uint8_t *bytes; /* borrows */
	size_t len;
	size_t *back; /* owns: where to go on after so many bytes that fitted and one that did not */
	size_t at;    /* so many of its bytes are the last that came */
	bool found;   /* stays */
};

/* Looks for `bytes` (borrowed until probe_match_free()); an empty string is found at once. 0 or -ENOMEM, with
 * nothing to be freed. */
int probe_match_init(struct probe_match *m, const uint8_t *bytes, size_t len);
void probe_match_free(struct probe_match *m);
/* As if nothing had come. */
void probe_match_reset(struct probe_match *m);
/* More has come; returns how much of it was looked at: all, or up to the end of the string. */
size_t probe_match_push(struct probe_match *m, const uint8_t *data, size_t len);

/* The `expect`s that stand together between two `send`s. All of them look at what comes from there on, as
 * HAProxy's tcp-check does: in no order among themselves. Each string must come, each negated one must not:
 * that is known only when the answer has ended, so a negated one waits for the end of the connection. */
struct probe_expect {
	const struct config_check_step *steps; /* borrows */
	size_t count;
	struct probe_match *matches; /* owns: one a step */
	size_t fault;                /* the step that failed */
};

enum probe_expected {
	PROBE_EXPECT_MORE,     /* not known yet */
	PROBE_EXPECT_GOOD,     /* as it should be */
	PROBE_EXPECT_MISSING,  /* the answer has ended without the string of steps[fault] */
	PROBE_EXPECT_UNWANTED, /* the negated string of steps[fault] has come */
};

/* `steps` are all expects, and borrowed until probe_expect_free(). 0, or -ENOMEM with nothing to be freed. */
int probe_expect_init(struct probe_expect *x, const struct config_check_step *steps, size_t count);
void probe_expect_free(struct probe_expect *x);
void probe_expect_reset(struct probe_expect *x);
/* More has come: `*used` bytes of it were looked at. What is behind them belongs to the next step. */
enum probe_expected probe_expect_push(struct probe_expect *x, const uint8_t *data, size_t len, size_t *used);
/* No more will come, or no more is wanted: never PROBE_EXPECT_MORE. */
enum probe_expected probe_expect_end(struct probe_expect *x);

#endif
