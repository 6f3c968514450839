/* SPDX-License-Identifier: MIT
 *
 * agent_words.h - the answer of an agent: one line in HAProxy's words, taken in pieces and read.
 *
 * Pure code: no clock, no socket. The answer may be anything, so every byte of it is judged; what is no word
 * is reported and changes nothing. Any thread.
 */
#ifndef WEIR_HEALTH_AGENT_WORDS_H
#define WEIR_HEALTH_AGENT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/balance/probe_view.h"
#include "weir/balance/server.h"

/* Maximum length of the line; HAProxy has no limit of its own below its buffers. */
#define AGENT_LINE_MAX 1024

/* What has arrived of the line. */
struct agent_line {
	size_t len;
	bool ended;  /* by the first CR or LF */
	bool broken; /* a zero byte, or too long: it will never be a line */
	char text[AGENT_LINE_MAX + 1];
};

void agent_line_reset(struct agent_line *l);
/* Takes more of the answer. True once nothing that may follow can change what it says. */
bool agent_line_push(struct agent_line *l, const uint8_t *data, size_t len);

enum agent_health { AGENT_SAYS_NOTHING, AGENT_SAYS_UP, AGENT_SAYS_DOWN };

/* What a line says. Of several words of a kind the last one counts. */
struct agent_words {
	enum agent_health health;
	bool has_admin;
	enum server_admin admin;
	bool has_percent;
	unsigned percent; /* at most SERVER_PERCENT_MAX */
	bool has_maxconn;
	unsigned maxconn;
	enum probe_code code; /* CHECKED, L7OK, L7STS */
	char detail[PROBE_DETAIL_MAX]; /* HAProxy's last_agt; printable */
};

/* Reads the line, which has ended. */
void agent_words_read(const struct agent_line *l, struct agent_words *out);

#endif
