/* SPDX-License-Identifier: MIT
 *
 * tallies.tbl.h - one row for each thing that is counted of every frontend, backend and server:
 * TALLY(field, kind, unit, shown, column, metric, help).
 *
 * From a row come the fields of struct tally and struct tally_sum, how it is read and added up, its column of
 * `show stat`, and what a report says about it (tally_row()). The kinds:
 *   TOTAL, GAUGE  each worker has its own; together they are the sum. A gauge goes down too;
 *   MAX           the largest of all workers;
 *   RATE          what began in the last second, from the two seconds that a worker keeps, and no field.
 * `shown` says whose column it is just as it is counted: F(rontends), B(ackends), S(ervers), or NONE where
 * admin_stat.c makes the column of more than this. A column is one of stat_columns.tbl.h, or none. The metric
 * is a name as HAProxy's exporter has it, behind "weir_frontend_", "weir_backend_" or "weir_server_".
 * What every session touches comes first, to be together in a cache line.
 */
TALLY(total, TOTAL, "sessions", B, stot, "sessions_total", "sessions that began; of a server, tries")
TALLY(sessions, GAUGE, "sessions", NONE, scur, "current_sessions",
      "sessions open now; 0 of a server, which has a count of its own")
TALLY(sessions_max, MAX, "sessions", NONE, smax, "max_sessions",
      "most sessions at a time, of all workers together as one of them saw it")
TALLY(last_ns, MAX, "ns", NONE, lastsess, "last_session_time", "when one began last, monotonic; 0 = never")
TALLY(bytes_to_server, TOTAL, "bytes", FBS, bin, "bytes_in_total", "bytes from clients to servers")
TALLY(bytes_to_client, TOTAL, "bytes", FBS, bout, "bytes_out_total", "bytes from servers to clients")
TALLY(retries, TOTAL, "tries", S, wretr, "retry_warnings_total", "tries again after a failure of this server")
TALLY(redispatches, TOTAL, "tries", S, wredis, "redispatch_warnings_total", "of these, to another server")
TALLY(client_aborts, TOTAL, "sessions", BS, cli_abrt, "client_aborts_total",
      "sessions that the client reset, or in which it left or vanished")
TALLY(server_aborts, TOTAL, "sessions", BS, srv_abrt, "server_aborts_total",
      "sessions that the server reset, or in which it vanished")
TALLY(internal_errors, TOTAL, "sessions", FBS, eint, "internal_errors_total",
      "sessions that ended by a shortage of ours")
TALLY(rate, RATE, "sessions", FBS, rate, "current_session_rate", "that began in the last second")
TALLY(rate_max, MAX, "sessions", NONE, rate_max, "max_session_rate",
      "most that began in one second, of all workers together")
TALLY(samples, GAUGE, "sessions", NONE, none, "time_samples", "sessions of which the sums of times are")
