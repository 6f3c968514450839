/* SPDX-License-Identifier: MIT
 *
 * history.h - the most recent changes of a server's state, weight and limit, each with its cause. Control
 * thread.
 */
#ifndef WEIR_BALANCE_HISTORY_H
#define WEIR_BALANCE_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#define HISTORY_MAX 32
#define HISTORY_CAUSE_MAX 96

struct history_change {
	int64_t at_ns; /* monotonic */
	int64_t wall_ns; /* since 1970 */
	uint8_t what; /* enum change_what */
	uint32_t from; /* for a state, enum server_state */
	uint32_t to;
	char cause[HISTORY_CAUSE_MAX]; /* cut when longer; printable */
};

struct history {
	struct history_change *changes; /* owns; HISTORY_MAX entries, allocated at the first change */
	size_t count;                   /* all changes so far; the newest is changes[(count - 1) %
					 * HISTORY_MAX] */
};

/* Adds a change; beyond HISTORY_MAX the oldest is dropped. When out of memory the change is only counted. */
void history_add(struct history *h, const struct history_change *change);
/* The number of changes kept, and the i-th of them, the oldest first. */
size_t history_size(const struct history *h);
const struct history_change *history_get(const struct history *h, size_t i);
void history_free(struct history *h);

#endif
