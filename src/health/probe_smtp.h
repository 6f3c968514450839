/* SPDX-License-Identifier: MIT
 *
 * probe_smtp.h - an SMTP health check: the greeting, one command, and its reply, parsed incrementally.
 *
 * As HAProxy's `option smtpchk`: waits for the greeting, says HELO or EHLO, and leaves with QUIT; each reply
 * must begin with a 2. A reply may have any number of lines. Keeps the beginning of one line. Any thread.
 */
#ifndef WEIR_HEALTH_PROBE_SMTP_H
#define WEIR_HEALTH_PROBE_SMTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/balance/probe_view.h"
#include "weir/config/config.h"
#include "probe_answer.h"

/* Only this much of a line is examined. */
#define PROBE_SMTP_LINE 128
/* Room for the command with the longest name that a check may have. */
#define PROBE_SMTP_ROOM 272

enum probe_smtp_part {
	PROBE_SMTP_PART_GREETING,
	PROBE_SMTP_PART_HELLO,
};

struct probe_smtp {
	const struct config_check *config; /* borrows */
	enum probe_smtp_part part;
	enum probe_answer answer; /* final once it is not MORE or ASK */
	bool refused;    /* a line of this reply says so */
	bool replied;    /* there was a whole reply: QUIT is what the server expects at the end */
	size_t line_len; /* may exceed what is kept */
	char line[PROBE_SMTP_LINE];
	char out[PROBE_SMTP_ROOM];
	char detail[PROBE_DETAIL_MAX]; /* of the final answer; printable; may be "" */
};

/* `config` is borrowed. */
void probe_smtp_init(struct probe_smtp *m, const struct config_check *config);
/* Takes the command to send after PROBE_ANSWER_ASK. */
const uint8_t *probe_smtp_question(struct probe_smtp *m, size_t *len);
/* The command to end with; NULL = none is expected. Static. */
const uint8_t *probe_smtp_farewell(const struct probe_smtp *m, size_t *len);
/* Takes more input and examines `*used` bytes of it. The rest belongs to the next question, or to nobody. */
enum probe_answer probe_smtp_push(struct probe_smtp *m, const uint8_t *data, size_t len, size_t *used);
/* No more input will come or is wanted. Returns neither PROBE_ANSWER_MORE nor PROBE_ANSWER_ASK. */
enum probe_answer probe_smtp_end(struct probe_smtp *m);

#endif
