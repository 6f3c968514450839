/* SPDX-License-Identifier: MIT
 *
 * probe_redis.h - a Redis health check: the commands, and their answers, parsed incrementally.
 *
 * PING and, if the server must have a role, ROLE behind it, both in one packet. Understands the answers of
 * RESP2 line by line. A server that answers PING with NOAUTH or NOPERM is alive: weir has no password.
 * Any thread.
 */
#ifndef WEIR_HEALTH_PROBE_REDIS_H
#define WEIR_HEALTH_PROBE_REDIS_H

#include <stddef.h>
#include <stdint.h>

#include "weir/balance/probe_view.h"
#include "weir/config/config.h"
#include "probe_answer.h"

/* Only this much of a line is examined. */
#define PROBE_REDIS_LINE 128

enum probe_redis_part {
	PROBE_REDIS_PART_PONG,
	PROBE_REDIS_PART_ARRAY,  /* "*3": of ROLE */
	PROBE_REDIS_PART_LENGTH, /* "$6": of its first element */
	PROBE_REDIS_PART_ROLE,   /* "master" */
};

struct probe_redis {
	enum config_check_role role;
	enum probe_redis_part part;
	enum probe_answer answer; /* final once it is not MORE */
	size_t role_len; /* as announced */
	size_t line_len; /* may exceed what is kept */
	char line[PROBE_REDIS_LINE];
	char detail[PROBE_DETAIL_MAX]; /* of the final answer; printable; may be "" */
};

void probe_redis_init(struct probe_redis *r, enum config_check_role role);
/* The commands; static. */
const char *probe_redis_commands(enum config_check_role role);
/* Takes more input. What follows a final answer does not matter. */
enum probe_answer probe_redis_push(struct probe_redis *r, const uint8_t *data, size_t len);
/* No more input will come or is wanted. Never returns PROBE_ANSWER_MORE. */
enum probe_answer probe_redis_end(struct probe_redis *r);

#endif
