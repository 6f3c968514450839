/* SPDX-License-Identifier: MIT
 *
 * newcomers.c - servers that come while the daemon runs: do their sockets get their options on this machine?
 * And their histograms.
 *
 * Owns nothing but its place among the observers. Main thread.
 */
#include "newcomers.h"

#include <stdint.h>

#include "weir/base/log.h"
#include "weir/engine/histograms.h"
#include "weir/host/refusal.h"
#include "weir/host/socket_preflight.h"

static int on_prepare_add(void *arg, const struct backend *b, const struct config_server *config)
{
	struct config_backend alone = *b->config;
	char reason[OPTION_ERROR_MAX], why[LOG_RECORD_MAX];
	int err;

	(void)arg;
	alone.servers = (struct config_server *)(uintptr_t)config; /* it is only read */
	alone.server_count = 1;
	err = socket_preflight_backend(&alone, reason, sizeof(reason));
	if (!err)
		return 0;
	refusal_of_servers(&alone, reason, why, sizeof(why));
	log_line(LOG_LEVEL_WARNING, "server %s/%s not added: %s", alone.name, config->name, why);
	return err;
}

static void on_server_added(void *arg, struct server *s)
{
	const struct newcomers *n = arg;

	(void)histograms_follow_server(n->engine, s); /* without memory, the next walk tries */
}

void newcomers_init(struct newcomers *n, struct engine *e, struct server_updates *u)
{
	*n = (struct newcomers){
		.engine = e,
		.observer = {.prepare_add = on_prepare_add, .server_added = on_server_added, .arg = n},
		.watching = true,
	};
	server_updates_observe(u, &n->observer);
}

void newcomers_stop(struct newcomers *n)
{
	if (!n->watching)
		return;
	server_updates_unobserve(&n->observer);
	n->watching = false;
}
