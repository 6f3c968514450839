/* SPDX-License-Identifier: MIT
 *
 * session_facts.h - what a worker says of a living session, and how `show sess` shows it.
 *
 * Filled by the worker; what it borrows lives as long as the engine. Any thread.
 */
#ifndef WEIR_ACCOUNT_SESSION_FACTS_H
#define WEIR_ACCOUNT_SESSION_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/base/json.h"
#include "weir/net/addr.h"
#include "weir/net/proxy.h"

struct backend;
struct config_frontend;
struct server;

struct session_facts {
	const struct config_frontend *frontend; /* borrows */
	const struct backend *backend;          /* borrows */
	const struct server *server;            /* borrows; NULL before the first pick */
	uint64_t bytes_in;
	uint64_t bytes_out;
	int64_t age_ns;
	struct addr_brief client;
	unsigned frontend_index; /* its place among the engine's */
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

/* The fields of a log line for `show sess`: one line with its newline, or an object that is the next item. A
 * value that reads as a whole number is one. */
void session_facts_show(const struct session_facts *f, struct text *out);
void session_facts_show_json(const struct session_facts *f, struct json *out);

#endif
