/* SPDX-License-Identifier: MIT
 *
 * objects.tbl.h - one row per number about a frontend, backend or server that is not a tally
 * (tallies.tbl.h): FRONTEND, BACKEND or SERVER(name, type, help, value).
 *
 * The name is the JSON key and, behind "weir_frontend_" and so on, the metric; a unit at its end becomes
 * seconds there (metrics.h). `value` is an expression of `o` (struct object).
 */
#ifndef FRONTEND
#define FRONTEND(name, type, help, value)
#endif
#ifndef BACKEND
#define BACKEND(name, type, help, value)
#endif
#ifndef SERVER
#define SERVER(name, type, help, value)
#endif

FRONTEND(accepting, GAUGE, "1 if it serves new clients, else 0", object_is_accepting(o))
FRONTEND(limit_sessions, GAUGE, "maximum concurrent sessions", frontend_limit(o->fe))
FRONTEND(limit_session_rate, GAUGE, "maximum sessions started per second; 0 = no limit",
	 o->fe->config->rate_limit)
FRONTEND(denied_connections_total, COUNTER, "clients that access rules turned away",
	 counter_get(&o->fe->denied))
FRONTEND(connections_total, COUNTER, "connections accepted", counter_get(&o->fe->total))
FRONTEND(endpoints, GAUGE, "addresses that it listens on", object_count_endpoints(o))
FRONTEND(last_session_timestamp_ns, GAUGE, "when its last session started, in Unix time; 0 = never",
	 object_wall_ns(o, o->sum->last_ns))

BACKEND(up, GAUGE, "1 if a server takes new sessions, else 0", o->b->usable > 0)
BACKEND(active_servers, GAUGE, "servers that take new sessions and are not backup",
	sum_of_servers(o).active)
BACKEND(backup_servers, GAUGE, "backup servers that are usable", sum_of_servers(o).backup)
BACKEND(current_queue, GAUGE, "clients queued for any of its servers",
	object_count(&o->b->queue.waiting_any))
BACKEND(max_queue, GAUGE, "maximum of current_queue", object_count(&o->b->queue.waiting_max))
BACKEND(limit_queue, GAUGE, "maximum clients queued; 0 = no limit", o->b->config->maxqueue)
BACKEND(connections_total, COUNTER, "sessions that were connected to its servers",
	backend_totals(o->b).total)
BACKEND(connection_errors_total, COUNTER, "connects to its servers that failed",
	backend_totals(o->b).failures)
BACKEND(loadbalanced_total, COUNTER, "times one of its servers was chosen", backend_totals(o->b).chosen)
BACKEND(check_downs_total, COUNTER, "times health checks took one of its servers down",
	backend_totals(o->b).probe_downs)
BACKEND(queue_time_average_us, GAUGE, "average queue time of its last sessions",
	tally_average_us(o->sum, TALLY_QUEUE))
BACKEND(connect_time_average_us, GAUGE, "average connect time of its last sessions",
	tally_average_us(o->sum, TALLY_CONNECT))
BACKEND(session_time_average_us, GAUGE, "average duration of its last sessions",
	tally_average_us(o->sum, TALLY_TOTAL))
BACKEND(last_session_timestamp_ns, GAUGE, "when its last session started, in Unix time; 0 = never",
	object_wall_ns(o, o->sum->last_ns))

SERVER(up, GAUGE, "1 if it takes new sessions as far as health, address and administrator go, else 0",
       object_state(o) == SERVER_UP)
SERVER(draining, GAUGE, "1 if it takes no new sessions and finishes those it has, else 0",
       object_state(o) == SERVER_DRAIN || object_state(o) == SERVER_NOLB)
SERVER(maintenance, GAUGE, "1 if it is in maintenance, else 0", object_state(o) == SERVER_MAINT)
SERVER(backup, GAUGE, "1 if it is a backup server, else 0", o->s->config->backup)
SERVER(weight, GAUGE, "weight in effect, with its slow start", server_weight_in_effect(o->s))
SERVER(limit_sessions, GAUGE, "maximum concurrent sessions; 0 = no limit",
       atomic_load_explicit(&o->s->limit, memory_order_relaxed))
SERVER(current_queue, GAUGE, "clients queued for this server", object_count(&o->s->queued))
SERVER(max_queue, GAUGE, "maximum of current_queue", object_count(&o->s->queued_max))
SERVER(connections_total, COUNTER, "sessions that were connected", counter_get(&o->s->total))
SERVER(connection_errors_total, COUNTER, "connects that failed", counter_get(&o->s->failures))
SERVER(loadbalanced_total, COUNTER, "times it was chosen", counter_get(&o->s->chosen_total))
SERVER(check_failures_total, COUNTER, "failed health checks", object_check_failures(o))
SERVER(check_downs_total, COUNTER, "times health checks took it down", object_check_downs(o))
SERVER(state_changed_timestamp_ns, GAUGE, "when its state changed last, in Unix time; 0 = never",
       object_wall_ns(o, (uint64_t)o->s->changed_ns))
SERVER(downtime_ns_total, COUNTER, "time down, in maintenance or without an address", object_down_ns(o))
SERVER(queue_time_average_us, GAUGE, "average queue time of its last sessions",
       tally_average_us(o->sum, TALLY_QUEUE))
SERVER(connect_time_average_us, GAUGE, "average connect time of its last sessions",
       tally_average_us(o->sum, TALLY_CONNECT))
SERVER(session_time_average_us, GAUGE, "average duration of its last sessions",
       tally_average_us(o->sum, TALLY_TOTAL))
SERVER(last_session_timestamp_ns, GAUGE, "when its last session started, in Unix time; 0 = never",
       object_wall_ns(o, o->sum->last_ns))

#undef FRONTEND
#undef BACKEND
#undef SERVER
