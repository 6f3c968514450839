/* SPDX-License-Identifier: MIT
 *
 * test_halt.c - an administrator takes a frontend out of service and back, and sets its maxconn; what of that
 * outlives a change of its settings.
 *
 * The frontend has two TCP addresses and a Unix path. Linked with --wrap of the allocator and of the calls
 * that make and change a socket.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "entry_fail.h"
#include "entry_rig.h"
#include "weir/balance/server_updates.h"
#include "weir/entry/halt.h"

#define DEAF_NS	  (900 * NS_PER_MS)
#define ADDRESSES 3

static struct entry_rig r;
static struct entries *entries;
static struct frontend *fe;
static struct endpoint *eps[ADDRESSES];
static struct server_updates updates;
static unsigned raised, lowered;
static char folder[] = "/tmp/weir-halt-XXXXXX";
static const struct mark by = {.wall_ns = 5, .by = 7};

/* ---- the rig ---- */

static void nothing(void *arg)
{
	(void)arg;
}

static void nothing_at(void *arg, int64_t at_ns)
{
	(void)arg;
	(void)at_ns;
}

static int raise_right(void *arg)
{
	(void)arg;
	raised++;
	return 0;
}

static void lower_right(void *arg)
{
	(void)arg;
	lowered++;
}

static const struct unlisten_rights rights = {.raise = raise_right, .lower = lower_right};

static struct config_bind bind_at(const char *text)
{
	struct config_bind b;

	memset(&b, 0, sizeof(b));
	assert_int_equal(addr_parse(text, &b.addr, NULL, NULL), 0);
	b.owner = (struct config_socket_owner){.mode = -1, .uid = (uid_t)-1, .gid = (gid_t)-1};
	return b;
}

static struct endpoint *add(const char *address, const struct entry_change *c)
{
	const struct config_bind b = bind_at(address);
	struct entry_error error;
	struct endpoint *added = entries_prepare_endpoint(entries, fe, c, &b, NULL, &error);

	assert_non_null(added);
	entries_commit_endpoint(entries, added);
	return added;
}

static int setup(void **state)
{
	const struct server_updates_loop loop = {nothing, nothing_at, NULL};
	char path[128];

	(void)state;
	fail_nothing();
	rig_open(&r);
	entries = &r.engine.entries;
	fe = first_frontend(&r.engine);
	raised = lowered = 0;
	server_updates_init(&updates, r.engine.backends, r.engine.backend_count, &loop);
	(void)snprintf(path, sizeof(path), "%s/s", folder); /* fits */
	eps[0] = first_endpoint(&r.engine);
	eps[1] = add("127.0.0.1:0", NULL);
	eps[2] = add(path, NULL);
	(void)rig_settle(&r);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fail_nothing();
	server_updates_free(&updates);
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

static unsigned open_fds(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static bool is_refused(const struct addr *at)
{
	const int fd = socket(at->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const bool refused = connect(fd, &at->sa, at->len) != 0;

	close(fd);
	return refused;
}

/* Until workers have left: 0 the TCP ones are deaf, 1 workers leave them, 2 all are away. */
static void pass(int stage)
{
	if (stage == 0)
		return;
	r.now_ns += DEAF_NS;
	(void)rig_control(&r);
	if (stage == 2)
		assert_true(rig_settle(&r) == CLOCK_NEVER);
}

static void disable(int stage)
{
	entries_disable(entries, fe, &by, r.now_ns);
	assert_true(fe->changed_ns == r.now_ns);
	pass(stage);
}

static int enable(void)
{
	const int64_t before_ns = fe->changed_ns;
	const struct endpoint *failed;
	const int err = entries_enable(entries, fe, &rights, &failed);

	assert_int_equal(fe->changed_ns != before_ns, err == 0);
	return err;
}

static void assert_out(void)
{
	assert_true(mark_is_set(&fe->marks[FRONTEND_MARK_STATE]));
	assert_int_equal(fe->marks[FRONTEND_MARK_STATE].by, 7);
	for (int i = 0; i < ADDRESSES; i++) {
		assert_int_equal(eps[i]->stage, ENDPOINT_AWAY);
		assert_int_equal(eps[i]->fd, -1);
		assert_true(is_refused(&eps[i]->addr));
	}
}

static void assert_served(const struct endpoint *ep)
{
	const int fd = rig_client(&ep->addr);

	assert_int_equal(ep->stage, ENDPOINT_OPEN);
	assert_false(ep->away);
	assert_true(rig_reaches(&r, 1));
	assert_int_equal(atomic_load(&ep->listeners), RIG_WORKERS);
	close(fd);
	assert_true(rig_empties(&r));
}

static void assert_back(void)
{
	assert_int_equal(fe->admin, FRONTEND_ADMIN_READY);
	assert_false(mark_is_set(&fe->marks[FRONTEND_MARK_STATE]));
	(void)rig_settle(&r);
	for (int i = 0; i < ADDRESSES; i++)
		assert_served(eps[i]);
	(void)rig_settle(&r);
	assert_int_equal(retire_count(&r.engine.live.retire), 0);
	assert_int_equal(raised, lowered);
}

/* ---- disabled, and back ---- */

static void disabled_frontend_leaves_and_comes_back_at_any_stage(void **state)
{
	const unsigned fds = open_fds();

	(void)state;
	for (int stage = 0; stage < 3; stage++) {
		const int fd = rig_client(&eps[0]->addr);

		assert_true(rig_reaches(&r, 1));
		disable(stage);
		assert_int_equal(fe->admin, FRONTEND_ADMIN_DISABLED);
		assert_int_equal(rig_forwarding(&r), 1); /* its session goes on */
		if (stage == 2)
			assert_out();
		assert_int_equal(enable(), 0);
		close(fd);
		assert_true(rig_empties(&r));
		assert_back();
		assert_int_equal(open_fds(), fds);
	}
	assert_int_equal(raised, 3);
}

/* All of its addresses come back, or none. */
static void each_call_that_fails_leaves_it_disabled(void **state)
{
	const int stage = (int)(intptr_t)*state;
	unsigned fds;
	long n = 0;

	disable(stage);
	fds = open_fds();
	for (;; n++) {
		const int err = (fail_call(n), enable());

		fail_nothing();
		if (!call_has_failed()) {
			assert_int_equal(err, 0);
			break;
		}
		if (err == 0) { /* a call that need not succeed */
			entries_disable(entries, fe, &by, r.now_ns);
			pass(stage);
			continue;
		}
		assert_int_equal(fe->admin, FRONTEND_ADMIN_DISABLED);
		assert_true(list_empty(&entries->bound));
		assert_int_equal(open_fds(), fds);
		for (int i = 0; i < ADDRESSES; i++) {
			assert_true(eps[i]->away);
			assert_false(eps[i]->claimed);
		}
		if (stage == 2)
			assert_out();
	}
	print_message("%ld calls\n", n);
	assert_true(n > (stage == 2 ? 8 : 1));
	assert_back();
}

static void address_at_fault_is_named(void **state)
{
	const struct endpoint *failed = NULL;
	struct addr theirs;
	int fd;

	(void)state;
	disable(2);
	theirs = eps[1]->addr;
	fd = rig_listen_at(&theirs);
	assert_int_equal(entries_enable(entries, fe, &rights, &failed), -EADDRINUSE);
	assert_ptr_equal(failed, eps[1]);
	assert_true(is_refused(&eps[0]->addr));
	assert_true(is_refused(&eps[2]->addr));
	close(fd);
	assert_int_equal(enable(), 0);
	assert_back();
}

static void without_the_right_the_attempt_is_made_all_the_same(void **state)
{
	const struct unlisten_rights none = {.raise = NULL};
	const struct endpoint *failed;

	(void)state;
	disable(2);
	assert_int_equal(entries_enable(entries, fe, &none, &failed), 0);
	assert_back();
}

static void endpoint_that_comes_meanwhile_is_away_until_it_is_enabled(void **state)
{
	const unsigned fds = open_fds();
	struct endpoint *more;

	(void)state;
	disable(2);
	more = add("127.0.0.1:0", NULL);
	assert_int_equal(more->stage, ENDPOINT_AWAY);
	assert_int_equal(more->fd, -1);
	(void)rig_settle(&r);
	assert_int_equal(atomic_load(&more->listeners), 0);
	assert_int_equal(entries->endpoint_count, ADDRESSES + 1);
	assert_int_equal(open_fds() + ADDRESSES + 1, fds); /* the path has a lock, too */
	assert_int_equal(enable(), 0);
	(void)rig_settle(&r);
	assert_served(more);
	assert_back();
}

/* ---- inherited sockets ---- */

static void inherited_socket_only_pauses(void **state)
{
	int fd;

	(void)state;
	eps[0]->inherited = true;
	disable(2);
	assert_int_equal(eps[0]->stage, ENDPOINT_AWAY);
	assert_true(eps[0]->fd >= 0);
	assert_int_equal(atomic_load(&eps[0]->listeners), 0);
	fd = rig_client(&eps[0]->addr); /* waits in the queue */
	(void)rig_settle(&r);
	assert_int_equal(rig_sessions(&r), 0);
	assert_int_equal(enable(), 0);
	assert_true(rig_reaches(&r, 1));
	assert_false(atomic_load(&eps[0]->deaf)); /* it never was */
	close(fd);
	assert_true(rig_empties(&r));
	assert_back();
	eps[0]->inherited = false;
}

static void inherited_socket_that_pauses_is_closed_with_its_frontend(void **state)
{
	const struct addr at = eps[0]->addr;

	(void)state;
	eps[0]->inherited = true;
	disable(2);
	assert_false(is_refused(&at));
	entries_remove_frontend(entries, fe, r.now_ns);
	(void)rig_settle(&r);
	assert_int_equal(entries->endpoint_count, 0);
	assert_int_equal(retire_count(&r.engine.live.retire), 0);
	assert_true(is_refused(&at));
}

/* ---- shut down ---- */

static struct config_frontend config;

static void change(const struct entry_wish *more, struct entry_change *c)
{
	struct entry_wish wish = *more;

	wish.config = &config;
	wish.backend = r.engine.backends[0];
	assert_int_equal(entries_prepare_change(entries, fe, &wish, c), 0);
}

static void frontend_that_is_shut_down_stays_so_until_it_is_revived(void **state)
{
	const struct entry_wish nothing_more = {.config = NULL}, revives = {.revives = true};
	struct endpoint *failed;
	struct entry_error error;
	struct entry_change c;

	(void)state;
	disable(1);
	entries_shut_down(entries, fe, &by, r.now_ns);
	entries_shut_down(entries, fe, NULL, r.now_ns); /* harmless */
	pass(2);
	assert_int_equal(fe->admin, FRONTEND_ADMIN_SHUT);
	assert_out();
	config = *fe->config;
	config.maxconn = 17;
	change(&nothing_more, &c);
	entries_commit_change(entries, &c);
	(void)rig_settle(&r);
	assert_int_equal(fe->admin, FRONTEND_ADMIN_SHUT);
	assert_out();
	config.maxconn = 18;
	for (int i = 0; i < 2; i++) { /* undone, then committed */
		entries_begin(entries);
		for (int k = 0; k < ADDRESSES; k++)
			assert_int_equal(entries_prepare_return(entries, eps[k], &error), 0);
		change(&revives, &c);
		assert_int_equal(entries_listen(entries, &failed), 0);
		if (i == 0)
			entries_undo_change(entries, &c);
		else
			entries_commit_change(entries, &c);
		for (int k = 0; k < ADDRESSES; k++)
			if (i == 0)
				entries_undo_return(entries, eps[k]);
			else
				entries_commit_return(entries, eps[k]);
		entries_end(entries);
		if (i == 0)
			assert_out();
	}
	assert_back();
}

static void endpoint_of_a_change_that_revives_is_bound(void **state)
{
	const struct entry_wish revives = {.revives = true};
	struct entry_change c;
	struct endpoint *more;
	struct entry_error error;
	const struct config_bind b = bind_at("127.0.0.1:0");

	(void)state;
	entries_shut_down(entries, fe, &by, r.now_ns);
	pass(2);
	config = *fe->config;
	config.maxconn = 18;
	change(&revives, &c);
	more = entries_prepare_endpoint(entries, fe, &c, &b, NULL, &error);
	assert_non_null(more);
	entries_commit_change(entries, &c);
	entries_commit_endpoint(entries, more);
	for (int k = 0; k < ADDRESSES; k++)
		entries_leave(entries, eps[k], r.now_ns);
	(void)rig_settle(&r);
	assert_served(more);
	(void)rig_settle(&r);
	assert_int_equal(entries->endpoint_count, 1);
}

/* ---- beside unlisten, and a stop ---- */

static void set_up(bool up)
{
	server_updates_set_health(&updates, r.engine.backends[0]->servers[0], up, "a test");
	server_updates_publish(&updates);
	assert_true(entries_unlisten(entries, &rights, r.now_ns) == CLOCK_NEVER);
}

static void server_that_comes_up_does_not_enable_a_frontend(void **state)
{
	const struct entry_wish nothing_more = {.config = NULL};
	struct entry_change c;

	(void)state;
	config = *fe->config;
	config.unlisten = CONFIG_UNLISTEN_NO_SERVER;
	change(&nothing_more, &c);
	entries_commit_change(entries, &c);
	(void)rig_settle(&r);
	set_up(false);
	disable(2);
	set_up(true);
	assert_out();
	set_up(false);
	assert_int_equal(enable(), 0);
	assert_int_equal(fe->admin, FRONTEND_ADMIN_READY);
	assert_true(fe->is_away);
	for (int i = 0; i < ADDRESSES; i++)
		assert_int_equal(eps[i]->stage, ENDPOINT_AWAY);
	set_up(true);
	assert_false(fe->is_away);
	assert_back();
}

static void frontend_that_is_out_does_not_hold_up_a_stop(void **state)
{
	const int stage = (int)(intptr_t)*state;

	eps[0]->inherited = true;
	disable(stage);
	engine_drain(&r.engine, r.now_ns);
	assert_int_equal(enable(), -ESHUTDOWN);
	entries_shut_down(entries, fe, &by, r.now_ns);
	r.now_ns += DEAF_NS;
	for (int i = 0; i < RIG_SETTLED; i++) {
		for (unsigned w = 0; w < RIG_WORKERS; w++)
			if (!r.workers[w]->finished)
				rig_turn(&r, w);
		(void)rig_control(&r);
	}
	assert_true(r.workers[0]->finished);
	assert_true(r.workers[1]->finished);
	assert_int_equal(entries->endpoint_count, 0);
}

/* ---- maxconn ---- */

static void change_maxconn(unsigned maxconn)
{
	const struct entry_wish nothing_more = {.config = NULL};
	struct entry_change c;

	config = *fe->config;
	config.maxconn = maxconn;
	change(&nothing_more, &c);
	entries_commit_change(entries, &c);
}

static void assert_limit(unsigned limit, bool is_marked)
{
	assert_int_equal(frontend_limit(fe), limit);
	assert_int_equal(mark_is_set(&fe->marks[FRONTEND_MARK_MAXCONN]), is_marked);
}

static void maxconn_that_was_set_stays_until_that_of_the_file_changes(void **state)
{
	(void)state;
	assert_limit(SMALL_MAXCONN, false);
	frontend_override_limit(fe, 3, &by);
	assert_limit(3, true);
	entries_set_maxconn(entries, 50);
	assert_limit(3, true);
	change_maxconn(0); /* as it was */
	assert_limit(3, true);
	change_maxconn(9);
	assert_limit(9, false);
	frontend_override_limit(fe, 3, &by);
	frontend_override_limit(fe, 9, &by); /* what the file says */
	assert_limit(9, false);
	frontend_override_limit(fe, 3, &by);
	change_maxconn(0);
	assert_limit(50, false);
	frontend_override_limit(fe, 50, &by);
	entries_set_maxconn(entries, 60);
	assert_limit(60, false);
}

static void maxconn_of_0_lets_nobody_in(void **state)
{
	int fd;

	(void)state;
	frontend_override_limit(fe, 0, &by);
	assert_limit(0, true);
	fd = rig_client(&eps[0]->addr);
	(void)rig_settle(&r);
	assert_int_equal(rig_sessions(&r), 0);
	frontend_override_limit(fe, 1, &by);
	assert_true(rig_reaches(&r, 1));
	close(fd);
	assert_true(rig_empties(&r));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define STAGE_TEST(name, stage)                                                                              \
	{#name "_" #stage, name, setup, teardown, (void *)(intptr_t)(stage)}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(disabled_frontend_leaves_and_comes_back_at_any_stage),
		STAGE_TEST(each_call_that_fails_leaves_it_disabled, 0),
		STAGE_TEST(each_call_that_fails_leaves_it_disabled, 1),
		STAGE_TEST(each_call_that_fails_leaves_it_disabled, 2),
		TEST(address_at_fault_is_named),
		TEST(without_the_right_the_attempt_is_made_all_the_same),
		TEST(endpoint_that_comes_meanwhile_is_away_until_it_is_enabled),
		TEST(inherited_socket_only_pauses),
		TEST(inherited_socket_that_pauses_is_closed_with_its_frontend),
		TEST(frontend_that_is_shut_down_stays_so_until_it_is_revived),
		TEST(endpoint_of_a_change_that_revives_is_bound),
		TEST(server_that_comes_up_does_not_enable_a_frontend),
		STAGE_TEST(frontend_that_is_out_does_not_hold_up_a_stop, 0),
		STAGE_TEST(frontend_that_is_out_does_not_hold_up_a_stop, 1),
		STAGE_TEST(frontend_that_is_out_does_not_hold_up_a_stop, 2),
		TEST(maxconn_that_was_set_stays_until_that_of_the_file_changes),
		TEST(maxconn_of_0_lets_nobody_in),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
