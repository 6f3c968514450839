/* SPDX-License-Identifier: MIT
 *
 * daemon.c - the daemon from start to end, on the main thread.
 *
 * Owns the loop, the engine and everything of control. startup.c sets them up, and daemon_run() takes them
 * down in the reverse order on every way out. Forwards no session data.
 */
#include "weir/control/daemon.h"

#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/crash_report.h"
#include "weir/base/log.h"
#include "weir/entry/endpoint_label.h"
#include "weir/host/loop_faults.h"
#include "weir/host/time_slice.h"
#include "weir/sys/low_fds.h"
#include "end_guard.h"
#include "startup.h"

#define FLUSH_MS   1000
#define FAR_AWAY_S 1e12
/* A worker that wakes up on the same CPU has a shorter one, and goes first. */
#define TIME_SLICE_NS 10000000u

static const int signals_handled[DAEMON_SIGNALS] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};

static void on_news(struct ev_loop *loop, struct ev_async *async, int revents);
static void on_signal(struct ev_loop *loop, struct ev_signal *watcher, int revents);
static void on_delay_over(struct ev_loop *loop, struct ev_timer *timer, int revents);
static void on_hard_stop(struct ev_loop *loop, struct ev_timer *timer, int revents);
static void on_far_away(struct ev_loop *loop, struct ev_periodic *periodic, int revents);

/* Descriptors 0 to 2 must never become sockets: a library that prints would write to a client. 0, or -errno
 * if one of them is closed and stays closed. */
static int fill_standard_fds(void)
{
	int fd, err;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	err = fd < 0 ? -errno : 0;
	if (fd > STDERR_FILENO)
		(void)close(fd);
	for (fd = 0; err && fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			return err;
	return 0;
}

/* False when the loop cannot watch for its own wake-ups. libev reports that to nobody: it stops that watch,
 * which it counts like any other, and aborts the process at the first wake-up. */
static bool start_watchers(struct daemon *d)
{
	sigset_t handled;

	ev_async_init(&d->news, on_news);
	d->news.data = d;
	ev_async_start(d->loop, &d->news);
	if (!ev_run(d->loop, EVRUN_NOWAIT)) /* none is left, not even `news` */
		return false;
	ev_timer_init(&d->shutdown_delay, on_delay_over, 0., 0.);
	d->shutdown_delay.data = d;
	ev_timer_init(&d->hard_stop, on_hard_stop, 0., 0.);
	d->hard_stop.data = d;
	(void)sigemptyset(&handled);
	for (size_t i = 0; i < DAEMON_SIGNALS; i++) {
		ev_signal_init(&d->signals[i], on_signal, signals_handled[i]);
		d->signals[i].data = d;
		ev_signal_start(d->loop, &d->signals[i]);
		(void)sigaddset(&handled, signals_handled[i]);
	}
	/* The mask is inherited: whoever starts us may have blocked them, and libev leaves them so. */
	(void)pthread_sigmask(SIG_UNBLOCK, &handled, NULL); /* fails only for a wrong first argument */
	/* libev checks once a minute for jumps of the clock, unless there is a periodic watcher: then it uses
	 * a timerfd. An idle daemon should make no system calls, so it gets one. */
	ev_periodic_init(&d->far_away, on_far_away, FAR_AWAY_S, 0., NULL);
	ev_periodic_start(d->loop, &d->far_away);
	return true;
}

static void on_far_away(struct ev_loop *loop, struct ev_periodic *periodic, int revents)
{
	(void)revents;
	ev_periodic_stop(loop, periodic);
}

/* From here on a late signal has no effect. Otherwise it could end the process with a wrong exit code, or
 * call into a loop that is gone. */
static void stop_watchers(struct daemon *d)
{
	sigset_t block, old;

	(void)sigemptyset(&block);
	for (size_t i = 0; i < DAEMON_SIGNALS; i++)
		(void)sigaddset(&block, signals_handled[i]);
	(void)pthread_sigmask(SIG_BLOCK, &block, &old); /* fails only for a wrong first argument */
	for (size_t i = 0; i < DAEMON_SIGNALS; i++) {
		ev_signal_stop(d->loop, &d->signals[i]); /* sets SIG_DFL */
		(void)signal(signals_handled[i], SIG_IGN);
	}
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	ev_timer_stop(d->loop, &d->shutdown_delay);
	ev_timer_stop(d->loop, &d->hard_stop);
	ev_periodic_stop(d->loop, &d->far_away);
	ev_async_stop(d->loop, &d->news);
}

static void say_ready(struct daemon *d)
{
	const struct engine *e = &d->engine;
	char address[ADDR_TEXT_MAX];
	char label[ENDPOINT_LABEL_MAX];
	const char *why = d->driver.why;

	daemon_set_state(d, DAEMON_READY);
	entries_foreach_frontend(&e->entries, fe) {
		frontend_foreach_endpoint(fe, ep)
			if (endpoint_begins_line(ep))
				log_line(LOG_LEVEL_INFO, "listening on %s (frontend %s, bind %s)",
					 endpoint_line_address(ep, address), fe->config->name,
					 endpoint_label(ep, label));
	}
	log_line(LOG_LEVEL_NOTICE, "ready: %u workers, %s%s%s%s, maxconn %u, maxpipes %u, pid %d, weir %s",
		 e->worker_count, d->driver.driver->name, why[0] != '\0' ? " (io_uring: " : "", why,
		 why[0] != '\0' ? ")" : "", e->limits.maxconn, e->limits.maxpipes, (int)getpid(),
		 WEIR_VERSION);
	sd_service_ready(&d->service, d->loop, &d->engine);
	if (d->options->on_ready == NULL)
		return;
	/* The person waiting for a -D to return sees the startup messages. */
	(void)logwriter_flush(d->log, FLUSH_MS); /* a slow reader gets the remaining lines later */
	d->options->on_ready(d->options->on_ready_arg);
}

/* A worker ended without being told to. Nothing a peer does may cause this. */
static void stop_for_lost_worker(struct daemon *d)
{
	d->exit_code =
		daemon_fail(d, EXIT_FATAL, "a worker ended unexpectedly; the daemon stops, see above");
	daemon_set_state(d, DAEMON_STOPPING);
	sd_service_stopping(&d->service);
	reload_stop(&d->reloading.reload);
	engine_stop(&d->engine);
}

static void on_news(struct ev_loop *loop, struct ev_async *async, int revents)
{
	struct daemon *d = async->data;
	int workers = (int)d->engine.worker_count;
	int done;

	(void)revents;
	/* Cleared first, so that later news wakes the loop again. */
	atomic_store(&d->news_sent, false);
	done = atomic_load(&d->engine.workers_done);
	if (done > 0 && d->state < DAEMON_DRAINING)
		stop_for_lost_worker(d);
	if (d->state == DAEMON_STARTING && atomic_load(&d->engine.workers_ready) == workers)
		say_ready(d);
	if (d->stats != NULL)
		stats_take_answers(d->stats);
	if (d->engine_started)
		retiring_wake(&d->retiring);
	reloading_wake(&d->reloading);
	if (d->prober != NULL)
		prober_take_news(d->prober);
	resolver_heed(d->resolver);
	observing_take_news(&d->observing);
	ageing_wake(&d->ageing);
	memory_guard_wake(&d->memory);
	tcp_aborts_wake(&d->tcp_aborts, engine_sum(&d->engine, unacked_closes));
	logwriter_wake(d->log);
	if (done == workers)
		ev_break(loop, EVBREAK_ALL);
}

/* Whoever sends clients here, and asks whether we are ready, gets the time to send them elsewhere. */
static void begin_leaving(struct daemon *d, const char *why, int64_t delay_ns)
{
	log_line(LOG_LEVEL_NOTICE,
		 "%s: not ready any more; new sessions are taken for another %lld ms (shutdown-delay); a "
		 "second signal ends that at once",
		 why, (long long)(delay_ns / NS_PER_MS));
	daemon_set_state(d, DAEMON_LEAVING);
	sd_service_leaving(&d->service);
	ev_timer_set(&d->shutdown_delay, (double)delay_ns / (double)NS_PER_SEC, 0.);
	ev_timer_start(d->loop, &d->shutdown_delay);
}

static void begin_drain(struct daemon *d, const char *why)
{
	int64_t limit_ns = d->config->global.hard_stop_after_ns;
	char limit[64] = "";

	if (limit_ns > 0)
		(void)snprintf(limit, sizeof(limit), ", for up to %lld s",
			       (long long)(limit_ns / NS_PER_SEC));
	log_line(LOG_LEVEL_NOTICE, "%s: no new sessions; open: %llu%s; a second signal ends them at once",
		 why, (unsigned long long)engine_sum(&d->engine, sessions), limit);
	ev_timer_stop(d->loop, &d->shutdown_delay);
	daemon_set_state(d, DAEMON_DRAINING);
	sd_service_draining(&d->service);
	reload_stop(&d->reloading.reload);
	engine_drain(&d->engine, clock_mono_ns());
	prober_drain(d->prober);
	agents_drain(d->agents);
	if (limit_ns > 0) {
		ev_timer_set(&d->hard_stop, (double)limit_ns / (double)NS_PER_SEC, 0.);
		ev_timer_start(d->loop, &d->hard_stop);
	}
}

static void begin_stop(struct daemon *d, const char *why)
{
	log_line(LOG_LEVEL_WARNING, "%s: ending all sessions now, open: %llu", why,
		 (unsigned long long)engine_sum(&d->engine, sessions));
	daemon_set_state(d, DAEMON_STOPPING);
	sd_service_stopping(&d->service);
	reload_stop(&d->reloading.reload);
	engine_stop(&d->engine);
}

static void on_delay_over(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct daemon *d = timer->data;

	(void)loop;
	(void)revents;
	if (d->state == DAEMON_LEAVING)
		begin_drain(d, "shutdown-delay has expired");
}

static void on_hard_stop(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct daemon *d = timer->data;

	(void)loop;
	(void)revents;
	if (d->state == DAEMON_DRAINING)
		begin_stop(d, "hard-stop-after has expired");
}

static void told_to_stop(struct daemon *d, const char *name)
{
	const int64_t delay_ns = d->config->global.shutdown_delay_ns;

	if (d->state == DAEMON_READY && delay_ns > 0)
		begin_leaving(d, name, delay_ns);
	else if (d->state < DAEMON_DRAINING)
		begin_drain(d, name);
	else if (d->state == DAEMON_DRAINING)
		begin_stop(d, name);
}

static void on_signal(struct ev_loop *loop, struct ev_signal *watcher, int revents)
{
	struct daemon *d = watcher->data;

	(void)loop;
	(void)revents;
	if (watcher->signum == SIGHUP)
		reload_hang_up(&d->reloading.reload);
	else if (watcher->signum == SIGUSR1)
		logwriter_reopen(d->log);
	else
		told_to_stop(d, watcher->signum == SIGTERM ? "SIGTERM" : "SIGINT");
}

static void say_stopped(const struct daemon *d)
{
	log_line(LOG_LEVEL_NOTICE, "stopped: %llu accepted in %lld s",
		 (unsigned long long)engine_sum(&d->engine, accepted),
		 (long long)((clock_mono_ns() - d->admin_context.started_ns) / NS_PER_SEC));
}

/* Takes down everything that daemon_start() set up, in the reverse order. Waits only once for a log that
 * takes no lines. */
static void finish(struct daemon *d)
{
	int flush_ms = FLUSH_MS;

	end_guard_start((int)d->exit_code);
	reloading_free(&d->reloading);
	unlistening_stop(&d->unlistening);
	newcomers_stop(&d->newcomers);
	retiring_stop(&d->retiring);
	sd_service_close(&d->service);
	observing_stop(&d->observing);
	agents_free(d->agents);
	prober_free(d->prober);
	set_watches_stop(&d->sets);
	log_names_end(&d->log_names);
	resolver_free(d->resolver);
	web_free(d->web);
	admin_free(d->admin);
	stats_free(d->stats);
	web_socket_close(&d->web_socket);
	admin_socket_close(&d->admin_socket);
	admin_socket_close(&d->control_socket);
	if (d->engine_started) {
		updates_loop_free(&d->updates);
		ageing_stop(&d->ageing);
		memory_guard_stop(&d->memory);
		tcp_aborts_stop(&d->tcp_aborts);
		engine_join(&d->engine);
		if (!logwriter_flush(d->log, FLUSH_MS)) /* so that the next line is the last */
			flush_ms = 0;
		say_stopped(d);
	}
	/* The rings belong to the engine, so read them once more before it is freed. */
	if (d->log != NULL)
		(void)logwriter_flush(d->log, flush_ms); /* nobody left to report to */
	log_use_ring(NULL);
	logwriter_free(d->log);
	pidfile_remove(&d->pidfile);
	if (d->engine_made)
		engine_free(&d->engine);
	listen_fds_free(&d->passed);
	if (d->ring != NULL)
		log_ring_free(d->ring);
	stop_watchers(d);
	ev_loop_destroy(d->loop);
	loop_faults_free();
	low_fds_free();
}

/* Reads what a service manager passed. Runs before anything but the standard descriptors is opened, so that
 * none of our descriptors is mistaken for a passed one. startup.c reports errors once there is a log. */
static void read_environment(struct daemon *d)
{
	if (listen_fds_read(&d->passed, &d->passed_why) == 0)
		d->passed_why = NULL;
	sd_service_open(&d->service);
}

static enum exit_code run(struct daemon *d)
{
	enum exit_code code;
	const int err = fill_standard_fds(); /* keeps no descriptor above 2 */

	if (err)
		return daemon_fail(d, EXIT_ENVIRONMENT,
				   "cannot start: stdin, stdout or stderr is closed, and /dev/null cannot be "
				   "opened in its place: %s",
				   strerror(-err));
	crash_report_begin();
	if (config_input_keep_environment(&d->input) != 0)
		return daemon_fail(d, EXIT_ENVIRONMENT, "cannot start: no memory for the environment");
	read_environment(d);
	web_socket_init(&d->web_socket);
	admin_socket_init(&d->admin_socket);
	admin_socket_init(&d->control_socket);
	d->admin_context.started_ns = clock_mono_ns();
	/* splice(2) has no MSG_NOSIGNAL; SIGUSR2 is for later versions and must not end this one. */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGUSR2, SIG_IGN);
	if (loop_faults_init() != 0)
		return daemon_fail(d, EXIT_ENVIRONMENT, "cannot start: no memory for the event loop");
	d->loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV);
	if (d->loop == NULL)
		return daemon_fail(d, EXIT_ENVIRONMENT, "cannot start: no event loop: %s", strerror(errno));
	if (!start_watchers(d)) {
		ev_loop_destroy(d->loop);
		return daemon_fail(d, EXIT_ENVIRONMENT,
				   "cannot start: the event loop cannot watch for wake-ups: no memory, or "
				   "this user's watches are used up (fs.epoll.max_user_watches)");
	}
	code = daemon_start(d);
	if (code == EXIT_FINE) {
		ev_now_update(d->loop);
		daemon_notify(d); /* workers may have become ready before anyone looked */
		(void)time_slice_ask(TIME_SLICE_NS); /* after the workers were started: it is inherited */
		(void)ev_run(d->loop, 0);
		check(atomic_load(&d->engine.workers_done) == (int)d->engine.worker_count);
		code = d->exit_code;
	}
	d->exit_code = code;
	finish(d);
	return code;
}

enum exit_code daemon_run(struct config_input *input, const struct daemon_options *options)
{
	struct daemon d = {.input = *input, .options = options};
	enum exit_code code;

	*input = (struct config_input){0};
	code = origin_read(&d);
	if (code == EXIT_FINE)
		code = run(&d);
	if (d.config != d.started)
		config_free(d.config);
	config_free(d.started);
	origin_free(&d.origin);
	config_input_free(&d.input);
	return code;
}
