/* SPDX-License-Identifier: MIT
 *
 * sock_tcp.c - the options of a TCP connection, as the configuration has them.
 *
 * Says which option it was that a kernel refused. Any thread.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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
#undef SOCK_OPTION
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

/* Where options go. */
struct target {
	int fd;
	bool mptcp;
	enum sock_option *refused;
};

static int set(const struct target *t, enum sock_option which, int level, int name, const void *value,
	       socklen_t len)
{
	const int err = sys_setsockopt(t->fd, level, name, value, len);

	if (err && t->mptcp && (err == -EOPNOTSUPP || err == -ENOPROTOOPT))
		return 0; /* each accepted socket is asked again */
	if (err && t->refused != NULL)
		*t->refused = which;
	return err;
}

static int set_int(const struct target *t, enum sock_option which, int level, int name, int value)
{
	return set(t, which, level, name, &value, sizeof(value));
}

static int set_dscp(const struct target *t, int family, int dscp)
{
	/* The two bits below are ECN's, which are the kernel's business. */
	const int tos = dscp << 2;
	int err = 0;

	if (family == AF_INET6)
		err = set_int(t, SOCK_OPTION_DSCP, IPPROTO_IPV6, IPV6_TCLASS, tos);
	/* An IPv4 client of a listener for both families takes this one. */
	return err ? err : set_int(t, SOCK_OPTION_DSCP, IPPROTO_IP, IP_TOS, tos);
}

static int set_rate(const struct target *t, const struct sock_tcp *tcp)
{
	int err = 0;

	if (tcp->pacing > 0)
		err = set(t, SOCK_OPTION_PACING, SOL_SOCKET, SO_MAX_PACING_RATE, &tcp->pacing,
			  sizeof(tcp->pacing));
	if (!err && tcp->notsent_lowat > 0)
		err = set(t, SOCK_OPTION_NOTSENT_LOWAT, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &tcp->notsent_lowat,
			  sizeof(tcp->notsent_lowat));
	return err;
}

/* What few configurations have. */
static int set_path(const struct target *t, int family, const struct sock_tcp *tcp)
{
	int err = 0;

	if (tcp->congestion != NULL)
		err = set(t, SOCK_OPTION_CONGESTION, IPPROTO_TCP, TCP_CONGESTION, tcp->congestion,
			  (socklen_t)strlen(tcp->congestion));
	if (!err && tcp->mark != 0)
		err = set(t, SOCK_OPTION_MARK, SOL_SOCKET, SO_MARK, &tcp->mark, sizeof(tcp->mark));
	if (!err && tcp->dscp > 0)
		err = set_dscp(t, family, tcp->dscp);
	return err ? err : set_rate(t, tcp);
}

static int set_keepalive(const struct target *t, const struct sock_tcp *tcp)
{
	const enum sock_option which = SOCK_OPTION_KEEPALIVE;
	int err = set_int(t, which, SOL_SOCKET, SO_KEEPALIVE, 1);

	if (!err && tcp->keepalive_idle_s > 0)
		err = set_int(t, which, IPPROTO_TCP, TCP_KEEPIDLE, tcp->keepalive_idle_s);
	if (!err && tcp->keepalive_interval_s > 0)
		err = set_int(t, which, IPPROTO_TCP, TCP_KEEPINTVL, tcp->keepalive_interval_s);
	if (!err && tcp->keepalive_count > 0)
		err = set_int(t, which, IPPROTO_TCP, TCP_KEEPCNT, tcp->keepalive_count);
	return err;
}

int sock_set_tcp(int fd, int family, bool mptcp, const struct sock_tcp *tcp)
{
	const struct target t = {.fd = fd, .mptcp = mptcp, .refused = tcp->refused};
	int err = 0;

	if (tcp->keepalive)
		err = set_keepalive(&t, tcp);
	if (!err && tcp->user_timeout_ms > 0)
		err = set_int(&t, SOCK_OPTION_USER_TIMEOUT, IPPROTO_TCP, TCP_USER_TIMEOUT,
			      tcp->user_timeout_ms);
	if (!err && tcp->lazy_ack)
		err = set_int(&t, SOCK_OPTION_NONE, IPPROTO_TCP, TCP_QUICKACK, 0);
	if (!err && (tcp->congestion != NULL || tcp->mark != 0 || tcp->dscp > 0 || tcp->pacing > 0 ||
		     tcp->notsent_lowat > 0))
		err = set_path(&t, family, tcp);
	return err;
}

void sock_accepted_mptcp(int fd, int family, const struct sock_tcp *tcp)
{
	const struct target t = {.fd = fd, .mptcp = true};

	/* Each may be refused, by a client that speaks MPTCP: it is served without. */
	(void)set_int(&t, SOCK_OPTION_NONE, SOL_SOCKET, SO_OOBINLINE, 1);
	if (tcp->user_timeout_ms > 0)
		(void)set_int(&t, SOCK_OPTION_NONE, IPPROTO_TCP, TCP_USER_TIMEOUT, tcp->user_timeout_ms);
	if (tcp->dscp > 0)
		(void)set_dscp(&t, family, tcp->dscp);
	(void)set_rate(&t, tcp);
}
