/* SPDX-License-Identifier: MIT
 *
 * doctor.tbl.h - the checks of `weir doctor`, one row each, in the order of printing.
 *
 * DOCTOR_CHECK(id, name, about): doctor_checks.c defines judge_<id>() for it. `name` is the sysctl(8) key
 * where there is one.
 */
DOCTOR_CHECK(open_files, "open files", "two descriptors per connection, two per pipe")
DOCTOR_CHECK(nr_open, "fs.nr_open", "upper bound for a limit on open files")
DOCTOR_CHECK(file_max, "fs.file-max", "maximum open files of the whole machine")
DOCTOR_CHECK(pages_soft, "fs.pipe-user-pages-soft",
	     "pages in one user's pipes; above this limit, weir copies")
DOCTOR_CHECK(pages_hard, "fs.pipe-user-pages-hard",
	     "pages in one user's pipes; above this limit, the kernel refuses pipes")
DOCTOR_CHECK(pipe_max, "fs.pipe-max-size", "largest pipe that a user may create")
DOCTOR_CHECK(somaxconn, "net.core.somaxconn", "connections waiting to be accepted; backlog= is capped to it")
DOCTOR_CHECK(syn_backlog, "net.ipv4.tcp_max_syn_backlog", "half-open connections before SYN cookies are used")
DOCTOR_CHECK(ports, "net.ipv4.ip_local_port_range", "connections to one server from one source address")
DOCTOR_CHECK(tw_reuse, "net.ipv4.tcp_tw_reuse", "reuse ports of ended connections to a server at once")
DOCTOR_CHECK(congestion, "net.ipv4.tcp_congestion_control",
	     "how fast TCP sends; bbr works best with the fq qdisc")
DOCTOR_CHECK(io_uring, "io_uring", "rings, for driver = io_uring")
DOCTOR_CHECK(memory, "memory", "of the machine or the control group")
DOCTOR_CHECK(cpus, "CPU", "workers compared with the CPUs and the quota of the control group")
DOCTOR_CHECK(conntrack, "net.netfilter.nf_conntrack_max", "when loaded: two entries per session")
DOCTOR_CHECK(fastopen, "net.ipv4.tcp_fastopen", "bit 2: listeners take the first bytes with the SYN (tfo)")
DOCTOR_CHECK(low_port, "net.ipv4.ip_unprivileged_port_start", "who may bind a port below 1024")
DOCTOR_CHECK(net_admin, "CAP_NET_ADMIN", "for mark, transparent and source=client")
