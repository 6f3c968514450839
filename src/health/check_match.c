/* SPDX-License-Identifier: MIT
 *
 * check_match.c - strings that a health check waits for, found in an answer that comes in any pieces.
 *
 * Owns a table a string, and none of the bytes. Any thread.
 */
#include "check_match.h"

#include <errno.h>
#include <stdlib.h>

#include "weir/base/check.h"
#include "weir/config/config.h"

/* ---- one string ---- */

/* back[n]: of the first n bytes, how many at their end are also its beginning (and are not all of it). */
static void fill_back(struct check_match *m)
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

int check_match_init(struct check_match *m, const uint8_t *bytes, size_t len)
{
	*m = (struct check_match){.bytes = bytes, .len = len};
	if (len > 0) {
		m->back = calloc(len + 1, sizeof(*m->back));
		if (m->back == NULL)
			return -ENOMEM;
		fill_back(m);
	}
	check_match_reset(m);
	return 0;
}

void check_match_free(struct check_match *m)
{
	free(m->back);
	m->back = NULL;
}

void check_match_reset(struct check_match *m)
{
	m->at = 0;
	m->found = m->len == 0;
}

size_t check_match_push(struct check_match *m, const uint8_t *data, size_t len)
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

int check_expect_init(struct check_expect *x, const struct config_check_step *steps, size_t count)
{
	check(count > 0);
	*x = (struct check_expect){.steps = steps};
	x->matches = calloc(count, sizeof(*x->matches));
	if (x->matches == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		check(steps[i].expect);
		if (check_match_init(&x->matches[i], steps[i].bytes, steps[i].len) != 0) {
			check_expect_free(x);
			return -ENOMEM;
		}
		x->count++;
	}
	return 0;
}

void check_expect_free(struct check_expect *x)
{
	for (size_t i = 0; i < x->count; i++)
		check_match_free(&x->matches[i]);
	free(x->matches);
	*x = (struct check_expect){.count = 0};
}

void check_expect_reset(struct check_expect *x)
{
	for (size_t i = 0; i < x->count; i++)
		check_match_reset(&x->matches[i]);
	x->fault = 0;
}

/* What is known before the end. */
static enum check_expected known(struct check_expect *x)
{
	bool all = true;

	for (size_t i = 0; i < x->count; i++) {
		if (x->steps[i].negate && x->matches[i].found) {
			x->fault = i;
			return CHECK_EXPECT_UNWANTED;
		}
		all = all && x->matches[i].found;
	}
	return all ? CHECK_EXPECT_GOOD : CHECK_EXPECT_MORE;
}

enum check_expected check_expect_push(struct check_expect *x, const uint8_t *data, size_t len, size_t *used)
{
	enum check_expected now = known(x);

	*used = 0;
	/* Byte by byte, so that what follows the last string is left to the next step. */
	while (now == CHECK_EXPECT_MORE && *used < len) {
		for (size_t i = 0; i < x->count; i++)
			(void)check_match_push(&x->matches[i], data + *used, 1); /* it is one byte */
		*used += 1;
		now = known(x);
	}
	return now;
}

enum check_expected check_expect_end(struct check_expect *x)
{
	enum check_expected now = known(x);

	if (now != CHECK_EXPECT_MORE)
		return now;
	for (size_t i = 0; i < x->count; i++) {
		if (!x->steps[i].negate && !x->matches[i].found) {
			x->fault = i;
			return CHECK_EXPECT_MISSING;
		}
	}
	return CHECK_EXPECT_GOOD;
}
