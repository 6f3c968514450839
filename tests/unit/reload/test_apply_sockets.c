/* SPDX-License-Identifier: MIT
 *
 * test_apply_sockets.c - addresses move between frontends, widen and narrow, while clients come all the time.
 *
 * No client is refused, reset or left waiting.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

#include "apply_rig.h"

#define TIMES	 "timeout-connect = 10s\ntimeout-server = 10m\n"
#define FRONT	 "timeout-client = 10m\n"
#define GLOBAL	 "[global]\nuser = root\npipe-cycle = 100ms\nlog = file:/dev/null\n"
#define BACKENDS "[backend app]\nserver a = ECHO0\n" TIMES "[backend two]\nserver b = ECHO1\n" TIMES
#define ROUNDS	 30u
#define TEXT_MAX 2048u

/* Clients who come one after the other. */
struct stream {
	pthread_t thread;
	struct addr to;
	atomic_bool ends;
	atomic_uint served, lost;
};

static void *run_stream(void *arg)
{
	struct stream *s = arg;

	while (!atomic_load(&s->ends))
		atomic_fetch_add(is_served(&s->to) ? &s->served : &s->lost, 1);
	return NULL;
}

static void stream_start(struct stream *s, const struct addr *to)
{
	*s = (struct stream){.to = *to};
	assert_int_equal(pthread_create(&s->thread, NULL, run_stream, s), 0);
}

/* So many more are served, while control turns. */
static void stream_await(const struct stream *s, unsigned more)
{
	const unsigned wanted = atomic_load(&s->served) + more;
	const int64_t end_ns = clock_mono_ns() + APPLY_WAIT_NS;

	while (atomic_load(&s->served) < wanted && clock_mono_ns() < end_ns)
		rig_rest(&rig.rig, NS_PER_MS);
	assert_true(atomic_load(&s->served) >= wanted);
}

static void stream_end(struct stream *s)
{
	atomic_store(&s->ends, true);
	assert_int_equal(pthread_join(s->thread, NULL), 0);
	print_message("%u clients\n", atomic_load(&s->served));
	assert_int_equal(atomic_load(&s->lost), 0);
}

/* A port of 127.0.0.1 that nobody uses now. */
static unsigned free_port(void)
{
	struct addr a = {.in = {.sin_family = AF_INET}, .len = sizeof(a.in)};
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a.in.sin_addr.s_addr = htonl(INADDR_ANY);
	assert_int_equal(bind(fd, &a.sa, a.len), 0);
	assert_int_equal(getsockname(fd, &a.sa, &a.len), 0);
	close(fd);
	return ntohs(a.in.sin_port);
}

static struct addr local(unsigned port)
{
	struct addr a = {.in = {.sin_family = AF_INET}, .len = sizeof(a.in)};

	a.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.in.sin_port = htons((uint16_t)port);
	return a;
}

static bool has_ipv6(void)
{
	const struct addr a = {.in6 = {.sin6_family = AF_INET6}, .len = sizeof(a.in6)};
	const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const bool has = fd >= 0 && bind(fd, &a.sa, a.len) == 0;

	if (fd >= 0)
		close(fd);
	return has;
}

static int set_up(void **state)
{
	(void)state;
	apply_rig_open(GLOBAL "[frontend web]\nbind in = 127.0.0.9:0\ndefault-backend = app\n" FRONT
			      BACKENDS);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	apply_rig_close();
	return 0;
}

/* A configuration with one frontend, whose only bind is at `address`. */
static const char *one(char *text, const char *frontend, const char *address, const char *backend)
{
	(void)snprintf(text, TEXT_MAX,
		       GLOBAL "[frontend %s]\nbind in = %s\ndefault-backend = %s\n" FRONT BACKENDS, frontend,
		       address, backend); /* fits */
	return text;
}

/* Reloads `texts` in turn, under clients of `to`, with rests of different length. */
static void alternate(char texts[2][TEXT_MAX], const struct addr *to)
{
	struct rig_state before, after;
	int64_t end_ns;
	struct stream s;

	reload_fine(texts[0]);
	apply_settle();
	rig_look(&rig.rig, &before);
	stream_start(&s, to);
	for (unsigned i = 1; i <= ROUNDS; i++) {
		stream_await(&s, 1 + i % 5 * 40);
		reload_fine(texts[i % 2]);
	}
	reload_fine(texts[0]);
	stream_await(&s, 50);
	stream_end(&s);
	apply_settle();
	end_ns = clock_mono_ns() + APPLY_WAIT_NS;
	do { /* until the pipes of sessions that have ended are closed */
		rig_rest(&rig.rig, 10 * NS_PER_MS);
		(void)pipe_pool_age(&rig.rig.engine.pipes);
		rig_look(&rig.rig, &after);
	} while (after.fds > before.fds && clock_mono_ns() < end_ns);
	assert_int_equal(after.fds, before.fds);
	assert_int_equal(after.endpoints, before.endpoints);
	assert_int_equal(after.versions, before.versions);
	assert_int_equal(after.objects, before.objects);
}

static void an_address_moves_between_frontends(void **state)
{
	const struct addr to = local(free_port());
	char texts[2][TEXT_MAX], address[ADDR_TEXT_MAX];

	(void)state;
	addr_format(&to, address);
	one(texts[0], "web", address, "app");
	one(texts[1], "other", address, "two");
	alternate(texts, &to);
}

static void a_path_moves_between_frontends(void **state)
{
	struct addr_spec to;
	char texts[2][TEXT_MAX], path[128];
	struct stat st;
	ino_t ino;

	(void)state;
	(void)snprintf(path, sizeof(path), "unix:%s/in", rig.folder); /* fits */
	assert_int_equal(addr_parse(path, &to, NULL, NULL), 0);
	one(texts[0], "web", path, "app");
	one(texts[1], "other", path, "two");
	reload_fine(texts[0]);
	assert_int_equal(stat(path + 5, &st), 0);
	ino = st.st_ino;
	alternate(texts, &to.addr);
	assert_int_equal(stat(path + 5, &st), 0);
	assert_int_equal(st.st_ino, ino);
}

static void an_address_widens_and_narrows(void **state)
{
	const unsigned port = free_port();
	const struct addr to = local(port);
	char texts[2][TEXT_MAX], address[64];

	(void)state;
	(void)snprintf(address, sizeof(address), "127.0.0.1:%u", port); /* fits, as below */
	one(texts[0], "web", address, "app");
	(void)snprintf(address, sizeof(address), "0.0.0.0:%u", port);
	one(texts[1], "web", address, "two");
	alternate(texts, &to);
}

/* The new frontend binds its own socket, and takes over the one that it covers. */
static void an_address_widens_into_another_frontend(void **state)
{
	const unsigned port = free_port();
	const struct addr to = local(port);
	char texts[2][TEXT_MAX], address[64];
	unsigned sockets = 0;

	(void)state;
	(void)snprintf(address, sizeof(address), "127.0.0.1:%u", port); /* fits, as below */
	one(texts[0], "web", address, "app");
	(void)snprintf(address, sizeof(address), "0.0.0.0:%u", port);
	one(texts[1], "other", address, "two");
	reload_fine(texts[0]);
	reload_fine(texts[1]);
	frontend_foreach_endpoint(live_frontend("other"), ep)
		sockets += ep->stage == ENDPOINT_OPEN;
	assert_int_equal(sockets, 2);
	alternate(texts, &to);
}

static void a_path_gets_another_mode(void **state)
{
	char text[TEXT_MAX], path[128], bind[160];
	struct stat st, changed;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/in", rig.folder); /* fits, as below */
	(void)snprintf(bind, sizeof(bind), "unix:%s mode=0666", path);
	reload_fine(one(text, "web", bind, "app"));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0666);
	(void)snprintf(bind, sizeof(bind), "unix:%s mode=0600", path);
	reload_fine(one(text, "other", bind, "two"));
	assert_int_equal(stat(path, &changed), 0);
	assert_int_equal(changed.st_mode & 0777, 0600);
	assert_int_equal(changed.st_ino, st.st_ino);
	assert_true(is_served(&live_endpoint("other", "in")->addr));
}

static void a_wildcard_becomes_dual_stack(void **state)
{
	const unsigned port = free_port();
	const struct addr to = local(port);
	char texts[2][TEXT_MAX], address[64];

	(void)state;
	if (!has_ipv6())
		skip();
	(void)snprintf(address, sizeof(address), "0.0.0.0:%u", port); /* fits, as below */
	one(texts[0], "web", address, "app");
	(void)snprintf(address, sizeof(address), "*:%u", port);
	one(texts[1], "web", address, "two");
	alternate(texts, &to);
}

static void two_frontends_swap_their_addresses(void **state)
{
	const struct addr to = local(free_port()), swapped = local(free_port());
	char texts[2][TEXT_MAX], first[ADDR_TEXT_MAX], second[ADDR_TEXT_MAX];

	(void)state;
	addr_format(&to, first);
	addr_format(&swapped, second);
	for (unsigned i = 0; i < 2; i++)
		(void)snprintf(texts[i], TEXT_MAX, /* fits */
			       GLOBAL "[frontend web]\nbind = %s\ndefault-backend = app\n" FRONT
				      "[frontend other]\nbind = %s\ndefault-backend = two\n" FRONT BACKENDS,
			       i == 0 ? first : second, i == 0 ? second : first);
	alternate(texts, &to);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(an_address_moves_between_frontends),
		TEST(a_path_moves_between_frontends),
		TEST(an_address_widens_and_narrows),
		TEST(an_address_widens_into_another_frontend),
		TEST(a_path_gets_another_mode),
		TEST(a_wildcard_becomes_dual_stack),
		TEST(two_frontends_swap_their_addresses),
	};

	const int skipped = apply_choose_driver(argc, argv);

	return skipped ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
