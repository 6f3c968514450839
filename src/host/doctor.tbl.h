/* SPDX-License-Identifier: MIT
 *
 * doctor.tbl.h - the checks of `weir doctor`, one row each, in the order they are printed.
 *
 * DOCTOR_CHECK(id, name, about): doctor_checks.c has judge_<id>() for each. `name` is the sysctl(8) key if
 * there is one.
 */
DOCTOR_CHECK(open_files, "open files", "two descriptors per connection, two per pipe")
DOCTOR_CHECK(nr_open, "fs.nr_open", "highest value a limit of open files can be raised to")
DOCTOR_CHECK(file_max, "fs.file-max", "open files on the whole machine")
DOCTOR_CHECK(pages_soft, "fs.pipe-user-pages-soft", "pipe pages per user; beyond this, weir copies")
DOCTOR_CHECK(pages_hard, "fs.pipe-user-pages-hard", "pipe pages per user; beyond this, pipes are refused")
DOCTOR_CHECK(pipe_max, "fs.pipe-max-size", "largest pipe without privileges")
DOCTOR_CHECK(somaxconn, "net.core.somaxconn", "connections waiting to be accepted; caps backlog=")
DOCTOR_CHECK(syn_backlog, "net.ipv4.tcp_max_syn_backlog", "half-open connections before SYN cookies are used")
DOCTOR_CHECK(ports, "net.ipv4.ip_local_port_range", "connections to one server from one source address")
DOCTOR_CHECK(tw_reuse, "net.ipv4.tcp_tw_reuse", "reuse of ports of ended connections to a server")
DOCTOR_CHECK(congestion, "net.ipv4.tcp_congestion_control", "how fast TCP sends; bbr works best with fq")
DOCTOR_CHECK(io_uring, "io_uring", "rings, for driver = io_uring")
DOCTOR_CHECK(memory, "memory", "memory of the machine or the control group")
DOCTOR_CHECK(cpus, "CPU", "workers against the CPUs and the quota of the control group")
DOCTOR_CHECK(conntrack, "net.netfilter.nf_conntrack_max", "if loaded: two entries per session")
DOCTOR_CHECK(fastopen, "net.ipv4.tcp_fastopen", "bit 2: listeners take the first bytes with the SYN (tfo)")
DOCTOR_CHECK(low_port, "net.ipv4.ip_unprivileged_port_start", "who may bind a port below 1024")
DOCTOR_CHECK(net_admin, "CAP_NET_ADMIN", "for mark, transparent and source=client")
