/* SPDX-License-Identifier: MIT
 *
 * exec_result.c - what came of a program that checks a server, in HAProxy's codes and in words.
 *
 * Any thread.
 */
#include "exec_result.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "weir/base/clock.h"
#include "weir/engine/server_sock.h"

void exec_result_say(struct exec_result *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(r->detail, sizeof(r->detail), fmt, ap); /* cut is fine */
	va_end(ap);
}

static void say_killed(struct exec_result *r, int number, const char *line)
{
	const char *name = sigabbrev_np(number), *words = sigdescr_np(number);

	exec_result_say(r, "killed by SIG%s (%s)%s%s%s", name != NULL ? name : "?",
			words != NULL ? words : "unknown signal",
			number == SIGSYS ? ", a filter of system calls (SystemCallFilter= of the unit)" : "",
			line[0] != '\0' ? ": " : "", line);
}

void exec_result_of_end(struct exec_result *r, int status, const struct exec_output *o)
{
	char line[EXEC_LINE_BYTES + 1];

	exec_output_end(o, line);
	r->code = PROBE_PROCERR;
	if (WIFSIGNALED(status)) {
		say_killed(r, WTERMSIG(status), line);
		return;
	}
	r->status = (unsigned)WEXITSTATUS(status);
	if (r->status == 0)
		r->code = PROBE_PROCOK;
	if (line[0] != '\0' || r->status == 0)
		exec_result_say(r, "%s", line);
	else
		exec_result_say(r, "exit status %u", r->status);
}

void exec_result_of_timeout(struct exec_result *r, const struct exec_output *o)
{
	char line[EXEC_LINE_BYTES + 1];

	exec_output_end(o, line);
	r->code = PROBE_PROCTOUT;
	exec_result_say(r, "still running after %lld ms%s%s", (long long)(r->duration_ns / NS_PER_MS),
			line[0] != '\0' ? ": " : "", line);
}

/* The program itself was there a moment ago, and is executable. */
static const char *why_not_run(int err)
{
	switch (err) {
	case -ENOENT:
		return "its interpreter does not exist";
	case -ENOEXEC:
		return "it is neither a program of this machine nor a script that begins with #!";
	case -EACCES:
		return "permission denied; may the user that weir runs as execute it?";
	default:
		return strerrordesc_np(-err);
	}
}

void exec_result_of_error(struct exec_result *r, int err, bool of_program)
{
	const char *what = of_program ? why_not_run(err) : strerrordesc_np(-err);

	if (err == -EPERM)
		what = "not permitted; does a filter of system calls forbid it (SystemCallFilter= of the "
		       "unit)?";
	r->code = server_sock_is_shortage(err) || err == -EAGAIN ? PROBE_SOCKERR : PROBE_PROCERR;
	exec_result_say(r, "cannot run the program: %s", what);
}
