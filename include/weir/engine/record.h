/* SPDX-License-Identifier: MIT
 *
 * record.h - a session as a line of text: in the log when it ends, in `show sess` while it lives.
 *
 * The worker copies a small record; whoever reads it makes text of it.
 */
#ifndef WEIR_ENGINE_RECORD_H
#define WEIR_ENGINE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/account/close_reason.h"
#include "weir/base/json.h"
#include "weir/net/addr.h"
#include "weir/net/proxy.h"

struct backend;
struct endpoint;
struct frontend;
struct server;
struct session;
struct worker;

/* What a worker says of a living session. What it borrows lives as long as the engine. */
struct session_facts {
	const struct frontend *frontend; /* borrows */
	const struct backend *backend;   /* borrows */
	const struct server *server;     /* borrows; NULL before the first pick */
	uint64_t bytes_in;
	uint64_t bytes_out;
	int64_t age_ns;
	struct addr_brief client;
	uint32_t worker;
	uint32_t number;
	uint32_t held[2];     /* in the order of enum flow_dir, as the following */
	uint8_t flow_state[2];
	uint8_t state;        /* enum session_state */
	uint8_t tries;
	uint8_t pipes;
	bool backend_counted; /* admitted: `backend` is the one that it goes to */
	uint8_t unique_id_len; /* 0 = none */
	uint8_t unique_id[PROXY_UNIQUE_ID_MAX]; /* only so much of it is set */
};

/* One log record for an ended session; of those that were never let in, only some. Worker's thread. */
void record_session_end(const struct session *s);
/* The same for a client that never was a session. Worker's thread. */
void record_turned_away(struct worker *w, const struct endpoint *ep, const struct addr_brief *client,
			enum close_reason why);
/* The facts of a session that is not free. Worker's thread. */
void record_take(const struct session *s, struct session_facts *out);
/* The same fields for `show sess`: one line with its newline, or an object that is the next item. A value
 * that reads as a whole number is one. Any thread. */
void record_show(const struct session_facts *f, struct text *out);
void record_show_json(const struct session_facts *f, struct json *out);

#endif
