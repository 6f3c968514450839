/* SPDX-License-Identifier: MIT
 *
 * limits.c - how many connections and pipes this process may have: facts and calculation.
 *
 * A session needs two descriptors; HAProxy's rule gives every fourth session a pipe (two more). The kernel
 * counts pipe pages per user, so the plan is made after privileges are dropped. Never logs, never exits. Main
 * thread.
 */
#include "weir/host/limits.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/config/bind_range.h"
#include "weir/config/server_check.h"
#include "weir/engine/source_wait.h"
#include "weir/io/buf_pool.h"
#include "weir/io/pipe_pool.h"
#include "weir/sys/sys.h"
#include "kernel_file.h"

#define BUF_BUDGET_MIN (UINT64_C(16) << 20)
/* How the memory of a control group is divided: half for buffers, which slow readers fill, a quarter for
 * sessions without traffic, an eighth for pipes, and the remainder for the process itself. */
#define GROUP_BUFS_PART  2u
#define GROUP_CONNS_PART 4u
#define GROUP_PIPES_PART 8u
/* Minimum, however small the group is; memory_guard.h acts if even these need too much. */
#define GROUP_CONNS_MIN 100u
/* From linux/capability.h, which some libc development packages lack. */
#define CAP_BIT_SYS_ADMIN    21
#define CAP_BIT_SYS_RESOURCE 24

/* Rounds down to two digits, as HAProxy does: the number is for people. */
static uint64_t round_down(uint64_t n)
{
	uint64_t unit = 1;

	while (n / unit >= 100)
		unit *= 10;
	return n / unit * unit;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The size to which pipe_pool.h shrinks pipes before it reduces their number. */
static uint64_t smallest_pipe(const struct limits_facts *facts)
{
	return PIPE_SLOTS_MIN * facts->page_bytes;
}

/* The largest power of two up to `n`, at least `smallest`, which must be a power of two. */
static uint32_t power_of_two_below(uint64_t n, uint64_t smallest)
{
	uint32_t p = (uint32_t)smallest;

	check(n >= smallest);
	while (p <= UINT32_MAX / 4 && (uint64_t)p * 2 <= n)
		p *= 2;
	return p;
}

/* Fills in the pipe size and budget; returns how many pipes the kernel allows. */
static uint64_t plan_pipe_bytes(const struct limits_facts *facts, const struct limits_wish *wish,
				struct engine_limits *out)
{
	const uint64_t smallest = smallest_pipe(facts);

	out->pipe_bytes = wish->pipe_bytes > smallest ? wish->pipe_bytes : (uint32_t)smallest;
	out->pipe_budget_bytes = UINT64_MAX;
	if (facts->pipes_privileged)
		return UINT64_MAX;
	if (facts->pipe_max_bytes < smallest)
		return 0;
	out->pipe_bytes =
		(uint32_t)min_u64(out->pipe_bytes, power_of_two_below(facts->pipe_max_bytes, smallest));
	if (facts->pipe_user_pages == 0)
		return UINT64_MAX;
	/* Leave a sixteenth to other processes of this user. Past the limit the kernel makes pipes of only
	 * two slots, and we would make and close one for each flow that needs a pipe. */
	out->pipe_budget_bytes = (facts->pipe_user_pages - facts->pipe_user_pages / 16) * facts->page_bytes;
	/* Pipes get smaller before they get fewer, so count the smallest. */
	return out->pipe_budget_bytes / smallest;
}

static uint64_t limits_memory(const struct limits_facts *facts)
{
	if (facts->memory_bytes == 0 || facts->group_bytes == 0)
		return facts->memory_bytes + facts->group_bytes;
	return min_u64(facts->memory_bytes, facts->group_bytes);
}

/* Does a control group allow less than the machine has? Then the kernel kills whoever exceeds it. */
static bool is_group_limited(const struct limits_facts *facts)
{
	return facts->group_bytes != 0 && facts->group_bytes == limits_memory(facts);
}

static uint64_t plan_buf_budget(const struct limits_facts *facts, uint64_t maxconn)
{
	const uint64_t memory = limits_memory(facts);
	uint64_t budget = maxconn * 2 * BUF_MAX; /* at most one per flow, of the largest size */
	uint64_t least = BUF_BUDGET_MIN;

	if (is_group_limited(facts)) {
		budget = min_u64(budget, memory / GROUP_BUFS_PART);
		least = min_u64(least, budget);
	} else if (memory != 0) {
		budget = min_u64(budget, memory / 4);
	}
	return budget > least ? budget : least;
}

/* The pages in pipes count towards the group. */
static uint64_t plan_group_pipes(const struct limits_facts *facts, uint64_t allowed, struct limits_plan *plan)
{
	const uint64_t budget = facts->group_bytes / GROUP_PIPES_PART;

	if (!is_group_limited(facts) || budget >= plan->engine.pipe_budget_bytes)
		return allowed;
	plan->engine.pipe_budget_bytes = budget;
	plan->pipes_why = "by the memory of the control group";
	return min_u64(allowed, budget / smallest_pipe(facts));
}

/* Maximum sessions for an automatic maxconn in a group. */
static uint64_t group_conns(const struct limits_facts *facts, unsigned workers)
{
	const uint64_t base = workers * LIMITS_WORKER_BYTES;
	const uint64_t share = facts->group_bytes / GROUP_CONNS_PART;
	const uint64_t fit = share > base ? (share - base) / LIMITS_SESSION_BYTES : 0;

	return fit > GROUP_CONNS_MIN ? round_down(fit) : GROUP_CONNS_MIN;
}

/* Sets maxconn and pipes from the `room` descriptors available to sessions. `plan` says what limits pipes and
 * how many sessions memory allows an automatic maxconn. 0 or -EMFILE. */
static int plan_counts(const struct limits_wish *wish, uint64_t room, uint64_t pipes_allowed,
		       struct limits_plan *plan)
{
	const char *const allowed_why = plan->pipes_why;
	uint64_t conns = wish->maxconn;
	uint64_t pipes;

	if (wish->maxpipes >= 0 || !wish->splice) {
		pipes = wish->splice ? (uint64_t)wish->maxpipes : 0;
		plan->pipes_why = wish->splice ? "as configured" : "splice is off";
		plan->maxconn_fitting = 2 * pipes < room ? (unsigned)round_down((room - 2 * pipes) / 2) : 0;
		if (conns == 0)
			conns = min_u64(plan->maxconn_fitting, plan->conns_most);
	} else {
		plan->maxconn_fitting = (unsigned)round_down(2 * room / 5);
		if (plan->maxconn_fitting == 0)
			plan->maxconn_fitting = room >= 2;
		if (conns == 0) {
			conns = plan->maxconn_fitting;
			if (conns / 4 > pipes_allowed)
				conns = round_down((room - 2 * pipes_allowed) / 2);
			conns = min_u64(conns, plan->conns_most);
		}
		pipes = conns / 4 > 0 ? conns / 4 : 1;
		plan->pipes_why = "a quarter of maxconn";
		if (pipes > pipes_allowed) {
			pipes = pipes_allowed;
			plan->pipes_why = allowed_why;
		}
		if (2 * conns <= room && 2 * (conns + pipes) > room) {
			pipes = (room - 2 * conns) / 2;
			plan->pipes_why = "by the descriptors that maxconn leaves free";
		}
	}
	if (conns == 0 || 2 * (conns + pipes) > room)
		return -EMFILE;
	plan->engine.maxconn = (unsigned)conns;
	plan->engine.maxpipes = (unsigned)pipes;
	return 0;
}

int limits_plan(const struct limits_facts *facts, const struct limits_wish *wish, struct limits_plan *plan)
{
	uint64_t taken = (uint64_t)wish->endpoints + wish->locks +
			 (uint64_t)LIMITS_FDS_PER_WORKER * wish->workers +
			 (uint64_t)LIMITS_FDS_PER_LOG * wish->logs + wish->probes + wish->execs + wish->web +
			 wish->names + wish->held + LIMITS_RESERVED_FDS;
	/* Counts are ints in the kernel and in engine_limits. */
	uint64_t fds = min_u64(facts->fds, INT32_MAX);
	uint64_t allowed;
	int err;

	check(wish->workers > 0);
	check(facts->page_bytes > 0);
	memset(plan, 0, sizeof(*plan));
	plan->pipes_why = "by fs.pipe-user-pages-soft and fs.pipe-max-size for this user";
	plan->conns_most = is_group_limited(facts) ? group_conns(facts, wish->workers) : UINT64_MAX;
	if (wish->maxconn == 0)
		fds = min_u64(fds, LIMITS_AUTO_FDS_MAX);
	if (fds <= taken)
		return -EMFILE;
	allowed = plan_group_pipes(facts, plan_pipe_bytes(facts, wish, &plan->engine), plan);
	err = plan_counts(wish, fds - taken, allowed, plan);
	if (err)
		return err;
	plan->engine.buf_budget_bytes = plan_buf_budget(facts, plan->engine.maxconn);
	check(2 * ((uint64_t)plan->engine.maxconn + plan->engine.maxpipes) + taken <= facts->fds);
	return 0;
}

const char *limits_describe(const struct limits_facts *facts, const struct limits_plan *plan, char *buf,
			    size_t room)
{
	const struct engine_limits *e = &plan->engine;
	char budget[64] = "", group[CGROUP_PATH_MAX + 96] = "";

	if (is_group_limited(facts))
		(void)snprintf(group, sizeof(group), "; %llu MiB of memory (%s)",
			       (unsigned long long)(facts->group_bytes >> 20), facts->group_file);
	if (e->pipe_budget_bytes != UINT64_MAX)
		(void)snprintf(budget, sizeof(budget), "; %llu MiB for all pipes",
			       (unsigned long long)(e->pipe_budget_bytes >> 20));
	/* May be truncated. */
	(void)snprintf(
		buf, room,
		"limits: %llu descriptors: maxconn %u, maxpipes %u of %u KiB (%s%s), buffers up to %llu MiB"
		"%s",
		(unsigned long long)facts->fds, e->maxconn, e->maxpipes, e->pipe_bytes >> 10, plan->pipes_why,
		budget, (unsigned long long)(e->buf_budget_bytes >> 20), group);
	return buf;
}

static struct {
	bool known;
	struct rlimit files;
} first;

struct rlimit limits_first_fds(void)
{
	if (!first.known)
		first.known = getrlimit(RLIMIT_NOFILE, &first.files) == 0;
	return first.files;
}

int limits_raise_fds(void)
{
	struct rlimit rl;

	(void)limits_first_fds(); /* keeps it */
	if (getrlimit(RLIMIT_NOFILE, &rl) != 0)
		return -errno;
	if (rl.rlim_cur == rl.rlim_max)
		return 0;
	rl.rlim_cur = rl.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &rl) != 0 ? -errno : 0;
}

void limits_raise_locked(void)
{
	struct rlimit rl = {RLIM_INFINITY, RLIM_INFINITY};

	if (setrlimit(RLIMIT_MEMLOCK, &rl) == 0 || getrlimit(RLIMIT_MEMLOCK, &rl) != 0)
		return;
	rl.rlim_cur = rl.rlim_max;
	(void)setrlimit(RLIMIT_MEMLOCK, &rl); /* never fails up to the hard limit */
}

unsigned limits_count_workers(const struct config_global *g)
{
	cpu_set_t cpus;
	long online;

	if (g->threads > 0)
		return g->threads;
	if (g->affinity == CONFIG_AFFINITY_LIST && g->cpu_count > 0)
		return g->cpu_count;
	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) > 0)
		return (unsigned)CPU_COUNT(&cpus);
	online = sysconf(_SC_NPROCESSORS_ONLN); /* more CPUs than a cpu_set_t holds */
	return online > 0 ? (unsigned)online : 1;
}

static unsigned count_probes(const struct config_backend *b, const struct config_server *s)
{
	return (unsigned)(b->check.kind != CONFIG_CHECK_OFF && s->check) +
	       (unsigned)(s->check_agent.port != 0);
}

unsigned limits_count_probes(const struct config *c)
{
	unsigned n = 0;

	for (size_t b = 0; b < c->backend_count; b++)
		for (size_t i = 0; i < c->backends[b].server_count; i++)
			if (c->backends[b].servers[i].set == CONFIG_SET_NONE)
				n += count_probes(&c->backends[b], &c->backends[b].servers[i]);
	return n;
}

unsigned limits_count_admin(void)
{
	/* One more than the places: a newcomer is judged before another client makes room for it. */
	return CONFIG_ADMIN_CLIENTS_MAX + 1;
}

unsigned limits_count_web(const struct config *c)
{
	return c->global.stats.addr.kind != ADDR_NONE; /* the descriptor of its server */
}

static bool any_server_has(const struct config *c, enum addr_kind kind)
{
	for (size_t b = 0; b < c->backend_count; b++)
		for (size_t i = 0; i < c->backends[b].server_count; i++)
			if (c->backends[b].servers[i].addr.kind == kind)
				return true;
	return false;
}

unsigned limits_count_names(const struct config *c)
{
	if (any_server_has(c, ADDR_NAME) || any_server_has(c, ADDR_SNI))
		return 1;
	for (size_t i = 0; i < c->global.log_count; i++)
		if (c->global.logs[i].address.kind == ADDR_NAME)
			return 1;
	return 0;
}

unsigned limits_count_low(const struct config *c)
{
	unsigned n = limits_count_probes(c) + limits_count_admin() + limits_count_web(c) +
		     limits_count_names(c) + config_exec_fds(c->global.exec_checks);

	for (size_t i = 0; i < c->global.log_count; i++)
		n += c->global.logs[i].kind == CONFIG_LOG_SYSLOG;
	return n;
}

unsigned limits_count_held(const struct config *c, unsigned workers)
{
	for (size_t i = 0; i < c->frontend_count; i++)
		if (c->frontends[i].maxconn_per_source > 0)
			return SOURCE_WAITS_MAX * workers;
	return 0;
}

static unsigned count_locks(const struct config *c)
{
	unsigned count = 0;

	for (size_t i = 0; i < c->frontend_count; i++)
		for (size_t k = 0; k < c->frontends[i].bind_count; k++)
			count += c->frontends[i].binds[k].addr.kind == ADDR_UNIX;
	/* That of the control socket, and the socket itself. */
	return count + (c->global.admin.kind == ADDR_UNIX) + (c->global.stats.addr.kind == ADDR_UNIX) + 2;
}

struct limits_wish limits_wish_of(const struct config *c, unsigned endpoints, unsigned workers)
{
	const struct config_global *g = &c->global;

	return (struct limits_wish){
		.maxconn = g->maxconn,
		.maxpipes = g->maxpipes,
		.pipe_bytes = g->pipe_size,
		.splice = g->splice != CONFIG_SPLICE_OFF,
		.endpoints = endpoints,
		.locks = count_locks(c),
		.workers = workers,
		.probes = limits_count_probes(c),
		.execs = config_exec_fds(g->exec_checks),
		.names = (limits_count_names(c) > 0 ? LIMITS_FDS_NAMES : 0) +
			 (any_server_has(c, ADDR_SNI) ? LIMITS_FDS_EGRESS : 0),
		.web = g->stats.addr.kind != ADDR_NONE ? CONFIG_STATS_CLIENTS_MAX + LIMITS_FDS_WEB : 0,
		.logs = (unsigned)c->global.log_count,
		.held = limits_count_held(c, workers),
		.range = bind_longest_range(c),
	};
}

static uint64_t number_or(const char *path, uint64_t otherwise)
{
	uint64_t n;

	return kernel_file_number(path, &n) ? n : otherwise;
}

/* The kernel checks the capability in the first user namespace; a full set inside another one is useless for
 * pipes. Only the first has the identity map over all IDs. */
static bool in_first_user_namespace(void)
{
	char map[128];
	unsigned long long inside, outside, count;

	if (kernel_file_read("/proc/self/uid_map", map, sizeof(map)) <= 0)
		return true; /* kernel without user namespaces */
	if (sscanf(map, "%llu %llu %llu", &inside, &outside, &count) != 3)
		return false;
	return inside == 0 && outside == 0 && count == UINT32_MAX;
}

static uint64_t read_memory_bytes(uint64_t page_bytes)
{
	long pages = sysconf(_SC_PHYS_PAGES);
	uint64_t bytes = pages > 0 ? (uint64_t)pages * page_bytes : UINT64_MAX;
	struct rlimit rl;

	if (getrlimit(RLIMIT_AS, &rl) == 0 && rl.rlim_cur != RLIM_INFINITY)
		bytes = min_u64(bytes, rl.rlim_cur);
	return bytes == UINT64_MAX ? 0 : bytes;
}

static void read_group(struct limits_facts *facts)
{
	struct cgroup_memory groups;
	const struct cgroup_level *level;

	cgroup_memory_read(&groups, "");
	level = cgroup_memory_smallest(&groups);
	if (level == NULL)
		return;
	facts->group_bytes = level->limit_bytes;
	(void)snprintf(facts->group_file, sizeof(facts->group_file), "%s of %s", level->file, level->folder);
}

void limits_read(struct limits_facts *facts)
{
	struct rlimit rl;
	uint64_t soft, hard;

	memset(facts, 0, sizeof(*facts));
	facts->fds = getrlimit(RLIMIT_NOFILE, &rl) == 0 ? (uint64_t)rl.rlim_cur : 1024;
	facts->page_bytes = sys_page_bytes();
	facts->pipes_privileged = (kernel_file_has_capability(CAP_BIT_SYS_ADMIN) ||
				   kernel_file_has_capability(CAP_BIT_SYS_RESOURCE)) &&
				  in_first_user_namespace();
	soft = number_or("/proc/sys/fs/pipe-user-pages-soft", 16384);
	hard = number_or("/proc/sys/fs/pipe-user-pages-hard", 0);
	facts->pipe_user_pages = soft == 0 || (hard != 0 && hard < soft) ? hard : soft;
	facts->pipe_max_bytes = number_or("/proc/sys/fs/pipe-max-size", 1048576);
	facts->memory_bytes = read_memory_bytes(facts->page_bytes);
	read_group(facts);
}
