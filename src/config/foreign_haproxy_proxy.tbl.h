/* SPDX-License-Identifier: MIT
 *
 * foreign_haproxy_proxy.tbl.h - rows of foreign.tbl.h:
 * HAProxy's words of a proxy section, its algorithms and its health checks.
 */
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "mode", NULL,
        "weir forwards TCP and Unix sockets only: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, DIFFERS, "option", NULL,
        "weir has no 'option': write the key itself, see 'weir help'")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "option splice-auto", "splice", "write 'splice = auto' in [global]")
FOREIGN(HAPROXY, SECTION_LINE, DIFFERS, "option splice-request", "splice",
        "write 'splice = on' in [global]: it covers both directions")
FOREIGN(HAPROXY, SECTION_LINE, DIFFERS, "option splice-response", "splice",
        "write 'splice = on' in [global]: it covers both directions")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "option redispatch", "redispatch", "write 'redispatch = on'")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "option tcpka", "tcp-keepalive", "write 'tcp-keepalive = on'")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "option clitcpka", "client-keepalive",
        "write 'client-keepalive = on'")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "option srvtcpka", "server-keepalive",
        "write 'server-keepalive = on'")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "option tcp-smart-accept", NULL,
        "leave this line out: the kernel does this by itself")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "option tcp-smart-connect", NULL,
        "leave this line out: the kernel does this by itself")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "option tcplog", "log",
        "write 'log = stderr format=tcplog' in [global]")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "option httplog", NULL,
        "weir does not read HTTP: write 'log = auto' in [global]")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "option dontlognull", "log-empty", "write 'log-empty = off'")
FOREIGN(HAPROXY, SECTION_LINE, DIFFERS, "timeout tunnel", "timeout-idle",
        "write 'timeout-idle = ...ms' (client and server side)")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "timeout client-fin", "timeout-half-closed",
        "write 'timeout-half-closed = ...ms'")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "timeout server-fin", "timeout-half-closed",
        "write 'timeout-half-closed = ...ms'")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "timeout check", "check-timeout", "write 'check-timeout = ...ms'")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "timeout client-hs", "timeout-handshake",
        "write 'timeout-handshake = ...ms'")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "timeout http-request", NULL,
        "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "timeout http-keep-alive", NULL,
        "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "clitimeout", "timeout-client", "write 'timeout-client = ...ms'")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "srvtimeout", "timeout-server", "write 'timeout-server = ...ms'")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "contimeout", "timeout-connect", "write 'timeout-connect = ...ms'")
FOREIGN(HAPROXY, SECTION_LINE, DIFFERS, "default-server", "server-defaults",
        "write 'server-defaults' and words of a server line")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "fullconn", NULL,
        "leave this line out: it is no limit, only the load at which a server with minconn gets its "
        "maxconn")
FOREIGN(HAPROXY, SECTION_LINE, DIFFERS, "stats auth", "auth-file",
        "write 'auth-file = FILE' in [stats]; htpasswd -cB FILE NAME makes that file")
FOREIGN(HAPROXY, SECTION_LINE, DIFFERS, "stats", "bind",
        "write 'bind = ADDRESS' in [stats] for a page, metrics, CSV and JSON")
FOREIGN(HAPROXY, SECTION_LINE, DIFFERS, "log-format", "format",
        "write 'format=json' or 'format=text' on the log line")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "hash-type", "balance", "write 'balance = source hash=consistent'")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "hash-type map-based", NULL,
        "leave this line out: 'balance = source' does this")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "source", "source", "write 'source=...' on the server line")
FOREIGN(HAPROXY, SECTION_LINE, DIFFERS, "source usesrc", "source",
        "see 'source' of the server line: an address of this machine, or the client's")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "source usesrc client", "source",
        "write 'source=client' on the server line")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "dispatch", "server", "write 'server NAME = ...'")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "option http-server-close", NULL,
        "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "option httpclose", NULL,
        "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "option http-keep-alive", NULL,
        "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "option forwardfor", NULL,
        "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "option http-*", NULL,
        "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "option forceclose", NULL,
        "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "option tcp-ut", "tcp-user-timeout", "write 'tcp-user-timeout'")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "option logasap", NULL, "leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "option log-separate-errors", NULL, "leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "option dontlog-normal", "log-sample", "write 'log-sample = errors'")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "option contstats", NULL,
        "leave this line out: counters are always live")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "option socket-stats", NULL,
        "leave this line out: statistics are those of a section, not of each of its addresses")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "option abortonclose", NULL,
        "leave this line out: a client that has left is not served")
FOREIGN(HAPROXY, SECTION_LINE, MISSING, "option persist", NULL,
        "leave this line out; what is lost: no client stays with a server that is down")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "option transparent", "transparent",
        "write 'transparent' on the bind line")
FOREIGN(HAPROXY, SECTION_LINE, MISSING, "option nolinger", NULL,
        "leave this line out; what is lost: connections end with a reset, so that none waits in TIME_WAIT")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "option allbackups", "allbackups", "write 'allbackups = on'")
FOREIGN(HAPROXY, SECTION_LINE, DIFFERS, "option splice-*", "splice",
        "write 'splice = on' in [global]: it covers both directions")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "option idle-close-on-response", NULL,
        "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "option independent-streams", NULL, "leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "no option", NULL, "leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "no", NULL, "leave this line out, or write 'off' as the value")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "log global", NULL,
        "leave this line out: the log of [global] applies to all sections")
FOREIGN(HAPROXY, SECTION_LINE, DIFFERS, "log stdout", "log",
        "write 'log = auto' in [global]: stderr, or the journal under systemd")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "log stderr", "log", "write 'log = stderr' in [global]")
FOREIGN(HAPROXY, SECTION_LINE, DIFFERS, "log /dev/log", "log",
        "write 'log = syslog:/dev/log' in [global], or 'log = auto' for the journal")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "no log", NULL, "leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, DIFFERS, "log-format-sd", "format",
        "write 'format=json' or 'format=text' on the log line")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "timeout mail", NULL, "leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "http-reuse", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "http-send-name-header", NULL,
        "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "http-error", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "http-restrict-req-hdr-names", NULL,
        "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "errorfile", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "errorfiles", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "errorloc*", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "capture", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "compression", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "cookie", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "reqadd", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "reqallow", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "reqiallow", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "reqdel", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "reqidel", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "reqdeny", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "reqideny", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "reqpass", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "reqipass", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "reqrep", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "reqirep", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "reqtarpit", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "reqitarpit", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "rspadd", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "rspdel", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "rspidel", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "rspdeny", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "rspideny", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "rsprep", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "rspirep", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "block", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "appsession", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "dynamic-cookie-key", NULL,
        "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "option independant-streams", NULL, "leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "redirect", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, DIFFERS, "monitor-uri", "bind",
        "write 'bind = ADDRESS' in [stats]: /healthz and /readyz answer there")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "monitor", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "use-fcgi-app", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "max-keep-alive-queue", NULL,
        "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "server-template", "servers",
        "write 'servers NAME = dns://HOST:PORT'")
FOREIGN(HAPROXY, SECTION_LINE, MISSING, "email-alert", NULL, "leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "declare", NULL,
        "leave this line out: it only makes room for captures")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "description", NULL, "leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "id", NULL, "leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "guid", NULL, "leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "enabled", NULL, "leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, DIFFERS, "disabled", NULL,
        "comment the section out, with '#' before each of its lines")
FOREIGN(HAPROXY, SECTION_LINE, MISSING, "force-persist", NULL, "leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, MISSING, "ignore-persist", NULL, "leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "backlog", "backlog", "write 'backlog=N' on the bind line")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "transparent", "transparent", "write 'transparent' on the bind line")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "interface", "interface", "write 'interface=NAME' on the bind line")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "clitcpka-*", "client-keepalive",
        "write 'client-keepalive = 60s interval=10s count=3'")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "srvtcpka-*", "server-keepalive",
        "write 'server-keepalive = 60s interval=10s count=3'")
FOREIGN(HAPROXY, SECTION_LINE, DIFFERS, "load-server-state-from-file", NULL,
        "leave it out: a reload keeps the state of servers, without a file; a restart does not")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "retry-on", NULL,
        "leave this line out: only a failed connect is retried")
FOREIGN(HAPROXY, SECTION_LINE, DIFFERS, "unique-id-format", NULL,
        "leave it out: weir's unique IDs have a form of their own, {unique_id} in a log format")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "unique-id-header", NULL,
        "leave it out: it is for HTTP, and has no effect in mode tcp")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "bind-process", NULL,
        "leave this line out: weir is one process, and each of its workers serves all sections")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "bind-thread", NULL,
        "leave this line out: each worker serves all sections")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "rate-limit sessions", "rate-limit", "write 'rate-limit = ...'")
FOREIGN(HAPROXY, SECTION_LINE, NO_EFFECT, "hash-balance-factor 0", NULL,
        "leave this line out: there is no limit unless one is set")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "hash-balance-factor", "balance",
        "write 'balance = source hash=consistent hash-balance-factor=...'")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "option accept-*", NULL,
        "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "option h1-*", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "option disable-h2-*", NULL,
        "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, NOT_OURS, "option prefer-last-server", NULL,
        "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "option mysql-check user", "check", "write 'check = mysql user=...'")
FOREIGN(HAPROXY, SECTION_LINE, RENAMED, "option pgsql-check user", "check", "write 'check = pgsql user=...'")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, SAME, "maxconn", "maxconn", "of a frontend")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, SAME, "bind", "bind",
        "'bind = :443'; addresses and ports as in HAProxy, several per line as several lines")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, SAME, "server", "server", "'server NAME = ADDRESS WORD...'")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, SAME, "default_backend", "default-backend",
        "'-', '_' and blanks are equivalent")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, SAME, "retries", "retries", "3, as in HAProxy")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, SAME, "timeout connect", "timeout-connect",
        "with a unit: 'timeout-connect = 5s'")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, SAME, "timeout client", "timeout-client",
        "with a unit; both sides: 'timeout-idle'")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, SAME, "timeout server", "timeout-server",
        "with a unit; both sides: 'timeout-idle'")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, SAME, "timeout queue", "timeout-queue", "with a unit")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, NOT_OURS, "timeout tarpit", NULL, "weir does not read HTTP")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, NOT_OURS, "timeout http-*", NULL, "weir does not read HTTP")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, DIFFERS, "use_backend", "use-backend",
        "'use-backend NAME = src= dst-port= sni= alpn= proto='; lists of networks and names as @FILE")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, DIFFERS, "log", "log", "one 'log' in [global] applies to all sections")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, DIFFERS, "balance", "balance", "see below")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, DIFFERS, "persist rdp-cookie", "persist",
        "'persist = rdp', and 'sniff = rdp' in the frontends that lead there")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, MISSING, "hash-preserve-affinity", NULL,
        "a full server lets clients of a hash wait, as 'always' does")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, NOT_OURS, "error-log-format", NULL,
        "one format per 'log' line, errors included")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, NOT_OURS, "log-steps", NULL, "a session has one line, at its end")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, NOT_OURS, "max-session-srv-conns", NULL,
        "weir does not pool connections")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, NOT_OURS, "option httpslog", NULL, "weir does not terminate TLS")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, NO_EFFECT, "option http-ignore-probes", NULL,
        "'log-empty' is for connections that send nothing")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, NOT_OURS, "option forwarded", NULL, "weir does not read HTTP")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, NOT_OURS, "option originalto", NULL, "weir does not read HTTP")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, DIFFERS, "stats enable", "bind", "'bind = 127.0.0.1:8404' in [stats]")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, DIFFERS, "stats uri", "bind", "the page is at '/' of 'bind' in [stats]")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, NO_EFFECT, "stats refresh", NULL, "the page refreshes itself")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, NO_EFFECT, "stats realm", NULL, NULL)
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, NO_EFFECT, "stats hide-version", NULL, NULL)
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, NO_EFFECT, "stats show-*", NULL, "the page shows all")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, NO_EFFECT, "stats scope", NULL, "the page shows all sections")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, DIFFERS, "stats admin", "admin-socket",
        "nothing on the page changes anything: use the admin socket, with 'weir ctl'")
FOREIGN_KNOWN(HAPROXY, SECTION_LINE, DIFFERS, "stats http-request", "allow-from",
        "'allow-from' and 'auth-file' of [stats] say who may")

FOREIGN_KNOWN(HAPROXY, BALANCE, SAME, "balance roundrobin", "balance", "smooth, as in nginx")
FOREIGN_KNOWN(HAPROXY, BALANCE, RENAMED, "balance static-rr", "balance", "'balance = roundrobin'")
FOREIGN_KNOWN(HAPROXY, BALANCE, SAME, "balance leastconn", "balance", NULL)
FOREIGN_KNOWN(HAPROXY, BALANCE, SAME, "balance first", "balance", NULL)
FOREIGN_KNOWN(HAPROXY, BALANCE, SAME, "balance random", "balance", "'balance = random(N)'")
FOREIGN_KNOWN(HAPROXY, BALANCE, SAME, "balance source", "balance", NULL)
FOREIGN_KNOWN(HAPROXY, BALANCE, DIFFERS, "balance hash", "balance",
        "'balance = source': it hashes the client's address")
FOREIGN_KNOWN(HAPROXY, BALANCE, DIFFERS, "balance rdp-cookie", "persist",
        "'persist = rdp' and any 'balance': users are not hashed by name")
FOREIGN_KNOWN(HAPROXY, BALANCE, NOT_OURS, "balance uri", NULL, "weir does not read HTTP")
FOREIGN_KNOWN(HAPROXY, BALANCE, NOT_OURS, "balance url_param", NULL, "weir does not read HTTP")
FOREIGN_KNOWN(HAPROXY, BALANCE, NOT_OURS, "balance hdr", NULL, "weir does not read HTTP")
FOREIGN_KNOWN(HAPROXY, BALANCE, NOT_OURS, "balance log-hash", NULL, "weir does not forward logs")
FOREIGN_KNOWN(HAPROXY, BALANCE, NOT_OURS, "balance log-sticky", NULL, "weir does not forward logs")
FOREIGN_KNOWN(HAPROXY, BALANCE, DIFFERS, "hash-type consistent", "balance",
        "'balance = source hash=consistent', or 'balance = maglev'")
FOREIGN_KNOWN(HAPROXY, BALANCE, NO_EFFECT, "hash-type map-based sdbm", NULL, "weir has one hash function")

FOREIGN(HAPROXY, CHECK, RENAMED, "option tcp-check", "check", "write 'check = tcp'")
FOREIGN(HAPROXY, CHECK, RENAMED, "option httpchk", "check", "write 'check = http ...'")
FOREIGN(HAPROXY, CHECK, RENAMED, "option ssl-hello-chk", "check", "write 'check = tls'")
FOREIGN(HAPROXY, CHECK, NO_EFFECT, "option log-health-checks", NULL,
        "leave this line out: changes to a server are always logged")
FOREIGN(HAPROXY, CHECK, NOT_OURS, "option checkcache", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, CHECK, RENAMED, "option spop-check", "check", "write 'check = tcp'")
FOREIGN(HAPROXY, CHECK, RENAMED, "http-check", "check", "write 'check = http GET /'")
FOREIGN(HAPROXY, CHECK, RENAMED, "http-check expect status", "check", "write 'check = http GET / expect=...'")
FOREIGN(HAPROXY, CHECK, RENAMED, "http-check expect string", "check", "write 'check = http GET / expect=...'")
FOREIGN(HAPROXY, CHECK, RENAMED, "tcp-check", "check", "write 'check = send TEXT expect=TEXT'")
FOREIGN(HAPROXY, CHECK, NO_EFFECT, "tcp-check connect", NULL,
        "leave this line out: each health check begins with a connect")
FOREIGN(HAPROXY, CHECK, DIFFERS, "tcp-check send", "check",
        "write 'check = send ... expect=TEXT': all steps go on one line")
FOREIGN(HAPROXY, CHECK, DIFFERS, "tcp-check expect string", "check",
        "write 'check = send TEXT expect=...': all steps go on one line")
FOREIGN(HAPROXY, CHECK, RENAMED, "option mysql-check", "check", "write 'check = mysql'")
FOREIGN(HAPROXY, CHECK, RENAMED, "option smtpchk", "check", "write 'check = smtp'")
FOREIGN(HAPROXY, CHECK, RENAMED, "option smtpchk EHLO", "check", "write 'check = smtp EHLO ...'")
FOREIGN(HAPROXY, CHECK, RENAMED, "option smtpchk HELO", "check", "write 'check = smtp HELO ...'")
FOREIGN(HAPROXY, CHECK, RENAMED, "option ldap-check", "check", "write 'check = ldap'")
FOREIGN(HAPROXY, CHECK, RENAMED, "http-check disable-on-404", "check",
        "write 'check = http GET / soft-stop=404'")
FOREIGN(HAPROXY, CHECK, RENAMED, "option redis-check", "check", "write 'check = redis'")
FOREIGN(HAPROXY, CHECK, RENAMED, "option pgsql-check", "check", "write 'check = pgsql user=NAME'")
FOREIGN(HAPROXY, CHECK, DIFFERS, "option external-check", "check",
        "write 'check = exec PROGRAM', and 'exec-checks = 4' in [global]")
FOREIGN_KNOWN(HAPROXY, CHECK, DIFFERS, "tcp-check comment", "check", "all steps are one line")
FOREIGN_KNOWN(HAPROXY, CHECK, DIFFERS, "tcp-check send-binary", "check",
        "'check = send TEXT expect=TEXT' with escapes such as \\x00")
FOREIGN_KNOWN(HAPROXY, CHECK, MISSING, "tcp-check send-lf", NULL, "a check sends fixed text")
FOREIGN_KNOWN(HAPROXY, CHECK, MISSING, "tcp-check expect rstring", NULL, "no regular expressions")
FOREIGN_KNOWN(HAPROXY, CHECK, MISSING, "tcp-check expect binary", NULL, "text, with escapes")
FOREIGN_KNOWN(HAPROXY, CHECK, MISSING, "tcp-check set-var", NULL, "weir has no variables")
FOREIGN_KNOWN(HAPROXY, CHECK, MISSING, "tcp-check unset-var", NULL, "weir has no variables")
FOREIGN_KNOWN(HAPROXY, CHECK, DIFFERS, "http-check connect", "check", "'check = http GET / port=8008'")
FOREIGN_KNOWN(HAPROXY, CHECK, DIFFERS, "http-check send", "check", "'check = http GET /PATH'")
FOREIGN_KNOWN(HAPROXY, CHECK, MISSING, "http-check expect rstring", NULL, "no regular expressions")
FOREIGN_KNOWN(HAPROXY, CHECK, MISSING, "http-check set-var", NULL, "weir has no variables")
FOREIGN_KNOWN(HAPROXY, CHECK, NOT_OURS, "http-check send-state", NULL, "servers are not told their state")
