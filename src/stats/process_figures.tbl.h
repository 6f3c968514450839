/* SPDX-License-Identifier: MIT
 *
 * process_figures.tbl.h - one row per figure of the process that is not a counter of the workers:
 * PROCESS(name, kind, help, value).
 *
 * A row defines a key of `show info` (figure.h). The name ends in its unit, where that is not what it counts.
 * The value is an expression of `x` (struct process_facts). Counters of workers are in counters.tbl.h.
 */
PROCESS(connection_rate, GAUGE, "connections of all frontends in the last second", x->rates.connections)
PROCESS(connection_rate_max, GAUGE, "maximum connections of one frontend, or of all now, in one second",
	x->rates.connections_max)
PROCESS(byte_rate, GAUGE, "bytes written to clients and servers, per second over the last measurement",
	x->rates.bytes)
PROCESS(idle_percent, GAUGE, "part of the workers' CPU time that is not used", x->rates.idle_percent)
PROCESS(busy_ns, TOTAL, "CPU time of the workers' threads", x->busy_ns)
PROCESS(sticky_entries, GAUGE, "clients or addresses that have a server by 'sticky' now",
	sticky_entries(x->e))
PROCESS(pipes_made, GAUGE, "pipes that exist now, in use or not",
	atomic_load_explicit(&x->e->pipes.made, memory_order_relaxed))
PROCESS(pipes_resting_pool, GAUGE, "idle pipes in the list that workers share", pipe_pool_idle(&x->e->pipes))
PROCESS(pipes_bytes, GAUGE, "size of the pipes that exist now", counter_get(&x->e->pipes.bytes))
PROCESS(pipes_created, TOTAL, "pipes created", counter_get(&x->e->pipes.created))
PROCESS(pipes_closed, TOTAL, "pipes closed", counter_get(&x->e->pipes.closed))
PROCESS(pipes_too_small, TOTAL, "pipes closed at once because the kernel made them too small",
	counter_get(&x->e->pipes.too_small))
PROCESS(pipes_refused, TOTAL, "pipes not created because of a limit or an error",
	counter_get(&x->e->pipes.refused))
PROCESS(bufs_bytes, GAUGE, "memory of the buffers that exist now, in use or not",
	counter_get(&x->e->bufs.bytes))
PROCESS(bufs_resting_pool_bytes, GAUGE, "memory of idle buffers in the list that workers share",
	buf_pool_idle(&x->e->bufs))
PROCESS(bufs_created, TOTAL, "buffers allocated", counter_get(&x->e->bufs.created))
PROCESS(bufs_freed, TOTAL, "buffers freed", counter_get(&x->e->bufs.freed))
PROCESS(bufs_refused, TOTAL, "buffers not allocated because of the budget or for lack of memory",
	counter_get(&x->e->bufs.refused))
PROCESS(ports_range, GAUGE, "local ports that the kernel chooses from; 0 = unknown", x->ports)
PROCESS(ports_used, GAUGE, "ports in use for the server that uses the largest part of its ports",
	x->most.used)
PROCESS(ports_available, GAUGE, "ports that this server has at all its source addresses", x->most.available)
PROCESS(ports_used_percent, GAUGE, "part of its ports that this server uses", port_use_percent(&x->most))
