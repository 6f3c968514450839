/* SPDX-License-Identifier: MIT
 *
 * page.h - the page at `/`: frontends, backends and servers, and the details of one server.
 *
 * One HTML document that refers to nothing outside of itself. All values are in it as served, so it works
 * without JavaScript; the script in it keeps it current, sorts, filters and draws. Rendering knows no engine
 * and allocates nothing but the text. Any thread.
 */
#ifndef WEIR_WEB_PAGE_H
#define WEIR_WEB_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/account/tally.h"
#include "weir/balance/history.h"
#include "weir/base/text.h"

/* A value that a row does not have. */
#define PAGE_NO_VALUE UINT64_MAX

enum page_column {
#define PAGE_COLUMN(id, head, form, kinds, place, help) PAGE_##id,
#include "page_columns.tbl.h"
#undef PAGE_COLUMN
	PAGE_COLUMNS
};

enum page_kind { PAGE_FRONTEND, PAGE_BACKEND, PAGE_SERVER };

/* How good a state is. The page shows the worst first when it is sorted by state. */
enum page_tone { PAGE_GOOD, PAGE_OFF, PAGE_WARN, PAGE_BAD, PAGE_TONES };

/* A frontend, backend or server. Borrows all text until the function that gets the row returns; NULL is no
 * text. Nothing in it need be escaped. */
struct page_row {
	enum page_kind kind;
	enum page_tone tone;
	const char *backend; /* of a server: the name of its backend */
	const char *name;
	const char *address;
	bool is_backup; /* a server that is used when no other is usable */
	const char *state;
	int64_t since_s;     /* how long it has been in this state; -1 = unknown */
	const char *reason;  /* why it is */
	const char *check;   /* the last result of its health check */
	bool is_failing;     /* it is up, but its last health checks failed */
	bool is_echo;        /* its state only repeats that of a row of another kind */
	uint64_t values[PAGE_COLUMNS]; /* PAGE_NO_VALUE where it has none */
};

typedef void page_row_report(void *to, const struct page_row *row);
typedef void page_figure_report(void *to, const char *name, uint64_t value, const char *help);

/* What the page asks for while it is rendered; each function may be called several times, and reports the
 * same rows each time. */
struct page_source {
	/* Reports all frontends, then each backend, followed by its servers. */
	void (*rows)(void *from, page_row_report *report, void *to);
	/* Reports what is counted for the process. */
	void (*figures)(void *from, page_figure_report *report, void *to);
	void *from; /* borrows */
};

/* How sessions ended, by reason, and who slowed them down: since the start, and in the last minute. */
struct page_ends {
	uint64_t total[CLOSE_REASONS];
	uint64_t minute[CLOSE_REASONS];
	uint64_t slowed[LIMITS];
	uint64_t slowed_minute[LIMITS];
};

/* What the page of one server has in addition to its row. */
struct page_server {
	struct page_row row;
	const struct tally_sum *tally;  /* borrows */
	const struct history *history;  /* borrows */
};

struct page_facts {
	const char *version; /* borrows, as all text here */
	const char *node;    /* name of the machine; "" = not shown */
	const char *state;   /* of the daemon: "ready" */
	bool is_ready;       /* new clients may come */
	int pid;
	unsigned workers;
	int64_t uptime_s;
	int64_t wall_ns;     /* when the numbers were taken, since 1970 */
	uint64_t sessions;
	uint64_t maxconn;
	uint64_t bytes_to_server;
	uint64_t bytes_to_client;
	uint64_t bytes_spliced;
	uint64_t busy_ns;    /* CPU time of all workers */
	const struct page_ends *ends; /* borrows */
	struct page_source source;
	const struct page_server *server; /* borrows: the page shows only this one; NULL = all */
	const char *missing; /* name of a server that was asked for and does not exist; NULL = none */
	bool is_update;      /* the script asks: style and script are left out */
};

/* Writes the page. If memory runs out, out->failed is set. */
void page_render(const struct page_facts *facts, struct text *out);
/* How much of these bytes splice moved, in percent; 0 of none. */
unsigned page_spliced_percent(uint64_t spliced, uint64_t to_server, uint64_t to_client);
/* The value of the header Content-Security-Policy for every page: nothing runs or is loaded that was not
 * built in. Static. */
const char *page_policy(void);

#endif
