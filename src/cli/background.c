/* SPDX-License-Identifier: MIT
 *
 * background.c - the daemon as a child that keeps running, and a parent that waits until it is ready.
 *
 * The child reads the configuration. It keeps stderr until it is ready, so that whoever started it can read
 * why it failed. Then its standard descriptors become /dev/null, and only after that does the parent return.
 * So a shell that reads the parent's output sees the end of it. Main thread.
 */
#include "background.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "weir/base/check.h"

/* Would every line of the log go to /dev/null? */
static bool logs_to_nowhere(const struct config *c)
{
	for (size_t i = 0; i < c->global.log_count; i++) {
		const enum config_log_kind kind = c->global.logs[i].kind;

		if (kind != CONFIG_LOG_AUTO && kind != CONFIG_LOG_STDERR)
			return false;
	}
	return true;
}

/* The argument of the daemon's callbacks. */
struct starter {
	const struct cli_args *args; /* borrows */
	void (*show)(const struct cli_args *a, struct config_reading *r);
	int fd; /* owns: the pipe to the parent; -1 = in the foreground */
};

static void on_read(void *arg, struct config_reading *r)
{
	const struct starter *s = arg;

	s->show(s->args, r);
	if (s->fd >= 0 && r->config != NULL && logs_to_nowhere(r->config) && !s->args->quiet)
		fputs("weir: warning: with -D a log to stderr goes nowhere; write 'log = file:PATH' or "
		      "'log = syslog:ADDRESS' in [global]\n",
		      stderr);
}

static void on_ready(void *arg)
{
	struct starter *s = arg;
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* From now on the end of the parent must not end us. */
	(void)prctl(PR_SET_PDEATHSIG, 0);
	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
		(void)dup2(null, STDERR_FILENO);
		if (null > STDERR_FILENO)
			(void)close(null);
	}
	(void)!write(s->fd, "", 1); /* if the parent is gone there is nobody to notify */
	(void)close(s->fd);
}

/* Waits until the child is ready, or has ended; then returns its exit code. */
static enum exit_code wait_for_child(pid_t child, int fd)
{
	char byte;
	ssize_t n;
	int status;

	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		return EXIT_FINE;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_FATAL;
	if (WIFEXITED(status) && WEXITSTATUS(status) != EXIT_FINE)
		return (enum exit_code)WEXITSTATUS(status);
	if (WIFEXITED(status)) { /* a signal during startup: it ended in order, but nothing runs */
		fputs("weir: the daemon was told to stop before it was ready\n", stderr);
		return EXIT_ENVIRONMENT;
	}
	fprintf(stderr, "weir: the daemon was killed by signal %d (%s) before it was ready\n",
		WTERMSIG(status), strsignal(WTERMSIG(status)));
	return EXIT_FATAL;
}

/* If we were started without standard descriptors, the pipe may have one of their numbers, which will become
 * /dev/null. */
static int away_from_standard(int fd)
{
	const int other = fd <= STDERR_FILENO ? fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : fd;

	if (other < 0)
		return fd; /* the parent then waits until we end; better than not starting */
	if (other != fd)
		(void)close(fd);
	return other;
}

/* Makes the variables that a service manager set for the parent process apply to this one. */
static void inherit_environment(pid_t parent)
{
	static const char *const names[] = {"LISTEN_PID", "WATCHDOG_PID"};
	char theirs[32], ours[32];

	(void)snprintf(theirs, sizeof(theirs), "%d", (int)parent); /* at most ten digits */
	(void)snprintf(ours, sizeof(ours), "%d", (int)getpid());
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *text = getenv(names[i]);

		if (text != NULL && strcmp(text, theirs) == 0)
			(void)setenv(names[i], ours, 1); /* on failure the daemon reports it */
	}
}

static enum exit_code run_child(struct starter *s, struct config_input *input, pid_t parent)
{
	const struct daemon_options options = {
		.on_read = on_read,
		.on_read_arg = s,
		.pid_path = s->args->pid_path,
		.on_ready = on_ready,
		.on_ready_arg = s,
	};

	/* Ctrl-C during startup is meant for both. */
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent) {
		config_input_free(input);
		return EXIT_FATAL;
	}
	s->fd = away_from_standard(s->fd);
	inherit_environment(parent);
	(void)setsid(); /* cannot fail: a new child does not lead a group */
	return daemon_run(input, &options);
}

enum exit_code background_run(const struct cli_args *a, struct config_input *input,
			      void (*show)(const struct cli_args *a, struct config_reading *r))
{
	struct starter starter = {.args = a, .show = show, .fd = -1};
	const struct daemon_options foreground = {
		.on_read = on_read, .on_read_arg = &starter, .pid_path = a->pid_path};
	const pid_t self = getpid();
	enum exit_code code;
	pid_t child;
	int fds[2];

	if (!a->background)
		return daemon_run(input, &foreground);
	(void)fflush(NULL); /* so that buffered output is written only once */
	if (pipe2(fds, O_CLOEXEC) != 0) {
		fprintf(stderr, "weir: cannot start in the background: %s\n", strerror(errno));
		config_input_free(input);
		return EXIT_ENVIRONMENT;
	}
	child = fork();
	if (child == 0) {
		(void)close(fds[0]);
		starter.fd = fds[1];
		return run_child(&starter, input, self);
	}
	code = EXIT_ENVIRONMENT;
	(void)close(fds[1]);
	if (child < 0)
		fprintf(stderr, "weir: cannot start in the background: %s\n", strerror(errno));
	else
		code = wait_for_child(child, fds[0]);
	(void)close(fds[0]);
	config_input_free(input); /* the child has its own */
	return code;
}
