/* SPDX-License-Identifier: MIT
 *
 * why_rig.h - frontends and backends without a socket and without workers, for the tests of commands that
 * explain: a frontend "in" with a rule by port, the backends "web" and "app".
 */
#ifndef WEIR_TESTS_WHY_RIG_H
#define WEIR_TESTS_WHY_RIG_H

#include <arpa/inet.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../balance/updates_by_hand.h"
#include "../engine/objects_by_hand.h"
#include "weir/admin/admin_answers.h"
#include "weir/admin/admin_commands.h"
#include "weir/base/clock.h"
#include "weir/net/netset.h"

static struct config_server web_servers[] = {
	{.name = "a", .weight = 1, .addr.kind = ADDR_IP},
	{.name = "b", .weight = 1, .addr.kind = ADDR_IP, .maxconn = 1},
	{.name = "spare", .weight = 1, .addr.kind = ADDR_IP, .backup = true},
};
static struct config_server app_servers[] = {{.name = "u", .weight = 1, .addr.kind = ADDR_IP}};
static struct config_backend backend_configs[] = {
	{.name = "web", .servers = web_servers, .server_count = 3,
	 .balance = {.algorithm = CONFIG_BALANCE_LEASTCONN}},
	{.name = "app", .servers = app_servers, .server_count = 1},
};
static struct config_ports app_ports = {8443, 8443};
static struct config_route routes[] = {{.backend = 1, .ports = &app_ports, .port_count = 1}};
static struct config_bind bind_configs[] = {{.addr.kind = ADDR_IP}, {.addr.kind = ADDR_IP}};
static struct config_frontend frontend_config = {
	.name = "in", .binds = bind_configs, .bind_count = 2, .backend = 0, .routes = routes,
	.route_count = 1};
static struct config config = {.backends = backend_configs, .backend_count = 2,
			       .frontends = &frontend_config, .frontend_count = 1};
static struct engine engine;
static const struct admin_peer peer = {.uid = 7, .level = CONFIG_ADMIN_ADMIN, .ours = true};
static struct updates_by_hand hand;
static struct admin_context context = {
	.engine = &engine, .state = DAEMON_READY, .updates = &hand.updates};

static inline void set_address(struct addr *a, uint16_t port)
{
	a->len = sizeof(a->in);
	a->in.sin_family = AF_INET;
	a->in.sin_port = htons(port);
	a->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

static inline int setup(void **state)
{
	struct net_prefix denied;
	const char *why;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		set_address(&web_servers[i].addr.addr, (uint16_t)(8001 + i));
	set_address(&app_servers[0].addr.addr, 9000);
	set_address(&bind_configs[0].addr.addr, 8080);
	set_address(&bind_configs[1].addr.addr, 8443);
	assert_int_equal(net_prefix_parse("10.0.0.0/8", &denied, &why), 0);
	frontend_config.deny = netset_new(&denied, 1);
	assert_non_null(frontend_config.deny);
	frontend_config.deny_list.list = &denied;
	frontend_config.deny_list.count = 1;
	memset(&engine, 0, sizeof(engine));
	atomic_init(&engine.settings.maxconn, INT_MAX);
	objects_by_hand(&engine, &config);
	frontend_config.deny_list = (struct config_networks){NULL, 0};
	entries_set_maxconn(&engine.entries, 1000);
	context.started_ns = clock_mono_ns() - 5 * NS_PER_SEC - NS_PER_SEC / 2;
	context.state = DAEMON_READY;
	updates_by_hand_init(&hand, engine.backends, config.backend_count);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	server_updates_free(&hand.updates);
	objects_by_hand_free(&engine);
	netset_free(frontend_config.deny);
	return 0;
}

/* Freed by the caller. */
static inline char *ask(const char *command)
{
	struct admin_question q;
	struct text out;

	text_init(&out);
	assert_int_equal(admin_command(&context, &peer, command, &out, &q), ADMIN_ANSWERED);
	assert_false(out.failed);
	return out.bytes != NULL ? out.bytes : strdup("");
}

static inline void assert_answer(const char *command, const char *answer)
{
	char *out = ask(command);

	assert_string_equal(out, answer);
	free(out);
}

static inline void assert_has(const char *command, const char *part)
{
	char *out = ask(command);

	if (strstr(out, part) == NULL)
		fail_msg("no '%s' in:\n%s", part, out);
	free(out);
}

static inline struct server *server_at(size_t backend, size_t place)
{
	return engine.backends[backend]->servers[place];
}

#endif
