/* SPDX-License-Identifier: MIT
 *
 * doctor_facts.c - the kernel's limits, read from /proc and /sys.
 *
 * A missing or malformed file makes the number unknown. Changes nothing. Main thread.
 */
#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "weir/base/check.h"
#include "weir/host/doctor.h"
#include "weir/io/uring.h"
#include "kernel_file.h"

#define GROUPS "/sys/fs/cgroup"
/* From linux/capability.h, which some libc development packages lack. */
#define CAP_BIT_NET_BIND_SERVICE 10
#define CAP_BIT_NET_ADMIN	 12

static_assert(URING_WHY_MAX <= DOCTOR_TEXT_MAX, "a reason would be cut");

static uint64_t read_kernel_number(const char *path)
{
	uint64_t n;

	return kernel_file_number(path, &n) ? n : DOCTOR_NONE;
}

static void read_ports(struct doctor_facts *facts)
{
	unsigned low, high;
	char text[64];

	facts->port_low = DOCTOR_NONE;
	facts->port_high = DOCTOR_NONE;
	(void)kernel_file_line("/proc/sys/net/ipv4/ip_local_port_range", text, sizeof(text));
	if (sscanf(text, "%u %u", &low, &high) != 2 || high < low)
		return;
	facts->port_low = low;
	facts->port_high = high;
}

bool doctor_group_path(const char *cgroup, char *path)
{
	const char *line = strncmp(cgroup, "0::", 3) == 0 ? cgroup : strstr(cgroup, "\n0::");
	size_t len;

	if (line == NULL)
		return false;
	line = strchr(line, '/');
	if (line == NULL)
		return false;
	len = strcspn(line, "\n");
	if (len >= DOCTOR_PATH_MAX)
		return false;
	memcpy(path, line, len);
	path[len] = '\0';
	if (len == 1)
		path[0] = '\0'; /* the root group */
	return true;
}

uint64_t doctor_cpu_milli(const char *cpu_max)
{
	unsigned long long quota, period;

	if (sscanf(cpu_max, "%llu %llu", &quota, &period) != 2 || period == 0 || quota > UINT64_MAX / 1000)
		return DOCTOR_NONE;
	return quota * 1000 / period;
}

/* The smallest quota of our group and its ancestors. */
static void read_groups(struct doctor_facts *facts)
{
	char path[DOCTOR_PATH_MAX], file[DOCTOR_PATH_MAX + 64], text[4096];

	facts->group_cpu_milli = DOCTOR_NONE;
	if (kernel_file_read("/proc/self/cgroup", text, sizeof(text)) < 0 || !doctor_group_path(text, path))
		path[0] = '\0';
	for (;;) {
		uint64_t n;

		(void)snprintf(file, sizeof(file), GROUPS "%s/cpu.max", path); /* always fits */
		n = doctor_cpu_milli(kernel_file_line(file, text, sizeof(text)));
		facts->group_cpu_milli = n < facts->group_cpu_milli ? n : facts->group_cpu_milli;
		if (path[0] == '\0')
			return;
		*strrchr(path, '/') = '\0';
	}
}

static uint64_t count_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 ? (uint64_t)CPU_COUNT(&set) : DOCTOR_NONE;
}

/* DOCTOR_NONE if there is no limit or it is unknown. */
static uint64_t read_locked_max(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_MEMLOCK, &rl) != 0 || rl.rlim_cur == RLIM_INFINITY)
		return DOCTOR_NONE;
	return (uint64_t)rl.rlim_cur;
}

void doctor_read(struct doctor_facts *facts)
{
	struct rlimit rl;

	memset(facts, 0, sizeof(*facts));
	limits_read(&facts->limits);
	facts->fds_hard = getrlimit(RLIMIT_NOFILE, &rl) == 0 ? (uint64_t)rl.rlim_max : DOCTOR_NONE;
	facts->nr_open = read_kernel_number("/proc/sys/fs/nr_open");
	facts->file_max = read_kernel_number("/proc/sys/fs/file-max");
	facts->pages_soft = read_kernel_number("/proc/sys/fs/pipe-user-pages-soft");
	facts->pages_hard = read_kernel_number("/proc/sys/fs/pipe-user-pages-hard");
	facts->somaxconn = read_kernel_number("/proc/sys/net/core/somaxconn");
	facts->syn_backlog = read_kernel_number("/proc/sys/net/ipv4/tcp_max_syn_backlog");
	read_ports(facts);
	facts->tw_reuse = read_kernel_number("/proc/sys/net/ipv4/tcp_tw_reuse");
	facts->io_uring_disabled = read_kernel_number("/proc/sys/kernel/io_uring_disabled");
	facts->locked_max = read_locked_max();
	facts->group_memory = facts->limits.group_bytes != 0 ? facts->limits.group_bytes : DOCTOR_NONE;
	read_groups(facts);
	facts->cpus = count_cpus();
	facts->conntrack_max = read_kernel_number("/proc/sys/net/netfilter/nf_conntrack_max");
	facts->unprivileged_port = read_kernel_number("/proc/sys/net/ipv4/ip_unprivileged_port_start");
	facts->fastopen = read_kernel_number("/proc/sys/net/ipv4/tcp_fastopen");
	facts->can_bind_low = kernel_file_has_capability(CAP_BIT_NET_BIND_SERVICE);
	facts->can_net_admin = kernel_file_has_capability(CAP_BIT_NET_ADMIN);
	(void)kernel_file_line("/proc/sys/net/ipv4/tcp_congestion_control", facts->congestion,
			sizeof(facts->congestion));
	(void)kernel_file_line("/proc/sys/net/ipv4/tcp_available_congestion_control",
			       facts->congestion_available, sizeof(facts->congestion_available));
	(void)kernel_file_line("/proc/sys/net/core/default_qdisc", facts->qdisc, sizeof(facts->qdisc));
}

void doctor_try_rings(struct doctor_facts *facts, unsigned workers)
{
	facts->ring_tried = true;
	facts->ring_err = uring_rehearse(workers, facts->ring_why, sizeof(facts->ring_why));
}
