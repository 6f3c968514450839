/* SPDX-License-Identifier: MIT
 *
 * page_figures.tbl.h - one row per figure of the process that the page looks at for problems and limits:
 * PAGE_FIGURE(name).
 *
 * The names are those that page_source.figures reports. A figure that is not reported is unknown.
 */
PAGE_FIGURE(pipes_in_use)
PAGE_FIGURE(limit_pipes)
PAGE_FIGURE(bufs_in_use_bytes)
PAGE_FIGURE(limit_bufs_bytes)
PAGE_FIGURE(open_fds)
PAGE_FIGURE(limit_fds)
PAGE_FIGURE(idle_percent)
PAGE_FIGURE(ports_used)
PAGE_FIGURE(ports_available)
PAGE_FIGURE(memory_used_bytes)
PAGE_FIGURE(memory_limit_bytes)
PAGE_FIGURE(memory_is_short)
PAGE_FIGURE(generation)
PAGE_FIGURE(trial_left_s)
PAGE_FIGURE(last_reload_ok)
PAGE_FIGURE(last_reload_time_s)
PAGE_FIGURE(log_dropped)
PAGE_FIGURE(log_last_dropped_time_s)
