/* SPDX-License-Identifier: MIT
 *
 * foreign_haproxy_rules.tbl.h - rows of foreign.tbl.h:
 * HAProxy's rules, tables and lists.
 */
FOREIGN(HAPROXY, RULE, DIFFERS, "acl", "use-backend",
        "weir has no ACLs: see 'use-backend', 'allow-from' and 'deny-from'")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request", "allow-from",
        "weir has no rules: see 'allow-from', 'deny-from' and 'rate-limit'")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request connection accept", "allow-from",
        "see 'allow-from' and 'deny-from': with 'allow-from' nobody else may connect")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request connection reject", "allow-from",
        "weir has no rules: see 'allow-from' and 'deny-from'")
FOREIGN(HAPROXY, RULE, RENAMED, "tcp-request connection reject if {src}", "deny-from",
        "write 'deny-from = NETWORK'")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request connection reject unless {src}", "allow-from",
        "write 'allow-from = NETWORK': nobody else may connect")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request session accept", "allow-from",
        "see 'allow-from' and 'deny-from': with 'allow-from' nobody else may connect")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request session reject", "allow-from",
        "weir has no rules: see 'allow-from' and 'deny-from'")
FOREIGN(HAPROXY, RULE, RENAMED, "tcp-request session reject if {src}", "deny-from",
        "write 'deny-from = NETWORK'")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request session reject unless {src}", "allow-from",
        "write 'allow-from = NETWORK': nobody else may connect")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request content accept if {src}", "allow-from",
        "see 'allow-from' and 'deny-from': with 'allow-from' nobody else may connect")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request content accept unless {src}", "allow-from",
        "see 'allow-from' and 'deny-from': with 'allow-from' nobody else may connect")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request content accept if { req.proto_http", "sniff",
        "write 'sniff = auto' and 'use-backend NAME = proto=http'")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request content accept if HTTP", "sniff",
        "write 'sniff = auto' and 'use-backend NAME = proto=http'")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request content accept if { req.ssl_hello_type", "sniff",
        "write 'sniff = tls', or 'sniff = auto'")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request content accept if { req_ssl_hello_type", "sniff",
        "write 'sniff = tls', or 'sniff = auto'")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request content reject if !{ req.ssl_hello_type", "sniff",
        "write 'sniff = tls required'")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request content accept if RDP_COOKIE", "sniff",
        "write 'sniff = rdp', and 'persist = rdp' in the backend")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request content accept if { req_rdp_cookie*", "sniff",
        "write 'sniff = rdp', and 'persist = rdp' in the backend")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request content accept if { req.rdp_cookie*", "sniff",
        "write 'sniff = rdp', and 'persist = rdp' in the backend")
FOREIGN(HAPROXY, RULE, RENAMED, "tcp-request content reject if {src}", "deny-from",
        "write 'deny-from = NETWORK'")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request content reject unless {src}", "allow-from",
        "write 'allow-from = NETWORK': nobody else may connect")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request content do-resolve*", "allow-sni",
        "weir can look up the name in a TLS hello and connect to it: see 'allow-sni'")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request content set-dst*", "allow-sni",
        "weir can look up the name in a TLS hello and connect to it: see 'allow-sni'")
FOREIGN(HAPROXY, RULE, RENAMED, "tcp-request connection expect-proxy", "accept-proxy",
        "write 'accept-proxy' on the bind line")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request connection expect-proxy layer4 if", "accept-proxy",
        "weir has no rules: see 'accept-proxy' of 'bind', and 'trusted'")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request connection expect-proxy layer4 unless", "accept-proxy",
        "weir has no rules: see 'accept-proxy' of 'bind', and 'trusted'")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request connection expect-proxy layer4 if {src}", "accept-proxy",
        "write 'accept-proxy=optional' on the bind line, and 'trusted = NETWORK'")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request connection track-*", "maxconn-per-source",
        "write 'maxconn-per-source = N' for open connections, 'rate-limit-per-source = N/10s' for new ones")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request connection reject if { src_conn_rate", "rate-limit-per-source",
        "write 'rate-limit-per-source = N/10s'")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request connection reject if { src_conn_rate(*", "rate-limit-per-source",
        "write 'rate-limit-per-source = N/10s'")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request connection reject if { src_conn_cur", "maxconn-per-source",
        "write 'maxconn-per-source = N'")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request connection reject if { sc_conn_rate(*", "rate-limit-per-source",
        "write 'rate-limit-per-source = N/10s'")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request connection reject if { sc_conn_cur(*", "maxconn-per-source",
        "write 'maxconn-per-source = N'")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request connection reject if { sc0_conn_rate", "rate-limit-per-source",
        "write 'rate-limit-per-source = N/10s'")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request connection reject if { sc0_conn_cur", "maxconn-per-source",
        "write 'maxconn-per-source = N'")
FOREIGN(HAPROXY, RULE, DIFFERS, "tcp-request inspect-delay", "sniff",
        "write 'sniff = tls timeout=5s', or 'sniff = auto' for HTTP and SSH")
FOREIGN(HAPROXY, RULE, MISSING, "tcp-response", NULL, "weir has no rules: leave this line out")
FOREIGN(HAPROXY, RULE, NOT_OURS, "http-request", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, RULE, NOT_OURS, "http-response", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, RULE, NOT_OURS, "http-after-response", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, RULE, DIFFERS, "use-server", "use-backend",
        "write a backend for each such server, and 'use-backend' lines in the frontends")
FOREIGN(HAPROXY, RULE, MISSING, "filter", NULL, "leave this line out")
FOREIGN(HAPROXY, RULE, NO_EFFECT, "filter trace", NULL, "leave this line out: it only shows what passes")
FOREIGN(HAPROXY, RULE, NOT_OURS, "filter compression", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, RULE, NOT_OURS, "filter cache", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(HAPROXY, RULE, NOT_OURS, "filter fcgi-app", NULL, "weir does not read HTTP: leave this line out")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-request connection capture", NULL,
        "the log has what is known of a session, see 'log'")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-request connection attach-srv", NULL, "no reverse connections")
FOREIGN_KNOWN(HAPROXY, RULE, DIFFERS, "tcp-request content accept", "sniff",
        "'sniff = tls' or 'rdp' goes on as soon as the bytes decide")
FOREIGN_KNOWN(HAPROXY, RULE, DIFFERS, "tcp-request content reject", "sniff",
        "'sniff = tls required' or 'rdp required', and 'deny-from'")
FOREIGN_KNOWN(HAPROXY, RULE, DIFFERS, "tcp-request connection set-mark", "mark",
        "'mark = N' marks a side's connections, not some of them")
FOREIGN_KNOWN(HAPROXY, RULE, DIFFERS, "tcp-request connection set-tos", "dscp",
        "'dscp = ef' marks a side's connections, not some of them")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-request connection set-src*", NULL,
        "the client's address is that of its PROXY header")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-request connection set-var*", NULL, "weir has no variables")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-request connection unset-var*", NULL, "weir has no variables")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-request connection sc-*", NULL,
        "weir counts for its own limits only")
FOREIGN_KNOWN(HAPROXY, RULE, DIFFERS, "tcp-request connection silent-drop", "deny-from",
        "clients that are denied are reset")
FOREIGN_KNOWN(HAPROXY, RULE, DIFFERS, "tcp-request session set-mark", "mark",
        "'mark = N' marks a side's connections, not some of them")
FOREIGN_KNOWN(HAPROXY, RULE, DIFFERS, "tcp-request session set-tos", "dscp",
        "'dscp = ef' marks a side's connections, not some of them")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-request session set-src*", NULL,
        "the client's address is that of its PROXY header")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-request session set-var*", NULL, "weir has no variables")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-request session unset-var*", NULL, "weir has no variables")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-request session sc-*", NULL, "weir counts for its own limits only")
FOREIGN_KNOWN(HAPROXY, RULE, DIFFERS, "tcp-request session silent-drop", "deny-from",
        "clients that are denied are reset")
FOREIGN_KNOWN(HAPROXY, RULE, DIFFERS, "tcp-request content set-mark", "mark",
        "'mark = N' marks a side's connections, not some of them")
FOREIGN_KNOWN(HAPROXY, RULE, DIFFERS, "tcp-request content set-tos", "dscp",
        "'dscp = ef' marks a side's connections, not some of them")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-request content set-src*", NULL,
        "the client's address is that of its PROXY header")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-request content set-var*", NULL, "weir has no variables")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-request content unset-var*", NULL, "weir has no variables")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-request content sc-*", NULL, "weir counts for its own limits only")
FOREIGN_KNOWN(HAPROXY, RULE, DIFFERS, "tcp-request content silent-drop", "deny-from",
        "clients that are denied are reset")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-request connection set-dst*", NULL,
        "the server's line says where connections go")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-request session set-dst*", NULL,
        "the server's line says where connections go")
FOREIGN_KNOWN(HAPROXY, RULE, NOT_OURS, "tcp-request content switch-mode", NULL, "weir does not read HTTP")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-request content send-spoe-group", NULL,
        "weir asks no agents about clients")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-request content ot-group", NULL, "weir does not trace")
FOREIGN_KNOWN(HAPROXY, RULE, DIFFERS, "tcp-request content set-log-level", "log-sample",
        "'log-sample' says which sessions are logged")
FOREIGN_KNOWN(HAPROXY, RULE, NO_EFFECT, "tcp-request content set-nice", NULL,
        "the workers serve all sessions alike")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-request content set-fc-*", NULL,
        "'mark' and 'dscp' hold for a whole section")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-request content set-bc-*", NULL,
        "'mark' and 'dscp' hold for a whole section")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-response content *", NULL,
        "nothing of what a server sends is read")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-request content set-priority-*", NULL,
        "queues are first come, first served")
FOREIGN_KNOWN(HAPROXY, RULE, DIFFERS, "tcp-request content set-bandwidth-limit", "pacing",
        "'pacing = 1M', per connection")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-request content use-service", NULL,
        "weir sends no responses of its own")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-request content lua.*", NULL, "weir has no Lua")
FOREIGN_KNOWN(HAPROXY, RULE, DIFFERS, "tcp-request content track-sc0", "maxconn-per-source",
        "and 'rate-limit-per-source'")
FOREIGN_KNOWN(HAPROXY, RULE, DIFFERS, "tcp-request session track-sc0", "maxconn-per-source",
        "and 'rate-limit-per-source'")
FOREIGN_KNOWN(HAPROXY, RULE, MISSING, "tcp-response inspect-delay", NULL,
        "nothing of what a server sends is read")

FOREIGN(HAPROXY, STICK, RENAMED, "stick on src", "sticky",
        "write 'sticky = src' in the backend, with the stick-table's expire= and size=")
FOREIGN(HAPROXY, STICK, RENAMED, "stick match src", "sticky",
        "write 'sticky = src' in the backend: it matches and stores")
FOREIGN(HAPROXY, STICK, RENAMED, "stick store-request src", "sticky",
        "write 'sticky = src' in the backend: it matches and stores")
FOREIGN(HAPROXY, STICK, RENAMED, "stick on dst", "sticky",
        "write 'sticky = dst' in the backend, with the stick-table's size=, and expire=365d if it has none")
FOREIGN(HAPROXY, STICK, RENAMED, "stick match dst", "sticky",
        "write 'sticky = dst' in the backend: it matches and stores")
FOREIGN(HAPROXY, STICK, RENAMED, "stick store-request dst", "sticky",
        "write 'sticky = dst' in the backend: it matches and stores")
FOREIGN(HAPROXY, STICK, DIFFERS, "stick", "sticky",
        "write 'sticky = src' in the backend: clients are told apart by their address alone, or with "
        "'sticky = dst' by the one that they connect to")
FOREIGN(HAPROXY, STICK, DIFFERS, "stick-table type ip", "sticky",
        "write 'sticky = src expire=30m size=100k'; for counters see 'rate-limit-per-source'")
FOREIGN(HAPROXY, STICK, DIFFERS, "stick-table", "sticky",
        "write 'sticky = src' to keep clients at their server; for counters see 'rate-limit-per-source'")
FOREIGN_KNOWN(HAPROXY, STICK, DIFFERS, "stick on payload_lv", "sticky",
              "'sticky = src': clients are told apart by their address, not by what they send")
FOREIGN_KNOWN(HAPROXY, STICK, MISSING, "stick store-response", NULL, "nothing of what a server sends is read")
FOREIGN_KNOWN(HAPROXY, STICK, DIFFERS, "stick-table type ip size 1m expire 30m", "sticky",
        "for 'stick on src': 'sticky = src'; for 'stick on dst': 'sticky = dst'")
FOREIGN_KNOWN(HAPROXY, STICK, DIFFERS, "stick-table type ip store conn_cur", "maxconn-per-source",
        "'maxconn-per-source = N'")
FOREIGN_KNOWN(HAPROXY, STICK, DIFFERS, "stick-table type ip store conn_rate(10s)", "rate-limit-per-source",
        "'rate-limit-per-source'")
FOREIGN_KNOWN(HAPROXY, STICK, MISSING, "stick-table type ip store gpc0", NULL, "weir has no rules that count")
FOREIGN_KNOWN(HAPROXY, STICK, MISSING, "stick-table type ip store bytes_out_rate(10s)", NULL,
        "'pacing' limits each connection")
FOREIGN_KNOWN(HAPROXY, STICK, MISSING, "stick-table peers", NULL, "tables are not shared between machines")
FOREIGN_KNOWN(HAPROXY, STICK, DIFFERS, "sc_conn_rate(0)", "rate-limit-per-source", "'rate-limit-per-source'")
FOREIGN_KNOWN(HAPROXY, STICK, DIFFERS, "sc_conn_cur(0)", "maxconn-per-source", "'maxconn-per-source'")
FOREIGN_KNOWN(HAPROXY, STICK, DIFFERS, "src_conn_rate", "rate-limit-per-source", "'rate-limit-per-source'")
FOREIGN_KNOWN(HAPROXY, STICK, DIFFERS, "src_conn_cur", "maxconn-per-source", "'maxconn-per-source'")
FOREIGN_KNOWN(HAPROXY, STICK, DIFFERS, "if { src_conn_rate gt 9 } !{ src -f own.lst }", "limit-exempt",
        "'limit-exempt = NETWORK', or @FILE")
