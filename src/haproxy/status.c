/* SPDX-License-Identifier: MIT
 *
 * status.c - the statuses that `http-check expect` takes, as ranges of weir's.
 *
 * A pattern is tried on each status there is: what it means is then certain. Patterns that could take long
 * are left alone. Main thread.
 */
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"
#include "status.h"
#include "weir/base/digit.h"

#define FIRST	    100
#define LAST	    599
#define PATTERN_MAX 64
#define RANGES_MAX  16

/* One of HAProxy's patterns in the words of POSIX; false: not one for three digits. */
static bool in_posix(const char *text, char *out, size_t size)
{
	size_t len = 0;

	if (strlen(text) > PATTERN_MAX)
		return false;
	for (; *text != '\0' && len + 6 < size; text++) {
		if (strncmp(text, "\\d", 2) == 0) {
			len += (size_t)snprintf(out + len, size - len, "[0-9]");
			text++;
		} else if (strncmp(text, "(?:", 3) == 0) {
			out[len++] = '(';
			text += 2;
		} else if (is_digit(*text) || strchr("^$.|()[]-", *text) != NULL) {
			out[len++] = *text;
		} else {
			return false;
		}
	}
	out[len] = '\0';
	return *text == '\0';
}

static bool take_pattern(const char *text, bool *taken)
{
	char posix[6 * PATTERN_MAX], status[16];
	regex_t pattern;

	if (!in_posix(text, posix, sizeof(posix)) || regcomp(&pattern, posix, REG_EXTENDED | REG_NOSUB) != 0)
		return false;
	for (int s = FIRST; s <= LAST; s++) {
		(void)snprintf(status, sizeof(status), "%d", s); /* three digits fit */
		taken[s - FIRST] = regexec(&pattern, status, 0, NULL, 0) == 0;
	}
	regfree(&pattern);
	return true;
}

/* "200,300-399" */
static bool take_list(const char *text, bool *taken)
{
	while (*text != '\0') {
		char *end;
		const unsigned long from = strtoul(text, &end, 10);
		const unsigned long to = *end == '-' ? strtoul(end + 1, &end, 10) : from;

		if (end == text || (*end != ',' && *end != '\0') || from < FIRST || to > LAST)
			return false;
		for (unsigned long s = from; s <= to; s++)
			taken[s - FIRST] = true;
		text = end + (*end == ',');
	}
	return true;
}

const char *haproxy_statuses(struct arena *a, const char *text, bool is_pattern, bool negated)
{
	bool taken[LAST - FIRST + 1] = {false};
	const char *out = "";
	unsigned count = 0;

	if (!(is_pattern ? take_pattern(text, taken) : take_list(text, taken)))
		return NULL;
	for (int s = FIRST; s <= LAST; s++) {
		const int from = s;

		if (taken[s - FIRST] == negated)
			continue;
		while (s < LAST && taken[s + 1 - FIRST] != negated)
			s++;
		out = s == from ? arena_printf(a, "%s%s%d", out, count > 0 ? "," : "", from)
				: arena_printf(a, "%s%s%d-%d", out, count > 0 ? "," : "", from, s);
		if (++count > RANGES_MAX)
			return NULL;
	}
	return count > 0 ? out : NULL;
}
