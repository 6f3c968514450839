/* SPDX-License-Identifier: MIT
 *
 * counters.tbl.h - one row per counter of a worker: COUNTER(name, kind, unit, help).
 *
 * A row defines the field of struct counters, its line in `show info`, its sum over all workers and its
 * description in reports (counter_row()). One writer (the worker); readers load relaxed. The kind is TOTAL,
 * or GAUGE for a value that can also fall; the unit names the thing counted, from a small set of words.
 */
COUNTER(sessions, GAUGE, "sessions", "sessions open now")
COUNTER(timers, GAUGE, "timers", "timers set now")
COUNTER(pending_ops, GAUGE, "ops", "ops pending now, including the permanent ones of listeners and mailboxes")
COUNTER(pipes_in_use, GAUGE, "pipes", "pipes in use by flows now")
COUNTER(pipes_resting, GAUGE, "pipes", "idle pipes in the workers' caches")
COUNTER(bufs_in_use, GAUGE, "buffers", "pooled buffers in use by flows now")
COUNTER(bufs_in_use_bytes, GAUGE, "bytes", "size of the pooled buffers in use by flows now")
COUNTER(session_slots, GAUGE, "slots", "session structures allocated now")
COUNTER(accepted, TOTAL, "connections", "connections accepted")
COUNTER(handed_off, TOTAL, "connections", "accepted connections given to a less loaded worker")
COUNTER(accept_errors, TOTAL, "errors", "accepts that failed for lack of descriptors or memory")
COUNTER(accept_pauses, TOTAL, "pauses", "times a listener paused")
COUNTER(rate_pauses, TOTAL, "pauses", "times a listener paused for a rate-limit")
COUNTER(denied, TOTAL, "clients", "clients denied by address or user")
COUNTER(source_limited, TOTAL, "clients", "clients denied by maxconn-per-source")
COUNTER(source_waits, TOTAL, "clients", "clients that waited for another session of their source to end")
COUNTER(connects, TOTAL, "connects", "connects started")
COUNTER(connect_failures, TOTAL, "connects", "connects that failed")
COUNTER(retries, TOTAL, "connects", "connects retried after a failure")
COUNTER(redispatches, TOTAL, "connects", "connects retried on another server")
COUNTER(ports_exhausted, TOTAL, "connects", "connects for which a source address had no port left")
COUNTER(source_spills, TOTAL, "connects", "times the next source address was used instead")
COUNTER(self_connects, TOTAL, "connects", "connects, health checks included, that reached their own socket")
COUNTER(bytes_to_server, TOTAL, "bytes", "bytes from clients to servers")
COUNTER(bytes_to_client, TOTAL, "bytes", "bytes from servers to clients")
COUNTER(bytes_spliced, TOTAL, "bytes", "bytes moved by splice, both directions")
COUNTER(unacked_closes, TOTAL, "sessions", "sessions closed with bytes that a peer had not acknowledged")
COUNTER(pipes_missing, TOTAL, "pipes", "times a flow wanted a pipe and copied instead")
COUNTER(pipes_killed, TOTAL, "pipes", "pipes closed with bytes in them")
COUNTER(budget_stops, TOTAL, "stops", "times a flow yielded to others")
COUNTER(stale_events, TOTAL, "events", "events for a session that was gone")
COUNTER(turns, TOTAL, "turns", "turns of the loops")
COUNTER(memory_pauses, TOTAL, "pauses", "times a listener paused because memory was short")
