/* SPDX-License-Identifier: MIT
 *
 * child.h - a process of the demo: forked without exec, ends with its parent.
 *
 * It is a process group of its own, so that Ctrl-C reaches only the parent, which ends everything in order.
 * The kernel kills it if the parent ends in any other way. Use only before threads exist.
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
	int (*run)(void *arg); /* runs in the child; its result is the exit code */
	void *arg;
	int keep_fd;  /* left open in the child, which closes every other descriptor; -1 = none */
	int log_fd;   /* receives the child's stderr */
	int stdin_fd; /* becomes the child's stdin; -1 = nothing to read */
};

/* Starts the job. 0 or -errno. */
int child_start(struct child *c, const struct child_job *job);
/* Harmless if it is not running. */
void child_signal(const struct child *c, int signal);
/* Has it ended since the last call? Never waits. */
bool child_reap(struct child *c);
/* Kills it and waits for its end. Harmless if it is not running. */
void child_kill(struct child *c);

#endif
