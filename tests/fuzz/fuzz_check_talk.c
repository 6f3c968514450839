/* SPDX-License-Identifier: MIT
 *
 * fuzz_check_talk.c - any bytes as the answers of a server that is asked in its own protocol, in any pieces.
 *
 * A libFuzzer target; replay.c runs it over the corpus without one. The input: which protocol and role, how
 * the answers are cut, and the answers. Those of Redis and PostgreSQL are compared with a slow reader, which
 * has all of them at once and compares whole texts; those of other servers with themselves, cut elsewhere.
 */
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/config.h"
#include "health/probe_talk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT(text) ((char *)(uintptr_t)(text))

struct slow {
	enum config_check_role role;
	const uint8_t *data;
	size_t len;
	size_t at;
};

/* ---- Redis ---- */

/* The next line without its end, as a text and its length, or NULL. Only a long one may be cut. */
static char *next_line(struct slow *s, size_t *len)
{
	const uint8_t *from = s->data + s->at;
	const uint8_t *end = memchr(from, '\n', s->len - s->at);
	char *line;

	if (end == NULL)
		return NULL;
	*len = (size_t)(end - from);
	s->at += *len + 1;
	if (*len >= PROBE_REDIS_LINE)
		*len = PROBE_REDIS_LINE - 1;
	else if (*len > 0 && from[*len - 1] == '\r')
		--*len;
	line = calloc(1, *len + 1);
	check(line != NULL);
	memcpy(line, from, *len);
	return line;
}

static bool is_error(const char *line, const char *code)
{
	const size_t len = strlen(code);

	return strncmp(line, code, len) == 0 && (line[len] == '\0' || line[len] == ' ');
}

/* Is it this sign and a number from 1 to `max`, in the shortest form? */
static bool is_number(const char *line, size_t len, char sign, unsigned long long max, size_t *number)
{
	char *end;

	if (len < 2 || strlen(line) != len || line[0] != sign || !isdigit((unsigned char)line[1]) ||
	    line[1] == '0')
		return false;
	errno = 0;
	*number = strtoull(line + 1, &end, 10);
	return errno == 0 && *end == '\0' && *number <= max;
}

static enum probe_answer slow_pong(const struct slow *s, const char *line, size_t len)
{
	const bool alive = (len == 5 && memcmp(line, "+PONG", 5) == 0) || is_error(line, "-NOAUTH") ||
			   is_error(line, "-NOPERM");

	if (alive)
		return s->role == CONFIG_CHECK_ROLE_ANY ? PROBE_ANSWER_GOOD : PROBE_ANSWER_MORE;
	return line[0] == '-' ? PROBE_ANSWER_REFUSED : PROBE_ANSWER_BROKEN;
}

static enum probe_answer slow_role(const struct slow *s, const char *line, size_t len, size_t wanted)
{
	const bool slave = strcmp(line, "slave") == 0 || strcmp(line, "replica") == 0;
	const bool right = s->role == CONFIG_CHECK_ROLE_PRIMARY ? strcmp(line, "master") == 0 : slave;

	if (len != wanted || strlen(line) != wanted)
		return PROBE_ANSWER_BROKEN;
	return right ? PROBE_ANSWER_GOOD : PROBE_ANSWER_REFUSED;
}

static enum probe_answer slow_redis(struct slow *s)
{
	enum probe_answer answer = PROBE_ANSWER_MORE;
	size_t len = 0, number = 0;

	for (int n = 0; answer == PROBE_ANSWER_MORE; n++) {
		char *line = next_line(s, &len);

		if (line == NULL)
			return PROBE_ANSWER_BROKEN;
		if (n == 0)
			answer = slow_pong(s, line, len);
		else if (n == 1 && line[0] == '-')
			answer = PROBE_ANSWER_REFUSED;
		else if (n == 1 && !is_number(line, len, '*', SIZE_MAX / 16, &number))
			answer = PROBE_ANSWER_BROKEN;
		else if (n == 2 && !is_number(line, len, '$', 32, &number))
			answer = PROBE_ANSWER_BROKEN;
		else if (n == 3)
			answer = slow_role(s, line, len, number);
		free(line);
	}
	return answer;
}

/* ---- PostgreSQL ---- */

static enum probe_answer slow_old_error(const struct slow *s)
{
	const uint8_t *text = s->data + s->at + 1;
	const size_t left = s->len - s->at - 1, room = PROBE_PGSQL_BODY;

	for (size_t i = 0; i < left && i < room; i++)
		if (text[i] == '\0' || text[i] == '\n')
			return PROBE_ANSWER_REFUSED;
	return left >= room ? PROBE_ANSWER_REFUSED : PROBE_ANSWER_BROKEN;
}

static enum probe_answer slow_login(const struct slow *s, const uint8_t *body, uint32_t len)
{
	static const uint8_t methods[] = {0, 2, 3, 4, 5, 6, 7, 9, 10};

	if (len < 4 || len > PROBE_PGSQL_BODY || memcmp(body, "\0\0\0", 3) != 0 ||
	    memchr(methods, body[3], sizeof(methods)) == NULL)
		return PROBE_ANSWER_BROKEN;
	if (s->role == CONFIG_CHECK_ROLE_ANY)
		return PROBE_ANSWER_GOOD;
	return body[3] == 0 ? PROBE_ANSWER_MORE : PROBE_ANSWER_REFUSED;
}

static enum probe_answer slow_row(const struct slow *s, const uint8_t *body, uint32_t len)
{
	static const struct {
		const char *bytes;
		uint32_t len;
		bool primary, standby;
	} rows[] = {
		{"\0\2\0\0\0\1f\0\0\0\3off", 14, true, false},
		{"\0\2\0\0\0\1f\0\0\0\2on", 13, false, false},
		{"\0\2\0\0\0\1t\0\0\0\2on", 13, false, true},
		{"\0\2\0\0\0\1t\0\0\0\3off", 14, false, true},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (len != rows[i].len || memcmp(body, rows[i].bytes, len) != 0)
			continue;
		if (s->role == CONFIG_CHECK_ROLE_PRIMARY ? rows[i].primary : rows[i].standby)
			return PROBE_ANSWER_GOOD;
		return PROBE_ANSWER_REFUSED;
	}
	return PROBE_ANSWER_BROKEN;
}

static enum probe_answer slow_pgsql(struct slow *s)
{
	enum probe_answer answer = PROBE_ANSWER_MORE;
	const char *types = "ERNv"; /* before the login, after it, after the question */

	while (answer == PROBE_ANSWER_MORE && s->at < s->len) {
		const uint8_t *m = s->data + s->at;
		const size_t left = s->len - s->at;
		uint32_t len;

		if (m[0] == '\0' || strchr(types, m[0]) == NULL)
			return PROBE_ANSWER_BROKEN;
		if (types[1] == 'R' && m[0] == 'E' && left > 1 && m[1] != 0)
			return slow_old_error(s);
		if (left < 5)
			return PROBE_ANSWER_BROKEN;
		len = (uint32_t)m[1] << 24 | (uint32_t)m[2] << 16 | (uint32_t)m[3] << 8 | m[4];
		if (len < 4 || len > 65536 || len > left - 1)
			return PROBE_ANSWER_BROKEN;
		s->at += 1 + len;
		if (m[0] == 'E')
			return PROBE_ANSWER_REFUSED;
		if (m[0] == 'D')
			return slow_row(s, m + 5, len - 4);
		if (m[0] == 'Z' && len != 5)
			return PROBE_ANSWER_BROKEN;
		if (m[0] == 'R')
			answer = slow_login(s, m + 5, len - 4);
		if (m[0] == 'R')
			types = "ESKZN";
		else if (m[0] == 'Z')
			types = "ETDSN";
	}
	return answer == PROBE_ANSWER_MORE ? PROBE_ANSWER_BROKEN : answer;
}

/* ---- all ---- */

static bool is_printable(const char *text)
{
	for (; *text != '\0'; text++)
		if (*text < ' ' || *text > '~')
			return false;
	return true;
}

static bool speaks_first(enum config_check_kind kind)
{
	return kind == CONFIG_CHECK_MYSQL || kind == CONFIG_CHECK_SMTP;
}

/* Pushes the answers in pieces; sends the question that is due. */
static void talk(struct probe_talk *t, const struct slow *s, unsigned cuts, unsigned turn)
{
	enum probe_answer answer = PROBE_ANSWER_MORE;
	size_t len = 0;

	probe_talk_reset(t);
	check((probe_talk_question(t, &len) == NULL) == speaks_first(t->config->kind));
	check(probe_talk_question(t, &len) == NULL);
	for (size_t at = 0; at < s->len && answer <= PROBE_ANSWER_ASK; turn = turn * 5 + 3) {
		const size_t piece = 1 + turn % (cuts + 1), left = s->len - at;
		const size_t n = piece < left ? piece : left;
		size_t used = 0;

		answer = probe_talk_push(t, s->data + at, n, &used);
		check(used <= n);
		check(used > 0 || answer > PROBE_ANSWER_ASK);
		at += used;
		check((probe_talk_question(t, &len) != NULL) == (answer == PROBE_ANSWER_ASK));
	}
}

static enum probe_answer answer_cut(struct probe_talk *t, const struct slow *s, unsigned cuts, unsigned turn)
{
	talk(t, s, cuts, turn);
	return probe_talk_end(t);
}

static void compare(struct probe_talk *t, struct slow *s, unsigned cuts, unsigned turn)
{
	const enum probe_answer whole = answer_cut(t, s, UINT16_MAX, UINT16_MAX - 1u);
	const enum probe_answer answer = answer_cut(t, s, cuts, turn);

	s->at = 0;
	check(answer == whole);
	if (t->config->kind == CONFIG_CHECK_REDIS)
		check(answer == slow_redis(s));
	else if (t->config->kind == CONFIG_CHECK_PGSQL)
		check(answer == slow_pgsql(s));
	check(strlen(probe_talk_detail(t)) < PROBE_DETAIL_MAX);
	check(is_printable(probe_talk_detail(t)));
	check(answer == PROBE_ANSWER_GOOD || probe_talk_detail(t)[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum config_check_kind others[] = {CONFIG_CHECK_MYSQL, CONFIG_CHECK_LDAP,
							CONFIG_CHECK_SMTP};
	struct config_check c = {.user = TEXT("u")};
	struct probe_talk t;
	struct slow s;

	if (size < 2)
		return 0;
	c.kind = data[0] >= 128 ? others[data[0] % ARRAY_LEN(others)]
		 : data[0] % 2 == 0 ? CONFIG_CHECK_REDIS
				    : CONFIG_CHECK_PGSQL;
	c.role = (enum config_check_role)(data[0] / 2 % 3);
	s = (struct slow){.role = c.role, .data = data + 2, .len = size - 2};
	probe_talk_init(&t, &c, NULL); /* the server is for hellos only */
	compare(&t, &s, 0, 0);
	compare(&t, &s, data[1], data[1]);
	compare(&t, &s, UINT16_MAX, UINT16_MAX - 1u);
	return 0;
}
