/* SPDX-License-Identifier: MIT
 *
 * pulse.tbl.h - one row per value that shows how busy a worker is: PULSE(name, kind, unit, metric, help).
 *
 * The kind is TOTAL, or GAUGE for a value that can also fall. The metric is in base units, so that a report
 * divides nanoseconds by 10^9; it prefixes the name with "weir_worker_".
 */
PULSE(busy_ns, TOTAL, "ns", "busy_seconds_total", "CPU time of the worker's thread")
PULSE(turns, TOTAL, "turns", "turns_total", "turns of the worker's loop")
PULSE(sessions, GAUGE, "sessions", "current_sessions", "sessions of the worker open now")
PULSE(timer_runs, TOTAL, "turns", "timer_runs_total", "turns in which a timer was due")
PULSE(timer_lag_ns, TOTAL, "ns", "timer_lag_seconds_total",
      "time by which the first timer of each of these turns was late")
PULSE(timer_lag_max_ns, GAUGE, "ns", "timer_lag_max_seconds",
      "longest time by which a timer was late, since the start or since maxima were cleared")
