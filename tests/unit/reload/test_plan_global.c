/* SPDX-License-Identifier: MIT
 *
 * test_plan_global.c - plans for [global]: what changes, what only a restart changes, targets of the log.
 */
#include "plan_rig.h"

#define REST "[listen web]\nbind = :80\nserver a = 10.1.0.1:1\n"

static const char *restart_of(const struct plan *p, char *buf, size_t room)
{
	struct text out;

	text_over(&out, buf, room);
	for (size_t i = 0; i < p->restart_count; i++)
		text_printf(&out, "%s%s", i > 0 ? " " : "", p->restart[i]);
	assert_false(out.failed);
	return buf;
}

static void options_of_global_change_or_need_a_restart(void **state)
{
	static const struct {
		const char *now;
		const char *next;
		const char *described;
		const char *restart;
	} rows[] = {
		{"", "", "nothing has changed", ""},
		{"", "threads = 3\n", "nothing has changed", "threads"},
		{"threads = 3\n", "threads = 3\n", "nothing has changed", ""},
		{"", "driver = epoll\n", "nothing has changed", "driver"},
		{"", "user = root\ngroup = root\n", "nothing has changed", "user group"},
		{"user = root\n", "user = root\n", "nothing has changed", ""},
		{"", "cpu-affinity = off\n", "nothing has changed", "cpu-affinity"},
		{"cpu-affinity = 0,2\n", "cpu-affinity = 0,2\n", "nothing has changed", ""},
		{"cpu-affinity = 0,2\n", "cpu-affinity = 0,3\n", "nothing has changed", "cpu-affinity"},
		{"cpu-affinity = 0,2\n", "cpu-affinity = 0,2,3\n", "nothing has changed", "cpu-affinity"},
		{"", "maxconn = 100\n", "[global] changed", ""},
		{"", "maxpipes = 10\n", "[global] changed", ""},
		{"", "pipe-size = 64k\n", "[global] changed", ""},
		{"", "splice = off\n", "[global] changed", ""},
		{"", "hard-stop-after = 1m\n", "[global] changed", ""},
		{"", "pipe-cycle = 20s\n", "[global] changed", ""},
		{"", "threads = 2\nmaxconn = 100\nuser = root\ndriver = epoll\ngroup = root\n"
		     "cpu-affinity = off\n",
		 "[global] changed", "threads driver user group cpu-affinity"},
		{"", "admin-socket = unix:/a\n", "admin socket changed", ""},
		{"admin-socket = unix:/a\n", "", "admin socket changed", ""},
		{"admin-socket = unix:/a\n", "admin-socket = unix:/a\n", "nothing has changed", ""},
		{"admin-socket = unix:/a\n", "admin-socket = unix:/b\n", "admin socket changed", ""},
		{"admin-socket = unix:/a\n", "admin-socket = unix:/a mode=600\n", "admin socket changed", ""},
		{"admin-socket = unix:/a\n", "admin-socket = unix:/a user=7\n", "admin socket changed", ""},
		{"admin-socket = unix:/a\n", "admin-socket = unix:/a group=7\n", "admin socket changed", ""},
		{"admin-socket = unix:/a\n", "admin-socket = unix:/a level=user\n",
		 "admin socket changed", ""},
		{"admin-socket = unix:/a allow-uid=7\n", "admin-socket = unix:/a allow-uid=7\n",
		 "nothing has changed", ""},
		{"admin-socket = unix:/a allow-uid=7\n", "admin-socket = unix:/a allow-uid=8\n",
		 "admin socket changed", ""},
		{"admin-socket = unix:/a allow-gid=7\n", "admin-socket = unix:/a allow-gid=7,8\n",
		 "admin socket changed", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct plan_rig r;
		char now[512], next[512], restart[128];

		(void)snprintf(now, sizeof(now), "[global]\n%s" REST, rows[i].now);
		(void)snprintf(next, sizeof(next), "[global]\n%s" REST, rows[i].next);
		rig_open(&r, now);
		rig_plan(&r, next);
		assert_described(&r.plan, rows[i].described);
		assert_string_equal(restart_of(&r.plan, restart, sizeof(restart)), rows[i].restart);
		rig_close(&r);
	}
}

/* The one that is in effect is not that of the start, after a reload. */
static void restart_is_judged_by_the_start(void **state)
{
	struct plan_rig r;
	struct config *started = rig_read("[global]\nthreads = 2\nmaxconn = 10\n" REST);
	struct config *next;
	struct plan_input in;
	struct plan p;

	(void)state;
	rig_open(&r, "[global]\nthreads = 4\nmaxconn = 20\n" REST);
	in = (struct plan_input){
		.engine = &r.engine, .log = r.log, .started = &started->global, .now = &r.now->global};
	next = rig_read("[global]\nthreads = 2\nmaxconn = 10\n" REST);
	in.next = next;
	assert_int_equal(plan_make(&p, &in, r.why, sizeof(r.why)), 0);
	assert_int_equal(p.restart_count, 0);
	assert_true(p.global_changed);
	plan_free(&p);
	in.next = r.now;
	assert_int_equal(plan_make(&p, &in, r.why, sizeof(r.why)), 0);
	assert_int_equal(p.restart_count, 1);
	assert_false(p.global_changed);
	assert_true(plan_is_empty(&p)); /* a restart is not for a plan */
	plan_free(&p);
	plan_free(&p); /* harmless */
	config_free(next);
	config_free(started);
	rig_close(&r);
}

/* ---- targets of the log ---- */

static const char *logs_of(const struct plan *p, char *buf, size_t room)
{
	struct text out;

	text_over(&out, buf, room);
	for (size_t i = 0; i < p->log_count; i++) {
		const struct plan_log *l = &p->logs[i];

		assert_true((l->live == NULL) == (l->what == PLAN_ADDED));
		assert_true((l->config == NULL) == (l->what == PLAN_REMOVED));
		for (size_t k = 0; k < i; k++)
			assert_true(l->live == NULL || l->live != p->logs[k].live);
		text_printf(&out, "%s%s", i > 0 ? " " : "", what_text(l->what));
	}
	assert_false(out.failed);
	return buf;
}

static void targets_of_the_log_meet_by_content(void **state)
{
	static const struct {
		const char *now;
		const char *next;
		const char *logs;
		const char *described;
	} rows[] = {
		{"", "", "kept", "nothing has changed"},
		{"", "log = stderr\n", "kept", "nothing has changed"},
		{"", "log = stderr level=debug\n", "added removed",
		 "1 log target added, 1 log target removed"},
		{"log = off\n", "log = stderr\nlog = syslog:/dev/log\n", "added added removed",
		 "2 log targets added, 1 log target removed"},
		{"log = stderr\nlog = syslog:/a\n", "log = syslog:/a\nlog = stderr\n", "kept kept",
		 "nothing has changed"},
		{"log = stderr\nlog = syslog:/a\n", "log = syslog:/a\n", "kept removed",
		 "1 log target removed"},
		{"log = syslog:/a\n", "log = syslog:/a\nlog = syslog:/a\n", "kept added",
		 "1 log target added"},
		{"log = syslog:/a\nlog = syslog:/a\n", "log = syslog:/a\nlog = syslog:/a\n", "kept kept",
		 "nothing has changed"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct plan_rig r;
		char now[512], next[512], logs[128];

		(void)snprintf(now, sizeof(now), "[global]\n%s" REST, rows[i].now);
		(void)snprintf(next, sizeof(next), "[global]\n%s" REST, rows[i].next);
		rig_open(&r, now);
		rig_plan(&r, next);
		assert_string_equal(logs_of(&r.plan, logs, sizeof(logs)), rows[i].logs);
		assert_described(&r.plan, rows[i].described);
		rig_close(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_of_global_change_or_need_a_restart),
		cmocka_unit_test(restart_is_judged_by_the_start),
		cmocka_unit_test(targets_of_the_log_meet_by_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
