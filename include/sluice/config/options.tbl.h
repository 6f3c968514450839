/* SPDX-License-Identifier: MIT
 *
 * options.tbl.h - one row an option, from which everything else about it is made.
 *
 * OPTION(key, sections, effect, type, flags, words, field, default, min, max, help, example)
 *   sections  where it may stand; effect: where it changes anything (elsewhere it is warned about)
 *   field     FIELD_x(member) of the structure that the section fills, NO_FIELD when it has none
 *   default   read by the same parser; NULL = none
 *   words     how a value looks; of OPT_CHOICE the words themselves, '!' before one that is not in
 *             this version
 * LATER(key, sections, flags, help, example): known, and refused in words. Floor 2.
 */

/* [global] */
OPTION("threads", IN_GLOBAL, IN_GLOBAL, OPT_COUNT_AUTO, 0, "auto | N", FIELD_GLOBAL(threads), "auto", 1,
       256, "Worker threads; auto = one for each CPU that the process may use.", "threads = auto")
OPTION("cpu-affinity", IN_GLOBAL, IN_GLOBAL, OPT_CPUS, 0, "auto | off | LIST", FIELD_GLOBAL(affinity),
       "auto", 0, 4095, "CPUs that the workers are tied to; a list gives one to each worker in turn.",
       "cpu-affinity = 0-3,6")
OPTION("driver", IN_GLOBAL, IN_GLOBAL, OPT_CHOICE, 0, "auto|epoll|!io_uring", FIELD_GLOBAL(driver), "auto",
       0, 0, "How workers wait for the kernel.", "driver = epoll")
OPTION("maxconn", IN_GLOBAL, IN_GLOBAL, OPT_COUNT_AUTO, 0, "auto | N", FIELD_GLOBAL(maxconn), "auto", 1,
       100000000, "Client connections at a time in the whole process; auto = from RLIMIT_NOFILE.",
       "maxconn = 20_000")
OPTION("maxpipes", IN_GLOBAL, IN_GLOBAL, OPT_INT_AUTO, 0, "auto | N", FIELD_GLOBAL(maxpipes), "auto", 0,
       10000000, "Pipes for splice at a time; a flow that gets none copies.", "maxpipes = 4096")
OPTION("pipe-size", IN_GLOBAL, IN_GLOBAL, OPT_SIZE, 0, "SIZE", FIELD_GLOBAL(pipe_size), "512k", 65536,
       1 << 26, "Bytes that one pipe holds, a power of two.", "pipe-size = 512k")
OPTION("splice", IN_GLOBAL, IN_GLOBAL, OPT_CHOICE, 0, "auto|on|off", FIELD_GLOBAL(splice), "auto", 0, 0,
       "Move bytes inside the kernel: auto = for connections that move much, on = for all.",
       "splice = auto")
OPTION("user", IN_GLOBAL, IN_GLOBAL, OPT_TEXT, 0, "NAME", FIELD_GLOBAL(user), NULL, 0, 0,
       "User that the process becomes after it has bound its addresses.", "user = sluice")
OPTION("group", IN_GLOBAL, IN_GLOBAL, OPT_TEXT, 0, "NAME", FIELD_GLOBAL(group), NULL, 0, 0,
       "Group that the process becomes; without it the user's own.", "group = sluice")
OPTION("log", IN_GLOBAL, IN_GLOBAL, OPT_LOG, OPT_REPEAT,
       "auto | stderr | file:PATH | syslog:ADDRESS | off [level= format= facility=]", FIELD_GLOBAL(logs),
       "auto", 0, 0,
       "Where log lines go; auto = the journal under systemd, else stderr; syslog by Unix socket or UDP.",
       "log = syslog:/dev/log level=notice")
OPTION("admin-socket", IN_GLOBAL, IN_GLOBAL, OPT_ADMIN, 0, "ADDRESS [mode= user= group=]",
       FIELD_GLOBAL(admin), NULL, 0, 0, "Unix socket that 'sluice ctl' talks to.",
       "admin-socket = unix:/run/sluice/admin.sock mode=660 group=sluice")
OPTION("include", IN_GLOBAL, IN_GLOBAL, OPT_INCLUDE, OPT_REPEAT, "GLOB...", NO_FIELD, NULL, 0, 0,
       "Files to read too, sorted; beside the file that names them unless absolute.",
       "include = conf.d/*.ini")
OPTION("hard-stop-after", IN_GLOBAL, IN_GLOBAL, OPT_DURATION, 0, "DURATION",
       FIELD_GLOBAL(hard_stop_after_ns), "30s", 0, MAX_NS,
       "How long a stopping process waits for its sessions; 0 = without end.", "hard-stop-after = 30s")
OPTION("pipe-cycle", IN_GLOBAL, IN_GLOBAL, OPT_DURATION, 0, "DURATION", FIELD_GLOBAL(pipe_cycle_ns), "10s",
       100 * NS_PER_MS, 3600 * NS_PER_SEC, "Pipes unused for two of these cycles are closed.",
       "pipe-cycle = 10s")
LATER("shutdown-delay", IN_GLOBAL, 0, "How long /readyz fails before a stop begins.",
      "shutdown-delay = 10s")
LATER("state-file", IN_GLOBAL, 0, "File that keeps server states over a restart.",
      "state-file = /var/lib/sluice/state")

/* The words of a log line and of an admin-socket line */
OPTION("level", IN_LOG, IN_LOG, OPT_LEVEL, 0, "alert|error|warning|notice|info|debug", FIELD_LOG(level),
       "info", 0, 0, "Lines below this level are left out.", "log = stderr level=debug")
OPTION("format", IN_LOG, IN_LOG, OPT_CHOICE, 0, "text|json|!tcplog", FIELD_LOG(format), "text", 0, 0,
       "How a line looks; json = one object a line.", "log = stderr format=json")
OPTION("facility", IN_SYSLOG, IN_SYSLOG, OPT_CHOICE, 0,
       "daemon|user|local0|local1|local2|local3|local4|local5|local6|local7", FIELD_LOG(facility), "daemon",
       0, 0, "Which of syslog's facilities the lines are filed under.",
       "log = syslog:/dev/log facility=local0")
OPTION("mode", IN_ADMIN, IN_ADMIN, OPT_MODE, 0, "OCTAL", FIELD_GLOBAL(admin_owner.mode), NULL, 0, 0,
       "Permissions of the socket.", "admin-socket = unix:/run/sluice/admin.sock mode=660")
OPTION("user", IN_ADMIN, IN_ADMIN, OPT_USER, 0, "NAME | UID", FIELD_GLOBAL(admin_owner.uid), NULL, 0, 0,
       "Owner of the socket.", "admin-socket = unix:/run/sluice/admin.sock user=root")
OPTION("group", IN_ADMIN, IN_ADMIN, OPT_GROUP, 0, "NAME | GID", FIELD_GLOBAL(admin_owner.gid), NULL, 0, 0,
       "Group of the socket.", "admin-socket = unix:/run/sluice/admin.sock group=adm")
LATER("level", IN_ADMIN, 0, "What the socket allows: user, operator or admin.",
      "admin-socket = unix:/run/sluice/admin.sock level=admin")

/* frontend and listen */
OPTION("bind", FRONT, FRONT, OPT_BIND, OPT_NAMED | OPT_REPEAT | OPT_NAME_OPTIONAL, "ADDRESS [OPTION...]",
       NO_FIELD, NULL, 0, 0, "Address to accept connections on.", "bind = :443 backlog=4096")
OPTION("maxconn", FRONT_D, FRONT_D, OPT_COUNT_AUTO, 0, "auto | N", FIELD_PROXY(maxconn), "auto", 1,
       100000000, "Client connections at a time; auto = as many as the process takes.", "maxconn = 2000")
OPTION("default-backend", FRONT, FRONT, OPT_BACKEND, 0, "NAME", NO_FIELD, NULL, 0, 0,
       "The backend that connections go to.", "default-backend = app")
LATER("rate-limit", FRONT_D, 0, "New connections a second.", "rate-limit = 500")
LATER("maxconn-per-source", FRONT_D, 0, "Connections at a time from one address.",
      "maxconn-per-source = 20")
LATER("allow-from", FRONT_D, OPT_REPEAT, "Networks that may connect.", "allow-from = 10.0.0.0/8")
LATER("deny-from", FRONT_D, OPT_REPEAT, "Networks that may not connect.",
      "deny-from = @/etc/sluice/blocklist.cidr")
LATER("allow-uid", FRONT_D, OPT_REPEAT, "Users that may connect to a Unix listener.", "allow-uid = ci 0")
LATER("trusted", FRONT_D, OPT_REPEAT, "Networks that may send a PROXY header.", "trusted = 10.0.0.0/8")
LATER("sniff", FRONT_D, 0, "Read the TLS ClientHello before choosing a backend.", "sniff = tls timeout=5s")
LATER("use-backend", FRONT, OPT_NAMED | OPT_REPEAT, "A backend for connections that match.",
      "use-backend api = sni=*.api.example.com")
LATER("no-server", BOTH_D, 0, "What happens to a connection when no server can take it.",
      "no-server = reset")

/* [stats] */
LATER("bind", IN_STATS, OPT_REPEAT, "Address of the HTTP endpoint.", "bind = 127.0.0.1:8404")

/* The words of a bind line */
OPTION("backlog", IN_BIND, IN_BIND, OPT_INT, 0, "N", FIELD_BIND(backlog), NULL, 1, 65535,
       "Connections that the kernel keeps until they are accepted (4096).", "bind = :80 backlog=4096")
OPTION("mode", IN_BIND, IN_BIND, OPT_MODE, 0, "OCTAL", FIELD_BIND(owner.mode), NULL, 0, 0,
       "Permissions of a Unix socket.", "bind = unix:/run/a.sock mode=660")
OPTION("user", IN_BIND, IN_BIND, OPT_USER, 0, "NAME | UID", FIELD_BIND(owner.uid), NULL, 0, 0,
       "Owner of a Unix socket.", "bind = unix:/run/a.sock user=www-data")
OPTION("group", IN_BIND, IN_BIND, OPT_GROUP, 0, "NAME | GID", FIELD_BIND(owner.gid), NULL, 0, 0,
       "Group of a Unix socket.", "bind = unix:/run/a.sock group=www-data")
OPTION("defer-accept", IN_BIND, IN_BIND, OPT_FLAG, 0, "", FIELD_BIND(defer_accept), NULL, 0, 0,
       "Accept a TCP client only when it has sent something.", "bind = :443 defer-accept")
OPTION("v6only", IN_BIND, IN_BIND, OPT_FLAG, 0, "", FIELD_BIND(v6only), NULL, 0, 0,
       "IPv6 clients only, where the address would take both.", "bind = [::]:443 v6only")
LATER("accept-proxy", IN_BIND, 0, "Clients send a PROXY header.", "bind = :443 accept-proxy")
LATER("interface", IN_BIND, 0, "Only this network interface.", "bind = :443 interface=eth0")
LATER("freebind", IN_BIND, 0, "Bind an address that the machine does not have yet.",
      "bind = 10.9.9.9:443 freebind")
LATER("transparent", IN_BIND, 0, "Accept connections to foreign addresses.", "bind = :443 transparent")
LATER("tfo", IN_BIND, 0, "TCP Fast Open.", "bind = :443 tfo")
LATER("mptcp", IN_BIND, 0, "Multipath TCP.", "bind = :443 mptcp")

/* backend and listen */
OPTION("balance", BACK_D, BACK_D, OPT_BALANCE, 0, "roundrobin|!leastconn|!random|!first|!source|!maglev",
       FIELD_PROXY(balance.algorithm), "roundrobin", 0, 0, "How a server is chosen.", "balance = roundrobin")
OPTION("server", BACK, BACK, OPT_SERVER, OPT_NAMED | OPT_REPEAT, "ADDRESS [weight= source=]", NO_FIELD,
       NULL, 0, 0, "One server; a name that does not resolve is tried again.",
       "server web1 = 10.0.0.11:8080 weight=2")
OPTION("retries", BACK_D, BACK_D, OPT_COUNT, 0, "N", FIELD_PROXY(retries), "3", 0, 100,
       "How often a failed connect is tried again.", "retries = 3")
OPTION("redispatch", BACK_D, BACK_D, OPT_SWITCH, 0, "on | off", FIELD_PROXY(redispatch), "on", 0, 0,
       "Try again at another server.", "redispatch = on")
OPTION("resolve-interval", BACK_D, BACK_D, OPT_DURATION, 0, "DURATION", FIELD_PROXY(resolve_interval_ns),
       "30s", 100 * NS_PER_MS, 86400 * NS_PER_SEC, "How often the names of servers are looked up again.",
       "resolve-interval = 30s")
LATER("servers", BACK, OPT_NAMED | OPT_REPEAT, "All addresses of a DNS name.",
      "servers pod = dns://app.prod.svc.cluster.local:9000 max=50")
LATER("check", BACK_D, 0, "Health check.", "check = tcp")
LATER("check-interval", BACK_D, 0, "Time between two health checks.", "check-interval = 2s")
LATER("check-fast", BACK_D, 0, "The same while a server changes its state.", "check-fast = 500ms")
LATER("check-down", BACK_D, 0, "The same while a server is down.", "check-down = 5s")
LATER("check-timeout", BACK_D, 0, "How long a health check may take.", "check-timeout = 2s")
LATER("check-rise", BACK_D, 0, "Good checks until a server is up.", "check-rise = 2")
LATER("check-fall", BACK_D, 0, "Bad checks until a server is down.", "check-fall = 3")
LATER("check-agent", BACK_D, 0, "Ask an agent on the server.", "check-agent = 9000")
LATER("observe", BACK_D, 0, "Take failed connects for failed checks.", "observe = connect")
LATER("on-marked-down", BACK_D, 0, "What happens to the sessions of a server that goes down.",
      "on-marked-down = close-sessions")
LATER("allbackups", BACK_D, 0, "Use all backup servers at once.", "allbackups = on")
LATER("panic", BACK_D, 0, "Use all servers when every one is down.", "panic = on")
LATER("maxqueue", BACK_D, 0, "Connections that wait for a server.", "maxqueue = 100")
LATER("timeout-queue", BACK_D, 0, "How long a connection waits for a server.", "timeout-queue = 5s")
LATER("send-proxy", BACK_D, 0, "Send a PROXY header to the servers.", "send-proxy = v2")

/* The words of a balance line and of a server line */
LATER("hash", IN_BALANCE, 0, "How a hash is mapped to servers.", "balance = source hash=consistent")
LATER("hash-balance-factor", IN_BALANCE, 0, "How uneven a hash may load the servers.",
      "balance = source hash=consistent hash-balance-factor=125")
OPTION("weight", IN_SERVER, IN_SERVER, OPT_COUNT, 0, "N", FIELD_SERVER(weight), "1", 0, 256,
       "Share of this server among the others; 0 = no new connections.", "server a = 10.0.0.1:80 weight=2")
OPTION("source", IN_SERVER, IN_SERVER, OPT_SOURCE, 0, "IP[:PORT]", FIELD_SERVER(source), NULL, 0, 0,
       "Local address of connections to this server.", "server a = 10.0.0.1:80 source=10.0.0.200")
LATER("backup", IN_SERVER, 0, "Used only when no other server is up.", "server a = 10.0.0.99:80 backup")
LATER("maxconn", IN_SERVER, 0, "Connections at a time to this server.",
      "server a = 10.0.0.1:80 maxconn=200")
LATER("maxqueue", IN_SERVER, 0, "Connections that wait for this server.",
      "server a = 10.0.0.1:80 maxqueue=50")
LATER("slowstart", IN_SERVER, 0, "Time until a server that comes up has its full weight.",
      "server a = 10.0.0.1:80 slowstart=30s")
LATER("send-proxy", IN_SERVER, 0, "Send a PROXY header.", "server a = 10.0.0.1:80 send-proxy=v2")
LATER("check-port", IN_SERVER, 0, "Port of the health check.", "server a = 10.0.0.1:80 check-port=8008")
LATER("check", IN_SERVER, 0, "Health check of this server.", "server a = 10.0.0.1:80 check")
LATER("disabled", IN_SERVER, 0, "Takes no connections until it is enabled.",
      "server a = 10.0.0.1:80 disabled")

/* Timeouts */
OPTION("timeout-connect", BOTH_D, BACK_D, OPT_DURATION, 0, "DURATION", FIELD_PROXY(timeouts.connect_ns),
       "5s", 0, MAX_NS, "How long a connect to a server may take.", "timeout-connect = 5s")
OPTION("timeout-client", BOTH_D, FRONT_D, OPT_DURATION, 0, "DURATION", FIELD_PROXY(timeouts.client_ns),
       "10m", 0, MAX_NS, "How long the client side may be idle.", "timeout-client = 10m")
OPTION("timeout-server", BOTH_D, BACK_D, OPT_DURATION, 0, "DURATION", FIELD_PROXY(timeouts.server_ns),
       "10m", 0, MAX_NS, "How long the server side may be idle.", "timeout-server = 10m")
OPTION("timeout-idle", BOTH_D, BOTH_D, OPT_IDLE, 0, "DURATION", FIELD_PROXY(timeouts), NULL, 0, MAX_NS,
       "timeout-client and timeout-server at once; these two win where they stand too.",
       "timeout-idle = 10m")
OPTION("timeout-half-closed", BOTH_D, BOTH_D, OPT_DURATION, 0, "DURATION",
       FIELD_PROXY(timeouts.half_closed_ns), "60s", 0, MAX_NS,
       "How long a session may go on after one side has ended its sending.", "timeout-half-closed = 60s")
OPTION("max-lifetime", BOTH_D, FRONT_D, OPT_DURATION, 0, "DURATION", FIELD_PROXY(timeouts.max_lifetime_ns),
       "off", 0, MAX_NS, "How long a session may last in all.", "max-lifetime = 12h")
LATER("timeout-handshake", BOTH_D, 0, "How long a PROXY header or a ClientHello may take.",
      "timeout-handshake = 5s")

/* Sockets */
OPTION("tcp-keepalive", BOTH_D, BOTH_D, OPT_KEEPALIVE, 0, "off | DURATION [interval= count=]",
       FIELD_PROXY(tcp), "off", 1, 32767, "Ask an idle peer whether it is still there, after this time.",
       "tcp-keepalive = 60s interval=10s count=3")
OPTION("interval", IN_KEEPALIVE, IN_KEEPALIVE, OPT_SECONDS, 0, "DURATION", FIELD_TCP(keepalive_interval_s),
       "10s", 1, 32767, "Time between two questions.", "tcp-keepalive = 60s interval=10s")
OPTION("count", IN_KEEPALIVE, IN_KEEPALIVE, OPT_INT, 0, "N", FIELD_TCP(keepalive_count), "3", 1, 127,
       "Questions without an answer until the connection is lost.", "tcp-keepalive = 60s count=3")
OPTION("tcp-user-timeout", BOTH_D, BOTH_D, OPT_MILLIS, 0, "DURATION", FIELD_PROXY(tcp.user_timeout_ms),
       "off", 0, 86400000, "How long sent bytes may stay unacknowledged; 0 = the kernel's.",
       "tcp-user-timeout = 30s")
OPTION("tcp-nodelay", BOTH_D, BOTH_D, OPT_SWITCH, 0, "on | off", FIELD_PROXY(tcp.nodelay), "on", 0, 0,
       "Send small pieces at once.", "tcp-nodelay = on")
LATER("congestion", BOTH_D, 0, "Congestion control of the kernel.", "congestion = bbr")
LATER("tcp-notsent-lowat", BOTH_D, 0, "Bytes that the kernel queues beyond what it has sent.",
      "tcp-notsent-lowat = 128k")
LATER("mark", BOTH_D, 0, "Mark of packets for routing and firewall.", "mark = 1")
LATER("dscp", BOTH_D, 0, "DSCP class of packets.", "dscp = af21")
LATER("pacing", BOTH_D, 0, "Bandwidth of a connection, kept by the kernel.", "pacing = 10m")
