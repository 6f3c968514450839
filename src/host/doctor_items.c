/* SPDX-License-Identifier: MIT
 *
 * doctor_items.c - one function per row of doctor.tbl.h: facts and a wish in, a verdict out.
 *
 * A configured value that is not available is a warning; an automatic one that could be higher is a hint.
 * Pure: reads nothing. Main thread.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/host/doctor.h"
#include "weir/io/pipe_pool.h"
#include "weir/io/uring.h"

/* An automatic maxconn below this is a low limit that nobody chose. */
#define FEW_CONNECTIONS	  1000u
#define ENOUGH_FDS	  65536u
#define DEFAULT_SOMAXCONN 4096u

typedef unsigned long long ull;

/* Texts that are too long are truncated. */
static void putf(char *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void putf(char *to, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(to, DOCTOR_TEXT_MAX, fmt, ap);
	va_end(ap);
}

static enum doctor_verdict verdict(bool fine, bool given)
{
	if (fine)
		return DOCTOR_OK;
	return given ? DOCTOR_WARN : DOCTOR_HINT;
}

/* A sysctl that must be at least `wanted`. */
static void at_least(struct doctor_finding *f, const char *key, uint64_t current, uint64_t wanted, bool given)
{
	putf(f->wanted, "%llu", (ull)wanted);
	if (current == DOCTOR_NONE)
		return;
	putf(f->current, "%llu", (ull)current);
	putf(f->fix, "sysctl -w %s=%llu", key, (ull)wanted);
	f->verdict = verdict(current >= wanted, given);
}

static void judge_open_files(const struct doctor_facts *facts, const struct doctor_wish *wish,
			     struct doctor_finding *f)
{
	const bool small = !wish->maxconn_given && wish->maxconn < FEW_CONNECTIONS;
	const uint64_t wanted = small ? ENOUGH_FDS : wish->fds;

	if (facts->fds_hard == DOCTOR_NONE)
		return;
	putf(f->current, "%llu (maxconn %llu)", (ull)facts->fds_hard, (ull)wish->maxconn);
	putf(f->wanted, "%llu", (ull)wanted);
	putf(f->fix,
	     "LimitNOFILE=%llu in the unit ('systemctl edit weir'), or 'ulimit -n %llu' before the start",
	     (ull)wanted, (ull)wanted);
	f->verdict = verdict(facts->fds_hard >= wanted, !small);
}

static void judge_nr_open(const struct doctor_facts *facts, const struct doctor_wish *wish,
			  struct doctor_finding *f)
{
	at_least(f, "fs.nr_open", facts->nr_open, wish->fds, wish->maxconn_given);
}

static void judge_file_max(const struct doctor_facts *facts, const struct doctor_wish *wish,
			   struct doctor_finding *f)
{
	at_least(f, "fs.file-max", facts->file_max, wish->fds, wish->maxconn_given);
}

/* Pages for that many of the smallest pipes, plus the sixteenth that the plan leaves to other processes. */
static uint64_t pages_wanted(const struct doctor_wish *wish)
{
	const uint64_t pages = wish->pipes * PIPE_SLOTS_MIN;

	return pages + pages / 15 + 1;
}

static void judge_pages(const struct doctor_facts *facts, const struct doctor_wish *wish, const char *key,
			uint64_t limit, struct doctor_finding *f)
{
	if (!wish->splice || facts->limits.pipes_privileged || limit == 0) {
		putf(f->current, "%s",
		     !wish->splice		      ? "not used (splice is off)"
		     : facts->limits.pipes_privileged ? "no limit for this process (CAP_SYS_RESOURCE)"
						      : "no limit");
		f->verdict = DOCTOR_OK;
		return;
	}
	at_least(f, key, limit, pages_wanted(wish), wish->pipes_given);
}

static void judge_pages_soft(const struct doctor_facts *facts, const struct doctor_wish *wish,
			     struct doctor_finding *f)
{
	judge_pages(facts, wish, "fs.pipe-user-pages-soft", facts->pages_soft, f);
}

static void judge_pages_hard(const struct doctor_facts *facts, const struct doctor_wish *wish,
			     struct doctor_finding *f)
{
	judge_pages(facts, wish, "fs.pipe-user-pages-hard", facts->pages_hard, f);
}

static void judge_pipe_max(const struct doctor_facts *facts, const struct doctor_wish *wish,
			   struct doctor_finding *f)
{
	if (wish->splice && !facts->limits.pipes_privileged) {
		at_least(f, "fs.pipe-max-size", facts->limits.pipe_max_bytes, wish->pipe_bytes, true);
		return;
	}
	putf(f->current, "%llu (no limit for this process)", (ull)facts->limits.pipe_max_bytes);
	f->verdict = DOCTOR_OK;
}

static void judge_somaxconn(const struct doctor_facts *facts, const struct doctor_wish *wish,
			    struct doctor_finding *f)
{
	at_least(f, "net.core.somaxconn", facts->somaxconn, wish->backlog, wish->backlog_given);
}

static void judge_syn_backlog(const struct doctor_facts *facts, const struct doctor_wish *wish,
			      struct doctor_finding *f)
{
	const uint64_t wanted = wish->backlog < 1024 ? wish->backlog : 1024;

	at_least(f, "net.ipv4.tcp_max_syn_backlog", facts->syn_backlog, wanted, false);
}

static void judge_ports(const struct doctor_facts *facts, const struct doctor_wish *wish,
			struct doctor_finding *f)
{
	const uint64_t most = 65535 - 1024 + 1;
	uint64_t have;

	putf(f->wanted, "%llu ports", (ull)wish->ports);
	if (facts->port_low == DOCTOR_NONE)
		return;
	have = facts->port_high - facts->port_low + 1;
	putf(f->current, "%llu to %llu: %llu ports", (ull)facts->port_low, (ull)facts->port_high, (ull)have);
	if (wish->ports > most)
		putf(f->fix, "more servers, or the same server again with another source=; and "
			     "sysctl -w net.ipv4.ip_local_port_range='1024 65535'");
	else
		putf(f->fix, "sysctl -w net.ipv4.ip_local_port_range='1024 65535'");
	f->verdict = verdict(have >= wish->ports, wish->maxconn_given);
}

static void judge_tw_reuse(const struct doctor_facts *facts, const struct doctor_wish *wish,
			   struct doctor_finding *f)
{
	putf(f->wanted, "1 or 2");
	if (facts->tw_reuse == DOCTOR_NONE)
		return;
	putf(f->current, "%llu", (ull)facts->tw_reuse);
	putf(f->fix, "sysctl -w net.ipv4.tcp_tw_reuse=1");
	f->verdict = verdict(facts->tw_reuse != 0 || wish->ports == 0, false);
}

static void judge_congestion(const struct doctor_facts *facts, const struct doctor_wish *wish,
			     struct doctor_finding *f)
{
	const bool bbr = strcmp(facts->congestion, "bbr") == 0;

	(void)wish;
	if (facts->congestion[0] == '\0')
		return;
	putf(f->current, "%.31s (available: %.100s)", facts->congestion, facts->congestion_available);
	putf(f->wanted, bbr ? "bbr with net.core.default_qdisc=fq" : "any");
	putf(f->fix, "sysctl -w net.core.default_qdisc=fq");
	f->verdict = verdict(!bbr || facts->qdisc[0] == '\0' || strcmp(facts->qdisc, "fq") == 0, false);
}

/* The fix is to raise what `ring_why` says is missing. */
static void fix_io_uring(const struct doctor_facts *facts, struct doctor_finding *f)
{
	if (facts->io_uring_disabled == 1 || facts->io_uring_disabled == 2)
		putf(f->fix, "sysctl -w kernel.io_uring_disabled=0, or driver = epoll in [global]");
	else if (facts->ring_err == -ENOMEM && facts->locked_max != DOCTOR_NONE)
		putf(f->fix,
		     "LimitMEMLOCK=infinity in the unit, or ulimit -l %u or more for each worker; or "
		     "driver = epoll in [global]",
		     URING_LOCKED_KIB);
	else if (facts->ring_err == -EMFILE)
		putf(f->fix, "LimitNOFILE= of the unit, or ulimit -n; or driver = epoll in [global]");
	else if (facts->ring_err == -ENFILE)
		putf(f->fix, "sysctl -w fs.file-max=N; or driver = epoll in [global]");
	else
		putf(f->fix, "driver = epoll in [global]");
}

static void judge_io_uring(const struct doctor_facts *facts, const struct doctor_wish *wish,
			   struct doctor_finding *f)
{
	const bool usable = facts->ring_tried && facts->ring_err == 0;

	if (wish->ring)
		putf(f->wanted, "usable, for driver = %s", wish->ring_given ? "io_uring" : "auto");
	else
		putf(f->wanted, "any: epoll is used");
	if (!facts->ring_tried)
		return;
	putf(f->current, "%susable%s%s", usable ? "" : "not ", usable ? "" : ": ", facts->ring_why);
	fix_io_uring(facts, f);
	f->verdict = verdict(usable || !wish->ring, wish->ring_given);
}

/* Raising the group's limit helps only up to the memory of the machine. */
static void fix_memory(uint64_t maxconn, uint64_t wanted, uint64_t machine, bool limited,
		       struct doctor_finding *f)
{
	const uint64_t wanted_mib = (wanted >> 20) + 1;

	if (!limited)
		putf(f->fix, "maxconn = %llu in [global], or more memory for this machine", (ull)maxconn);
	else if (machine != DOCTOR_NONE && wanted_mib > machine >> 20)
		putf(f->fix,
		     "maxconn = %llu in [global], or a machine with more memory and a larger MemoryMax=",
		     (ull)maxconn);
	else
		putf(f->fix, "maxconn = %llu in [global], or MemoryMax=%lluM in the unit", (ull)maxconn,
		     (ull)wanted_mib);
}

static void judge_memory(const struct doctor_facts *facts, const struct doctor_wish *wish,
			 struct doctor_finding *f)
{
	const uint64_t machine = facts->limits.memory_bytes > 0 ? facts->limits.memory_bytes : DOCTOR_NONE;
	const uint64_t have = facts->group_memory < machine ? facts->group_memory : machine;
	const uint64_t base = LIMITS_BASE_BYTES + wish->workers * LIMITS_WORKER_BYTES;
	const uint64_t wanted = base + wish->maxconn * LIMITS_SESSION_BYTES;

	putf(f->wanted, "%llu MiB for %llu idle connections", (ull)(wanted >> 20), (ull)wish->maxconn);
	if (have == DOCTOR_NONE)
		return;
	if (have < machine)
		putf(f->current, "%llu MiB (%s)", (ull)(have >> 20), facts->limits.group_file);
	else
		putf(f->current, "%llu MiB", (ull)(have >> 20));
	fix_memory(have > base ? (have - base) / LIMITS_SESSION_BYTES : 1, wanted, machine, have < machine,
		   f);
	f->verdict = verdict(have >= wanted, wish->maxconn_given);
}

static void judge_cpus(const struct doctor_facts *facts, const struct doctor_wish *wish,
		       struct doctor_finding *f)
{
	const uint64_t quota = facts->group_cpu_milli;
	const bool throttled = quota != DOCTOR_NONE && (uint64_t)wish->workers * 1000 >= quota + 1000;
	uint64_t fitting;

	putf(f->wanted, "%u for %u worker%s", wish->workers, wish->workers, wish->workers == 1 ? "" : "s");
	if (facts->cpus == DOCTOR_NONE)
		return;
	fitting = throttled ? (quota >= 1000 ? quota / 1000 : 1) : facts->cpus;
	if (quota != DOCTOR_NONE)
		putf(f->current, "%llu, with a quota of %llu.%llu (control group)", (ull)facts->cpus,
		     (ull)(quota / 1000), (ull)(quota % 1000 / 100));
	else
		putf(f->current, "%llu", (ull)facts->cpus);
	putf(f->fix, "threads = %llu in [global]%s", (ull)fitting,
	     throttled ? ", or a larger CPUQuota= (beyond it the kernel stops all workers at once)" : "");
	f->verdict = verdict(!throttled && wish->workers <= facts->cpus, throttled);
}

static void judge_conntrack(const struct doctor_facts *facts, const struct doctor_wish *wish,
			    struct doctor_finding *f)
{
	if (facts->conntrack_max != DOCTOR_NONE) {
		at_least(f, "net.netfilter.nf_conntrack_max", facts->conntrack_max, 2 * wish->maxconn,
			 wish->maxconn_given);
		return;
	}
	putf(f->current, "not loaded");
	f->verdict = DOCTOR_OK;
}

static void judge_low_port(const struct doctor_facts *facts, const struct doctor_wish *wish,
			   struct doctor_finding *f)
{
	if (wish->low_port == 0) {
		putf(f->current, "not needed");
		putf(f->wanted, "no bind is below 1024");
		f->verdict = DOCTOR_OK;
		return;
	}
	putf(f->wanted, "port %u", wish->low_port);
	if (facts->unprivileged_port == DOCTOR_NONE && !facts->can_bind_low)
		return;
	if (facts->can_bind_low)
		putf(f->current, "any port (CAP_NET_BIND_SERVICE)");
	else
		putf(f->current, "%llu and above", (ull)facts->unprivileged_port);
	putf(f->fix,
	     "AmbientCapabilities=CAP_NET_BIND_SERVICE in the unit, or "
	     "sysctl -w net.ipv4.ip_unprivileged_port_start=%u",
	     wish->low_port);
	f->verdict = verdict(facts->can_bind_low || wish->low_port >= facts->unprivileged_port, true);
}

static void judge_fastopen(const struct doctor_facts *facts, const struct doctor_wish *wish,
			   struct doctor_finding *f)
{
	if (!wish->tfo) {
		putf(f->current, "not needed");
		putf(f->wanted, "no bind has tfo");
		f->verdict = DOCTOR_OK;
		return;
	}
	putf(f->wanted, "2 or 3");
	if (facts->fastopen == DOCTOR_NONE)
		return;
	putf(f->current, "%llu", (ull)facts->fastopen);
	putf(f->fix, "sysctl -w net.ipv4.tcp_fastopen=3");
	f->verdict = verdict((facts->fastopen & 2) != 0, true);
}

static void judge_net_admin(const struct doctor_facts *facts, const struct doctor_wish *wish,
			    struct doctor_finding *f)
{
	if (wish->net_admin == NULL) {
		putf(f->current, "not needed");
		putf(f->wanted, "no option needs it");
		f->verdict = DOCTOR_OK;
		return;
	}
	putf(f->wanted, "for %s", wish->net_admin);
	putf(f->current, "%s", facts->can_net_admin ? "held" : "not held");
	putf(f->fix, "AmbientCapabilities=CAP_NET_ADMIN and CapabilityBoundingSet=CAP_NET_ADMIN in the unit "
		     "('systemctl edit weir')");
	f->verdict = verdict(facts->can_net_admin, true);
}

const struct doctor_item doctor_items[] = {
#define DOCTOR_ITEM(id, name, about) {name, about, judge_##id},
#include "doctor.tbl.h"
#undef DOCTOR_ITEM
};

const size_t doctor_item_count = ARRAY_LEN(doctor_items);
