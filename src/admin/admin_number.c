/* SPDX-License-Identifier: MIT
 *
 * admin_number.c - numbers and times in the commands, in HAProxy's grammar.
 *
 * A time without a unit is valid here, unlike in a configuration. Main thread.
 */
#include <stdint.h>
#include <string.h>

#include "weir/admin/admin_answers.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"

/* Reads digits up to `most`; the rest of the word, or NULL if there are none or it is too large. */
static const char *read_digits(const char *word, uint64_t most, uint64_t *number)
{
	const char *at = word;

	*number = 0;
	for (; *at >= '0' && *at <= '9'; at++) {
		const unsigned digit = (unsigned)(*at - '0');

		if (*number > (most - digit) / 10)
			return NULL;
		*number = 10 * *number + digit;
	}
	return at != word ? at : NULL;
}

bool admin_read_number(const char *word, unsigned most, unsigned *number)
{
	uint64_t value;
	const char *end = read_digits(word, most, &value);

	if (end == NULL || *end != '\0')
		return false;
	*number = (unsigned)value;
	return true;
}

bool admin_read_time(const char *word, int64_t unit_ns, int64_t *ns)
{
	static const struct {
		const char *word;
		int64_t ns;
	} units[] = {
		{"us", NS_PER_SEC / 1000000}, {"ms", NS_PER_MS},	      {"s", NS_PER_SEC},
		{"m", 60 * NS_PER_SEC},	      {"h", 3600 * NS_PER_SEC}, {"d", 86400 * NS_PER_SEC},
	};
	uint64_t count;
	const char *end = read_digits(word, INT64_MAX, &count);

	check(unit_ns > 0);
	if (end == NULL)
		return false;
	for (size_t i = 0; *end != '\0'; i++) {
		if (i == ARRAY_LEN(units))
			return false;
		if (strcmp(end, units[i].word) == 0) {
			unit_ns = units[i].ns;
			break;
		}
	}
	if (count > (uint64_t)(INT64_MAX / unit_ns))
		return false;
	*ns = (int64_t)count * unit_ns;
	return true;
}
