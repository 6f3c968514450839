/* SPDX-License-Identifier: MIT
 *
 * options.tbl.h - one row per option, from which everything else about it is generated.
 *
 * OPTION(key, sections, effect, type, flags, words, field, default, min, max, help, example)
 *   sections  where the option is allowed; effect: where it changes anything (elsewhere it is warned about)
 *   words     the form of a value; for OPT_CHOICE the words themselves, with '!' before one that is not in
 *             this version
 *   field     MADE_x(member): where the value is stored. The row declares the member, with its type, in
 *             every structure that has such members; it is copied, printed and stored like the others.
 *               GLOBAL    struct config_global
 *               FRONT     struct config_frontend, and the section as it is read
 *               BACK      struct config_backend, likewise
 *               TIMEOUT   struct config_timeouts, for each side that the option has an effect on
 *               TCP       struct config_tcp; KEEPALIVE: the same, for a word of tcp-keepalive
 *               CHECK     struct config_check
 *               BIND, SERVER: the structures of these lines
 *             MADE_x_CHOICE(member, constants...), for GLOBAL, FRONT, BACK, TIMEOUT and BIND: also declares
 *             enum config_MEMBER, with one constant per word, in their order.
 *             FIELD_x(member): a member declared by hand in config.h, because it is not a scalar or means
 *             more than its word says. NO_FIELD: read where proxies are built.
 *   default   read by the same parser; NULL = none
 * LATER(key, sections, flags, help, example): recognised, and refused with a message.
 */

/* [global] */
OPTION("threads", IN_GLOBAL, IN_GLOBAL, OPT_COUNT_AUTO, 0, "auto | N", MADE_GLOBAL(threads), "auto", 1,
       256, "Worker threads; auto = one per CPU that the process may use.", "threads = auto")
OPTION("cpu-affinity", IN_GLOBAL, IN_GLOBAL, OPT_CPUS, 0, "auto | off | LIST", FIELD_GLOBAL(affinity),
       "auto", 0, 4095, "CPUs to pin the workers to; a list assigns one CPU to each worker in turn.",
       "cpu-affinity = 0-3,6")
OPTION("driver", IN_GLOBAL, IN_GLOBAL, OPT_CHOICE, 0, "auto|epoll|io_uring",
       MADE_GLOBAL_CHOICE(driver, CONFIG_DRIVER_AUTO, CONFIG_DRIVER_EPOLL, CONFIG_DRIVER_IO_URING), "auto",
       0, 0,
       "I/O driver of the workers; auto = epoll; with io_uring (Linux 6.1 or later) the start fails if it "
       "cannot be used.",
       "driver = io_uring")
OPTION("maxconn", IN_GLOBAL, IN_GLOBAL, OPT_COUNT_AUTO, 0, "auto | N", MADE_GLOBAL(maxconn), "auto", 1,
       100000000,
       "Maximum concurrent client connections of the whole process; auto = derived from RLIMIT_NOFILE and "
       "the memory limit of the control group.",
       "maxconn = 20_000")
OPTION("maxpipes", IN_GLOBAL, IN_GLOBAL, OPT_INT_AUTO, 0, "auto | N", MADE_GLOBAL(maxpipes), "auto", 0,
       10000000, "Maximum pipes in use for splice; a flow that gets no pipe copies.", "maxpipes = 4096")
OPTION("pipe-size", IN_GLOBAL, IN_GLOBAL, OPT_SIZE, 0, "SIZE", MADE_GLOBAL(pipe_size), "512k", 65536,
       1 << 26, "Capacity of one pipe in bytes, a power of two; at least 16 memory pages.",
       "pipe-size = 512k")
OPTION("splice", IN_GLOBAL, IN_GLOBAL, OPT_CHOICE, 0, "auto|on|off",
       MADE_GLOBAL_CHOICE(splice, CONFIG_SPLICE_AUTO, CONFIG_SPLICE_ON, CONFIG_SPLICE_OFF), "auto", 0, 0,
       "Move bytes inside the kernel: auto = for connections that transfer a lot, on = for all.",
       "splice = auto")
OPTION("user", IN_GLOBAL, IN_GLOBAL, OPT_USER_NAME, 0, "NAME | UID", MADE_GLOBAL(user), NULL, 0, 0,
       "User that the process switches to after binding its addresses; if unset, root stays root.",
       "user = weir")
OPTION("group", IN_GLOBAL, IN_GLOBAL, OPT_GROUP_NAME, 0, "NAME | GID", MADE_GLOBAL(group), NULL, 0, 0,
       "Group that the process switches to; default: the user's primary group, or, for a number without a "
       "passwd entry, the same number.",
       "group = weir")
OPTION("log", IN_GLOBAL, IN_GLOBAL, OPT_LOG, OPT_REPEAT,
       "auto | stderr | file:PATH | syslog:ADDRESS | off [level= format= facility=]", FIELD_GLOBAL(logs),
       "auto", 0, 0,
       "Where log lines go; auto = the journal under systemd, else stderr; syslog over a Unix socket or UDP, "
       "to an IP address or a name, whose lines are lost until it is resolved; without a port, to 514.",
       "log = syslog:/dev/log level=notice")
OPTION("admin-socket", IN_GLOBAL, IN_GLOBAL, OPT_ADMIN, 0,
       "ADDRESS [mode= user= group= level= allow-uid= allow-gid=]", FIELD_GLOBAL(admin), NULL, 0, 0,
       "Unix socket that 'weir ctl' connects to.",
       "admin-socket = unix:/run/weir/admin.sock mode=660 group=weir")
OPTION("exec-checks", IN_GLOBAL, IN_GLOBAL, OPT_COUNT, 0, "N", MADE_GLOBAL(exec_checks), "0", 0, 1024,
       "Programs of 'check = exec' that may run at once; further ones wait; 0 = 'check = exec' is refused. "
       "Only in a file that the command line names.",
       "exec-checks = 4")
OPTION("include", IN_GLOBAL, IN_GLOBAL, OPT_INCLUDE, OPT_REPEAT, "GLOB...", NO_FIELD, NULL, 0, 0,
       "Further files to read, in sorted order; relative to the including file unless absolute.",
       "include = conf.d/*.ini")
OPTION("hard-stop-after", IN_GLOBAL, IN_GLOBAL, OPT_DURATION, 0, "DURATION",
       MADE_GLOBAL(hard_stop_after_ns), "30s", 0, MAX_NS,
       "How long a stopping process waits for its sessions; 0 = no limit.", "hard-stop-after = 30s")
OPTION("pipe-cycle", IN_GLOBAL, IN_GLOBAL, OPT_DURATION, 0, "DURATION", MADE_GLOBAL(pipe_cycle_ns), "10s",
       100 * NS_PER_MS, 3600 * NS_PER_SEC,
       "Pipes, buffers and session memory that stay unused for two of these cycles are released.",
       "pipe-cycle = 10s")
OPTION("on-removed", IN_GLOBAL, IN_GLOBAL, OPT_CHOICE, 0, "keep|close", FIELD_GLOBAL(on_removed), "keep", 0,
       0, "Default of 'on-removed' for frontends and backends, if [defaults] does not set it.",
       "on-removed = close")
OPTION("shutdown-delay", IN_GLOBAL, IN_GLOBAL, OPT_DURATION, 0, "DURATION", MADE_GLOBAL(shutdown_delay_ns),
       "0", 0, 3600 * NS_PER_SEC,
       "How long a process that is told to stop still serves everyone, while it already reports that it is "
       "not ready; a second signal ends the wait.",
       "shutdown-delay = 10s")
OPTION("resolver", IN_GLOBAL, IN_GLOBAL, OPT_CHOICE, 0, "auto|dns|system",
       MADE_GLOBAL_CHOICE(resolver, CONFIG_RESOLVER_AUTO, CONFIG_RESOLVER_DNS, CONFIG_RESOLVER_SYSTEM),
       "auto", 0, 0,
       "How names of servers are resolved: dns = by asking name servers, system = as other programs of this "
       "machine do (getaddrinfo), auto = by dns, but names in /etc/hosts, localhost and those that end in "
       ".local by the system; all by the system in a build without c-ares.",
       "resolver = system")
OPTION("resolvers", IN_GLOBAL, IN_GLOBAL, OPT_RESOLVERS, 0, "ADDRESS[:PORT]...", FIELD_GLOBAL(resolvers),
       NULL, 0, 0,
       "Name servers in the order in which they are asked, at most 8; default: those of /etc/resolv.conf.",
       "resolvers = 10.0.0.2 10.0.0.3:5353")
LATER("state-file", IN_GLOBAL, 0, "File that preserves server states across a restart.",
      "state-file = /var/lib/weir/state")

/* The words of a log line and of an admin-socket line */
OPTION("level", IN_LOG, IN_LOG, OPT_LEVEL, 0, LOG_LEVEL_WORDS, FIELD_LOG(level), "info", 0, 0,
       "Minimum level; lines below it are not logged.", "log = stderr level=debug")
OPTION("format", IN_LOG, IN_LOG, OPT_LOG_FORMAT, 0, "text | json | tcplog | \"TEXT {FIELD}...\"",
       FIELD_LOG(format), "text", 0, 0,
       "Format of a log line; json = one object per line. The others are for the lines of sessions: tcplog = "
       "as 'option tcplog' of HAProxy, or text with fields in braces, whose names are in weir.ini(5).",
       "log = stderr format=\"{client} {server} {bytes_in}\"")
OPTION("facility", IN_SYSLOG, IN_SYSLOG, OPT_CHOICE, 0,
       "daemon|user|local0|local1|local2|local3|local4|local5|local6|local7|kern|mail|auth|syslog|lpr|news|"
       "uucp|cron|authpriv|ftp|ntp|audit|alert|cron2", FIELD_LOG(facility), "daemon", 0, 0,
       "Syslog facility of the lines.", "log = syslog:/dev/log facility=local0")
OPTION("mode", IN_ADMIN, IN_ADMIN, OPT_MODE, 0, "OCTAL", FIELD_GLOBAL(admin_owner.mode), NULL, 0, 0,
       "Permissions of the socket.", "admin-socket = unix:/run/weir/admin.sock mode=660")
OPTION("user", IN_ADMIN, IN_ADMIN, OPT_USER, 0, "NAME | UID", FIELD_GLOBAL(admin_owner.uid), NULL, 0, 0,
       "Owner of the socket.", "admin-socket = unix:/run/weir/admin.sock user=root")
OPTION("group", IN_ADMIN, IN_ADMIN, OPT_GROUP, 0, "NAME | GID", FIELD_GLOBAL(admin_owner.gid), NULL, 0, 0,
       "Group of the socket.", "admin-socket = unix:/run/weir/admin.sock group=adm")
OPTION("level", IN_ADMIN, IN_ADMIN, OPT_CHOICE, 0, ADMIN_LEVEL_WORDS, FIELD_GLOBAL(admin_level), "operator",
       0, 0,
       "What users other than root and weir's own may do: user = " ADMIN_USER_MAY
       "; operator = " ADMIN_OPERATOR_MAY "; admin = " ADMIN_ADMIN_MAY ".",
       "admin-socket = unix:/run/weir/admin.sock mode=660 level=admin")
OPTION("allow-uid", IN_ADMIN, IN_ADMIN, OPT_UIDS, OPT_REPEAT, "NAME | UID,...",
       FIELD_GLOBAL(admin_uids), NULL, 0, 0,
       "Users that may use the socket. With allow-uid or allow-gid, everyone else except root and weir's "
       "own user is refused, whatever the socket's mode; on a path, the mode must admit these users too.",
       "admin-socket = unix:/run/weir/admin.sock mode=666 allow-uid=telegraf,1000")
OPTION("allow-gid", IN_ADMIN, IN_ADMIN, OPT_GIDS, OPT_REPEAT, "NAME | GID,...",
       FIELD_GLOBAL(admin_gids), NULL, 0, 0,
       "Groups whose members may use the socket; the same rule as for allow-uid applies.",
       "admin-socket = unix:/run/weir/admin.sock mode=666 allow-gid=adm")

/* frontend and listen */
OPTION("bind", FRONT, FRONT, OPT_BIND, OPT_NAMED | OPT_REPEAT | OPT_NAME_OPTIONAL, "ADDRESS [OPTION...]",
       NO_FIELD, NULL, 0, 0,
       "Address to accept connections on. ADDRESS:FIRST-LAST is a range of ports, each with a socket. Two "
       "lines may have the same port if one is for all addresses (:80) and the other for one (10.0.0.1:80): "
       "clients of that address come in there, and all others at the first.",
       "bind = :443 backlog=4096")
OPTION("maxconn", FRONT_D, FRONT_D, OPT_COUNT_AUTO, 0, "auto | N", MADE_FRONT(maxconn), "auto", 1,
       100000000, "Maximum concurrent client connections; auto = as many as the process accepts.",
       "maxconn = 2000")
OPTION("default-backend", FRONT, FRONT, OPT_BACKEND, 0, "NAME", NO_FIELD, NULL, 0, 0,
       "Backend that connections go to; with use-backend lines, those that none of them matches. Without it, "
       "'no-server' determines how these are closed.",
       "default-backend = app")
OPTION("rate-limit", FRONT_D, FRONT_D, OPT_COUNT_OFF, 0, "off | N", MADE_FRONT(rate_limit), "off", 0,
       100000000, "Maximum new connections per second; excess connections wait in the kernel's backlog.",
       "rate-limit = 500")
OPTION("maxconn-per-source", FRONT_D, FRONT_D, OPT_COUNT_OFF, 0, "off | N", MADE_FRONT(maxconn_per_source),
       "off", 0, 100000000,
       "Maximum concurrent connections from one IPv4 address or one IPv6 /64 network. Until its PROXY "
       "header has arrived, a connection counts towards the address that it comes from.",
       "maxconn-per-source = 20")
OPTION("rate-limit-per-source", FRONT_D, FRONT_D, OPT_SOURCE_RATE, 0, "off | N/TIME [burst=]",
       FIELD_PROXY(source_rate), "off", 0, 0,
       "Maximum new connections of one IPv4 address or one IPv6 /64 network in a time, on average; further "
       "ones are reset. Behind a PROXY header, it applies to the address in the header.",
       "rate-limit-per-source = 20/10s burst=50")
OPTION("limit-exempt", FRONT_D, FRONT_D, OPT_NETWORKS, OPT_REPEAT, "NETWORK... | @FILE", FIELD_PROXY(exempt),
       NULL, 0, 0,
       "Networks that maxconn-per-source and rate-limit-per-source do not apply to; all other rules and "
       "limits do.",
       "limit-exempt = 10.0.0.0/8 2001:db8::/32")
OPTION("log-sample", FRONT_D, FRONT_D, OPT_SAMPLE, 0, "1/N | errors", MADE_FRONT(log_sample), "1/1", 1,
       1000000,
       "Share of sessions whose end is logged, chosen at random. Sessions that ended with an error or after "
       "a retry are always logged; errors = only these.",
       "log-sample = 1/100")
OPTION("log-empty", FRONT_D, FRONT_D, OPT_CHOICE, 0, "on|off",
       MADE_FRONT_CHOICE(log_empty, CONFIG_LOG_EMPTY_ON, CONFIG_LOG_EMPTY_OFF), "on", 0, 0,
       "Whether a session gets a log line if its client leaves without having sent a byte, as probes do; off "
       "= no line, and such a reset is not an error. They are counted as empty_sessions.",
       "log-empty = off")
OPTION("allow-from", FRONT_D, FRONT_D, OPT_NETWORKS, OPT_REPEAT, "NETWORK... | @FILE", FIELD_PROXY(allow),
       NULL, 0, 0,
       "Networks that may connect; all others may not. @FILE lists one per line, up to 1,000,000; '#' starts "
       "a comment.",
       "allow-from = 10.0.0.0/8 2001:db8::/32")
OPTION("deny-from", FRONT_D, FRONT_D, OPT_NETWORKS, OPT_REPEAT, "NETWORK... | @FILE", FIELD_PROXY(deny),
       NULL, 0, 0, "Networks that may not connect; takes precedence over allow-from.",
       "deny-from = 192.0.2.0/24")
OPTION("allow-uid", FRONT_D, FRONT_D, OPT_USERS, OPT_REPEAT, "NAME | UID...", FIELD_PROXY(allow_uids), NULL,
       0, 0, "Users that may connect to a Unix listener; all others may not.", "allow-uid = root 1000")
OPTION("trusted", FRONT_D, FRONT_D, OPT_NETWORKS, OPT_REPEAT, "NETWORK... | @FILE", FIELD_PROXY(trusted),
       NULL, 0, 0,
       "Networks that may send a PROXY header. If unset, anyone may, and TLVs are ignored unless they "
       "arrive over a Unix socket.",
       "trusted = 10.0.0.0/8")
OPTION("sniff", FRONT_D, FRONT_D, OPT_SNIFF, 0, "off | tls | auto | rdp [timeout=] [required]",
       FIELD_PROXY(sniff), "off", 0, 0,
       "Read the TLS ClientHello before choosing a backend, without terminating TLS; for 'sni' and 'alpn' of "
       "use-backend. auto = also tell TLS, HTTP and SSH apart, for 'proto'. rdp = read the Connection "
       "Request of RDP instead, for 'persist'.",
       "sniff = tls timeout=5s")
OPTION("use-backend", FRONT, FRONT, OPT_ROUTE, OPT_NAMED | OPT_REPEAT,
       "[src=] [dst-port=] [sni=] [alpn=] [proto=]", NO_FIELD, NULL, 0, 0,
       "Backend for connections that match all of these words; the first matching line is used.",
       "use-backend app = src=10.0.0.0/8 dst-port=8080")
OPTION("no-server", FRONT_D, FRONT_D, OPT_CHOICE, 0, "close|reset|queue|!unlisten",
       MADE_FRONT_CHOICE(no_server, CONFIG_NO_SERVER_CLOSE, CONFIG_NO_SERVER_RESET, CONFIG_NO_SERVER_QUEUE),
       "close", 0, 0,
       "What a client gets when no server is up: close = FIN, reset = RST, queue = wait up to timeout-queue.",
       "no-server = reset")
OPTION("unlisten", FRONT_D, FRONT_D, OPT_CHOICE, 0, "no|no-server",
       MADE_FRONT_CHOICE(unlisten, CONFIG_UNLISTEN_NO, CONFIG_UNLISTEN_NO_SERVER), "no", 0, 0,
       "Close the addresses while no server of any backend that clients may go to is up, and listen again "
       "once one is. Passed sockets stay open.",
       "unlisten = no-server")

/* [stats] */
OPTION("bind", IN_STATS, IN_STATS, OPT_STATS, 0, "ADDRESS [mode= user= group=]", FIELD_GLOBAL(stats.addr),
       NULL, 0, 0,
       "Address of the HTTP endpoint, TCP or Unix: a page, metrics, statistics as CSV and JSON, health of "
       "the daemon. If unset, there is none.",
       "bind = 127.0.0.1:8404")
OPTION("allow-from", IN_STATS, IN_STATS, OPT_NETWORKS, OPT_REPEAT, "NETWORK... | @FILE",
       FIELD_GLOBAL(stats.allow_list), NULL, 0, 0,
       "Networks that may use the HTTP endpoint over TCP; if unset, only this machine (127.0.0.0/8 and ::1).",
       "allow-from = 10.0.0.0/8")
OPTION("per-server-histograms", IN_STATS, IN_STATS, OPT_SWITCH, 0, "on | off",
       FIELD_GLOBAL(stats.per_server_histograms), "off", 0, 0,
       "Keep histograms of sessions for each server, not only for frontends and backends; costs about 5 KiB "
       "per server and worker, and a longer /metrics.",
       "per-server-histograms = on")
OPTION("auth-file", IN_STATS, IN_STATS, OPT_AUTH, 0, "FILE", FIELD_GLOBAL(stats.auth), NULL, 0, 0,
       "File of users and hashes of their passwords, as 'htpasswd -B' writes it; everyone else gets only "
       "/healthz and /readyz. Read at the start and by a reload.",
       "auth-file = stats.htpasswd")
OPTION("mode", IN_STATS_BIND, IN_STATS_BIND, OPT_MODE, 0, "OCTAL", FIELD_GLOBAL(stats.owner.mode), NULL, 0, 0,
       "Permissions of a Unix socket.", "bind = unix:/run/weir/stats.sock mode=666")
OPTION("user", IN_STATS_BIND, IN_STATS_BIND, OPT_USER, 0, "NAME | UID", FIELD_GLOBAL(stats.owner.uid), NULL,
       0, 0, "Owner of a Unix socket.", "bind = unix:/run/weir/stats.sock user=root")
OPTION("group", IN_STATS_BIND, IN_STATS_BIND, OPT_GROUP, 0, "NAME | GID", FIELD_GLOBAL(stats.owner.gid), NULL,
       0, 0, "Group of a Unix socket.", "bind = unix:/run/weir/stats.sock group=adm")

/* The words of a bind line */
OPTION("backlog", IN_BIND, IN_BIND, OPT_INT, 0, "N", MADE_BIND(backlog), NULL, 1, 65535,
       "Maximum connections that the kernel queues until they are accepted (default 4096).",
       "bind = :80 backlog=4096")
OPTION("mode", IN_BIND, IN_BIND, OPT_MODE, 0, "OCTAL", FIELD_BIND(owner.mode), NULL, 0, 0,
       "Permissions of a Unix socket.", "bind = unix:/run/a.sock mode=660")
OPTION("user", IN_BIND, IN_BIND, OPT_USER, 0, "NAME | UID", FIELD_BIND(owner.uid), NULL, 0, 0,
       "Owner of a Unix socket.", "bind = unix:/run/a.sock user=www-data")
OPTION("group", IN_BIND, IN_BIND, OPT_GROUP, 0, "NAME | GID", FIELD_BIND(owner.gid), NULL, 0, 0,
       "Group of a Unix socket.", "bind = unix:/run/a.sock group=www-data")
OPTION("defer-accept", IN_BIND, IN_BIND, OPT_FLAG, 0, "", MADE_BIND(defer_accept), NULL, 0, 0,
       "Accept a TCP client only after it has sent data.", "bind = :443 defer-accept")
OPTION("v6only", IN_BIND, IN_BIND, OPT_FLAG, 0, "", MADE_BIND(v6only), NULL, 0, 0,
       "Accept only IPv6 clients, where the address would accept both; implied if another line binds the "
       "same port of 0.0.0.0, or without an address, which then accepts IPv4 only.",
       "bind = [::]:443 v6only")
OPTION("accept-proxy", IN_BIND, IN_BIND, OPT_CHOICE, OPT_BARE | OPT_HIDE_ZERO, "off|always|optional",
       MADE_BIND_CHOICE(accept_proxy, CONFIG_ACCEPT_PROXY_OFF, CONFIG_ACCEPT_PROXY_ALWAYS,
			CONFIG_ACCEPT_PROXY_OPTIONAL),
       "off", 1, 1,
       "Clients send a PROXY header, version 1 or 2; optional = clients in 'trusted' do, others do not.",
       "bind = :443 accept-proxy")
OPTION("interface", IN_BIND, IN_BIND, OPT_TEXT, 0, "NAME", MADE_BIND(interface), NULL, 0, 15,
       "Accept only connections that arrive on this network interface.", "bind = :443 interface=eth0")
OPTION("freebind", IN_BIND, IN_BIND, OPT_FLAG, 0, "", MADE_BIND(freebind), NULL, 0, 0,
       "Bind an address that the machine does not have yet.", "bind = 10.9.9.9:443 freebind")
OPTION("transparent", IN_BIND, IN_BIND, OPT_FLAG, 0, "", MADE_BIND(transparent), NULL, 0, 0,
       "Accept connections to addresses that do not belong to this machine.", "bind = :443 transparent")
OPTION("tfo", IN_BIND, IN_BIND, OPT_FLAG, 0, "", MADE_BIND(tfo), NULL, 0, 0,
       "TCP Fast Open: the first packet may carry data.", "bind = :443 tfo")
OPTION("mptcp", IN_BIND, IN_BIND, OPT_FLAG, 0, "", MADE_BIND(mptcp), NULL, 0, 0,
       "Multipath TCP; the kernel does not splice it, so bytes are copied.", "bind = :443 mptcp")

#include "weir/config/backend_options.tbl.h"

/* Timeouts */
OPTION("timeout-connect", BOTH_D, BACK_D, OPT_DURATION, 0, "DURATION", MADE_TIMEOUT(connect_ns),
       "5s", 0, MAX_NS, "How long a connect to a server may take.", "timeout-connect = 5s")
OPTION("timeout-client", BOTH_D, FRONT_D, OPT_DURATION, 0, "DURATION", MADE_TIMEOUT(client_ns),
       "10m", 0, MAX_NS, "How long the client side may be idle.", "timeout-client = 10m")
OPTION("timeout-server", BOTH_D, BACK_D, OPT_DURATION, 0, "DURATION", MADE_TIMEOUT(server_ns),
       "10m", 0, MAX_NS, "How long the server side may be idle.", "timeout-server = 10m")
OPTION("timeout-idle", BOTH_D, BOTH_D, OPT_IDLE, 0, "DURATION", FIELD_PROXY(timeouts), NULL, 0, MAX_NS,
       "Sets both timeout-client and timeout-server; where one of these is set too, it takes precedence.",
       "timeout-idle = 10m")
OPTION("timeout-half-closed", BOTH_D, FRONT_D, OPT_DURATION, 0, "DURATION",
       MADE_TIMEOUT(half_closed_ns), "60s", 0, MAX_NS,
       "Idle time allowed after one side has finished sending; after a reset, time to deliver the rest.",
       "timeout-half-closed = 60s")
OPTION("max-lifetime", BOTH_D, BOTH_D, OPT_DURATION, 0, "DURATION", MADE_TIMEOUT(max_lifetime_ns), "off", 0,
       MAX_NS,
       "Maximum total duration of a session, however busy it is; of the frontend's and the backend's limit, "
       "the shorter one counts.", "max-lifetime = 12h")
OPTION("on-removed", BOTH_D, BOTH_D, OPT_CHOICE, 0, "keep|close",
       MADE_TIMEOUT_CHOICE(on_removed, CONFIG_ON_REMOVED_KEEP, CONFIG_ON_REMOVED_CLOSE), NULL, 0, 0,
       "What happens to open sessions when a reload removes this frontend, this backend or one of its "
       "servers: close = they are reset, a few at a time; if unset, as in [global].",
       "on-removed = close")
OPTION("timeout-handshake", BOTH_D, FRONT_D, OPT_DURATION, 0, "DURATION",
       MADE_TIMEOUT(handshake_ns), "5s", 0, MAX_NS,
       "How long a client may take to send its complete PROXY header, or what 'sniff' reads.",
       "timeout-handshake = 5s")

/* Sockets */
OPTION("client-keepalive", BOTH_D, FRONT_D, OPT_KEEPALIVE, 0, "off | on | DURATION [interval= count=]",
       FIELD_PROXY(client_keepalive), "off", 1, 32767,
       "Idle time after which TCP keepalive probes are sent to clients; on = the kernel's times.",
       "client-keepalive = 60s interval=10s count=3")
OPTION("server-keepalive", BOTH_D, BACK_D, OPT_KEEPALIVE, 0, "off | on | DURATION [interval= count=]",
       FIELD_PROXY(server_keepalive), "off", 1, 32767,
       "Idle time after which TCP keepalive probes are sent to servers; on = the kernel's times.",
       "server-keepalive = 60s interval=10s count=3")
OPTION("tcp-keepalive", BOTH_D, BOTH_D, OPT_KEEPALIVES, 0, "off | on | DURATION [interval= count=]",
       FIELD_PROXY(tcp), NULL, 1, 32767,
       "Sets both client-keepalive and server-keepalive; where one of these is set too, it takes precedence.",
       "tcp-keepalive = 60s interval=10s count=3")
OPTION("interval", IN_KEEPALIVE, IN_KEEPALIVE, OPT_SECONDS, OPT_HIDE_ZERO, "DURATION",
       MADE_KEEPALIVE(keepalive_interval_s), "10s", 1, 32767,
       "Time between two keepalive probes; behind 'on', the kernel's unless this word is there.",
       "server-keepalive = 60s interval=10s")
OPTION("count", IN_KEEPALIVE, IN_KEEPALIVE, OPT_INT, OPT_HIDE_ZERO, "N", MADE_KEEPALIVE(keepalive_count), "3",
       1, 127,
       "Unanswered keepalive probes before the connection is lost; behind 'on', the kernel's unless this "
       "word is there.", "server-keepalive = 60s count=3")
OPTION("tcp-user-timeout", BOTH_D, BOTH_D, OPT_MILLIS, 0, "DURATION", MADE_TCP(user_timeout_ms),
       "off", 0, 86400000, "How long sent bytes may stay unacknowledged; 0 = the kernel's own limit.",
       "tcp-user-timeout = 30s")
OPTION("tcp-nodelay", BOTH_D, BOTH_D, OPT_SWITCH, 0, "on | off", MADE_TCP(nodelay), "on", 0, 0,
       "Send small segments at once.", "tcp-nodelay = on")
OPTION("congestion", BOTH_D, BOTH_D, OPT_TEXT, 0, "NAME", MADE_TCP(congestion), NULL, 0, 15,
       "Congestion control algorithm, by its kernel name; if unset, the kernel's default.",
       "congestion = bbr")
OPTION("tcp-notsent-lowat", BOTH_D, BOTH_D, OPT_BYTES, OPT_OR_OFF, "off | SIZE",
       MADE_TCP(notsent_lowat), "off", 4096, 1 << 30,
       "Maximum unsent bytes that the kernel queues; off = the kernel's own limit.",
       "tcp-notsent-lowat = 128k")
OPTION("mark", BOTH_D, BOTH_D, OPT_MARK, 0, "off | N | 0xN", MADE_TCP(mark), "off", 0, UINT32_MAX,
       "Packet mark for routing and firewall rules; needs CAP_NET_ADMIN.", "mark = 0x10")
OPTION("dscp", BOTH_D, BOTH_D, OPT_DSCP, 0, "off | N | cs0-cs7 | af11-af43 | ef | le", MADE_TCP(dscp),
       "off", 0, 63, "DSCP class of packets, by number or name.", "dscp = af21")
OPTION("pacing", BOTH_D, BOTH_D, OPT_PACE, OPT_OR_OFF, "off | SIZE", MADE_TCP(pacing), "off", 1024,
       INT64_C(1) << 40, "Maximum bytes per second that a connection may send, enforced by the kernel.",
       "pacing = 10m")
