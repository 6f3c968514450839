/* SPDX-License-Identifier: MIT
 *
 * probe_talk.c - a health check in the server's own protocol: which question comes next, and what is known.
 *
 * Any thread.
 */
#include "probe_talk.h"

#include <string.h>

#include "weir/base/check.h"

bool probe_talk_is(enum config_check_kind kind)
{
	return kind == CONFIG_CHECK_REDIS || kind == CONFIG_CHECK_PGSQL;
}

static bool is_redis(const struct probe_talk *t)
{
	return t->config->kind == CONFIG_CHECK_REDIS;
}

void probe_talk_init(struct probe_talk *t, const struct config_check *config)
{
	check(probe_talk_is(config->kind));
	t->config = config;
	probe_talk_reset(t);
}

void probe_talk_reset(struct probe_talk *t)
{
	t->begun = false;
	if (is_redis(t))
		probe_redis_init(&t->redis, t->config->role);
	else
		probe_pgsql_init(&t->pgsql, t->config->role);
}

const uint8_t *probe_talk_question(struct probe_talk *t, size_t *len)
{
	if (t->begun && !is_redis(t) && t->pgsql.answer == PROBE_ANSWER_ASK)
		return probe_pgsql_query(&t->pgsql, len);
	if (t->begun)
		return NULL;
	t->begun = true;
	if (!is_redis(t)) {
		*len = probe_pgsql_startup(t->config, t->startup);
		return t->startup;
	}
	*len = strlen(probe_redis_commands(t->config->role));
	return (const uint8_t *)probe_redis_commands(t->config->role);
}

enum probe_answer probe_talk_push(struct probe_talk *t, const uint8_t *data, size_t len, size_t *used)
{
	if (!is_redis(t))
		return probe_pgsql_push(&t->pgsql, data, len, used);
	*used = len;
	return probe_redis_push(&t->redis, data, len);
}

enum probe_answer probe_talk_end(struct probe_talk *t)
{
	return is_redis(t) ? probe_redis_end(&t->redis) : probe_pgsql_end(&t->pgsql);
}

const char *probe_talk_detail(const struct probe_talk *t)
{
	return is_redis(t) ? t->redis.detail : t->pgsql.detail;
}

const uint8_t *probe_talk_farewell(const struct probe_talk *t, size_t *len)
{
	static const uint8_t quit[] = "*1\r\n$4\r\nQUIT\r\n";

	if (!is_redis(t))
		return probe_pgsql_farewell(&t->pgsql, len);
	*len = sizeof(quit) - 1;
	return t->redis.answer != PROBE_ANSWER_BROKEN && t->redis.answer != PROBE_ANSWER_MORE ? quit : NULL;
}
