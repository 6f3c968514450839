/* SPDX-License-Identifier: MIT
 *
 * child.c - a process of the demo: forked without exec, ends with its parent.
 *
 * The only place in this room that ends a process, which is never the parent.
 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "weir/base/check.h"

#define FDS_MAX 4096

/* Closes first..last; close_range(2) is missing before Linux 5.9 and in some sandboxes. */
static void close_all(unsigned first, unsigned last)
{
	if (first > last || close_range(first, last, 0) == 0)
		return;
	for (unsigned fd = first; fd <= last && fd < FDS_MAX; fd++)
		(void)close((int)fd); /* most were never open */
}

static void take_descriptors(const struct child_job *job)
{
	int null = open("/dev/null", O_RDWR);

	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
	}
	if (job->stdin_fd >= 0)
		(void)dup2(job->stdin_fd, STDIN_FILENO);
	(void)dup2(job->log_fd, STDERR_FILENO);
	if (job->keep_fd > STDERR_FILENO) {
		close_all(STDERR_FILENO + 1, (unsigned)job->keep_fd - 1);
		close_all((unsigned)job->keep_fd + 1, ~0u);
	} else {
		close_all(STDERR_FILENO + 1, ~0u);
	}
}

_Noreturn static void be_child(const struct child_job *job, pid_t parent)
{
	sigset_t term;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* the parent ended before the kernel knew */
		_exit(1);
	(void)setpgid(0, 0);
	take_descriptors(job);
	/* The parent may send it at once: pending, it ends nothing before the job has a handler for it. */
	(void)sigemptyset(&term);
	(void)sigaddset(&term, SIGTERM);
	(void)sigprocmask(SIG_SETMASK, &term, NULL);
	exit(job->run(job->arg));
}

int child_start(struct child *c, const struct child_job *job)
{
	pid_t parent = getpid();
	pid_t pid;

	check(c->pid == 0);
	(void)fflush(NULL); /* else both processes would write what is buffered */
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		be_child(job, parent);
	c->pid = pid;
	c->code = -1;
	return 0;
}

void child_signal(const struct child *c, int signal)
{
	if (c->pid > 0)
		(void)kill(c->pid, signal); /* not reaped yet: the process ID is still its own */
}

static void note_end(struct child *c, int status)
{
	c->pid = 0;
	c->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool child_reap(struct child *c)
{
	int status;

	if (c->pid == 0 || waitpid(c->pid, &status, WNOHANG) != c->pid)
		return false;
	note_end(c, status);
	return true;
}

void child_kill(struct child *c)
{
	int status = 0;

	if (c->pid == 0)
		return;
	child_signal(c, SIGKILL);
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	note_end(c, status);
}
