/* SPDX-License-Identifier: MIT
 *
 * test_sock_leave.c - what the kernel does with a listener that goes deaf, and with addresses that overlap:
 * real sockets over loopback.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/net/sock.h"
#include "weir/net/sock_leave.h"
#include "weir/sys/sys.h"

#define PATIENCE_MS 20000
/* A SYN over loopback is answered before connect(2) returns, or as soon as a softirq runs. */
#define SILENCE_MS 50
/* Far more than ports that other tests have at the same moment. */
#define PORT_TRIES 20

static bool have_v6(void)
{
	return access("/proc/net/if_inet6", R_OK) == 0;
}

static struct addr at(const char *text, uint16_t port)
{
	struct addr_spec spec;
	char full[64];

	(void)snprintf(full, sizeof(full), "%s:%u", text, port);
	assert_int_equal(addr_parse(full, &spec, NULL, NULL), 0);
	return spec.addr;
}

static uint16_t port_of(const struct addr *a)
{
	return ntohs(a->sa.sa_family == AF_INET6 ? a->in6.sin6_port : a->in.sin_port);
}

static int get_int(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	assert_int_equal(sys_getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

static void set_int(int fd, int level, int name, int value)
{
	assert_int_equal(sys_setsockopt(fd, level, name, &value, sizeof(value)), 0);
}

static bool becomes(int fd, short events, int ms)
{
	struct pollfd p = {.fd = fd, .events = events};

	return poll(&p, 1, ms) == 1;
}

/* A client whose packets have `ttl` hops left when they arrive; 0 = the default. */
static int knock(const struct addr *to, int ttl)
{
	const int fd = sys_socket(to->sa.sa_family);

	assert_true(fd >= 0);
	if (ttl > 0 && to->sa.sa_family == AF_INET6)
		set_int(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, ttl);
	else if (ttl > 0)
		set_int(fd, IPPROTO_IP, IP_TTL, ttl);
	assert_int_equal(sys_connect(fd, &to->sa, to->len), -EINPROGRESS);
	return fd;
}

static bool is_let_in(const struct addr *to)
{
	const int fd = knock(to, 0);
	const bool in = becomes(fd, POLLOUT, SILENCE_MS);

	sys_close(fd);
	return in;
}

static void assert_limits(int fd, int ttl, bool v6)
{
	assert_int_equal(get_int(fd, IPPROTO_IP, IP_MINTTL), ttl);
	if (v6)
		assert_int_equal(get_int(fd, IPPROTO_IPV6, IPV6_MINHOPCOUNT), ttl);
}

/* `listener` as bound to `a`, for clients that go to `to` (without a port). Returns one that came too early
 * and has not got through yet. */
static int check_deafness(int listener, const struct addr *a, const char *to)
{
	const bool v6 = a->sa.sa_family == AF_INET6;
	const struct addr target = at(to, port_of(a));
	int queued, late, fd;

	queued = knock(&target, 0);
	assert_true(becomes(listener, POLLIN, PATIENCE_MS));
	assert_int_equal(sock_go_deaf(listener), 0);
	assert_limits(listener, 255, v6);
	late = knock(&target, 0);
	assert_false(becomes(late, POLLOUT, SILENCE_MS));
	/* What is queued can still be accepted, and has no limit: it came before. */
	fd = sys_accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	assert_limits(fd, 0, v6);
	sys_close(fd);
	sys_close(queued);
	assert_int_equal(sys_accept(listener, NULL, NULL), -EAGAIN);

	assert_int_equal(sock_hear_again(listener), 0);
	assert_limits(listener, 0, v6);
	queued = knock(&target, 0);
	assert_true(becomes(queued, POLLOUT, PATIENCE_MS));
	sys_close(queued);
	return late;
}

static void a_deaf_listener_drops_new_clients_and_keeps_queued_ones(void **state)
{
	static const char *const pairs[][2] = {
		{"127.0.0.1", "127.0.0.1"}, {"0.0.0.0", "127.0.0.1"}, {"[::1]", "[::1]"},
		{"", "[::1]"}, {"", "127.0.0.1"}, /* dual-stack, both ways */
	};

	const size_t count = have_v6() ? ARRAY_LEN(pairs) : 2;
	int listeners[ARRAY_LEN(pairs)], late[ARRAY_LEN(pairs)];

	(void)state;
	for (size_t i = 0; i < count; i++) {
		struct addr a = at(pairs[i][0], 0);

		listeners[i] = sock_listen(&a, &(struct sock_listen){.backlog = 20});
		assert_true(listeners[i] >= 0);
		late[i] = check_deafness(listeners[i], &a, pairs[i][1]);
	}
	/* A client whose SYN was dropped tries again by itself, after a second. */
	for (size_t i = 0; i < count; i++) {
		assert_true(becomes(late[i], POLLOUT, PATIENCE_MS));
		assert_int_equal(get_int(late[i], SOL_SOCKET, SO_ERROR), 0);
		sys_close(late[i]);
		sys_close(listeners[i]);
	}
}

static void a_dual_stack_listener_needs_both_limits(void **state)
{
	struct addr a;
	int listener;

	(void)state;
	if (!have_v6())
		skip();
	a = at("", 0);
	listener = sock_listen(&a, &(struct sock_listen){.backlog = 20});
	assert_true(listener >= 0);
	for (int i = 0; i < 2; i++) {
		const struct addr heard = at(i == 0 ? "[::1]" : "127.0.0.1", port_of(&a));
		const struct addr dropped = at(i == 0 ? "127.0.0.1" : "[::1]", port_of(&a));

		assert_int_equal(sock_hear_again(listener), 0);
		if (i == 0)
			set_int(listener, IPPROTO_IP, IP_MINTTL, 255);
		else
			set_int(listener, IPPROTO_IPV6, IPV6_MINHOPCOUNT, 255);
		assert_true(is_let_in(&heard));
		assert_false(is_let_in(&dropped));
	}
	sys_close(listener);
}

/* One with 255 hops left gets in, which shows over loopback what a handshake in flight meets otherwise. */
static void an_accepted_socket_hears_its_client_only_after_the_call(void **state)
{
	static const char *const from[] = {"127.0.0.1", "[::1]", "127.0.0.1"};

	(void)state;
	for (int i = 0; i < 3; i++) {
		const bool v6_socket = i > 0;
		struct addr a, target;
		int listener, client, fd;
		char byte = 'x';

		if (v6_socket && !have_v6())
			continue;
		a = at(v6_socket ? "" : "127.0.0.1", 0);
		listener = sock_listen(&a, &(struct sock_listen){.backlog = 20});
		assert_true(listener >= 0);
		assert_int_equal(sock_go_deaf(listener), 0);
		target = at(from[i], port_of(&a));
		client = knock(&target, 255);
		assert_true(becomes(listener, POLLIN, PATIENCE_MS));
		fd = sys_accept(listener, NULL, NULL);
		assert_true(fd >= 0);
		assert_limits(fd, 255, v6_socket);
		if (target.sa.sa_family == AF_INET6)
			set_int(client, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 64);
		else
			set_int(client, IPPROTO_IP, IP_TTL, 64);
		assert_true(becomes(client, POLLOUT, PATIENCE_MS));
		assert_int_equal(sys_send(client, &byte, 1), 1);
		assert_false(becomes(fd, POLLIN, SILENCE_MS));
		sock_accepted_from_deaf(fd);
		assert_limits(fd, 0, v6_socket);
		assert_true(becomes(fd, POLLIN, PATIENCE_MS));
		assert_int_equal(sys_recv(fd, &byte, 1, 0), 1);
		sys_close(fd);
		sys_close(client);
		sys_close(listener);
	}
}

static void an_mptcp_listener_cannot_go_deaf_and_hears_on(void **state)
{
	struct addr a = at("127.0.0.1", 0);
	const int listener = sock_listen(&a, &(struct sock_listen){.backlog = 20, .mptcp = true});

	(void)state;
	assert_true(listener >= 0);
	if (!sock_is_mptcp(listener)) {
		sys_close(listener);
		print_message("skipped: this kernel has no MPTCP, or net.mptcp.enabled is 0\n");
		skip();
	}
	assert_int_equal(sock_go_deaf(listener), -EOPNOTSUPP);
	assert_true(is_let_in(&a));
	sys_close(listener);
}

static void a_unix_socket_needs_none_of_it(void **state)
{
	struct addr_spec spec;
	char text[64];
	int listener, client, fd;

	(void)state;
	(void)snprintf(text, sizeof(text), "unix:@weir-test-leave-%d", (int)getpid());
	assert_int_equal(addr_parse(text, &spec, NULL, NULL), 0);
	listener = sock_listen(&spec.addr, &(struct sock_listen){.mode = -1, .uid = (uid_t)-1,
								 .gid = (gid_t)-1});
	assert_true(listener >= 0);
	assert_int_equal(sock_go_deaf(listener), 0);
	assert_int_equal(sock_share_port(listener), 0);
	assert_int_equal(sock_unshare_port(listener), 0);
	client = sys_socket(AF_UNIX);
	assert_int_equal(sys_connect(client, &spec.addr.sa, spec.addr.len), 0);
	fd = sys_accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	sock_accepted_from_deaf(fd);
	assert_int_equal(sock_hear_again(listener), 0);
	sys_close(fd);
	sys_close(client);
	sys_close(listener);
}

static void what_is_no_socket_is_refused(void **state)
{
	int fds[2];

	(void)state;
	assert_int_equal(sys_pipe(fds), 0);
	assert_int_equal(sock_go_deaf(fds[0]), -ENOTSOCK);
	assert_int_equal(sock_hear_again(fds[0]), -ENOTSOCK);
	assert_int_equal(sock_share_port(fds[0]), -ENOTSOCK);
	assert_int_equal(sock_unshare_port(fds[0]), -ENOTSOCK);
	sys_close(fds[0]);
	sys_close(fds[1]);
}

/* Two listeners on one port: `old` listens at `from`, `fd` beside it at `to`. */
struct pair {
	struct addr old_at;
	struct addr new_at;
	int old;
	int fd;
};

/* False when somebody else has that port at an address that `to` covers. */
static bool try_pair(struct pair *p, const char *from, const char *to, bool mptcp)
{
	const struct sock_listen asking = {.backlog = 20, .share_port = true, .mptcp = mptcp};
	const struct sock_listen plain = {.backlog = 20, .mptcp = mptcp};

	p->old_at = at(from, 0);
	p->old = sock_listen(&p->old_at, &plain);
	assert_true(p->old >= 0);
	p->new_at = at(to, port_of(&p->old_at));
	assert_int_equal(sock_try_bind(&p->new_at, &plain), -EADDRINUSE);
	assert_int_equal(sock_try_bind(&p->new_at, &asking), -EADDRINUSE);
	assert_int_equal(sock_share_port(p->old), 0);
	assert_int_equal(sock_try_bind(&p->new_at, &plain), -EADDRINUSE);
	p->fd = sock_listen(&p->new_at, &asking);
	return p->fd != -EADDRINUSE;
}

/* Tests run at the same time, and the kernel chose the port for `from` alone: another port may be free. */
static void make_pair(struct pair *p, const char *from, const char *to, bool mptcp)
{
	for (int tries = 0; tries < PORT_TRIES; tries++) {
		if (try_pair(p, from, to, mptcp)) {
			assert_true(p->fd >= 0);
			return;
		}
		sys_close(p->old);
	}
	fail_msg("%s cannot be bound beside %s on any of %d ports", to, from, PORT_TRIES);
}

/* Binds `to` while `from` listens on the same port; who comes to `to` is served by it. */
static void check_replacement(const char *from, const char *to, bool mptcp)
{
	const struct sock_listen plain = {.backlog = 20, .mptcp = mptcp};
	struct pair p;

	make_pair(&p, from, to, mptcp);
	/* Afterwards another socket is kept out as before. */
	assert_int_equal(sock_unshare_port(p.old), 0);
	assert_int_equal(sock_unshare_port(p.fd), 0);
	assert_int_equal(get_int(p.old, SOL_SOCKET, SO_REUSEPORT), 0);
	assert_int_equal(get_int(p.fd, SOL_SOCKET, SO_REUSEPORT), 0);
	assert_int_equal(sock_try_bind(&p.new_at, &plain), -EADDRINUSE);
	assert_int_equal(sock_try_bind(&p.old_at, &plain), -EADDRINUSE);
	sys_close(p.old);
	assert_true(is_let_in(&p.new_at));
	assert_true(becomes(p.fd, POLLIN, PATIENCE_MS));
	sys_close(p.fd);
}

static const char *const overlaps[][2] = {
	{"0.0.0.0", "127.0.0.1"}, {"127.0.0.1", "0.0.0.0"}, {"127.0.0.1", "127.0.0.1"},
	{"", "127.0.0.1"}, {"127.0.0.1", ""}, {"", "0.0.0.0"}, {"0.0.0.0", ""}, {"", ""},
	{"", "[::1]"}, {"[::1]", ""},
};

static void an_overlapping_address_can_be_bound_beside_the_old_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(overlaps); i++) {
		if (i >= 3 && !have_v6())
			continue;
		check_replacement(overlaps[i][0], overlaps[i][1], false);
		check_replacement(overlaps[i][0], overlaps[i][1], true); /* where the kernel has it */
	}
}

static void new_clients_go_to_the_more_specific_address(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct addr target;
		int old, fd, client;
		struct pair p;

		make_pair(&p, overlaps[i][0], overlaps[i][1], false);
		old = p.old;
		fd = p.fd;
		target = at("127.0.0.1", port_of(&p.old_at));
		client = knock(&target, 0);
		assert_true(becomes(i == 0 ? fd : old, POLLIN, PATIENCE_MS));
		assert_false(becomes(i == 0 ? old : fd, POLLIN, 0));
		sys_close(client);
		sys_close(old);
		sys_close(fd);
	}
}

/* After a change of user, can we bind beside a listener that was given to that user or not? 0, or 1 if not;
 * anything else is a reason why it cannot be tried. */
static int try_as_another(bool mptcp, bool give)
{
	const struct sock_listen asking = {.backlog = 20, .share_port = true, .mptcp = mptcp};
	struct addr a = at("127.0.0.1", 0);
	const int old = sock_listen(&a, &(struct sock_listen){.backlog = 20, .mptcp = mptcp});

	if (old < 0 || (give && fchown(old, 65534, 65534) != 0))
		return 2;
	if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
		return 3;
	if (sock_share_port(old) != 0)
		return 4;
	if (mptcp && !sock_is_mptcp(old))
		return 5; /* this kernel has none */
	return sock_listen(&a, &asking) == -EADDRINUSE;
}

static int as_another(bool mptcp, bool give)
{
	int status = 0;
	const pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		_exit(try_as_another(mptcp, give));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void the_owner_of_the_old_socket_decides(void **state)
{
	int mptcp;

	(void)state;
	if (geteuid() != 0) {
		print_message("skipped: not root, cannot become another user\n");
		skip();
	}
	assert_int_equal(as_another(false, false), 1);
	assert_int_equal(as_another(false, true), 0);
	/* The inner socket of an MPTCP listener stays root's. */
	mptcp = as_another(true, true);
	assert_true(mptcp == 1 || mptcp == 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_deaf_listener_drops_new_clients_and_keeps_queued_ones),
		cmocka_unit_test(a_dual_stack_listener_needs_both_limits),
		cmocka_unit_test(an_accepted_socket_hears_its_client_only_after_the_call),
		cmocka_unit_test(an_mptcp_listener_cannot_go_deaf_and_hears_on),
		cmocka_unit_test(a_unix_socket_needs_none_of_it),
		cmocka_unit_test(what_is_no_socket_is_refused),
		cmocka_unit_test(an_overlapping_address_can_be_bound_beside_the_old_one),
		cmocka_unit_test(new_clients_go_to_the_more_specific_address),
		cmocka_unit_test(the_owner_of_the_old_socket_decides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
