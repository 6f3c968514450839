/* SPDX-License-Identifier: MIT
 *
 * probe_mysql.h - a health check of MySQL or MariaDB: the messages, and their answers, parsed incrementally.
 *
 * The server greets, and the check logs in without a password. Leaving before that would count against our
 * address: after `max_connect_errors` such connections in a row the server refuses all connections from it. A
 * refused login does not count. Without a user it shows that the server is alive; with one, the user must be
 * let in. Keeps a part of one message at a time. Any thread.
 */
#ifndef WEIR_HEALTH_PROBE_MYSQL_H
#define WEIR_HEALTH_PROBE_MYSQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/balance/probe_view.h"
#include "weir/config/config.h"
#include "probe_answer.h"

/* Room for a login with the longest name that a check may have. */
#define PROBE_MYSQL_ROOM 200
/* Only this much of a message is examined. */
#define PROBE_MYSQL_BODY 512
#define PROBE_MYSQL_HEAD 4
/* Who logs in if the check names nobody. */
#define PROBE_MYSQL_USER "weir"

enum probe_mysql_part {
	PROBE_MYSQL_PART_GREETING,
	PROBE_MYSQL_PART_LOGIN,
};

struct probe_mysql {
	const char *user; /* borrows; NULL = anybody, and being refused is good */
	enum probe_mysql_part part;
	enum probe_answer answer; /* final once it is not MORE or ASK */
	bool logged_in;   /* COM_QUIT is what the server expects at the end */
	bool has_plugins; /* according to its greeting */
	unsigned rounds;  /* packets that it has asked for */
	uint8_t number;   /* of the next packet of either side */
	size_t head_len;  /* up to PROBE_MYSQL_HEAD: length and number of the message */
	uint8_t head[PROBE_MYSQL_HEAD];
	uint32_t left;    /* bytes of the body that are still to come */
	size_t body_len;  /* kept bytes */
	uint8_t body[PROBE_MYSQL_BODY];
	uint8_t out[PROBE_MYSQL_ROOM];
	char detail[PROBE_DETAIL_MAX]; /* of the final answer; printable; may be "" */
};

/* `user` is borrowed. */
void probe_mysql_init(struct probe_mysql *m, const char *user);
/* Takes the message to send after PROBE_ANSWER_ASK; valid until the next one. */
const uint8_t *probe_mysql_question(struct probe_mysql *m, size_t *len);
/* The message to end with; NULL = none is expected. Static. */
const uint8_t *probe_mysql_farewell(const struct probe_mysql *m, size_t *len);
/* Takes more input and examines `*used` bytes of it. The rest belongs to the next question, or to nobody. */
enum probe_answer probe_mysql_push(struct probe_mysql *m, const uint8_t *data, size_t len, size_t *used);
/* No more input will come or is wanted. Returns neither PROBE_ANSWER_MORE nor PROBE_ANSWER_ASK. */
enum probe_answer probe_mysql_end(struct probe_mysql *m);

#endif
