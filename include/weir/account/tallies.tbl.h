/* SPDX-License-Identifier: MIT
 *
 * tallies.tbl.h - one row per value counted for every frontend, backend and server:
 * TALLY(field, kind, unit, shown, column, metric, help).
 *
 * A row defines the fields of struct tally and struct tally_sum, how it is read and summed, its column in
 * `show stat`, and what a report says about it (tally_row()). The kinds:
 *   TOTAL, GAUGE  one per worker, summed over the workers. A gauge can also go down;
 *   MAX           the largest over all workers;
 *   RATE          sessions started in the last second, from the two seconds that a worker keeps; no field.
 * `shown` says whose column shows the value unchanged: F(rontends), B(ackends), S(ervers), or NONE where
 * admin_stat.c derives the column from more than this, or there is no column. A column is one of
 * stat_columns.tbl.h, or none. The metric is the name that HAProxy's exporter uses, or one in its style; it
 * ends in "_total" for a TOTAL and for nothing else, and a report prefixes it with "weir_frontend_",
 * "weir_backend_" or "weir_server_". Values that every session touches come first, to share a cache line.
 */
TALLY(total, TOTAL, "sessions", B, stot, "sessions_total",
      "sessions started; for a server, connection attempts")
TALLY(sessions, GAUGE, "sessions", NONE, scur, "current_sessions",
      "sessions currently open; 0 for a server, which has its own count")
TALLY(sessions_max, MAX, "sessions", NONE, smax, "max_sessions",
      "maximum concurrent sessions over all workers, as seen by one of them")
TALLY(last_ns, MAX, "ns", NONE, lastsess, "last_session_time",
      "start of the last session, on the monotonic clock; 0 = never")
TALLY(bytes_to_server, TOTAL, "bytes", FBS, bin, "bytes_in_total", "bytes from clients to servers")
TALLY(bytes_to_client, TOTAL, "bytes", FBS, bout, "bytes_out_total", "bytes from servers to clients")
TALLY(retries, TOTAL, "tries", S, wretr, "retry_warnings_total", "retries after a failure of this server")
TALLY(redispatches, TOTAL, "tries", S, wredis, "redispatch_warnings_total", "of these, to another server")
TALLY(client_aborts, TOTAL, "sessions", BS, cli_abrt, "client_aborts_total",
      "sessions that the client reset, or in which it left or vanished")
TALLY(server_aborts, TOTAL, "sessions", BS, srv_abrt, "server_aborts_total",
      "sessions that the server reset, or in which it vanished")
TALLY(internal_errors, TOTAL, "sessions", FBS, eint, "internal_errors_total",
      "sessions that ended because weir ran short of a resource or met an error of its own")
TALLY(rate, RATE, "sessions", FBS, rate, "current_session_rate", "sessions started in the last second")
TALLY(rate_max, MAX, "sessions", NONE, rate_max, "max_session_rate",
      "maximum sessions started in one second, over all workers")
TALLY(samples, GAUGE, "sessions", NONE, none, "time_samples", "sessions included in the sums of times")
TALLY(lifetime_ends, TOTAL, "sessions", NONE, none, "lifetime_ends_total", "sessions that max-lifetime ended")
TALLY(bytes_spliced, TOTAL, "bytes", NONE, none, "spliced_bytes_total",
      "bytes moved by splice, in both directions; the others were copied")
TALLY(queued, TOTAL, "sessions", NONE, none, "queued_total", "sessions that waited in a queue")
TALLY(queue_ns, TOTAL, "ns", NONE, none, "queue_wait_seconds_total", "time that sessions waited in queues")
TALLY(removed_ends, TOTAL, "sessions", NONE, none, "removed_ends_total",
      "sessions ended because their frontend, backend or server was removed")
TALLY(drained_ends, TOTAL, "sessions", NONE, none, "drained_ends_total",
      "sessions ended by drain = idle because they were idle")
TALLY(limited_by_none, TOTAL, "sessions", NONE, none, "limited_by_none_total",
      "sessions over 1 s or 1 MiB that nobody slowed down")
TALLY(limited_by_client, TOTAL, "sessions", NONE, none, "limited_by_client_total",
      "sessions over 1 s or 1 MiB slowed down by the client")
TALLY(limited_by_server, TOTAL, "sessions", NONE, none, "limited_by_server_total",
      "sessions over 1 s or 1 MiB slowed down by the server")
TALLY(limited_by_network, TOTAL, "sessions", NONE, none, "limited_by_network_total",
      "sessions over 1 s or 1 MiB slowed down by the network")
TALLY(limited_by_us, TOTAL, "sessions", NONE, none, "limited_by_us_total",
      "sessions over 1 s or 1 MiB slowed down by this proxy")
