/* SPDX-License-Identifier: MIT
 *
 * probe_smtp.c - an SMTP health check: the greeting, one command, and its reply, parsed incrementally.
 *
 * A line of a reply is three digits and a text; a '-' between them announces another line (RFC 5321, 4.2.1).
 * Never trusts the server: a byte that no reply has at its place ends the check. Any thread.
 */
#include "probe_smtp.h"

#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/digit.h"
#include "weir/base/log.h"

#define CODE_LEN 3

/* ---- what is sent ---- */

void probe_smtp_init(struct probe_smtp *m, const struct config_check *config)
{
	memset(m, 0, sizeof(*m));
	m->config = config;
}

const uint8_t *probe_smtp_question(struct probe_smtp *m, size_t *len)
{
	const char *method = m->config->method != NULL ? m->config->method : "HELO";
	const char *name = m->config->hello != NULL ? m->config->hello : "localhost";
	int n;

	check(m->answer == PROBE_ANSWER_ASK);
	m->answer = PROBE_ANSWER_MORE;
	n = snprintf(m->out, sizeof(m->out), "%s %s\r\n", method, name);
	check(n > 0 && (size_t)n < sizeof(m->out)); /* the configuration limits the name */
	*len = (size_t)n;
	return (const uint8_t *)m->out;
}

const uint8_t *probe_smtp_farewell(const struct probe_smtp *m, size_t *len)
{
	static const uint8_t quit[] = "QUIT\r\n";

	*len = sizeof(quit) - 1;
	return m->replied && m->answer != PROBE_ANSWER_BROKEN ? quit : NULL;
}

/* ---- verdicts ---- */

static void finish(struct probe_smtp *m, enum probe_answer answer, const char *detail)
{
	m->answer = answer;
	(void)snprintf(m->detail, sizeof(m->detail), "%s", detail); /* always fits */
}

static void broken(struct probe_smtp *m)
{
	finish(m, PROBE_ANSWER_BROKEN, "the answer is not that of an SMTP server");
}

/* In the server's words: "554 5.7.1 Service unavailable". */
static void refuse(struct probe_smtp *m)
{
	char words[PROBE_DETAIL_MAX];

	log_escape(m->line, strlen(m->line), words, sizeof(words));
	finish(m, PROBE_ANSWER_REFUSED, words);
}

static void take_line(struct probe_smtp *m)
{
	size_t kept = m->line_len < sizeof(m->line) ? m->line_len : sizeof(m->line) - 1;

	if (kept == m->line_len && kept > CODE_LEN && m->line[kept - 1] == '\r')
		kept--;
	m->line[kept] = '\0';
	m->line_len = 0;
	m->refused = m->refused || m->line[0] != '2';
	if (m->line[CODE_LEN] == '-')
		return;
	m->replied = true;
	if (m->refused) {
		refuse(m);
	} else if (m->part == PROBE_SMTP_PART_GREETING) {
		m->part = PROBE_SMTP_PART_HELLO;
		m->answer = PROBE_ANSWER_ASK;
	} else {
		finish(m, PROBE_ANSWER_GOOD, "");
	}
}

/* ---- bytes ---- */

/* May a line have `c`, which does not end it, at its place? A server with another protocol may never end a
 * line. */
static bool is_possible(const struct probe_smtp *m, char c)
{
	if (m->line_len == 0)
		return c >= '2' && c <= '5';
	if (m->line_len < CODE_LEN)
		return is_digit(c);
	return m->line_len > CODE_LEN || c == ' ' || c == '-' || c == '\r';
}

static void take_byte(struct probe_smtp *m, char c)
{
	if (c == '\n' && m->line_len >= CODE_LEN) {
		take_line(m);
		return;
	}
	if (c == '\n' || !is_possible(m, c)) {
		broken(m);
		return;
	}
	if (m->line_len < sizeof(m->line) - 1)
		m->line[m->line_len] = c;
	m->line_len++;
}

enum probe_answer probe_smtp_push(struct probe_smtp *m, const uint8_t *data, size_t len, size_t *used)
{
	size_t at = 0;

	while (at < len && m->answer == PROBE_ANSWER_MORE)
		take_byte(m, (char)data[at++]);
	*used = at;
	return m->answer;
}

enum probe_answer probe_smtp_end(struct probe_smtp *m)
{
	const bool nothing = m->line[0] == '\0'; /* no line has such a byte first */

	if (m->answer == PROBE_ANSWER_MORE || m->answer == PROBE_ANSWER_ASK)
		finish(m, PROBE_ANSWER_BROKEN, probe_answer_cut(nothing));
	return m->answer;
}
