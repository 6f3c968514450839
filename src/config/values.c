/* SPDX-License-Identifier: MIT
 *
 * values.c - parses and prints numbers, durations and sizes as people write them.
 *
 * Any thread.
 */
#include "weir/config/values.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/digit.h"

/* Largest first, so that printing uses the largest that fits. */
static const struct duration_unit {
	const char *name;
	int64_t ns;
} duration_units[] = {
	{"d", 86400 * NS_PER_SEC}, {"h", 3600 * NS_PER_SEC}, {"m", 60 * NS_PER_SEC},
	{"s", NS_PER_SEC},	   {"ms", NS_PER_MS},	     {"us", NS_PER_US},
};

/* Reads digits (and '_' between two of them if `underscores`) from `*text` and advances it. */
static int take_digits(const char **text, bool underscores, uint64_t *number)
{
	const char *p = *text;
	uint64_t n = 0;

	if (!is_digit(*p))
		return -EINVAL;
	for (; is_digit(*p) || (underscores && *p == '_' && is_digit(p[1])); p++) {
		if (*p == '_')
			continue;
		if (__builtin_mul_overflow(n, 10u, &n) || __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n))
			return -ERANGE;
	}
	*text = p;
	*number = n;
	return 0;
}

static int whole_number(const char *text, bool underscores, uint64_t *number)
{
	uint64_t n = 0;
	int err = take_digits(&text, underscores, &n);

	if (err)
		return err;
	if (*text != '\0')
		return -EINVAL;
	*number = n;
	return 0;
}

int value_number(const char *text, uint64_t *number)
{
	return whole_number(text, false, number);
}

int value_count(const char *text, uint64_t *count)
{
	return whole_number(text, true, count);
}

/* The unit at `*text`: letters up to the next digit or the end. */
static const struct duration_unit *take_unit(const char **text)
{
	size_t len = strcspn(*text, "0123456789");

	for (size_t i = 0; i < ARRAY_LEN(duration_units); i++) {
		const struct duration_unit *unit = &duration_units[i];

		if (strlen(unit->name) == len && memcmp(unit->name, *text, len) == 0) {
			*text += len;
			return unit;
		}
	}
	return NULL;
}

int value_duration(const char *text, int64_t *ns)
{
	int64_t sum = 0;

	if (strcmp(text, "off") == 0 || strcmp(text, "0") == 0) {
		*ns = 0;
		return 0;
	}
	do {
		const struct duration_unit *unit;
		uint64_t n = 0;
		int64_t part;
		int err = take_digits(&text, false, &n);

		if (err)
			return err;
		if (*text == '\0')
			return -EDOM;
		unit = take_unit(&text);
		if (unit == NULL)
			return -EINVAL;
		if (n > INT64_MAX || __builtin_mul_overflow((int64_t)n, unit->ns, &part))
			return -ERANGE;
		if (__builtin_add_overflow(sum, part, &sum))
			return -ERANGE;
	} while (*text != '\0');
	*ns = sum;
	return 0;
}

int value_size(const char *text, uint64_t *bytes)
{
	static const char units[] = "kmg";
	uint64_t n = 0;
	int err = take_digits(&text, true, &n);

	if (err)
		return err;
	if (*text != '\0') {
		const char *unit = strchr(units, *text | 0x20);
		unsigned shift;

		if (unit == NULL || *unit == '\0' || text[1] != '\0')
			return -EINVAL;
		shift = 10 * (unsigned)(unit - units + 1);
		if (n > UINT64_MAX >> shift)
			return -ERANGE;
		n <<= shift;
	}
	*bytes = n;
	return 0;
}

int value_mode(const char *text, int *mode)
{
	int n = 0;

	if (*text == '\0')
		return -EINVAL;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '7')
			return -EINVAL;
		n = n * 8 + (*text - '0');
		if (n > 07777)
			return -ERANGE;
	}
	*mode = n;
	return 0;
}

const char *value_format_duration(int64_t ns, char *buf)
{
	size_t used = 0;

	check(ns >= 0);
	buf[0] = '0';
	buf[1] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(duration_units); i++) {
		const struct duration_unit *unit = &duration_units[i];
		int n;

		if (ns < unit->ns)
			continue;
		n = snprintf(buf + used, VALUE_TEXT_MAX - used, "%lld%s", (long long)(ns / unit->ns),
			     unit->name);
		check(n > 0);
		used += (size_t)n;
		check(used < VALUE_TEXT_MAX);
		ns %= unit->ns;
	}
	return buf;
}

const char *value_format_size(uint64_t bytes, char *buf)
{
	static const char *const units[] = {"", "k", "m", "g"};
	size_t unit = 0;
	int n;

	while (bytes != 0 && unit + 1 < ARRAY_LEN(units) && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	n = snprintf(buf, VALUE_TEXT_MAX, "%llu%s", (unsigned long long)bytes, units[unit]);
	check(n > 0);
	return buf;
}
