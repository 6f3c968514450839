/* SPDX-License-Identifier: MIT
 *
 * weight.c - the weights of an upstream: nginx has no largest one.
 *
 * Main thread.
 */
#include "weight.h"

#include <stdlib.h>
#include <string.h>

void nginx_weights_read(struct nginx_weights *w, const struct old_line *block)
{
	unsigned long most = 1, common = 0;

	for (size_t i = 0; i < block->inside.count; i++) {
		const struct old_line *line = block->inside.list[i];
		unsigned long a = strtoul(nginx_parameter(line, "weight=", "1"), NULL, 10);

		if (strcmp(line->words[0], "server") != 0)
			continue;
		most = a > most ? a : most;
		while (a > 0) { /* Euclid */
			const unsigned long rest = common % a;

			common = a;
			a = rest;
		}
	}
	w->unit = most > NGINX_WEIGHT_MAX && common > 0 ? common : 1;
	w->rounds = most / w->unit > NGINX_WEIGHT_MAX;
	if (w->rounds)
		w->unit = most / NGINX_WEIGHT_MAX + (most % NGINX_WEIGHT_MAX > 0);
}

const char *nginx_weight(struct arena *a, const struct nginx_weights *w, struct old_line *line,
			 const char *value)
{
	const unsigned long theirs = strtoul(value, NULL, 10), unit = w->unit;
	const unsigned long ours = theirs / unit + (theirs % unit >= unit - unit / 2);

	if (unit == 1)
		return value;
	if (w->rounds)
		old_set(a, line, OLD_DIFFERENT, "weir's weights go up to %d: %s becomes %lu",
			NGINX_WEIGHT_MAX, value, ours > 0 ? ours : 1);
	return arena_printf(a, "%lu", ours > 0 ? ours : 1);
}
