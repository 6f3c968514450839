/* SPDX-License-Identifier: MIT
 *
 * child.h - a process of the demo: forked without exec, gone when its parent is.
 *
 * It is a process group of its own, so that Ctrl-C reaches the parent alone, who ends all in order;
 * the kernel kills it when the parent ends in any other way. Only before threads.
 */
#ifndef WEIR_DEMO_CHILD_H
#define WEIR_DEMO_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid; /* 0 = not running */
	int code;  /* exit code of the last run; 128 + N after signal N */
};

struct child_job {
	int (*run)(void *arg); /* in the child; its result is the exit code */
	void *arg;
	int keep_fd; /* -1 = none; every other descriptor is closed in the child */
	int log_fd;  /* what the child writes to stderr goes there */
};

/* Starts the job. 0 or -errno. */
int child_start(struct child *c, const struct child_job *job);
/* Harmless when it does not run. */
void child_signal(const struct child *c, int signal);
/* Has it ended since the last call? Never waits. */
bool child_reap(struct child *c);
/* Kills it and waits for its end. Harmless when it does not run. */
void child_kill(struct child *c);

#endif
