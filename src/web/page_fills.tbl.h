/* SPDX-License-Identifier: MIT
 *
 * page_fills.tbl.h - one row per thing that can run out: PAGE_FILL(id, name, form, worst, used, limit, where,
 * help).
 *
 * `used` and `limit` are expressions of `s` (struct page_survey); unknown or without a limit, it is not
 * shown. `worst` is how bad it is when it is full: GOOD if that is no problem in itself, or shown as another
 * one. `where` is the struct page_owner that it belongs to, or NULL. The help says what happens when it is
 * full, and what to do.
 */
PAGE_FILL(sessions, "Sessions", COUNT, BAD, s->facts->sessions, s->facts->maxconn, NULL,
	  "at maxconn, new clients wait in the backlog: raise maxconn, or add machines")
PAGE_FILL(frontend, "Fullest frontend", COUNT, GOOD, s->frontend.used, s->frontend.limit, &s->frontend.owner,
	  "at its maxconn, its new clients wait in the backlog")
PAGE_FILL(server, "Fullest server", COUNT, GOOD, s->server.used, s->server.limit, &s->server.owner,
	  "at its maxconn, new sessions wait in the queue")
PAGE_FILL(queue, "Fullest queue", COUNT, GOOD, s->queue.used, s->queue.limit, &s->queue.owner,
	  "at maxqueue, new clients are refused")
PAGE_FILL(ports, "Local ports", COUNT, BAD, FIGURE(ports_used), FIGURE(ports_available), &s->ports.owner,
	  "without a free port, connects to the server fail: add addresses to 'source', or more servers")
PAGE_FILL(fds, "Descriptors", COUNT, BAD, FIGURE(open_fds), FIGURE(limit_fds), NULL,
	  "without a descriptor, clients and connects wait or fail: raise LimitNOFILE=")
PAGE_FILL(memory, "Memory", BYTES, BAD, FIGURE(memory_used_bytes), FIGURE(memory_limit_bytes), NULL,
	  "at 90 % of the group's limit, new clients wait in the backlog: raise the limit, or lower maxconn")
PAGE_FILL(buffers, "Buffers", BYTES, WARN, FIGURE(bufs_in_use_bytes), FIGURE(limit_bufs_bytes), NULL,
	  "without a buffer, sessions wait: lower maxconn, or raise the memory limit")
PAGE_FILL(pipes, "Splice pipes", COUNT, WARN, FIGURE(pipes_in_use), FIGURE(limit_pipes), NULL,
	  "without a pipe, bulk data is copied, which takes more CPU time: raise maxpipes")
PAGE_FILL(cpu, "CPU time", PERCENT, WARN,
	  FIGURE(idle_percent) != PAGE_NO_VALUE ? 100 - FIGURE(idle_percent) : PAGE_NO_VALUE, 100, NULL,
	  "all workers are busy, so everybody waits: add threads, or machines")
