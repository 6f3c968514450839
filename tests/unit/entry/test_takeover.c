/* SPDX-License-Identifier: MIT
 *
 * test_takeover.c - an endpoint takes over the socket of another: no client in its queue is lost, none goes
 * to where it no longer belongs, and a takeover that is undone has changed nothing.
 */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "entry_rig.h"
#include "weir/io/uring.h"

#define DEAF_NS (900 * NS_PER_MS)
#define QUEUED	5u

int __real_sys_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __real_sys_accept(int fd, struct sockaddr *sa, socklen_t *len);
int __wrap_sys_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_sys_accept(int fd, struct sockaddr *sa, socklen_t *len);

static int option_err, accept_err; /* 0 = none */

int __wrap_sys_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	return option_err != 0 ? option_err : __real_sys_setsockopt(fd, level, name, value, len);
}

int __wrap_sys_accept(int fd, struct sockaddr *sa, socklen_t *len)
{
	return accept_err != 0 ? accept_err : __real_sys_accept(fd, sa, len);
}

static struct entry_rig r;
static struct entries *entries;
static struct endpoint *ep; /* whose socket is taken over */
static struct addr at;	    /* of the socket */
static struct config_frontend front; /* of the frontend that takes it over */
static struct config_bind bind_of_next;
static char folder[] = "/tmp/weir-takeover-XXXXXX";

static void find(void)
{
	entries = &r.engine.entries;
	ep = first_endpoint(&r.engine);
	at = ep->addr;
	memset(&front, 0, sizeof(front));
	front.name[0] = 'g';
	bind_of_next = *ep->config;
	front.binds = &bind_of_next;
	front.bind_count = 1;
}

static int setup(void **state)
{
	(void)state;
	rig_open(&r);
	find();
	return 0;
}

/* With workers that a ring tells what has happened: a cancel, too, ends a turn later. */
static int setup_ring(void **state)
{
	char why[URING_WHY_MAX];
	const struct io_driver *ring = uring_driver(why, sizeof(why));
	struct endpoint *failed;
	int err;

	if (ring == NULL) {
		print_message("with epoll alone: %s\n", why);
		return setup(state);
	}
	rig_build(&r);
	check(entries_bind(&r.engine.entries, &failed) == 0);
	for (unsigned i = 0; i < RIG_WORKERS; i++) {
		r.workers[i] = r.engine.workers[i] = worker_new(&r.engine, i, ring, &err);
		check(r.workers[i] != NULL);
	}
	find();
	return 0;
}

/* At a Unix path. */
static int setup_path(void **state)
{
	struct config_bind *b = &r.config.bind;
	struct endpoint *failed;

	(void)state;
	rig_build(&r);
	engine_free(&r.engine);
	b->addr.kind = ADDR_UNIX;
	b->owner = (struct config_socket_owner){.mode = 0600, .uid = (uid_t)-1, .gid = (gid_t)-1};
	memset(&b->addr.addr, 0, sizeof(b->addr.addr));
	b->addr.addr.un.sun_family = AF_UNIX;
	(void)snprintf(b->addr.addr.un.sun_path, sizeof(b->addr.addr.un.sun_path), "%s/s", folder);
	b->addr.addr.len = sizeof(b->addr.addr.un);
	small_engine_open(&r.engine, &r.config.config, RIG_WORKERS, rig_no_news);
	check(entries_bind(&r.engine.entries, &failed) == 0);
	rig_start_workers(&r);
	find();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	option_err = accept_err = 0;
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

static struct frontend *prepare_next(void)
{
	const struct entry_wish wish = {
		.config = &front, .backend = r.engine.backends[0], .routes = r.engine.backends, .from = &ep};
	struct entry_error error;
	struct frontend *next = entries_prepare_frontend(entries, &wish, &error);

	assert_non_null(next);
	assert_int_equal(error.err, 0);
	return next;
}

static struct endpoint *endpoint_of(const struct frontend *fe)
{
	return list_entry(fe->endpoints.next, struct endpoint, link);
}

static int min_ttl(int fd)
{
	int ttl = -1;
	socklen_t len = sizeof(ttl);

	assert_int_equal(getsockopt(fd, IPPROTO_IP, IP_MINTTL, &ttl, &len), 0);
	return ttl;
}

static void turn(unsigned first, unsigned second)
{
	for (unsigned i = 0; i < first; i++)
		rig_turn(&r, 0);
	for (unsigned i = 0; i < second; i++)
		rig_turn(&r, 1);
}

static void knock(int *fds)
{
	for (unsigned i = 0; i < QUEUED; i++)
		fds[i] = rig_client(&at);
}

static void hang_up(const int *fds)
{
	for (unsigned i = 0; i < QUEUED; i++)
		close(fds[i]);
	assert_true(rig_empties(&r));
	(void)rig_settle(&r);
}

/* The one socket lives on with `next` alone. */
static void assert_taken_over(struct frontend *next)
{
	struct endpoint *now = endpoint_of(next);

	(void)rig_settle(&r);
	assert_ptr_equal(atomic_load(&now->from), NULL);
	assert_int_equal(atomic_load(&now->listeners), RIG_WORKERS);
	assert_int_equal(now->stage, ENDPOINT_OPEN);
	assert_true(addr_equal(&now->addr, &at) || addr_is_unix(&at));
}

/* ---- who is queued ---- */

/* Between frontends, whatever turns workers have had since. */
static void clients_in_the_queue_belong_to_the_new_frontend(void **state)
{
	(void)state;
	for (unsigned first = 0; first < 4; first++) {
		for (unsigned second = 0; second < 4; second++) {
			struct frontend *old = ep->frontend, *next = prepare_next();
			const int before = atomic_load(&old->sessions);
			int fds[QUEUED];

			knock(fds); /* no worker has a turn before the commit */
			entries_commit_frontend(entries, next);
			assert_int_equal(ep->stage, ENDPOINT_LEAVING);
			entries_remove_frontend(entries, old, r.now_ns);
			turn(first, second);
			assert_true(rig_reaches(&r, QUEUED));
			assert_int_equal(atomic_load(&next->sessions), QUEUED);
			assert_int_equal(before, 0);
			assert_taken_over(next);
			hang_up(fds);
			assert_int_equal(retire_count(&r.engine.live.retire), 0);
			ep = endpoint_of(next);
		}
	}
}

/* The limit of the old one must not be exceeded for them. */
static void clients_who_wait_for_a_limit_are_let_in_by_the_new_frontend(void **state)
{
	struct frontend *old = ep->frontend, *next;
	int fds[QUEUED], first;

	(void)state;
	frontend_set_limit(old, 1);
	first = rig_client(&at);
	assert_true(rig_reaches(&r, 1));
	knock(fds);
	(void)rig_settle(&r);
	assert_int_equal(rig_forwarding(&r), 1);
	assert_true(atomic_load(&old->paused.count) > 0);
	next = prepare_next();
	entries_commit_frontend(entries, next);
	assert_true(rig_reaches(&r, 1 + QUEUED));
	assert_int_equal(atomic_load(&old->sessions), 1);
	assert_int_equal(atomic_load(&next->sessions), QUEUED);
	assert_true(paused_is_empty(&old->paused));
	entries_remove_frontend(entries, old, r.now_ns);
	close(first);
	hang_up(fds);
}

/* The kernel may wake a worker for a client at the old endpoint just as it leaves there. Who begins at the
 * new one only after that finds the client in the queue. */
static void no_worker_listens_at_both(void **state)
{
	const uint32_t old = ep->slot;
	struct frontend *next = prepare_next();
	const uint32_t slot = endpoint_of(next)->slot;
	int fds[QUEUED];

	(void)state;
	knock(fds);
	entries_commit_frontend(entries, next);
	for (unsigned i = 0; i < RIG_TURNS_MAX && rig_forwarding(&r) < QUEUED; i++) {
		struct worker *w = r.workers[i % RIG_WORKERS];

		rig_turn(&r, i % RIG_WORKERS);
		assert_true(worker_listener(w, old)->worker == NULL ||
			    worker_listener(w, slot)->worker == NULL);
	}
	assert_int_equal(atomic_load(&next->sessions), QUEUED);
	hang_up(fds);
}

/* No last accept is tried any more: it may have had no descriptor for who is queued. */
static void last_accepts_that_fail_hold_nobody_up(void **state)
{
	struct frontend *next;
	int fds[QUEUED];

	(void)state;
	knock(fds);
	accept_err = -EMFILE;
	entries_leave(entries, ep, r.now_ns);
	r.now_ns += DEAF_NS;
	(void)rig_settle(&r);
	assert_int_equal(atomic_load(&ep->listeners), RIG_WORKERS);
	next = prepare_next();
	entries_commit_frontend(entries, next);
	turn(2, 2);
	assert_int_equal(atomic_load(&ep->listeners), 0);
	assert_int_equal(atomic_load(&endpoint_of(next)->listeners), RIG_WORKERS);
	accept_err = 0;
	while (rig_forwarding(&r) < QUEUED) /* after their pause */
		(void)rig_settle(&r);
	assert_int_equal(atomic_load(&next->sessions), QUEUED);
	hang_up(fds);
}

/* A second takeover, before workers have seen the first one. */
static void socket_may_pass_through_several_hands(void **state)
{
	(void)state;
	for (unsigned turns = 0; turns < 4; turns++) {
		struct frontend *hands[4] = {ep->frontend};
		int fds[QUEUED];

		knock(fds);
		for (int i = 1; i < 4; i++) {
			front.name[0] = (char)('g' + i);
			hands[i] = prepare_next();
			entries_commit_frontend(entries, hands[i]);
			entries_remove_frontend(entries, hands[i - 1], r.now_ns);
			ep = endpoint_of(hands[i]);
			turn(turns, turns / 2);
		}
		assert_true(rig_reaches(&r, QUEUED));
		assert_taken_over(hands[3]);
		hang_up(fds);
		assert_int_equal(retire_count(&r.engine.live.retire), 0);
		assert_int_equal(r.engine.live.endpoints.count, 1);
	}
}

static void daemon_that_ends_takes_who_is_queued(void **state)
{
	int fds[QUEUED];
	struct frontend *next;

	(void)state;
	next = prepare_next();
	knock(fds);
	entries_commit_frontend(entries, next);
	engine_drain(&r.engine, r.now_ns);
	for (unsigned i = 0; i < RIG_TURNS_MAX; i++) {
		if (!r.workers[i % RIG_WORKERS]->finished)
			rig_turn(&r, i % RIG_WORKERS);
		r.now_ns += NS_PER_MS;
		(void)rig_control(&r);
	}
	assert_int_equal(atomic_load(&next->sessions), QUEUED);
	for (unsigned i = 0; i < QUEUED; i++)
		close(fds[i]);
}

/* ---- undone ---- */

static void takeover_that_is_undone_has_changed_nothing(void **state)
{
	const struct endpoint before = *ep;
	const uint32_t places = r.engine.live.endpoints.count;
	int fd;

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct frontend *next = prepare_next();

		assert_int_equal(ep->stage, ENDPOINT_OPEN);
		entries_undo_frontend(entries, next);
		assert_null(ep->heir);
		assert_false(ep->claimed);
		assert_int_equal(ep->fd, before.fd);
		assert_int_equal(r.engine.live.endpoints.count, places);
		(void)rig_settle(&r);
	}
	fd = rig_client(&at);
	assert_true(rig_reaches(&r, 1));
	close(fd);
	assert_true(rig_empties(&r));
}

/* It hears from the prepare on, is not closed before the undo, and leaves on after that. */
static void endpoint_that_leaves_may_be_taken_over(void **state)
{
	(void)state;
	for (int leaving = 0; leaving < 2; leaving++) {
		for (int undone = 1; undone >= 0; undone--) {
			struct frontend *old = ep->frontend, *next;
			int fds[QUEUED];

			entries_leave(entries, ep, r.now_ns);
			r.now_ns += leaving ? DEAF_NS : 0;
			(void)rig_control(&r);
			assert_int_equal(ep->stage, leaving ? ENDPOINT_LEAVING : ENDPOINT_DEAF);
			next = prepare_next();
			assert_int_equal(min_ttl(ep->fd), 0);
			(void)rig_settle(&r);
			assert_true(ep->fd >= 0);
			if (undone) {
				entries_undo_frontend(entries, next);
				assert_int_equal(min_ttl(ep->fd), 255);
				assert_int_equal(entries_stay(entries, ep), 0);
				continue;
			}
			knock(fds);
			entries_commit_frontend(entries, next);
			entries_remove_frontend(entries, old, r.now_ns);
			assert_true(list_empty(&entries->deaf));
			assert_true(rig_reaches(&r, QUEUED));
			assert_int_equal(atomic_load(&next->sessions), QUEUED);
			assert_taken_over(next);
			hang_up(fds);
			ep = endpoint_of(next);
			assert_true(atomic_load(&ep->deaf)); /* for who was queued while it was */
		}
	}
}

static void takeover_fails_where_the_socket_cannot_hear_again(void **state)
{
	const struct entry_wish wish = {
		.config = &front, .backend = r.engine.backends[0], .routes = r.engine.backends, .from = &ep};
	struct entry_error error;

	(void)state;
	entries_leave(entries, ep, r.now_ns);
	option_err = -EPERM;
	assert_null(entries_prepare_frontend(entries, &wish, &error));
	assert_int_equal(error.err, -EPERM);
	assert_int_equal(entries_prepare_stay(entries, ep), -EPERM);
	option_err = 0;
	assert_int_equal(ep->stage, ENDPOINT_DEAF);
	assert_int_equal(min_ttl(ep->fd), 255);
	assert_false(ep->claimed);
}

/* ---- who has no socket any more ---- */

static void what_was_given_away_can_neither_stay_nor_be_taken(void **state)
{
	const struct entry_wish wish = {
		.config = &front, .backend = r.engine.backends[0], .routes = r.engine.backends, .from = &ep};
	struct entry_error error;
	struct frontend *next = prepare_next();

	(void)state;
	entries_commit_frontend(entries, next);
	assert_false(endpoint_has_socket(ep));
	assert_int_equal(entries_stay(entries, ep), -EBADF);
	assert_int_equal(entries_prepare_stay(entries, ep), -EBADF);
	assert_null(entries_prepare_frontend(entries, &wish, &error));
	assert_int_equal(error.err, -EBADF);
	entries_leave(entries, ep, r.now_ns); /* harmless */
	assert_int_equal(atomic_load(&ep->order), ENDPOINT_GIVE);
	(void)rig_settle(&r);
	assert_taken_over(next);
}

/* ---- staying, in two steps ---- */

static void stay_is_prepared_and_undone(void **state)
{
	(void)state;
	assert_int_equal(entries_prepare_stay(entries, ep), 0);
	entries_undo_stay(entries, ep);
	entries_leave(entries, ep, r.now_ns);
	r.now_ns += DEAF_NS;
	assert_int_equal(entries_prepare_stay(entries, ep), 0);
	assert_int_equal(min_ttl(ep->fd), 0);
	(void)rig_settle(&r);
	assert_int_equal(ep->stage, ENDPOINT_LEAVING); /* it is kept */
	assert_int_equal(atomic_load(&ep->listeners), 0);
	entries_undo_stay(entries, ep);
	assert_int_equal(min_ttl(ep->fd), 255);
	assert_int_equal(entries_prepare_stay(entries, ep), 0);
	option_err = -EPERM; /* nothing is left that could fail */
	assert_int_equal(entries_stay(entries, ep), 0);
	option_err = 0;
	(void)rig_settle(&r);
	assert_int_equal(ep->stage, ENDPOINT_OPEN);
	assert_int_equal(atomic_load(&ep->listeners), RIG_WORKERS);
	entries_leave(entries, ep, r.now_ns);
	r.now_ns += DEAF_NS;
	assert_int_equal(entries_prepare_stay(entries, ep), 0);
	(void)rig_settle(&r);
	entries_undo_stay(entries, ep);
	(void)rig_settle(&r);
	assert_int_equal(r.engine.live.endpoints.count, 0);
}

/* ---- paths, parts ---- */

static void path_and_lock_go_with_the_socket(void **state)
{
	const char *path = at.un.sun_path;
	struct frontend *old = ep->frontend, *next = prepare_next();
	struct stat before, now;
	char lock[256];
	int fds[QUEUED];

	(void)state;
	(void)snprintf(lock, sizeof(lock), "%s.lock", path);
	assert_int_equal(stat(path, &before), 0);
	entries_undo_frontend(entries, next);
	assert_true(ep->path.bound && ep->path.locked);
	next = prepare_next();
	knock(fds);
	entries_commit_frontend(entries, next);
	entries_remove_frontend(entries, old, r.now_ns);
	assert_true(rig_reaches(&r, QUEUED));
	assert_taken_over(next);
	hang_up(fds);
	assert_int_equal(r.engine.live.endpoints.count, 1);
	assert_int_equal(stat(path, &now), 0);
	assert_true(now.st_ino == before.st_ino);
	assert_int_equal(stat(lock, &now), 0);
	entries_remove_frontend(entries, next, r.now_ns);
	(void)rig_settle(&r);
	assert_int_equal(stat(path, &now), -1);
	assert_int_equal(stat(lock, &now), -1);
}

/* A second socket of one bind; the third is bound anew. */
static void endpoint_that_takes_over_is_a_part_of_its_bind(void **state)
{
	struct frontend *next, *old = ep->frontend;
	struct endpoint *other, *part, *more;
	struct entry_error error;

	(void)state;
	other = entries_prepare_endpoint(entries, old, NULL, &bind_of_next, NULL, &error);
	assert_non_null(other);
	entries_commit_endpoint(entries, other);
	assert_int_equal(other->number, 2);
	assert_int_equal(other->part, 0);
	next = prepare_next();
	part = entries_prepare_endpoint(entries, next, NULL, &bind_of_next, other, &error);
	assert_non_null(part);
	more = entries_prepare_endpoint(entries, next, NULL, &bind_of_next, NULL, &error);
	assert_non_null(more);
	entries_commit_frontend(entries, next);
	entries_commit_endpoint(entries, more);
	entries_commit_endpoint(entries, part);
	entries_remove_frontend(entries, old, r.now_ns);
	(void)rig_settle(&r);
	assert_int_equal(endpoint_of(next)->number, 1);
	assert_int_equal(more->number, 2);
	assert_int_equal(part->number, more->number);
	assert_int_equal(more->part, 1);
	assert_int_equal(part->part, 2);
	assert_ptr_equal(next->endpoints.prev, &part->link);
}

/* As in a reload: that the first one stays is committed last. */
static void part_of_a_bind_that_stays_after_all_is_its_second(void **state)
{
	struct endpoint *other, *part;
	struct entry_error error;

	(void)state;
	other = entries_prepare_endpoint(entries, ep->frontend, NULL, &bind_of_next, NULL, &error);
	assert_non_null(other);
	entries_commit_endpoint(entries, other);
	entries_leave(entries, ep, r.now_ns);
	part = entries_prepare_endpoint(entries, ep->frontend, NULL, &bind_of_next, other, &error);
	assert_non_null(part);
	assert_int_equal(entries_prepare_stay(entries, ep), 0);
	entries_commit_endpoint(entries, part);
	assert_int_equal(entries_stay(entries, ep), 0);
	assert_int_equal(part->number, ep->number);
	assert_int_equal(ep->part, 1);
	assert_int_equal(part->part, 2);
	(void)rig_settle(&r);
}

#define TAKEOVER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TAKEOVER_TEST(clients_in_the_queue_belong_to_the_new_frontend),
		TAKEOVER_TEST(clients_who_wait_for_a_limit_are_let_in_by_the_new_frontend),
		TAKEOVER_TEST(no_worker_listens_at_both),
		cmocka_unit_test_setup_teardown(no_worker_listens_at_both, setup_ring, teardown),
		TAKEOVER_TEST(last_accepts_that_fail_hold_nobody_up),
		TAKEOVER_TEST(socket_may_pass_through_several_hands),
		TAKEOVER_TEST(daemon_that_ends_takes_who_is_queued),
		TAKEOVER_TEST(takeover_that_is_undone_has_changed_nothing),
		TAKEOVER_TEST(endpoint_that_leaves_may_be_taken_over),
		TAKEOVER_TEST(takeover_fails_where_the_socket_cannot_hear_again),
		TAKEOVER_TEST(what_was_given_away_can_neither_stay_nor_be_taken),
		TAKEOVER_TEST(stay_is_prepared_and_undone),
		cmocka_unit_test_setup_teardown(path_and_lock_go_with_the_socket, setup_path, teardown),
		TAKEOVER_TEST(endpoint_that_takes_over_is_a_part_of_its_bind),
		TAKEOVER_TEST(part_of_a_bind_that_stays_after_all_is_its_second),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
