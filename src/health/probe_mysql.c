/* SPDX-License-Identifier: MIT
 *
 * probe_mysql.c - a health check of MySQL or MariaDB: the messages, and their answers, parsed incrementally.
 *
 * A message is a length of three bytes, a number that both sides count up, and a body; numbers are
 * little-endian. Never trusts the server: a message out of order, or one that is none of those that a server
 * sends at its place, ends the check. Any thread.
 */
#include "probe_mysql.h"

#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/log.h"

/* The longest message to skip. */
#define MESSAGE_MAX 16384u
/* A server asks once or twice for another proof of who we are. */
#define ROUNDS_MAX 4

/* First bytes of messages. */
#define PROTOCOL   10 /* a greeting */
#define TAKEN	   0x00
#define MORE_DATA  0x01
#define SWITCH	   0xfe /* to another way to prove who we are */
#define ERROR	   0xff
/* MORE_DATA that says only that the login succeeds. */
#define FAST_AUTH_OK 3

/* Abilities, of the server and of ours. */
#define CAN_LONG_PASSWORD 0x00000001u
#define CAN_PROTOCOL_41	  0x00000200u
#define CAN_SECURE	  0x00008000u
#define CAN_PLUGINS	  0x00080000u

#define UTF8 33 /* a collation that each version has */

/* ER_ACCESS_DENIED_ERROR and ER_ACCESS_DENIED_NO_PASSWORD_ERROR. For a user that does not exist, MariaDB acts
 * like one that does, and so gives either. */
#define DENIED		   1045
#define DENIED_NO_PASSWORD 1698

/* ---- verdicts ---- */

void probe_mysql_init(struct probe_mysql *m, const char *user)
{
	memset(m, 0, sizeof(*m));
	m->user = user;
}

static void finish(struct probe_mysql *m, enum probe_answer answer, const char *detail)
{
	m->answer = answer;
	(void)snprintf(m->detail, sizeof(m->detail), "%s", detail); /* always fits */
}

static void broken(struct probe_mysql *m)
{
	finish(m, PROBE_ANSWER_BROKEN,
	       m->part == PROBE_MYSQL_PART_GREETING ? "the answer is not that of a MySQL server"
						    : "unexpected answer to the login");
}

static unsigned short_at(const uint8_t *in)
{
	return (unsigned)in[0] | (unsigned)in[1] << 8;
}

static uint32_t length_at(const uint8_t *in)
{
	return (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16;
}

/* ---- what is sent ---- */

/* Writes the head of a message with `len` bytes of body; returns the length of the whole. */
static size_t close_message(struct probe_mysql *m, size_t len)
{
	check(PROBE_MYSQL_HEAD + len <= sizeof(m->out));
	m->out[0] = (uint8_t)len;
	m->out[1] = m->out[2] = 0;
	m->out[3] = m->number++;
	return PROBE_MYSQL_HEAD + len;
}

static size_t add_text(struct probe_mysql *m, size_t at, const char *text)
{
	const size_t size = strlen(text) + 1;

	check(at + size <= sizeof(m->out));
	memcpy(m->out + at, text, size);
	return at + size;
}

/* Without a password: its length is 0. */
static size_t make_login(struct probe_mysql *m)
{
	const uint32_t can = CAN_LONG_PASSWORD | CAN_PROTOCOL_41 | CAN_SECURE |
			     (m->has_plugins ? CAN_PLUGINS : 0);
	size_t at = PROBE_MYSQL_HEAD;

	memset(m->out, 0, sizeof(m->out));
	for (size_t i = 0; i < 4; i++)
		m->out[at + i] = (uint8_t)(can >> 8 * i);
	m->out[at + 8] = UTF8; /* after the longest message that we want: 0 = as the server likes */
	at = add_text(m, at + 32, m->user != NULL ? m->user : PROBE_MYSQL_USER);
	m->out[at++] = 0;
	if (m->has_plugins)
		at = add_text(m, at, "mysql_native_password");
	return close_message(m, at - PROBE_MYSQL_HEAD);
}

const uint8_t *probe_mysql_question(struct probe_mysql *m, size_t *len)
{
	check(m->answer == PROBE_ANSWER_ASK);
	m->answer = PROBE_ANSWER_MORE;
	/* Whatever else the server asks for: no password, which is an empty message. */
	*len = m->rounds == 0 ? make_login(m) : close_message(m, 0);
	m->rounds++;
	return m->out;
}

const uint8_t *probe_mysql_farewell(const struct probe_mysql *m, size_t *len)
{
	static const uint8_t quit[] = {1, 0, 0, 0, 1};

	*len = sizeof(quit);
	return m->logged_in ? quit : NULL;
}

/* ---- whole messages ---- */

/* "1040: Too many connections"; a state of five letters after '#' is left out. */
static void take_error(struct probe_mysql *m)
{
	char shown[PROBE_DETAIL_MAX - 7] = "";
	const uint8_t *text = m->body + 3;
	unsigned code;
	size_t len;

	if (m->body_len < 3) {
		broken(m);
		return;
	}
	len = m->body_len - 3;
	code = short_at(m->body + 1);
	if (len >= 6 && text[0] == '#') {
		text += 6;
		len -= 6;
	}
	if (m->part == PROBE_MYSQL_PART_LOGIN && m->user == NULL &&
	    (code == DENIED || code == DENIED_NO_PASSWORD)) {
		finish(m, PROBE_ANSWER_GOOD, "does not let '" PROBE_MYSQL_USER "' in");
		return;
	}
	log_escape((const char *)text, len, shown, sizeof(shown));
	m->answer = PROBE_ANSWER_REFUSED;
	(void)snprintf(m->detail, sizeof(m->detail), "%u: %s", code,
		       shown[0] != '\0' ? shown : "an error without words"); /* always fits */
}

/* Its version, 13 bytes of other things, and what it can; older versions than 4.1 say less. */
static void take_greeting(struct probe_mysql *m)
{
	const uint8_t *end = memchr(m->body + 1, '\0', m->body_len - 1);
	const size_t before = end != NULL ? (size_t)(end - m->body) + 1 + 13 : 0;
	uint32_t can;

	if (end == NULL || before + 2 > m->body_len || m->head[3] != 0) {
		broken(m);
		return;
	}
	can = short_at(m->body + before);
	if ((can & CAN_PROTOCOL_41) == 0) {
		finish(m, PROBE_ANSWER_REFUSED, "is older than MySQL 4.1");
		return;
	}
	if (before + 7 > m->body_len) {
		broken(m);
		return;
	}
	can |= (uint32_t)short_at(m->body + before + 5) << 16;
	m->has_plugins = (can & CAN_PLUGINS) != 0;
	m->part = PROBE_MYSQL_PART_LOGIN;
	m->answer = PROBE_ANSWER_ASK;
}

/* It lets us in: two numbers of any length, its state and how many warnings it has. */
static void take_ok(struct probe_mysql *m)
{
	if (m->body_len < 7) {
		broken(m);
		return;
	}
	m->logged_in = true;
	finish(m, PROBE_ANSWER_GOOD, "");
}

static void ask_again(struct probe_mysql *m)
{
	if (m->rounds < ROUNDS_MAX)
		m->answer = PROBE_ANSWER_ASK;
	else
		broken(m);
}

static void take_answer(struct probe_mysql *m)
{
	switch (m->body[0]) {
	case TAKEN:
		take_ok(m);
		break;
	case MORE_DATA:
		if (m->body_len != 2 || m->body[1] != FAST_AUTH_OK)
			ask_again(m);
		break;
	case SWITCH:
		ask_again(m);
		break;
	default:
		broken(m);
	}
}

static void take_message(struct probe_mysql *m)
{
	m->head_len = 0;
	if (m->body[0] == ERROR)
		take_error(m);
	else if (m->part == PROBE_MYSQL_PART_GREETING)
		take_greeting(m);
	else
		take_answer(m);
}

/* ---- bytes ---- */

static void take_head(struct probe_mysql *m, uint8_t byte)
{
	m->head[m->head_len++] = byte;
	if (m->head_len < PROBE_MYSQL_HEAD)
		return;
	m->left = length_at(m->head);
	m->body_len = 0;
	if (m->left == 0 || m->left > MESSAGE_MAX ||
	    (m->part == PROBE_MYSQL_PART_LOGIN && m->head[3] != m->number))
		broken(m);
	m->number = (uint8_t)(m->head[3] + 1);
}

/* Is this a first byte that no server sends at this place? Another protocol may never end its message. */
static bool is_wrong_start(const struct probe_mysql *m, uint8_t byte)
{
	return m->part == PROBE_MYSQL_PART_GREETING && byte != PROTOCOL && byte != ERROR;
}

/* Takes bytes of the body; returns how many. */
static size_t take_body(struct probe_mysql *m, const uint8_t *data, size_t len)
{
	const size_t n = m->left < len ? m->left : len, room = sizeof(m->body) - m->body_len;
	const size_t kept = n < room ? n : room;

	if (m->body_len == 0 && is_wrong_start(m, data[0])) {
		broken(m);
		return 1;
	}
	memcpy(m->body + m->body_len, data, kept);
	m->body_len += kept;
	m->left -= (uint32_t)n;
	if (m->left == 0)
		take_message(m);
	return n;
}

enum probe_answer probe_mysql_push(struct probe_mysql *m, const uint8_t *data, size_t len, size_t *used)
{
	size_t at = 0;

	while (at < len && m->answer == PROBE_ANSWER_MORE) {
		if (m->head_len < PROBE_MYSQL_HEAD)
			take_head(m, data[at++]);
		else
			at += take_body(m, data + at, len - at);
	}
	*used = at;
	return m->answer;
}

enum probe_answer probe_mysql_end(struct probe_mysql *m)
{
	const bool nothing = m->part == PROBE_MYSQL_PART_GREETING && m->head_len == 0;

	if (m->answer == PROBE_ANSWER_MORE || m->answer == PROBE_ANSWER_ASK)
		finish(m, PROBE_ANSWER_BROKEN, probe_answer_cut(nothing));
	return m->answer;
}
