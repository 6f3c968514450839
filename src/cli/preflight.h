/* SPDX-License-Identifier: MIT
 *
 * preflight.h - `check --probe`: tests on this machine what reading a configuration cannot show.
 *
 * Main thread.
 */
#ifndef WEIR_CLI_PREFLIGHT_H
#define WEIR_CLI_PREFLIGHT_H

#include "weir/cli/cli.h"

/* One test and its result. */
struct preflight_line {
	const char *what; /* static: "user", "driver", "resolver", "bind", "resolve", "connect",
			  * "program" */
	char name[2 * CONFIG_NAME_MAX + 1];    /* the frontend of a bind, BACKEND/NAME of a server */
	char address[ADDR_TEXT_MAX];
	bool failed;
	char words[320]; /* the reason, or the time it took */
};

struct preflight {
	const struct config *config; /* borrows */
	struct preflight_line *lines; /* owns */
	size_t count;
	size_t failed;
	bool no_memory;
};

/* Tries to bind, resolve and connect, and prints a table (or JSON) on stdout. Leaves nothing behind and
 * disturbs nothing. EXIT_ENVIRONMENT if any test failed. */
enum exit_code preflight_run(const struct cli_args *a, const struct config *c);

/* preflight_bind.c, preflight_servers.c: each adds its own lines. */
void preflight_binds(struct preflight *p);
void preflight_servers(struct preflight *p);
/* preflight_line.c. A new line, NULL if out of memory. Earlier lines may move. */
struct preflight_line *preflight_add(struct preflight *p, const char *what);
void preflight_fail(struct preflight *p, struct preflight_line *line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
