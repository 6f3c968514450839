/* SPDX-License-Identifier: MIT
 *
 * test_sock.c - options are on the sockets where they belong: on a listener, on what it accepts, on a
 * connecting socket; and a refusal names its option.
 */
#include <errno.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/net/sock.h"
#include "weir/sys/sys.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef IPV6_FREEBIND
#define IPV6_FREEBIND 78
#endif

static const struct addr none;

static struct addr v4(const char *ip, uint16_t port)
{
	struct addr_spec spec;
	char text[64];

	(void)snprintf(text, sizeof(text), "%s:%u", ip, port);
	assert_int_equal(addr_parse(text, &spec, NULL, NULL), 0);
	return spec.addr;
}

static int get_int(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	assert_int_equal(sys_getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

static uint64_t get_pacing(int fd)
{
	uint64_t value = 0;
	socklen_t len = sizeof(value);

	assert_int_equal(sys_getsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &value, &len), 0);
	return value;
}

static void assert_congestion(int fd, const char *name)
{
	char value[32] = "";
	socklen_t len = sizeof(value) - 1;

	assert_int_equal(sys_getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, value, &len), 0);
	assert_string_equal(value, name);
}

/* All that needs no rights; 46 << 2 is 184. */
static const struct sock_tcp rich = {
	.nodelay = true,
	.keepalive = true,
	.keepalive_idle_s = 77,
	.user_timeout_ms = 4321,
	.congestion = "reno",
	.dscp = 46,
	.notsent_lowat = 131072,
	.pacing = UINT64_C(5000000000), /* more than 32 bits */
};

static void assert_rich(int fd, bool v6)
{
	assert_int_equal(get_int(fd, IPPROTO_TCP, TCP_KEEPIDLE), 77);
	assert_int_equal(get_int(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 4321);
	assert_congestion(fd, "reno");
	assert_int_equal(get_int(fd, IPPROTO_IP, IP_TOS), 184);
	if (v6)
		assert_int_equal(get_int(fd, IPPROTO_IPV6, IPV6_TCLASS), 184);
	assert_int_equal(get_int(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT), 131072);
	assert_true(get_pacing(fd) == UINT64_C(5000000000));
	assert_int_equal(get_int(fd, SOL_SOCKET, SO_OOBINLINE), 1);
}

/* A client of `protocol` at the listener; what the listener accepts. */
static int accept_one(int listener, const struct addr *at, int protocol, int *client)
{
	struct pollfd p = {.fd = listener, .events = POLLIN};

	*client = socket(at->sa.sa_family, SOCK_STREAM, protocol);
	assert_true(*client >= 0);
	assert_int_equal(connect(*client, &at->sa, at->len), 0);
	assert_int_equal(poll(&p, 1, 5000), 1);
	return sys_accept(listener, NULL, NULL);
}

static void accepted_sockets_inherit_what_the_listener_has(void **state)
{
	static const char *const where[] = {"127.0.0.1:0", ":0"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(where); i++) {
		struct sock_listen opt = {.tcp = rich};
		struct addr_spec spec;
		int listener, client, fd;

		assert_int_equal(addr_parse(where[i], &spec, NULL, NULL), 0);
		if (i == 1 && access("/proc/net/if_inet6", R_OK) != 0)
			continue;
		listener = sock_listen(&spec.addr, &opt);
		assert_true(listener >= 0);
		if (i == 1)
			spec.addr.in6.sin6_addr = in6addr_loopback;
		fd = accept_one(listener, &spec.addr, 0, &client);
		assert_rich(fd, i == 1);
		assert_int_equal(get_int(fd, IPPROTO_TCP, TCP_NODELAY), 1);
		sys_close(fd);
		sys_close(client);
		if (i == 1) {
			/* An IPv4 client of a listener for both families has IPv4's mark. */
			struct addr four = v4("127.0.0.1", ntohs(spec.addr.in6.sin6_port));

			fd = accept_one(listener, &four, 0, &client);
			assert_rich(fd, true);
			sys_close(fd);
			sys_close(client);
		}
		sys_close(listener);
	}
}

static void a_passed_listener_gets_the_options_that_it_can_still_have(void **state)
{
	const struct sock_listen opt = {.tcp = rich, .tfo = true, .backlog = 50, .interface = "lo"};
	struct addr a = v4("127.0.0.1", 0), seen;
	const int listener = sys_socket(AF_INET);
	char name[16] = "";
	socklen_t len = sizeof(name);
	int fd, client;

	(void)state;
	assert_int_equal(sys_bind(listener, &a.sa, a.len), 0);
	assert_int_equal(listen(listener, 5), 0);
	assert_int_equal(sock_adopt(listener, &seen, &opt), 0);
	assert_int_equal(get_int(listener, IPPROTO_TCP, TCP_FASTOPEN), 50);
	assert_int_equal(sys_getsockopt(listener, SOL_SOCKET, SO_BINDTODEVICE, name, &len), 0);
	assert_string_equal(name, "lo");
	fd = accept_one(listener, &seen, 0, &client);
	assert_rich(fd, false);
	sys_close(fd);
	sys_close(client);
	sys_close(listener);
}

static void a_listener_has_its_own_options(void **state)
{
	struct sock_listen opt = {.tfo = true, .freebind = true, .interface = "lo"};
	struct addr a = v4("192.0.2.77", 0); /* nobody's: TEST-NET-1 */
	int fd = sock_listen(&a, &(struct sock_listen){.backlog = 1});

	(void)state;
	assert_int_equal(fd, -EADDRNOTAVAIL);
	fd = sock_listen(&a, &opt);
	assert_true(fd >= 0);
	assert_int_equal(get_int(fd, IPPROTO_IP, IP_FREEBIND), 1);
	assert_int_equal(get_int(fd, IPPROTO_TCP, TCP_FASTOPEN), 1024); /* the cap */
	sys_close(fd);
	opt.backlog = 17;
	opt.interface = NULL;
	fd = sock_listen(&a, &opt);
	assert_int_equal(get_int(fd, IPPROTO_TCP, TCP_FASTOPEN), 17);
	assert_int_equal(sock_try_bind(&a, &opt), -EADDRINUSE); /* it has a port by now */
	sys_close(fd);
	assert_int_equal(sock_try_bind(&a, &opt), 0);
	opt.freebind = false;
	assert_int_equal(sock_try_bind(&a, &opt), -EADDRNOTAVAIL);
}

static void a_connecting_socket_has_the_options_before_it_connects(void **state)
{
	struct addr to = v4("127.0.0.1", 1), source = v4("127.0.0.9", 0);
	struct addr bound = {.len = sizeof(bound.un)};
	struct sock_tcp tcp = rich;
	int fd;

	(void)state;
	tcp.nodelay = false;
	fd = sock_open(&to, &source, &tcp);
	assert_true(fd >= 0);
	assert_rich(fd, false);
	assert_int_equal(get_int(fd, IPPROTO_IP, 24 /* IP_BIND_ADDRESS_NO_PORT */), 1);
	assert_int_equal(getsockname(fd, &bound.sa, &bound.len), 0);
	assert_int_equal(bound.in.sin_addr.s_addr, source.in.sin_addr.s_addr);
	assert_int_equal(bound.in.sin_port, 0); /* connect(2) chooses it */
	sys_close(fd);
	/* A source of IPv6 too. */
	if (access("/proc/net/if_inet6", R_OK) == 0) {
		const struct addr six = {
			.len = sizeof(six.in6),
			.in6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT},
		};

		fd = sock_open(&six, &six, &tcp);
		assert_true(fd >= 0);
		assert_rich(fd, true);
		assert_int_equal(get_int(fd, IPPROTO_IP, 24), 1);
		bound.len = sizeof(bound.un);
		assert_int_equal(getsockname(fd, &bound.sa, &bound.len), 0);
		assert_int_equal(bound.in6.sin6_port, 0);
		sys_close(fd);
	}
	/* A foreign source is not bound. */
	source = v4("192.0.2.77", 0);
	assert_int_equal(sock_open(&to, &source, &tcp), -EADDRNOTAVAIL);
}

static void a_source_with_a_port_serves_two_servers(void **state)
{
	struct addr source = v4("127.0.0.9", 0), here[2];
	const int finder = sys_socket(AF_INET);
	int listeners[2], fds[2];

	(void)state;
	/* A port that is free. */
	assert_int_equal(sys_bind(finder, &source.sa, source.len), 0);
	assert_int_equal(getsockname(finder, &source.sa, &source.len), 0);
	sys_close(finder);
	for (int i = 0; i < 2; i++) {
		here[i] = v4("127.0.0.1", 0);
		listeners[i] = sock_listen(&here[i], &(struct sock_listen){.backlog = 5});
		assert_true(listeners[i] >= 0);
		fds[i] = sock_open(&here[i], &source, &(struct sock_tcp){.nodelay = false});
		assert_true(fds[i] >= 0);
		assert_int_equal(sys_connect(fds[i], &here[i].sa, here[i].len), -EINPROGRESS);
	}
	/* To the same server there is one connection with it. */
	sys_close(fds[0]);
	fds[0] = sock_open(&here[1], &source, &(struct sock_tcp){.nodelay = false});
	assert_true(fds[0] >= 0);
	assert_int_equal(sys_connect(fds[0], &here[1].sa, here[1].len), -EADDRNOTAVAIL);
	for (int i = 0; i < 2; i++) {
		sys_close(fds[i]);
		sys_close(listeners[i]);
	}
}

static void a_refused_option_is_named(void **state)
{
	enum sock_option refused = SOCK_OPTION_NONE;
	struct sock_tcp tcp = {.congestion = "no-such-thing", .refused = &refused};
	struct sock_listen opt = {.interface = "no-such-if", .tcp = {.refused = &refused}};
	struct addr a = v4("127.0.0.1", 0);

	(void)state;
	assert_int_equal(sock_open(&a, &none, &tcp), -ENOENT);
	assert_int_equal(refused, SOCK_OPTION_CONGESTION);
	assert_int_equal(sock_listen(&a, &opt), -ENODEV);
	assert_int_equal(refused, SOCK_OPTION_INTERFACE);
	refused = SOCK_OPTION_NONE;
	opt.interface = NULL;
	opt.tcp = tcp;
	assert_int_equal(sock_listen(&a, &opt), -ENOENT);
	assert_int_equal(refused, SOCK_OPTION_CONGESTION);
	for (int i = 1; i < SOCK_OPTIONS; i++)
		assert_true(strlen(sock_option_word((enum sock_option)i)) >= 3);
}

/* What needs CAP_NET_ADMIN is set with it, and named without it. */
static int try_privileged(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct nothing[2] = {{0}, {0}};
	enum sock_option refused = SOCK_OPTION_NONE;
	struct sock_tcp mark = {.mark = 42, .refused = &refused};
	struct sock_tcp spoof = {.transparent = true, .refused = &refused};
	struct sock_listen open = {.transparent = true, .tcp = {.refused = &refused}};
	struct addr a = v4("127.0.0.1", 0), foreign = v4("192.0.2.77", 0);
	int fd = sock_open(&a, &none, &mark);

	if (fd >= 0) {
		if (get_int(fd, SOL_SOCKET, SO_MARK) != 42 || sock_open(&a, &foreign, &spoof) < 0)
			return 1;
		fd = sock_listen(&foreign, &open);
		if (fd < 0 || get_int(fd, IPPROTO_IP, IP_TRANSPARENT) != 1)
			return 2;
	}
	if (syscall(SYS_capset, &head, nothing) != 0)
		return 3;
	if (sock_open(&a, &none, &mark) != -EPERM || refused != SOCK_OPTION_MARK)
		return 4;
	if (sock_open(&a, &foreign, &spoof) != -EPERM || refused != SOCK_OPTION_SOURCE_CLIENT)
		return 5;
	if (sock_listen(&a, &open) != -EPERM || refused != SOCK_OPTION_TRANSPARENT)
		return 6;
	return strcmp(sock_option_capability(refused), "CAP_NET_ADMIN") == 0 ? 0 : 7;
}

static void what_needs_a_capability_says_so(void **state)
{
	int status = 0;
	const pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0)
		_exit(try_privileged());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void mptcp_listeners_serve_both_kinds_of_clients(void **state)
{
	const struct sock_listen opt = {.mptcp = true, .tcp = rich};
	struct addr a = v4("127.0.0.1", 0);
	const int listener = sock_listen(&a, &opt);
	int fd, client;

	(void)state;
	assert_true(listener >= 0); /* plain TCP at the least */
	if (!sock_is_mptcp(listener)) {
		sys_close(listener);
		print_message("skipped: this kernel has no MPTCP, or net.mptcp.enabled is 0\n");
		skip();
	}
	/* A client of plain TCP: nothing is missing in the end. */
	fd = accept_one(listener, &a, 0, &client);
	assert_true(fd >= 0);
	assert_false(sock_is_mptcp(fd));
	sock_accepted_mptcp(fd, AF_INET, &rich);
	assert_rich(fd, false);
	sys_close(fd);
	sys_close(client);
	/* One of MPTCP: what the kernel has for it. */
	fd = accept_one(listener, &a, IPPROTO_MPTCP, &client);
	assert_true(fd >= 0);
	assert_true(sock_is_mptcp(fd));
	sock_accepted_mptcp(fd, AF_INET, &rich);
	assert_congestion(fd, "reno");
	assert_int_equal(get_int(fd, IPPROTO_IP, IP_TOS), 184);
	assert_int_equal(get_int(fd, IPPROTO_TCP, TCP_NODELAY), 1);
	sys_close(fd);
	sys_close(client);
	sys_close(listener);
}

static void unix_sockets_take_no_option_of_tcp(void **state)
{
	struct sock_listen opt = {.mode = -1, .uid = (uid_t)-1, .gid = (gid_t)-1, .mptcp = true, .tfo = true,
				  .interface = "lo", .freebind = true, .tcp = rich};
	struct addr_spec spec;
	char text[64];
	int fd;

	(void)state;
	(void)snprintf(text, sizeof(text), "unix:@weir-test-sock-%d", (int)getpid());
	assert_int_equal(addr_parse(text, &spec, NULL, NULL), 0);
	fd = sock_listen(&spec.addr, &opt);
	assert_true(fd >= 0);
	sys_close(fd);
	fd = sock_open(&spec.addr, &none, &rich);
	assert_true(fd >= 0);
	sys_close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepted_sockets_inherit_what_the_listener_has),
		cmocka_unit_test(a_passed_listener_gets_the_options_that_it_can_still_have),
		cmocka_unit_test(a_listener_has_its_own_options),
		cmocka_unit_test(a_connecting_socket_has_the_options_before_it_connects),
		cmocka_unit_test(a_source_with_a_port_serves_two_servers),
		cmocka_unit_test(a_refused_option_is_named),
		cmocka_unit_test(what_needs_a_capability_says_so),
		cmocka_unit_test(mptcp_listeners_serve_both_kinds_of_clients),
		cmocka_unit_test(unix_sockets_take_no_option_of_tcp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
