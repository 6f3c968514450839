/* SPDX-License-Identifier: MIT
 *
 * exec_runner.c - programs that check servers: how many run at once, how long, and what came of them.
 *
 * Owns the running programs. Main thread.
 */
#include "exec_runner.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/base/log.h"
#include "weir/base/program.h"
#include "weir/config/server_check.h"
#include "weir/sys/low_fds.h"
#include "exec_output.h"

/* Per turn of the loop: starts, and bytes of what one program prints. */
#define STARTS_MAX 4
#define READ_BYTES 16384
/* Once a program has ended, what is in its pipe is read: as much as a pipe holds. */
#define LAST_READS 4
/* Per turn, processes that are left to us as process 1. */
#define ORPHANS_MAX 64
/* If control itself is this late, it was suspended, and perhaps the program with it: it gets its time again,
 * once. */
#define LATE_NS (50 * NS_PER_MS)
/* A process that SIGKILL has not ended by then hangs in the kernel. */
#define STUCK_NS (5 * NS_PER_SEC)

enum run_phase {
	RUN_GOING,
	RUN_ENDING, /* SIGTERM was sent */
	RUN_KILLED,
	RUN_STUCK, /* and it is still there */
};

struct exec_run {
	struct list link; /* in its runner */
	struct exec_runner *runner; /* borrows */
	struct exec_client *client; /* borrows; NULL = it has gone */
	bool told; /* there is a result, or none is wanted */
	bool again; /* it got its time twice */
	enum run_phase phase;
	struct exec_child child;
	struct ev_io end; /* of the process */
	struct ev_io out;
	struct ev_timer timer; /* end of the phase */
	struct exec_output output;
	int64_t began_ns;
	int64_t timeout_ns;
	int64_t due_ns; /* when `timer` is */
};

static void serve_soon(struct exec_runner *r);

/* ---- results ---- */

static void tell(struct exec_run *run, const struct exec_result *r)
{
	run->told = true;
	run->client->done(run->client, r);
}

static struct exec_result result_of(const struct exec_run *run)
{
	return (struct exec_result){.duration_ns = clock_mono_ns() - run->began_ns};
}

/* ---- what it prints ---- */

static void stop_reading(struct exec_run *run)
{
	ev_io_stop(run->runner->loop, &run->out);
}

/* Returns false once there is nothing more at present, or ever. */
static bool read_some(struct exec_run *run)
{
	static char bytes[READ_BYTES];
	const ssize_t n = read(run->child.out, bytes, sizeof(bytes));

	if (n > 0)
		exec_output_push(&run->output, bytes, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		stop_reading(run); /* it may go on without */
	return n > 0;
}

static void on_out(struct ev_loop *loop, struct ev_io *io, int revents)
{
	(void)loop;
	(void)revents;
	(void)read_some(io->data); /* the rest in the next turn */
}

/* ---- time ---- */

static void set_timer(struct exec_run *run, int64_t ns)
{
	struct ev_loop *loop = run->runner->loop;

	ev_now_update(loop); /* a start may have taken long */
	run->due_ns = clock_mono_ns() + ns;
	ev_timer_stop(loop, &run->timer);
	ev_timer_set(&run->timer, (double)ns / (double)NS_PER_SEC, 0.);
	ev_timer_start(loop, &run->timer);
}

static void begin_ending(struct exec_run *run)
{
	check(run->phase == RUN_GOING);
	run->phase = RUN_ENDING;
	exec_child_signal(&run->child, SIGTERM);
	set_timer(run, EXEC_KILL_NS);
}

/* ---- the end ---- */

static void close_run(struct exec_run *run)
{
	struct exec_runner *r = run->runner;

	ev_io_stop(r->loop, &run->end);
	ev_io_stop(r->loop, &run->out);
	ev_timer_stop(r->loop, &run->timer);
	exec_child_close(&run->child);
	list_remove(&run->link);
	check(r->inside > 0);
	r->inside--;
	if (run->client != NULL)
		run->client->run = NULL;
	free(run);
}

/* If the process has ended: its result, if that is still wanted. `run` is gone then. */
static bool take_end(struct exec_run *run)
{
	struct exec_runner *r = run->runner;
	struct exec_result result;
	int status;

	if (!exec_child_is_over(&run->child))
		return false;
	exec_child_signal(&run->child, SIGKILL); /* what is left of its group */
	if (!exec_child_reap(&run->child, &status))
		return false; /* cannot happen */
	for (int i = 0; i < LAST_READS && read_some(run); i++)
		;
	if (!run->told) {
		result = result_of(run);
		exec_result_of_end(&result, status, &run->output);
		tell(run, &result);
	}
	close_run(run);
	serve_soon(r);
	return true;
}

static void on_end(struct ev_loop *loop, struct ev_io *io, int revents)
{
	(void)loop;
	(void)revents;
	(void)take_end(io->data);
}

static void warn_stuck(const struct exec_run *run)
{
	log_line(LOG_LEVEL_WARNING,
		 "process %d of a health check does not end although it was killed: it hangs in the kernel, "
		 "and keeps one of the %u places of 'exec-checks'; see that its disks answer",
		 (int)run->child.pid, run->runner->limit);
}

static void on_timer(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct exec_run *run = timer->data;
	struct exec_result result;

	(void)loop;
	(void)revents;
	if (take_end(run))
		return; /* control was late */
	switch (run->phase) {
	case RUN_GOING:
		if (!run->again && clock_mono_ns() - run->due_ns > LATE_NS) {
			run->again = true;
			set_timer(run, run->timeout_ns);
			return;
		}
		begin_ending(run);
		result = result_of(run);
		exec_result_of_timeout(&result, &run->output);
		tell(run, &result);
		break;
	case RUN_ENDING:
		run->phase = RUN_KILLED;
		exec_child_signal(&run->child, SIGKILL);
		set_timer(run, STUCK_NS);
		break;
	case RUN_KILLED:
		run->phase = RUN_STUCK;
		warn_stuck(run);
		break;
	case RUN_STUCK:
		break;
	}
}

/* ---- the beginning ---- */

static void watch(struct exec_run *run)
{
	struct ev_loop *loop = run->runner->loop;

	ev_io_init(&run->end, on_end, run->child.fd, EV_READ);
	run->end.data = run;
	ev_io_start(loop, &run->end);
	ev_io_init(&run->out, on_out, run->child.out, EV_READ);
	run->out.data = run;
	ev_io_start(loop, &run->out);
	ev_init(&run->timer, on_timer);
	run->timer.data = run;
	set_timer(run, run->timeout_ns);
}

/* 0, or with nothing started -1 and the reason in `result`. */
static int start(struct exec_run *run, struct exec_result *result)
{
	struct exec_order o = {.program = NULL};
	char why[PROGRAM_WHY_MAX];
	bool of_program = false;
	int err;

	run->client->order(run->client, &o);
	run->timeout_ns = o.timeout_ns;
	if (program_look(o.program, geteuid(), why, sizeof(why)) != 0) {
		result->code = PROBE_PROCERR;
		exec_result_say(result, "not run: %s", why);
		return -1;
	}
	err = exec_child_start(&run->child,
			       &(const struct exec_start){.program = o.program,
							  .argv = o.argv,
							  .envp = o.envp,
							  .files = run->runner->files},
			       &of_program);
	if (err)
		exec_result_of_error(result, err, of_program);
	return err ? -1 : 0;
}

static void start_for(struct exec_runner *r, struct exec_client *c)
{
	struct exec_result result = {.code = PROBE_SOCKERR};
	struct exec_run *run = calloc(1, sizeof(*run));

	list_remove(&c->link);
	if (run == NULL) {
		exec_result_say(&result, "no memory");
		c->done(c, &result);
		return;
	}
	run->runner = r;
	run->client = c;
	exec_output_init(&run->output);
	run->began_ns = clock_mono_ns();
	if (start(run, &result) != 0) {
		free(run);
		c->done(c, &result);
		return;
	}
	list_push_back(&r->runs, &run->link);
	r->inside++;
	c->run = run;
	watch(run);
}

/* ---- who is next ---- */

/* The first whose own program has gone; NULL = none. */
static struct exec_client *next_client(const struct exec_runner *r)
{
	for (struct list *l = r->waiting.next; l != &r->waiting; l = l->next) {
		struct exec_client *c = list_entry(l, struct exec_client, link);

		if (c->run == NULL)
			return c;
	}
	return NULL;
}

static bool is_due(const struct exec_runner *r)
{
	return r->inside < r->limit && next_client(r) != NULL;
}

static void serve_soon(struct exec_runner *r)
{
	if (ev_is_active(&r->serving) || !is_due(r))
		return;
	ev_timer_set(&r->serving, 0., 0.);
	ev_timer_start(r->loop, &r->serving);
}

static void on_serving(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct exec_runner *r = timer->data;

	(void)loop;
	(void)revents;
	for (int i = 0; i < STARTS_MAX && is_due(r); i++)
		start_for(r, next_client(r));
	serve_soon(r);
}

/* ---- what is left to process 1 ---- */

static struct exec_run *run_of(const struct exec_runner *r, pid_t pid)
{
	for (struct list *l = r->runs.next; l != &r->runs; l = l->next) {
		struct exec_run *run = list_entry(l, struct exec_run, link);

		if (run->child.pid == pid)
			return run;
	}
	return NULL;
}

static void on_orphan(struct ev_loop *loop, struct ev_signal *watcher, int revents)
{
	struct exec_runner *r = watcher->data;

	(void)revents;
	for (int i = 0; i < ORPHANS_MAX; i++) {
		siginfo_t info = {.si_pid = 0};
		struct exec_run *run;

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
			return;
		run = run_of(r, info.si_pid);
		if (run != NULL)
			(void)take_end(run);
		else
			(void)waitpid(info.si_pid, NULL, WNOHANG); /* it has ended */
	}
	ev_feed_signal_event(loop, SIGCHLD); /* there may be more: in the next turn */
}

/* ---- clients ---- */

void exec_client_init(struct exec_client *c)
{
	list_init(&c->link);
	c->runner = NULL;
	c->run = NULL;
}

void exec_client_start(struct exec_client *c)
{
	check(c->runner != NULL);
	check(list_empty(&c->link));
	check(c->run == NULL || c->run->told);
	list_push_back(&c->runner->waiting, &c->link);
	serve_soon(c->runner);
}

void exec_client_stop(struct exec_client *c)
{
	list_remove(&c->link);
	if (c->run == NULL || c->run->told)
		return;
	c->run->told = true;
	if (c->run->phase == RUN_GOING)
		begin_ending(c->run);
}

void exec_client_free(struct exec_client *c)
{
	exec_client_stop(c);
	if (c->run != NULL)
		c->run->client = NULL;
	c->run = NULL;
}

/* ---- life ---- */

static void keep_claims(struct exec_runner *r, unsigned limit)
{
	const unsigned needed = config_exec_fds(limit);

	if (r->claimed <= needed)
		return;
	low_fds_unclaim(r->claimed - needed);
	r->claimed = needed;
}

int exec_runner_prepare(struct exec_runner *r, unsigned limit)
{
	const unsigned needed = config_exec_fds(limit);
	const int err = needed > r->claimed ? low_fds_claim(needed - r->claimed) : 0;

	if (err)
		return err;
	if (needed > r->claimed)
		r->claimed = needed;
	r->next_limit = limit;
	return 0;
}

/* Whoever started us may have left SIGCHLD ignored: then no status would be left for us. */
static void heed_children(struct exec_runner *r)
{
	if (ev_is_active(&r->orphans))
		return; /* since exec-checks was above 0 before */
	(void)signal(SIGCHLD, SIG_DFL); /* a known signal */
	if (getpid() == 1)
		ev_signal_start(r->loop, &r->orphans);
}

void exec_runner_commit(struct exec_runner *r)
{
	if (r->limit == 0 && r->next_limit > 0)
		heed_children(r);
	r->limit = r->next_limit;
	keep_claims(r, r->limit);
	serve_soon(r);
}

void exec_runner_undo(struct exec_runner *r)
{
	keep_claims(r, r->limit);
}

void exec_runner_init(struct exec_runner *r, struct ev_loop *loop, const struct rlimit *files)
{
	memset(r, 0, sizeof(*r));
	r->loop = loop;
	r->files = *files;
	list_init(&r->runs);
	list_init(&r->waiting);
	ev_init(&r->serving, on_serving);
	r->serving.data = r;
	ev_signal_init(&r->orphans, on_orphan, SIGCHLD);
	r->orphans.data = r;
}

void exec_runner_free(struct exec_runner *r)
{
	int status;

	check(list_empty(&r->waiting));
	ev_timer_stop(r->loop, &r->serving);
	ev_signal_stop(r->loop, &r->orphans);
	while (!list_empty(&r->runs)) {
		struct exec_run *run = list_entry(r->runs.next, struct exec_run, link);

		exec_child_signal(&run->child, SIGKILL);
		(void)exec_child_reap(&run->child, &status); /* or whoever inherits it does */
		close_run(run);
	}
	keep_claims(r, 0);
}
