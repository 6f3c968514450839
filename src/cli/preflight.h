/* SPDX-License-Identifier: MIT
 *
 * preflight.h - `check --probe`: what only the machine can tell of a configuration that reads well.
 *
 * Main thread.
 */
#ifndef WEIR_CLI_PREFLIGHT_H
#define WEIR_CLI_PREFLIGHT_H

#include "weir/cli/cli.h"

/* One thing that was tried. */
struct preflight_line {
	const char *what;                      /* static: "user", "driver", "bind", "resolve", "connect" */
	char name[2 * CONFIG_NAME_MAX + 1];    /* of a bind its frontend's, of a server BACKEND/NAME */
	char address[ADDR_TEXT_MAX];
	bool failed;
	char words[320]; /* why, or how fast */
};

struct preflight {
	const struct config *config; /* borrows */
	struct preflight_line *lines; /* owns */
	size_t count;
	size_t failed;
	bool no_memory;
};

/* Tries to bind, to resolve and to connect, and prints a table (or JSON) on stdout. Leaves nothing
 * behind and takes nothing away. EXIT_ENVIRONMENT when anything failed. */
enum exit_code preflight_run(const struct cli_args *a, const struct config *c);

/* preflight_bind.c, preflight_servers.c: each adds its lines. */
void preflight_binds(struct preflight *p);
void preflight_servers(struct preflight *p);
/* preflight_line.c. A fresh line, NULL without memory. Earlier lines may have moved. */
struct preflight_line *preflight_add(struct preflight *p, const char *what);
void preflight_fail(struct preflight *p, struct preflight_line *line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
