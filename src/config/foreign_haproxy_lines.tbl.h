/* SPDX-License-Identifier: MIT
 *
 * foreign_haproxy_lines.tbl.h - rows of foreign.tbl.h:
 * HAProxy's words of a bind and of a server line.
 */
FOREIGN(HAPROXY, BIND_WORD, NO_EFFECT, "v4v6", NULL, "leave it out: [::]:PORT accepts IPv4 and IPv6")
FOREIGN(HAPROXY, BIND_WORD, DIFFERS, "process", "threads", "write 'threads' in [global]")
FOREIGN(HAPROXY, BIND_WORD, DIFFERS, "thread", "threads", "write 'threads' in [global]")
FOREIGN(HAPROXY, BIND_WORD, NO_EFFECT, "shards", NULL, "leave it out: each worker has its own socket")
FOREIGN(HAPROXY, BIND_WORD, MISSING, "nice", NULL, "leave it out")
FOREIGN(HAPROXY, BIND_WORD, MISSING, "mss", NULL, "leave it out")
FOREIGN(HAPROXY, BIND_WORD, RENAMED, "name", "bind", "write 'bind NAME = ADDRESS'")
FOREIGN(HAPROXY, BIND_WORD, MISSING, "namespace", NULL, "leave it out")
FOREIGN(HAPROXY, BIND_WORD, RENAMED, "uid", "user", "write 'user=...'")
FOREIGN(HAPROXY, BIND_WORD, RENAMED, "gid", "group", "write 'group=...'")
FOREIGN(HAPROXY, BIND_WORD, RENAMED, "accept-netscaler-cip", "accept-proxy", "write 'accept-proxy'")
FOREIGN(HAPROXY, BIND_WORD, RENAMED, "maxconn", "maxconn", "write 'maxconn = ...' in the section")
FOREIGN(HAPROXY, BIND_WORD, NOT_OURS, "crt", NULL, "weir does not terminate TLS: it passes it through")
FOREIGN(HAPROXY, BIND_WORD, NOT_OURS, "crt-*", NULL, "weir does not terminate TLS: it passes it through")
FOREIGN(HAPROXY, BIND_WORD, NOT_OURS, "curves", NULL, "weir does not terminate TLS: it passes it through")
FOREIGN(HAPROXY, BIND_WORD, NOT_OURS, "ecdhe", NULL, "weir does not terminate TLS: it passes it through")
FOREIGN(HAPROXY, BIND_WORD, NOT_OURS, "generate-certificates", NULL,
        "weir does not terminate TLS: it passes it through")
FOREIGN(HAPROXY, BIND_WORD, NOT_OURS, "prefer-client-ciphers", NULL,
        "weir does not terminate TLS: it passes it through")
FOREIGN(HAPROXY, BIND_WORD, NOT_OURS, "strict-sni", NULL, "weir does not terminate TLS: it passes it through")
FOREIGN_KNOWN(HAPROXY, BIND_WORD, SAME, "accept-proxy", "accept-proxy",
        "with 'trusted'; 'accept-proxy=optional' takes clients without a header too")
FOREIGN_KNOWN(HAPROXY, BIND_WORD, SAME, "backlog", "backlog", "'backlog=4096'")
FOREIGN_KNOWN(HAPROXY, BIND_WORD, SAME, "defer-accept", "defer-accept", NULL)
FOREIGN_KNOWN(HAPROXY, BIND_WORD, SAME, "interface", "interface", "'interface=eth0'")
FOREIGN_KNOWN(HAPROXY, BIND_WORD, SAME, "group", "group", "of a Unix socket")
FOREIGN_KNOWN(HAPROXY, BIND_WORD, SAME, "mode", "mode", "of a Unix socket: 'mode=660'")
FOREIGN_KNOWN(HAPROXY, BIND_WORD, SAME, "user", "user", "of a Unix socket")
FOREIGN_KNOWN(HAPROXY, BIND_WORD, SAME, "tfo", "tfo", NULL)
FOREIGN_KNOWN(HAPROXY, BIND_WORD, SAME, "transparent", "transparent", NULL)
FOREIGN_KNOWN(HAPROXY, BIND_WORD, SAME, "v6only", "v6only", NULL)
FOREIGN_KNOWN(HAPROXY, BIND_WORD, NOT_OURS, "guid-prefix", NULL, "statistics know a section by its name")
FOREIGN_KNOWN(HAPROXY, BIND_WORD, NO_EFFECT, "nbconn", NULL, "no reverse connections")
FOREIGN_KNOWN(HAPROXY, BIND_WORD, NOT_OURS, "ocsp-update", NULL, "weir does not terminate TLS")
FOREIGN_KNOWN(HAPROXY, BIND_WORD, NOT_OURS, "quic-*", NULL, "weir does not forward UDP")

FOREIGN(HAPROXY, SERVER_WORD, DIFFERS, "if", NULL,
        "weir has no ACLs: write src=NETWORK, dst-port=PORT, sni=NAME or proto=http; src=@FILE for -f")
FOREIGN(HAPROXY, SERVER_WORD, DIFFERS, "unless", NULL,
        "weir has no ACLs: write src=NETWORK, dst-port=PORT, sni=NAME or proto=http")
FOREIGN(HAPROXY, SERVER_WORD, RENAMED, "inter", "check-interval",
        "write 'check-interval = ...ms' in the section")
FOREIGN(HAPROXY, SERVER_WORD, RENAMED, "fastinter", "check-fast", "write 'check-fast = ...ms' in the section")
FOREIGN(HAPROXY, SERVER_WORD, RENAMED, "downinter", "check-down", "write 'check-down = ...ms' in the section")
FOREIGN(HAPROXY, SERVER_WORD, RENAMED, "rise", "check-rise", "write 'check-rise = ...' in the section")
FOREIGN(HAPROXY, SERVER_WORD, RENAMED, "fall", "check-fall", "write 'check-fall = ...' in the section")
FOREIGN(HAPROXY, SERVER_WORD, RENAMED, "port", "check-port", "write 'check-port=...'")
FOREIGN(HAPROXY, SERVER_WORD, RENAMED, "addr", "check-addr", "write 'check-addr=...'")
FOREIGN(HAPROXY, SERVER_WORD, DIFFERS, "minconn", "maxconn", "write 'maxconn=N'")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "cookie", NULL, "weir does not read HTTP")
FOREIGN(HAPROXY, SERVER_WORD, MISSING, "id", NULL, "leave it out")
FOREIGN(HAPROXY, SERVER_WORD, NO_EFFECT, "enabled", NULL, "leave it out")
FOREIGN(HAPROXY, SERVER_WORD, DIFFERS, "agent-check", "check-agent",
        "write 'check-agent=PORT', or 'check-agent = PORT' in the section")
FOREIGN(HAPROXY, SERVER_WORD, RENAMED, "agent-port", "check-agent", "write 'check-agent=PORT'")
FOREIGN(HAPROXY, SERVER_WORD, RENAMED, "agent-addr", "check-agent", "write 'check-agent=10.0.0.9:PORT'")
FOREIGN(HAPROXY, SERVER_WORD, RENAMED, "agent-inter", "check-agent-interval",
        "write 'check-agent-interval=...ms'")
FOREIGN(HAPROXY, SERVER_WORD, RENAMED, "agent-send", "check-agent-send", "write 'check-agent-send=TEXT'")
FOREIGN(HAPROXY, SERVER_WORD, RENAMED, "no-agent-check", "check-agent", "write 'check-agent=off'")
FOREIGN(HAPROXY, SERVER_WORD, RENAMED, "observe", "observe", "write 'observe = connect' in the section")
FOREIGN(HAPROXY, SERVER_WORD, RENAMED, "on-marked-down", "on-marked-down",
        "write 'on-marked-down = close-sessions' in the section")
FOREIGN(HAPROXY, SERVER_WORD, MISSING, "on-marked-up", NULL,
        "leave it out; what is lost: sessions on backup servers go on")
FOREIGN(HAPROXY, SERVER_WORD, RENAMED, "on-error", "observe",
        "write 'observe = connect on-error=mark-down' in the section")
FOREIGN(HAPROXY, SERVER_WORD, RENAMED, "error-limit", "observe",
        "write 'observe = connect limit=...' in the section")
FOREIGN(HAPROXY, SERVER_WORD, NO_EFFECT, "init-addr", NULL,
        "leave it out: a name that does not resolve never prevents the start")
FOREIGN(HAPROXY, SERVER_WORD, NO_EFFECT, "resolvers", NULL,
        "leave it out: name servers are the key 'resolvers' of [global]")
FOREIGN(HAPROXY, SERVER_WORD, DIFFERS, "resolve-prefer", "resolve-family",
        "write 'resolve-family = ...' in the section: no other addresses are used")
FOREIGN(HAPROXY, SERVER_WORD, NO_EFFECT, "resolve-*", NULL, "leave it out")
FOREIGN(HAPROXY, SERVER_WORD, NO_EFFECT, "resolve", NULL,
        "leave it out: names are looked up again, see 'resolve-interval'")
FOREIGN(HAPROXY, SERVER_WORD, RENAMED, "send-proxy-v2", "send-proxy", "write 'send-proxy=v2'")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "send-proxy-v2-ssl*", NULL,
        "write 'send-proxy=v2': weir does not terminate TLS")
FOREIGN(HAPROXY, SERVER_WORD, RENAMED, "check-send-proxy", "check",
        "write 'check = tcp proxy=VERSION' in the section")
FOREIGN(HAPROXY, SERVER_WORD, RENAMED, "check-*", "check", "write 'check' in the section")
FOREIGN(HAPROXY, SERVER_WORD, RENAMED, "no-check", "check", "write 'check=off'")
FOREIGN(HAPROXY, SERVER_WORD, DIFFERS, "track", "check-share",
        "write 'check', with check-port= and check-addr= of the other server, and 'check-share = on'")
FOREIGN(HAPROXY, SERVER_WORD, MISSING, "stick", NULL, "leave it out")
FOREIGN(HAPROXY, SERVER_WORD, MISSING, "non-stick", NULL, "leave it out")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "redir", NULL, "weir does not read HTTP")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "ssl", NULL, "weir does not terminate TLS: it passes it through")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "sni", NULL, "weir does not terminate TLS: it passes it through")
FOREIGN(HAPROXY, SERVER_WORD, RENAMED, "tcp-ut", "tcp-user-timeout",
        "write 'tcp-user-timeout = ...ms' in the section")
FOREIGN(HAPROXY, SERVER_WORD, DIFFERS, "usesrc", "source",
        "write 'source=client' for the client's own address")
FOREIGN(HAPROXY, SERVER_WORD, NO_EFFECT, "no-*", NULL,
        "leave it out: the feature is off unless it is turned on")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "pool-*", NULL, "weir does not pool connections: leave it out")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "proto", NULL, "weir does not read HTTP")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "ws", NULL, "weir does not read HTTP")
FOREIGN(HAPROXY, SERVER_WORD, MISSING, "log-proto", NULL, "leave it out")
FOREIGN(HAPROXY, SERVER_WORD, MISSING, "socks4", NULL, "weir does not support SOCKS")
FOREIGN(HAPROXY, SERVER_WORD, MISSING, "tfo", NULL, "leave it out: it belongs to 'bind'")
FOREIGN(HAPROXY, SERVER_WORD, DIFFERS, "check-ssl", "check",
        "write 'check = https GET /' in the section; 'check = tls' if it speaks no HTTP")
FOREIGN(HAPROXY, SERVER_WORD, RENAMED, "check-sni", "check",
        "write 'check = https GET / sni=...' in the section")
FOREIGN(HAPROXY, SERVER_WORD, RENAMED, "check-alpn", "check", "write 'check = tls alpn=...' in the section")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "alpn", NULL, "weir does not terminate TLS: it passes it through")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "npn", NULL, "weir does not terminate TLS: it passes it through")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "ca-file", NULL,
        "weir does not terminate TLS: it passes it through; for checks, 'check = https GET / verify=...'")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "ca-*", NULL, "weir does not terminate TLS: it passes it through")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "ciphers", NULL, "weir does not terminate TLS: it passes it through")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "ciphersuites", NULL,
        "weir does not terminate TLS: it passes it through")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "crl-file", NULL, "weir does not terminate TLS: it passes it through")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "force-*", NULL, "weir does not terminate TLS: it passes it through")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "no-ca-names", NULL,
        "weir does not terminate TLS: it passes it through")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "no-ssl*", NULL, "weir does not terminate TLS: it passes it through")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "no-tls*", NULL, "weir does not terminate TLS: it passes it through")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "ssl-*", NULL, "weir does not terminate TLS: it passes it through")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "tls-*", NULL, "weir does not terminate TLS: it passes it through")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "verify", NULL,
        "weir does not terminate TLS: it passes it through; for checks, 'check = https GET / verify=...'")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "verifyhost", NULL,
        "weir does not terminate TLS: it passes it through")
FOREIGN(HAPROXY, SERVER_WORD, NOT_OURS, "allow-0rtt", NULL,
        "weir does not terminate TLS: it passes it through")
FOREIGN_KNOWN(HAPROXY, SERVER_WORD, SAME, "backup", "backup", NULL)
FOREIGN_KNOWN(HAPROXY, SERVER_WORD, SAME, "check", "check", "'check' of the section says how")
FOREIGN_KNOWN(HAPROXY, SERVER_WORD, SAME, "disabled", "disabled", "starts in maintenance")
FOREIGN_KNOWN(HAPROXY, SERVER_WORD, SAME, "maxconn", "maxconn", "'maxconn=50'")
FOREIGN_KNOWN(HAPROXY, SERVER_WORD, SAME, "maxqueue", "maxqueue", "'maxqueue=100'")
FOREIGN_KNOWN(HAPROXY, SERVER_WORD, SAME, "send-proxy", "send-proxy", "'send-proxy=v1' or 'v2'")
FOREIGN_KNOWN(HAPROXY, SERVER_WORD, SAME, "proxy-v2-options", "proxy-v2-options",
        "crc32c, unique-id, and pass for the client's own TLVs")
FOREIGN_KNOWN(HAPROXY, SERVER_WORD, SAME, "slowstart", "slowstart", "'slowstart=30s'")
FOREIGN_KNOWN(HAPROXY, SERVER_WORD, SAME, "source", "source",
        "'source=10.0.0.200'; several addresses add ports")
FOREIGN_KNOWN(HAPROXY, SERVER_WORD, SAME, "weight", "weight", "'weight=2', 0 to 256")
FOREIGN_KNOWN(HAPROXY, SERVER_WORD, RENAMED, "hash-key", "balance",
        "'balance = source hash-key=name' of the section")
FOREIGN_KNOWN(HAPROXY, SERVER_WORD, NO_EFFECT, "guid", NULL, "statistics know a server by its name")
FOREIGN_KNOWN(HAPROXY, SERVER_WORD, MISSING, "shard", NULL, "it is for peers")
FOREIGN_KNOWN(HAPROXY, SERVER_WORD, MISSING, "set-proxy-v2-tlv-fmt", NULL,
        "'proxy-v2-options=pass' passes the client's TLVs on")
FOREIGN_KNOWN(HAPROXY, SERVER_WORD, NOT_OURS, "max-reuse", NULL, "weir does not pool connections")
FOREIGN_KNOWN(HAPROXY, SERVER_WORD, MISSING, "log-bufsize", NULL, "weir does not forward logs")
