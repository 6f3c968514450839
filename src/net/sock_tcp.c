/* SPDX-License-Identifier: MIT
 *
 * sock_tcp.c - sets the configured options of a TCP connection.
 *
 * Reports which option a kernel refused. Any thread.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/net/sock.h"
#include "weir/sys/sys.h"

static const struct {
	const char *word;
	const char *capability;
} options[SOCK_OPTIONS] = {
	[SOCK_OPTION_NONE] = {"", ""},
#define SOCK_OPTION(name, word, capability) [SOCK_OPTION_##name] = {word, capability},
#include "weir/net/sock_options.tbl.h"
};

const char *sock_option_word(enum sock_option option)
{
	check((unsigned)option < SOCK_OPTIONS);
	return options[option].word;
}

const char *sock_option_capability(enum sock_option option)
{
	check((unsigned)option < SOCK_OPTIONS);
	return options[option].capability;
}

/* Where options are set. */
struct target {
	int fd;
	int family;
	enum sock_where where;
	enum sock_option *refused;
};

/* The arguments of setsockopt(2) for an option. */
struct option {
	enum sock_option which;
	int level;
	int name;
};

static int set(const struct target *t, struct option o, const void *value, socklen_t len)
{
	const int err = sys_setsockopt(t->fd, o.level, o.name, value, len);

	if (err && t->where == SOCK_ACCEPTED)
		return 0; /* a client that speaks MPTCP is served without it */
	if ((err == -EOPNOTSUPP || err == -ENOPROTOOPT) && t->where == SOCK_MPTCP_LISTENER)
		return 0; /* set again on each accepted socket */
	if (err && t->refused != NULL)
		*t->refused = o.which;
	return err;
}

static int set_int(const struct target *t, struct option o, int value)
{
	return set(t, o, &value, sizeof(value));
}

/* Kinds of values: put_KIND() sets one unless it keeps the kernel's default, text_KIND() prints it. */
static int put_int(const struct target *t, struct option o, int value)
{
	return value > 0 ? set_int(t, o, value) : 0;
}

static const char *text_int(int value, char *buf, size_t room)
{
	(void)snprintf(buf, room, "%d", value); /* always fits */
	return buf;
}

static int put_ms(const struct target *t, struct option o, int value)
{
	return put_int(t, o, value);
}

static const char *text_ms(int value, char *buf, size_t room)
{
	(void)value, (void)buf, (void)room; /* the file has a duration, not milliseconds */
	return NULL;
}

static int put_u32(const struct target *t, struct option o, uint32_t value)
{
	return value > 0 ? set(t, o, &value, sizeof(value)) : 0;
}

static const char *text_u32(uint32_t value, char *buf, size_t room)
{
	(void)snprintf(buf, room, "%u", value); /* always fits */
	return buf;
}

static int put_u64(const struct target *t, struct option o, uint64_t value)
{
	return value > 0 ? set(t, o, &value, sizeof(value)) : 0;
}

static const char *text_u64(uint64_t value, char *buf, size_t room)
{
	(void)snprintf(buf, room, "%llu", (unsigned long long)value); /* always fits */
	return buf;
}

static int put_text(const struct target *t, struct option o, const char *value)
{
	return value != NULL ? set(t, o, value, (socklen_t)strlen(value)) : 0;
}

static const char *text_text(const char *value, char *buf, size_t room)
{
	(void)buf, (void)room; /* it is one */
	return value;
}

static int put_dscp(const struct target *t, struct option o, int value)
{
	int tos, err = 0;

	if (value <= 0)
		return 0;
	tos = value << 2; /* the two low bits are ECN, which the kernel manages */
	if (t->family == AF_INET6)
		err = set_int(t, (struct option){o.which, IPPROTO_IPV6, IPV6_TCLASS}, tos);
	/* This one applies to IPv4 clients of a dual-stack listener. */
	return err ? err : set_int(t, o, tos);
}

static const char *text_dscp(int value, char *buf, size_t room)
{
	return text_int(value, buf, room);
}

const char *sock_option_value(enum sock_option option, const struct sock_tcp *tcp, char *buf, size_t room)
{
	switch (option) {
#define SOCK_TCP_OPTION(which, word, capability, kind, member, ...)                                          \
	case SOCK_OPTION_##which:                                                                            \
		return text_##kind(tcp->member, buf, room);
#include "weir/net/sock_options.tbl.h"
	default:
		return NULL;
	}
}

/* The rows of the table that are a single value. */
static int set_rows(const struct target *t, const struct sock_tcp *tcp)
{
	int err = 0;

#define SOCK_TCP_OPTION(which, word, capability, kind, member, where_set, level, name)                       \
	if (!err && ((where_set) & t->where) != 0)                                                           \
		err = put_##kind(t, (struct option){SOCK_OPTION_##which, level, name}, tcp->member);
#include "weir/net/sock_options.tbl.h"
	return err;
}

static int set_keepalive(const struct target *t, const struct sock_tcp *tcp)
{
	const enum sock_option which = SOCK_OPTION_KEEPALIVE;
	int err = set_int(t, (struct option){which, SOL_SOCKET, SO_KEEPALIVE}, 1);

	if (!err)
		err = put_int(t, (struct option){which, IPPROTO_TCP, TCP_KEEPIDLE}, tcp->keepalive_idle_s);
	if (!err)
		err = put_int(t, (struct option){which, IPPROTO_TCP, TCP_KEEPINTVL},
			      tcp->keepalive_interval_s);
	if (!err)
		err = put_int(t, (struct option){which, IPPROTO_TCP, TCP_KEEPCNT}, tcp->keepalive_count);
	return err;
}

int sock_set_tcp(int fd, int family, enum sock_where where, const struct sock_tcp *tcp)
{
	const struct target t = {.fd = fd, .family = family, .where = where, .refused = tcp->refused};
	int err = 0;

	if (tcp->keepalive)
		err = set_keepalive(&t, tcp);
	if (!err && tcp->lazy_ack)
		err = set_int(&t, (struct option){SOCK_OPTION_NONE, IPPROTO_TCP, TCP_QUICKACK}, 0);
	return err ? err : set_rows(&t, tcp);
}

void sock_accepted_mptcp(int fd, int family, const struct sock_tcp *tcp)
{
	const struct target t = {.fd = fd, .family = family, .where = SOCK_ACCEPTED};

	(void)set_int(&t, (struct option){SOCK_OPTION_NONE, SOL_SOCKET, SO_OOBINLINE}, 1);
	(void)set_rows(&t, tcp); /* never fails */
}
