/* SPDX-License-Identifier: MIT
 *
 * trend.h - the last values of a rate, drawn as a line of blocks; and those of a weir that `top` watches.
 *
 * Main thread.
 */
#ifndef WEIR_CLI_TREND_H
#define WEIR_CLI_TREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base/text.h"
#include "view.h"

#define TREND_MAX 120u /* values, and so columns */

struct trend {
	uint64_t values[TREND_MAX]; /* a ring */
	unsigned next;		    /* where the next value goes */
	unsigned count;
};

void trend_add(struct trend *t, uint64_t value);
/* Draws the last `wide` values, the newest on the right, scaled to the largest of them. Fills `wide` columns,
 * blank where there is no value yet. Without `blocks` in ASCII. */
void trend_draw(const struct trend *t, unsigned wide, bool blocks, struct text *out);

/* The trends of a weir. */
struct trends {
	struct trend accepted; /* clients per second */
	struct trend bytes;    /* per second, both directions */
	struct server_trend {
		char proxy[CONFIG_NAME_MAX];
		char name[CONFIG_NAME_MAX];
		struct trend accepted;
		struct trend bytes;
	} *servers; /* owns; in the order of the newest view */
	size_t server_count;
};

void trends_init(struct trends *t);
void trends_free(struct trends *t);
/* Adds the rates between two views. A server is found by its name; without memory for one more, the servers'
 * trends begin again. */
void trends_add(struct trends *t, const struct view *now, const struct view *before);

#endif
