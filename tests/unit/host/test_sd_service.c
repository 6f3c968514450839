/* SPDX-License-Identifier: MIT
 *
 * test_sd_service.c - what the service manager receives around a reload. The manager is a socket here.
 */
#include <ev.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "weir/host/sd_service.h"
#include "../engine/small_engine.h"

#define STATUS "STATUS=1 frontend, 1/1 servers usable, 0 sessions"
#define WAIT_S 60.

struct rig {
	struct small_config config;
	struct engine engine;
	struct sd_service service;
	struct ev_loop *loop;
	int fd; /* the manager's */
};

static char ready[64]; /* the lines before the status */

static void on_notify(void *arg)
{
	(void)arg;
}

static void assert_received(const struct rig *r, const char *expected)
{
	char got[1024];
	const ssize_t n = recv(r->fd, got, sizeof(got) - 1, MSG_DONTWAIT);

	assert_true(n > 0);
	got[n] = '\0';
	assert_string_equal(got, expected);
}

static void assert_ready(const struct rig *r, const char *status)
{
	char expected[SD_SERVICE_STATUS_MAX + 192];

	(void)snprintf(expected, sizeof(expected), "%s%s", ready, status);
	assert_received(r, expected);
}

static void assert_silent(const struct rig *r)
{
	char got[1024];

	assert_int_equal(recv(r->fd, got, sizeof(got), MSG_DONTWAIT), -1);
}

/* RELOADING with a time not before `since_ns`. */
static void assert_reloading(const struct rig *r, int64_t since_ns)
{
	char got[1024];
	const ssize_t n = recv(r->fd, got, sizeof(got) - 1, MSG_DONTWAIT);
	long long us = 0;
	int end = 0;

	assert_true(n > 0);
	got[n] = '\0';
	assert_int_equal(sscanf(got, "RELOADING=1\nMONOTONIC_USEC=%lld%n", &us, &end), 1);
	assert_string_equal(got + end, "\nSTATUS=reloading; " /* and the rest as ever */
				       "1 frontend, 1/1 servers usable, 0 sessions");
	assert_in_range(us, since_ns / NS_PER_US, clock_mono_ns() / NS_PER_US);
}

static int set_up(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	char name[64];
	struct addr at;

	assert_non_null(r);
	(void)snprintf(name, sizeof(name), "@weir-test-service-%d", (int)getpid());
	(void)snprintf(ready, sizeof(ready), "READY=1\nMAINPID=%d\n", (int)getpid());
	r->fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	assert_true(r->fd >= 0);
	assert_int_equal(sd_notify_address(name, &at), 0);
	assert_int_equal(bind(r->fd, &at.sa, at.len), 0);
	(void)setenv("NOTIFY_SOCKET", name, 1);
	sd_service_open(&r->service);
	small_config_init(&r->config);
	assert_int_equal(engine_init(&r->engine, &r->config.config, on_notify, NULL), 0);
	r->loop = ev_loop_new(EVFLAG_AUTO);
	assert_non_null(r->loop);
	sd_service_ready(&r->service, r->loop, &r->engine);
	assert_ready(r, STATUS);
	*state = r;
	return 0;
}

static int tear_down(void **state)
{
	struct rig *r = *state;

	sd_service_close(&r->service);
	(void)ev_run(r->loop, EVRUN_NOWAIT);
	assert_int_equal(ev_pending_count(r->loop), 0);
	ev_loop_destroy(r->loop);
	engine_free(&r->engine);
	(void)close(r->fd);
	free(r);
	return 0;
}

static void reload_is_reported_with_its_time_and_its_end(void **state)
{
	struct rig *r = *state;
	const int64_t begin_ns = clock_mono_ns();

	sd_service_reloading(&r->service);
	assert_reloading(r, begin_ns);
	sd_service_reloaded(&r->service, true);
	assert_ready(r, STATUS);
	assert_silent(r);
}

static void status_says_that_a_reload_was_refused_until_one_is_not(void **state)
{
	static const char refused[] = "STATUS=last reload refused; 1 frontend, 1/1 servers usable, "
				      "0 sessions";
	struct rig *r = *state;

	sd_service_reloading(&r->service);
	assert_reloading(r, 0);
	sd_service_reloaded(&r->service, false);
	assert_ready(r, refused);
	r->service.told_at = 0.;
	r->service.told[0] = '\0';
	(void)ev_run(r->loop, EVRUN_NOWAIT); /* what refreshes the status keeps it */
	assert_received(r, refused);
	sd_service_reloading(&r->service);
	assert_reloading(r, 0);
	sd_service_reloaded(&r->service, true);
	assert_ready(r, STATUS);
}

/* The longest one, too: nothing of what follows is lost. */
static void status_begins_with_the_note(void **state)
{
	struct rig *r = *state;
	char note[SD_SERVICE_NOTE_MAX + 8], wanted[SD_SERVICE_STATUS_MAX + 64];

	memset(note, 'n', sizeof(note) - 1);
	note[sizeof(note) - 1] = '\0';
	sd_service_reloading(&r->service);
	assert_reloading(r, 0);
	sd_service_note(&r->service, note);
	sd_service_reloaded(&r->service, false);
	(void)snprintf(wanted, sizeof(wanted),
		       "STATUS=last reload refused; %.*s; 1 frontend, 1/1 servers usable, 0 sessions",
		       SD_SERVICE_NOTE_MAX - 1, note);
	assert_ready(r, wanted);
	sd_service_note(&r->service, "");
	sd_service_reloading(&r->service);
	assert_reloading(r, 0);
	sd_service_reloaded(&r->service, true);
	assert_ready(r, STATUS);
}

/* Returns how many messages fill the manager's queue. */
static unsigned fill(const struct rig *r)
{
	unsigned n = 0;

	while (sd_notify_send(&r->service.notify, "STATUS=x"))
		n++;
	return n;
}

static void empty(const struct rig *r, unsigned n)
{
	while (n-- > 0)
		assert_received(r, "STATUS=x");
	assert_silent(r);
}

static bool has_message(const struct rig *r)
{
	char byte;

	return recv(r->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 1;
}

/* Runs the loop, which has a timer, until there is one. */
static void wait_message(const struct rig *r)
{
	const ev_tstamp until = ev_time() + WAIT_S;

	while (!has_message(r)) {
		assert_true(ev_time() < until);
		(void)ev_run(r->loop, EVRUN_ONCE);
	}
}

static void manager_that_is_busy_gets_both_messages_later(void **state)
{
	struct rig *r = *state;
	unsigned n = fill(r);

	sd_service_reloading(&r->service);
	empty(r, n);
	wait_message(r);
	assert_reloading(r, 0);
	n = fill(r);
	sd_service_reloaded(&r->service, true);
	empty(r, n);
	wait_message(r);
	assert_ready(r, STATUS);
	assert_false(ev_is_active(&r->service.again));
}

static void end_of_a_reload_that_was_not_received_is_all_there_is(void **state)
{
	struct rig *r = *state;
	const unsigned n = fill(r);

	sd_service_reloading(&r->service);
	empty(r, n);
	sd_service_reloaded(&r->service, true);
	assert_ready(r, STATUS);
	assert_false(ev_is_active(&r->service.again));
}

static void daemon_that_drains_reports_no_reload(void **state)
{
	struct rig *r = *state;

	sd_service_reloading(&r->service);
	assert_reloading(r, 0);
	sd_service_draining(&r->service);
	assert_received(r, "STOPPING=1\nEXTEND_TIMEOUT_USEC=30000000\nSTATUS=draining, 0 sessions left");
	sd_service_reloaded(&r->service, false);
	sd_service_reloading(&r->service);
	assert_silent(r);
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(reload_is_reported_with_its_time_and_its_end),
		test(status_says_that_a_reload_was_refused_until_one_is_not),
		test(status_begins_with_the_note),
		test(manager_that_is_busy_gets_both_messages_later),
		test(end_of_a_reload_that_was_not_received_is_all_there_is),
		test(daemon_that_drains_reports_no_reload),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
