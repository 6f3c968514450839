/* SPDX-License-Identifier: MIT
 *
 * addr_format.c - prints, shortens and compares socket addresses; addr.c parses them.
 *
 * addr.c reads back what it writes, except paths with bytes that must be escaped in a log. Any thread.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/log.h"
#include "weir/net/addr.h"

#define UNIX_PREFIX "unix:"
#define FD_PREFIX   "fd@"

static_assert(ADDR_TEXT_MAX > sizeof(UNIX_PREFIX) + 1 + 4 * sizeof(((struct sockaddr_un *)0)->sun_path),
	      "the text fits even if each byte is escaped");
static_assert(ADDR_TEXT_MAX > sizeof(FD_PREFIX) + sizeof(((struct addr_spec *)0)->host),
	      "the text fits: names are printable, and no byte is escaped");

#define PORTS_TEXT_MAX 12 /* "30000-30099" and its NUL */

static void print_ip4(const void *ip, const char *port, char *buf)
{
	char text[INET_ADDRSTRLEN];

	check(inet_ntop(AF_INET, ip, text, sizeof(text)) != NULL);
	(void)snprintf(buf, ADDR_TEXT_MAX, "%s:%s", text, port); /* always fits */
}

/* Prints an interface by number: it may have another name by now, or none. */
static void print_ip6(const void *ip, uint32_t scope, const char *port, char *buf)
{
	char text[INET6_ADDRSTRLEN];

	check(inet_ntop(AF_INET6, ip, text, sizeof(text)) != NULL);
	if (scope != 0)
		(void)snprintf(buf, ADDR_TEXT_MAX, "[%s%%%u]:%s", text, scope, port); /* always fits */
	else
		(void)snprintf(buf, ADDR_TEXT_MAX, "[%s]:%s", text, port); /* always fits */
}

/* The bytes of a name: a path without its NUL, an abstract name without its leading NUL. */
static const char *unix_name(const struct addr *a, size_t *len, bool *is_abstract)
{
	const char *path = a->un.sun_path;
	const size_t head = offsetof(struct sockaddr_un, sun_path);
	const size_t room = a->len > head ? a->len - head : 0;

	check(room <= sizeof(a->un.sun_path));
	*is_abstract = room > 0 && path[0] == '\0';
	*len = *is_abstract ? room - 1 : strnlen(path, room);
	return *is_abstract ? path + 1 : path;
}

static void print_unix(const struct addr *a, char *buf)
{
	bool is_abstract;
	size_t len;
	const char *name = unix_name(a, &len, &is_abstract);
	const int n = snprintf(buf, ADDR_TEXT_MAX, UNIX_PREFIX "%s", is_abstract ? "@" : "");

	log_escape(name, len, buf + n, ADDR_TEXT_MAX - (size_t)n);
}

static const char *format_with(const struct addr *a, const char *port, char *buf)
{
	if (a->len != 0 && a->sa.sa_family == AF_INET)
		print_ip4(&a->in.sin_addr, port, buf);
	else if (a->len != 0 && a->sa.sa_family == AF_INET6)
		print_ip6(&a->in6.sin6_addr, a->in6.sin6_scope_id, port, buf);
	else if (addr_is_unix(a))
		print_unix(a, buf);
	else if (a->len != 0)
		(void)snprintf(buf, ADDR_TEXT_MAX, "sni@%s", port); /* always fits */
	else
		(void)snprintf(buf, ADDR_TEXT_MAX, "-"); /* always fits */
	return buf;
}

static const char *port_text(uint16_t port, char buf[static PORTS_TEXT_MAX])
{
	(void)snprintf(buf, PORTS_TEXT_MAX, "%u", port); /* always fits */
	return buf;
}

const char *addr_format(const struct addr *a, char *buf)
{
	const uint16_t port = addr_port(a);
	char text[PORTS_TEXT_MAX];

	return format_with(a, port != 0 ? port_text(port, text) : "*", buf);
}

static const char *ports_text(const struct addr_spec *spec, char buf[static PORTS_TEXT_MAX])
{
	if (spec->client_port)
		return "*";
	if (spec->last_port == 0)
		return port_text(spec->kind == ADDR_IP ? addr_port(&spec->addr) : spec->port, buf);
	(void)snprintf(buf, PORTS_TEXT_MAX, "%u-%u", spec->port, spec->last_port); /* always fits */
	return buf;
}

const char *addr_spec_format(const struct addr_spec *spec, char *buf)
{
	char ports[PORTS_TEXT_MAX];
	const char *family = spec->family == AF_INET ? "ipv4@" : spec->family == AF_INET6 ? "ipv6@" : "";

	switch (spec->kind) {
	case ADDR_ANY:
		(void)snprintf(buf, ADDR_TEXT_MAX, "*:%s", ports_text(spec, ports)); /* always fits */
		return buf;
	case ADDR_NAME:
		(void)snprintf(buf, ADDR_TEXT_MAX, "%s%s:%s", family, spec->host,
			       ports_text(spec, ports)); /* always fits */
		return buf;
	case ADDR_FD:
		(void)snprintf(buf, ADDR_TEXT_MAX, FD_PREFIX "%s", spec->host); /* always fits */
		return buf;
	case ADDR_NONE:
	case ADDR_IP:
	case ADDR_SNI:
	case ADDR_UNIX:
		break;
	}
	return format_with(&spec->addr, ports_text(spec, ports), buf);
}

const char *addr_brief_format(const struct addr_brief *a, char *buf)
{
	char port[PORTS_TEXT_MAX];

	if (a->family == AF_INET)
		print_ip4(a->ip, port_text(a->port, port), buf);
	else if (a->family == AF_INET6)
		print_ip6(a->ip, a->scope, port_text(a->port, port), buf);
	else
		(void)snprintf(buf, ADDR_TEXT_MAX, a->family == AF_UNIX ? "unix:" : "-"); /* always fits */
	return buf;
}

void addr_to_brief(const struct sockaddr *sa, socklen_t len, struct addr_brief *out)
{
	struct addr a = {.len = 0};

	memset(out, 0, sizeof(*out));
	memcpy(&a.un, sa, len < sizeof(a.un) ? len : sizeof(a.un));
	if (len < sizeof(a.sa.sa_family))
		return; /* a Unix peer without a name may come without a family too */
	out->family = a.sa.sa_family;
	if (out->family == AF_INET && len >= sizeof(a.in)) {
		out->port = ntohs(a.in.sin_port);
		memcpy(out->ip, &a.in.sin_addr, sizeof(a.in.sin_addr));
	} else if (out->family == AF_INET6 && len >= sizeof(a.in6)) {
		out->port = ntohs(a.in6.sin6_port);
		out->scope = a.in6.sin6_scope_id;
		memcpy(out->ip, &a.in6.sin6_addr, sizeof(out->ip));
		if (IN6_IS_ADDR_V4MAPPED(&a.in6.sin6_addr)) {
			out->family = AF_INET;
			memmove(out->ip, out->ip + 12, 4);
			memset(out->ip + 4, 0, 12);
		}
	} else if (out->family != AF_UNIX) {
		out->family = 0;
	}
}

void addr_of_brief(struct addr *out, const struct addr_brief *a)
{
	memset(out, 0, sizeof(*out));
	check(a->family == AF_INET || a->family == AF_INET6);
	out->sa.sa_family = a->family;
	if (a->family == AF_INET) {
		out->len = sizeof(out->in);
		memcpy(&out->in.sin_addr, a->ip, sizeof(out->in.sin_addr));
	} else {
		out->len = sizeof(out->in6);
		memcpy(&out->in6.sin6_addr, a->ip, sizeof(out->in6.sin6_addr));
		out->in6.sin6_scope_id = a->scope;
	}
	addr_set_port(out, a->port);
}

uint16_t addr_port(const struct addr *a)
{
	if (a->len == 0)
		return 0;
	if (a->sa.sa_family == AF_INET || a->sa.sa_family == AF_UNSPEC)
		return ntohs(a->in.sin_port);
	return a->sa.sa_family == AF_INET6 ? ntohs(a->in6.sin6_port) : 0;
}

void addr_set_port(struct addr *a, uint16_t port)
{
	if (a->sa.sa_family == AF_INET || a->sa.sa_family == AF_UNSPEC)
		a->in.sin_port = htons(port);
	else if (a->sa.sa_family == AF_INET6)
		a->in6.sin6_port = htons(port);
}

static bool is_loopback_4(uint32_t address)
{
	return ntohl(address) >> 24 == IN_LOOPBACKNET;
}

bool addr_is_wildcard(const struct addr *a)
{
	if (a->len == 0 || (a->sa.sa_family != AF_INET && a->sa.sa_family != AF_INET6))
		return false;
	return a->sa.sa_family == AF_INET ? a->in.sin_addr.s_addr == htonl(INADDR_ANY)
					  : IN6_IS_ADDR_UNSPECIFIED(&a->in6.sin6_addr);
}

bool addr_is_loopback(const struct addr *a)
{
	const struct in6_addr *six = &a->in6.sin6_addr;
	uint32_t last;

	if (a->len == 0 || (a->sa.sa_family != AF_INET && a->sa.sa_family != AF_INET6))
		return false;
	if (a->sa.sa_family == AF_INET)
		return is_loopback_4(a->in.sin_addr.s_addr);
	memcpy(&last, &six->s6_addr[12], sizeof(last));
	return IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && is_loopback_4(last));
}

bool addr_equal(const struct addr *a, const struct addr *b)
{
	bool is_abstract, other_is_abstract;
	const char *name, *other;
	size_t len, other_len;

	if (a->len == 0 || b->len == 0)
		return a->len == b->len;
	if (a->sa.sa_family != b->sa.sa_family)
		return false;
	if (a->sa.sa_family == AF_INET)
		return a->in.sin_port == b->in.sin_port && a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	if (a->sa.sa_family == AF_INET6)
		return a->in6.sin6_port == b->in6.sin6_port &&
		       IN6_ARE_ADDR_EQUAL(&a->in6.sin6_addr, &b->in6.sin6_addr);
	if (a->sa.sa_family == AF_UNSPEC)
		return addr_port(a) == addr_port(b); /* sni@ */
	check(a->sa.sa_family == AF_UNIX);
	name = unix_name(a, &len, &is_abstract);
	other = unix_name(b, &other_len, &other_is_abstract);
	return is_abstract == other_is_abstract && len == other_len && memcmp(name, other, len) == 0;
}
