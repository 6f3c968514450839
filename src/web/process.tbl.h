/* SPDX-License-Identifier: MIT
 *
 * process.tbl.h - one row per number about the process that is neither a counter (counters.tbl.h) nor a
 * figure that another room publishes: PROCESS(name, type, help, value).
 *
 * The name is the JSON key and, behind "weir_process_", the metric; a unit at its end becomes seconds there
 * (metrics.h). `value` is an expression of `ctx` (struct web_context) and `e` (struct engine).
 */
PROCESS(ready, GAUGE, "1 if it is ready for new clients, as /readyz has it, else 0",
	ctx->sources.why_not_ready(ctx->sources.arg) == NULL)
PROCESS(uptime_ns, GAUGE, "time since the start", clock_mono_ns() - ctx->started_ns)
PROCESS(start_time_ns, GAUGE, "when it started, in Unix time",
	clock_wall_ns() - (clock_mono_ns() - ctx->started_ns))
PROCESS(cpu_ns_total, COUNTER, "CPU time of all its threads", clock_process_ns())
PROCESS(workers, GAUGE, "worker threads", e->worker_count)
PROCESS(limit_sessions, GAUGE, "maximum concurrent client connections (maxconn)",
	atomic_load_explicit(&e->settings.maxconn, memory_order_relaxed))
PROCESS(limit_connection_rate, GAUGE, "maximum new connections per second; 0 = no limit",
	atomic_load_explicit(&e->settings.rate_limit, memory_order_relaxed))
PROCESS(limit_pipes, GAUGE, "maximum pipes in use for splice (maxpipes)", e->limits.maxpipes)
PROCESS(limit_bufs_bytes, GAUGE, "maximum memory of pooled buffers", e->limits.buf_budget_bytes)
PROCESS(open_fds, GAUGE, "open file descriptors; before Linux 6.2, an estimate from sessions and pipes",
	fd_use_open(e))
PROCESS(limit_fds, GAUGE, "maximum open file descriptors (LimitNOFILE=)", fd_use_limit())
