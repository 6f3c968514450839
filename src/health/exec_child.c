/* SPDX-License-Identifier: MIT
 *
 * exec_child.c - a program as a child process: started, signalled, reaped.
 *
 * What posix_spawn(3) does, and two things that it cannot do. RLIMIT_NOFILE is set before the program runs,
 * so that the program never sees ours. And the table of descriptors is not copied: the child shares it until
 * it has one with the lowest of them alone (close_range(2)), which is why all that it needs has a low number.
 *
 * Until it runs the program, the child shares our memory and our thread waits (CLONE_VFORK). So it only makes
 * system calls, by syscall(2): the C library's own functions, and what a sanitizer puts in front of them,
 * would change what they keep in that memory. Control thread.
 */
#include "exec_child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "weir/sys/low_fds.h"
#include "weir/sys/sys.h"

#define STACK_BYTES 65536
#define SIGNALS_MAX 64
/* Of the kernel's sigset_t, on all but MIPS. */
#define SIGSET_BYTES 8
/* From linux/wait.h and linux/sched.h, whose names libc may lack. */
#define ID_OF_PIDFD 3
#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x1000
#endif

/* TSan takes each clone(2) for a fork(2), with memory of its own. libc's other name for it is not
 * intercepted. */
#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN
#endif
#endif
#ifdef UNDER_TSAN
int __clone(int (*run)(void *arg), void *stack, int flags, void *arg, ...);
#define clone __clone
#endif

/* Shared with the child. */
struct birth {
	const struct exec_start *start;
	uint64_t files[2]; /* the kernel's struct rlimit64 */
	int null, out;   /* what becomes its descriptors 0, and 1 and 2 */
	bool shares_fds; /* it has to get a table of its own */
	int step_err;    /* -errno of what comes before execve(2); 0 = none */
	int exec_err;
};

/* The kernel's struct sigaction for SIG_DFL is all 0. */
static const uint64_t default_action[8];
static const uint64_t no_signals;

#define BARE __attribute__((no_sanitize("address", "undefined", "thread"), noinline))

BARE static int set_up(const struct birth *b)
{
	const unsigned end = (unsigned)(b->null > b->out ? b->null : b->out) + 1;

	/* First: until then, descriptors are those of our process. */
	if (syscall(SYS_close_range, end, ~0u, b->shares_fds ? CLOSE_RANGE_UNSHARE : 0) != 0 && b->shares_fds)
		return -errno;
	for (int number = 1; number <= SIGNALS_MAX; number++)
		(void)syscall(SYS_rt_sigaction, number, default_action, NULL, SIGSET_BYTES); /* not of two */
	if (syscall(SYS_setpgid, 0, 0) != 0 ||
	    syscall(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 ||
	    syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, b->files, NULL) != 0)
		return -errno;
	if (syscall(SYS_dup3, b->null, STDIN_FILENO, 0) < 0 ||
	    syscall(SYS_dup3, b->out, STDOUT_FILENO, 0) < 0 ||
	    syscall(SYS_dup3, b->out, STDERR_FILENO, 0) < 0)
		return -errno;
	/* What others left open when they started us. Ours close by themselves. */
	(void)syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0);
	return syscall(SYS_rt_sigprocmask, SIG_SETMASK, &no_signals, NULL, SIGSET_BYTES) != 0 ? -errno : 0;
}

BARE static int be_born(void *birth)
{
	struct birth *b = birth;

	b->step_err = set_up(b);
	if (b->step_err == 0) {
		(void)syscall(SYS_execve, b->start->program, b->start->argv, b->start->envp);
		b->exec_err = -errno;
	}
	(void)syscall(SYS_exit_group, 127);
	return 127;
}

/* Returns the process ID, or -errno. The child has left our memory by then. */
static pid_t make_child(struct birth *b, int *pidfd)
{
	static _Alignas(64) char stack[STACK_BYTES]; /* of the control thread, which waits meanwhile */
	const int flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD | (b->shares_fds ? CLONE_FILES : 0);
	sigset_t all, old;
	pid_t pid;
	int err;

	(void)sigfillset(&all);
	/* A handler of ours must not run in the child. */
	err = pthread_sigmask(SIG_SETMASK, &all, &old);
	if (err)
		return -err;
	pid = clone(be_born, stack + sizeof(stack), flags, b, pidfd);
	if (pid < 0)
		pid = -errno;
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL); /* fails only for a wrong first argument */
	return pid;
}

static uint64_t limit_of(rlim_t n)
{
	return n == RLIM_INFINITY ? UINT64_MAX : n;
}

static void wait_for(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* `c->pid` and `c->fd` are those of a child that runs the program; else 0 or -errno. */
static int bear(struct exec_child *c, struct birth *b, bool *of_program)
{
	int pidfd = -1;
	pid_t pid;

	b->step_err = b->exec_err = 0;
	pid = make_child(b, &pidfd);
	if (pid < 0)
		return pid;
	if (b->step_err == 0 && b->exec_err == 0 && pidfd >= 0) {
		c->fd = low_fds_take(pidfd);
		c->pid = pid;
		if (c->fd >= 0)
			return 0;
	} else if (pidfd >= 0) {
		sys_close(pidfd);
	}
	*of_program = b->exec_err != 0;
	if (b->step_err == 0 && b->exec_err == 0)
		(void)kill(-pid, SIGKILL); /* it runs, but cannot be watched */
	wait_for(pid);
	if (b->step_err != 0 || b->exec_err != 0)
		return b->step_err != 0 ? b->step_err : b->exec_err;
	return pidfd < 0 ? -ENOSYS : c->fd; /* Linux before 5.2 ignores CLONE_PIDFD */
}

static int open_pipe(int ends[2])
{
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	ends[0] = low_fds_take(ends[0]);
	ends[1] = low_fds_take(ends[1]);
	if (ends[0] >= 0 && ends[1] >= 0)
		return fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0 ? -errno : 0;
	return ends[0] < 0 ? ends[0] : ends[1];
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		low_fds_close(*fd);
	*fd = -1;
}

int exec_child_start(struct exec_child *c, const struct exec_start *s, bool *of_program)
{
	int ends[2] = {-1, -1};
	int err = open_pipe(ends);
	struct birth b = {
		.start = s,
		.files = {limit_of(s->files.rlim_cur), limit_of(s->files.rlim_max)},
		.null = -1,
		.out = ends[1],
		.shares_fds = true,
	};

	*c = (struct exec_child){.fd = -1, .out = -1};
	*of_program = false;
	if (!err) {
		b.null = open("/dev/null", O_RDONLY | O_CLOEXEC);
		b.null = low_fds_take(b.null < 0 ? -errno : b.null);
		err = b.null < 0 ? b.null : 0;
	}
	if (!err)
		err = bear(c, &b, of_program);
	/* Linux before 5.9, or a filter of system calls: the table is copied. */
	if (b.step_err != 0 && b.shares_fds) {
		b.shares_fds = false;
		err = bear(c, &b, of_program);
	}
	close_fd(&b.null);
	close_fd(&ends[1]);
	if (err)
		close_fd(&ends[0]);
	c->out = ends[0];
	return err;
}

void exec_child_signal(struct exec_child *c, int number)
{
	if (c->pid > 0)
		(void)kill(-c->pid, number); /* -ESRCH: nothing is left of it */
}

bool exec_child_is_over(struct exec_child *c)
{
	siginfo_t info = {.si_pid = 0};
	int failed;

	if (c->pid == 0)
		return true;
	do
		failed = waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT);
	while (failed && errno == EINTR);
	if (failed)
		c->pid = 0; /* its number may be another's now */
	return failed || info.si_pid != 0;
}

bool exec_child_reap(struct exec_child *c, int *status)
{
	pid_t pid = -1;

	if (c->pid == 0 || (pid = waitpid(c->pid, status, WNOHANG)) < 0)
		*status = 255 << 8; /* unknown, so not good */
	return pid != 0;
}

void exec_child_close(struct exec_child *c)
{
	close_fd(&c->fd);
	close_fd(&c->out);
}
