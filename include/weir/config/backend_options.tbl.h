/* SPDX-License-Identifier: MIT
 *
 * backend_options.tbl.h - the rows of options.tbl.h that are about backends, servers and their checks, and
 * the words of their lines.
 */

/* backend and listen */
OPTION("balance", BACK_D, BACK_D, OPT_BALANCE, 0, "roundrobin|leastconn|random|first|source|maglev",
       FIELD_PROXY(balance), "roundrobin", 0, 0,
       "How a server is chosen; random(N) takes the least loaded of N different servers, first fills one "
       "server after another.",
       "balance = leastconn")
OPTION("sticky", BACK_D, BACK_D, OPT_STICKY, 0, "off | src|dst [expire=] [size=]", FIELD_PROXY(sticky), "off",
       0, 0, "Send a client to the server that it had before, whatever 'balance' says: src = by its IPv4 "
       "address, or the /64 of its IPv6 one; dst = by the address that it connects to, so that all clients "
       "of an address go to one server, and stay there when an earlier one comes back. They keep a server "
       "that is full or draining, not one that is down or in maintenance.",
       "sticky = src expire=30m size=100k")
OPTION("server", BACK, BACK, OPT_SERVER, OPT_NAMED | OPT_REPEAT, "ADDRESS [OPTION...]", NO_FIELD,
       NULL, 0, 0, "A server; a name that does not resolve is looked up again. ADDRESS:* has the "
       "port that the client connected to; sni@PORT and sni@* are where its TLS hello asks to go.",
       "server web1 = 10.0.0.11:8080 weight=2")
OPTION("allow-sni", BACK, BACK, OPT_EGRESS_NAMES, 0, "NAME... | @FILE | *", FIELD_PROXY(allow_sni), NULL, 0,
       0, "With a server sni@PORT: names that clients may ask for; patterns as of sni=, * = any name. @FILE "
       "lists one per line, up to 1,000,000; '#' starts a comment.",
       "allow-sni = .example.com updates.example.org")
OPTION("allow-to", BACK, BACK, OPT_EGRESS_NETWORKS, 0, "NETWORK... | @FILE", FIELD_PROXY(allow_to), NULL, 0,
       0, "With a server sni@PORT: networks whose addresses names may have, besides those of the public "
       "Internet; an address of this machine is refused unless it is in one of them.",
       "allow-to = 10.20.0.0/16")
OPTION("server-defaults", BACK_D, BACK_D, OPT_SERVER_WORDS, OPT_REPEAT, "OPTION...", NO_FIELD, NULL, 0, 0,
       "Words of a server line that hold for each server and set of the section, wherever they are "
       "written; a server's own word takes precedence. Further lines add words, or replace them.",
       "server-defaults = check check-interval=3s maxconn=250")
OPTION("retries", BACK_D, BACK_D, OPT_COUNT, 0, "N", MADE_BACK(retries), "3", 0, 10000,
       "How many times a failed connect is retried.", "retries = 3")
OPTION("redispatch", BACK_D, BACK_D, OPT_SWITCH, 0, "on | off", MADE_BACK(redispatch), "on", 0, 0,
       "Retry on another server.", "redispatch = on")
OPTION("persist", BACK_D, BACK_D, OPT_CHOICE, 0, "off|rdp",
       MADE_BACK_CHOICE(persist, CONFIG_PERSIST_OFF, CONFIG_PERSIST_RDP), "off", 0, 0,
       "rdp = a client whose RDP request has a cookie (msts=) with the address and port of a server that is "
       "up, or drains, goes to that server; others as 'balance' says. Each frontend that leads here needs "
       "'sniff = rdp'.",
       "persist = rdp")
OPTION("resolve-interval", BACK_D, BACK_D, OPT_DURATION, OPT_HIDE_ZERO, "DURATION",
       MADE_BACK(resolve_interval_ns), NULL, 100 * NS_PER_MS, 86400 * NS_PER_SEC,
       "How often server names are looked up again, at most; if unset, as often as their TTL says (at least "
       "every hour), and every 30 s by the system's resolver. By DNS never more often than every 500 ms.",
       "resolve-interval = 30s")
OPTION("resolve-family", BACK_D, BACK_D, OPT_CHOICE, OPT_HIDE_ZERO, "any|ipv4|ipv6",
       MADE_BACK_CHOICE(resolve_family, CONFIG_RESOLVE_ANY, CONFIG_RESOLVE_IPV4, CONFIG_RESOLVE_IPV6), "any",
       0, 0,
       "Which addresses of a name are used; any = IPv4, or IPv6 if it has no other. 'ipv4@NAME' or "
       "'ipv6@NAME' on a server line takes precedence.", "resolve-family = ipv4")
OPTION("hold-nx", BACK_D, BACK_D, OPT_DURATION, 0, "DURATION", MADE_BACK(hold_nx_ns), "30s", 0, MAX_NS,
       "How long a server keeps its address after its name was reported not to exist, or to have no address.",
       "hold-nx = 30s")
OPTION("hold-timeout", BACK_D, BACK_D, OPT_DURATION, 0, "DURATION", MADE_BACK(hold_timeout_ns), "30s", 0,
       MAX_NS,
       "The same if no name server answers. After this hold, and the next two, a server still keeps its "
       "address if no other server of the backend has a current one.", "hold-timeout = 30s")
OPTION("hold-refused", BACK_D, BACK_D, OPT_DURATION, 0, "DURATION", MADE_BACK(hold_refused_ns), "30s", 0,
       MAX_NS, "The same if name servers refuse to answer.", "hold-refused = 30s")
OPTION("hold-other", BACK_D, BACK_D, OPT_DURATION, 0, "DURATION", MADE_BACK(hold_other_ns), "30s", 0,
       MAX_NS, "The same if name servers fail, or answer in a way that is of no use.", "hold-other = 30s")
OPTION("hold-obsolete", BACK_D, BACK_D, OPT_DURATION, 0, "DURATION", MADE_BACK(hold_obsolete_ns), "0", 0,
       MAX_NS, "How long a server keeps its address after its name has other ones; 0 = not at all.",
       "hold-obsolete = 10s")
OPTION("servers", BACK, BACK, OPT_SERVERS, OPT_NAMED | OPT_REPEAT,
       "dns://HOST:PORT | srv://NAME [max=] [OPTION...]", NO_FIELD, NULL, 0, 0,
       "A set: one server per address of a DNS name (A and AAAA, or SRV), which come and go with it. They "
       "are named NAME1, NAME2 and so on; each has the options of a server line.",
       "servers pod = dns://app.prod.svc.cluster.local:9000 max=50")
OPTION("on-empty", BACK_D, BACK_D, OPT_CHOICE, 0, "keep|drain", MADE_BACK_CHOICE(on_empty,
       CONFIG_ON_EMPTY_KEEP, CONFIG_ON_EMPTY_DRAIN), "keep", 0, 0,
       "What happens to the servers of a set when its name has no address any more, or cannot be resolved: "
       "keep = they stay in use; drain = they get no new connections.", "on-empty = drain")
OPTION("check", BACK_D, BACK_D, OPT_CHECK, 0,
       "off | tcp | http[s] [METHOD] PATH | PROTOCOL | [expect=TEXT] [send TEXT expect=TEXT]...",
       FIELD_PROXY(check), "off", 0, 0,
       "Health checks of servers: PROTOCOL is tls, redis, pgsql, mysql, ldap, smtp or exec; weir.ini(5).",
       "check = http GET /health expect=200")
OPTION("check-interval", BACK_D, BACK_D, OPT_DURATION, 0, "DURATION", MADE_CHECK(interval_ns), "2s",
       CHECK_MIN_NS, 86400 * NS_PER_SEC, "Time between two health checks of a server.", "check-interval = 2s")
OPTION("check-fast", BACK_D, BACK_D, OPT_DURATION, OPT_OR_OFF, "DURATION", MADE_CHECK(fast_ns), "off",
       CHECK_MIN_NS, 86400 * NS_PER_SEC,
       "Check interval while a server is changing state; off = check-interval.", "check-fast = 500ms")
OPTION("check-down", BACK_D, BACK_D, OPT_DURATION, OPT_OR_OFF, "DURATION", MADE_CHECK(down_ns), "off",
       CHECK_MIN_NS, 86400 * NS_PER_SEC, "Check interval while a server is down; off = check-interval.",
       "check-down = 5s")
OPTION("check-timeout", BACK_D, BACK_D, OPT_DURATION, OPT_OR_OFF, "DURATION", MADE_CHECK(timeout_ns), "off",
       CHECK_MIN_NS, 86400 * NS_PER_SEC, "How long a health check may take; off = check-interval.",
       "check-timeout = 1s")
OPTION("check-rise", BACK_D, BACK_D, OPT_COUNT, 0, "N", MADE_CHECK(rise), "2", 1, 100000,
       "Consecutive passed health checks before a server is up.", "check-rise = 2")
OPTION("check-fall", BACK_D, BACK_D, OPT_COUNT, 0, "N", MADE_CHECK(fall), "3", 1, 100000,
       "Consecutive failed health checks before a server is down.", "check-fall = 3")
OPTION("check-share", BACK_D, BACK_D, OPT_SWITCH, 0, "on | off", MADE_BACK(check_share), "off", 0, 0,
       "Make identical health checks of one address once, for all servers of all sections that have it on.",
       "check-share = on")
OPTION("check-agent", BACK_D, BACK_D, OPT_AGENT, 0, "off | PORT | IP:PORT", MADE_BACK(check_agent), "off", 0,
       0, "Port, or address, of a program on each server that reports its weight and state, beside 'check'.",
       "check-agent = 9000")
OPTION("check-agent-interval", BACK_D, BACK_D, OPT_DURATION, OPT_OR_OFF, "DURATION",
       MADE_BACK(check_agent_interval_ns), "off", CHECK_MIN_NS, 86400 * NS_PER_SEC,
       "Time between two questions to an agent; off = check-interval.", "check-agent-interval = 5s")
OPTION("check-agent-send", BACK_D, BACK_D, OPT_BYTES_TEXT, 0, "TEXT", MADE_BACK(check_agent_send), NULL, 0,
       0, "What to send an agent before it answers, with the escapes \\r \\n \\t \\\\ \\\" \\xHH; if unset, "
       "nothing.", "check-agent-send = \"weight?\\n\"")
OPTION("observe", BACK_D, BACK_D, OPT_OBSERVE, 0, "off | connect [limit=] [on-error=] [down=]",
       FIELD_PROXY(observe), "off", 0, 0,
       "connect = failed connects of clients count: as a failed health check, or, for a server without one, "
       "as a reason to leave it out for a while and try it again with one client. The last server of a "
       "backend that is up is never left out.",
       "observe = connect")
OPTION("on-marked-down", BACK_D, BACK_D, OPT_CHOICE, 0, "keep|close-sessions",
       MADE_BACK_CHOICE(on_marked_down, CONFIG_MARKED_DOWN_KEEP, CONFIG_MARKED_DOWN_CLOSE),
       "keep", 0, 0, "What happens to the sessions of a server that goes down.",
       "on-marked-down = close-sessions")
OPTION("drain", BACK_D, BACK_D, OPT_CHOICE, 0, "wait|idle", MADE_BACK_CHOICE(drain, CONFIG_DRAIN_WAIT,
       CONFIG_DRAIN_IDLE), "wait", 0, 0,
       "What happens to open sessions when their server is draining or in maintenance, when it, their "
       "frontend or backend is removed, and when weir stops: wait = they go on until a side ends them; idle "
       "= each is reset once nothing is in flight and the server sent the last byte 1 second ago, or the "
       "client 10 seconds ago.", "drain = idle")
OPTION("allbackups", BACK_D, BACK_D, OPT_SWITCH, 0, "on | off", MADE_BACK(allbackups), "off", 0, 0,
       "Use all backup servers at once, not only the first.", "allbackups = on")
OPTION("panic", BACK_D, BACK_D, OPT_SWITCH, 0, "on | off", MADE_BACK(panic), "off", 0, 0,
       "When every server is down, use them all: the health checks may be wrong.", "panic = on")
OPTION("fallback-backend", BACK, BACK, OPT_TEXT, 0, "NAME", MADE_BACK(fallback_backend), NULL, 0,
       CONFIG_NAME_MAX - 1,
       "Backend that new clients go to while no server of this one is up, backups included; full servers "
       "are up. It may have a fallback of its own, up to 8 in a row.", "fallback-backend = app")
OPTION("maxqueue", BACK_D, BACK_D, OPT_COUNT_OFF, 0, "off | N", MADE_BACK(maxqueue), "off", 0, 100000000,
       "Maximum connections queued for all of its servers together; off = no limit.", "maxqueue = 100")
OPTION("timeout-queue", BACK_D, BACK_D, OPT_DURATION, 0, "DURATION", MADE_TIMEOUT(queue_ns), "off", 0,
       MAX_NS, "How long a connection may wait for a server; off = timeout-connect.", "timeout-queue = 5s")
OPTION("send-proxy", BACK_D, BACK_D, OPT_CHOICE, OPT_HIDE_ZERO, "off|v1|v2", FIELD_PROXY(send_proxy), "off",
       0, 0, "Send the servers a PROXY header, unless a server line overrides it.", "send-proxy = v2")

/* The words of an observe line, a balance line and a server line */
OPTION("limit", IN_OBSERVE, IN_OBSERVE, OPT_COUNT, OPT_HIDE_ZERO, "N", FIELD_OBSERVE(limit), NULL, 1, 1000,
       "Consecutive failed connects that count; if unset, 10, and 1 for a server without a health check.",
       "observe = connect limit=3")
OPTION("on-error", IN_OBSERVE, IN_OBSERVE, OPT_CHOICE, OPT_HIDE_ZERO, "fail-check|mark-down",
       FIELD_OBSERVE(on_error), "fail-check", 0, 0,
       "For servers with a health check: fail-check = they count as one that failed; mark-down = the server "
       "is down at once, until its checks pass.",
       "observe = connect on-error=mark-down")
OPTION("down", IN_OBSERVE, IN_OBSERVE, OPT_DURATION, 0, "DURATION", FIELD_OBSERVE(down_ns), "10s",
       100 * NS_PER_MS, 86400 * NS_PER_SEC,
       "For servers without a health check: how long one is left out before one client tries it.",
       "observe = connect down=30s")

OPTION("hash", IN_BALANCE, IN_BALANCE, OPT_CHOICE, OPT_HIDE_ZERO, "modulo|consistent", FIELD_BALANCE(hash),
       "modulo", 0, 0,
       "For source: consistent moves few clients when a server comes or goes; its ring has at most 262,144 "
       "points.", "balance = source hash=consistent")
OPTION("hash-key", IN_BALANCE, IN_BALANCE, OPT_CHOICE, OPT_HIDE_ZERO, "auto|name|address",
       FIELD_BALANCE(hash_key), "auto", 0, 0,
       "For source and maglev: which property of a server is hashed, so that two machines agree; auto = the "
       "name, but the address of a server that belongs to a set ('servers').",
       "balance = maglev hash-key=address")
OPTION("hash-balance-factor", IN_BALANCE, IN_BALANCE, OPT_INT, OPT_OR_OFF, "off | PERCENT",
       FIELD_BALANCE(balance_factor), NULL, 101, 65535,
       "For random, maglev and source hash=consistent: maximum load of a server, in percent of the average.",
       "balance = source hash=consistent hash-balance-factor=150")
OPTION("expire", IN_STICKY, IN_STICKY, OPT_DURATION, 0, "DURATION", FIELD_STICKY(expire_ns), "30m",
       NS_PER_SEC, MAX_NS,
       "How long after its last connection a client, or the address that it connected to, is remembered.",
       "sticky = src expire=8h")
OPTION("size", IN_STICKY, IN_STICKY, OPT_BYTES, 0, "N", FIELD_STICKY(size), "100k", 1, 1 << 24,
       "How many clients or addresses are remembered, in units of 1,024 with k and of 1,048,576 with m; if "
       "there are more, the one that has been away for longest is forgotten.",
       "sticky = src size=1m")
OPTION("weight", IN_SERVER, IN_SERVER, OPT_COUNT, 0, "N", MADE_SERVER(weight), "1", 0, 256,
       "Share of this server relative to the others; 0 = no new connections.",
       "server a = 10.0.0.1:80 weight=2")
OPTION("source", IN_SERVER, IN_SERVER, OPT_SOURCE, 0, "IP[:PORT],... | client", FIELD_SERVER(source), NULL,
       0, 0,
       "Local addresses for connections to this server, the next when ports run out; client = the client's "
       "address.", "server a = 10.0.0.1:80 source=10.0.0.200,10.0.0.201")
OPTION("backup", IN_SERVER, IN_SERVER, OPT_FLAG, OPT_UNDO, "", MADE_SERVER(backup), NULL, 0, 0,
       "Used only when no other server is up; backup=off undoes that of server-defaults.",
       "server a = 10.0.0.99:80 backup")
OPTION("maxconn", IN_SERVER, IN_SERVER, OPT_COUNT, OPT_HIDE_ZERO, "N", MADE_SERVER(maxconn), NULL, 0,
       100000000,
       "Maximum concurrent connections to this server; further connections wait; 0 = no limit.",
       "server a = 10.0.0.1:80 maxconn=200")
OPTION("maxqueue", IN_SERVER, IN_SERVER, OPT_COUNT, OPT_HIDE_ZERO, "N", MADE_SERVER(maxqueue), NULL, 0,
       100000000, "Maximum connections queued for this server alone; 0 = no limit.",
       "server a = 10.0.0.1:80 maxconn=200 maxqueue=50")
OPTION("slowstart", IN_SERVER, IN_SERVER, OPT_DURATION, OPT_HIDE_ZERO, "DURATION",
       MADE_SERVER(slowstart_ns), NULL, 0, 86400 * NS_PER_SEC,
       "Time until a server that has come back up has its full weight and maxconn.",
       "server a = 10.0.0.1:80 slowstart=30s")
OPTION("send-proxy", IN_SERVER, IN_SERVER, OPT_CHOICE, OPT_BARE | OPT_HIDE_ZERO, "off|v1|v2",
       MADE_SERVER(send_proxy), "off", 1, 1, "Send this server a PROXY header; the word alone means v1.",
       "server a = 10.0.0.1:80 send-proxy=v2")
OPTION("proxy-v2-options", IN_SERVER, IN_SERVER, OPT_PROXY_TLVS, 0, "crc32c,unique-id,pass",
       FIELD_SERVER(proxy_crc32c), NULL, 0, 0,
       "Extra fields of the version 2 PROXY header; pass = the client's own TLVs, if it is in 'trusted' or "
       "connected over a Unix socket.",
       "server a = 10.0.0.1:80 send-proxy=v2 proxy-v2-options=crc32c,unique-id")
OPTION("check-port", IN_SERVER, IN_SERVER, OPT_PORT, 0, "PORT", MADE_SERVER(check_port), NULL, 1, 65535,
       "Port for health checks, instead of the server's own.", "server a = 10.0.0.1:80 check check-port=8008")
OPTION("check-addr", IN_SERVER, IN_SERVER, OPT_IP, 0, "IP", MADE_SERVER(check_addr), NULL, 0, 0,
       "IP address for health checks, instead of the server's own; its agent is still asked at the server's.",
       "server a = 10.0.0.1:80 check check-addr=10.0.0.9")
OPTION("check", IN_SERVER, IN_SERVER, OPT_SWITCH, OPT_BARE | OPT_HIDE_ZERO, "on | off", FIELD_SERVER(check),
       NULL, 0, 0, "Whether to health-check this server; without this word, the section's 'check' decides.",
       "server a = 10.0.0.1:80 check")
OPTION("check-interval", IN_SERVER, IN_SERVER, OPT_DURATION, OPT_HIDE_ZERO, "DURATION",
       MADE_SERVER(check_interval_ns), NULL, CHECK_MIN_NS, 86400 * NS_PER_SEC,
       "Time between two health checks of this server; if unset, the section's.",
       "server a = 10.0.0.1:80 check check-interval=1s")
OPTION("check-fast", IN_SERVER, IN_SERVER, OPT_DURATION, OPT_HIDE_ZERO, "DURATION",
       MADE_SERVER(check_fast_ns), NULL, CHECK_MIN_NS, 86400 * NS_PER_SEC,
       "Check interval while this server is changing state; if unset, the section's.",
       "server a = 10.0.0.1:80 check check-fast=500ms")
OPTION("check-down", IN_SERVER, IN_SERVER, OPT_DURATION, OPT_HIDE_ZERO, "DURATION",
       MADE_SERVER(check_down_ns), NULL, CHECK_MIN_NS, 86400 * NS_PER_SEC,
       "Check interval while this server is down; if unset, the section's.",
       "server a = 10.0.0.1:80 check check-down=5s")
OPTION("check-agent", IN_SERVER, IN_SERVER, OPT_AGENT, OPT_HIDE_ZERO, "off | PORT | IP:PORT",
       MADE_SERVER(check_agent), NULL, 0, 0,
       "Port, or address, of the agent of this server; off = none; if unset, the section's.",
       "server a = 10.0.0.1:80 check-agent=9000")
OPTION("check-agent-interval", IN_SERVER, IN_SERVER, OPT_DURATION, OPT_HIDE_ZERO, "DURATION",
       MADE_SERVER(check_agent_interval_ns), NULL, CHECK_MIN_NS, 86400 * NS_PER_SEC,
       "Time between two questions to the agent of this server; if unset, the section's.",
       "server a = 10.0.0.1:80 check-agent=9000 check-agent-interval=5s")
OPTION("check-agent-send", IN_SERVER, IN_SERVER, OPT_BYTES_TEXT, 0, "TEXT", MADE_SERVER(check_agent_send),
       NULL, 0, 0, "What to send the agent of this server; if unset, the section's.",
       "server a = 10.0.0.1:80 check-agent=9000 check-agent-send=\"a\\n\"")
OPTION("check-rise", IN_SERVER, IN_SERVER, OPT_COUNT, OPT_HIDE_ZERO, "N", MADE_SERVER(check_rise), NULL, 1,
       100000, "Consecutive passed health checks before this server is up; if unset, the section's.",
       "server a = 10.0.0.1:80 check check-rise=3")
OPTION("check-fall", IN_SERVER, IN_SERVER, OPT_COUNT, OPT_HIDE_ZERO, "N", MADE_SERVER(check_fall), NULL, 1,
       100000, "Consecutive failed health checks before this server is down; if unset, the section's.",
       "server a = 10.0.0.1:80 check check-fall=5")
OPTION("disabled", IN_SERVER, IN_SERVER, OPT_FLAG, OPT_UNDO, "", MADE_SERVER(disabled), NULL, 0, 0,
       "Start in maintenance: no connections and no health checks until the server is set ready; "
       "disabled=off undoes that of server-defaults.",
       "server a = 10.0.0.1:80 disabled")

/* The word that only a servers line has */
OPTION("max", IN_SET, IN_SET, OPT_COUNT, 0, "N", MADE_SERVER(max), "100", 1, 10000,
       "Maximum servers of this set; further addresses are not used.",
       "servers pod = dns://app.prod.svc.cluster.local:9000 max=50")

/* The words of a check line and of a use-backend line */
OPTION("send", IN_CHECK, IN_CHECK, OPT_CHECK_SEND, OPT_REPEAT, "TEXT", NO_FIELD, NULL, 0, 0,
       "Bytes to send, with the escapes \\r \\n \\t \\0 \\\\ \\\" \\xHH.",
       "check = send \"PING\\r\\n\" expect=+PONG")
OPTION("expect", IN_CHECK, IN_CHECK, OPT_CHECK_EXPECT, OPT_REPEAT, "TEXT | !TEXT | STATUS[-STATUS],...",
       NO_FIELD, NULL, 0, 0,
       "What must arrive or, with '!', must not; for http, a status or a text in the response.",
       "check = http GET / expect=200-299,301")
OPTION("host", IN_CHECK, IN_CHECK, OPT_CHECK_HOST, 0, "NAME", FIELD_CHECK(host), NULL, 0, 0,
       "Host header of an HTTP health check; if unset, the server's own.",
       "check = http GET / host=www.example.com")
OPTION("soft-stop", IN_CHECK, IN_CHECK, OPT_CHECK_STATUS, OPT_HIDE_ZERO, "STATUS", FIELD_CHECK(soft_stop),
       NULL, 0, 0,
       "HTTP status by which a server that is up asks for no new sessions; of one that is down, a failure.",
       "check = http GET /ready soft-stop=404")
OPTION("user", IN_CHECK, IN_CHECK, OPT_CHECK_LOGIN, 0, "NAME", FIELD_CHECK(user), NULL, 0, 0,
       "User of a PostgreSQL or MySQL health check, who gives no password; for mysql, who must be let in. "
       "If unset, any MySQL server that answers a login passes.",
       "check = pgsql user=weir")
OPTION("database", IN_CHECK, IN_CHECK, OPT_CHECK_LOGIN, 0, "NAME", FIELD_CHECK(database), NULL, 0, 0,
       "Database of a PostgreSQL health check; if unset, 'postgres'.",
       "check = pgsql user=weir database=app role=primary")
OPTION("role", IN_CHECK, IN_CHECK, OPT_CHECK_ROLE, OPT_HIDE_ZERO, "master|replica or primary|standby",
       FIELD_CHECK(role), NULL, 0, 0,
       "Role that a Redis server (master, replica) or a PostgreSQL server (primary, standby) must have to "
       "pass; a primary must also accept writes. If unset, any role passes.",
       "check = redis role=master")
OPTION("sni", IN_CHECK, IN_CHECK, OPT_CHECK_SNI, 0, "NAME | IP", FIELD_CHECK(sni), NULL, 0, 0,
       "Name that a health check over TLS asks for, and that the certificate must have; if unset, 'host', "
       "else the server's own.",
       "check = tls sni=api.example.com")
OPTION("alpn", IN_CHECK, IN_CHECK, OPT_CHECK_ALPN, 0, "PROTOCOL,...", FIELD_CHECK(alpn), NULL, 0, 0,
       "Protocols that a TLS health check offers; if unset, none.", "check = tls alpn=h2,http/1.1")
OPTION("verify", IN_CHECK, IN_CHECK, OPT_CHECK_VERIFY, OPT_HIDE_ZERO, "system | none | FILE",
       FIELD_CHECK(verify), NULL, 0, 0,
       "Whom a health check over TLS trusts: the certificates of the system (default of 'check = https'), "
       "everyone, or the certificates in a PEM file, which is read when the configuration is; 'check = tls' "
       "without this word ends with the ServerHello. Needs a build with OpenSSL.",
       "check = https GET / verify=none")
OPTION("path", IN_CHECK, IN_CHECK, OPT_CHECK_PATH, 0, "FOLDER:...", FIELD_CHECK(exec_path), NULL, 0, 0,
       "PATH of a program that checks; if unset, " CONFIG_EXEC_PATH ".",
       "check = exec /usr/local/lib/weir/check-app path=/usr/bin:/bin")
OPTION("port", IN_CHECK, IN_CHECK, OPT_PORT, 0, "PORT", FIELD_CHECK(port), NULL, 1, 65535,
       "Port for health checks, instead of the servers' own.", "check = tcp port=8008")
OPTION("proxy", IN_CHECK, IN_CHECK, OPT_CHOICE, OPT_BARE | OPT_HIDE_ZERO, "auto|off|v1|v2",
       FIELD_CHECK(proxy), "auto", 3, 3,
       "PROXY header of a health check; auto = the server's send-proxy, none to another port or address; "
       "the word alone means v2.",
       "check = tcp proxy=v1")
OPTION("src", IN_ROUTE, IN_ROUTE, OPT_NETWORKS, 0, "NETWORK | @FILE,...", FIELD_ROUTE(src), NULL, 0, 0,
       "Client networks. @FILE lists one per line, up to 1,000,000; '#' starts a comment.",
       "use-backend app = src=10.0.0.0/8,192.0.2.7")
OPTION("dst-port", IN_ROUTE, IN_ROUTE, OPT_PORTS, 0, "PORT[-PORT],...", FIELD_ROUTE(ports), NULL, 1, 65535,
       "Ports that clients connect to.", "use-backend app = dst-port=8080,9000-9010")
OPTION("sni", IN_ROUTE, IN_ROUTE, OPT_NAMES, 0, "NAME | @FILE,... | any | none", FIELD_ROUTE(sni), NULL, 0,
       0,
       "Server names that TLS clients request: NAME; *.NAME for any depth below NAME; .NAME for NAME and "
       "below; any = a hello with a name, none = a hello without one. @FILE lists one name per line, like "
       "that of src.",
       "use-backend app = sni=*.api.example.com,www.example.com")
OPTION("alpn", IN_ROUTE, IN_ROUTE, OPT_PROTOCOLS, 0, "PROTOCOL,...", FIELD_ROUTE(alpn), NULL, 0, 0,
       "Protocols, of which TLS clients offer at least one.", "use-backend app = alpn=h2")
OPTION("proto", IN_ROUTE, IN_ROUTE, OPT_PROTOS, 0, "tls | http | ssh | other,...", FIELD_ROUTE(protos), NULL,
       0, 0,
       "What clients speak, with 'sniff = auto'; other = they have sent something else. A silent client "
       "matches none of them.",
       "use-backend app = proto=ssh")

/* The word of a rate-limit-per-source line */
OPTION("burst", IN_SOURCE_RATE, IN_SOURCE_RATE, OPT_COUNT, 0, "N", FIELD_SOURCE_RATE(burst), NULL, 1, 1000000,
       "Connections that may come at once after a quiet time; if unset, as many as in the time.",
       "rate-limit-per-source = 20/10s burst=50")

/* The words of a sniff line */
OPTION("timeout", IN_SNIFF, IN_SNIFF, OPT_DURATION, 0, "DURATION", FIELD_SNIFF(timeout_ns), NULL, 0, MAX_NS,
       "How long a client may stay silent, since the accept; if unset, timeout-handshake.",
       "sniff = tls timeout=1s")
OPTION("required", IN_SNIFF, IN_SNIFF, OPT_FLAG, 0, "", FIELD_SNIFF(required), NULL, 0, 0,
       "Close clients that do not speak TLS, or RDP with 'sniff = rdp'.", "sniff = tls required")
