/* SPDX-License-Identifier: MIT
 *
 * counters.tbl.h - one row per worker counter: COUNTER(name, kind, unit, help).
 *
 * A row defines the field of struct counters, its line in `show info`, its sum over workers and what a
 * report says about it (counter_row()). One writer (the worker); readers load relaxed. The kind is TOTAL, or
 * GAUGE where it can also go down; the unit is what is counted, one of a few words.
 */
COUNTER(sessions, GAUGE, "sessions", "sessions currently open")
COUNTER(timers, GAUGE, "timers", "timers currently set")
COUNTER(pending_ops, GAUGE, "ops",
	"operations pending, including the permanent ones of listeners and mailboxes")
COUNTER(pipes_in_use, GAUGE, "pipes", "pipes currently held by flows")
COUNTER(pipes_resting, GAUGE, "pipes", "idle pipes in workers' caches")
COUNTER(bufs_in_use, GAUGE, "buffers", "pooled buffers currently held by flows")
COUNTER(bufs_in_use_bytes, GAUGE, "bytes", "size of the buffers in use")
COUNTER(session_slots, GAUGE, "slots", "session structures with memory allocated")
COUNTER(accepted, TOTAL, "connections", "connections accepted")
COUNTER(handed_off, TOTAL, "connections", "accepted connections handed to a less loaded worker")
COUNTER(accept_errors, TOTAL, "errors", "accepts that failed for lack of descriptors or memory")
COUNTER(accept_pauses, TOTAL, "pauses", "times a listener paused")
COUNTER(rate_pauses, TOTAL, "pauses", "of these, because of a rate-limit")
COUNTER(denied, TOTAL, "clients", "clients denied by address or user")
COUNTER(source_limited, TOTAL, "clients", "clients denied by maxconn-per-source")
COUNTER(source_waits, TOTAL, "clients", "clients that waited for another session of their source to end")
COUNTER(connects, TOTAL, "connects", "connects started")
COUNTER(connect_failures, TOTAL, "connects", "connects that failed")
COUNTER(retries, TOTAL, "connects", "connects retried after a failure")
COUNTER(redispatches, TOTAL, "connects", "of these, to another server")
COUNTER(ports_exhausted, TOTAL, "connects", "connects for which a source address had no port left")
COUNTER(source_spills, TOTAL, "connects", "times the next source address was used instead")
COUNTER(self_connects, TOTAL, "connects", "connects, health checks included, that reached their own socket")
COUNTER(bytes_to_server, TOTAL, "bytes", "bytes from clients to servers")
COUNTER(bytes_to_client, TOTAL, "bytes", "bytes from servers to clients")
COUNTER(bytes_spliced, TOTAL, "bytes", "bytes in either direction, moved by splice")
COUNTER(unacked_closes, TOTAL, "sessions", "sessions closed with bytes that a peer had not acknowledged")
COUNTER(pipes_missing, TOTAL, "pipes", "times a flow wanted a pipe and copied instead")
COUNTER(pipes_killed, TOTAL, "pipes", "pipes closed with bytes still in them")
COUNTER(budget_stops, TOTAL, "stops", "times a flow yielded to others")
COUNTER(stale_events, TOTAL, "events", "events for a session that no longer existed")
COUNTER(turns, TOTAL, "turns", "turns of the event loops")
COUNTER(memory_pauses, TOTAL, "pauses", "times a listener paused because memory was short")
