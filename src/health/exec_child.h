/* SPDX-License-Identifier: MIT
 *
 * exec_child.h - a program as a child process: started, signalled, reaped. Nothing but system calls.
 *
 * Costs the same however large this process is and however many descriptors it has: nothing is copied.
 * Control thread.
 */
#ifndef WEIR_HEALTH_EXEC_CHILD_H
#define WEIR_HEALTH_EXEC_CHILD_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct exec_child {
	pid_t pid; /* also that of its process group; 0 = somebody else has reaped it */
	int fd;    /* owns: pidfd_open(2), readable once it has ended; -1 = none */
	int out;   /* owns: what it prints, and to stderr; nonblocking; -1 = none */
};

struct exec_start {
	const char *program;
	char *const *argv;
	char *const *envp;
	struct rlimit files; /* its RLIMIT_NOFILE */
};

/* Starts a program in a process group of its own: stdin is /dev/null, stdout and stderr are one pipe, no
 * other descriptor is open; signals have their default actions and none is blocked; it has no ambient
 * capability. Returns once the program itself runs: 0, or -errno, with `*of_program` set if that is
 * execve(2)'s. */
int exec_child_start(struct exec_child *c, const struct exec_start *s, bool *of_program);
/* Sends a signal to what is left of the group. Only before exec_child_reap() is true: until then its number
 * is not given to others. */
void exec_child_signal(struct exec_child *c, int number);
/* Has it ended? It is not reaped yet. */
bool exec_child_is_over(struct exec_child *c);
/* If it has ended, reaps it: its status, as waitpid(2) has it. Never blocks. */
bool exec_child_reap(struct exec_child *c, int *status);
/* Closes the descriptors. */
void exec_child_close(struct exec_child *c);

#endif
