/* SPDX-License-Identifier: MIT
 *
 * admin_set.c - `set server` for addresses and health, and the commands for health checks.
 *
 * HAProxy answers some of these with what it did: so do we, in both voices. Main thread.
 */
#include "admin_set.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/balance/run_time.h"
#include "weir/base/check.h"
#include "weir/base/digit.h"
#include "admin_cause.h"

#define BY "by 'stats socket command'"

static void refuse_memory(const struct admin_call *c, int err)
{
	if (err == -EAGAIN)
		admin_refuse(c, NULL, "changed, but not in effect yet: out of memory; it is tried again");
	else if (err)
		admin_refuse(c, NULL, "nothing was changed: %s", strerror(-err));
}

bool admin_haproxy_says(const struct admin_call *c, const char *fmt, ...)
{
	va_list ap;

	if (c->ours)
		return false;
	va_start(ap, fmt);
	admin_vsay(c, ADMIN_SAYS_WARNING, fmt, ap);
	va_end(ap);
	return true;
}

/* ---- addresses ---- */

/* An IP address, as it stands in the command; false for anything else. */
static bool read_ip(const char *text, struct addr *a)
{
	*a = (struct addr){0};
	if (inet_pton(AF_INET, text, &a->in.sin_addr) == 1) {
		a->in.sin_family = AF_INET;
		a->len = sizeof(a->in);
		return true;
	}
	if (inet_pton(AF_INET6, text, &a->in6.sin6_addr) == 1) {
		a->in6.sin6_family = AF_INET6;
		a->len = sizeof(a->in6);
		return true;
	}
	return false;
}

static const char *ip_text(const struct addr *a, char buf[static INET6_ADDRSTRLEN])
{
	const void *ip = a->sa.sa_family == AF_INET6 ? (const void *)&a->in6.sin6_addr
						     : (const void *)&a->in.sin_addr;

	return inet_ntop(a->sa.sa_family, ip, buf, INET6_ADDRSTRLEN);
}

static bool is_same_ip(const struct addr *a, const struct addr *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return false;
	if (a->sa.sa_family == AF_INET)
		return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	return memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, sizeof(a->in6.sin6_addr)) == 0;
}

/* Can it have the client's port? Its health checks need one of their own then. */
static bool may_take_client_port(const struct server *s)
{
	return server_addr(s) != NULL &&
	       (addr_port(server_addr(s)) == 0 || s->config->check_port != 0 || s->backend->check.port != 0);
}

/* False after a refusal; `before` is what HAProxy says in front of that. */
static bool read_port(const struct admin_call *c, const struct server *s, const char *before, uint16_t *port)
{
	const char *text = c->args[4];
	char *end;
	const long value = strtol(text, &end, 10);

	if (end != text && *end == '\0' && is_digit(text[0]) && value > 0 && value <= UINT16_MAX) {
		*port = (uint16_t)value;
		return true;
	}
	if (strcmp(text, "+0") == 0 && may_take_client_port(s)) {
		*port = 0;
		return true;
	}
	if (c->ours && strcmp(text, "+0") == 0)
		admin_refuse(c, NULL,
			     "the health checks of '%s' would have no port; its line needs check-port=PORT",
			     c->args[0]);
	else if (c->ours)
		admin_refuse(c, NULL, "'%s' is not a port (1 to 65535, or +0 for that of the client)", text);
	else if (end == text)
		(void)admin_haproxy_says(c, "%sproblem converting port '%s' to an int " BY, before, text);
	else if (!is_digit(text[0]))
		(void)admin_haproxy_says(c,
					 "%scan't change <port> to port map because it is incompatible with "
					 "current health check port configuration (use 'port' statement from "
					 "the 'server' directive. " BY,
					 before);
	else
		(void)admin_haproxy_says(c, "%sprovided port is invalid " BY, before);
	return false;
}

/* Where it is now, with the IP address in the command; false after a refusal. */
static bool read_addr(const struct admin_call *c, const struct addr *now, struct addr *next)
{
	const char *text = c->args[2];

	if (!read_ip(text, next)) {
		if (!admin_haproxy_says(c, "Invalid addr '%s' " BY, text))
			admin_refuse(c, NULL, "'%s' is not an IP address", text);
		return false;
	}
	if (now == NULL || now->sa.sa_family == AF_UNIX || now->sa.sa_family == AF_UNSPEC) {
		if (!admin_haproxy_says(c,
					"Update for the current server address family is only supported "
					"through configuration file " BY))
			admin_refuse(c, NULL, "server '%s' has no IP address", c->args[0]);
		return false;
	}
	addr_set_port(next, addr_port(now));
	return true;
}

/* What has changed, in HAProxy's words. */
static void tell_move(const struct admin_call *c, const struct addr *was, const struct addr *now,
		      bool with_port)
{
	char from[INET6_ADDRSTRLEN];

	admin_begin_message(c, ADMIN_SAYS_WARNING);
	if (is_same_ip(was, now))
		text_printf(c->out, "no need to change the addr");
	else
		text_printf(c->out, "IP changed from '%s' to '%s'", ip_text(was, from), c->args[2]);
	if (with_port && addr_port(was) == addr_port(now))
		text_printf(c->out, ", no need to change the port");
	else if (with_port)
		text_printf(c->out, ", port changed from '%s%u' to '%s%u'", addr_port(was) == 0 ? "+" : "",
			    addr_port(was), addr_port(now) == 0 ? "+" : "", addr_port(now));
	text_printf(c->out, " " BY "\n");
}

static void set_addr(const struct admin_call *c, struct server *s)
{
	const struct addr *now = server_addr(s);
	const bool with_port = strcmp(c->args[3], "port") == 0;
	const struct mark by = admin_mark(c);
	struct addr next, was;
	const char *before;
	uint16_t port = 0;
	int err;

	if (c->args[2][0] == '\0') {
		admin_refuse(c, "set server <b>/<s> addr requires an address and optionally a port.",
			     "write: set server %s addr IP [port PORT]", c->args[0]);
		return;
	}
	if (!read_addr(c, now, &next))
		return;
	was = *now;
	before = is_same_ip(&was, &next) ? "no need to change the addr, " : "";
	if (with_port && !read_port(c, s, before, &port))
		return;
	if (with_port)
		addr_set_port(&next, port);
	err = run_time_set_addr(c->ctx->updates, s, &next, &by);
	if (err)
		refuse_memory(c, err);
	else
		tell_move(c, &was, &next, with_port);
}

/* ---- health checks ---- */

/* False after a refusal: HAProxy answers these without a full stop. */
static bool read_check_port(const struct admin_call *c, const char *text, uint16_t *port)
{
	const char *digits = text + (text[0] == '-' || text[0] == '+');
	const long value = strtol(text, NULL, 10);

	if (digits[0] == '\0' || digits[strspn(digits, "0123456789")] != '\0') {
		if (!admin_haproxy_says(c, "provided port is not an integer"))
			admin_refuse(c, NULL, "'%s' is not a port", text);
		return false;
	}
	if (value < 0 || value > UINT16_MAX) {
		if (!admin_haproxy_says(c, "provided port is invalid"))
			admin_refuse(c, NULL, "'%s' is not a port (0 to 65535)", text);
		return false;
	}
	*port = (uint16_t)value;
	return true;
}

static bool is_checked(const struct admin_call *c, const struct server *s)
{
	if (s->config->check && !s->checks_off)
		return true;
	if (admin_haproxy_says(c, "health checks are not enabled on this server"))
		return false;
	if (s->config->check)
		admin_refuse(c, NULL, "the health checks of '%s' are disabled; first: enable health %s",
			     c->args[0], c->args[0]);
	else
		admin_refuse(c, NULL, "server '%s' is not health-checked; write 'check' on its line",
			     c->args[0]);
	return false;
}

/* `port` NULL = leave that alone. */
static void set_check(const struct admin_call *c, struct server *s, const char *ip, const char *port)
{
	const struct mark by = admin_mark(c);
	struct addr a;
	uint16_t number = 0;
	int err = 0;

	if (!is_checked(c, s))
		return;
	if (ip != NULL && !read_ip(ip, &a)) {
		if (!admin_haproxy_says(c, "invalid addr '%s'", ip))
			admin_refuse(c, NULL, "'%s' is not an IP address", ip);
		return;
	}
	if (port != NULL && !read_check_port(c, port, &number))
		return;
	if (ip != NULL)
		err = run_time_set_check_addr(c->ctx->updates, s, &a, &by);
	if (err)
		refuse_memory(c, err);
	else if (port != NULL)
		run_time_set_check_port(c->ctx->updates, s, number, &by);
}

static void set_check_addr(const struct admin_call *c, struct server *s)
{
	if (c->args[2][0] == '\0')
		admin_refuse(c, "set server <b>/<s> check-addr requires an address and optionally a port.",
			     "write: set server %s check-addr IP [port PORT]", c->args[0]);
	else
		set_check(c, s, c->args[2], strcmp(c->args[3], "port") == 0 ? c->args[4] : NULL);
}

static void set_check_port(const struct admin_call *c, struct server *s)
{
	if (c->args[2][0] == '\0')
		admin_refuse(c, "set server <b>/<s> check-port requires a port.",
			     "write: set server %s check-port PORT", c->args[0]);
	else
		set_check(c, s, NULL, c->args[2]);
}

static void set_health(const struct admin_call *c, struct server *s)
{
	static const char *const words[] = {
		[SERVER_HEALTH_DOWN] = "down",
		[SERVER_HEALTH_STOPPING] = "stopping",
		[SERVER_HEALTH_UP] = "up",
	};
	const struct mark by = admin_mark(c);
	char cause[ADMIN_CAUSE_MAX];
	size_t health = 0;
	int err;

	while (health < ARRAY_LEN(words) && strcmp(c->args[2], words[health]) != 0)
		health++;
	if (health == ARRAY_LEN(words)) {
		admin_refuse(c, "'set server <srv> health' expects 'up', 'stopping', or 'down'.",
			     "the health must be up, stopping or down");
		return;
	}
	err = server_updates_force_health(c->ctx->updates, s, (enum server_health)health,
					  admin_cause(c, cause));
	refuse_memory(c, err);
	if (err && err != -EAGAIN)
		return;
	if (health == SERVER_HEALTH_UP)
		mark_clear(&s->marks[SERVER_MARK_HEALTH]);
	else if (s->admin != SERVER_ADMIN_MAINT)
		run_time_mark(s, SERVER_MARK_HEALTH, &by);
}

void admin_enable_health(const struct admin_call *c)
{
	struct server *s = admin_find_server(c, c->args[0]);
	const struct mark by = admin_mark(c);

	if (s == NULL)
		return;
	if (!s->config->check)
		admin_refuse(c, "Health check was not configured on this server, cannot enable.",
			     "server '%s' is not health-checked; write 'check' on its line, or in 'add "
			     "server'",
			     c->args[0]);
	else
		run_time_set_checks(c->ctx->updates, s, true, &by);
}

void admin_disable_health(const struct admin_call *c)
{
	struct server *s = admin_find_server(c, c->args[0]);
	const struct mark by = admin_mark(c);

	if (s != NULL && s->config->check)
		run_time_set_checks(c->ctx->updates, s, false, &by);
}

/* ---- names and TLS, which no server has ---- */

static void set_fqdn(const struct admin_call *c, struct server *s)
{
	(void)s;
	if (c->args[2][0] == '\0')
		admin_refuse(c, "set server <b>/<s> fqdn requires a FQDN.",
			     "the name of a server is set in the file; for an address: set server %s addr IP",
			     c->args[0]);
	else
		admin_refuse(c, "set server <b>/<s> fqdn failed because no resolution is configured.",
			     "the name of a server is set in the file; for an address: set server %s addr IP",
			     c->args[0]);
}

static void set_ssl(const struct admin_call *c, struct server *s)
{
	admin_refuse(c,
		     s->added ? "'set server <srv> ssl' not supported on dynamic servers"
			      : "'set server <srv> ssl' cannot be set.  default-server should define ssl "
				"settings",
		     "weir speaks no TLS to servers");
}

/* ---- set server ---- */

bool admin_set_more(const struct admin_call *c, struct server *s)
{
	static const struct {
		const char *word;
		void (*set)(const struct admin_call *c, struct server *s);
	} words[] = {
		{"addr", set_addr},	    {"agent", admin_set_agent},
		{"agent-addr", admin_set_agent_addr}, {"agent-port", admin_set_agent_port},
		{"agent-send", admin_set_agent_send},   {"check-addr", set_check_addr},
		{"check-port", set_check_port}, {"fqdn", set_fqdn},
		{"health", set_health},	    {"ssl", set_ssl},
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(c->args[1], words[i].word) != 0)
			continue;
		words[i].set(c, s);
		return true;
	}
	return false;
}
