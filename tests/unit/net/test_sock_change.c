/* SPDX-License-Identifier: MIT
 *
 * test_sock_change.c - a listener whose options change is like one that was made with them, there and back.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/net/sock_change.h"
#include "weir/sys/sys.h"

#define VALUE_MAX 16

/* All that a change may touch. */
static const struct place {
	int level, name;
} places[] = {
	{IPPROTO_TCP, TCP_NODELAY},
	{IPPROTO_TCP, TCP_DEFER_ACCEPT},
	{IPPROTO_TCP, TCP_FASTOPEN},
	{SOL_SOCKET, SO_KEEPALIVE},
	{IPPROTO_TCP, TCP_KEEPIDLE},
	{IPPROTO_TCP, TCP_KEEPINTVL},
	{IPPROTO_TCP, TCP_KEEPCNT},
	{IPPROTO_TCP, TCP_USER_TIMEOUT},
	{IPPROTO_TCP, TCP_CONGESTION},
	{SOL_SOCKET, SO_MARK},
	{IPPROTO_IP, IP_TOS},
	{IPPROTO_IPV6, IPV6_TCLASS},
	{SOL_SOCKET, SO_MAX_PACING_RATE},
	{IPPROTO_TCP, TCP_NOTSENT_LOWAT},
	{SOL_SOCKET, SO_OOBINLINE},
};

struct picture {
	char values[ARRAY_LEN(places)][VALUE_MAX];
	unsigned backlog;
};

static const struct sock_listen plain = {.tcp = {.dscp = -1}};
static struct sock_listen rich = {
	.backlog = 33,
	.defer_accept_s = 5,
	.tfo = true,
	.tcp = {.nodelay = true,
		.keepalive = true,
		.keepalive_idle_s = 77,
		.keepalive_interval_s = 7,
		.keepalive_count = 5,
		.user_timeout_ms = 4321,
		.congestion = "reno",
		.dscp = 46,
		.notsent_lowat = 131072,
		.pacing = UINT64_C(5000000000)},
};
/* Each value is another one, or none at all; other times of keepalive are the kernel's. */
static const struct sock_listen other = {
	.backlog = 44,
	.tfo = true,
	.tcp = {.keepalive = true, .keepalive_count = 4, .user_timeout_ms = 999, .dscp = 8, .pacing = 2000},
};

static struct picture look(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);
	struct picture p;

	memset(&p, 0, sizeof(p));
	memset(&info, 0, sizeof(info));
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		len = VALUE_MAX;
		if (sys_getsockopt(fd, places[i].level, places[i].name, p.values[i], &len) != 0)
			p.values[i][0] = '?'; /* MPTCP has no such option */
	}
	len = sizeof(info);
	if (sys_getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0)
		p.backlog = info.tcpi_sacked; /* of a listener, that is what it means */
	return p;
}

static int listen_at(const char *text, const struct sock_listen *opt, bool mptcp)
{
	struct sock_listen o = *opt;
	struct addr_spec spec;
	int fd;

	o.mptcp = mptcp;
	assert_int_equal(addr_parse(text, &spec, NULL, NULL), 0);
	fd = sock_listen(&spec.addr, &o);
	assert_true(fd >= 0);
	return fd;
}

static void assert_same(const struct picture *a, const struct picture *b, const char *where)
{
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (memcmp(a->values[i], b->values[i], VALUE_MAX) != 0)
			fail_msg("%s: option %d of level %d is %d, not %d", where, places[i].name,
				 places[i].level, *(const int *)(const void *)a->values[i],
				 *(const int *)(const void *)b->values[i]);
	assert_int_equal(a->backlog, b->backlog);
}

static void change(int fd, struct sock_kind kind, const struct sock_listen *now,
		   const struct sock_listen *next)
{
	enum sock_option refused = SOCK_OPTION_NONE;
	struct sock_change c;

	assert_int_equal(sock_change_plan(&c, kind, now, next), 0);
	assert_int_equal(sock_change_make(fd, &c, &refused), 0);
	assert_int_equal(refused, SOCK_OPTION_NONE);
}

static void check_ways(const char *where, int family, bool mptcp)
{
	const struct sock_listen *const states[] = {&plain, &rich, &other, &plain, &other, &rich};
	const int fd = listen_at(where, &rich, mptcp);
	const struct sock_kind kind = {.family = family, .mptcp = sock_is_mptcp(fd)};
	const struct sock_listen *now = &rich;

	for (size_t i = 0; i < ARRAY_LEN(states); i++) {
		const int made = listen_at(where, states[i], mptcp);
		const struct picture wanted = look(made);
		struct picture got;

		change(fd, kind, now, states[i]);
		now = states[i];
		got = look(fd);
		/* Without keepalive, its times have no effect, and stay. */
		if (!now->tcp.keepalive)
			for (int k = 4; k < 7; k++)
				memcpy(got.values[k], wanted.values[k], VALUE_MAX);
		assert_same(&got, &wanted, where);
		sys_close(made);
	}
	sys_close(fd);
}

static void changed_listener_is_like_a_new_one(void **state)
{
	(void)state;
	rich.tcp.mark = geteuid() == 0 ? 0x1234 : 0; /* which needs a right, 0 too */
	check_ways("127.0.0.1:0", AF_INET, false);
	check_ways("127.0.0.1:0", AF_INET, true); /* where the kernel has it */
	if (access("/proc/net/if_inet6", R_OK) != 0)
		return;
	check_ways(":0", AF_INET6, false);
	check_ways("[::1]:0", AF_INET6, true);
}

static void nothing_to_do_is_nothing(void **state)
{
	const struct sock_kind kind = {.family = AF_INET};
	struct sock_listen same = rich;
	char congestion[] = "reno";
	struct sock_change c;

	(void)state;
	same.tcp.congestion = congestion;
	same.v6only = true;
	assert_int_equal(sock_change_plan(&c, kind, &rich, &same), 0);
	assert_true(sock_change_is_empty(&c));
	same.tcp.dscp = 0;
	assert_int_equal(sock_change_plan(&c, kind, &plain, &(struct sock_listen){0}), 0);
	assert_true(sock_change_is_empty(&c));
	assert_int_equal(sock_change_plan(&c, kind, &rich, &same), 0);
	assert_false(sock_change_is_empty(&c));
}

/* Its creator may have wanted what we no longer do. */
static void inherited_socket_keeps_what_is_not_asked_for(void **state)
{
	const struct sock_kind kind = {.family = AF_INET, .inherited = true};
	const int fd = listen_at("127.0.0.1:0", &rich, false);
	const struct picture before = look(fd);
	struct picture now;

	(void)state;
	change(fd, kind, &rich, &plain);
	now = look(fd);
	assert_same(&now, &before, "inherited");
	change(fd, kind, &plain, &other);
	now = look(fd);
	assert_int_equal(now.backlog, 44);
	assert_memory_equal(now.values[0], before.values[0], VALUE_MAX); /* nodelay */
	assert_memory_not_equal(now.values[7], before.values[7], VALUE_MAX);
	sys_close(fd);
}

static void refused_option_is_named_before_anything_changes(void **state)
{
	const struct sock_kind kind = {.family = AF_INET};
	enum sock_option refused = SOCK_OPTION_NONE;
	struct sock_listen next = rich;
	struct sock_change c;

	(void)state;
	next.tcp.congestion = "no-such";
	next.tcp.refused = &refused;
	assert_int_equal(sock_change_plan(&c, kind, &plain, &next), -ENOENT);
	assert_int_equal(refused, SOCK_OPTION_CONGESTION);
}

/* What can fail later all the same: the others are set. */
static void option_that_fails_later_is_named(void **state)
{
	const struct sock_kind kind = {.family = AF_INET};
	enum sock_option refused = SOCK_OPTION_NONE;
	struct sock_change c;
	int fd = listen_at("127.0.0.1:0", &plain, false), value;
	socklen_t len = sizeof(value);

	(void)state;
	assert_int_equal(sock_change_plan(&c, kind, &plain, &other), 0);
	for (size_t i = 0; i < c.count; i++)
		if (c.list[i].which == SOCK_OPTION_USER_TIMEOUT)
			c.list[i].len = 1;
	assert_int_equal(sock_change_make(fd, &c, &refused), -EINVAL);
	assert_int_equal(refused, SOCK_OPTION_USER_TIMEOUT);
	assert_int_equal(sys_getsockopt(fd, IPPROTO_IP, IP_TOS, &value, &len), 0);
	assert_int_equal(value, 8 << 2);
	sys_close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changed_listener_is_like_a_new_one),
		cmocka_unit_test(nothing_to_do_is_nothing),
		cmocka_unit_test(inherited_socket_keeps_what_is_not_asked_for),
		cmocka_unit_test(refused_option_is_named_before_anything_changes),
		cmocka_unit_test(option_that_fails_later_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
