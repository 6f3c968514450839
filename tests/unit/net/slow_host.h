/* SPDX-License-Identifier: MIT
 *
 * slow_host.h - host patterns by definition: the text of a pattern against the text of a name, label by
 * label. Tests only.
 */
#ifndef UNIT_SLOW_HOST_H
#define UNIT_SLOW_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SLOW_LABELS_MAX 130

/* The labels from the last one to the first. */
struct slow_labels {
	const char *begin[SLOW_LABELS_MAX];
	size_t len[SLOW_LABELS_MAX];
	size_t count;
};

static inline void slow_split(const char *name, struct slow_labels *out)
{
	const char *end = name + strlen(name);

	out->count = 0;
	for (;;) {
		const char *begin = end;

		while (begin > name && begin[-1] != '.')
			begin--;
		out->begin[out->count] = begin;
		out->len[out->count++] = (size_t)(end - begin);
		if (begin == name)
			return;
		end = begin - 1;
	}
}

/* Does the name match the pattern? Both in lower case, without a trailing dot. */
static inline bool slow_matches(const char *pattern, const char *name)
{
	const bool star = pattern[0] == '*', dot = pattern[0] == '.';
	struct slow_labels p, n;

	slow_split(pattern + (star ? 2 : dot ? 1 : 0), &p);
	slow_split(name, &n);
	if (n.count < p.count)
		return false;
	for (size_t i = 0; i < p.count; i++)
		if (p.len[i] != n.len[i] || memcmp(p.begin[i], n.begin[i], p.len[i]) != 0)
			return false;
	if (n.count == p.count)
		return !star;
	/* Something must be below: ".example.com" is no name below example.com. */
	return (star || dot) && !(n.count == p.count + 1 && n.len[p.count] == 0);
}

/* Writes the n-th name of at most `most` labels, each one of the first `letters` letters. Is there one? */
static inline bool slow_nth(unsigned n, unsigned letters, unsigned most, char *name)
{
	unsigned labels = 1, count = letters;

	while (n >= count) {
		n -= count;
		count *= letters;
		labels++;
	}
	for (unsigned i = 0; i < labels && labels <= most; i++) {
		name[2 * i] = (char)('a' + n % letters);
		name[2 * i + 1] = i + 1 < labels ? '.' : '\0';
		n /= letters;
	}
	return labels <= most;
}

/* With one label and one letter more than the patterns have, so that any two of them differ in some name. */
static inline bool slow_nth_name(unsigned n, char *name)
{
	return slow_nth(n, 3, 4, name);
}

#define SLOW_PATTERNS (3 * (2 + 4 + 8))

static inline bool slow_nth_pattern(unsigned n, char *pattern)
{
	static const char *const begins[] = {"", "*.", "."};
	char name[16];

	if (!slow_nth(n / 3, 2, 3, name))
		return false;
	(void)snprintf(pattern, 16, "%s%s", begins[n % 3], name);
	return true;
}

#endif
