/* SPDX-License-Identifier: MIT
 *
 * web.h - the HTTP endpoint: a page, metrics, statistics as CSV and JSON, and whether the daemon is alive and
 * ready.
 *
 * Read-only: no request changes anything. Runs on control's loop, one request at a time, and never blocks. A
 * client has WEB_REQUEST_S to send its request and take the answer; there are at most WEB_CLIENTS_MAX, of
 * networks that `allow-from` names. With `auth-file`, all but /healthz and /readyz needs a user and a
 * password (src/web/auth.h). Everyone who asks for the same within WEB_SNAPSHOT_MS gets the same
 * answer, so that many scrapers cost one walk through the sessions. Main thread.
 */
#ifndef WEIR_WEB_WEB_H
#define WEIR_WEB_WEB_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/base/chunks.h"
#include "weir/base/figure.h"
#include "weir/base/text.h"
#include "weir/engine/engine.h"
#include "weir/stats/question.h"
#include "weir/web/web_socket.h"

#define WEB_CLIENTS_MAX	   CONFIG_STATS_CLIENTS_MAX
#define WEB_REQUEST_BYTES  8192
#define WEB_REQUEST_S	   5.
#define WEB_SNAPSHOT_MS	   100
#define WEB_ANSWERS_MAX	   8 /* different ones per snapshot */
#define WEB_HELD_BYTES	   (64u << 20)

/* What rooms beside this one show; control hands it over. */
struct web_sources {
	/* Appends HAProxy's table, with its header. `sums`: a struct tally_sum at each slot. `cleared`:
	 * without what was counted before the counters were cleared. */
	void (*csv)(void *arg, const struct chunks *sums, bool cleared, struct text *out);
	/* Appends the lines "name: value" of `show info`. */
	void (*info)(void *arg, struct text *out);
	/* Why no new clients should come: a word, static; NULL = they may. */
	const char *(*why_not_ready)(void *arg);
	/* Does it take no new clients any more? */
	bool (*is_ending)(void *arg);
	void *arg;
};

/* What answers are made of; borrowed until web_free(). */
struct web_context {
	struct engine *engine;
	struct stats *stats;
	const struct figure_source *figures;
	size_t figure_count;
	int64_t started_ns; /* monotonic */
	const char *driver;
	struct web_sources sources;
};

/* What has been counted since the start. */
struct web_totals {
	uint64_t requests;
	uint64_t refused; /* connections of clients that `allow-from` does not name */
	uint64_t late;    /* connections closed because the request or taking the answer took too long */
	uint64_t auth_wrong;     /* passwords verified that were wrong, and headers that are not valid */
	uint64_t auth_throttled; /* requests of sources that had guessed too often */
	uint64_t auth_busy;      /* requests whose password could not be verified */
};

struct web;

/* Serves `socket` (borrowed; closed = none yet). `stats` and `loop` must live until web_free(). NULL with
 * `*err` = -errno: -ENOMEM, or what the HTTP server could not get. */
struct web *web_new(struct ev_loop *loop, struct web_socket *socket, const struct web_context *ctx, int *err);
/* Closes all connections. NULL is harmless. */
void web_free(struct web *w);
const struct web_totals *web_totals(const struct web *w);
/* The members of struct web_totals as figures; `from` is a struct web ** (*from may be NULL). */
void web_publish(void *from, figure_report *report, void *to);

#endif
