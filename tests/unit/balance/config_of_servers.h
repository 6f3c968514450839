/* SPDX-License-Identifier: MIT
 *
 * config_of_servers.h - a configuration of one backend, made by hand for the tests of this folder.
 *
 * One structure without allocations.
 */
#ifndef WEIR_TESTS_CONFIG_OF_SERVERS_H
#define WEIR_TESTS_CONFIG_OF_SERVERS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/config.h"

#define TEST_SERVERS_MAX 16

struct config_of_servers {
	struct config config;
	struct config_backend backend;
	struct config_server servers[TEST_SERVERS_MAX];
};

/* Servers a, b, c ... with these weights, at 127.0.0.1, ports 1001, 1002 ... */
static inline void config_of_servers_init(struct config_of_servers *c, const unsigned *weights, size_t count)
{
	memset(c, 0, sizeof(*c));
	check(count <= TEST_SERVERS_MAX);
	for (size_t i = 0; i < count; i++) {
		char text[64];

		(void)snprintf(c->servers[i].name, sizeof(c->servers[i].name), "%c", 'a' + (int)i);
		(void)snprintf(text, sizeof(text), "127.0.0.1:%zu", 1001 + i);
		check(addr_parse(text, &c->servers[i].addr, NULL, NULL) == 0);
		c->servers[i].weight = weights[i];
	}
	c->backend.servers = c->servers;
	c->backend.server_count = count;
	c->config.backends = &c->backend;
	c->config.backend_count = 1;
}

/* The server's address becomes a name that is not resolved yet. */
static inline void config_of_servers_unresolve(struct config_of_servers *c, size_t index)
{
	check(addr_parse("name:80", &c->servers[index].addr, NULL, NULL) == 0);
}

#endif
