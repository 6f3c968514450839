/* SPDX-License-Identifier: MIT
 *
 * probe_redis.c - a Redis health check: the commands, and their answers, parsed incrementally.
 *
 * Every part of the answers that is needed is a line. Never trusts the server: a byte that no answer has at
 * its place ends the check. Any thread.
 */
#include "probe_redis.h"

#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/digit.h"
#include "weir/base/log.h"

#define PONG "+PONG"
/* "sentinel" is the longest role. */
#define ROLE_LEN_MAX 32

/* Commands as arrays: proxies of Redis do not understand commands as lines. */
#define PING "*1\r\n$4\r\nPING\r\n"
#define ROLE "*1\r\n$4\r\nROLE\r\n"

const char *probe_redis_commands(enum config_check_role role)
{
	return role == CONFIG_CHECK_ROLE_ANY ? PING : PING ROLE;
}

void probe_redis_init(struct probe_redis *r, enum config_check_role role)
{
	memset(r, 0, sizeof(*r));
	r->role = role;
}

static void finish(struct probe_redis *r, enum probe_answer answer, const char *detail)
{
	r->answer = answer;
	(void)snprintf(r->detail, sizeof(r->detail), "%s", detail); /* may be truncated */
}

static void broken(struct probe_redis *r)
{
	finish(r, PROBE_ANSWER_BROKEN, "the answer is not that of a Redis server");
}

/* Does the line, an error, begin with this word? */
static bool is_error(const struct probe_redis *r, const char *word)
{
	const size_t len = strlen(word);

	return strncmp(r->line + 1, word, len) == 0 && (r->line[len + 1] == ' ' || r->line[len + 1] == '\0');
}

/* In the server's words: "LOADING Redis is loading the dataset in memory". */
static void refuse_by_error(struct probe_redis *r)
{
	char words[PROBE_DETAIL_MAX];

	log_escape(r->line + 1, strlen(r->line + 1), words, sizeof(words));
	finish(r, PROBE_ANSWER_REFUSED, words[0] != '\0' ? words : "an error without words");
}

/* Ends the check unless the role is still to be learnt. */
static void alive(struct probe_redis *r, const char *detail)
{
	if (r->role == CONFIG_CHECK_ROLE_ANY)
		finish(r, PROBE_ANSWER_GOOD, detail);
	else
		r->part = PROBE_REDIS_PART_ARRAY;
}

static void take_pong(struct probe_redis *r)
{
	if (strcmp(r->line, PONG) == 0)
		alive(r, "");
	else if (is_error(r, "NOAUTH"))
		alive(r, "asks for a password");
	else if (is_error(r, "NOPERM"))
		alive(r, "does not permit PING");
	else if (r->line[0] == '-')
		refuse_by_error(r);
	else
		broken(r);
}

/* A number without leading zeros at the end of the line; 0 if it is not one, or above `max`. */
static size_t number_of(const char *digits, size_t max)
{
	size_t n = 0;

	if (digits[0] == '0')
		return 0;
	for (; is_digit(*digits) && n <= max; digits++)
		n = n * 10 + (size_t)(*digits - '0');
	return *digits == '\0' && n <= max ? n : 0;
}

static void take_array(struct probe_redis *r)
{
	if (is_error(r, "NOAUTH") || is_error(r, "NOPERM"))
		finish(r, PROBE_ANSWER_REFUSED, 
		       "role= needs a default user that may run ROLE without a password");
	else if (r->line[0] == '-')
		refuse_by_error(r);
	else if (number_of(r->line + 1, SIZE_MAX / 16) == 0)
		broken(r);
	else
		r->part = PROBE_REDIS_PART_LENGTH;
}

static void take_length(struct probe_redis *r)
{
	r->role_len = number_of(r->line + 1, ROLE_LEN_MAX);
	if (r->role_len == 0)
		broken(r);
	else
		r->part = PROBE_REDIS_PART_ROLE;
}

static void take_role(struct probe_redis *r)
{
	const bool master = strcmp(r->line, "master") == 0;
	/* Forks of Redis have begun to avoid the word. */
	const bool replica = strcmp(r->line, "slave") == 0 || strcmp(r->line, "replica") == 0;
	char role[60];

	if (strlen(r->line) != r->role_len) {
		broken(r);
	} else if (master) {
		if (r->role == CONFIG_CHECK_ROLE_PRIMARY)
			finish(r, PROBE_ANSWER_GOOD, "master");
		else
			finish(r, PROBE_ANSWER_REFUSED, "is a master, not a replica");
	} else if (replica) {
		if (r->role == CONFIG_CHECK_ROLE_STANDBY)
			finish(r, PROBE_ANSWER_GOOD, "replica");
		else
			finish(r, PROBE_ANSWER_REFUSED, "is a replica, not a master");
	} else {
		log_escape(r->line, strlen(r->line), role, sizeof(role));
		r->answer = PROBE_ANSWER_REFUSED;
		(void)snprintf(r->detail, sizeof(r->detail), "its role is '%s'", role); /* fits */
	}
}

static void take_line(struct probe_redis *r)
{
	size_t kept = r->line_len < sizeof(r->line) ? r->line_len : sizeof(r->line) - 1;

	if (kept == r->line_len && kept > 0 && r->line[kept - 1] == '\r')
		kept--;
	r->line[kept] = '\0';
	r->line_len = 0;
	switch (r->part) {
	case PROBE_REDIS_PART_PONG:
		take_pong(r);
		break;
	case PROBE_REDIS_PART_ARRAY:
		take_array(r);
		break;
	case PROBE_REDIS_PART_LENGTH:
		take_length(r);
		break;
	case PROBE_REDIS_PART_ROLE:
		take_role(r);
		break;
	}
}

/* May a line have `c`, which does not end it, at its place? Anything may follow the sign of an error. A
 * server with another protocol may never end a line. */
static bool is_possible(const struct probe_redis *r, char c)
{
	const size_t at = r->line_len;

	if (at > 0 && r->line[0] == '-' && r->part <= PROBE_REDIS_PART_ARRAY)
		return true;
	switch (r->part) {
	case PROBE_REDIS_PART_PONG:
		if (at == strlen(PONG))
			return c == '\r';
		return at < strlen(PONG) && (c == PONG[at] || (at == 0 && c == '-'));
	case PROBE_REDIS_PART_ARRAY:
		return at == 0 ? c == '*' || c == '-' : is_digit(c) || c == '\r';
	case PROBE_REDIS_PART_LENGTH:
		return at == 0 ? c == '$' : is_digit(c) || c == '\r';
	case PROBE_REDIS_PART_ROLE:
		return at < r->role_len || (at == r->role_len && c == '\r');
	}
	return false;
}

static void take_byte(struct probe_redis *r, char c)
{
	if (c == '\n' && r->line_len > 0) {
		take_line(r);
		return;
	}
	if (c == '\n' || !is_possible(r, c)) {
		broken(r);
		return;
	}
	if (r->line_len < sizeof(r->line) - 1)
		r->line[r->line_len] = c;
	r->line_len++;
}

enum probe_answer probe_redis_push(struct probe_redis *r, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len && r->answer == PROBE_ANSWER_MORE; i++)
		take_byte(r, (char)data[i]);
	return r->answer;
}

enum probe_answer probe_redis_end(struct probe_redis *r)
{
	if (r->answer == PROBE_ANSWER_MORE)
		finish(r, PROBE_ANSWER_BROKEN,
		       probe_answer_cut(r->part == PROBE_REDIS_PART_PONG && r->line_len == 0));
	return r->answer;
}
