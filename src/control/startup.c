/* SPDX-License-Identifier: MIT
 *
 * startup.c - sets up the parts of a running daemon, one after another.
 *
 * Binds before it drops privileges, and counts resources after. Takes nothing down: daemon_run() does, on
 * every way out. A failure is one log line and an exit code. Main thread.
 */
#include "startup.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weir/admin/control_socket.h"
#include "weir/base/check.h"
#include "weir/base/log.h"
#include "weir/host/doctor.h"
#include "weir/host/loop_faults.h"
#include "weir/host/refusal.h"
#include "weir/host/socket_preflight.h"
#include "weir/sys/low_fds.h"
#include "admin_moving.h"

void daemon_notify(void *arg)
{
	struct daemon *d = arg;

	if (!atomic_exchange(&d->news_sent, true))
		ev_async_send(d->loop, &d->news);
}

enum exit_code daemon_fail(struct daemon *d, enum exit_code code, const char *fmt, ...)
{
	char text[LOG_RECORD_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap); /* may be truncated */
	va_end(ap);
	log_line(LOG_LEVEL_ERROR, "%s", text);
	sd_service_failed(&d->service, text);
	if (d->log != NULL && !logwriter_has_stderr(d->log, LOG_LEVEL_ERROR))
		(void)fprintf(stderr, "weir: %s\n", text);
	return code;
}

void daemon_set_state(struct daemon *d, enum daemon_state to)
{
	check(to > d->state);
	log_line(LOG_LEVEL_DEBUG, "daemon: %s -> %s", daemon_state_word(d->state), daemon_state_word(to));
	d->state = to;
	d->admin_context.state = to;
}

static enum exit_code start_log(struct daemon *d)
{
	const struct config_log *failed;
	char why[LOG_RECORD_MAX];
	int err;

	d->ring = log_ring_new(daemon_notify, d);
	if (d->ring == NULL)
		return daemon_fail(d, EXIT_ENVIRONMENT, "cannot start: no memory for the log");
	d->log = logwriter_new(d->loop, &d->config->global, &failed, &err);
	if (d->log == NULL && failed != NULL) {
		refusal_of_log(failed, err, why, sizeof(why));
		return daemon_fail(d, EXIT_ENVIRONMENT, "%s", why);
	}
	if (d->log == NULL || logwriter_add_ring(d->log, d->ring) != 0)
		return daemon_fail(d, EXIT_ENVIRONMENT, "cannot start: no memory for the log");
	log_use_ring(d->ring);
	return EXIT_FINE;
}

/* Runs as the user whose rights the threads should have. Until then a hanging disk delays startup, and the
 * service manager may time it out. That is acceptable: nobody is served yet, and a file that cannot be opened
 * must result in an exit code. */
static enum exit_code start_log_threads(struct daemon *d)
{
	const struct config_log *failed;
	const int err = logwriter_start(d->log, &failed);

	if (!err)
		return EXIT_FINE;
	return daemon_fail(d, EXIT_ENVIRONMENT,
			   "cannot start: no thread for the log %s: %s; raise the limit of tasks or of open "
			   "files (TasksMax= and LimitNOFILE= of the unit)",
			   failed != NULL && failed->path != NULL ? failed->path : "to stderr",
			   strerror(-err));
}

/* Before any of our own listeners exist: whatever listens now was inherited. */
static enum exit_code adopt_sockets(struct daemon *d)
{
	char why[LOG_RECORD_MAX];

	if (d->passed_why != NULL)
		return daemon_fail(d, EXIT_ENVIRONMENT, "cannot use the passed sockets: %s",
				   d->passed_why);
	if (listen_fds_adopt(&d->passed, &d->engine, why, sizeof(why)) != 0)
		return daemon_fail(d, EXIT_ENVIRONMENT, "%s", why);
	listen_fds_close(&d->passed);
	return EXIT_FINE;
}

static enum exit_code open_sockets(struct daemon *d)
{
	const struct config_global *g = &d->config->global;
	struct endpoint *failed = NULL;
	char why[LOG_RECORD_MAX];
	int err;

	if (refusal_of_ranges(d->config, limits_count_workers(g), why, sizeof(why)) != 0)
		return daemon_fail(d, EXIT_ENVIRONMENT, "%s", why);
	err = engine_init(&d->engine, d->config, daemon_notify, d);
	if (err)
		return daemon_fail(d, EXIT_ENVIRONMENT, "cannot start: %s", strerror(-err));
	d->engine_made = true;
	if (adopt_sockets(d) != EXIT_FINE)
		return EXIT_ENVIRONMENT;
	err = entries_bind(&d->engine.entries, &failed);
	if (err && failed == NULL)
		return daemon_fail(d, EXIT_ENVIRONMENT, "cannot listen: %s", strerror(-err));
	if (err) {
		const struct refusal_bind r = {.frontend = failed->frontend->config,
					       .bind = failed->config,
					       .err = err,
					       .refused = failed->refused,
					       .holder = failed->path.holder};

		refusal_of_bind(&r, why, sizeof(why));
		return daemon_fail(d, EXIT_ENVIRONMENT, "%s", why);
	}
	err = g->admin.kind != ADDR_NONE ? admin_socket_open(&d->admin_socket, g) : 0;
	if (err) {
		admin_moving_explain(&d->admin_socket, g, err, why, sizeof(why));
		return daemon_fail(d, EXIT_ENVIRONMENT, "%s", why);
	}
	err = g->stats.addr.kind != ADDR_NONE ? web_socket_open(&d->web_socket, &g->stats) : 0;
	if (err) {
		web_moving_explain(&d->web_socket, g, err, why, sizeof(why));
		return daemon_fail(d, EXIT_ENVIRONMENT, "%s", why);
	}
	return EXIT_FINE;
}

/* Before privileges are dropped: perhaps only root may write to the folder. */
static enum exit_code write_pid(struct daemon *d)
{
	const char *path = d->options->pid_path;
	int err = path != NULL ? pidfile_write(&d->pidfile, path) : 0;

	if (err)
		return daemon_fail(d, EXIT_ENVIRONMENT,
				   "cannot write the pid file %s: %s; check its folder and who may "
				   "write there",
				   path, strerror(-err));
	return EXIT_FINE;
}

/* Before privileges are dropped, for the same reason. A daemon without a control socket works, but `weir
 * reload` does not find it. */
static void open_control_socket(struct daemon *d)
{
	const struct control_where where = {
		.runtime_directory = getenv("RUNTIME_DIRECTORY"),
		.pid_path = d->options->pid_path,
		.pid = getpid(),
	};
	const uid_t uid = d->privileges.change ? d->privileges.uid : (uid_t)-1;
	struct addr at;

	for (int place = 0; place < CONTROL_PLACES; place++) {
		int err;

		if (!control_socket_address((enum control_place)place, &where, &at))
			continue;
		err = admin_socket_open_private(&d->control_socket, &at, uid);
		(void)addr_format(&at, d->control_address);
		if (!err) {
			d->admin_context.control_socket = d->control_address;
			return;
		}
		log_line(place + 1 < CONTROL_PLACES ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING,
			 "cannot open the control socket %s: %s; %s", d->control_address, strerror(-err),
			 place + 1 < CONTROL_PLACES
				 ? "it is opened elsewhere"
				 : "'weir reload' cannot find this daemon: use SIGHUP instead");
	}
}

/* Our own TCP listeners. Others have no address that overlaps with another. */
static int give_socket(const struct daemon *d, int fd, const struct addr *addr)
{
	char address[ADDR_TEXT_MAX];
	int err;

	if (addr_is_unix(addr))
		return 0;
	err = privileges_give(&d->privileges, fd);
	if (err)
		log_line(LOG_LEVEL_NOTICE,
			 "cannot give the listening socket %s to its user: %s; only a restart can "
			 "replace it by an overlapping address",
			 addr_format(addr, address), strerror(-err));
	return err;
}

static void give_sockets(const struct daemon *d)
{
	entries_foreach_frontend(&d->engine.entries, fe) {
		frontend_foreach_endpoint(fe, ep) {
			if (!ep->inherited && give_socket(d, ep->fd, &ep->addr) != 0)
				return; /* the others fail for the same reason */
		}
	}
	if (d->web_socket.fd >= 0)
		(void)give_socket(d, d->web_socket.fd, &d->web_socket.addr); /* it has been logged */
}

static enum exit_code drop_privileges(struct daemon *d)
{
	char why[LOG_RECORD_MAX];
	const struct config_global *g = &d->config->global;
	const char *user = g->user != NULL ? g->user : "-";
	const char *group = g->group != NULL ? g->group : "-";
	int err;

	if (driver_wants_ring(g->driver, DRIVER_OF_AUTO))
		limits_raise_locked();
	if (d->privileges.change && geteuid() == 0)
		logwriter_give(d->log, d->privileges.uid, d->privileges.gid);
	give_sockets(d);
	privileges_keep(&d->privileges, d->config);
	err = privileges_drop(&d->privileges);
	if (err && d->privileges.too_many)
		return daemon_fail(d, EXIT_ENVIRONMENT,
				   "cannot give up the capabilities of root: %s; allow capset(2) in the "
				   "filter of system calls (SystemCallFilter= of the unit)",
				   strerror(-err));
	if (err)
		return daemon_fail(d, EXIT_ENVIRONMENT,
				   "cannot become user %s, group %s: %s; this process runs as uid %u, gid "
				   "%u: start it as root or as that user (User= and Group= of the unit), or "
				   "remove 'user' and 'group'",
				   user, group, strerror(-err), (unsigned)geteuid(), (unsigned)getegid());
	if (refusal_of_programs(d->config, geteuid(), why, sizeof(why)))
		return daemon_fail(d, EXIT_CONFIG, "%s", why);
	if (privileges_stay_root(g))
		log_line(LOG_LEVEL_WARNING,
			 "weir keeps running as root, because [global] has no 'user'; name an unprivileged "
			 "user there, or write 'user = root' to keep it");
	return EXIT_FINE;
}

/* As the user that will also create the sockets to servers for clients. */
static enum exit_code preflight_backends(struct daemon *d)
{
	const struct config_backend *b = NULL;
	char reason[OPTION_ERROR_MAX], why[LOG_RECORD_MAX];

	if (socket_preflight_backends(d->config, &b, reason, sizeof(reason)) == 0)
		return EXIT_FINE;
	refusal_of_servers(b, reason, why, sizeof(why));
	return daemon_fail(d, EXIT_ENVIRONMENT, "%s", why);
}

/* Warns at startup of what would cause problems later. */
static void consult_doctor(const struct daemon *d, const struct limits_plan *plan, unsigned workers)
{
	struct doctor_facts facts;
	struct doctor_wish wish;

	doctor_read(&facts);
	doctor_wish_of(d->config, plan, workers, &wish);
	/* Binding has succeeded; and by now privileges may have been dropped. */
	wish.low_port = 0;
	wish.net_admin = NULL;
	doctor_log(&facts, &wish);
}

static enum exit_code plan_limits(struct daemon *d, unsigned workers, struct limits_plan *plan)
{
	const unsigned endpoints = d->engine.entries.endpoint_count;
	struct limits_wish wish = limits_wish_of(d->config, endpoints, workers);
	char text[1024];
	int err = limits_raise_fds();

	if (err)
		log_line(LOG_LEVEL_WARNING, "cannot raise the number of open files: %s", strerror(-err));
	limits_read(&d->facts);
	if (limits_plan(&d->facts, &wish, plan) == 0) {
		log_line(LOG_LEVEL_INFO, "%s", limits_describe(&d->facts, plan, text, sizeof(text)));
		consult_doctor(d, plan, workers);
		return EXIT_FINE;
	}
	refusal_of_limits(&d->facts, &wish, plan, text, sizeof(text));
	return daemon_fail(d, EXIT_ENVIRONMENT, "%s", text);
}

/* So that no change that is committed finds libev without memory. */
static int ready_to_watch(unsigned count, int end)
{
	return loop_faults_reserve(count, (size_t)end);
}

/* Reserves what control must have at run time, whatever workers and clients use. Called once the limit of
 * open files is known and before the first worker starts, so that the numbers are low. */
static enum exit_code reserve_for_control(struct daemon *d)
{
	int err;

	low_fds_on_growth(ready_to_watch);
	err = low_fds_hold(limits_count_low(d->config));
	if (err >= 0)
		err = low_fds_claim(limits_count_admin() + limits_count_web(d->config));
	if (err >= 0)
		return EXIT_FINE;
	return daemon_fail(d, EXIT_ENVIRONMENT,
			   "cannot start: no descriptors or memory to reserve for the control loop: %s; "
			   "raise LimitNOFILE= or LimitAS=",
			   strerror(-err));
}

static enum exit_code validate_resolver(struct daemon *d)
{
	char why[LOG_RECORD_MAX];

	if (set_watches_validate(d->config, why, sizeof(why)) != 0)
		return daemon_fail(d, EXIT_ENVIRONMENT, "%s", why);
	if (!resolver_has_dns() && d->config->global.resolvers.count > 0)
		log_line(LOG_LEVEL_WARNING,
			 "'resolvers' has no effect: this weir was built without c-ares, and the system's "
			 "resolver uses /etc/resolv.conf");
	return EXIT_FINE;
}

static int start_execs(struct daemon *d)
{
	const struct rlimit files = limits_first_fds();
	const int err = prober_prepare_execs(d->prober, d->config->global.exec_checks);

	prober_set_exec_files(d->prober, &files);
	if (!err)
		prober_commit_execs(d->prober);
	return err;
}

/* Runs after the workers have started, so a failure must end them again. */
static int start_services(struct daemon *d)
{
	int err;

	for (unsigned i = 0; i < d->engine.worker_count; i++) {
		err = logwriter_add_ring(d->log, engine_log_ring(&d->engine, i));
		if (err)
			return err;
	}
	updates_loop_init(&d->updates, d->loop, &d->engine);
	newcomers_init(&d->newcomers, &d->engine, &d->updates.updates);
	unlistening_init(&d->unlistening, d->loop, &d->engine.entries, &d->updates.updates, &d->privileges);
	d->admin_context.reload = &d->reloading.reload.asker;
	d->admin_context.bind_rights = &d->unlistening.rights;
	d->admin_context.engine = &d->engine;
	d->admin_context.updates = &d->updates.updates;
	d->admin_context.figures = d->figures;
	d->admin_context.figure_count = ARRAY_LEN(d->figures);
	d->admin_context.driver = d->driver.driver->name;
	d->admin_context.driver_reason = d->driver.why;
	d->admin_context.state = d->state;
	d->admin_context.totals = &d->admin_totals;
	d->stats = stats_new(d->loop, &d->engine);
	if (d->stats == NULL)
		return -ENOMEM;
	d->admin_context.stats = d->stats;
	d->admin_context.bases = stats_bases(d->stats);
	d->admin_context.pace = stats_pace(d->stats);
	d->process = (struct process_source){&d->engine, stats_pace(d->stats)};
	d->retiring.stats = d->stats;
	d->admin = admin_new(d->loop, &d->admin_socket, &d->control_socket, &d->admin_context);
	if (d->admin == NULL)
		return -ENOMEM;
	d->web = web_moving_serve(d, &err);
	if (d->web == NULL)
		return err;
	reloading_init(&d->reloading, d);
	d->resolver = resolver_new(d->loop, &d->updates.updates,
				   &(struct resolver_settings){&d->config->global, NULL, &d->engine}, &err);
	d->figures[6].from = d->resolver;
	d->figures[8].from = d->resolver;
	d->admin_context.name_servers = (struct name_servers_source){resolver_read_servers, d->resolver};
	if (d->resolver != NULL)
		err = set_watches_init(&d->sets, d->resolver, &d->updates.updates);
	if (d->resolver != NULL)
		log_names_begin(&d->log_names, d->loop, d->resolver, d->log);
	if (d->resolver != NULL && !err)
		d->prober = prober_new(d->loop, &d->engine, &d->updates.updates, &err);
	if (d->prober != NULL)
		err = start_execs(d);
	if (d->prober != NULL && !err)
		d->agents = agents_new(d->loop, &d->engine, &d->updates.updates, &err);
	if (d->agents != NULL)
		observing_init(&d->observing, d->loop, &d->engine, &d->updates.updates);
	return err;
}

static enum exit_code choose_driver(struct daemon *d)
{
	driver_choose(&d->driver, d->config->global.driver, DRIVER_OF_AUTO);
	if (d->driver.driver != NULL)
		return EXIT_FINE;
	return daemon_fail(d, EXIT_ENVIRONMENT,
			   "driver = io_uring cannot be used: %s; or write driver = auto, or driver = epoll",
			   d->driver.why);
}

static enum exit_code start_workers(struct daemon *d, const struct engine_limits *limits, unsigned workers)
{
	int err = engine_start(&d->engine, limits, workers, d->driver.driver);

	/* A small ring was available, but not one of full size per worker. */
	if (err && d->engine.worker_count == 0 && driver_fall_back(&d->driver, err))
		err = engine_start(&d->engine, limits, workers, d->driver.driver);
	d->engine_started = err == 0;
	if (!err)
		return EXIT_FINE;
	if (d->driver.why[0] != '\0' && !d->driver.may_fall_back)
		return daemon_fail(d, EXIT_ENVIRONMENT,
				   "cannot start %u workers with driver = io_uring: %s; or write driver = "
				   "auto, or driver = epoll",
				   workers, d->driver.why);
	return daemon_fail(d, EXIT_ENVIRONMENT, "cannot start %u workers: %s", workers, strerror(-err));
}

enum exit_code daemon_start(struct daemon *d)
{
	const char *unknown = NULL;
	struct limits_plan plan;
	unsigned workers = limits_count_workers(&d->config->global);
	int err = privileges_renounce(); /* for all threads, including the log's */
	enum exit_code code = start_log(d);

	if (err)
		log_line(LOG_LEVEL_WARNING, "cannot set no_new_privs: %s", strerror(-err));
	if (code == EXIT_FINE && privileges_find(&d->config->global, &d->privileges, &unknown) != 0)
		code = daemon_fail(d, EXIT_CONFIG,
				   "there is no user or group '%s'; see 'user' and 'group' in [global]",
				   unknown);
	if (code == EXIT_FINE) {
		origin_tell(d);
		code = open_sockets(d);
	}
	if (code == EXIT_FINE)
		code = write_pid(d); /* only root may be able to write to the folder */
	if (code == EXIT_FINE) {
		open_control_socket(d);
		code = drop_privileges(d);
	}
	if (code == EXIT_FINE)
		code = start_log_threads(d);
	if (code == EXIT_FINE)
		code = validate_resolver(d);
	if (code == EXIT_FINE)
		code = preflight_backends(d);
	if (code == EXIT_FINE)
		code = plan_limits(d, workers, &plan);
	if (code == EXIT_FINE)
		code = reserve_for_control(d);
	if (code == EXIT_FINE)
		code = choose_driver(d);
	if (code == EXIT_FINE) {
		memory_guard_init(&d->memory, d->loop, &d->engine, workers);
		retiring_init(&d->retiring, d->loop, &d->engine, d->log);
		code = start_workers(d, &plan.engine, workers);
	}
	if (code != EXIT_FINE)
		return code;
	ageing_init(&d->ageing, d->loop, &d->engine.pipes, &d->engine.bufs, d->config->global.pipe_cycle_ns);
	tcp_aborts_init(&d->tcp_aborts, d->loop, TCP_ABORTS_PATH);
	d->figures[0] = (struct figure_source){logwriter_publish, d->log};
	d->figures[1] = (struct figure_source){tcp_aborts_publish, &d->tcp_aborts};
	d->figures[2] = (struct figure_source){memory_guard_publish, &d->memory};
	d->figures[3] = (struct figure_source){reload_publish, &d->reloading.reload};
	d->figures[4] = (struct figure_source){turn_watch_publish, &d->reloading.turns};
	d->figures[5] = (struct figure_source){process_publish, &d->process};
	d->figures[6] = (struct figure_source){resolver_publish, NULL};
	d->figures[7] = (struct figure_source){web_publish, &d->web};
	d->figures[8] = (struct figure_source){resolver_publish_dns, NULL};
	d->figures[9] = (struct figure_source){set_watches_publish, &d->sets};
	err = start_services(d);
	if (err) {
		d->exit_code = daemon_fail(d, EXIT_ENVIRONMENT, "cannot start: %s", strerror(-err));
		daemon_set_state(d, DAEMON_STOPPING);
		engine_stop(&d->engine);
	}
	return EXIT_FINE;
}
