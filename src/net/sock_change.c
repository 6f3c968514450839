/* SPDX-License-Identifier: MIT
 *
 * sock_change.c - other options for a socket that listens, without closing it.
 *
 * A change is a list of values, read and tried on a new socket; making it needs nothing but setsockopt(2).
 * Any thread.
 */
#include "weir/net/sock_change.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/sys/sys.h"

void sock_change_add(struct sock_change *c, enum sock_option which, int level, int name, const void *value,
		     socklen_t len)
{
	struct sock_setting *s = &c->list[c->count];

	check(c->count < SOCK_CHANGE_MAX);
	check(len <= sizeof(s->value));
	*s = (struct sock_setting){.which = which, .level = level, .name = name, .len = len};
	memcpy(s->value, value, len);
	c->count++;
}

static void add_int(struct sock_change *c, enum sock_option which, int name, int value)
{
	sock_change_add(c, which, IPPROTO_TCP, name, &value, sizeof(value));
}

/* Of a listener alone: their defaults are 0. */
static void diff_listener(struct sock_change *c, struct sock_kind kind, const struct sock_listen *now,
			  const struct sock_listen *next)
{
	const int tfo_now = now->tfo ? sock_tfo_queue(now) : 0;
	const int tfo_next = next->tfo ? sock_tfo_queue(next) : 0;
	const bool sets_all = !kind.inherited;

	if (next->tcp.nodelay != now->tcp.nodelay && (next->tcp.nodelay || sets_all))
		add_int(c, SOCK_OPTION_NONE, TCP_NODELAY, next->tcp.nodelay);
	if (next->defer_accept_s != now->defer_accept_s && (next->defer_accept_s > 0 || sets_all))
		add_int(c, SOCK_OPTION_NONE, TCP_DEFER_ACCEPT, next->defer_accept_s);
	if (tfo_next != tfo_now && (tfo_next > 0 || sets_all))
		add_int(c, SOCK_OPTION_TFO, TCP_FASTOPEN, tfo_next);
}

/* Nobody could set it on such a socket, at the start either: see sock_accepted_mptcp(). */
static bool is_for_accepted(struct sock_kind kind, int err)
{
	return kind.mptcp && (err == -EOPNOTSUPP || err == -ENOPROTOOPT);
}

/* Leaves out what such a socket does not take. */
static int try_each(struct sock_change *c, int fresh, struct sock_kind kind, enum sock_option *refused)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct sock_setting *s = &c->list[i];
		const int err = sys_setsockopt(fresh, s->level, s->name, s->value, s->len);

		if (err && !is_for_accepted(kind, err)) {
			if (refused != NULL)
				*refused = s->which;
			return err;
		}
		if (!err)
			c->list[kept++] = *s;
	}
	c->count = kept;
	return 0;
}

/* All that differs, with the defaults of `fresh`; -1 = without them. */
static int diff(struct sock_change *c, int fresh, struct sock_kind kind, const struct sock_listen *now,
		const struct sock_listen *next)
{
	c->count = 0;
	diff_listener(c, kind, now, next);
	return sock_diff_tcp(c, fresh, kind, &now->tcp, &next->tcp);
}

int sock_change_plan(struct sock_change *c, struct sock_kind kind, const struct sock_listen *now,
		     const struct sock_listen *next)
{
	int fresh, err;

	memset(c, 0, sizeof(*c));
	c->backlog = next->backlog;
	c->queue = next->backlog != now->backlog && (next->backlog > 0 || !kind.inherited);
	if (kind.family == AF_UNIX)
		return 0;
	(void)diff(c, -1, kind, now, next); /* cannot fail */
	if (c->count == 0)
		return 0;
	fresh = sock_make(kind.family, kind.mptcp);
	if (fresh < 0)
		return fresh;
	err = diff(c, fresh, kind, now, next);
	if (!err)
		err = try_each(c, fresh, kind, next->tcp.refused);
	sys_close(fresh);
	return err;
}

bool sock_change_is_empty(const struct sock_change *c)
{
	return c->count == 0 && !c->queue;
}

int sock_change_make(int fd, const struct sock_change *c, enum sock_option *refused)
{
	int first = c->queue ? sock_start(fd, c->backlog) : 0;

	*refused = SOCK_OPTION_NONE;
	for (size_t i = 0; i < c->count; i++) {
		const struct sock_setting *s = &c->list[i];
		const int err = sys_setsockopt(fd, s->level, s->name, s->value, s->len);

		if (!err || first)
			continue;
		first = err;
		*refused = s->which;
	}
	return first;
}
