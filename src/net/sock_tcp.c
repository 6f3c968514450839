/* SPDX-License-Identifier: MIT
 *
 * sock_tcp.c - sets the configured options of a TCP connection, or notes those that differ from others.
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
#include "weir/net/sock_change.h"
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
	struct sock_change *into; /* where they are noted instead; NULL = they are set */
};

/* The arguments of setsockopt(2) for an option. */
struct option {
	enum sock_option which;
	int level;
	int name;
};

static int set(const struct target *t, struct option o, const void *value, socklen_t len)
{
	int err;

	if (t->into != NULL) {
		sock_change_add(t->into, o.which, o.level, o.name, value, len);
		return 0;
	}
	err = sys_setsockopt(t->fd, o.level, o.name, value, len);
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

/* The value that a new socket has. */
static int set_default(const struct target *t, struct option o)
{
	_Alignas(8) char value[SOCK_SETTING_ROOM] = "";
	socklen_t len = sizeof(value);
	int err;

	if (t->fd < 0) /* it is only counted */
		return set(t, o, value, 0);
	err = sys_getsockopt(t->fd, o.level, o.name, value, &len);
	if (err == -EOPNOTSUPP || err == -ENOPROTOOPT)
		return 0; /* an MPTCP listener does not take it either */
	if (err && t->refused != NULL)
		*t->refused = o.which;
	return err ? err : set(t, o, value, len);
}

/* Kinds of values: has_KIND() is false for one that keeps the kernel's default, put_KIND() sets any other,
 * text_KIND() prints one. Two that are not equal differ. */
static bool has_int(int value)
{
	return value > 0;
}

static int put_int(const struct target *t, struct option o, int value)
{
	return has_int(value) ? set_int(t, o, value) : 0;
}

static const char *text_int(int value, char *buf, size_t room)
{
	(void)snprintf(buf, room, "%d", value); /* always fits */
	return buf;
}

static bool has_ms(int value)
{
	return value > 0;
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

static bool has_u32(uint32_t value)
{
	return value > 0;
}

static int put_u32(const struct target *t, struct option o, uint32_t value)
{
	return has_u32(value) ? set(t, o, &value, sizeof(value)) : 0;
}

static const char *text_u32(uint32_t value, char *buf, size_t room)
{
	(void)snprintf(buf, room, "%u", value); /* always fits */
	return buf;
}

static bool has_u64(uint64_t value)
{
	return value > 0;
}

static int put_u64(const struct target *t, struct option o, uint64_t value)
{
	return has_u64(value) ? set(t, o, &value, sizeof(value)) : 0;
}

static const char *text_u64(uint64_t value, char *buf, size_t room)
{
	(void)snprintf(buf, room, "%llu", (unsigned long long)value); /* always fits */
	return buf;
}

static bool has_text(const char *value)
{
	return value != NULL;
}

static int put_text(const struct target *t, struct option o, const char *value)
{
	return has_text(value) ? set(t, o, value, (socklen_t)strlen(value)) : 0;
}

static const char *text_text(const char *value, char *buf, size_t room)
{
	(void)buf, (void)room; /* it is one */
	return value;
}

static bool has_dscp(int value)
{
	return value > 0;
}

static int put_dscp(const struct target *t, struct option o, int value)
{
	int tos, err = 0;

	if (!has_dscp(value))
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

/* ---- what differs ---- */

#define EQUAL_int(a, b)	 ((a) == (b))
#define EQUAL_ms(a, b)	 ((a) == (b))
#define EQUAL_u32(a, b)	 ((a) == (b))
#define EQUAL_u64(a, b)	 ((a) == (b))
#define EQUAL_dscp(a, b) ((a) == (b))
#define EQUAL_text(a, b) (strcmp(a, b) == 0)

static int reset(const struct target *t, struct option o)
{
	int err = 0;

	if (o.which == SOCK_OPTION_DSCP && t->family == AF_INET6) /* which has two */
		err = set_default(t, (struct option){o.which, IPPROTO_IPV6, IPV6_TCLASS});
	return err ? err : set_default(t, o);
}

/* What an inherited socket has beyond `next` stays. */
static int diff_rows(const struct target *t, bool resets, const struct sock_tcp *now,
		     const struct sock_tcp *next)
{
	int err = 0;

#define SOCK_TCP_OPTION(which, word, capability, kind, member, where_set, level, name)                       \
	if (!err && ((where_set) & t->where) != 0) {                                                         \
		const struct option o = {SOCK_OPTION_##which, level, name};                                  \
                                                                                                             \
		if (!has_##kind(next->member))                                                               \
			err = resets && has_##kind(now->member) ? reset(t, o) : 0;                           \
		else if (!has_##kind(now->member) || !EQUAL_##kind(now->member, next->member))               \
			err = put_##kind(t, o, next->member);                                                \
	}
#include "weir/net/sock_options.tbl.h"
	return err;
}

static bool has_same_keepalive(const struct sock_tcp *a, const struct sock_tcp *b)
{
	if (!a->keepalive || !b->keepalive)
		return a->keepalive == b->keepalive;
	return a->keepalive_idle_s == b->keepalive_idle_s &&
	       a->keepalive_interval_s == b->keepalive_interval_s && a->keepalive_count == b->keepalive_count;
}

/* Each of its three numbers may be the kernel's. */
static int diff_keepalive(const struct target *t, bool resets, const struct sock_tcp *now,
			  const struct sock_tcp *next)
{
	static const int names[] = {TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT};
	const int values[] = {next->keepalive_idle_s, next->keepalive_interval_s, next->keepalive_count};
	struct option o = {SOCK_OPTION_KEEPALIVE, SOL_SOCKET, SO_KEEPALIVE};
	int err;

	if (has_same_keepalive(now, next) || (!next->keepalive && !resets))
		return 0;
	err = set_int(t, o, next->keepalive);
	o.level = IPPROTO_TCP;
	for (size_t i = 0; i < ARRAY_LEN(names) && !err && next->keepalive; i++) {
		o.name = names[i];
		if (has_int(values[i]))
			err = set_int(t, o, values[i]);
		else if (resets)
			err = set_default(t, o);
	}
	return err;
}

int sock_diff_tcp(struct sock_change *c, int fresh, struct sock_kind kind, const struct sock_tcp *now,
		  const struct sock_tcp *next)
{
	const struct target t = {
		.fd = fresh,
		.family = kind.family,
		.where = kind.mptcp ? SOCK_MPTCP_LISTENER : SOCK_LISTENER,
		.refused = next->refused,
		.into = c,
	};
	const int err = diff_keepalive(&t, !kind.inherited, now, next);

	return err ? err : diff_rows(&t, !kind.inherited, now, next);
}

void sock_accepted_mptcp(int fd, int family, const struct sock_tcp *tcp)
{
	const struct target t = {.fd = fd, .family = family, .where = SOCK_ACCEPTED};

	(void)set_int(&t, (struct option){SOCK_OPTION_NONE, SOL_SOCKET, SO_OOBINLINE}, 1);
	(void)set_rows(&t, tcp); /* never fails */
}
