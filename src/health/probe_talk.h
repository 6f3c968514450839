/* SPDX-License-Identifier: MIT
 *
 * probe_talk.h - a health check in the server's own protocol: which question comes next, and what is known.
 *
 * Pure code; hides from the steps of a check which protocol it is. Any thread.
 */
#ifndef WEIR_HEALTH_PROBE_TALK_H
#define WEIR_HEALTH_PROBE_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe_answer.h"
#include "probe_hello.h"
#include "probe_ldap.h"
#include "probe_mysql.h"
#include "probe_pgsql.h"
#include "probe_redis.h"
#include "probe_smtp.h"

struct server;

struct probe_talk {
	const struct config_check *config; /* borrows */
	const struct server *server;       /* borrows */
	bool begun; /* the first question was asked for */
	union {
		struct probe_redis redis;
		struct {
			struct probe_pgsql pgsql;
			uint8_t startup[PROBE_PGSQL_ROOM];
		};
		struct {
			struct probe_hello hello;
			uint8_t hello_room[PROBE_HELLO_ROOM];
		};
		struct probe_mysql mysql;
		struct probe_ldap ldap;
		struct probe_smtp smtp;
	};
};

/* Is this a check that talks? */
bool probe_talk_is(enum config_check_kind kind);
/* Borrows both. */
void probe_talk_init(struct probe_talk *t, const struct config_check *config, const struct server *s);
/* Back to the state before any question. */
void probe_talk_reset(struct probe_talk *t);
/* Takes the next question; NULL = an answer is due first. Valid until the next one. */
const uint8_t *probe_talk_question(struct probe_talk *t, size_t *len);
/* Takes more input and examines `*used` bytes of it. */
enum probe_answer probe_talk_push(struct probe_talk *t, const uint8_t *data, size_t len, size_t *used);
/* No more input will come or is wanted. Returns neither PROBE_ANSWER_MORE nor PROBE_ANSWER_ASK. */
enum probe_answer probe_talk_end(struct probe_talk *t);
/* Of the final answer; printable; may be "". */
const char *probe_talk_detail(const struct probe_talk *t);
/* What the server expects at the end; NULL = nothing. Static. */
const uint8_t *probe_talk_farewell(const struct probe_talk *t, size_t *len);

#endif
