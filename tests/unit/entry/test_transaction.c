/* SPDX-License-Identifier: MIT
 *
 * test_transaction.c - endpoints are prepared together, beside old ones that they overlap with; whatever
 * fails, all is as before.
 *
 * Linked with --wrap of the allocator and of the calls that make and change a socket.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "entry_fail.h"
#include "entry_rig.h"

#define PORT_TRIES 50

static struct entry_rig r;
static struct entries *entries;
static struct frontend *fe;
static struct endpoint *ep, *path; /* of TCP and of a Unix path */
static char folder[] = "/tmp/weir-transaction-XXXXXX";

/* ---- the rig ---- */

static struct config_bind bind_at(const char *text, uint16_t port)
{
	struct config_bind b;

	memset(&b, 0, sizeof(b));
	assert_int_equal(addr_parse(text, &b.addr, NULL, NULL), 0);
	b.owner = (struct config_socket_owner){.mode = -1, .uid = (uid_t)-1, .gid = (gid_t)-1};
	if (addr_is_unix(&b.addr.addr))
		return b;
	b.addr.port = port;
	if (b.addr.addr.sa.sa_family == AF_INET6)
		b.addr.addr.in6.sin6_port = htons(port);
	else
		b.addr.addr.in.sin_port = htons(port);
	return b;
}

static struct endpoint *add(const struct config_bind *b)
{
	struct entry_error error;
	struct endpoint *added = entries_prepare_endpoint(entries, fe, NULL, b, NULL, &error);

	assert_non_null(added);
	entries_commit_endpoint(entries, added);
	return added;
}

static int setup(void **state)
{
	char text[128];
	struct config_bind b;

	(void)state;
	fail_nothing();
	rig_open(&r);
	entries = &r.engine.entries;
	fe = first_frontend(&r.engine);
	ep = first_endpoint(&r.engine);
	(void)snprintf(text, sizeof(text), "%s/s", folder);
	b = bind_at(text, 0);
	b.owner.mode = 0600;
	path = add(&b);
	(void)rig_settle(&r);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fail_nothing();
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

static bool is_shared(const struct endpoint *of)
{
	return option_of(of->fd, SOL_SOCKET, SO_REUSEPORT) != 0;
}

static bool have_v6(void)
{
	return access("/proc/net/if_inet6", R_OK) == 0;
}

/* ---- addresses that overlap ---- */

static const char *const overlaps[][2] = {
	{"0.0.0.0:0", "127.0.0.1:0"}, {"127.0.0.1:0", "0.0.0.0:0"}, {"127.0.0.1:0", "127.0.0.1:0"},
	{":0", "127.0.0.1:0"}, {"127.0.0.1:0", ":0"}, {":0", "0.0.0.0:0"}, {"0.0.0.0:0", ":0"},
	{":0", ":0"}, {":0", "[::1]:0"}, {"[::1]:0", ":0"},
};

static struct endpoint *old_one;

static void leave_at_once(struct endpoint *of)
{
	entries_leave(entries, of, r.now_ns);
	r.now_ns += NS_PER_SEC;
	(void)rig_settle(&r);
}

/* Prepares `to` beside an endpoint at `from`, which is `old_one` then. Other tests use ports, too. */
static struct endpoint *prepare_beside(const char *from, const char *to, bool begins)
{
	for (int i = 0; i < PORT_TRIES; i++) {
		struct config_bind b = bind_at(from, 0);
		struct entry_error error;
		struct endpoint *next;

		old_one = add(&b);
		(void)rig_settle(&r);
		b = bind_at(to, addr_port(&old_one->addr));
		if (begins)
			entries_begin(entries);
		next = entries_prepare_endpoint(entries, fe, NULL, &b, NULL, &error);
		if (next != NULL)
			return next;
		assert_int_equal(error.err, -EADDRINUSE);
		assert_ptr_equal(error.in_way, old_one); /* ours is there too */
		if (begins)
			entries_end(entries);
		leave_at_once(old_one);
	}
	fail_msg("%s cannot be bound beside %s on any of %d ports", to, from, PORT_TRIES);
	return NULL;
}

static unsigned sessions_of(const struct endpoint *of)
{
	unsigned n = 0;

	for (unsigned i = 0; i < RIG_WORKERS; i++)
		for (struct list *l = r.workers[i]->live.next; l != &r.workers[i]->live; l = l->next)
			n += list_entry(l, struct session, link)->entry->endpoint == of;
	return n;
}

static void assert_served_by(const struct endpoint *of, const char *text, uint16_t port)
{
	const struct config_bind b = bind_at(text, port);
	const int fd = rig_client(&b.addr.addr);

	assert_true(rig_reaches(&r, 1));
	assert_int_equal(sessions_of(of), 1);
	close(fd);
	assert_true(rig_empties(&r));
	(void)rig_settle(&r);
}

static void check_pair(const char *from, const char *to, bool undone)
{
	const bool six = to[0] == '[' || from[0] == '[';
	const char *client = six ? "[::1]:0" : "127.0.0.1:0";
	struct endpoint *failed, *next;
	uint16_t port;

	next = prepare_beside(from, to, true);
	port = addr_port(&next->addr);
	assert_true(is_shared(old_one) && is_shared(next));
	assert_served_by(old_one, client, port); /* the new one does not listen yet */
	assert_int_equal(entries_listen(entries, &failed), 0);
	if (undone) {
		entries_undo_endpoint(entries, next);
	} else {
		entries_commit_endpoint(entries, next);
		entries_leave(entries, old_one, r.now_ns);
	}
	entries_end(entries);
	assert_false(is_shared(undone ? old_one : next));
	(void)rig_settle(&r);
	assert_int_equal(old_one->stage, undone ? ENDPOINT_OPEN : ENDPOINT_DEAF);
	if (!undone)
		leave_at_once(old_one);
	r.now_ns += NS_PER_SEC;
	(void)rig_settle(&r);
	assert_served_by(undone ? old_one : next, client, port);
	leave_at_once(undone ? old_one : next);
	assert_int_equal(rig_count(&fe->endpoints), 2);
}

static void overlapping_address_replaces_the_old_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(overlaps); i++) {
		if (i >= 3 && !have_v6())
			continue;
		check_pair(overlaps[i][0], overlaps[i][1], false);
		check_pair(overlaps[i][0], overlaps[i][1], true);
	}
}

/* Also one that is on its way out. */
static void overlapping_address_needs_no_transaction(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct endpoint *next = prepare_beside(overlaps[i][0], overlaps[i][1], false), *last;
		const struct config_bind b = bind_at("127.0.0.1:0", addr_port(&next->addr));
		struct entry_error error;

		assert_false(is_shared(old_one) || is_shared(next));
		entries_commit_endpoint(entries, next);
		entries_leave(entries, old_one, r.now_ns);
		last = entries_prepare_endpoint(entries, fe, NULL, &b, NULL, &error);
		assert_non_null(last);
		assert_false(is_shared(old_one) || is_shared(next) || is_shared(last));
		entries_undo_endpoint(entries, last);
		leave_at_once(old_one);
		assert_served_by(next, "127.0.0.1:0", addr_port(&next->addr));
		leave_at_once(next);
	}
}

static void overlapping_address_may_be_of_a_removed_frontend(void **state)
{
	struct config_bind bind = bind_at("127.0.0.1:0", addr_port(&ep->addr));
	struct config_frontend config = {.name = "g", .binds = &bind, .bind_count = 1};
	const struct entry_wish wish = {.config = &config, .backend = r.engine.backends[0]};
	const uint16_t port = addr_port(&ep->addr);
	struct entry_error error;
	struct frontend *next;

	(void)state;
	entries_remove_frontend(entries, fe, r.now_ns);
	next = entries_prepare_frontend(entries, &wish, &error);
	assert_non_null(next);
	entries_commit_frontend(entries, next);
	r.now_ns += NS_PER_SEC;
	(void)rig_settle(&r);
	assert_int_equal(r.engine.live.endpoints.count, 1);
	assert_served_by(list_entry(next->endpoints.next, struct endpoint, link), "127.0.0.1:0", port);
}

/* Two in one go, on a port that nobody has. The first is `*first`. */
static struct endpoint *prepare_both(const char *one, const char *other, struct endpoint **first)
{
	for (int i = 0; i < PORT_TRIES; i++) {
		struct config_bind b = bind_at(one, 0);
		struct entry_error error;
		struct endpoint *second;

		entries_begin(entries);
		*first = entries_prepare_endpoint(entries, fe, NULL, &b, NULL, &error);
		assert_non_null(*first);
		b = bind_at(other, addr_port(&(*first)->addr));
		second = entries_prepare_endpoint(entries, fe, NULL, &b, NULL, &error);
		if (second != NULL)
			return second;
		assert_int_equal(error.err, -EADDRINUSE);
		assert_null(error.in_way);
		entries_undo_endpoint(entries, *first);
		entries_end(entries);
	}
	fail_msg("%s and %s cannot be bound on any of %d ports", one, other, PORT_TRIES);
	return NULL;
}

static void check_both(const char *one, const char *other, const char *narrow)
{
	struct endpoint *first, *second = prepare_both(one, other, &first), *failed, *of;
	const uint16_t port = addr_port(&first->addr);

	assert_true(is_shared(first) && is_shared(second));
	assert_int_equal(entries_listen(entries, &failed), 0);
	entries_commit_endpoint(entries, first);
	entries_commit_endpoint(entries, second);
	entries_end(entries);
	assert_false(is_shared(first) || is_shared(second));
	(void)rig_settle(&r);
	of = narrow == one ? first : second;
	for (int i = 0; i < 3; i++)
		assert_served_by(of, narrow, port);
	/* Then the other one has its clients, if it is the wildcard. */
	leave_at_once(of);
	of = of == first ? second : first;
	assert_served_by(of, narrow, port);
	leave_at_once(of);
}

static void wildcard_and_address_may_both_be_new(void **state)
{
	static const char *const pairs[][2] = {
		{"0.0.0.0:0", "127.0.0.1:0"}, {":0", "127.0.0.1:0"}, {":0", "[::1]:0"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		if (i >= 1 && !have_v6())
			continue;
		check_both(pairs[i][0], pairs[i][1], pairs[i][1]);
		check_both(pairs[i][1], pairs[i][0], pairs[i][1]);
	}
}

/* They would share the clients of both. */
static void two_new_addresses_must_not_be_alike(void **state)
{
	static const char *const pairs[][2] = {{"127.0.0.1:0", "127.0.0.1:0"}, {"0.0.0.0:0", "0.0.0.0:0"},
					       {":0", "0.0.0.0:0"}, {"127.0.0.1:0", "[::ffff:127.0.0.1]:0"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		struct config_bind b = bind_at(pairs[i][0], 0);
		struct entry_error error;
		struct endpoint *first;

		if (i >= 2 && !have_v6())
			continue;
		entries_begin(entries);
		first = entries_prepare_endpoint(entries, fe, NULL, &b, NULL, &error);
		assert_non_null(first);
		b = bind_at(pairs[i][1], addr_port(&first->addr));
		assert_null(entries_prepare_endpoint(entries, fe, NULL, &b, NULL, &error));
		assert_int_equal(error.err, -EADDRINUSE);
		assert_ptr_equal(error.in_way, first);
		assert_false(is_shared(first));
		entries_undo_endpoint(entries, first);
		entries_end(entries);
	}
}

/* It belongs to others: it is not touched. */
static void inherited_socket_is_in_the_way(void **state)
{
	const struct config_bind b = bind_at("0.0.0.0:0", addr_port(&ep->addr));
	struct entry_error error;

	(void)state;
	ep->inherited = true;
	assert_null(entries_prepare_endpoint(entries, fe, NULL, &b, NULL, &error));
	assert_int_equal(error.err, -EADDRINUSE);
	assert_ptr_equal(error.in_way, ep);
	assert_false(is_shared(ep));
	ep->inherited = false;
}

/* ---- failures ---- */

static struct config_frontend changed, front;
static struct config_bind binds[3];

/* A whole reload: an address beside another, options of two sockets, a frontend that takes a socket over, one
 * endpoint that is to stay. */
static void fill(void)
{
	changed = *fe->config;
	changed.tcp.user_timeout_ms = 4321;
	changed.maxconn_per_source = 5;
	binds[0] = bind_at("0.0.0.0:0", addr_port(&ep->addr));
	binds[1] = *path->config;
	binds[1].owner.mode = 0640;
	memset(&front, 0, sizeof(front));
	front.name[0] = 'g';
	front.binds = &binds[1];
	front.bind_count = 1;
	front.tcp.dscp = 46;
}

static int prepare_frontend(struct frontend **next)
{
	const struct entry_wish wish = {.config = &front, .backend = r.engine.backends[0], .from = &path};
	struct entry_error error;

	*next = entries_prepare_frontend(entries, &wish, &error);
	return *next != NULL ? 0 : error.err;
}

static int prepare_parts(const struct entry_change *c, bool stays)
{
	struct frontend *next;
	struct entry_error error;
	struct endpoint *failed, *more;
	int err;

	more = entries_prepare_endpoint(entries, fe, c, &binds[0], NULL, &error);
	if (more == NULL)
		return error.err;
	err = prepare_frontend(&next);
	if (!err) {
		err = stays ? entries_prepare_stay(entries, ep) : 0;
		if (!err)
			err = entries_listen(entries, &failed);
		fail_nothing();
		entries_undo_stay(entries, ep);
		entries_undo_frontend(entries, next);
	}
	fail_nothing();
	entries_undo_endpoint(entries, more);
	return err;
}

/* 0 when all was prepared, and undone. */
static int try_all(void)
{
	const struct entry_wish wish = {.config = &changed, .backend = r.engine.backends[0]};
	struct entry_change c;
	int err;

	entries_begin(entries);
	err = entries_prepare_change(entries, fe, &wish, &c);
	if (!err) {
		err = prepare_parts(&c, ep->stage != ENDPOINT_OPEN);
		fail_nothing();
		entries_undo_change(entries, &c);
	}
	fail_nothing();
	entries_end(entries);
	return err;
}

struct picture {
	size_t frontends, endpoints, settings, versions, path_versions, retired;
	uint32_t objects, places, numbers;
	int descriptor; /* the lowest free one */
	int shared, ttl, timeout, fd, path_fd;
	enum endpoint_stage stage, path_stage;
	mode_t mode;
	ino_t inode;
	bool bound, locked, claimed;
	const void *heir, *current;
	long allocated;
};

static struct picture look(void)
{
	const struct live *live = &r.engine.live;
	struct stat st;
	struct picture p;

	assert_int_equal(stat(path->addr.un.sun_path, &st), 0);
	memset(&p, 0, sizeof(p)); /* compared as bytes */
	p.frontends = rig_count(&entries->frontends);
	p.endpoints = rig_count(&fe->endpoints);
	p.settings = rig_count(&fe->versions);
	p.versions = rig_count(&ep->versions);
	p.path_versions = rig_count(&path->versions);
	p.retired = retire_count(&live->retire);
	p.objects = live->objects.count;
	p.places = live->endpoints.count;
	p.numbers = live->versions.count;
	p.descriptor = dup(r.server);
	close(p.descriptor);
	p.shared = is_shared(ep);
	p.ttl = option_of(ep->fd, IPPROTO_IP, IP_MINTTL);
	p.timeout = option_of(ep->fd, IPPROTO_TCP, TCP_USER_TIMEOUT);
	p.fd = ep->fd;
	p.path_fd = path->fd;
	p.stage = ep->stage;
	p.path_stage = path->stage;
	p.mode = st.st_mode;
	p.inode = st.st_ino;
	p.bound = path->path.bound;
	p.locked = path->path.locked;
	p.claimed = path->claimed || ep->claimed;
	p.heir = path->heir;
	p.current = endpoint_settings(ep);
	p.allocated = allocated;
	return p;
}

static void assert_as_before(const struct picture *before, bool grows)
{
	struct picture now = look();

	if (grows) /* tables of numbers */
		now.allocated = before->allocated;
	assert_int_equal(now.allocated, before->allocated);
	assert_int_equal(now.descriptor, before->descriptor);
	assert_int_equal(now.ttl, before->ttl);
	assert_memory_equal(&now, before, sizeof(now));
}

/* Twice: the second time, tables have room. */
static void each_allocation_that_fails_leaves_all_as_it_was(void **state)
{
	(void)state;
	fill();
	for (int times = 0; times < 2; times++) {
		long failures = 0;

		for (int err = -1; err != 0; failures++) {
			const struct picture before = look();

			assert_in_range(failures, 0, 200);
			fail_allocations_from(failures);
			err = try_all();
			if (err)
				assert_int_equal(err, -ENOMEM);
			assert_as_before(&before, times == 0);
		}
		assert_in_range(failures, 10, 200);
	}
}

/* With the one that is to stay in each stage. */
static void each_call_that_fails_leaves_all_as_it_was(void **state)
{
	(void)state;
	fill();
	assert_int_equal(try_all(), 0);
	for (int leaves = 0; leaves < 2; leaves++) {
		unsigned refused = 0;
		long calls = 0;

		if (leaves)
			entries_leave(entries, ep, r.now_ns);
		for (bool failed = true; failed; calls++) {
			const struct picture before = look();
			int err;

			assert_in_range(calls, 0, 200);
			fail_call(calls);
			err = try_all();
			failed = call_has_failed();
			if (err)
				assert_int_equal(err, -EPERM);
			refused += err != 0;
			assert_as_before(&before, false);
		}
		assert_in_range(refused, 12, 200);
		assert_int_equal(try_all(), 0);
	}
	assert_int_equal(entries_stay(entries, ep), 0);
}

static void listen_that_fails_names_its_endpoint(void **state)
{
	const struct config_bind b = bind_at("127.0.0.1:0", 0);
	struct endpoint *first, *second, *failed = NULL;
	struct entry_error error;

	(void)state;
	entries_begin(entries);
	first = entries_prepare_endpoint(entries, fe, NULL, &b, NULL, &error);
	second = entries_prepare_endpoint(entries, fe, NULL, &b, NULL, &error);
	assert_true(first != NULL && second != NULL);
	fail_call(1);
	assert_int_equal(entries_listen(entries, &failed), -EPERM);
	assert_ptr_equal(failed, second);
	fail_nothing();
	entries_undo_endpoint(entries, first);
	entries_undo_endpoint(entries, second);
	entries_end(entries);
}

static void nobody_can_connect_before_listen(void **state)
{
	const struct config_bind b = bind_at("127.0.0.1:0", 0);
	struct endpoint *next, *failed;
	struct entry_error error;
	int fd;

	(void)state;
	entries_begin(entries);
	next = entries_prepare_endpoint(entries, fe, NULL, &b, NULL, &error);
	assert_non_null(next);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, &next->addr.sa, next->addr.len), -1);
	assert_int_equal(errno, ECONNREFUSED);
	close(fd);
	assert_int_equal(entries_listen(entries, &failed), 0);
	assert_int_equal(entries_listen(entries, &failed), 0); /* harmless */
	entries_commit_endpoint(entries, next);
	entries_end(entries);
	(void)rig_settle(&r);
	assert_served_by(next, "127.0.0.1:0", addr_port(&next->addr));
}

/* All that a commit needs is there. */
static void commit_needs_no_memory(void **state)
{
	const struct entry_wish wish = {.config = &changed, .backend = r.engine.backends[0]};
	struct endpoint *more, *failed;
	struct entry_error error;
	struct entry_change c;
	struct frontend *next;
	struct stat st;

	(void)state;
	fill();
	entries_begin(entries);
	assert_int_equal(entries_prepare_change(entries, fe, &wish, &c), 0);
	more = entries_prepare_endpoint(entries, fe, &c, &binds[0], NULL, &error);
	assert_non_null(more);
	assert_int_equal(prepare_frontend(&next), 0);
	assert_int_equal(entries_listen(entries, &failed), 0);
	fail_allocations_from(0);
	entries_commit_change(entries, &c);
	entries_commit_frontend(entries, next);
	entries_commit_endpoint(entries, more);
	entries_leave(entries, ep, r.now_ns);
	entries_end(entries);
	fail_nothing();
	assert_int_equal(option_of(more->fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 4321);
	assert_int_equal(stat(path->addr.un.sun_path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	r.now_ns += NS_PER_SEC;
	(void)rig_settle(&r);
	assert_int_equal(r.engine.live.endpoints.count, 2);
	assert_served_by(more, "127.0.0.1:0", addr_port(&more->addr));
}

#define TRANSACTION_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TRANSACTION_TEST(overlapping_address_replaces_the_old_one),
		TRANSACTION_TEST(overlapping_address_needs_no_transaction),
		TRANSACTION_TEST(overlapping_address_may_be_of_a_removed_frontend),
		TRANSACTION_TEST(wildcard_and_address_may_both_be_new),
		TRANSACTION_TEST(two_new_addresses_must_not_be_alike),
		TRANSACTION_TEST(inherited_socket_is_in_the_way),
		TRANSACTION_TEST(each_allocation_that_fails_leaves_all_as_it_was),
		TRANSACTION_TEST(each_call_that_fails_leaves_all_as_it_was),
		TRANSACTION_TEST(listen_that_fails_names_its_endpoint),
		TRANSACTION_TEST(nobody_can_connect_before_listen),
		TRANSACTION_TEST(commit_needs_no_memory),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
