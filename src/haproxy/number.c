/* SPDX-License-Identifier: MIT
 *
 * number.c - HAProxy's comparisons with numbers, as far as weir can make the same.
 *
 * Pure. Any thread.
 */
#include <stdlib.h>
#include <string.h>

#include "sections.h"

#define VERSION_3_3 ((3ul << 16) + 3)

/* "3.1" as HAProxy has it. */
static unsigned long version_of(const char *text)
{
	char *end;
	const unsigned long major = strtoul(text, &end, 10);

	return (major << 16) + (*end == '.' ? strtoul(end + 1, NULL, 10) : 0);
}

/* The version in the hello of a client of TLS 1.2 or 1.3 is 3.3. */
bool haproxy_is_any_version(const char *op, const char *const *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *colon = strchr(values[i], ':');
		const unsigned long from = version_of(values[i]);
		const unsigned long to = colon != NULL ? version_of(colon + 1) : from;

		if (strcmp(op, "gt") == 0 ? VERSION_3_3 > from
		    : strcmp(op, "ge") == 0 ? VERSION_3_3 >= from
		    : strcmp(op, "lt") == 0 ? VERSION_3_3 < from
		    : strcmp(op, "le") == 0 ? VERSION_3_3 <= from
					    : VERSION_3_3 >= from && VERSION_3_3 <= to)
			return true;
	}
	return false;
}

bool haproxy_is_any_length(const char *op, const char *const *values, size_t count, bool *nothing)
{
	const char *value = count == 1 ? values[0] : "";
	const bool zero = strcmp(value, "0") == 0, one = strcmp(value, "1") == 0;

	*nothing = (zero && (op[0] == '\0' || strcmp(op, "eq") == 0 || strcmp(op, "le") == 0)) ||
		   (one && strcmp(op, "lt") == 0);
	return *nothing || (zero && strcmp(op, "gt") == 0) || (one && strcmp(op, "ge") == 0);
}
