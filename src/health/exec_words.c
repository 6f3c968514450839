/* SPDX-License-Identifier: MIT
 *
 * exec_words.c - arguments and environment of a program that checks a server: HAProxy's.
 *
 * As its src/extcheck.c has them: an address without brackets, the path of a Unix socket instead; what a
 * server or section does not have is NOT_USED in the arguments and "" in the environment. Any thread.
 */
#include "exec_words.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"

#define NOT_USED "NOT_USED"

/* An address and its port as two texts; "" = there is none. */
struct place {
	char addr[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 2];
	char port[8];
};

static void put_path(struct place *p, const struct addr *a)
{
	const size_t begin = offsetof(struct sockaddr_un, sun_path);
	const size_t len = a->len > begin ? a->len - begin : 0;

	if (len > 0 && a->un.sun_path[0] == '\0') /* an abstract name */
		(void)snprintf(p->addr, sizeof(p->addr), "@%.*s", (int)len - 1, a->un.sun_path + 1);
	else
		(void)snprintf(p->addr, sizeof(p->addr), "%.*s", (int)len, a->un.sun_path); /* both fit */
}

static struct place place_of(const struct addr *a)
{
	struct place p = {"", ""};

	if (a == NULL || a->len == 0)
		return p;
	if (addr_is_unix(a)) {
		put_path(&p, a);
		return p;
	}
	if (a->sa.sa_family == AF_INET)
		(void)inet_ntop(AF_INET, &a->in.sin_addr, p.addr, sizeof(p.addr)); /* fits */
	else
		(void)inet_ntop(AF_INET6, &a->in6.sin6_addr, p.addr, sizeof(p.addr));
	(void)snprintf(p.port, sizeof(p.port), "%u", (unsigned)addr_port(a)); /* fits */
	return p;
}

__attribute__((format(printf, 2, 3))) static const char *keep(struct exec_words *w, const char *fmt, ...)
{
	char *at = w->text + w->used;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(at, sizeof(w->text) - w->used, fmt, ap);
	va_end(ap);
	check(n >= 0);
	check((size_t)n < sizeof(w->text) - w->used); /* names, addresses and PATH have limits */
	w->used += (size_t)n + 1;
	return at;
}

static const char *argument(struct exec_words *w, const char *text)
{
	return keep(w, "%s", text[0] != '\0' ? text : NOT_USED);
}

static void put_arguments(struct exec_words *w, const struct exec_facts *f, const struct place *proxy,
			  const struct place *server)
{
	const struct config_check *c = f->check;
	size_t n = 0;

	w->argv[n++] = c->program;
	w->argv[n++] = argument(w, proxy->addr);
	w->argv[n++] = argument(w, proxy->port);
	w->argv[n++] = argument(w, server->addr);
	w->argv[n++] = argument(w, server->port);
	check(n + c->arg_count < EXEC_ARGS_MAX);
	for (size_t i = 0; i < c->arg_count; i++)
		w->argv[n++] = c->args[i].text;
	w->argv[n] = NULL;
}

void exec_words_make(struct exec_words *w, const struct exec_facts *f)
{
	const struct place proxy = place_of(f->proxy), server = place_of(f->server);
	const char *path = f->check->exec_path;
	size_t n = 0;

	w->used = 0;
	put_arguments(w, f, &proxy, &server);
	w->envp[n++] = keep(w, "PATH=%s", path != NULL ? path : CONFIG_EXEC_PATH);
	w->envp[n++] = keep(w, "HAPROXY_PROXY_NAME=%s", f->proxy_name);
	w->envp[n++] = keep(w, "HAPROXY_PROXY_ID=%u", f->proxy_id);
	w->envp[n++] = keep(w, "HAPROXY_PROXY_ADDR=%s", proxy.addr);
	w->envp[n++] = keep(w, "HAPROXY_PROXY_PORT=%s", proxy.port);
	w->envp[n++] = keep(w, "HAPROXY_SERVER_NAME=%s", f->server_name);
	w->envp[n++] = keep(w, "HAPROXY_SERVER_ID=%u", f->server_id);
	w->envp[n++] = keep(w, "HAPROXY_SERVER_ADDR=%s", server.addr);
	w->envp[n++] = keep(w, "HAPROXY_SERVER_PORT=%s", server.port);
	w->envp[n++] = keep(w, "HAPROXY_SERVER_MAXCONN=%u", f->maxconn);
	w->envp[n++] = keep(w, "HAPROXY_SERVER_CURCONN=%u", f->sessions);
	w->envp[n++] = keep(w, "HAPROXY_SERVER_SSL=0");
	w->envp[n++] = keep(w, "HAPROXY_SERVER_PROTO=tcp");
	w->envp[n] = NULL;
	check(n < EXEC_ENV_MAX);
}
