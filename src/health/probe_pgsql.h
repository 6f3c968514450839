/* SPDX-License-Identifier: MIT
 *
 * probe_pgsql.h - a PostgreSQL health check: the messages, and their answers, parsed incrementally.
 *
 * Begins a login by protocol 3.0. Without a role, any request for authentication shows that the server is
 * alive. With one, the user must be let in without a password; the server is then asked whether it is in
 * recovery and accepts writes. It is asked, because what it reports at the login may come from the memory
 * of a connection pooler. Keeps a part of one message at a time. Any thread.
 */
#ifndef WEIR_HEALTH_PROBE_PGSQL_H
#define WEIR_HEALTH_PROBE_PGSQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/balance/probe_view.h"
#include "weir/config/config.h"
#include "probe_answer.h"

/* Room for a startup message with the longest names that a check may have. */
#define PROBE_PGSQL_ROOM 400
/* Only this much of a message is examined. */
#define PROBE_PGSQL_BODY 512
#define PROBE_PGSQL_HEAD 5

enum probe_pgsql_part {
	PROBE_PGSQL_PART_LOGIN,
	PROBE_PGSQL_PART_SETTLING, /* logged in; the server reports its settings */
	PROBE_PGSQL_PART_ASKED,
};

struct probe_pgsql {
	enum config_check_role role;
	enum probe_pgsql_part part;
	enum probe_answer answer; /* final once it is not MORE or ASK */
	bool logged_in;   /* Terminate is what the server expects at the end */
	bool old_error;   /* a text without length or fields */
	size_t head_len;  /* up to PROBE_PGSQL_HEAD: type and length of the message */
	uint8_t head[PROBE_PGSQL_HEAD];
	uint32_t left;    /* bytes of the body that are still to come */
	size_t body_len;  /* kept bytes */
	uint8_t body[PROBE_PGSQL_BODY];
	char detail[PROBE_DETAIL_MAX]; /* of the final answer; printable; may be "" */
};

void probe_pgsql_init(struct probe_pgsql *g, enum config_check_role role);
/* Writes the startup message for the user and database of `c`; returns its length. */
size_t probe_pgsql_startup(const struct config_check *c, uint8_t out[PROBE_PGSQL_ROOM]);
/* Takes the message to send after PROBE_ANSWER_ASK; static. */
const uint8_t *probe_pgsql_query(struct probe_pgsql *g, size_t *len);
/* The message to end with; NULL = none is expected. Static. */
const uint8_t *probe_pgsql_farewell(const struct probe_pgsql *g, size_t *len);
/* Takes more input and examines `*used` bytes of it. The rest belongs to the next question, or to nobody. */
enum probe_answer probe_pgsql_push(struct probe_pgsql *g, const uint8_t *data, size_t len, size_t *used);
/* No more input will come or is wanted. Returns neither PROBE_ANSWER_MORE nor PROBE_ANSWER_ASK. */
enum probe_answer probe_pgsql_end(struct probe_pgsql *g);

#endif
