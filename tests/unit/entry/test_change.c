/* SPDX-License-Identifier: MIT
 *
 * test_change.c - frontends, endpoints and their settings are prepared, committed and undone: all of a change
 * or nothing, and no version more than are in use.
 *
 * Linked with --wrap of the allocator and of the calls that make a socket, so that each can fail in turn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "entry_fail.h"
#include "entry_rig.h"

#define VARIANTS  10u
#define ROTATIONS 1000u

static struct entry_rig r;
static struct entries *entries;
static struct frontend *fe;
static struct endpoint *ep;
static struct config_bind binds[2];
static struct config_route route;
static struct config_frontend front; /* of a frontend that comes */
static char folder[] = "/tmp/weir-entry-XXXXXX";

/* Binds of TCP and of a Unix path, a route, and a table of sources. */
static void fill_front(void)
{
	struct sockaddr_un *un = &binds[1].addr.addr.un;

	memset(binds, 0, sizeof(binds));
	small_addr(&binds[0].addr);
	binds[0].owner = (struct config_socket_owner){.mode = -1, .uid = (uid_t)-1, .gid = (gid_t)-1};
	binds[1] = binds[0];
	binds[1].addr.kind = ADDR_UNIX;
	memset(&binds[1].addr.addr, 0, sizeof(binds[1].addr.addr));
	un->sun_family = AF_UNIX;
	(void)snprintf(un->sun_path, sizeof(un->sun_path), "%s/s", folder);
	binds[1].addr.addr.len = sizeof(*un);
	memset(&front, 0, sizeof(front));
	front.name[0] = 'g';
	front.binds = binds;
	front.bind_count = 2;
	front.routes = &route;
	front.route_count = 1;
	front.maxconn = 7;
	front.maxconn_per_source = 5;
	front.source_rate = (struct config_source_rate){3, 3, NS_PER_SEC};
}

static struct entry_wish wish_of(const struct config_frontend *config)
{
	return (struct entry_wish){
		.config = config, .backend = r.engine.backends[0], .routes = r.engine.backends};
}

static int setup(void **state)
{
	(void)state;
	fail_nothing();
	rig_open(&r);
	entries = &r.engine.entries;
	fe = first_frontend(&r.engine);
	ep = first_endpoint(&r.engine);
	fill_front();
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
	return rmdir(folder); /* fails when a test left a socket or a lock behind */
}

/* ---- what must be as before ---- */

struct picture {
	size_t frontends, endpoints, settings, versions, retired;
	uint32_t objects, places, numbers;
	unsigned leads, endpoint_count;
	int descriptor; /* the lowest free one */
	const struct endpoint_settings *entry;
	const struct frontend_settings *front;
	unsigned users, pins, limit;
	const void *sources;
	const void *source_rates;
	long allocated;
};

static int lowest_descriptor(void)
{
	const int fd = dup(r.server);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

static struct picture look(void)
{
	const struct live *live = &r.engine.live;
	struct picture p;

	memset(&p, 0, sizeof(p)); /* compared as bytes */
	p.frontends = rig_count(&entries->frontends);
	p.endpoints = rig_count(&fe->endpoints);
	p.settings = rig_count(&fe->versions);
	p.versions = rig_count(&ep->versions);
	p.retired = retire_count(&live->retire);
	p.objects = live->objects.count;
	p.places = live->endpoints.count;
	p.numbers = live->versions.count;
	p.leads = r.engine.backends[0]->frontends;
	p.endpoint_count = entries->endpoint_count;
	p.descriptor = lowest_descriptor();
	p.entry = endpoint_settings(ep);
	p.front = fe->settings;
	p.users = fe->settings->users;
	p.pins = endpoint_settings(ep)->pins;
	p.limit = frontend_limit(fe);
	p.sources = atomic_load(&fe->sources);
	p.source_rates = atomic_load(&fe->source_rates);
	p.allocated = allocated;
	return p;
}

/* Tables of numbers grow and stay, which shows in `allocated` the first time. */
static void assert_as_before(const struct picture *before, bool grows)
{
	struct picture now = look();

	if (grows)
		now.allocated = before->allocated;
	assert_int_equal(now.allocated, before->allocated);
	assert_int_equal(now.descriptor, before->descriptor);
	assert_memory_equal(&now, before, sizeof(now));
}

/* ---- frontends and endpoints ---- */

static void frontend_is_prepared_committed_and_removed(void **state)
{
	const struct entry_wish wish = wish_of(&front);
	struct entry_error error;
	struct frontend *g;
	struct addr at;
	int fds[2];

	(void)state;
	g = entries_prepare_frontend(entries, &wish, &error);
	assert_non_null(g);
	assert_null(entries_find(entries, "g"));
	assert_int_equal(frontend_limit(g), 7);
	assert_int_equal(r.engine.backends[0]->frontends, 3); /* one of them is its route */
	at = list_entry(g->endpoints.next, struct endpoint, link)->addr;
	fds[0] = rig_client(&at); /* it listens, and no worker accepts */
	(void)rig_settle(&r);
	assert_int_equal(rig_sessions(&r), 0);
	entries_commit_frontend(entries, g);
	assert_ptr_equal(entries_find(entries, "g"), g);
	assert_ptr_equal(entries->frontends.prev, &g->link);
	assert_int_equal(entries->endpoint_count, 3);
	assert_true(rig_reaches(&r, 1));
	fds[1] = rig_client(&binds[1].addr.addr);
	assert_true(rig_reaches(&r, 2));
	assert_int_equal(atomic_load(&g->sessions), 2);
	for (int i = 0; i < 2; i++)
		close(fds[i]);
	assert_true(rig_empties(&r));
	entries_remove_frontend(entries, g, r.now_ns);
	r.now_ns += NS_PER_SEC;
	(void)rig_settle(&r);
	assert_true(list_empty(&entries->leaving));
	assert_int_equal(r.engine.backends[0]->frontends, 1);
	assert_int_equal(r.engine.live.endpoints.count, 1);
}

static void endpoint_is_prepared_committed_and_leaves(void **state)
{
	struct entry_error error;
	struct endpoint *more = entries_prepare_endpoint(entries, fe, NULL, &binds[0], NULL, &error);
	struct addr at;
	int fd;

	(void)state;
	assert_non_null(more);
	at = more->addr;
	fd = rig_client(&at);
	(void)rig_settle(&r);
	assert_int_equal(rig_sessions(&r), 0);
	entries_commit_endpoint(entries, more);
	assert_int_equal(more->number, 2);
	assert_ptr_equal(fe->endpoints.prev, &more->link);
	assert_true(rig_reaches(&r, 1));
	assert_int_equal(atomic_load(&fe->sessions), 1);
	close(fd);
	assert_true(rig_empties(&r));
	entries_leave(entries, more, r.now_ns);
	r.now_ns += NS_PER_SEC;
	(void)rig_settle(&r);
	assert_int_equal(rig_count(&fe->endpoints), 1);
	assert_int_equal(r.engine.live.endpoints.count, 1);
}

/* Whoever comes to it must not meet the settings from before the change. */
static void endpoint_that_comes_with_a_change_has_its_settings(void **state)
{
	struct config_frontend next = *fe->config;
	const struct entry_wish wish = wish_of(&next);
	const struct picture before = look();
	struct entry_error error;
	struct entry_change c;
	struct endpoint *more;

	(void)state;
	next.maxconn = 9;
	for (int undone = 1; undone >= 0; undone--) {
		assert_int_equal(entries_prepare_change(entries, fe, &wish, &c), 0);
		more = entries_prepare_endpoint(entries, fe, &c, &binds[0], NULL, &error);
		assert_non_null(more);
		assert_ptr_equal(more->frontend, fe);
		assert_int_equal(endpoint_settings(more)->front->config->maxconn, 9);
		if (!undone)
			break;
		entries_undo_change(entries, &c);
		entries_undo_endpoint(entries, more);
		assert_as_before(&before, true);
	}
	entries_commit_change(entries, &c);
	entries_commit_endpoint(entries, more);
	assert_ptr_equal(endpoint_settings(more)->front, fe->settings);
	assert_ptr_equal(endpoint_settings(ep)->front, fe->settings);
}

static void who_came_to_what_is_undone_is_reset(void **state)
{
	const struct entry_wish wish = wish_of(&front);
	struct picture before = look();
	struct entry_error error;
	struct frontend *g = entries_prepare_frontend(entries, &wish, &error);
	struct addr at;
	char byte;
	int fd;

	(void)state;
	assert_non_null(g);
	at = list_entry(g->endpoints.next, struct endpoint, link)->addr;
	fd = rig_client(&at);
	entries_undo_frontend(entries, g);
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	close(fd);
	assert_as_before(&before, true);
}

/* ---- settings in rotation ---- */

static void set_variant(struct config_frontend *config, unsigned i)
{
	*config = *r.engine.config->frontends;
	config->timeouts.client_ns = (int64_t)(i % VARIANTS + 1) * (3600 * NS_PER_SEC);
	config->maxconn = i % VARIANTS + 50;
}

static void change_to(unsigned i)
{
	struct config_frontend config;
	struct entry_wish wish;
	struct entry_change c;

	set_variant(&config, i);
	wish = wish_of(&config);
	assert_int_equal(entries_prepare_change(entries, fe, &wish, &c), 0);
	entries_commit_change(entries, &c);
	assert_true(fe->config->timeouts.client_ns == config.timeouts.client_ns);
	assert_int_equal(frontend_limit(fe), config.maxconn);
	assert_ptr_equal(endpoint_settings(ep)->front, fe->settings);
}

static void ten_settings_in_rotation_are_ten_versions(void **state)
{
	int fds[VARIANTS];

	(void)state;
	for (unsigned i = 0; i < ROTATIONS; i++) {
		change_to(i);
		if (i < VARIANTS) {
			fds[i] = rig_client(&ep->addr);
			assert_true(rig_reaches(&r, i + 1));
		}
		assert_in_range(rig_count(&fe->versions), 1, VARIANTS + (i < VARIANTS));
		assert_in_range(rig_count(&ep->versions), 1, VARIANTS + (i < VARIANTS));
		for (unsigned w = 0; w < RIG_WORKERS; w++)
			rig_turn(&r, w);
		(void)rig_control(&r);
	}
	assert_int_equal(rig_forwarding(&r), VARIANTS);
	/* Of the endpoint, and one each of the backend and its server. */
	assert_in_range(r.engine.live.versions.count, VARIANTS, VARIANTS + 2);
	for (unsigned i = 0; i < VARIANTS; i++)
		close(fds[i]);
	assert_true(rig_empties(&r));
	(void)rig_settle(&r);
	assert_int_equal(rig_count(&fe->versions), 1);
	assert_int_equal(rig_count(&ep->versions), 1);
	assert_int_equal(retire_count(&r.engine.live.retire), 0);
}

/* Between prepare and commit or undo; the endpoint must go in the end. */
static void change_may_meet_an_endpoint_that_has_closed(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct entry_error error;
		struct endpoint *more = entries_prepare_endpoint(entries, fe, NULL, &binds[0], NULL, &error);
		struct config_frontend config;
		const struct entry_wish wish = wish_of(&config);
		struct entry_change c;

		entries_commit_endpoint(entries, more);
		(void)rig_settle(&r);
		set_variant(&config, i == 2 ? 0 : i); /* the third is that in effect */
		if (i == 2)
			change_to(0);
		assert_int_equal(entries_prepare_change(entries, fe, &wish, &c), 0);
		entries_leave(entries, more, r.now_ns);
		r.now_ns += NS_PER_SEC;
		(void)rig_settle(&r);
		assert_int_equal(more->stage, ENDPOINT_CLOSED);
		if (i == 1)
			entries_undo_change(entries, &c);
		else
			entries_commit_change(entries, &c);
		(void)rig_settle(&r);
		assert_int_equal(rig_count(&fe->endpoints), 1);
		assert_int_equal(rig_count(&ep->versions), 1);
		assert_int_equal(rig_count(&fe->versions), 1);
		assert_int_equal(retire_count(&r.engine.live.retire), 0);
	}
}

/* ---- failures ---- */

/* 0 when it was made, and undone. */
static int try_frontend(void)
{
	const struct entry_wish wish = wish_of(&front);
	struct entry_error error = {.err = 0};
	struct frontend *g = entries_prepare_frontend(entries, &wish, &error);

	fail_nothing();
	if (g != NULL)
		entries_undo_frontend(entries, g);
	else
		assert_true(error.err < 0);
	return g != NULL ? 0 : error.err;
}

static int try_endpoint(void)
{
	struct entry_error error = {.err = 0};
	struct endpoint *more = entries_prepare_endpoint(entries, fe, NULL, &binds[1], NULL, &error);

	fail_nothing();
	if (more != NULL)
		entries_undo_endpoint(entries, more);
	else
		assert_true(error.err < 0);
	return more != NULL ? 0 : error.err;
}

static int try_change(void)
{
	const struct entry_wish wish = wish_of(&front);
	struct entry_change c;
	const int err = entries_prepare_change(entries, fe, &wish, &c);

	fail_nothing();
	if (!err)
		entries_undo_change(entries, &c);
	return err;
}

static int (*const tries[])(void) = {try_frontend, try_endpoint, try_change};

/* Twice: the second time, tables have room. */
static void each_allocation_that_fails_leaves_all_as_it_was(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(tries); i++) {
		const bool grows = i < ARRAY_LEN(tries);
		long failures = 0;

		for (int err = -1; err != 0; failures++) {
			const struct picture before = look();

			assert_in_range(failures, 0, 200);
			fail_allocations_from(failures);
			err = tries[i % ARRAY_LEN(tries)]();
			if (err)
				assert_int_equal(err, -ENOMEM);
			assert_as_before(&before, grows);
		}
		assert_in_range(failures, 4, 200);
	}
}

/* Some failures are harmless: what is asked for is not needed. */
static void each_call_that_fails_leaves_all_as_it_was(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(tries); i++)
		assert_int_equal(tries[i](), 0);
	for (size_t i = 0; i < ARRAY_LEN(tries) - 1; i++) {
		unsigned refused = 0;
		long calls = 0;

		for (bool failed = true; failed; calls++) {
			const struct picture before = look();
			int err;

			assert_in_range(calls, 0, 200);
			fail_call(calls);
			err = tries[i]();
			failed = call_has_failed();
			if (err) /* a path whose socket could not be reached is one that is not ours */
				assert_true(err == -EPERM || err == -EACCES);
			refused += err != 0;
			assert_as_before(&before, false);
		}
		assert_in_range(refused, 3, 200);
	}
}

static void commit_needs_no_memory(void **state)
{
	const struct entry_wish wish = wish_of(&front);
	struct entry_error error;
	struct entry_change c;
	struct endpoint *more;
	struct frontend *g;

	(void)state;
	g = entries_prepare_frontend(entries, &wish, &error);
	more = entries_prepare_endpoint(entries, fe, NULL, &binds[0], NULL, &error);
	assert_int_equal(entries_prepare_change(entries, fe, &wish, &c), 0);
	fail_allocations_from(0);
	entries_commit_frontend(entries, g);
	entries_commit_change(entries, &c);
	entries_commit_endpoint(entries, more);
	entries_remove_frontend(entries, g, r.now_ns);
	fail_nothing();
	assert_non_null(atomic_load(&fe->sources));
	assert_non_null(atomic_load(&fe->source_rates));
	(void)rig_settle(&r);
}

#define CHANGE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHANGE_TEST(frontend_is_prepared_committed_and_removed),
		CHANGE_TEST(endpoint_is_prepared_committed_and_leaves),
		CHANGE_TEST(endpoint_that_comes_with_a_change_has_its_settings),
		CHANGE_TEST(who_came_to_what_is_undone_is_reset),
		CHANGE_TEST(ten_settings_in_rotation_are_ten_versions),
		CHANGE_TEST(change_may_meet_an_endpoint_that_has_closed),
		CHANGE_TEST(each_allocation_that_fails_leaves_all_as_it_was),
		CHANGE_TEST(each_call_that_fails_leaves_all_as_it_was),
		CHANGE_TEST(commit_needs_no_memory),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
