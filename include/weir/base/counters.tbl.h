/* SPDX-License-Identifier: MIT
 *
 * counters.tbl.h - one row a counter of a worker: COUNTER(name, unit, help).
 *
 * From a row come the field of struct counters, its line in `show info` and its sum over workers.
 * One writer (the worker); readers load relaxed. Gauges go down too; they are marked so by unit.
 */
COUNTER(sessions, gauge, "sessions open now")
COUNTER(timers, gauge, "timers set now")
COUNTER(pending_ops, gauge, "ops pending now, the standing ones of listeners and mailboxes included")
COUNTER(pipes_in_use, gauge, "pipes that flows hold now")
COUNTER(pipes_resting, gauge, "pipes that rest in workers' caches")
COUNTER(bufs_in_use, gauge, "pooled buffers that flows hold now")
COUNTER(bufs_in_use_bytes, gauge, "their size")
COUNTER(session_slots, gauge, "session structures that have memory")
COUNTER(accepted, total, "connections accepted")
COUNTER(handed_off, total, "accepted connections given to a less loaded worker")
COUNTER(accept_errors, total, "accepts that failed for want of descriptors or memory")
COUNTER(accept_pauses, total, "times a listener paused")
COUNTER(rate_pauses, total, "of these, for a rate-limit")
COUNTER(denied, total, "clients denied by address or user")
COUNTER(source_limited, total, "clients denied by maxconn-per-source")
COUNTER(source_waits, total, "clients that waited for another session of their source to end")
COUNTER(connects, total, "connects begun")
COUNTER(connect_failures, total, "connects that failed")
COUNTER(retries, total, "connects begun again after a failure")
COUNTER(redispatches, total, "of these, to another server")
COUNTER(ports_exhausted, total, "connects for which a source address had no port left")
COUNTER(source_spills, total, "times the next source address was used instead")
COUNTER(self_connects, total, "connects, also of checks, that met themselves, as nobody listened")
COUNTER(bytes_to_server, total, "bytes from clients to servers")
COUNTER(bytes_to_client, total, "bytes from servers to clients")
COUNTER(bytes_spliced, total, "of both, moved by splice")
COUNTER(unacked_closes, total, "sessions closed with bytes that a peer had not acknowledged")
COUNTER(pipes_missing, total, "times a flow wanted a pipe and copied instead")
COUNTER(pipes_killed, total, "pipes closed with bytes in them")
COUNTER(budget_stops, total, "times a flow gave way to others")
COUNTER(stale_events, total, "events for a session that was gone")
COUNTER(turns, total, "turns of the loops")
