/* SPDX-License-Identifier: MIT
 *
 * view.h - a running weir as `status` and `top` show it: fetched through the admin socket, and formatted.
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
#define VIEW_NOTE_MAX 192

/* A frontend, a backend or a server. */
struct view_row {
	char proxy[CONFIG_NAME_MAX]; /* the frontend or backend, or the server's backend */
	char name[CONFIG_NAME_MAX];  /* only for a server */
	char state[VIEW_WORD_MAX];   /* open, full, paused, stop; up, down, drain, maint */
	char address[ADDR_TEXT_MAX]; /* a frontend's: all, separated by blanks, truncated if too long */
	uint64_t sessions;
	uint64_t sessions_max;
	uint64_t limit; /* 0 = none */
	uint64_t total;
	uint64_t failures;
	uint64_t queue;  /* only for a server: clients queued for it */
	uint64_t weight; /* only for a server: current weight */
	uint64_t since_s; /* only for a server: how long it has been in its state */
	char check[VIEW_NOTE_MAX]; /* only for a server: what its last check found; "" = it has none */
	uint64_t denied; /* only for a frontend */
	uint64_t bytes_in;  /* from clients */
	uint64_t bytes_out; /* to clients */
};

struct view {
	int64_t taken_ns;
	char version[VIEW_WORD_MAX];
	char state[VIEW_WORD_MAX];
	char driver[VIEW_WORD_MAX];
	char config[VIEW_NOTE_MAX]; /* "files", or what is in effect in place of them */
	uint64_t pid;
	uint64_t uptime_s;
	uint64_t workers;
	uint64_t sessions;
	uint64_t maxconn;
	uint64_t accepted;
	uint64_t bytes_to_server;
	uint64_t bytes_to_client;
	uint64_t bytes_spliced;
	uint64_t queued; /* clients queued for a server, in all queues */
	struct view_row *frontends; /* owns */
	size_t frontend_count;
	struct view_row *backends; /* owns */
	size_t backend_count;
	struct view_row *servers; /* owns */
	size_t server_count;
};

/* The sort order of each list. */
enum view_sort {
	VIEW_SORT_STATE, /* down first, then in maintenance or draining; otherwise in the order of the file */
	VIEW_SORT_SESSIONS,
	VIEW_SORT_NEW, /* by rate, or by total if there is no rate */
	VIEW_SORT_BYTES,
	VIEW_SORT_NAME,
	VIEW_SORTS
};

/* What is below the head. */
enum view_page {
	VIEW_PAGE_ALL,	    /* frontends and servers, with their addresses */
	VIEW_PAGE_SERVERS,  /* servers, with their trends */
	VIEW_PAGE_SERVER,   /* server_view.h */
	VIEW_PAGE_SESSIONS, /* sessions_view.h */
	VIEW_PAGES
};

struct trends;

/* The look of the page. */
struct view_style {
	bool colour;
	unsigned columns; /* width of the terminal; 0 = do not truncate lines */
	enum view_page page;
	enum view_sort sort;
	const char *filter; /* borrows: only rows that contain this text; NULL or "" = all */
	const struct trends *trends; /* borrows: those of the view; NULL = there are none */
	bool blocks; /* the terminal can show blocks */
};

/* A server, by its names. */
struct view_choice {
	char proxy[CONFIG_NAME_MAX];
	char name[CONFIG_NAME_MAX]; /* "" = none */
};

void view_init(struct view *v);
void view_free(struct view *v);
/* Queries the daemon; on failure explains why on stderr. Frees `v` first. */
enum exit_code view_take(struct view *v, const struct addr_spec *spec, int wait_ms);
/* Fills the empty `v` from the answer to VIEW_QUESTION; false if it is not one. */
#define VIEW_QUESTION "show info; show stat\n"
bool view_read(struct view *v, char *answer);
/* Sets found[i] to the row of `before` that is the same item as rows[i], or to NULL. */
void view_match(const struct view_row *rows, size_t count, const struct view_row *before, size_t before_count,
		const struct view_row **found);
/* Appends the page: a head, an empty line, and the lists. With `before` (or NULL) it shows rates per second
 * instead of totals. */
void view_show(const struct view *v, const struct view *before, const struct view_style *style,
	       struct text *out);
/* Moves `choice` by `steps` in the list of servers as view_show() shows it, not beyond its ends. A choice
 * that is not in the list becomes the server with the number `steps` in it; without a server in it, or
 * memory, none. */
void view_choose(const struct view *v, const struct view *before, const struct view_style *style,
		 struct view_choice *choice, int steps);
/* The page as one JSON object, never truncated. */
void view_show_json(const struct view *v, const struct view *before, struct text *out);

#endif
