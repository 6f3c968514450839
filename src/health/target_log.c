/* SPDX-License-Identifier: MIT
 *
 * target_log.c - log lines about the health checks of a server, at a bounded rate.
 *
 * Main thread.
 */
#include "target_log.h"

#include "weir/base/clock.h"
#include "weir/base/log.h"
#include "weir/engine/server_sock.h"

#define LINES_PER_SECOND 5

void target_log_shortage(const struct target *t, const struct probe_result *r)
{
	if (log_limit_ok(&t->owner->shortage_limit, LOG_CAUSE_SHORTAGE, (uint32_t)r->code, clock_mono_ns(),
			 1))
		log_line(LOG_LEVEL_WARNING,
			 "could not check server %s/%s: %s; "
			 "a limit of this machine, not a fault of the server",
			 t->server->backend->name, t->server->config->name, r->detail);
}

/* Logs each failure on the way down; at debug level for a server that is already down. */
void target_log_failure(struct target *t, const struct probe_result *r)
{
	const enum log_level level = health_is_up(&t->health) ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG;

	/* One limit per server and result: one server's failures must not hide another's. */
	if (!log_wants(level) ||
	    !log_limit_ok(&t->limit, LOG_CAUSE_CHECK, (uint32_t)r->code, clock_mono_ns(), LINES_PER_SECOND))
		return;
	log_line(level, "server %s/%s failed a health check: %s, %s, %lld ms; health %u of %u, up from %u",
		 t->server->backend->name, t->server->config->name, probe_code_word(r->code), r->detail,
		 (long long)r->duration_ms, t->health.health, t->health.rise + t->health.fall - 1,
		 t->health.rise);
}

/* A port that the kernel may assign to anyone is a configuration mistake, so the warning is repeated while
 * the server is down. */
void target_log_itself(struct target *t)
{
	counter_add(&t->owner->engine->control.self_connects, 1);
	if (log_limit_ok(&t->limit, LOG_CAUSE_CHECK, PROBE_CODES, clock_mono_ns(), 1))
		server_sock_log_itself(t->server->backend, t->server->config, &t->probe.to);
}
