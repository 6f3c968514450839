/* SPDX-License-Identifier: MIT
 *
 * foreign_nginx.tbl.h - rows of foreign.tbl.h:
 * nginx's directives: the main and events contexts, and the stream modules.
 */
FOREIGN(NGINX, SECTION, NOT_OURS, "http", NULL, "weir does not read HTTP: leave this block out")
FOREIGN(NGINX, SECTION, NOT_OURS, "mail", NULL, "weir does not read mail: leave this block out")

FOREIGN(NGINX, MAIN, RENAMED, "worker_processes", "threads", "write 'threads = ...'")
FOREIGN(NGINX, MAIN, NO_EFFECT, "worker_connections", NULL,
        "weir sizes itself from the limits on descriptors and memory; write 'maxconn = ...' for less")
FOREIGN(NGINX, MAIN, NO_EFFECT, "worker_rlimit_nofile", NULL,
        "weir sizes itself from RLIMIT_NOFILE: set LimitNOFILE in the unit")
FOREIGN(NGINX, MAIN, RENAMED, "worker_cpu_affinity", "cpu-affinity", "write 'cpu-affinity'")
FOREIGN(NGINX, MAIN, RENAMED, "worker_shutdown_timeout", "hard-stop-after",
        "write 'hard-stop-after = ...s' in [global]")
FOREIGN(NGINX, MAIN, RENAMED, "use", "driver", "write 'driver = epoll'")
FOREIGN(NGINX, MAIN, RENAMED, "error_log", "log", "write 'log = file:PATH' in [global]")
FOREIGN(NGINX, MAIN, NO_EFFECT, "pid", NULL, "systemd tracks the process: leave this line out")
FOREIGN(NGINX, MAIN, NO_EFFECT, "events", NULL, "leave this line out")
FOREIGN(NGINX, MAIN, NO_EFFECT, "multi_accept", NULL, "leave this line out")
FOREIGN(NGINX, MAIN, NO_EFFECT, "accept_mutex*", NULL, "leave this line out")
FOREIGN(NGINX, MAIN, NO_EFFECT, "epoll_events", NULL, "leave this line out")
FOREIGN(NGINX, MAIN, NO_EFFECT, "load_module", NULL, "leave this line out: there are no modules")
FOREIGN(NGINX, MAIN, NO_EFFECT, "master_process", NULL, "leave this line out")
FOREIGN(NGINX, MAIN, NO_EFFECT, "worker_aio_requests", NULL, "leave this line out")
FOREIGN(NGINX, MAIN, NO_EFFECT, "worker_priority", NULL, "set Nice= in the unit")
FOREIGN(NGINX, MAIN, NO_EFFECT, "worker_rlimit_core", NULL, "set LimitCORE= in the unit")
FOREIGN(NGINX, MAIN, NO_EFFECT, "working_directory", NULL, "leave this line out")
FOREIGN(NGINX, MAIN, NO_EFFECT, "lock_file", NULL, "leave this line out")
FOREIGN(NGINX, MAIN, NO_EFFECT, "timer_resolution", NULL, "leave this line out")
FOREIGN(NGINX, MAIN, DIFFERS, "thread_pool", "threads", "write 'threads'")
FOREIGN(NGINX, MAIN, NO_EFFECT, "pcre_jit", NULL, "leave this line out")
FOREIGN(NGINX, MAIN, NO_EFFECT, "env", NULL, "'${NAME}' reads the environment: leave this line out")
FOREIGN(NGINX, MAIN, NO_EFFECT, "debug_points", NULL, "leave this line out")
FOREIGN(NGINX, MAIN, DIFFERS, "debug_connection", "log", "write 'log = stderr level=debug'")
FOREIGN_KNOWN(NGINX, MAIN, NO_EFFECT, "user", NULL,
        "weir.service runs as user weir; if root starts weir, write 'user' in [global]")
FOREIGN_KNOWN(NGINX, MAIN, SAME, "include", "include", "in [global]")
FOREIGN_KNOWN(NGINX, MAIN, NO_EFFECT, "daemon", NULL, "weir stays in the foreground; -D forks")
FOREIGN_KNOWN(NGINX, MAIN, NOT_OURS, "ssl_engine", NULL, "weir does not terminate TLS")
FOREIGN_KNOWN(NGINX, MAIN, NOT_OURS, "ssl_object_cache_inheritable", NULL, "weir does not terminate TLS")
FOREIGN_KNOWN(NGINX, MAIN, NO_EFFECT, "accept_mutex_delay", NULL,
        "the kernel wakes one worker per connection")

FOREIGN(NGINX, STREAM, RENAMED, "listen", "bind", "write 'bind = :...'")
FOREIGN(NGINX, STREAM, RENAMED, "access_log", "log", "write 'log = file:PATH' in [global]")
FOREIGN(NGINX, STREAM, DIFFERS, "ssl_preread", "sniff",
        "write 'sniff = tls', or 'sniff = auto' for proto=tls")
FOREIGN(NGINX, STREAM, NOT_OURS, "ssl", NULL,
        "weir does not terminate TLS, it passes it through: leave this line out")
FOREIGN(NGINX, STREAM, RENAMED, "preread_timeout", "timeout-handshake", "write 'timeout-handshake = ...s'")
FOREIGN(NGINX, STREAM, NO_EFFECT, "preread_buffer_size", NULL, "leave this line out")
FOREIGN(NGINX, STREAM, RENAMED, "proxy_protocol_timeout", "timeout-handshake",
        "write 'timeout-handshake = ...s'")
FOREIGN(NGINX, STREAM, NO_EFFECT, "resolver_timeout", NULL, "leave this line out")
FOREIGN(NGINX, STREAM, NO_EFFECT, "variables_hash_*", NULL, "leave this line out")
FOREIGN(NGINX, STREAM, DIFFERS, "server_name", "sniff",
        "write 'sniff = tls' and 'use-backend NAME = sni=NAME'")
FOREIGN(NGINX, STREAM, DIFFERS, "allow", "allow-from",
        "write 'allow-from = NETWORK'; 'deny-from' overrides it, whereas nginx uses the first match")
FOREIGN(NGINX, STREAM, NO_EFFECT, "allow all", NULL,
        "leave this line out: every client may connect unless a 'deny-from' matches it")
FOREIGN(NGINX, STREAM, NO_EFFECT, "allow unix:", NULL,
        "leave this line out: 'allow-uid' and the mode of a Unix socket decide who may connect")
FOREIGN(NGINX, STREAM, DIFFERS, "deny", "deny-from",
        "write 'deny-from = NETWORK'; it overrides 'allow-from', whereas nginx uses the first match")
FOREIGN(NGINX, STREAM, NO_EFFECT, "deny all", NULL,
        "leave this line out: with 'allow-from' nobody else may connect; without it, nobody at all could")
FOREIGN(NGINX, STREAM, NO_EFFECT, "deny unix:", NULL,
        "leave this line out: 'allow-uid' and the mode of a Unix socket decide who may connect")
FOREIGN(NGINX, STREAM, RENAMED, "limit_conn", "maxconn-per-source", "write 'maxconn-per-source = N'")
FOREIGN(NGINX, STREAM, RENAMED, "limit_conn_zone", "maxconn-per-source", "write 'maxconn-per-source = N'")
FOREIGN(NGINX, STREAM, MISSING, "limit_conn_dry_run", NULL, "leave this line out")
FOREIGN(NGINX, STREAM, NO_EFFECT, "limit_conn_log_level", NULL, "leave this line out")
FOREIGN(NGINX, STREAM, NO_EFFECT, "limit_conn_status", NULL, "leave this line out")
FOREIGN(NGINX, STREAM, DIFFERS, "limit_req*", "rate-limit-per-source",
        "write 'rate-limit-per-source = N/1s burst=N', or 'rate-limit = N' for all sources")
FOREIGN(NGINX, STREAM, RENAMED, "set_real_ip_from", "trusted", "write 'trusted = NETWORK'")
FOREIGN(NGINX, STREAM, NO_EFFECT, "set_real_ip_from unix:", NULL,
        "leave this line out: 'accept-proxy' on the bind line is all that is needed")
FOREIGN(NGINX, STREAM, DIFFERS, "geo", "use-backend",
        "write 'use-backend NAME = src=NETWORK' or src=@FILE, or see 'allow-from' and 'deny-from'")
FOREIGN(NGINX, STREAM, MISSING, "geoip_*", NULL, "leave this line out")
FOREIGN(NGINX, STREAM, DIFFERS, "map", "use-backend",
        "write a line per case: 'use-backend NAME = sni=NAME', or src=NETWORK, or @FILE for a list")
FOREIGN(NGINX, STREAM, NO_EFFECT, "map_hash_*", NULL, "leave this line out")
FOREIGN(NGINX, STREAM, DIFFERS, "split_clients", "weight", "write 'weight=' on the server lines")
FOREIGN(NGINX, STREAM, MISSING, "return", NULL, "weir sends no responses of its own")
FOREIGN(NGINX, STREAM, MISSING, "set", NULL, "weir has no variables except '${NAME}' from the environment")
FOREIGN(NGINX, STREAM, MISSING, "js_*", NULL, "weir has no scripting")
FOREIGN(NGINX, STREAM, RENAMED, "health_check", "check", "write 'check = tcp'")
FOREIGN(NGINX, STREAM, RENAMED, "match", "check", "write 'check = send TEXT expect=TEXT'")
FOREIGN(NGINX, STREAM, DIFFERS, "log_format", "format",
        "write 'format=json' or 'format=text' on the log line")
FOREIGN(NGINX, STREAM, NO_EFFECT, "open_log_file_cache", NULL, "leave this line out")
FOREIGN(NGINX, STREAM, NOT_OURS, "location", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(NGINX, STREAM, NOT_OURS, "root", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(NGINX, STREAM, NOT_OURS, "index", NULL, "weir does not read HTTP: leave this line out")
FOREIGN_KNOWN(NGINX, STREAM, RENAMED, "stream", NULL, "sections stand on their own: no block around them")
FOREIGN_KNOWN(NGINX, STREAM, RENAMED, "server", "bind", "a block becomes '[listen NAME]' with 'bind'")
FOREIGN_KNOWN(NGINX, STREAM, RENAMED, "resolver", "resolvers", "'resolvers = 10.0.0.2' in [global]")
FOREIGN_KNOWN(NGINX, STREAM, NO_EFFECT, "tcp_nodelay", NULL, "it is on, unless 'tcp-nodelay = off'")
FOREIGN_KNOWN(NGINX, STREAM, MISSING, "pass", NULL,
        "weir terminates no TLS, so there is nothing to pass on to another server block")
FOREIGN_KNOWN(NGINX, STREAM, DIFFERS, "listen ... proxy_protocol", "accept-proxy", "with 'trusted'")
FOREIGN_KNOWN(NGINX, STREAM, DIFFERS, "$ssl_preread_server_name", "use-backend",
        "'sniff = tls' and 'use-backend NAME = sni=NAME'")
FOREIGN_KNOWN(NGINX, STREAM, DIFFERS, "$ssl_preread_alpn_protocols", "use-backend",
        "'use-backend NAME = alpn=h2'")
FOREIGN_KNOWN(NGINX, STREAM, DIFFERS, "$ssl_preread_protocol", "use-backend",
        "'sniff = auto' and 'use-backend NAME = proto=tls'")
FOREIGN_KNOWN(NGINX, STREAM, DIFFERS, "limit_conn_zone $server_name", "maxconn",
        "limits of a section are 'maxconn'")
FOREIGN_KNOWN(NGINX, STREAM, MISSING, "keyval", NULL, "lists are files: @FILE")
FOREIGN_KNOWN(NGINX, STREAM, NO_EFFECT, "status_zone", NULL, "each section has its counters")
FOREIGN_KNOWN(NGINX, STREAM, MISSING, "zone_sync", NULL, "tables are not shared between machines")
FOREIGN_KNOWN(NGINX, STREAM, MISSING, "otel_*", NULL, "weir does not trace")
FOREIGN_KNOWN(NGINX, STREAM, NOT_OURS, "ssl_*", NULL, "weir does not terminate TLS")
FOREIGN_KNOWN(NGINX, STREAM, RENAMED, "health_check_timeout", "check-timeout",
        "'check-timeout = 5s' in the backend")
FOREIGN_KNOWN(NGINX, STREAM, MISSING, "keyval_zone", NULL, "lists are files: @FILE")
FOREIGN_KNOWN(NGINX, STREAM, MISSING, "zone_sync_*", NULL, "tables are not shared between machines")
FOREIGN_KNOWN(NGINX, STREAM, NOT_OURS, "mqtt*", NULL, "weir does not read MQTT")
FOREIGN_KNOWN(NGINX, STREAM, MISSING, "num_map", NULL, "'use-backend' lists ports, networks and names")
FOREIGN_KNOWN(NGINX, STREAM, MISSING, "internal_redirect", NULL, "a session has one frontend")

FOREIGN(NGINX, PROXYING, DIFFERS, "proxy_pass", "default-backend",
        "write 'default-backend = ...', or 'server NAME = ADDRESS' in a [listen]")
FOREIGN(NGINX, PROXYING, RENAMED, "proxy_timeout", "timeout-idle", "write 'timeout-idle = ...s'")
FOREIGN(NGINX, PROXYING, RENAMED, "proxy_connect_timeout", "timeout-connect",
        "write 'timeout-connect = ...s'")
FOREIGN(NGINX, PROXYING, RENAMED, "proxy_protocol", "send-proxy", "write 'send-proxy = v1'")
FOREIGN(NGINX, PROXYING, NO_EFFECT, "proxy_protocol off", NULL, "leave this line out")
FOREIGN(NGINX, PROXYING, RENAMED, "proxy_bind", "source", "write 'source=...' on the server line")
FOREIGN(NGINX, PROXYING, NO_EFFECT, "proxy_bind off", NULL, "leave this line out")
FOREIGN(NGINX, PROXYING, RENAMED, "proxy_bind $remote_addr", "source",
        "write 'source=client' on the server line")
FOREIGN(NGINX, PROXYING, RENAMED, "proxy_next_upstream", "redispatch", "write 'redispatch = on'")
FOREIGN(NGINX, PROXYING, RENAMED, "proxy_next_upstream_tries", "retries", "write 'retries = ...'")
FOREIGN(NGINX, PROXYING, NO_EFFECT, "proxy_buffer_size", NULL, "leave this line out")
FOREIGN(NGINX, PROXYING, RENAMED, "proxy_socket_keepalive", "server-keepalive",
        "write 'server-keepalive = on' in the [backend]")
FOREIGN(NGINX, PROXYING, NO_EFFECT, "proxy_upload_rate 0", NULL,
        "leave this line out: there is no limit unless one is set")
FOREIGN(NGINX, PROXYING, NO_EFFECT, "proxy_download_rate 0", NULL,
        "leave this line out: there is no limit unless one is set")
FOREIGN(NGINX, PROXYING, RENAMED, "proxy_upload_rate", "pacing", "write 'pacing = ...' in the [backend]")
FOREIGN(NGINX, PROXYING, RENAMED, "proxy_download_rate", "pacing", "write 'pacing = ...' in the [frontend]")
FOREIGN(NGINX, PROXYING, NO_EFFECT, "proxy_half_close", NULL,
        "leave this line out: each side is closed independently, see 'timeout-half-closed'")
FOREIGN(NGINX, PROXYING, DIFFERS, "proxy_next_upstream_timeout", "timeout-connect",
        "write 'timeout-connect' and 'retries': weir limits the time of each attempt, and their number")
FOREIGN(NGINX, PROXYING, NO_EFFECT, "proxy_responses", NULL, "leave this line out: it is for UDP")
FOREIGN(NGINX, PROXYING, NO_EFFECT, "proxy_requests", NULL, "leave this line out: it is for UDP")
FOREIGN(NGINX, PROXYING, RENAMED, "proxy_session_drop", "on-marked-down",
        "write 'on-marked-down = close-sessions'")
FOREIGN(NGINX, PROXYING, NOT_OURS, "proxy_ssl*", NULL,
        "weir does not terminate TLS, it passes it through: leave this line out")
FOREIGN(NGINX, PROXYING, NO_EFFECT, "proxy_socket_*", NULL, "leave this line out")
FOREIGN(NGINX, PROXYING, NO_EFFECT, "proxy_downstream_buffer", NULL, "leave this line out")
FOREIGN(NGINX, PROXYING, NO_EFFECT, "proxy_upstream_buffer", NULL, "leave this line out")
FOREIGN(NGINX, PROXYING, NOT_OURS, "proxy_set_header", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(NGINX, PROXYING, NOT_OURS, "proxy_http_version", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(NGINX, PROXYING, NOT_OURS, "proxy_redirect", NULL, "weir does not read HTTP: leave this line out")
FOREIGN(NGINX, PROXYING, RENAMED, "proxy_read_timeout", "timeout-server", "write 'timeout-server'")
FOREIGN(NGINX, PROXYING, RENAMED, "proxy_send_timeout", "timeout-client", "write 'timeout-client'")
FOREIGN(NGINX, PROXYING, NO_EFFECT, "proxy_*", NULL, "leave this line out")
FOREIGN_KNOWN(NGINX, PROXYING, DIFFERS, "proxy_pass $ssl_preread_server_name*", "server",
        "'server any = sni@443' and 'allow-sni' in the backend, 'sniff = tls' in the frontend")

FOREIGN(NGINX, UPSTREAM, DIFFERS, "upstream", "server",
        "write '[backend NAME]' and 'server NAME = ADDRESS' lines")
FOREIGN(NGINX, UPSTREAM, RENAMED, "least_conn", "balance", "write 'balance = leastconn'")
FOREIGN(NGINX, UPSTREAM, RENAMED, "ip_hash", "balance", "write 'balance = source'")
FOREIGN(NGINX, UPSTREAM, DIFFERS, "hash", "balance",
        "write 'balance = source': it hashes the client's address")
FOREIGN(NGINX, UPSTREAM, DIFFERS, "hash $remote_addr$remote_port", "balance",
        "write 'balance = random': the key is another one for each connection")
FOREIGN(NGINX, UPSTREAM, DIFFERS, "hash $connection", "balance",
        "write 'balance = random': the key is another one for each connection")
FOREIGN(NGINX, UPSTREAM, RENAMED, "hash $remote_addr", "balance", "write 'balance = source'")
FOREIGN(NGINX, UPSTREAM, RENAMED, "hash $binary_remote_addr", "balance", "write 'balance = source'")
FOREIGN(NGINX, UPSTREAM, RENAMED, "hash $binary_remote_addr consistent", "balance",
        "write 'balance = source hash=consistent'")
FOREIGN(NGINX, UPSTREAM, RENAMED, "hash $remote_addr consistent", "balance",
        "write 'balance = source hash=consistent'")
FOREIGN(NGINX, UPSTREAM, NO_EFFECT, "zone", NULL,
        "leave this line out: the workers always share the state of servers")
FOREIGN(NGINX, UPSTREAM, RENAMED, "random", "balance", "write 'balance = random'")
FOREIGN(NGINX, UPSTREAM, NOT_OURS, "keepalive", NULL, "weir does not pool connections: leave this line out")
FOREIGN_KNOWN(NGINX, UPSTREAM, DIFFERS, "sticky", "sticky", "'sticky = src'")
FOREIGN(NGINX, UPSTREAM, DIFFERS, "queue", "maxqueue",
        "write 'maxqueue = ...', and 'timeout-queue' for its timeout")
FOREIGN(NGINX, UPSTREAM, DIFFERS, "state", NULL,
        "the servers are in that file: write each as 'server NAME = ADDRESS'")
FOREIGN_KNOWN(NGINX, UPSTREAM, SAME, "server", "server", "'server NAME = ADDRESS WORD...'")
FOREIGN_KNOWN(NGINX, UPSTREAM, DIFFERS, "least_time", "balance", "'balance = leastconn'")
FOREIGN_KNOWN(NGINX, UPSTREAM, RENAMED, "resolver", "resolvers", "'resolvers = 10.0.0.2' in [global]")
FOREIGN_KNOWN(NGINX, UPSTREAM, MISSING, "ntlm", NULL, "weir does not read HTTP")

FOREIGN(NGINX, BIND_WORD, NO_EFFECT, "reuseport", NULL, "leave it out: each worker has its own socket")
FOREIGN(NGINX, BIND_WORD, NOT_OURS, "udp", NULL, "weir does not forward UDP")
FOREIGN(NGINX, BIND_WORD, RENAMED, "fastopen", "tfo", "write 'tfo'")
FOREIGN(NGINX, BIND_WORD, RENAMED, "deferred", "defer-accept", "write 'defer-accept'")
FOREIGN(NGINX, BIND_WORD, RENAMED, "ipv6only", "v6only", "write 'v6only'")
FOREIGN(NGINX, BIND_WORD, RENAMED, "so_keepalive", "client-keepalive",
        "write 'client-keepalive = on' in the section")
FOREIGN(NGINX, BIND_WORD, NO_EFFECT, "rcvbuf", NULL, "leave it out: the kernel sizes socket buffers")
FOREIGN(NGINX, BIND_WORD, NO_EFFECT, "sndbuf", NULL, "leave it out: the kernel sizes socket buffers")
FOREIGN(NGINX, BIND_WORD, RENAMED, "proxy_protocol", "accept-proxy", "write 'accept-proxy'")
FOREIGN(NGINX, BIND_WORD, NO_EFFECT, "default_server", NULL, "leave it out")
FOREIGN(NGINX, BIND_WORD, NOT_OURS, "http2", NULL, "weir does not read HTTP")
FOREIGN(NGINX, BIND_WORD, NOT_OURS, "quic", NULL, "weir does not forward UDP")
FOREIGN_KNOWN(NGINX, BIND_WORD, NOT_OURS, "ssl", NULL, "weir does not terminate TLS: it passes it through")
FOREIGN_KNOWN(NGINX, BIND_WORD, SAME, "backlog", "backlog", NULL)
FOREIGN_KNOWN(NGINX, BIND_WORD, MISSING, "setfib", NULL, "it is for FreeBSD")
FOREIGN_KNOWN(NGINX, BIND_WORD, NO_EFFECT, "bind", NULL, "each address has one socket")
FOREIGN_KNOWN(NGINX, BIND_WORD, MISSING, "accept_filter=", NULL, "it is for FreeBSD")

FOREIGN(NGINX, SERVER_WORD, DIFFERS, "service", "servers", "write 'servers NAME = srv://NAME'")
FOREIGN(NGINX, SERVER_WORD, RENAMED, "down", "disabled", "write 'disabled'")
FOREIGN(NGINX, SERVER_WORD, RENAMED, "max_fails", "observe",
        "write 'observe = connect limit=...' in the section")
FOREIGN(NGINX, SERVER_WORD, RENAMED, "fail_timeout", "observe",
        "write 'observe = connect down=...s' in the section")
FOREIGN(NGINX, SERVER_WORD, RENAMED, "max_conns", "maxconn", "write 'maxconn=...'")
FOREIGN(NGINX, SERVER_WORD, RENAMED, "slow_start", "slowstart", "write 'slowstart=...s'")
FOREIGN_KNOWN(NGINX, SERVER_WORD, SAME, "weight", "weight", "'weight=2'")
FOREIGN_KNOWN(NGINX, SERVER_WORD, SAME, "backup", "backup", NULL)
FOREIGN_KNOWN(NGINX, SERVER_WORD, DIFFERS, "resolve", "server",
        "a name is always looked up again; for a server per address, 'servers NAME = dns://HOST:PORT'")
FOREIGN_KNOWN(NGINX, SERVER_WORD, DIFFERS, "drain", NULL, "'weir ctl set server b/s state drain'")
FOREIGN_KNOWN(NGINX, SERVER_WORD, NOT_OURS, "route", NULL, "weir does not read HTTP")
