/* SPDX-License-Identifier: MIT
 *
 * live.c - live objects change while bytes flow: real sockets, real threads, all of the engine.
 *
 *   live changes|rotation|servers|commands|failures [--driver epoll|io_uring] [--times N] [--seed N]
 *        [--log PATH]
 *
 * changes: N changes drawn by lot; no byte may be lost, and in the end everything must be as it was.
 * rotation: ten settings in turn, N times, under 500 long sessions that hold all ten of each object.
 * servers: a server is added and removed N times.
 * commands: an administrator adds one and deletes it N times.
 * failures: N times each kind of change, while each of its calls fails in turn.
 * These: a second time the same, and it needs no more memory.
 */
#include <dirent.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "changes.h"
#include "echo.h"
#include "failures.h"
#include "memory.h"
#include "traffic.h"
#include "weir/balance/backend.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/io/uring.h"

#define SETTLE_NS (60 * NS_PER_SEC)
/* Pools and tables follow their peak, which differs a little from run to run. */
#define SPARE_BYTES (512u << 10)
#define PASSES_MAX  4u

static struct rig rig;
static char folder[64];
static char host[32];

static unsigned long times = 1000;
static unsigned long seed = 1;
static const struct io_driver *driver = &io_epoll_driver;

static void print_figures(const char *what, unsigned long n, int64_t since_ns)
{
	const struct traffic_figures f = traffic_figures();

	printf("%s: %lu times, %llu sessions, %llu turned away, %llu bytes back, %.1f s, %zu KiB, %zu "
	       "waiting\n",
	       what, n, (unsigned long long)f.sessions, (unsigned long long)f.turned_away,
	       (unsigned long long)f.bytes, (double)(clock_mono_ns() - since_ns) / (double)NS_PER_SEC,
	       memory_bytes() / 1024, rig_count_leaving(&rig));
	fflush(stdout);
	if (f.failed)
		exit(1);
}

static void await_long_sessions(unsigned count)
{
	const int64_t end_ns = clock_mono_ns() + SETTLE_NS;

	while (traffic_figures().lasting < count && clock_mono_ns() < end_ns)
		rig_rest(&rig, 10 * NS_PER_MS);
	check(traffic_figures().lasting >= count);
}

/* Until workers have given back what they kept. */
static void settle(void)
{
	const int64_t end_ns = clock_mono_ns() + SETTLE_NS;

	if (!rig_settle(&rig, 0, SETTLE_NS)) {
		printf("not freed: %zu\n", rig_count_leaving(&rig));
		exit(1);
	}
	while ((engine_sum(&rig.engine, sessions) > 0 || engine_sum(&rig.engine, session_slots) > 0 ||
		engine_sum(&rig.engine, timers) > 0 || echo_open() > 0) &&
	       clock_mono_ns() < end_ns)
		rig_rest(&rig, 50 * NS_PER_MS);
}

static void end_traffic(void)
{
	traffic_stop();
	while (!traffic_is_over())
		rig_rest(&rig, 5 * NS_PER_MS);
	traffic_join();
	settle();
}

/* The first pass makes pools and tables as large as they get, and a later one may still raise a peak; but a
 * leak adds to each. */
static bool adds_nothing(bool (*pass)(void))
{
	struct rig_state before, after;
	bool fine = pass();

	rig_look(&rig, &after);
	for (unsigned i = 0; i < PASSES_MAX; i++) {
		before = after;
		fine &= pass();
		rig_look(&rig, &after);
		if (after.bytes <= before.bytes + SPARE_BYTES)
			break;
	}
	return rig_is_as(&before, &after, SPARE_BYTES) && fine;
}

/* ---- changes ---- */

static void make_changes(unsigned long n)
{
	const struct traffic_wish wish = {.threads = 2, .short_sessions = 8, .long_sessions = 16};
	const int64_t since_ns = clock_mono_ns();

	traffic_start(&wish, wish.long_sessions);
	await_long_sessions(wish.threads * wish.long_sessions);
	for (unsigned long i = 1; i <= n; i++) {
		changes_make();
		if (i % 4 != 0)
			rig_turn(&rig);
		if (i % 64 == 0)
			rig_watch_totals(&rig);
		if (i % ((n + 3) / 4) == 0)
			print_figures("changes", i, since_ns);
	}
	changes_take_back();
	rig_turn(&rig);
	end_traffic();
	rig_watch_totals(&rig);
	changes_look_at_places();
	print_figures("end", n, since_ns);
}

/* The first pass is a short one. */
static bool pass_of_changes(void)
{
	static bool is_warm;

	make_changes(is_warm ? times : times / 4 + 200);
	is_warm = true;
	return true;
}

static bool run_changes(void)
{
	bool fine = adds_nothing(pass_of_changes);

	fine &= rig_is_idle(&rig, 500 * NS_PER_MS);
	changes_print();
	return fine;
}

/* ---- in rotation ---- */

#define GROUP	25u /* long sessions of each thread that begin under the same settings */
#define RENEWED 4u  /* of all, every RENEW_EVERY rotations */
#define RENEW_EVERY 16u

static struct changes_versions peak;

static unsigned greater(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

static unsigned least_of(const struct changes_versions *v)
{
	const unsigned entries = v->frontend < v->endpoint ? v->frontend : v->endpoint;
	const unsigned others = v->backend < v->server ? v->backend : v->server;

	return entries < others ? entries : others;
}

static unsigned most_of(const struct changes_versions *v)
{
	return greater(greater(v->frontend, v->endpoint), greater(v->backend, v->server));
}

static void rotate_to(unsigned long i)
{
	struct changes_versions now;

	changes_rotate((unsigned)i);
	rig_turn(&rig);
	now = changes_count_versions();
	check(most_of(&now) <= CHANGES_ROTATION);
	peak.frontend = greater(peak.frontend, now.frontend);
	peak.endpoint = greater(peak.endpoint, now.endpoint);
	peak.backend = greater(peak.backend, now.backend);
	peak.server = greater(peak.server, now.server);
}

static void print_versions(const char *when)
{
	const struct changes_versions now = changes_count_versions();

	printf("versions %s: frontend %u, endpoint %u, backend %u, server %u; at most %u, %u, %u, %u\n",
	       when, now.frontend, now.endpoint, now.backend, now.server, peak.frontend, peak.endpoint,
	       peak.backend, peak.server);
}

/* Each of the settings gets long sessions of its own. */
static void begin_in_groups(unsigned threads)
{
	for (unsigned group = 1; group <= CHANGES_ROTATION; group++) {
		rotate_to(group);
		traffic_want_long(group * GROUP);
		await_long_sessions(threads * group * GROUP);
	}
}

/* Some sessions end meanwhile, and others begin. */
static bool rotate_under_traffic(void)
{
	const struct traffic_wish wish = {
		.threads = 2, .short_sessions = 4, .long_sessions = CHANGES_ROTATION * GROUP};
	const int64_t since_ns = clock_mono_ns();
	const uint32_t versions = rig.engine.live.versions.count;
	struct changes_versions held;

	traffic_start(&wish, 0);
	begin_in_groups(wish.threads);
	held = changes_count_versions();
	print_versions("under all long sessions");
	for (unsigned long i = 1; i <= times; i++) {
		rotate_to(i);
		if (i % RENEW_EVERY != 0)
			continue;
		traffic_end_long(RENEWED);
		rig_rest(&rig, NS_PER_MS);
		if (i % 64 == 0)
			rig_watch_totals(&rig);
	}
	print_figures("rotation", times, since_ns);
	print_versions("after it");
	changes_rotate(0);
	end_traffic();
	print_figures("end", times, since_ns);
	/* Each setting had sessions. */
	return least_of(&held) == CHANGES_ROTATION && rig.engine.live.versions.count == versions;
}

static bool run_rotation(void)
{
	return adds_nothing(rotate_under_traffic);
}

/* ---- one server ---- */

static bool come_and_go(void)
{
	const struct traffic_wish wish = {.threads = 2, .short_sessions = 8, .long_sessions = 8};
	const int64_t since_ns = clock_mono_ns();
	const uint64_t chosen = backend_totals(rig.engine.backends[0]).chosen;

	traffic_start(&wish, wish.long_sessions);
	await_long_sessions(wish.threads * wish.long_sessions);
	for (unsigned long i = 1; i <= times; i++) {
		changes_add_server();
		rig_turn(&rig);
		changes_remove_server();
		rig_turn(&rig);
		check(rig_settle(&rig, 200, SETTLE_NS));
		if (i % 256 == 0)
			rig_watch_totals(&rig);
	}
	print_figures("servers", times, since_ns);
	end_traffic();
	print_figures("end", times, since_ns);
	printf("chosen %llu times\n",
	       (unsigned long long)(backend_totals(rig.engine.backends[0]).chosen - chosen));
	return true;
}

static bool run_servers(void)
{
	return adds_nothing(come_and_go);
}

/* Sessions with it are short, so that it can soon be deleted. */
static bool command(void)
{
	const struct traffic_wish wish = {.threads = 2, .short_sessions = 8};
	const int64_t since_ns = clock_mono_ns();
	const uint64_t chosen = backend_totals(rig.engine.backends[0]).chosen;
	unsigned long busy = 0;

	traffic_start(&wish, 0);
	for (unsigned long i = 1; i <= times; i++) {
		changes_command_server();
		rig_turn(&rig);
		for (; !changes_delete_server(); busy++)
			rig_turn(&rig);
		rig_turn(&rig);
		check(rig_settle(&rig, 200, SETTLE_NS));
		if (i % 256 == 0)
			rig_watch_totals(&rig);
	}
	print_figures("commands", times, since_ns);
	end_traffic();
	print_figures("end", times, since_ns);
	printf("chosen %llu times, in use %lu times when it was to be deleted\n",
	       (unsigned long long)(backend_totals(rig.engine.backends[0]).chosen - chosen), busy);
	return true;
}

static bool run_commands(void)
{
	return adds_nothing(command);
}

/* ---- failures ---- */

/* A name that could not be removed. */
static void remove_names(void)
{
	DIR *d = opendir(folder);
	const struct dirent *entry;
	unsigned n = 0;

	check(d != NULL);
	while ((entry = readdir(d)) != NULL)
		if (strncmp(entry->d_name, "in", 2) == 0)
			n += unlinkat(dirfd(d), entry->d_name, 0) == 0;
	closedir(d);
	printf("names that could not be removed: %u\n", n);
}

static bool fail_in_turn(void)
{
	const struct traffic_wish wish = {.threads = 2, .short_sessions = 2, .long_sessions = 8};
	const int64_t since_ns = clock_mono_ns();

	traffic_start(&wish, wish.long_sessions);
	await_long_sessions(wish.threads * wish.long_sessions);
	for (unsigned long i = 0; i < times; i++) {
		failures_round(folder);
		rig_watch_totals(&rig);
	}
	print_figures("failures", times, since_ns);
	changes_take_back();
	rig_turn(&rig);
	end_traffic();
	changes_look_at_places();
	print_figures("end", times, since_ns);
	return true;
}

static bool run_failures(void)
{
	bool fine = adds_nothing(fail_in_turn);

	fine &= failures_print((unsigned)times);
	remove_names();
	return fine & rig_is_idle(&rig, 500 * NS_PER_MS);
}

/* ---- the program ---- */

static const struct scenario {
	const char *name;
	bool (*run)(void);
} scenarios[] = {
	{"changes", run_changes},
	{"rotation", run_rotation},
	{"servers", run_servers},
	{"commands", run_commands},
	{"failures", run_failures},
};

static int usage(void)
{
	fprintf(stderr, "usage: live changes|rotation|servers|commands|failures [--driver epoll|io_uring] "
			"[--times N] [--seed N] [--log PATH]\n");
	return 2;
}

static bool read_options(int argc, char **argv)
{
	static const struct option options[] = {{"driver", required_argument, NULL, 'd'},
						{"times", required_argument, NULL, 'n'},
						{"seed", required_argument, NULL, 's'},
						{"log", required_argument, NULL, 'l'},
						{0}};
	char why[URING_WHY_MAX];
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'n')
			times = strtoul(optarg, NULL, 10);
		else if (option == 's')
			seed = strtoul(optarg, NULL, 10);
		else if (option == 'l')
			rig_log = optarg;
		else if (option == 'd' && strcmp(optarg, "io_uring") == 0)
			driver = uring_driver(why, sizeof(why));
		else if (option != 'd' || strcmp(optarg, "epoll") != 0)
			return false;
		if (driver == NULL) {
			printf("skipped: no io_uring: %s\n", why);
			exit(77);
		}
	}
	return optind == argc - 1;
}

static bool run(const struct scenario *s)
{
	char bind[64], server[ADDR_TEXT_MAX];
	const unsigned pid = (unsigned)getpid();
	bool fine;

	(void)snprintf(folder, sizeof(folder), "/tmp/weir-live.XXXXXX");	  /* both fit */
	(void)snprintf(host, sizeof(host), "127.%u.%u.1", 1 + pid / 250 % 250, 1 + pid % 250);
	check(mkdtemp(folder) != NULL);
	echo_start(folder);
	(void)snprintf(bind, sizeof(bind), "%s:20000", host); /* fits */
	rig_open(&rig, driver, bind, addr_format(echo_addr(0), server));
	changes_begin(&rig, seed, folder, host);
	printf("%s, %s, %u workers, seed %lu\n", s->name, driver->name, RIG_WORKERS, seed);
	fine = s->run();
	rig_close(&rig);
	changes_end();
	echo_stop();
	(void)rmdir(folder); /* what is left in it shows */
	printf("%s\n", fine ? "fine" : "FAILED");
	return fine;
}

int main(int argc, char **argv)
{
	(void)signal(SIGPIPE, SIG_IGN);
	if (argc < 2 || !read_options(argc, argv))
		return usage();
	for (size_t i = 0; i < ARRAY_LEN(scenarios); i++)
		if (strcmp(argv[optind], scenarios[i].name) == 0)
			return run(&scenarios[i]) ? 0 : 1;
	return usage();
}
