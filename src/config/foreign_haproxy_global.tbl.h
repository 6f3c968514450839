/* SPDX-License-Identifier: MIT
 *
 * foreign_haproxy_global.tbl.h - rows of foreign.tbl.h:
 * HAProxy's words of its global section, its sections, and the words of log lines.
 */
FOREIGN(HAPROXY, SECTION, MISSING, "peers", NULL, "weir has no peers: leave this section out")
FOREIGN(HAPROXY, SECTION, DIFFERS, "resolvers", "resolvers",
        "name servers are a key of [global]: write resolvers = 10.0.0.2 there")
FOREIGN(HAPROXY, SECTION, NOT_OURS, "userlist", NULL, "weir does not read HTTP: leave this section out")
FOREIGN(HAPROXY, SECTION, MISSING, "mailers", NULL, "leave this section out")
FOREIGN(HAPROXY, SECTION, DIFFERS, "program", NULL, "let systemd run it: leave this section out")
FOREIGN(HAPROXY, SECTION, NOT_OURS, "http-errors", NULL, "weir does not read HTTP: leave this section out")
FOREIGN(HAPROXY, SECTION, MISSING, "ring", NULL, "leave this section out")
FOREIGN(HAPROXY, SECTION, NOT_OURS, "cache", NULL, "weir does not read HTTP: leave this section out")
FOREIGN(HAPROXY, SECTION, NOT_OURS, "fcgi-app", NULL, "weir does not read HTTP: leave this section out")
FOREIGN(HAPROXY, SECTION, MISSING, "log-forward", NULL, "weir does not forward logs: leave this section out")
FOREIGN(HAPROXY, SECTION, NOT_OURS, "crt-store", NULL, "weir does not terminate TLS: leave this section out")
FOREIGN(HAPROXY, SECTION, MISSING, "namespace_list", NULL, "leave this section out")
FOREIGN_KNOWN(HAPROXY, SECTION, SAME, "frontend", NULL, "'[frontend NAME]'")
FOREIGN_KNOWN(HAPROXY, SECTION, SAME, "backend", NULL, "'[backend NAME]'")
FOREIGN_KNOWN(HAPROXY, SECTION, SAME, "listen", NULL, "'[listen NAME]'")
FOREIGN_KNOWN(HAPROXY, SECTION, SAME, "global", NULL, "'[global]'")
FOREIGN_KNOWN(HAPROXY, SECTION, SAME, "defaults", NULL,
        "'[defaults]': one, for all sections; named ones are missing")

FOREIGN(HAPROXY, GLOBAL, RENAMED, "nbthread", "threads", "write 'threads = ...'")
FOREIGN(HAPROXY, GLOBAL, DIFFERS, "nbproc", "threads", "weir is one process: write 'threads'")
FOREIGN(HAPROXY, GLOBAL, RENAMED, "cpu-map", "cpu-affinity", "write 'cpu-affinity'")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "uid", NULL,
        "weir.service runs as user weir: leave this line out, or write 'user = ...' for a start by root")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "gid", NULL,
        "weir.service runs as group weir: leave this line out, or write 'group = ...' for a start by root")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "chroot", NULL, "use systemd's sandboxing: leave this line out")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "daemon", NULL,
        "leave this line out: weir stays in the foreground, as systemd expects (or give -D)")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "pidfile", NULL, "systemd tracks the process: leave this line out")
FOREIGN(HAPROXY, GLOBAL, RENAMED, "nosplice", "splice", "write 'splice = off'")
FOREIGN(HAPROXY, GLOBAL, DIFFERS, "nopoll", "driver", "write 'driver = epoll'")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "ulimit-n", NULL,
        "weir sizes itself from RLIMIT_NOFILE: set LimitNOFILE in the unit")
FOREIGN(HAPROXY, GLOBAL, RENAMED, "tune.pipesize", "pipe-size", "write 'pipe-size = ...'")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "tune.maxaccept", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, RENAMED, "stats socket", "admin-socket", "write 'admin-socket = SOCKET' in [global]")
FOREIGN(HAPROXY, GLOBAL, MISSING, "stats timeout", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, MISSING, "log-tag", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, MISSING, "log-send-hostname", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, RENAMED, "grace", "shutdown-delay", "write 'shutdown-delay' in [global]")
FOREIGN(HAPROXY, GLOBAL, DIFFERS, "server-state-file*", NULL,
        "leave it out: a reload keeps the state of servers, without a file; a restart does not")
FOREIGN(HAPROXY, GLOBAL, DIFFERS, "server-state-base", NULL,
        "leave it out: a reload keeps the state of servers, without a file; a restart does not")
FOREIGN(HAPROXY, GLOBAL, RENAMED, "maxconnrate", "rate-limit", "write 'rate-limit = ...' in the [frontend]")
FOREIGN(HAPROXY, GLOBAL, RENAMED, "maxsessrate", "rate-limit", "write 'rate-limit = ...' in the [frontend]")
FOREIGN(HAPROXY, GLOBAL, NOT_OURS, "maxcomprate", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, GLOBAL, NOT_OURS, "maxsslconn", NULL,
        "weir does not terminate TLS, it passes it through: leave this line out")
FOREIGN(HAPROXY, GLOBAL, NOT_OURS, "maxsslrate", NULL,
        "weir does not terminate TLS, it passes it through: leave this line out")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "noepoll", NULL, "leave this line out: weir needs epoll or io_uring")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "nokqueue", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "noevports", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "noreuseport", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "nogetaddrinfo", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, RENAMED, "thread-groups", "threads", "write 'threads'")
FOREIGN(HAPROXY, GLOBAL, RENAMED, "thread-group", "threads", "write 'threads'")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "master-worker", NULL, "leave this line out: weir is one process")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "mworker-*", NULL, "leave this line out: weir is one process")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "node", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "spread-checks", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "max-spread-checks", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "busy-polling", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, DIFFERS, "quiet", NULL, "start weir with -q")
FOREIGN(HAPROXY, GLOBAL, RENAMED, "debug", "log", "write 'log = stderr level=debug'")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "zero-warning", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "strict-limits", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, DIFFERS, "setenv", NULL, "set variables in the unit: Environment=NAME=VALUE")
FOREIGN(HAPROXY, GLOBAL, DIFFERS, "presetenv", NULL, "set variables in the unit: Environment=NAME=VALUE")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "resetenv", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "unsetenv", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, MISSING, "set-dumpable", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "insecure-*", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, RENAMED, "numa-cpu-mapping", "cpu-affinity", "write 'cpu-affinity'")
FOREIGN(HAPROXY, GLOBAL, DIFFERS, "unix-bind", "mode", "write 'mode=', 'user=' and 'group=' on the bind line")
FOREIGN(HAPROXY, GLOBAL, MISSING, "localpeer", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, MISSING, "wurfl-*", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, MISSING, "51degrees-*", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, MISSING, "deviceatlas-*", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, NOT_OURS, "ca-base", NULL,
        "weir does not terminate TLS, it passes it through: leave this line out")
FOREIGN(HAPROXY, GLOBAL, NOT_OURS, "crt-base", NULL,
        "weir does not terminate TLS, it passes it through: leave this line out")
FOREIGN(HAPROXY, GLOBAL, NOT_OURS, "ssl-*", NULL,
        "weir does not terminate TLS, it passes it through: leave this line out")
FOREIGN(HAPROXY, GLOBAL, NOT_OURS, "issuers-chain-path", NULL,
        "weir does not terminate TLS, it passes it through: leave this line out")
FOREIGN(HAPROXY, GLOBAL, NOT_OURS, "tune.ssl.*", NULL,
        "weir does not terminate TLS, it passes it through: leave this line out")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "tune.bufsize", NULL,
        "leave this line out: buffers are sized from 'pipe-size'")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "tune.rcvbuf.*", NULL,
        "leave this line out: the kernel sizes socket buffers")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "tune.sndbuf.*", NULL,
        "leave this line out: the kernel sizes socket buffers")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "tune.*", NULL, "leave this line out: weir sizes this itself")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "profiling.*", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, MISSING, "lua-*", NULL, "weir has no Lua")
FOREIGN(HAPROXY, GLOBAL, NOT_OURS, "httpclient.*", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, NOT_OURS, "h1-*", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, GLOBAL, NOT_OURS, "h2-*", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "pp2-*", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "close-spread-time", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "default-path", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "expose-*", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "no-memory-trimming", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, MISSING, "set-var*", NULL,
        "weir has no variables except '${NAME}' from the environment")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "stats maxconn", NULL,
        "leave this line out: the admin socket has a limit of its own")
FOREIGN(HAPROXY, GLOBAL, NO_EFFECT, "stats bind-process", NULL, "leave this line out")
FOREIGN(HAPROXY, GLOBAL, DIFFERS, "external-check", "exec-checks",
        "write 'exec-checks = 4' in [global]: how many programs may run at once")
FOREIGN(HAPROXY, GLOBAL, DIFFERS, "external-check command", "check",
        "write 'check = exec ...', and 'exec-checks = 4' in [global]")
FOREIGN(HAPROXY, GLOBAL, RENAMED, "external-check path", "check", "write 'check = exec PROGRAM path=...'")
FOREIGN_KNOWN(HAPROXY, GLOBAL, SAME, "maxconn", "maxconn",
        "without it, HAProxy's is derived from 'ulimit-n', and 'auto' from the limits on descriptors and "
        "memory")
FOREIGN_KNOWN(HAPROXY, GLOBAL, SAME, "maxpipes", "maxpipes",
        "'auto' is derived from the limits on pipes and descriptors")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NO_EFFECT, "user", NULL,
        "weir.service runs as user weir; if root starts weir, write 'user' in [global]")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NO_EFFECT, "group", NULL,
        "weir.service runs as group weir; if root starts weir, it is the primary group of 'user'")
FOREIGN_KNOWN(HAPROXY, GLOBAL, SAME, "hard-stop-after", "hard-stop-after", "30s by default; with a unit")
FOREIGN_KNOWN(HAPROXY, GLOBAL, DIFFERS, "log", "log",
        "one line per target: 'log = syslog:ADDRESS facility=local0 level=notice'")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NOT_OURS, "cluster-secret", NULL, "it is for QUIC")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NOT_OURS, "key-base", NULL, "weir does not terminate TLS")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NOT_OURS, "ocsp-update.*", NULL, "weir does not terminate TLS")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NOT_OURS, "ssl-server-verify", NULL,
        "for checks over TLS, 'verify' of 'check'")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NOT_OURS, "ssl-engine", NULL, "weir does not terminate TLS")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NOT_OURS, "ssl-mode-async", NULL, "weir does not terminate TLS")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NOT_OURS, "tune.h1.*", NULL, "weir does not read HTTP")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NOT_OURS, "tune.h2.*", NULL, "weir does not read HTTP")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NOT_OURS, "tune.http.*", NULL, "weir does not read HTTP")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NOT_OURS, "tune.quic.*", NULL, "weir does not forward UDP")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NOT_OURS, "tune.lua.*", NULL, "weir has no Lua")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NOT_OURS, "tune.comp.*", NULL, "weir does not read HTTP")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NOT_OURS, "tune.zlib.*", NULL, "weir does not read HTTP")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NOT_OURS, "maxcompcpuusage", NULL, "weir does not read HTTP")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NOT_OURS, "maxzlibmem", NULL, "weir does not read HTTP")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NO_EFFECT, "tune.idle-pool.shared", NULL, "weir does not pool connections")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NO_EFFECT, "tune.fd.edge-triggered", NULL,
        "weir always uses edge-triggered events")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NO_EFFECT, "tune.listener.*", NULL,
        "one socket per address, shared by the workers")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NO_EFFECT, "tune.maxpollevents", NULL, "weir sizes this itself")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NO_EFFECT, "tune.recv_enough", NULL, "weir sizes this itself")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NO_EFFECT, "tune.runqueue-depth", NULL, "weir sizes this itself")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NO_EFFECT, "tune.sched.low-latency", NULL, "weir sizes this itself")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NO_EFFECT, "tune.disable-zero-copy-forwarding", NULL,
        "for splice, see 'splice'")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NO_EFFECT, "tune.pattern.cache-size", NULL, "lookups in lists need no cache")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NO_EFFECT, "tune.peers.*", NULL, "weir has no peers")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NO_EFFECT, "tune.stick-counters", NULL, "weir has no rules to count with")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NO_EFFECT, "tune.vars.*", NULL, "weir has no variables")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NO_EFFECT, "tune.max-checks-per-thread", NULL, "checks run on the main thread")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NO_EFFECT, "tune.pool-*-fd-ratio", NULL, "weir does not pool connections")
FOREIGN_KNOWN(HAPROXY, GLOBAL, MISSING, "anonkey", NULL, "nothing that is printed can be made anonymous")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NO_EFFECT, "harden.reject-privileged-ports.*", NULL,
        "connections from low ports are accepted")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NO_EFFECT, "fd-hard-limit", NULL, "set LimitNOFILE in the unit")
FOREIGN_KNOWN(HAPROXY, GLOBAL, NO_EFFECT, "prealloc-fd", NULL, "the table of descriptors grows")

FOREIGN(HAPROXY, LOG_WORD, MISSING, "expose-fd", NULL, "leave it out")
FOREIGN(HAPROXY, LOG_WORD, MISSING, "severity-output", NULL, "leave it out")
FOREIGN(HAPROXY, LOG_WORD, NO_EFFECT, "local0", NULL, "leave it out: a facility applies to syslog only")
FOREIGN(HAPROXY, LOG_WORD, MISSING, "len", NULL, "leave it out")
FOREIGN(HAPROXY, LOG_WORD, DIFFERS, "level", "level", "write 'level=...' on the admin-socket line")
