/* SPDX-License-Identifier: MIT
 *
 * histograms.tbl.h - one row per value of a session whose distribution is kept:
 * HISTOGRAM(name, unit, shift, metric, help).
 *
 * Buckets count values of 2^shift units (histogram.h): a time in microseconds, or bytes. The metric is the
 * name in base units, seconds or bytes; a report prefixes it as it does those of tallies.tbl.h.
 */
HISTOGRAM(QUEUE_TIME, "us", 0, "queue_time_seconds", "time in queues, of sessions that were connected")
HISTOGRAM(CONNECT_TIME, "us", 0, "connect_time_seconds", "time until a server was connected, without queues")
HISTOGRAM(SESSION_TIME, "us", 10, "session_time_seconds", "time from accept to the end of a session")
HISTOGRAM(BYTES_TO_SERVER, "bytes", 4, "session_in_bytes", "bytes from the client in one session")
HISTOGRAM(BYTES_TO_CLIENT, "bytes", 4, "session_out_bytes", "bytes from the server in one session")
