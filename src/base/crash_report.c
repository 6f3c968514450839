/* SPDX-License-Identifier: MIT
 *
 * crash_report.c - what a daemon writes when a failed check or a fatal signal ends it.
 *
 * Owns the handlers of fatal signals and their stacks; borrows the targets. A handler calls only what
 * signal-safety(7) allows, and backtrace(3) after the first line. Nothing that hangs delays the end for long:
 * an alarm is set before the first write.
 */
#include "weir/base/crash_report.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "backtrace.h"
#include "crash_text.h"

/* The longest that a hung disk or reader can delay the end. */
#define PATIENCE_S 2
#define FRAMES_MAX 32
/* Frames of this file to skip, even where a compiler has inlined everything into one function. */
#define FRAMES_OWN 1
#define STACK_BYTES 32768

static const struct fatal {
	int number;
	const char *name;
} fatals[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGILL, "SIGILL"}, {SIGFPE, "SIGFPE"},
	      {SIGABRT, "SIGABRT"}};

_Thread_local uint64_t crash_report_at;

static _Thread_local char signal_stack[STACK_BYTES];
static _Atomic(struct crash_report_target *) targets[CRASH_REPORT_TARGETS];
static bool begun;
static atomic_int speaker;            /* the thread that writes; 0 = none yet */
static volatile sig_atomic_t ends_by; /* the signal */

/* ---- the end ---- */

/* Ends the process as if there were no handler. After a fault the instruction is executed again, so the core
 * file shows it. */
static void let_end(int signal_number)
{
	sigset_t set;

	(void)signal(signal_number, SIG_DFL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, signal_number);
	(void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void on_alarm(int number)
{
	(void)number;
	let_end(ends_by);
	(void)raise(ends_by);
}

static void set_alarm(int signal_number)
{
	struct sigaction action = {.sa_handler = on_alarm};
	sigset_t set;

	ends_by = signal_number;
	(void)sigaction(SIGALRM, &action, NULL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGALRM);
	(void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	(void)alarm(PATIENCE_S);
}

/* Only one thread writes. Any other thread that dies meanwhile waits for the end; if the writing thread
 * itself faults, it stops writing. */
static bool may_speak(void)
{
	int nobody = 0;

	if (atomic_compare_exchange_strong(&speaker, &nobody, gettid()))
		return true;
	while (nobody != gettid())
		(void)pause();
	return false;
}

/* ---- where ---- */

static void put_thread(struct crash_text *t)
{
	char name[17] = "";

	if (gettid() == getpid()) {
		crash_text_put(t, ", in control");
		return;
	}
	(void)prctl(PR_GET_NAME, name);
	crash_text_put(t, ", in ");
	crash_text_put(t, name[0] != '\0' ? name : "a thread without a name");
	if (crash_report_at == 0)
		return;
	crash_text_put(t, ", last session ");
	crash_text_put(t, strncmp(name, "worker ", 7) == 0 ? name + 7 : "?");
	crash_text_put(t, ".");
	crash_text_number(t, crash_report_at - 1, 10);
}

static void put_backtrace(struct crash_text *t)
{
	void *frames[FRAMES_MAX];
	const int count = backtrace_take(frames, FRAMES_MAX);

	crash_text_put(t, "weir " WEIR_VERSION ", backtrace:");
	if (count <= FRAMES_OWN)
		crash_text_put(t, " none");
	for (int i = FRAMES_OWN; i < count; i++) {
		crash_text_put(t, " ");
		crash_text_place(t, (uintptr_t)frames[i]);
	}
}

/* ---- writing ---- */

static void write_to(const struct crash_report_target *target, const char *text)
{
	const int fd = *(const volatile int *)target->fd;
	struct crash_text line;
	socklen_t len = sizeof(int);
	int type;

	if (fd < 0 || fd == STDERR_FILENO)
		return;
	crash_text_frame(&line, target->frame, text);
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0) {
		(void)!write(fd, line.bytes, line.len); /* there is nowhere to report a failure */
		return;
	}
	if (type == SOCK_STREAM)
		line.bytes[line.len - 1] = '\0';
	else
		line.len--;
	(void)send(fd, line.bytes, line.len, MSG_DONTWAIT | MSG_NOSIGNAL); /* as above */
}

static void write_stderr(const char *text)
{
	struct crash_text line;

	crash_text_begin(&line);
	crash_text_put(&line, "weir: ");
	crash_text_put(&line, text);
	crash_text_end_line(&line);
	(void)!write(STDERR_FILENO, line.bytes, line.len); /* the core file still says where */
}

static void write_targets(const char *text)
{
	for (unsigned i = 0; i < CRASH_REPORT_TARGETS; i++) {
		const struct crash_report_target *t = atomic_load(&targets[i]);

		if (t != NULL)
			write_to(t, text);
	}
}

/* Writes what needs no unwinder first, and stderr before files: unwinding a corrupt stack, or a hung disk,
 * may be the end. */
static void speak(struct crash_text *cause)
{
	struct crash_text trace;

	put_thread(cause);
	write_stderr(cause->bytes);
	write_targets(cause->bytes);
	crash_text_begin(&trace);
	put_backtrace(&trace);
	write_stderr(trace.bytes);
	write_targets(trace.bytes);
}

/* ---- what happened ---- */

static void put_signal(struct crash_text *t, const siginfo_t *info)
{
	const char *name = "signal";

	for (size_t i = 0; i < ARRAY_LEN(fatals); i++)
		if (fatals[i].number == info->si_signo)
			name = fatals[i].name;
	crash_text_put(t, "ended by ");
	crash_text_put(t, name);
	if (info->si_code > 0) {
		crash_text_put(t, " at address 0x");
		crash_text_number(t, (uintptr_t)info->si_addr, 16);
	} else if (info->si_pid != getpid()) {
		crash_text_put(t, " that process ");
		crash_text_number(t, (uint64_t)info->si_pid, 10);
		crash_text_put(t, " sent");
	}
}

static void on_fatal(int number, siginfo_t *info, void *context)
{
	const int err = errno;
	struct crash_text cause;

	(void)context;
	if (may_speak()) {
		set_alarm(number);
		crash_text_begin(&cause);
		put_signal(&cause, info);
		speak(&cause);
	}
	(void)signal(number, SIG_DFL);
	if (info->si_code <= 0)
		(void)raise(number); /* it is delivered when this returns */
	errno = err;
}

void crash_report_cause(const char *cause)
{
	struct crash_text text;

	if (!begun) {
		write_stderr(cause);
		return;
	}
	if (may_speak()) {
		set_alarm(SIGABRT);
		crash_text_begin(&text);
		crash_text_put(&text, cause);
		speak(&text);
	}
	let_end(SIGABRT);
}

/* ---- set-up ---- */

static void fatal_set(sigset_t *set)
{
	(void)sigemptyset(set);
	for (size_t i = 0; i < ARRAY_LEN(fatals); i++)
		(void)sigaddset(set, fatals[i].number);
}

static void handle_fatals(void)
{
	struct sigaction action = {.sa_sigaction = on_fatal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct sigaction old;

	/* A sanitizer writes its own report. */
	if (sigaction(SIGSEGV, NULL, &old) != 0 || old.sa_handler != SIG_DFL)
		return;
	fatal_set(&action.sa_mask);
	for (size_t i = 0; i < ARRAY_LEN(fatals); i++)
		(void)sigaction(fatals[i].number, &action, NULL); /* an unhandled one ends the process too */
}

static void take_fatals(void)
{
	const stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof(signal_stack)};
	stack_t old;
	sigset_t set;

	/* If this fails, the handler runs on the thread's own stack. A sanitizer has already set an alternate
	 * stack, and unmaps it itself. */
	if (sigaltstack(NULL, &old) == 0 && (old.ss_flags & SS_DISABLE))
		(void)sigaltstack(&stack, NULL);
	fatal_set(&set);
	(void)pthread_sigmask(SIG_UNBLOCK, &set, NULL); /* a blocked fault ends the process silently */
}

void crash_report_begin(void)
{
	void *frame;

	(void)backtrace_take(&frame, 1); /* the first call loads a library: do that now */
	crash_text_prepare();
	handle_fatals();
	take_fatals();
	begun = true;
}

void crash_report_thread(const char *name)
{
	char cut[16] = "";

	memcpy(cut, name, strnlen(name, sizeof(cut) - 1));
	(void)prctl(PR_SET_NAME, cut); /* cannot fail with a valid string */
	if (begun)
		take_fatals();
}

void crash_report_add(struct crash_report_target *t)
{
	for (unsigned i = 0; i < CRASH_REPORT_TARGETS; i++) {
		struct crash_report_target *free_place = NULL;

		if (atomic_compare_exchange_strong(&targets[i], &free_place, t))
			return;
	}
}

void crash_report_remove(struct crash_report_target *t)
{
	for (unsigned i = 0; i < CRASH_REPORT_TARGETS; i++) {
		struct crash_report_target *place = t;

		(void)atomic_compare_exchange_strong(&targets[i], &place, NULL);
	}
}
