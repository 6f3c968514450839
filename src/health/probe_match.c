/* SPDX-License-Identifier: MIT
 *
 * probe_match.c - finds the strings that a health check expects in an answer that arrives in pieces.
 *
 * Owns one table per string, and none of the bytes. Any thread.
 */
#include "probe_match.h"

#include <errno.h>
#include <stdlib.h>

#include "weir/base/check.h"
#include "weir/config/config.h"

/* ---- one string ---- */

/* back[n]: the length of the longest proper prefix of the first n bytes that is also their suffix. */
static void fill_back(struct probe_match *m)
{
	size_t fits = 0;

	m->back[0] = 0;
	m->back[1] = 0;
	for (size_t n = 1; n < m->len; n++) {
		while (fits > 0 && m->bytes[n] != m->bytes[fits])
			fits = m->back[fits];
		if (m->bytes[n] == m->bytes[fits])
			fits++;
		m->back[n + 1] = fits;
	}
}

int probe_match_init(struct probe_match *m, const uint8_t *bytes, size_t len)
{
	*m = (struct probe_match){.bytes = bytes, .len = len};
	if (len > 0) {
		m->back = calloc(len + 1, sizeof(*m->back));
		if (m->back == NULL)
			return -ENOMEM;
		fill_back(m);
	}
	probe_match_reset(m);
	return 0;
}

void probe_match_free(struct probe_match *m)
{
	free(m->back);
	m->back = NULL;
}

void probe_match_reset(struct probe_match *m)
{
	m->at = 0;
	m->found = m->len == 0;
}

size_t probe_match_push(struct probe_match *m, const uint8_t *data, size_t len)
{
	size_t i = 0;

	while (i < len && !m->found) {
		while (m->at > 0 && data[i] != m->bytes[m->at])
			m->at = m->back[m->at];
		if (data[i] == m->bytes[m->at])
			m->at++;
		m->found = m->at == m->len;
		i++;
	}
	return i;
}

/* ---- expects between two sends ---- */

int probe_expect_init(struct probe_expect *x, const struct config_check_step *steps, size_t count)
{
	check(count > 0);
	*x = (struct probe_expect){.steps = steps};
	x->matches = calloc(count, sizeof(*x->matches));
	if (x->matches == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		check(steps[i].expect);
		if (probe_match_init(&x->matches[i], steps[i].bytes, steps[i].len) != 0) {
			probe_expect_free(x);
			return -ENOMEM;
		}
		x->count++;
	}
	return 0;
}

void probe_expect_free(struct probe_expect *x)
{
	for (size_t i = 0; i < x->count; i++)
		probe_match_free(&x->matches[i]);
	free(x->matches);
	*x = (struct probe_expect){.count = 0};
}

void probe_expect_reset(struct probe_expect *x)
{
	for (size_t i = 0; i < x->count; i++)
		probe_match_reset(&x->matches[i]);
	x->fault = 0;
}

/* The verdict before the end of the answer. */
static enum probe_expected known(struct probe_expect *x)
{
	bool all = true;

	for (size_t i = 0; i < x->count; i++) {
		if (x->steps[i].negate && x->matches[i].found) {
			x->fault = i;
			return PROBE_EXPECT_UNWANTED;
		}
		all = all && x->matches[i].found;
	}
	return all ? PROBE_EXPECT_GOOD : PROBE_EXPECT_MORE;
}

enum probe_expected probe_expect_push(struct probe_expect *x, const uint8_t *data, size_t len, size_t *used)
{
	enum probe_expected now = known(x);

	*used = 0;
	/* Byte by byte, so that what follows the last string is left for the next step. */
	while (now == PROBE_EXPECT_MORE && *used < len) {
		for (size_t i = 0; i < x->count; i++)
			(void)probe_match_push(&x->matches[i], data + *used, 1); /* one byte */
		*used += 1;
		now = known(x);
	}
	return now;
}

enum probe_expected probe_expect_end(struct probe_expect *x)
{
	enum probe_expected now = known(x);

	if (now != PROBE_EXPECT_MORE)
		return now;
	for (size_t i = 0; i < x->count; i++) {
		if (!x->steps[i].negate && !x->matches[i].found) {
			x->fault = i;
			return PROBE_EXPECT_MISSING;
		}
	}
	return PROBE_EXPECT_GOOD;
}
