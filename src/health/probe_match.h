/* SPDX-License-Identifier: MIT
 *
 * probe_match.h - finds the strings that a health check expects in an answer that arrives in pieces.
 *
 * Pure code that keeps nothing of the answer: a position in each string is enough (Knuth, Morris and Pratt),
 * so the result cannot depend on how the answer was split. Any thread.
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
	size_t *back; /* owns: how many bytes still match after `n` matched and the next did not */
	size_t at;    /* how many of its bytes the input so far ends with */
	bool found;   /* never reset by more input */
};

/* Searches for `bytes` (borrowed until probe_match_free()). An empty string is found at once. 0, or -ENOMEM
 * with nothing to free. */
int probe_match_init(struct probe_match *m, const uint8_t *bytes, size_t len);
void probe_match_free(struct probe_match *m);
/* Back to the state before any input. */
void probe_match_reset(struct probe_match *m);
/* Takes more input. Returns how much of it was examined: all, or up to the end of the string. */
size_t probe_match_push(struct probe_match *m, const uint8_t *data, size_t len);

/* The run of `expect`s between two `send`s. As in HAProxy's tcp-check, all of them examine the same input, in
 * no particular order. Each string must arrive and each negated string must not. The absence is only certain
 * at the end of the answer, so a negated `expect` waits for the connection to end. */
struct probe_expect {
	const struct config_check_step *steps; /* borrows */
	size_t count;
	struct probe_match *matches; /* owns: one per step */
	size_t fault;                /* index of the step that failed */
};

enum probe_expected {
	PROBE_EXPECT_MORE,     /* not known yet */
	PROBE_EXPECT_GOOD,     /* satisfied */
	PROBE_EXPECT_MISSING,  /* the answer ended without the string of steps[fault] */
	PROBE_EXPECT_UNWANTED, /* the negated string of steps[fault] arrived */
};

/* `steps` must all be expects and are borrowed until probe_expect_free(). 0, or -ENOMEM with nothing to
 * free. */
int probe_expect_init(struct probe_expect *x, const struct config_check_step *steps, size_t count);
void probe_expect_free(struct probe_expect *x);
void probe_expect_reset(struct probe_expect *x);
/* Takes more input and examines `*used` bytes of it. The rest belongs to the next step. */
enum probe_expected probe_expect_push(struct probe_expect *x, const uint8_t *data, size_t len, size_t *used);
/* No more input will come or is wanted. Never returns PROBE_EXPECT_MORE. */
enum probe_expected probe_expect_end(struct probe_expect *x);

#endif
