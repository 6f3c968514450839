/* SPDX-License-Identifier: MIT
 *
 * probe_talk.c - a health check in the server's own protocol: which question comes next, and what is known.
 *
 * One row per protocol. Any thread.
 */
#include "probe_talk.h"

#include <string.h>

#include "weir/base/check.h"
#include "probe_wire.h"
#include "weir/base/list.h"

/* A protocol. All get a probe_talk that is of it. */
struct talk_kind {
	void (*reset)(struct probe_talk *t);
	/* The first question; NULL = the server speaks first. */
	const uint8_t *(*begin)(struct probe_talk *t, size_t *len);
	/* The question after PROBE_ANSWER_ASK; NULL = it never asks. */
	const uint8_t *(*question)(struct probe_talk *t, size_t *len);
	enum probe_answer (*push)(struct probe_talk *t, const uint8_t *data, size_t len, size_t *used);
	enum probe_answer (*end)(struct probe_talk *t);
	const uint8_t *(*farewell)(const struct probe_talk *t, size_t *len);
	size_t answer; /* where they are in struct probe_talk */
	size_t detail;
};

/* ---- Redis ---- */

static void redis_reset(struct probe_talk *t)
{
	probe_redis_init(&t->redis, t->config->role);
}

static const uint8_t *redis_begin(struct probe_talk *t, size_t *len)
{
	*len = strlen(probe_redis_commands(t->config->role));
	return (const uint8_t *)probe_redis_commands(t->config->role);
}

static enum probe_answer redis_push(struct probe_talk *t, const uint8_t *data, size_t len, size_t *used)
{
	*used = len;
	return probe_redis_push(&t->redis, data, len);
}

static enum probe_answer redis_end(struct probe_talk *t)
{
	return probe_redis_end(&t->redis);
}

static const uint8_t *redis_farewell(const struct probe_talk *t, size_t *len)
{
	static const uint8_t quit[] = "*1\r\n$4\r\nQUIT\r\n";

	*len = sizeof(quit) - 1;
	return t->redis.answer != PROBE_ANSWER_BROKEN && t->redis.answer != PROBE_ANSWER_MORE ? quit : NULL;
}

/* ---- PostgreSQL ---- */

static void pgsql_reset(struct probe_talk *t)
{
	probe_pgsql_init(&t->pgsql, t->config->role);
}

static const uint8_t *pgsql_begin(struct probe_talk *t, size_t *len)
{
	*len = probe_pgsql_startup(t->config, t->startup);
	return t->startup;
}

static const uint8_t *pgsql_question(struct probe_talk *t, size_t *len)
{
	return probe_pgsql_query(&t->pgsql, len);
}

static enum probe_answer pgsql_push(struct probe_talk *t, const uint8_t *data, size_t len, size_t *used)
{
	return probe_pgsql_push(&t->pgsql, data, len, used);
}

static enum probe_answer pgsql_end(struct probe_talk *t)
{
	return probe_pgsql_end(&t->pgsql);
}

static const uint8_t *pgsql_farewell(const struct probe_talk *t, size_t *len)
{
	return probe_pgsql_farewell(&t->pgsql, len);
}

/* ---- MySQL ---- */

static void mysql_reset(struct probe_talk *t)
{
	probe_mysql_init(&t->mysql, t->config->user);
}

static const uint8_t *mysql_question(struct probe_talk *t, size_t *len)
{
	return probe_mysql_question(&t->mysql, len);
}

static enum probe_answer mysql_push(struct probe_talk *t, const uint8_t *data, size_t len, size_t *used)
{
	return probe_mysql_push(&t->mysql, data, len, used);
}

static enum probe_answer mysql_end(struct probe_talk *t)
{
	return probe_mysql_end(&t->mysql);
}

static const uint8_t *mysql_farewell(const struct probe_talk *t, size_t *len)
{
	return probe_mysql_farewell(&t->mysql, len);
}

/* ---- LDAP ---- */

static void ldap_reset(struct probe_talk *t)
{
	probe_ldap_init(&t->ldap);
}

static const uint8_t *ldap_begin(struct probe_talk *t, size_t *len)
{
	(void)t; /* it is the same for all */
	return probe_ldap_request(len);
}

static enum probe_answer ldap_push(struct probe_talk *t, const uint8_t *data, size_t len, size_t *used)
{
	*used = len;
	return probe_ldap_push(&t->ldap, data, len);
}

static enum probe_answer ldap_end(struct probe_talk *t)
{
	return probe_ldap_end(&t->ldap);
}

static const uint8_t *ldap_farewell(const struct probe_talk *t, size_t *len)
{
	return probe_ldap_farewell(&t->ldap, len);
}

/* ---- SMTP ---- */

static void smtp_reset(struct probe_talk *t)
{
	probe_smtp_init(&t->smtp, t->config);
}

static const uint8_t *smtp_question(struct probe_talk *t, size_t *len)
{
	return probe_smtp_question(&t->smtp, len);
}

static enum probe_answer smtp_push(struct probe_talk *t, const uint8_t *data, size_t len, size_t *used)
{
	return probe_smtp_push(&t->smtp, data, len, used);
}

static enum probe_answer smtp_end(struct probe_talk *t)
{
	return probe_smtp_end(&t->smtp);
}

static const uint8_t *smtp_farewell(const struct probe_talk *t, size_t *len)
{
	return probe_smtp_farewell(&t->smtp, len);
}

/* ---- TLS, as far as the ServerHello ---- */

static void hello_reset(struct probe_talk *t)
{
	probe_hello_init(&t->hello);
}

/* An address is not asked for by name. */
static const uint8_t *hello_begin(struct probe_talk *t, size_t *len)
{
	char name[PROBE_NAME_MAX];
	const bool named = probe_wire_name(t->config, t->server, name);
	const struct probe_hello_question q = {.name = named ? name : NULL, .alpn = t->config->alpn};

	*len = probe_hello_make(&t->hello, &q, t->hello_room);
	return t->hello_room;
}

static enum probe_answer hello_push(struct probe_talk *t, const uint8_t *data, size_t len, size_t *used)
{
	*used = len;
	return probe_hello_push(&t->hello, data, len);
}

static enum probe_answer hello_end(struct probe_talk *t)
{
	return probe_hello_end(&t->hello);
}

static const uint8_t *hello_farewell(const struct probe_talk *t, size_t *len)
{
	(void)t;
	(void)len;
	return NULL;
}

/* ---- all ---- */

#define TALK(name, begin, question)                                                                          \
	{name##_reset, begin, question, name##_push, name##_end, name##_farewell,                            \
	 offsetof(struct probe_talk, name.answer), offsetof(struct probe_talk, name.detail)}

static const struct talk_kind kinds[] = {
	[CONFIG_CHECK_REDIS] = TALK(redis, redis_begin, NULL),
	[CONFIG_CHECK_PGSQL] = TALK(pgsql, pgsql_begin, pgsql_question),
	[CONFIG_CHECK_MYSQL] = TALK(mysql, NULL, mysql_question),
	[CONFIG_CHECK_LDAP] = TALK(ldap, ldap_begin, NULL),
	[CONFIG_CHECK_TLS] = TALK(hello, hello_begin, NULL),
	[CONFIG_CHECK_SMTP] = TALK(smtp, NULL, smtp_question),
};

static const struct talk_kind *kind_of(const struct probe_talk *t)
{
	return &kinds[t->config->kind];
}

bool probe_talk_is(enum config_check_kind kind)
{
	return kind < ARRAY_LEN(kinds) && kinds[kind].reset != NULL;
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
	kind_of(t)->reset(t);
}

static enum probe_answer answer_of(const struct probe_talk *t)
{
	enum probe_answer answer;

	memcpy(&answer, (const char *)t + kind_of(t)->answer, sizeof(answer));
	return answer;
}

const uint8_t *probe_talk_question(struct probe_talk *t, size_t *len)
{
	const struct talk_kind *k = kind_of(t);

	if (!t->begun && k->begin != NULL) {
		t->begun = true;
		return k->begin(t, len);
	}
	t->begun = true;
	if (answer_of(t) != PROBE_ANSWER_ASK)
		return NULL;
	check(k->question != NULL);
	return k->question(t, len);
}

enum probe_answer probe_talk_push(struct probe_talk *t, const uint8_t *data, size_t len, size_t *used)
{
	return kind_of(t)->push(t, data, len, used);
}

enum probe_answer probe_talk_end(struct probe_talk *t)
{
	return kind_of(t)->end(t);
}

const char *probe_talk_detail(const struct probe_talk *t)
{
	return (const char *)t + kind_of(t)->detail;
}

const uint8_t *probe_talk_farewell(const struct probe_talk *t, size_t *len)
{
	return kind_of(t)->farewell(t, len);
}
