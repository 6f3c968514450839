/* SPDX-License-Identifier: MIT
 *
 * probe_talk.c - a health check in the server's own protocol: which question comes next, and what is known.
 *
 * Any thread.
 */
#include "probe_talk.h"

#include <string.h>

#include "weir/base/check.h"
#include "probe_wire.h"

bool probe_talk_is(enum config_check_kind kind)
{
	return kind == CONFIG_CHECK_REDIS || kind == CONFIG_CHECK_PGSQL || kind == CONFIG_CHECK_TLS;
}

static bool is_redis(const struct probe_talk *t)
{
	return t->config->kind == CONFIG_CHECK_REDIS;
}

static bool is_hello(const struct probe_talk *t)
{
	return t->config->kind == CONFIG_CHECK_TLS;
}

/* An address is not asked for by name. */
static size_t make_hello(struct probe_talk *t)
{
	char name[PROBE_NAME_MAX];
	const bool named = probe_wire_name(t->config, t->server, name);
	const struct probe_hello_question q = {.name = named ? name : NULL, .alpn = t->config->alpn};

	return probe_hello_make(&t->hello, &q, t->startup);
}

void probe_talk_init(struct probe_talk *t, const struct config_check *config, const struct server *s)
{
	check(probe_talk_is(config->kind));
	t->config = config;
	t->server = s;
	probe_talk_reset(t);
}

void probe_talk_reset(struct probe_talk *t)
{
	t->begun = false;
	if (is_hello(t))
		probe_hello_init(&t->hello);
	else if (is_redis(t))
		probe_redis_init(&t->redis, t->config->role);
	else
		probe_pgsql_init(&t->pgsql, t->config->role);
}

const uint8_t *probe_talk_question(struct probe_talk *t, size_t *len)
{
	if (t->begun && !is_redis(t) && !is_hello(t) && t->pgsql.answer == PROBE_ANSWER_ASK)
		return probe_pgsql_query(&t->pgsql, len);
	if (t->begun)
		return NULL;
	t->begun = true;
	if (is_hello(t)) {
		*len = make_hello(t);
		return t->startup;
	}
	if (!is_redis(t)) {
		*len = probe_pgsql_startup(t->config, t->startup);
		return t->startup;
	}
	*len = strlen(probe_redis_commands(t->config->role));
	return (const uint8_t *)probe_redis_commands(t->config->role);
}

enum probe_answer probe_talk_push(struct probe_talk *t, const uint8_t *data, size_t len, size_t *used)
{
	if (!is_redis(t) && !is_hello(t))
		return probe_pgsql_push(&t->pgsql, data, len, used);
	*used = len;
	if (is_hello(t))
		return probe_hello_push(&t->hello, data, len);
	return probe_redis_push(&t->redis, data, len);
}

enum probe_answer probe_talk_end(struct probe_talk *t)
{
	if (is_hello(t))
		return probe_hello_end(&t->hello);
	return is_redis(t) ? probe_redis_end(&t->redis) : probe_pgsql_end(&t->pgsql);
}

const char *probe_talk_detail(const struct probe_talk *t)
{
	if (is_hello(t))
		return t->hello.detail;
	return is_redis(t) ? t->redis.detail : t->pgsql.detail;
}

const uint8_t *probe_talk_farewell(const struct probe_talk *t, size_t *len)
{
	static const uint8_t quit[] = "*1\r\n$4\r\nQUIT\r\n";

	if (is_hello(t))
		return NULL;
	if (!is_redis(t))
		return probe_pgsql_farewell(&t->pgsql, len);
	*len = sizeof(quit) - 1;
	return t->redis.answer != PROBE_ANSWER_BROKEN && t->redis.answer != PROBE_ANSWER_MORE ? quit : NULL;
}
