/* SPDX-License-Identifier: MIT
 *
 * view.h - a running weir as `status` and `top` see it: taken through the admin socket, and shown.
 *
 * Main thread.
 */
#ifndef WEIR_CLI_VIEW_H
#define WEIR_CLI_VIEW_H

#include <stdint.h>

#include "weir/base/text.h"
#include "weir/config/config.h"
#include "ask.h"

#define VIEW_WORD_MAX 32

/* A frontend, a backend or a server. */
struct view_row {
	char proxy[CONFIG_NAME_MAX]; /* of the frontend or backend, or of the server's backend */
	char name[CONFIG_NAME_MAX];  /* of the server */
	char state[VIEW_WORD_MAX];   /* open, full, stop; up, down, drain, maint */
	char address[ADDR_TEXT_MAX]; /* a frontend's: all, with blanks between them, cut when too many */
	uint64_t sessions;
	uint64_t sessions_max;
	uint64_t limit; /* 0 = none */
	uint64_t total;
	uint64_t failures;
	uint64_t queue;  /* of a server: clients that wait for it */
	uint64_t weight; /* of a server: as it is now */
	uint64_t denied; /* of a frontend */
	uint64_t bytes_in;  /* from clients */
	uint64_t bytes_out; /* to clients */
};

struct view {
	int64_t taken_ns;
	char version[VIEW_WORD_MAX];
	char state[VIEW_WORD_MAX];
	char driver[VIEW_WORD_MAX];
	uint64_t pid;
	uint64_t uptime_s;
	uint64_t workers;
	uint64_t sessions;
	uint64_t maxconn;
	uint64_t accepted;
	uint64_t bytes_to_server;
	uint64_t bytes_to_client;
	uint64_t bytes_spliced;
	uint64_t queued; /* clients that wait for a server, in all queues */
	struct view_row *frontends; /* owns */
	size_t frontend_count;
	struct view_row *backends; /* owns */
	size_t backend_count;
	struct view_row *servers; /* owns */
	size_t server_count;
};

/* What stands first in each list. */
enum view_sort {
	VIEW_SORT_STATE, /* what is down, then what an operator took out; else the order of the file */
	VIEW_SORT_SESSIONS,
	VIEW_SORT_NEW, /* by rate, or by number without one */
	VIEW_SORT_BYTES,
	VIEW_SORT_NAME,
	VIEW_SORTS
};

/* How it is to look. */
struct view_style {
	bool colour;
	unsigned columns; /* of the terminal; 0 = no line is cut */
	enum view_sort sort;
};

void view_init(struct view *v);
void view_free(struct view *v);
/* Asks the daemon; says on stderr why it could not. `v` is freed first. */
enum exit_code view_take(struct view *v, const struct addr_spec *spec, int wait_ms);
/* Fills `v`, which is empty, from the answer to VIEW_QUESTION; false when it is none. */
#define VIEW_QUESTION "show info; show stat\n"
bool view_read(struct view *v, char *answer);
/* Adds the page: a head, and behind an empty line the lists. With `before` (or NULL) it shows what happens
 * each second instead of sums. */
void view_show(const struct view *v, const struct view *before, const struct view_style *style,
	       struct text *out);
/* The same as one JSON object, never cut. */
void view_show_json(const struct view *v, const struct view *before, struct text *out);

#endif
