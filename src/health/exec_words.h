/* SPDX-License-Identifier: MIT
 *
 * exec_words.h - arguments and environment of a program that checks a server: HAProxy's.
 *
 * Nothing of our own environment is in it. Pure code. Any thread.
 */
#ifndef WEIR_HEALTH_EXEC_WORDS_H
#define WEIR_HEALTH_EXEC_WORDS_H

#include <stddef.h>

#include "weir/config/config.h"
#include "weir/net/addr.h"

/* The program, HAProxy's four, its own, and NULL. */
#define EXEC_ARGS_MAX (1 + 4 + 32 + 1)
#define EXEC_ENV_MAX  14

struct exec_facts {
	const struct config_check *check; /* CONFIG_CHECK_EXEC */
	const char *proxy_name;
	unsigned proxy_id;
	const struct addr *proxy; /* where clients come in: a [listen]'s first address; NULL = unknown */
	const char *server_name;
	unsigned server_id;
	const struct addr *server;
	unsigned maxconn;
	unsigned sessions;
};

/* All pointers are into itself, or into `facts->check`. */
struct exec_words {
	const char *argv[EXEC_ARGS_MAX];
	const char *envp[EXEC_ENV_MAX];
	size_t used;
	char text[4096];
};

void exec_words_make(struct exec_words *w, const struct exec_facts *f);

#endif
