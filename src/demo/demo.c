/* SPDX-License-Identifier: MIT
 *
 * demo.c - a demo from start to end: sets up, runs the loop, takes down, judges.
 *
 * Main thread of the parent, which never has another.
 */
#include "weir/demo/demo.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weir/admin/voice.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "keyed.h"
#include "stage.h"

#define TICK_S		0.05
#define TICKS_PER_FRAME 5 /* four frames a second */
#define LOG_BYTES_MAX	(1 << 20)
#define LOG_SHOWN_BYTES 4096

/* How long a phase may take before the demo gives up. The show has its own length. */
static const int64_t patience_ns[] = {
    [PHASE_STARTING] = 30 * NS_PER_SEC,	 [PHASE_PLAYING] = CLOCK_NEVER,
    [PHASE_FINISHING] = 60 * NS_PER_SEC, [PHASE_SETTLING] = 30 * NS_PER_SEC,
    [PHASE_STOPPING] = 30 * NS_PER_SEC,	 [PHASE_OVER] = CLOCK_NEVER,
};

static enum exit_code fail_start(const char *what, int err)
{
	fprintf(stderr, "weir: demo: %s: %s\n", what, strerror(-err));
	return EXIT_ENVIRONMENT;
}

static enum exit_code refuse_plan(int err)
{
	if (err != -EADDRINUSE)
		return fail_start("no port on 127.0.0.1", err);
	fprintf(stderr, "weir: demo: 127.0.0.1 has no free port from %d to %d\n", PLAN_PORT,
		PLAN_PORT + PLAN_PORTS_TRIED - 1);
	return EXIT_ENVIRONMENT;
}

enum exit_code demo_print_config(void)
{
	struct demo_plan p;
	int err = demo_plan_make(&p);

	if (err)
		return refuse_plan(err);
	demo_plan_write(&p, PLAN_STAGE_FIRST, stdout);
	demo_plan_free(&p);
	return EXIT_FINE;
}

static void on_info(void *arg, const char *text)
{
	struct stage *s = arg;
	struct info info = {.at_ns = clock_mono_ns()};

	if (s->phase >= PHASE_STOPPING || !info_parse(text, &info))
		return; /* requested in an earlier phase, too late to start anything */
	s->before = s->info;
	s->info = info;
	if (!s->heard) {
		s->heard = true;
		table_header(s);
		stage_set_phase(s, PHASE_PLAYING);
		return;
	}
	if (s->phase == PHASE_SETTLING && info.sessions == 0)
		stage_set_phase(s, PHASE_STOPPING);
}

static void on_ready(struct ev_loop *loop, struct ev_io *io, int revents)
{
	struct stage *s = io->data;

	(void)revents;
	ev_io_stop(loop, io); /* a byte, or the end of the daemon; the tick handles both */
	(void)asker_ask(&s->asker); /* the next tick asks again */
}

/* Ctrl-C once: the clients finish and everything ends in order. Twice: at once. */
static void on_interrupt(struct stage *s)
{
	s->interrupts++;
	s->report.interrupted = true;
	if (s->interrupts > 1) {
		stage_fail(s, "second signal: ending everything now");
		stage_set_phase(s, PHASE_OVER);
	} else if (s->phase == PHASE_PLAYING) {
		stage_say(s, SCREEN_WARN, "interrupted: the clients finish what they have begun");
		stage_set_phase(s, PHASE_FINISHING);
	} else if (s->phase == PHASE_STARTING) {
		stage_set_phase(s, PHASE_STOPPING);
	}
}

static void on_stage_signal(struct ev_loop *loop, struct ev_io *io, int revents)
{
	struct stage *s = io->data;
	struct signalfd_siginfo info;

	(void)loop;
	(void)revents;
	if (read(io->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo == SIGCHLD)
		stage_reap(s);
	else if (s->phase != PHASE_OVER && info.ssi_signo != SIGTSTP)
		on_interrupt(s);
}

/* Bounds the memory: in a long demo the log keeps only recent output. */
static void bound_log(const struct stage *s)
{
	struct stat st;

	/* Writers append. If the memory cannot be truncated, it is still usable. */
	if (fstat(s->log_fd, &st) == 0 && st.st_size > LOG_BYTES_MAX && ftruncate(s->log_fd, 0) != 0)
		return;
}

static void end_overdue_phase(struct stage *s)
{
	if (clock_mono_ns() - s->phase_ns <= patience_ns[s->phase])
		return;
	if (s->phase == PHASE_STARTING)
		stage_fail(s, "weir did not become ready");
	else if (s->phase == PHASE_FINISHING)
		stage_fail(s, "the clients did not finish");
	else if (s->phase == PHASE_STOPPING)
		stage_fail(s, "some processes did not exit");
	stage_set_phase(s, s->phase == PHASE_STOPPING ? PHASE_OVER : PHASE_STOPPING);
}

static void on_tick(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct stage *s = timer->data;
	bool frame = ++s->ticks % TICKS_PER_FRAME == 0;

	(void)loop;
	(void)revents;
	story_go_on(s);
	if (frame) {
		load_fail_stalled(s->load);
		bound_log(s);
		table_frame(s);
	}
	if (s->phase == PHASE_FINISHING && load_is_idle(s->load))
		stage_set_phase(s, s->daemon.pid != 0 ? PHASE_SETTLING : PHASE_STOPPING);
	if (s->phase == PHASE_SETTLING || (frame && s->phase < PHASE_SETTLING && !ev_is_active(&s->ready)))
		(void)asker_ask(&s->asker); /* the next one asks again */
	if (s->phase < PHASE_OVER)
		end_overdue_phase(s);
}

static int open_log(struct stage *s)
{
	/* Memory with a descriptor: needs no folder, and disappears with its processes. */
	s->log_fd = memfd_create("weir-demo-log", MFD_CLOEXEC);
	if (s->log_fd < 0)
		return -errno;
	return fcntl(s->log_fd, F_SETFL, O_APPEND) == 0 ? 0 : -errno;
}

/* Ignores SIGTSTP as well: after being suspended, a demo would find all its clients late. */
static int open_signals(struct stage *s)
{
	static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGTSTP};
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(handled); i++)
		(void)sigaddset(&set, handled[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return -errno;
	(void)signal(SIGPIPE, SIG_IGN);
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signal_fd < 0 ? -errno : 0;
}

static int share_stats(struct stage *s)
{
	void *memory = mmap(NULL, PLAN_SERVERS * sizeof(*s->stats), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	s->stats = memory;
	return 0;
}

/* Memory with a descriptor here, too. */
static int open_config(struct stage *s)
{
	s->config_fd = memfd_create("weir-demo-config", MFD_CLOEXEC);
	return s->config_fd < 0 ? -errno : stage_write_config(s, PLAN_STAGE_FIRST);
}

/* Everything needed before the first fork. 0 or -errno. */
static int prepare(struct stage *s)
{
	int err = open_log(s);

	if (!err)
		err = share_stats(s);
	if (!err && pipe2(s->ready_fds, O_CLOEXEC) != 0)
		err = -errno;
	if (!err)
		err = open_signals(s);
	if (!err)
		err = open_config(s);
	keyed_init();
	return err;
}

static int start_children(struct stage *s)
{
	int err = stage_start_daemon(s);

	for (size_t i = 0; i < PLAN_FIRST && !err; i++)
		err = stage_start_server(s, i);
	(void)close(s->ready_fds[1]);
	s->ready_fds[1] = -1;
	return err;
}

static int start_loop(struct stage *s)
{
	struct addr proxy;
	char admin[64];

	demo_plan_proxy_addr(&s->plan, &proxy);
	demo_plan_admin_name(&s->plan, admin, sizeof(admin));
	s->loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV);
	if (s->loop == NULL)
		return -ENOMEM;
	s->load = load_new(s->loop, &proxy);
	if (s->load == NULL)
		return -ENOMEM;
	command_init(&s->command, s->loop, admin);
	asker_init(&s->asker, s->loop, admin, VOICE_OURS " show info\n");
	s->asker.on_answer = on_info;
	s->asker.arg = s;
	ev_io_init(&s->ready, on_ready, s->ready_fds[0], EV_READ);
	s->ready.data = s;
	ev_io_start(s->loop, &s->ready);
	ev_io_init(&s->signals, on_stage_signal, s->signal_fd, EV_READ);
	s->signals.data = s;
	ev_io_start(s->loop, &s->signals);
	ev_timer_init(&s->tick, on_tick, TICK_S, TICK_S);
	s->tick.data = s;
	ev_timer_start(s->loop, &s->tick);
	s->phase_ns = clock_mono_ns();
	return 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/* Takes everything down, however far the setup got. */
static void take_down(struct stage *s)
{
	if (s->loop != NULL) {
		if (s->load != NULL) {
			asker_stop(&s->asker);
			command_stop(&s->command);
		}
		load_free(s->load);
		ev_loop_destroy(s->loop);
	}
	child_kill(&s->daemon);
	for (size_t i = 0; i < PLAN_SERVERS; i++)
		child_kill(&s->servers[i]);
	close_fd(&s->log_fd);
	close_fd(&s->config_fd);
	close_fd(&s->ready_fds[0]);
	close_fd(&s->ready_fds[1]);
	close_fd(&s->signal_fd);
	if (s->stats != NULL)
		(void)munmap(s->stats, PLAN_SERVERS * sizeof(*s->stats));
	free(s->table);
	demo_plan_free(&s->plan);
}

static void collect_servers(struct stage *s)
{
	struct report *r = &s->report;

	for (size_t i = 0; i < PLAN_SERVERS; i++) {
		r->servers[i].start_count = s->starts[i];
		for (size_t j = 0; j < s->starts[i]; j++) {
			const struct server_stats *stats = &s->stats[i][j];
			uint64_t errors = atomic_load(&stats->errors);

			r->servers[i].starts[j] = atomic_load(&stats->connections);
			r->servers[i].errors += errors;
			if (errors > 0)
				report_why(r, "%s: %.*s", demo_plan_server_name(i), SERVER_ERROR_MAX - 1,
					   stats->first_error);
		}
	}
}

static void collect(struct stage *s)
{
	const struct load_counts *n = load_counts(s->load);
	struct report *r = &s->report;

	if (r->seconds == 0.)
		r->seconds = stage_seconds(s);
	r->connections = n->connections;
	r->requests = n->requests;
	r->client_errors = n->errors;
	r->slowest_ns = n->slowest_ns;
	r->bytes = s->info.bytes_to_server + s->info.bytes_to_client;
	r->bytes_spliced = s->info.bytes_spliced;
	r->retries = s->info.retries;
	r->reloads = s->info.reloads;
	r->reloads_refused = s->info.reloads_refused;
	r->rollbacks = s->info.rollbacks;
	r->sessions_left = s->info.sessions;
	if (s->daemon.pid != 0) { /* not reaped */
		child_kill(&s->daemon);
		r->daemon_exit = s->daemon.code;
	}
	collect_servers(s); /* first: a wrong byte explains more than the end that follows it */
	if (n->errors > 0)
		report_why(r, "a client: %s", n->first_error);
}

/* Shows the end of the log, to help find the cause. */
static void show_log(const struct stage *s)
{
	char bytes[LOG_SHOWN_BYTES];
	struct stat st;
	off_t from;
	ssize_t n;

	if (fstat(s->log_fd, &st) != 0 || st.st_size == 0)
		return;
	from = st.st_size > LOG_SHOWN_BYTES ? st.st_size - LOG_SHOWN_BYTES : 0;
	n = pread(s->log_fd, bytes, sizeof(bytes), from);
	if (n > 0)
		fprintf(stderr, "the log of weir and its servers%s:\n%.*s", from > 0 ? " (last part)" : "",
			(int)n, bytes);
}

static enum exit_code print_report(struct stage *s)
{
	bool ok = report_ok(&s->report);
	struct screen *out = &s->screen;

	(void)fflush(stdout); /* cli_main() checks stdout at the end */
	if (s->options->json) {
		report_json(&s->report, stdout);
	} else {
		putchar('\n');
		report_text(&s->report, screen_style(out, SCREEN_GOOD), screen_style(out, SCREEN_BAD),
			    screen_style(out, SCREEN_PLAIN), stdout);
		if (ok && !s->options->quiet)
			printf(" next      %s forward :8080 10.0.0.1:80\n"
			       "           example files: conf/examples/   tests: sh "
			       "tests/run.sh\n",
			       program_invocation_name);
	}
	(void)fflush(stdout);
	if (!ok)
		show_log(s);
	if (!s->heard && s->report.daemon_exit == EXIT_ENVIRONMENT)
		return EXIT_ENVIRONMENT; /* the log has the reason */
	return ok ? EXIT_FINE : EXIT_FATAL;
}

enum exit_code demo_run(const struct demo_options *options)
{
	struct stage s = {
		.options = options, .log_fd = -1, .config_fd = -1, .ready_fds = {-1, -1}, .signal_fd = -1};
	enum exit_code code;
	int err = demo_plan_make(&s.plan);

	if (err)
		return refuse_plan(err);
	screen_begin(&s.screen, options->json || options->quiet ? NULL : stdout);
	err = prepare(&s);
	if (!err)
		err = start_children(&s);
	if (!err)
		err = start_loop(&s);
	if (err) {
		code = fail_start("cannot start", err);
	} else {
		(void)ev_run(s.loop, 0);
		table_frame(&s);
		screen_end(&s.screen);
		collect(&s);
		code = print_report(&s);
	}
	take_down(&s);
	return code;
}
