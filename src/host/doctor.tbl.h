/* SPDX-License-Identifier: MIT
 *
 * doctor.tbl.h - the items of `weir doctor`, one row each, in the order they are printed.
 *
 * DOCTOR_ITEM(id, name, about): doctor_items.c has judge_<id>() for each. `name` is the sysctl(8) key if
 * there is one.
 */
DOCTOR_ITEM(open_files, "open files", "two descriptors per connection, two per pipe")
DOCTOR_ITEM(nr_open, "fs.nr_open", "highest value a limit of open files can be raised to")
DOCTOR_ITEM(file_max, "fs.file-max", "open files on the whole machine")
DOCTOR_ITEM(pages_soft, "fs.pipe-user-pages-soft", "pipe pages per user; beyond this, weir copies")
DOCTOR_ITEM(pages_hard, "fs.pipe-user-pages-hard", "pipe pages per user; beyond this, pipes are refused")
DOCTOR_ITEM(pipe_max, "fs.pipe-max-size", "largest pipe without privileges")
DOCTOR_ITEM(somaxconn, "net.core.somaxconn", "connections waiting to be accepted; caps backlog=")
DOCTOR_ITEM(syn_backlog, "net.ipv4.tcp_max_syn_backlog", "half-open connections before SYN cookies are used")
DOCTOR_ITEM(ports, "net.ipv4.ip_local_port_range", "connections to one server from one source address")
DOCTOR_ITEM(tw_reuse, "net.ipv4.tcp_tw_reuse", "reuse of ports of ended connections to a server")
DOCTOR_ITEM(congestion, "net.ipv4.tcp_congestion_control", "how fast TCP sends; bbr works best with fq")
DOCTOR_ITEM(io_uring, "io_uring", "rings, for driver = io_uring")
DOCTOR_ITEM(memory, "memory", "memory of the machine or the control group")
DOCTOR_ITEM(cpus, "CPU", "workers against the CPUs and the quota of the control group")
DOCTOR_ITEM(conntrack, "net.netfilter.nf_conntrack_max", "if loaded: two entries per session")
DOCTOR_ITEM(fastopen, "net.ipv4.tcp_fastopen", "bit 2: listeners take the first bytes with the SYN (tfo)")
DOCTOR_ITEM(low_port, "net.ipv4.ip_unprivileged_port_start", "who may bind a port below 1024")
DOCTOR_ITEM(net_admin, "CAP_NET_ADMIN", "for mark, transparent and source=client")
