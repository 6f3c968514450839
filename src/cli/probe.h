/* SPDX-License-Identifier: MIT
 *
 * probe.h - `check --probe`: what only the machine can tell of a configuration that reads well.
 *
 * Main thread.
 */
#ifndef WEIR_CLI_PROBE_H
#define WEIR_CLI_PROBE_H

#include "weir/cli/cli.h"

/* One thing that was tried. */
struct probe_line {
	const char *what;                      /* static: "user", "driver", "bind", "resolve", "connect" */
	char name[2 * CONFIG_NAME_MAX + 1];    /* of a bind its frontend's, of a server BACKEND/NAME */
	char address[ADDR_TEXT_MAX];
	bool failed;
	char words[320]; /* why, or how fast */
};

struct probe {
	const struct config *config; /* borrows */
	struct probe_line *lines;    /* owns */
	size_t count;
	size_t failed;
	bool no_memory;
};

/* Tries to bind, to resolve and to connect, and prints a table (or JSON) on stdout. Leaves nothing
 * behind and takes nothing away. EXIT_ENVIRONMENT when anything failed. */
enum exit_code probe_run(const struct cli_args *a, const struct config *c);

/* probe_bind.c, probe_servers.c: each adds its lines. */
void probe_binds(struct probe *p);
void probe_servers(struct probe *p);
/* A fresh line, NULL without memory. Earlier lines may have moved. */
struct probe_line *probe_add(struct probe *p, const char *what);
void probe_fail(struct probe *p, struct probe_line *line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
