/* SPDX-License-Identifier: MIT
 *
 * crosscheck_options.c - the options of one section beside each other.
 *
 * Warns about what has no effect where its line says otherwise; refuses what would let anybody claim
 * an address. What comes from [defaults] is not warned about: it is meant for other sections too.
 * Main thread. Floor 2.
 */
#include <string.h>

#include "sluice/base/check.h"
#include "sluice/config/build.h"
#include "sluice/config/setting.h"

/* The section's own line of option `key`; NULL = it has none. */
static const struct entry *own_line(const struct proxy *p, const char *key)
{
	const struct option *o = option_find(p->section->kind, key).option;

	return o != NULL ? p->from[o - options] : NULL;
}

static bool any_unix_bind(const struct proxy *p)
{
	for (size_t i = 0; i < p->bind_count; i++) {
		/* What was passed to us may be anything. */
		if (p->binds[i].addr.kind == ADDR_UNIX || p->binds[i].addr.kind == ADDR_FD)
			return true;
	}
	return false;
}

static bool any_proxy_bind(const struct proxy *p)
{
	for (size_t i = 0; i < p->bind_count; i++) {
		if (p->binds[i].accept_proxy != CONFIG_ACCEPT_PROXY_OFF)
			return true;
	}
	return false;
}

/* Without a list of those who may, "a header or none" is "any address you like". */
static void check_optional(struct build *b, const struct proxy *p)
{
	for (size_t i = 0; i < p->bind_count; i++) {
		const struct words *words = &p->bind_words[i];
		const struct word *w = setting_find_word(b->diag->arena, words, IN_BIND, "accept-proxy");

		if (p->binds[i].accept_proxy != CONFIG_ACCEPT_PROXY_OPTIONAL || p->set.trusted.count > 0)
			continue;
		diag_error(b->diag, DIAG_MISSING, w->at,
			   "'accept-proxy=optional' without 'trusted': anybody could claim an address");
		diag_hint(b->diag, "add a line such as: trusted = 10.0.0.0/8");
	}
}

static void check_front(struct build *b, const struct proxy *p)
{
	const struct entry *trusted = own_line(p, "trusted"), *uid = own_line(p, "allow-uid");
	/* A bind line that failed may have had the word. */
	bool binds_known = (p->section->bad & SECTION_BAD_BIND) == 0 && p->bind_count > 0;

	check_optional(b, p);
	if (trusted != NULL && binds_known && !any_proxy_bind(p)) {
		diag_warning(b->diag, DIAG_NO_EFFECT, trusted->key_at,
			     "'trusted' has no effect: no bind line has 'accept-proxy'");
		diag_hint(b->diag, "write for example: bind = :443 accept-proxy");
	}
	if (uid != NULL && binds_known && !any_unix_bind(p)) {
		diag_warning(b->diag, DIAG_NO_EFFECT, uid->key_at,
			     "'allow-uid' has no effect: no bind line is a Unix socket");
		diag_hint(b->diag, "over TCP nobody knows the user: see 'allow-from'");
	}
}

/* A word of a server line that only works beside another one. */
static void warn_word(struct build *b, const struct proxy *p, size_t i, const char *key, const char *why,
		      const char *hint)
{
	const struct word *w = setting_find_word(b->diag->arena, &p->server_words[i], IN_SERVER, key);

	if (w == NULL)
		return;
	diag_warning(b->diag, DIAG_NO_EFFECT, w->at, "'%s' has no effect: %s", key, why);
	diag_hint(b->diag, "%s", hint);
}

static void check_server(struct build *b, const struct proxy *p, size_t i)
{
	const struct config_server *s = &p->servers[i];

	if (s->maxqueue > 0 && s->maxconn == 0)
		warn_word(b, p, i, "maxqueue", "without 'maxconn' nobody waits",
			  "add maxconn=N to this server");
	if (!s->check && s->check_port != 0)
		warn_word(b, p, i, "check-port", "this server is not checked", "add the word check");
	if (!s->check && s->slowstart_ns != 0)
		warn_word(b, p, i, "slowstart", "without a check this server never comes up again",
			  "add the word check");
	if (s->send_proxy != CONFIG_SEND_PROXY_V2)
		warn_word(b, p, i, "proxy-v2-options", "this server gets no header of version 2",
			  "add send-proxy=v2");
}

/* The first server without a limit takes all that come to it: those behind it get nothing. */
static void check_first(struct build *b, const struct proxy *p)
{
	for (size_t i = 0; i < p->server_count; i++) {
		const struct config_server *s = &p->servers[i];
		bool others = false;

		for (size_t k = i + 1; k < p->server_count; k++)
			others = others || p->servers[k].backup == s->backup;
		if (s->maxconn > 0 || !others)
			continue;
		diag_warning(b->diag, DIAG_NO_EFFECT, p->server_at[i],
			     "'balance = first' never goes past '%s', which has no 'maxconn'", s->name);
		diag_hint(b->diag, "add maxconn=N to this server");
		return;
	}
}

/* Options that say how checks are done or what comes of them. */
static void check_checks(struct build *b, const struct proxy *p)
{
	static const char *const keys[] = {"check-interval", "check-fast", "check-down",     "check-timeout",
					   "check-rise",     "check-fall", "on-marked-down", "panic"};
	const struct entry *observe = own_line(p, "observe");

	if (p->set.check.kind != CONFIG_CHECK_OFF)
		return;
	if (observe != NULL && p->set.observe != CONFIG_OBSERVE_OFF) {
		diag_warning(b->diag, DIAG_NO_EFFECT, observe->key_at,
			     "'observe' has no effect: without a check no server would come up again");
		diag_hint(b->diag, "add a line such as: check = tcp");
	}
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const struct entry *e = own_line(p, keys[i]);

		if (e == NULL)
			continue;
		diag_warning(b->diag, DIAG_NO_EFFECT, e->key_at, "'%s' has no effect: no server is checked",
			     keys[i]);
		diag_hint(b->diag, "add a line such as: check = tcp");
	}
}

/* May a connection wait in the queue of this backend? */
static bool has_queue(const struct build *b, const struct proxy *p)
{
	for (size_t i = 0; i < p->server_count; i++) {
		if (p->servers[i].maxconn > 0)
			return true;
	}
	for (size_t i = 0; i < b->proxy_count; i++) {
		const struct proxy *front = &b->proxies[i];
		bool queues = front->set.no_server == CONFIG_NO_SERVER_QUEUE;

		if (queues && front->target == p)
			return true;
		for (size_t k = 0; queues && k < front->route_count; k++) {
			if (front->routes[k].target == p)
				return true;
		}
	}
	return false;
}

static void check_back(struct build *b, const struct proxy *p)
{
	static const char *const queue_keys[] = {"maxqueue", "timeout-queue"};

	/* What failed may have had the word that is missed. */
	if ((p->section->bad & SECTION_BAD_SERVER) != 0 || p->server_count == 0)
		return;
	for (size_t i = 0; i < p->server_count; i++)
		check_server(b, p, i);
	if (p->set.balance.algorithm == CONFIG_BALANCE_FIRST)
		check_first(b, p);
	check_checks(b, p);
	for (size_t i = 0; i < ARRAY_LEN(queue_keys) && !has_queue(b, p); i++) {
		const struct entry *e = own_line(p, queue_keys[i]);

		if (e == NULL)
			continue;
		diag_warning(b->diag, DIAG_NO_EFFECT, e->key_at,
			     "'%s' has no effect: no server has a 'maxconn' to wait for", queue_keys[i]);
		diag_hint(b->diag, "add maxconn=N to the servers");
	}
}

void build_check_options(struct build *b, const struct proxy *p)
{
	if (p->section->kind != IN_BACKEND)
		check_front(b, p);
	if (build_is_backend(p))
		check_back(b, p);
}
