/* SPDX-License-Identifier: MIT
 *
 * sessions_view.h - the live sessions of a running weir as `top` shows them.
 *
 * Main thread.
 */
#ifndef WEIR_CLI_SESSIONS_VIEW_H
#define WEIR_CLI_SESSIONS_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view.h"

/* A session. The texts borrow from the answer; "" = not known. */
struct session_row {
	uint64_t key; /* of all sessions of the process */
	uint64_t bytes_in;
	uint64_t bytes_out;
	uint64_t age_ms;
	const char *id;
	const char *state;
	const char *client;
	const char *frontend;
	const char *backend;
	const char *server;
};

/* The sessions at one time. */
struct sessions_view {
	int64_t taken_ns; /* 0 = not yet */
	struct text answer;
	const char *refusal; /* borrows from the answer; NULL = these are the sessions */
	struct session_row *rows; /* owns; sorted by key */
	size_t count;
};

void sessions_view_init(struct sessions_view *v);
void sessions_view_free(struct sessions_view *v);
/* Queries the daemon: 0 or -errno. Frees `v` first. A refusal is an answer without sessions. */
int sessions_view_take(struct sessions_view *v, const struct addr_spec *spec, int wait_ms);
/* Fills `v` from its answer, which it changes; false if out of memory. Lines that are not of a session are
 * left out. */
bool sessions_view_read(struct sessions_view *v);
/* Appends an empty line and the list, with rates since `before` (or NULL). */
void sessions_view_show(const struct sessions_view *v, const struct sessions_view *before,
			const struct view_style *style, struct text *out);

#endif
