/* SPDX-License-Identifier: MIT
 *
 * test_leave.c - endpoints leave without losing a client, stay after all, and go with their frontend.
 */
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../base/log_take.h"
#include "entry_rig.h"

#define DEAF_NS (900 * NS_PER_MS)

int __real_sys_accept(int fd, struct sockaddr *sa, socklen_t *len);
int __real_sys_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_sys_accept(int fd, struct sockaddr *sa, socklen_t *len);
int __wrap_sys_setsockopt(int fd, int level, int name, const void *value, socklen_t len);

static int accept_err, option_err; /* 0 = none */
static unsigned accepts_failed;

int __wrap_sys_accept(int fd, struct sockaddr *sa, socklen_t *len)
{
	accepts_failed += accept_err != 0;
	return accept_err != 0 ? accept_err : __real_sys_accept(fd, sa, len);
}

int __wrap_sys_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	return option_err != 0 ? option_err : __real_sys_setsockopt(fd, level, name, value, len);
}

static struct entry_rig r;
static struct entries *entries;
static struct endpoint *ep;
static struct addr at; /* of the endpoint */

static void find(void)
{
	entries = &r.engine.entries;
	ep = first_endpoint(&r.engine);
	at = ep->addr;
}

static int setup(void **state)
{
	(void)state;
	rig_open(&r);
	find();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	accept_err = option_err = 0;
	rig_close(&r);
	return 0;
}

static int min_ttl(int fd)
{
	int ttl = -1;
	socklen_t len = sizeof(ttl);

	assert_int_equal(getsockopt(fd, IPPROTO_IP, IP_MINTTL, &ttl, &len), 0);
	return ttl;
}

static void set_ttl(int fd, int ttl)
{
	assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl)), 0);
}

/* One that a deaf socket hears, as if its handshake had begun before. */
static int early_client(void)
{
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	set_ttl(fd, 255);
	assert_int_equal(connect(fd, &at.sa, at.len), 0);
	return fd;
}

static bool is_connected(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	return poll(&p, 1, 0) == 1 && (p.revents & (POLLERR | POLLHUP)) == 0;
}

static int listeners(void)
{
	return atomic_load(&ep->listeners);
}

static bool is_refused(void)
{
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const bool refused = connect(fd, &at.sa, at.len) != 0 && errno == ECONNREFUSED;

	close(fd);
	return refused;
}

/* ---- leaving ---- */

static bool (*is_over)(void *arg, uint64_t round);
static unsigned over_asked;

/* As if a worker was busy: no round is over when it is looked at first. */
static bool is_over_later(void *arg, uint64_t round)
{
	return ++over_asked % 8 == 0 && is_over(arg, round);
}

/* Control may read them whenever it looks at the addresses of the frontend. */
static void settings_stay_as_long_as_the_endpoint(void **state)
{
	struct retire_rounds *rounds = &r.engine.live.retire.rounds;
	const struct frontend *fe = ep->frontend;

	(void)state;
	is_over = rounds->is_over;
	rounds->is_over = is_over_later;
	entries_leave(entries, ep, r.now_ns);
	r.now_ns += DEAF_NS;
	for (unsigned i = 0; !list_empty(&fe->endpoints); i++) {
		assert_in_range(i, 0, RIG_TURNS_MAX);
		assert_false(list_empty(&ep->versions));
		if (i % (RIG_WORKERS + 1) < RIG_WORKERS)
			rig_turn(&r, i % (RIG_WORKERS + 1));
		else
			(void)rig_control(&r);
	}
	rounds->is_over = is_over;
}

static void deaf_endpoint_hears_nobody_new_and_leaves_after_900_ms(void **state)
{
	int fds[2];

	(void)state;
	fds[0] = rig_client(&at);
	assert_true(rig_reaches(&r, 1));
	entries_leave(entries, ep, r.now_ns);
	entries_leave(entries, ep, r.now_ns + 5); /* harmless */
	assert_int_equal(ep->stage, ENDPOINT_DEAF);
	assert_int_equal(min_ttl(ep->fd), 255);
	assert_true(rig_control(&r) == r.now_ns + DEAF_NS);
	fds[1] = rig_client(&at);
	r.now_ns += DEAF_NS - 1;
	assert_true(rig_settle(&r) == r.now_ns + 1);
	assert_int_equal(ep->stage, ENDPOINT_DEAF);
	assert_int_equal(listeners(), RIG_WORKERS);
	assert_false(is_connected(fds[1]));
	assert_int_equal(rig_forwarding(&r), 1);
	r.now_ns++;
	assert_true(rig_control(&r) == CLOCK_NEVER);
	assert_int_equal(ep->stage, ENDPOINT_LEAVING);
	(void)rig_settle(&r);
	assert_int_equal(rig_forwarding(&r), 1);
	assert_true(is_refused());
	for (int i = 0; i < 2; i++)
		close(fds[i]);
}

/* The socket that was accepted would discard all that its client sends. */
static void client_of_a_deaf_endpoint_is_heard(void **state)
{
	char got[8];
	int fd, server;

	(void)state;
	entries_leave(entries, ep, r.now_ns);
	fd = early_client();
	assert_true(rig_reaches(&r, 1));
	for (unsigned i = 0; i < RIG_WORKERS; i++)
		for (struct list *l = r.workers[i]->live.next; l != &r.workers[i]->live; l = l->next)
			assert_int_equal(
				min_ttl(list_entry(l, struct session, link)->sides[SIDE_CLIENT].sock.fd), 0);
	server = accept(r.server, NULL, NULL);
	assert_true(server >= 0);
	set_ttl(fd, 64);
	assert_int_equal(send(fd, "hello", 5, 0), 5);
	(void)rig_settle(&r);
	assert_int_equal(recv(server, got, sizeof(got), MSG_DONTWAIT), 5);
	close(server);
	close(fd);
}

static void clients_in_the_queue_are_taken_and_the_last_worker_closes(void **state)
{
	struct list *versions = &ep->versions;
	const uint32_t slot = ep->slot;
	int fds[3];

	(void)state;
	entries_leave(entries, ep, r.now_ns);
	r.now_ns += DEAF_NS;
	for (int i = 0; i < 3; i++)
		fds[i] = early_client();
	(void)rig_control(&r);
	for (int i = 0; i < RIG_SETTLED; i++)
		rig_turn(&r, 0);
	(void)rig_control(&r);
	assert_int_equal(listeners(), RIG_WORKERS - 1);
	assert_int_equal(ep->stage, ENDPOINT_LEAVING);
	assert_true(ep->fd >= 0);
	assert_ptr_equal(entries_at(entries, slot), ep);
	(void)rig_settle(&r);
	assert_int_equal(listeners(), 0);
	assert_int_equal(ep->stage, ENDPOINT_CLOSED);
	assert_int_equal(ep->fd, -1);
	assert_null(entries_at(entries, slot));
	assert_true(is_refused());
	assert_int_equal(rig_forwarding(&r), 3);
	assert_int_equal(rig_count(versions), 1); /* sessions use it */
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	assert_true(rig_empties(&r));
	(void)rig_settle(&r);
	assert_true(list_empty(&first_frontend(&r.engine)->endpoints));
	assert_int_equal(retire_count(&r.engine.live.retire), 0);
	assert_int_equal(r.engine.live.endpoints.count, 0);
}

/* Nobody has a descriptor for them: they are not reset, but wait until there is one. */
static void clients_in_the_queue_wait_until_there_are_descriptors(void **state)
{
	int fds[3];

	(void)state;
	entries_leave(entries, ep, r.now_ns);
	r.now_ns += DEAF_NS;
	for (int i = 0; i < 3; i++)
		fds[i] = early_client();
	accept_err = -EMFILE;
	(void)rig_settle(&r);
	assert_true(accepts_failed >= RIG_WORKERS);
	assert_int_equal(ep->stage, ENDPOINT_LEAVING);
	assert_true(ep->fd >= 0);
	accepts_failed = 0;
	while (accepts_failed < 2 * RIG_WORKERS) /* they try again */
		(void)rig_settle(&r);
	assert_int_equal(ep->stage, ENDPOINT_LEAVING);
	accept_err = 0;
	while (ep->stage == ENDPOINT_LEAVING)
		(void)rig_settle(&r);
	assert_int_equal(rig_forwarding(&r), 3);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	assert_true(rig_empties(&r));
}

/* Its owner has shut it down: nobody can be queued. */
static void socket_that_does_not_listen_is_left_at_once(void **state)
{
	(void)state;
	entries_leave(entries, ep, r.now_ns);
	r.now_ns += DEAF_NS;
	accept_err = -EINVAL;
	(void)rig_settle(&r);
	assert_int_equal(r.engine.live.endpoints.count, 0);
	assert_true(is_refused());
}

static void endpoint_may_stay_while_its_last_accepts_fail(void **state)
{
	const int fd = early_client();

	(void)state;
	entries_leave(entries, ep, r.now_ns);
	r.now_ns += DEAF_NS;
	accept_err = -EMFILE;
	(void)rig_settle(&r);
	assert_int_equal(entries_stay(entries, ep), 0);
	(void)rig_settle(&r);
	accept_err = 0;
	while (rig_forwarding(&r) < 1)
		(void)rig_settle(&r);
	assert_int_equal(ep->stage, ENDPOINT_OPEN);
	assert_int_equal(listeners(), RIG_WORKERS);
	close(fd);
	assert_true(rig_empties(&r));
}

static void daemon_may_end_while_its_last_accepts_fail(void **state)
{
	(void)state;
	entries_leave(entries, ep, r.now_ns);
	r.now_ns += DEAF_NS;
	accept_err = -EMFILE;
	(void)rig_settle(&r);
	assert_int_equal(ep->stage, ENDPOINT_LEAVING);
	rig_close(&r); /* which returns */
	accept_err = 0;
	rig_open(&r);
	find();
}

static void no_news(void *arg)
{
	(void)arg;
}

static void endpoint_that_hears_all_the_same_leaves_at_once_and_says_so(void **state)
{
	struct log_ring *ring = log_ring_new(no_news, NULL);
	char line[512];
	enum log_level level;
	int64_t wall_ns;
	size_t n;

	(void)state;
	assert_non_null(ring);
	log_use_ring(ring);
	log_set_level(LOG_LEVEL_WARNING);
	option_err = -EPERM;
	entries_leave(entries, ep, r.now_ns);
	option_err = 0;
	log_use_ring(NULL);
	assert_int_equal(ep->stage, ENDPOINT_LEAVING);
	n = log_take(ring, &level, &wall_ns, line, sizeof(line) - 1);
	line[n] = '\0';
	log_ring_free(ring);
	log_set_level(LOG_LEVEL_ERROR);
	assert_non_null(strstr(line, "cannot be made deaf: Operation not permitted"));
	(void)rig_settle(&r);
	assert_int_equal(r.engine.live.endpoints.count, 0);
	assert_true(is_refused());
}

/* ---- staying after all ---- */

static void assert_stays(void)
{
	const int before = (int)rig_forwarding(&r);
	const int fd = rig_client(&at);

	assert_int_equal(entries_stay(entries, ep), 0); /* harmless */
	assert_int_equal(ep->stage, ENDPOINT_OPEN);
	assert_int_equal(min_ttl(ep->fd), 0);
	assert_true(rig_reaches(&r, (unsigned)before + 1));
	assert_true(rig_settle(&r) == CLOCK_NEVER);
	assert_int_equal(ep->stage, ENDPOINT_OPEN);
	assert_int_equal(listeners(), RIG_WORKERS);
	assert_ptr_equal(entries_at(entries, ep->slot), ep);
	assert_int_equal(retire_count(&r.engine.live.retire), 0);
	close(fd);
	assert_true(rig_empties(&r));
}

/* How many turns each worker has had since the order to leave. */
static void leave_and_turn(unsigned first, unsigned second)
{
	entries_leave(entries, ep, r.now_ns);
	r.now_ns += DEAF_NS;
	(void)rig_control(&r);
	assert_int_equal(ep->stage, ENDPOINT_LEAVING);
	for (unsigned i = 0; i < first; i++)
		rig_turn(&r, 0);
	for (unsigned i = 0; i < second; i++)
		rig_turn(&r, 1);
	assert_int_equal(entries_stay(entries, ep), 0);
}

static void endpoint_stays_after_all_in_each_stage(void **state)
{
	(void)state;
	assert_stays();
	entries_leave(entries, ep, r.now_ns);
	assert_int_equal(entries_stay(entries, ep), 0);
	assert_stays();
	for (unsigned first = 0; first < 4; first++) {
		for (unsigned second = 0; second < 4; second++) {
			leave_and_turn(first, second);
			assert_stays();
		}
	}
	leave_and_turn(RIG_SETTLED, RIG_SETTLED);
	assert_int_equal(listeners(), 0);
	assert_stays();
	entries_leave(entries, ep, r.now_ns);
	r.now_ns += DEAF_NS;
	for (int i = 0; i < RIG_TURNS_MAX && ep->stage != ENDPOINT_CLOSED; i++) {
		rig_turn(&r, 0);
		rig_turn(&r, 1);
		(void)rig_control(&r);
		if (ep->stage == ENDPOINT_CLOSED)
			assert_int_equal(entries_stay(entries, ep), -EBADF);
	}
	assert_true(is_refused());
}

/* ---- changes of what leaves ---- */

static struct config_frontend changed;

static struct entry_change prepare(const struct config_bind *bind)
{
	const struct endpoint *const it = ep;
	const struct entry_wish wish = {
		.config = &changed,
		.backend = r.engine.backends[0],
		.routes = r.engine.backends,
		.binds = bind != NULL ? &bind : NULL,
		.endpoints = &it,
		.bind_count = 1,
	};
	struct entry_change c;

	assert_int_equal(entries_prepare_change(entries, ep->frontend, &wish, &c), 0);
	return c;
}

/* The stages in which it may be when its frontend changes: open, deaf, leaving. */
static void go_to_stage(int stage)
{
	if (stage > 0)
		entries_leave(entries, ep, r.now_ns);
	if (stage < 2)
		return;
	r.now_ns += DEAF_NS;
	(void)rig_control(&r);
	assert_int_equal(ep->stage, ENDPOINT_LEAVING);
}

static void endpoint_that_stays_after_all_has_the_current_settings(void **state)
{
	struct config_bind bind = r.config.bind;
	unsigned n = 0;

	(void)state;
	for (int at_prepare = 0; at_prepare < 3; at_prepare++) {
		for (int at_commit = at_prepare; at_commit < 3; at_commit++) {
			struct entry_change c;

			changed = *r.engine.config->frontends;
			changed.maxconn = 20 + ++n;
			bind.accept_proxy = n % 2 ? CONFIG_ACCEPT_PROXY_OPTIONAL : CONFIG_ACCEPT_PROXY_OFF;
			go_to_stage(at_prepare);
			c = prepare(&bind);
			if (at_commit > at_prepare)
				go_to_stage(at_commit);
			entries_commit_change(entries, &c);
			assert_int_equal(entries_stay(entries, ep), 0);
			assert_ptr_equal(endpoint_settings(ep)->front, ep->frontend->settings);
			assert_int_equal(endpoint_settings(ep)->front->config->maxconn, 20 + n);
			assert_int_equal(ep->config->accept_proxy, bind.accept_proxy);
			assert_int_equal(endpoint_settings(ep)->config->accept_proxy, bind.accept_proxy);
			(void)rig_settle(&r);
			assert_int_equal(listeners(), RIG_WORKERS);
		}
	}
	assert_int_equal(n, 6);
	assert_int_equal(bind.accept_proxy, CONFIG_ACCEPT_PROXY_OFF);
	assert_stays();
}

static unsigned paused_listeners(void)
{
	return (unsigned)atomic_load(&ep->frontend->paused.count);
}

/* In each stage: it waits for room when it begins to leave, or not until it stays. */
static void paused_endpoint_that_stays_after_all_hears_of_a_higher_limit(void **state)
{
	int fds[2];

	(void)state;
	for (int stage = 0; stage < 3; stage++) {
		struct entry_change c;

		changed = *r.engine.config->frontends;
		changed.maxconn = 1;
		c = prepare(NULL);
		entries_commit_change(entries, &c);
		fds[0] = rig_client(&at);
		assert_true(rig_reaches(&r, 1));
		fds[1] = rig_client(&at);
		(void)rig_settle(&r);
		assert_true(paused_listeners() > 0);
		assert_int_equal(rig_forwarding(&r), 1);
		go_to_stage(stage);
		changed.maxconn = 2;
		c = prepare(NULL);
		entries_commit_change(entries, &c);
		assert_int_equal(entries_stay(entries, ep), 0);
		assert_true(rig_reaches(&r, 2));
		for (int i = 0; i < 2; i++)
			close(fds[i]);
		assert_true(rig_empties(&r));
		(void)rig_settle(&r);
		assert_int_equal(listeners(), RIG_WORKERS);
		assert_int_equal(paused_listeners(), 0);
	}
}

/* A client may have been accepted by the kernel while it was deaf. */
static void endpoint_that_was_deaf_remembers_it(void **state)
{
	int fd;

	(void)state;
	entries_leave(entries, ep, r.now_ns);
	fd = early_client();
	assert_int_equal(entries_stay(entries, ep), 0);
	assert_true(rig_reaches(&r, 1));
	for (unsigned i = 0; i < RIG_WORKERS; i++)
		for (struct list *l = r.workers[i]->live.next; l != &r.workers[i]->live; l = l->next)
			assert_int_equal(
				min_ttl(list_entry(l, struct session, link)->sides[SIDE_CLIENT].sock.fd), 0);
	close(fd);
}

/* ---- sockets of others ---- */

static int inherit(void **state)
{
	int fd, theirs;

	rig_build(&r);
	r.config.bind.addr.kind = ADDR_FD;
	engine_free(&r.engine);
	small_engine_open(&r.engine, &r.config.config, RIG_WORKERS, rig_no_news);
	memset(&at, 0, sizeof(at));
	at.in.sin_family = AF_INET;
	at.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	at.len = sizeof(at.in);
	theirs = rig_listen_at(&at);
	fd = dup(theirs);
	*state = (void *)(intptr_t)theirs;
	if (entries_adopt(&r.engine.entries, &r.config.bind, &fd, 1) != 0)
		return -1;
	rig_start_workers(&r);
	find();
	return 0;
}

static int disinherit(void **state)
{
	close((int)(intptr_t)*state);
	return teardown(state);
}

static void inherited_socket_is_only_closed(void **state)
{
	const int theirs = (int)(intptr_t)*state;
	const int fd = rig_client(&at);
	int after;

	assert_true(rig_reaches(&r, 1));
	entries_leave(entries, ep, r.now_ns);
	assert_int_equal(ep->stage, ENDPOINT_LEAVING); /* at once: it is never deaf */
	assert_int_equal(min_ttl(theirs), 0);
	assert_true(rig_settle(&r) == CLOCK_NEVER);
	assert_int_equal(ep->stage, ENDPOINT_CLOSED);
	assert_int_equal(ep->fd, -1);
	assert_int_equal(rig_forwarding(&r), 1);
	/* Its next owner goes on with it. */
	after = rig_client(&at);
	assert_true(is_connected(after));
	(void)rig_settle(&r);
	assert_int_equal(rig_forwarding(&r), 1);
	close(accept(theirs, NULL, NULL));
	close(after);
	close(fd);
}

/* ---- with their frontend ---- */

static void removed_frontend_goes_with_its_last_session(void **state)
{
	struct frontend *fe = first_frontend(&r.engine);
	const struct backend *b = r.engine.backends[0];
	const int fd = rig_client(&at);

	(void)state;
	assert_true(rig_reaches(&r, 1));
	assert_int_equal(b->frontends, 1);
	entries_remove_frontend(entries, fe, r.now_ns);
	assert_null(entries_find(entries, "f"));
	r.now_ns += DEAF_NS;
	(void)rig_settle(&r);
	assert_true(is_refused());
	assert_int_equal(rig_forwarding(&r), 1);
	assert_ptr_equal(entries->leaving.next, &fe->link);
	assert_int_equal(b->frontends, 1);
	close(fd);
	assert_true(rig_empties(&r));
	(void)rig_settle(&r);
	assert_true(list_empty(&entries->leaving));
	assert_int_equal(b->frontends, 0);
	assert_int_equal(retire_count(&r.engine.live.retire), 0);
	assert_int_equal(entries->endpoint_count, 0);
}

/* Whatever stage it has reached when the daemon ends; freed in the teardown. */
static void daemon_may_end_while_a_frontend_leaves(void **state)
{
	(void)state;
	entries_remove_frontend(entries, first_frontend(&r.engine), r.now_ns);
	assert_int_equal(ep->stage, ENDPOINT_DEAF);
}

static void daemon_may_end_while_workers_leave(void **state)
{
	(void)state;
	entries_remove_frontend(entries, first_frontend(&r.engine), r.now_ns);
	r.now_ns += DEAF_NS;
	(void)rig_control(&r);
	rig_turn(&r, 0);
	assert_int_equal(ep->stage, ENDPOINT_LEAVING);
}

#define LEAVE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LEAVE_TEST(settings_stay_as_long_as_the_endpoint),
		LEAVE_TEST(deaf_endpoint_hears_nobody_new_and_leaves_after_900_ms),
		LEAVE_TEST(client_of_a_deaf_endpoint_is_heard),
		LEAVE_TEST(clients_in_the_queue_are_taken_and_the_last_worker_closes),
		LEAVE_TEST(clients_in_the_queue_wait_until_there_are_descriptors),
		LEAVE_TEST(socket_that_does_not_listen_is_left_at_once),
		LEAVE_TEST(endpoint_may_stay_while_its_last_accepts_fail),
		LEAVE_TEST(daemon_may_end_while_its_last_accepts_fail),
		LEAVE_TEST(endpoint_that_hears_all_the_same_leaves_at_once_and_says_so),
		LEAVE_TEST(endpoint_stays_after_all_in_each_stage),
		LEAVE_TEST(endpoint_that_was_deaf_remembers_it),
		LEAVE_TEST(endpoint_that_stays_after_all_has_the_current_settings),
		LEAVE_TEST(paused_endpoint_that_stays_after_all_hears_of_a_higher_limit),
		cmocka_unit_test_setup_teardown(inherited_socket_is_only_closed, inherit, disinherit),
		LEAVE_TEST(removed_frontend_goes_with_its_last_session),
		LEAVE_TEST(daemon_may_end_while_a_frontend_leaves),
		LEAVE_TEST(daemon_may_end_while_workers_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
