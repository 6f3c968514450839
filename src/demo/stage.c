/* SPDX-License-Identifier: MIT
 *
 * stage.c - the cast of a demo: daemon and servers start and stop, and phases follow each other.
 *
 * Main thread of the parent; the functions that children run are here too.
 */
#include "stage.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/control/daemon.h"

/* What a server process needs. Static, because the child reads it after the fork. */
struct server_part {
	const char *name;
	int listener;
	struct server_stats *stats;
};

double stage_seconds(const struct stage *s)
{
	return s->began_ns == 0 ? 0 : (double)(clock_mono_ns() - s->began_ns) / (double)NS_PER_SEC;
}

void stage_say(struct stage *s, enum screen_style style, const char *fmt, ...)
{
	char text[SCREEN_LINE_MAX];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args); /* may be truncated to the screen */
	va_end(args);
	screen_event(&s->screen, stage_seconds(s), style, text);
}

void stage_fail(struct stage *s, const char *fmt, ...)
{
	char text[REPORT_WHY_MAX];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	s->report.broken = true;
	report_why(&s->report, "%s", text);
	stage_say(s, SCREEN_BAD, "%s", text);
}

static void tell_ready(void *arg)
{
	const struct stage *s = arg;

	while (write(s->ready_fds[1], "", 1) < 0 && errno == EINTR)
		continue; /* any other failure: the parent is gone, and this process dies with it */
}

static void print_messages(void *arg, struct config_reading *r)
{
	(void)arg;
	config_reading_print(r, stderr, CONFIG_STYLE_PLAIN);
}

/* Runs in the child: the normal daemon, whose file is its stdin. */
static int play_daemon(void *arg)
{
	struct stage *s = arg;
	const struct daemon_options options = {
		.on_read = print_messages, .on_ready = tell_ready, .on_ready_arg = s};
	struct config_input input = {0};

	(void)unsetenv("STATE_DIRECTORY"); /* that of a service: a demo writes nothing there */
	/* Opened again for each reading, and then read from the beginning. */
	if (config_input_add_path(&input, "/proc/self/fd/0") != 0)
		return (int)EXIT_FATAL;
	return (int)daemon_run(&input, &options);
}

static int play_server(void *arg)
{
	const struct server_part *part = arg;

	return server_run(part->name, part->listener, part->stats);
}

static int write_all(int fd, const char *text, size_t len)
{
	size_t done = 0;

	if (ftruncate(fd, 0) != 0)
		return -errno;
	while (done < len) {
		const ssize_t n = pwrite(fd, text + done, len - done, (off_t)done);

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int stage_write_config(struct stage *s, enum plan_stage which)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int err;

	if (out == NULL)
		return -ENOMEM;
	demo_plan_write(&s->plan, which, out);
	err = fclose(out) == 0 ? write_all(s->config_fd, text, len) : -ENOMEM;
	free(text);
	return err;
}

bool stage_reload(struct stage *s, enum plan_stage which, const char *words)
{
	int err = command_is_busy(&s->command) ? 0 : stage_write_config(s, which);

	if (!err)
		return command_go_on(&s->command, words);
	command_give_up(&s->command, strerror(-err));
	return true;
}

int stage_start_daemon(struct stage *s)
{
	const struct child_job job = {
		.run = play_daemon,
		.arg = s,
		.keep_fd = s->ready_fds[1],
		.log_fd = s->log_fd,
		.stdin_fd = s->config_fd,
	};

	return child_start(&s->daemon, &job);
}

int stage_start_server(struct stage *s, size_t i)
{
	struct server_part part = {.name = demo_plan_server_name(i)};
	struct child_job job = {.run = play_server, .arg = &part, .log_fd = s->log_fd, .stdin_fd = -1};
	int err;

	check(s->starts[i] < REPORT_STARTS_MAX);
	/* Listen before the fork: clients that connect from now on wait for the server. */
	part.listener = demo_plan_listen(&s->plan, i);
	if (part.listener < 0)
		return part.listener;
	part.stats = &s->stats[i][s->starts[i]];
	job.keep_fd = part.listener;
	err = child_start(&s->servers[i], &job);
	(void)close(part.listener);
	if (err)
		return err;
	s->starts[i]++;
	s->leaving[i] = false;
	return 0;
}

void stage_stop_server(struct stage *s, size_t i)
{
	s->leaving[i] = true;
	child_signal(&s->servers[i], SIGTERM);
}

uint64_t stage_server_connections(const struct stage *s, size_t i)
{
	if (s->starts[i] == 0)
		return 0;
	return atomic_load_explicit(&s->stats[i][s->starts[i] - 1].connections, memory_order_relaxed);
}

static bool everybody_gone(const struct stage *s)
{
	for (size_t i = 0; i < PLAN_SERVERS; i++)
		if (s->servers[i].pid != 0)
			return false;
	return s->daemon.pid == 0;
}

/* Our clients have left already: this ends visitors, who might stay for long. */
static void stop_servers(struct stage *s)
{
	for (size_t i = 0; i < PLAN_SERVERS; i++)
		stage_stop_server(s, i);
}

void stage_set_phase(struct stage *s, enum stage_phase to)
{
	check(to > s->phase);
	s->phase = to;
	s->phase_ns = clock_mono_ns();
	switch (to) {
	case PHASE_PLAYING:
		s->began_ns = s->phase_ns;
		break;
	case PHASE_FINISHING:
		command_stop(&s->command);
		load_end(s->load);
		break;
	case PHASE_SETTLING:
		s->report.seconds = stage_seconds(s);
		asker_stop(&s->asker); /* an earlier request would return earlier numbers */
		stop_servers(s);
		break;
	case PHASE_STOPPING:
		asker_stop(&s->asker);
		command_stop(&s->command);
		load_end(s->load);
		child_signal(&s->daemon, SIGTERM);
		stop_servers(s);
		if (everybody_gone(s))
			stage_set_phase(s, PHASE_OVER);
		break;
	default:
		check(to == PHASE_OVER);
		ev_break(s->loop, EVBREAK_ALL);
	}
}

static void server_gone(struct stage *s, size_t i)
{
	const struct child *c = &s->servers[i];

	if (!s->leaving[i])
		stage_fail(s, "%s ended unexpectedly (exit code %d)", demo_plan_server_name(i), c->code);
	else if (c->code != 0)
		stage_fail(s, "%s ended with exit code %d", demo_plan_server_name(i), c->code);
	else if (s->phase < PHASE_FINISHING)
		stage_say(s, SCREEN_WARN, "b2 has left; connects to its closed port are retried at once");
}

static void daemon_gone(struct stage *s)
{
	s->report.daemon_exit = s->daemon.code;
	if (s->phase < PHASE_STOPPING)
		stage_fail(s, "weir ended unexpectedly (exit code %d)", s->daemon.code);
	else if (s->daemon.code != 0)
		stage_fail(s, "weir ended with exit code %d", s->daemon.code);
	if (s->phase == PHASE_PLAYING)
		stage_set_phase(s, PHASE_FINISHING); /* clients should notice it, but not for long */
	else if (s->phase == PHASE_STARTING || s->phase == PHASE_SETTLING)
		stage_set_phase(s, PHASE_STOPPING);
}

void stage_reap(struct stage *s)
{
	if (child_reap(&s->daemon))
		daemon_gone(s);
	for (size_t i = 0; i < PLAN_SERVERS; i++)
		if (child_reap(&s->servers[i]))
			server_gone(s, i);
	if (s->phase == PHASE_STOPPING && everybody_gone(s))
		stage_set_phase(s, PHASE_OVER);
}
