/* SPDX-License-Identifier: MIT
 *
 * page_columns.tbl.h - one row per number that the page shows of a frontend, backend or server:
 * PAGE_COLUMN(id, head, form, kinds, place, help).
 *
 * The form is one of enum html_form. `kinds` says who has it: F(rontends), B(ackends), S(ervers). The place
 * is ALWAYS, or WIDE for a column that small windows leave out. A row defines the column, its place among the
 * values of struct page_row, and its line in the details of a server.
 */
PAGE_COLUMN(sessions, "Open", COUNT, FBS, ALWAYS, "sessions open now")
PAGE_COLUMN(sessions_max, "Peak", COUNT, FBS, WIDE, "maximum concurrent sessions")
PAGE_COLUMN(limit, "Limit", COUNT, FBS, WIDE, "maximum concurrent sessions allowed")
PAGE_COLUMN(rate, "New/s", COUNT, FBS, ALWAYS, "sessions started in the last second")
PAGE_COLUMN(total, "Total", COUNT, FBS, WIDE, "sessions since the start")
PAGE_COLUMN(bytes_to_server, "To server", BYTES, FBS, ALWAYS, "bytes from clients to servers")
PAGE_COLUMN(bytes_to_client, "To client", BYTES, FBS, ALWAYS, "bytes from servers to clients")
PAGE_COLUMN(spliced, "Spliced", PERCENT, FBS, ALWAYS, "share of these bytes that splice moved without a copy")
PAGE_COLUMN(queued, "Queue", COUNT, BS, ALWAYS, "clients waiting in the queue")
PAGE_COLUMN(queued_max, "Queue peak", COUNT, BS, WIDE, "maximum clients waiting in the queue")
PAGE_COLUMN(queue_limit, "Queue limit", COUNT, BS, WIDE, "maximum clients waiting in the queue (maxqueue)")
PAGE_COLUMN(queue_us, "Wait", TIME, BS, WIDE, "average time in the queue, over the last 1024 sessions")
PAGE_COLUMN(connect_us, "Connect", TIME, BS, ALWAYS, "average time to connect, over the last 1024 sessions")
PAGE_COLUMN(session_us, "Duration", TIME, BS, WIDE, "average duration of the last 1024 sessions")
PAGE_COLUMN(failures, "Failed", TROUBLE, BS, ALWAYS,
            "connects that failed, and sessions aborted by the server")
PAGE_COLUMN(retries, "Retries", TROUBLE, BS, WIDE, "connects retried after a failure")
PAGE_COLUMN(redispatches, "Moved", COUNT, BS, WIDE, "connects retried on another server")
PAGE_COLUMN(client_aborts, "Client aborts", COUNT, BS, WIDE, "sessions aborted by the client")
PAGE_COLUMN(server_aborts, "Server aborts", TROUBLE, BS, WIDE, "sessions aborted by the server")
PAGE_COLUMN(denied, "Denied", TROUBLE, F, ALWAYS, "clients denied by address or user")
PAGE_COLUMN(internal_errors, "Errors", TROUBLE, FBS, WIDE,
            "sessions that ended because weir ran short of a resource or met an error of its own")
PAGE_COLUMN(ports_percent, "Ports used", PERCENT, S, WIDE, "share of the local ports for it that are in use")
PAGE_COLUMN(weight, "Weight", COUNT, BS, WIDE, "effective weight, slow start included")
PAGE_COLUMN(probe_failures, "Failed checks", TROUBLE, S, WIDE, "health checks that failed")
PAGE_COLUMN(probe_downs, "Downs", TROUBLE, BS, WIDE, "times that health checks took it down")
PAGE_COLUMN(down_s, "Downtime", AGE, S, WIDE,
            "time down, in maintenance or without an address, since the start")
