/* SPDX-License-Identifier: MIT
 *
 * probe_pgsql.c - a PostgreSQL health check: the messages, and their answers, parsed incrementally.
 *
 * A message is a type, a length and a body. Never trusts the server: a type that no server sends at its
 * place, and a length that the type cannot have, end the check. Any thread.
 */
#include "probe_pgsql.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/log.h"

#define PROTOCOL_3_0 0x00030000u
/* The longest message to skip, with its length. */
#define MESSAGE_MAX 65536u

#define QUERY                                                                                                \
	"SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.current_setting('transaction_read_only')"

static_assert(sizeof(QUERY) + 4 < 256, "the length of the message has one byte");

/* ---- what is sent ---- */

static void put_number(uint8_t *out, uint32_t n)
{
	out[0] = (uint8_t)(n >> 24);
	out[1] = (uint8_t)(n >> 16);
	out[2] = (uint8_t)(n >> 8);
	out[3] = (uint8_t)n;
}

static uint32_t number_at(const uint8_t *in)
{
	return (uint32_t)in[0] << 24 | (uint32_t)in[1] << 16 | (uint32_t)in[2] << 8 | in[3];
}

/* Adds a parameter and its value to the message of `len` bytes; returns the new length. */
static size_t add_parameter(uint8_t *out, size_t len, const char *name, const char *value)
{
	const size_t name_size = strlen(name) + 1, value_size = strlen(value) + 1;

	check(len + name_size + value_size < PROBE_PGSQL_ROOM);
	memcpy(out + len, name, name_size);
	memcpy(out + len + name_size, value, value_size);
	return len + name_size + value_size;
}

size_t probe_pgsql_startup(const struct config_check *c, uint8_t out[PROBE_PGSQL_ROOM])
{
	size_t len = 8;

	len = add_parameter(out, len, "user", c->user);
	len = add_parameter(out, len, "database", c->database != NULL ? c->database : "postgres");
	len = add_parameter(out, len, "application_name", "weir");
	out[len++] = '\0';
	put_number(out, (uint32_t)len);
	put_number(out + 4, PROTOCOL_3_0);
	return len;
}

const uint8_t *probe_pgsql_query(struct probe_pgsql *g, size_t *len)
{
	static const struct {
		uint8_t head[PROBE_PGSQL_HEAD];
		char text[sizeof(QUERY)];
	} query = {{'Q', 0, 0, 0, 4 + sizeof(QUERY)}, QUERY};

	check(g->answer == PROBE_ANSWER_ASK);
	g->answer = PROBE_ANSWER_MORE;
	*len = sizeof(query);
	return (const uint8_t *)&query;
}

const uint8_t *probe_pgsql_farewell(const struct probe_pgsql *g, size_t *len)
{
	static const uint8_t terminate[] = {'X', 0, 0, 0, 4};

	*len = sizeof(terminate);
	return g->logged_in ? terminate : NULL;
}

/* ---- verdicts ---- */

void probe_pgsql_init(struct probe_pgsql *g, enum config_check_role role)
{
	memset(g, 0, sizeof(*g));
	g->role = role;
}

static void finish(struct probe_pgsql *g, enum probe_answer answer, const char *detail)
{
	g->answer = answer;
	(void)snprintf(g->detail, sizeof(g->detail), "%s", detail); /* always fits */
}

static void broken(struct probe_pgsql *g)
{
	finish(g, PROBE_ANSWER_BROKEN,
	       g->part == PROBE_PGSQL_PART_ASKED ? "unexpected answer to the question for its role"
						 : "the answer is not that of a PostgreSQL server");
}

/* "57P03: the database system is starting up"; both texts come from the server. */
static void refuse(struct probe_pgsql *g, const char *code, const char *text)
{
	char shown[PROBE_DETAIL_MAX] = "", shown_code[6];

	log_escape(code, strlen(code), shown_code, sizeof(shown_code));
	log_escape(text, strlen(text), shown, sizeof(shown) - sizeof(shown_code) - 1);
	g->answer = PROBE_ANSWER_REFUSED;
	(void)snprintf(g->detail, sizeof(g->detail), "%s%s%s", shown_code, shown_code[0] != '\0' ? ": " : "",
		       shown[0] != '\0' ? shown : "an error without words"); /* always fits */
}

/* ---- whole messages ---- */

/* Fields: a type and a text each, an empty type at the end. Those that are not kept are missing. */
static void take_error(struct probe_pgsql *g)
{
	const char *code = "", *text = "";
	size_t at = 0;

	g->body[g->body_len < sizeof(g->body) ? g->body_len : sizeof(g->body) - 1] = '\0';
	while (at < g->body_len && g->body[at] != '\0') {
		const char *field = (const char *)g->body + at;

		if (field[0] == 'C')
			code = field + 1;
		else if (field[0] == 'M')
			text = field + 1;
		at += strlen(field) + 1;
	}
	refuse(g, code, text);
}

/* The methods with which a server may begin; they are HAProxy's, too. */
static bool is_method(uint32_t method)
{
	return method <= 10 && method != 1 && method != 8;
}

static void take_authentication(struct probe_pgsql *g)
{
	const uint32_t method = number_at(g->body);

	if (!is_method(method)) {
		broken(g);
		return;
	}
	g->logged_in = method == 0;
	if (g->role == CONFIG_CHECK_ROLE_ANY)
		finish(g, PROBE_ANSWER_GOOD, g->logged_in ? "" : "asks for a password");
	else if (g->logged_in)
		g->part = PROBE_PGSQL_PART_SETTLING;
	else
		finish(g, PROBE_ANSWER_REFUSED,
		       "asks for a password: role= needs a user who may log in without one");
}

static void judge_role(struct probe_pgsql *g, bool standby, bool read_only)
{
	if (g->role == CONFIG_CHECK_ROLE_STANDBY && standby)
		finish(g, PROBE_ANSWER_GOOD, "standby");
	else if (g->role == CONFIG_CHECK_ROLE_STANDBY)
		finish(g, PROBE_ANSWER_REFUSED, "is a primary, not a standby");
	else if (standby)
		finish(g, PROBE_ANSWER_REFUSED, "is a standby, not a primary");
	else if (read_only)
		finish(g, PROBE_ANSWER_REFUSED, "accepts no writes: transaction_read_only is on");
	else
		finish(g, PROBE_ANSWER_GOOD, "primary");
}

/* A row of two columns, 't' or 'f', and "on" or "off". */
static void take_row(struct probe_pgsql *g)
{
	static const uint8_t count[] = {0, 2, 0, 0, 0, 1};
	static const uint8_t on[] = {0, 0, 0, 2, 'o', 'n'}, off[] = {0, 0, 0, 3, 'o', 'f', 'f'};
	const uint8_t *first = g->body + sizeof(count), *second = first + 1;
	const size_t rest = g->body_len > sizeof(count) + 1 ? g->body_len - sizeof(count) - 1 : 0;
	const bool is_on = rest == sizeof(on) && memcmp(second, on, sizeof(on)) == 0;
	const bool is_off = rest == sizeof(off) && memcmp(second, off, sizeof(off)) == 0;

	if ((!is_on && !is_off) || memcmp(g->body, count, sizeof(count)) != 0 ||
	    (*first != 't' && *first != 'f'))
		broken(g);
	else
		judge_role(g, *first == 't', is_on);
}

static void take_message(struct probe_pgsql *g)
{
	g->head_len = 0;
	switch (g->head[0]) {
	case 'E':
		take_error(g);
		break;
	case 'R':
		take_authentication(g);
		break;
	case 'D':
		take_row(g);
		break;
	case 'Z':
		g->part = PROBE_PGSQL_PART_ASKED;
		g->answer = PROBE_ANSWER_ASK;
		break;
	default:
		break; /* says nothing about its health */
	}
}

/* ---- bytes ---- */

/* May a server send a message of this type now? Notices always. */
static bool is_type(const struct probe_pgsql *g, uint8_t type)
{
	static const char *const types[] = {
		[PROBE_PGSQL_PART_LOGIN] = "ERNv",
		[PROBE_PGSQL_PART_SETTLING] = "ESKZN",
		[PROBE_PGSQL_PART_ASKED] = "ETDSN",
	};

	return type != '\0' && strchr(types[g->part], type) != NULL;
}

/* May the body of this message have so many bytes? */
static bool is_length(const struct probe_pgsql *g, uint32_t len)
{
	switch (g->head[0]) {
	case 'R':
		return len >= 4 && len <= PROBE_PGSQL_BODY;
	case 'D':
		return len <= PROBE_PGSQL_BODY;
	case 'Z':
		return len == 1;
	default:
		return len <= MESSAGE_MAX - 4;
	}
}

/* A server that cannot start a process for the connection sends an error as servers did before protocol 3.0:
 * "E" and a text. No message is so long that its length begins like a text. */
static bool begins_old_error(const struct probe_pgsql *g)
{
	return g->part == PROBE_PGSQL_PART_LOGIN && g->head[0] == 'E' && g->head_len == 2 && g->head[1] != 0;
}

static void take_old_error(struct probe_pgsql *g, uint8_t byte)
{
	if (byte != '\0' && byte != '\n' && g->body_len < sizeof(g->body) - 1) {
		g->body[g->body_len++] = byte;
		return;
	}
	g->body[g->body_len] = '\0';
	refuse(g, "", (const char *)g->body);
}

static void take_head(struct probe_pgsql *g, uint8_t byte)
{
	uint32_t len;

	g->head[g->head_len++] = byte;
	if (g->head_len == 1 && !is_type(g, byte)) {
		broken(g);
	} else if (begins_old_error(g)) {
		g->old_error = true;
		g->body_len = 0;
		take_old_error(g, byte);
	} else if (g->head_len == PROBE_PGSQL_HEAD) {
		len = number_at(g->head + 1);
		g->left = len - 4;
		g->body_len = 0;
		if (len < 4 || !is_length(g, g->left))
			broken(g);
		else if (g->left == 0)
			take_message(g);
	}
}

/* Takes bytes of the body; returns how many. */
static size_t take_body(struct probe_pgsql *g, const uint8_t *data, size_t len)
{
	const size_t n = g->left < len ? g->left : len, room = sizeof(g->body) - g->body_len;
	const size_t kept = n < room ? n : room;

	memcpy(g->body + g->body_len, data, kept);
	g->body_len += kept;
	g->left -= (uint32_t)n;
	if (g->left == 0)
		take_message(g);
	return n;
}

enum probe_answer probe_pgsql_push(struct probe_pgsql *g, const uint8_t *data, size_t len, size_t *used)
{
	size_t at = 0;

	while (at < len && g->answer == PROBE_ANSWER_MORE) {
		if (g->old_error)
			take_old_error(g, data[at++]);
		else if (g->head_len < PROBE_PGSQL_HEAD)
			take_head(g, data[at++]);
		else
			at += take_body(g, data + at, len - at);
	}
	*used = at;
	return g->answer;
}

enum probe_answer probe_pgsql_end(struct probe_pgsql *g)
{
	const bool nothing = g->part == PROBE_PGSQL_PART_LOGIN && g->head_len == 0;

	if (g->answer == PROBE_ANSWER_MORE || g->answer == PROBE_ANSWER_ASK)
		finish(g, PROBE_ANSWER_BROKEN, probe_answer_cut(nothing));
	return g->answer;
}
