/* SPDX-License-Identifier: MIT
 *
 * fuzz_check_match.c - expects of a check over any answer in any pieces, against a search in the whole.
 *
 * A libFuzzer target; replay.c runs it over the corpus without one. The input: how the answer is cut, how
 * many strings there are, for each a byte (negated in its top bit, its length below) and its bytes, and the
 * answer.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/config.h"
#include "health/probe_match.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STEPS_MAX 4

struct input {
	uint8_t cuts;
	struct config_check_step steps[STEPS_MAX];
	size_t count;
	const uint8_t *answer;
	size_t len;
};

static uint8_t take_byte(const uint8_t **data, size_t *size)
{
	if (*size == 0)
		return 0;
	(*size)--;
	return *(*data)++;
}

static void read_input(struct input *in, const uint8_t *data, size_t size)
{
	in->cuts = take_byte(&data, &size);
	in->count = 1 + take_byte(&data, &size) % STEPS_MAX;
	for (size_t i = 0; i < in->count; i++) {
		const uint8_t head = take_byte(&data, &size);
		const size_t len = (head & 0x7f) < size ? (size_t)(head & 0x7f) : size;

		in->steps[i] = (struct config_check_step){
			.expect = true, .negate = head >> 7, .bytes = (uint8_t *)(uintptr_t)data, .len = len};
		data += len;
		size -= len;
	}
	in->answer = data;
	in->len = size;
}

/* What is known of the first `len` bytes, by looking through all of them. */
static enum probe_expected slow_known(const struct input *in, size_t len, size_t *fault)
{
	size_t found = 0;

	for (size_t i = 0; i < in->count; i++) {
		const struct config_check_step *s = &in->steps[i];

		if (memmem(in->answer, len, s->bytes, s->len) == NULL)
			continue;
		if (s->negate) {
			*fault = i;
			return PROBE_EXPECT_UNWANTED;
		}
		found++;
	}
	return found == in->count ? PROBE_EXPECT_GOOD : PROBE_EXPECT_MORE;
}

static enum probe_expected slow_end(const struct input *in, size_t *fault)
{
	const enum probe_expected known = slow_known(in, in->len, fault);

	if (known != PROBE_EXPECT_MORE)
		return known;
	for (size_t i = 0; i < in->count; i++) {
		*fault = i;
		if (!in->steps[i].negate &&
		    memmem(in->answer, in->len, in->steps[i].bytes, in->steps[i].len) == NULL)
			return PROBE_EXPECT_MISSING;
	}
	return PROBE_EXPECT_GOOD;
}

/* Pushes all of the answer; each piece has 1 to 1 + `cuts` bytes. */
static enum probe_expected push_in_pieces(struct probe_expect *x, const struct input *in, unsigned cuts,
					  size_t *total)
{
	enum probe_expected now = PROBE_EXPECT_MORE;
	unsigned turn = in->cuts;
	size_t used;

	*total = 0;
	do {
		const size_t piece = 1 + turn % (cuts + 1), left = in->len - *total;

		now = probe_expect_push(x, in->answer + *total, piece < left ? piece : left, &used);
		*total += used;
		turn = turn * 5 + 3;
	} while (now == PROBE_EXPECT_MORE && *total < in->len);
	return now;
}

static void compare(struct probe_expect *x, const struct input *in, unsigned cuts)
{
	enum probe_expected slow = PROBE_EXPECT_MORE, got, end;
	size_t slow_fault = 0, total, at;

	for (at = 0; at <= in->len && slow == PROBE_EXPECT_MORE; at++)
		slow = slow_known(in, at, &slow_fault);
	probe_expect_reset(x);
	got = push_in_pieces(x, in, cuts, &total);
	check(got == slow);
	check(total == at - 1);
	check(slow != PROBE_EXPECT_UNWANTED || x->fault == slow_fault);
	if (slow != PROBE_EXPECT_MORE)
		return;
	end = probe_expect_end(x);
	check(end == slow_end(in, &slow_fault));
	check(end != PROBE_EXPECT_MORE);
	check(end == PROBE_EXPECT_GOOD || x->fault == slow_fault);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct probe_expect x;
	struct input in;

	if (size > 2048)
		return 0; /* the slow search is slow */
	memset(&in, 0, sizeof(in));
	read_input(&in, data, size);
	check(probe_expect_init(&x, in.steps, in.count) == 0);
	compare(&x, &in, 0);
	compare(&x, &in, in.cuts);
	compare(&x, &in, UINT16_MAX);
	probe_expect_free(&x);
	return 0;
}
