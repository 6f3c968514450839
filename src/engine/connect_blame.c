/* SPDX-License-Identifier: MIT
 *
 * connect_blame.c - what follows for the server, and for the log, when a connect has failed.
 *
 * Decides nothing about the session. A worker's thread.
 */
#include "connect_blame.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/config/server_check.h"
#include "weir/engine/server_sock.h"
#include "comeback.h"
#include "server_port.h"
#include "session.h"
#include "worker.h"

/* Control may not have been able to act on the first news of a server that fails. */
#define NEWS_EACH 10

void connect_log_failure(struct session *s, int err)
{
	struct worker *w = s->worker;
	char text[ADDR_TEXT_MAX];
	const struct addr a = server_port_shown(s);
	const char *server = s->at->config->name;
	const bool shortage = server_sock_is_shortage(err);

	if (!log_limit_ok(shortage ? &w->shortage_limit : server_line_limit(s),
			  shortage ? LOG_CAUSE_SHORTAGE : LOG_CAUSE_CONNECT, (uint32_t)-err, w->loop.now_ns,
			  1))
		return;
	if (shortage)
		log_line(LOG_LEVEL_WARNING,
			 "no connection to server %s/%s: %s; a limit of this machine, not a fault of the "
			 "server",
			 s->back->config->name, server, strerrordesc_np(-err));
	else
		log_line(LOG_LEVEL_WARNING, "server %s/%s at %s: connect failed: %s (try %u)",
			 s->back->config->name, server, addr_format(&a, text),
			 strerrordesc_np(-err), s->tries);
}

void connect_blame_server(struct session *s)
{
	const struct engine *e = s->worker->engine;
	int failing, limit;

	atomic_fetch_add_explicit(&s->at->server->failures, 1, memory_order_relaxed);
	if (unlikely(s->at->takes_client_name))
		return; /* its client chose it: others may fare better */
	failing = atomic_fetch_add_explicit(&s->at->server->failing, 1, memory_order_relaxed) + 1;
	comeback_end(s, SERVER_TRIAL_FAILED);
	if (server_address_failed(s->at->server, s->at))
		e->notify(e->notify_arg);
	if (likely(s->back->config->observe.what == CONFIG_OBSERVE_OFF))
		return;
	limit = (int)config_server_observe_limit(s->back->config, s->at->config);
	if (failing == limit || failing % NEWS_EACH == 0)
		e->notify(e->notify_arg);
}
