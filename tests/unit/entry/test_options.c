/* SPDX-License-Identifier: MIT
 *
 * test_options.c - what the socket of an endpoint can become, what covers it, and options set while it
 * listens.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../base/log_take.h"
#include "entry_rig.h"

static struct entry_rig r;
static struct entries *entries;
static struct frontend *fe;
static struct endpoint *ep, *path;
static struct config_frontend changed;
static struct config_bind binds[2];
static const struct config_bind *bind_list[] = {&binds[0], &binds[1]};
static char folder[] = "/tmp/weir-options-XXXXXX";

static struct config_bind bind_at(const char *text)
{
	struct config_bind b;

	memset(&b, 0, sizeof(b));
	assert_int_equal(addr_parse(text, &b.addr, NULL, NULL), 0);
	b.owner = (struct config_socket_owner){.mode = -1, .uid = (uid_t)-1, .gid = (gid_t)-1};
	return b;
}

static struct endpoint *add(const struct config_bind *b)
{
	struct entry_error error;
	struct endpoint *added = entries_prepare_endpoint(entries, fe, NULL, b, NULL, &error);

	assert_non_null(added);
	entries_commit_endpoint(entries, added);
	(void)rig_settle(&r);
	return added;
}

static int setup(void **state)
{
	char text[128];

	(void)state;
	rig_open(&r);
	entries = &r.engine.entries;
	fe = first_frontend(&r.engine);
	ep = first_endpoint(&r.engine);
	(void)snprintf(text, sizeof(text), "%s/s", folder);
	binds[0] = *ep->config;
	binds[1] = bind_at(text);
	path = add(&binds[1]);
	changed = *fe->config;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_close(&r);
	return 0;
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder); /* fails when a socket or a lock was left behind */
}

static int option_of(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

static unsigned backlog_of(int fd)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
	return info.tcpi_sacked; /* of a listener, that is what it means */
}

static mode_t mode_of_path(void)
{
	struct stat st;

	assert_int_equal(stat(path->addr.un.sun_path, &st), 0);
	return st.st_mode & 07777;
}

/* ---- what it can become ---- */

#define PORT "47"

struct question {
	const char *now, *next;
	void (*set)(struct config_bind *next);
	bool can;
};

static void set_nothing(struct config_bind *b)
{
	(void)b;
}

static void set_late(struct config_bind *b)
{
	b->backlog = 7;
	b->defer_accept = b->tfo = true;
	b->accept_proxy = CONFIG_ACCEPT_PROXY_ALWAYS;
	b->owner.mode = 0600;
	b->name[0] = 'x';
}

static void set_v6only(struct config_bind *b)
{
	b->v6only = true;
}

static void set_interface(struct config_bind *b)
{
	static char name[] = "lo";

	b->interface = name;
}

static void set_freebind(struct config_bind *b)
{
	b->freebind = true;
}

static void set_transparent(struct config_bind *b)
{
	b->transparent = true;
}

static void set_mptcp(struct config_bind *b)
{
	b->mptcp = true;
}

static const struct question become[] = {
	{"127.0.0.1:" PORT, "127.0.0.1:" PORT, set_nothing, true},
	{"127.0.0.1:" PORT, "127.0.0.1:" PORT, set_late, true},
	{"127.0.0.1:" PORT, "127.0.0.1:" PORT, set_interface, false},
	{"127.0.0.1:" PORT, "127.0.0.1:" PORT, set_freebind, false},
	{"127.0.0.1:" PORT, "127.0.0.1:" PORT, set_transparent, false},
	{"127.0.0.1:" PORT, "127.0.0.1:" PORT, set_mptcp, false},
	{":" PORT, ":" PORT, set_late, true},
	{":" PORT, ":" PORT, set_v6only, false},
	{":" PORT, "0.0.0.0:" PORT, set_nothing, false},
	{"127.0.0.1:" PORT, "[::1]:" PORT, set_nothing, false},
	{"127.0.0.1:" PORT, "unix:@x", set_nothing, false},
	{"127.0.0.1:" PORT, "fd@web", set_nothing, false},
	{"fd@web", "127.0.0.1:" PORT, set_nothing, false},
	{"unix:@x", "unix:@x", set_late, true},
};

static const struct question cover[] = {
	{"127.0.0.1:" PORT, "0.0.0.0:" PORT, set_late, true},
	{"127.0.0.1:" PORT, ":" PORT, set_freebind, true},
	{"[::1]:" PORT, ":" PORT, set_v6only, true},
	{"127.0.0.1:" PORT, ":" PORT, set_v6only, false},
	{"127.0.0.1:" PORT, ":" PORT, set_interface, false},
	{"127.0.0.1:" PORT, ":" PORT, set_transparent, false},
	{"127.0.0.1:" PORT, ":" PORT, set_mptcp, false},
	{"127.0.0.1:" PORT, "0.0.0.0:48", set_nothing, false},
	{"127.0.0.1:" PORT, "127.0.0.1:" PORT, set_nothing, false},
	{"unix:@x", ":" PORT, set_nothing, false},
	{"127.0.0.1:" PORT, "unix:@x", set_nothing, false},
	{"127.0.0.1:" PORT, "fd@web", set_nothing, false},
};

/* Stands in for one with such a socket. */
static bool answer(const struct question *q, bool covers)
{
	const struct config_bind now = bind_at(q->now);
	struct config_bind next = bind_at(q->next);
	const struct endpoint it = {.config = &now, .addr = now.addr.addr, .fd = 0};

	q->set(&next);
	return covers ? endpoint_is_covered(&it, &next) : endpoint_can_become(&it, &changed, &next);
}

static void socket_can_become_another_or_is_covered(void **state)
{
	const struct config_bind any = bind_at("0.0.0.0:" PORT);
	struct config_bind here = bind_at("127.0.0.1:" PORT);
	struct endpoint it = {.config = &here, .addr = here.addr.addr, .fd = 0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(become); i++)
		if (answer(&become[i], false) != become[i].can)
			fail_msg("%zu: %s to %s", i, become[i].now, become[i].next);
	for (size_t i = 0; i < ARRAY_LEN(cover); i++)
		if (answer(&cover[i], true) != cover[i].can)
			fail_msg("%zu: %s covered by %s", i, cover[i].now, cover[i].next);
	assert_true(endpoint_is_covered(&it, &any));
	it.inherited = true;
	assert_false(endpoint_is_covered(&it, &any));
	it.inherited = false;
	atomic_store(&it.order, ENDPOINT_GIVE);
	assert_false(endpoint_is_covered(&it, &any));
}

/* No client waits: the specific socket is one more of the wildcard's. */
static void covered_socket_is_one_more_of_the_wildcard(void **state)
{
	struct config_bind any = bind_at("0.0.0.0:0");
	const struct addr at = ep->addr;
	struct endpoint *wide, *part, *failed;
	struct entry_error error;
	int fds[2];

	(void)state;
	any.addr.port = addr_port(&at);
	any.addr.addr.in.sin_port = at.in.sin_port;
	any.backlog = 77;
	assert_true(endpoint_is_covered(ep, &any));
	fds[0] = rig_client(&at);
	entries_begin(entries);
	wide = entries_prepare_endpoint(entries, fe, NULL, &any, NULL, &error);
	part = entries_prepare_endpoint(entries, fe, NULL, &any, ep, &error);
	if (wide == NULL) { /* another test has the port */
		assert_int_equal(error.err, -EADDRINUSE);
		entries_undo_endpoint(entries, part);
		entries_end(entries);
		close(fds[0]);
		assert_true(rig_empties(&r));
		skip();
	}
	assert_non_null(part);
	assert_int_equal(entries_listen(entries, &failed), 0);
	entries_commit_endpoint(entries, wide);
	entries_commit_endpoint(entries, part);
	entries_end(entries);
	fds[1] = rig_client(&at);
	assert_true(rig_reaches(&r, 2));
	assert_int_equal(part->number, wide->number);
	assert_int_equal(part->part, 2);
	assert_true(addr_equal(&part->addr, &at));
	assert_int_equal(backlog_of(part->fd), 77);
	assert_int_equal(option_of(part->fd, SOL_SOCKET, SO_REUSEPORT), 0);
	assert_true(endpoint_can_become(part, &changed, &any));
	for (int i = 0; i < 2; i++)
		close(fds[i]);
	assert_true(rig_empties(&r));
	(void)rig_settle(&r);
	assert_int_equal(r.engine.live.endpoints.count, 3);
}

/* ---- options in place ---- */

static int prepare(struct entry_change *c)
{
	const struct entry_wish wish = {.config = &changed,
					.backend = r.engine.backends[0],
					.routes = r.engine.backends,
					.binds = bind_list,
					.bind_count = 2};

	return entries_prepare_change(entries, fe, &wish, c);
}

static void change(bool undone)
{
	struct entry_change c;

	assert_int_equal(prepare(&c), 0);
	if (undone)
		entries_undo_change(entries, &c);
	else
		entries_commit_change(entries, &c);
}

static void options_change_in_place_and_back(void **state)
{
	const unsigned backlog = backlog_of(ep->fd);
	const mode_t mode = mode_of_path();
	const int fd = ep->fd;

	(void)state;
	for (int undone = 1; undone >= 0; undone--) {
		binds[0].backlog = 33;
		binds[0].defer_accept = true;
		binds[1].owner.mode = 0604;
		changed.tcp.user_timeout_ms = 4321;
		change(undone);
		assert_int_equal(backlog_of(fd), undone ? backlog : 33);
		assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), undone ? 0 : 4321);
		assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT) > 0, !undone);
		assert_int_equal(mode_of_path(), undone ? mode : 0604);
	}
	binds[0].backlog = 0;
	binds[0].defer_accept = false;
	binds[1].owner.mode = -1;
	changed.tcp.user_timeout_ms = 0;
	change(false);
	assert_int_equal(backlog_of(fd), backlog);
	assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
	assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT), 0);
	assert_int_equal(mode_of_path(), mode);
	assert_int_equal(ep->fd, fd);
}

/* The second was compared with what the first one has changed. */
static void last_of_two_changes_decides(void **state)
{
	struct entry_change first, second;

	(void)state;
	changed.tcp.user_timeout_ms = 1000;
	assert_int_equal(prepare(&first), 0);
	changed.tcp.user_timeout_ms = 0;
	assert_int_equal(prepare(&second), 0);
	entries_commit_change(entries, &first);
	assert_int_equal(option_of(ep->fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 1000);
	entries_commit_change(entries, &second);
	assert_int_equal(option_of(ep->fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
}

static void refused_option_is_named(void **state)
{
	static char name[] = "no-such";
	const unsigned versions = r.engine.live.versions.count;
	struct entry_change c;

	(void)state;
	changed.tcp.congestion = name;
	assert_int_equal(prepare(&c), -ENOENT);
	assert_int_equal(c.refused, SOCK_OPTION_CONGESTION);
	assert_ptr_equal(c.failed, ep);
	assert_int_equal(r.engine.live.versions.count, versions);
}

/* Whoever may write to the folder can put another file there: it is neither changed nor removed. */
static void another_file_at_the_path_is_not_touched(void **state)
{
	struct log_ring *ring = log_ring_new(rig_no_news, NULL);
	const char *name = path->addr.un.sun_path;
	char line[512] = "";
	struct entry_change c;
	enum log_level level;
	int64_t wall_ns;
	int fd;

	(void)state;
	assert_non_null(ring);
	binds[1].owner.mode = 0604;
	assert_int_equal(prepare(&c), 0);
	assert_int_equal(unlink(name), 0);
	fd = creat(name, 0600);
	assert_true(fd >= 0);
	log_use_ring(ring);
	log_set_level(LOG_LEVEL_WARNING);
	entries_commit_change(entries, &c);
	log_use_ring(NULL);
	log_set_level(LOG_LEVEL_ERROR);
	(void)log_take(ring, &level, &wall_ns, line, sizeof(line) - 1);
	log_ring_free(ring);
	assert_non_null(strstr(line, "'mode, user or group' cannot be changed: Stale file handle"));
	assert_int_equal(mode_of_path(), 0600);
	binds[1].owner.mode = 0606;
	assert_int_equal(prepare(&c), -ESTALE); /* by now it is known before */
	close(fd);
	assert_int_equal(unlink(name), 0);
}

/* A client who comes after the commit has the new options, also at a socket that was taken over. */
static void socket_that_is_taken_over_has_the_options_of_who_takes_it(void **state)
{
	struct config_frontend front = {.name = "g", .binds = binds, .bind_count = 2, .tcp.dscp = 46};
	struct endpoint *const from[] = {ep, path};
	const struct entry_wish wish = {
		.config = &front, .backend = r.engine.backends[0], .from = from};
	struct frontend *next, *old = fe;
	struct entry_error error;
	struct entry_change c;

	(void)state;
	binds[1].owner.mode = 0604;
	next = entries_prepare_frontend(entries, &wish, &error);
	assert_non_null(next);
	binds[1].owner.mode = -1;
	changed.tcp.user_timeout_ms = 4321; /* of the old frontend: no longer for this socket */
	assert_int_equal(prepare(&c), 0);
	assert_int_equal(option_of(ep->fd, IPPROTO_IP, IP_TOS), 0);
	entries_commit_change(entries, &c);
	entries_commit_frontend(entries, next);
	assert_int_equal(option_of(ep->fd, IPPROTO_IP, IP_TOS), 46 << 2);
	assert_int_equal(option_of(ep->fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
	assert_int_equal(mode_of_path(), 0604);
	entries_remove_frontend(entries, old, r.now_ns);
	(void)rig_settle(&r);
	assert_int_equal(r.engine.live.endpoints.count, 2);
}

#define OPTIONS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OPTIONS_TEST(socket_can_become_another_or_is_covered),
		OPTIONS_TEST(covered_socket_is_one_more_of_the_wildcard),
		OPTIONS_TEST(options_change_in_place_and_back),
		OPTIONS_TEST(last_of_two_changes_decides),
		OPTIONS_TEST(refused_option_is_named),
		OPTIONS_TEST(another_file_at_the_path_is_not_touched),
		OPTIONS_TEST(socket_that_is_taken_over_has_the_options_of_who_takes_it),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
