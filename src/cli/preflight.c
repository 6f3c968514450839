/* SPDX-License-Identifier: MIT
 *
 * preflight.c - `check --probe`: tests on this machine what reading a configuration cannot show.
 *
 * Collects the lines of preflight_bind.c and preflight_servers.c, and prints them. Main thread.
 */
#include "preflight.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weir/base/json.h"
#include "weir/base/log.h"
#include "weir/host/limits.h"
#include "weir/host/privileges.h"
#include "weir/host/socket_preflight.h"
#include "weir/io/uring.h"
#include "weir/names/set_watch.h"
#include "terminal.h"

static void print_json(const struct preflight *p)
{
	struct text out;
	struct json j;

	text_init(&out);
	json_init(&j, &out, JSON_CODES);
	json_object(&j, NULL);
	json_unsigned(&j, "failed", p->failed);
	json_array(&j, "probe");
	for (size_t i = 0; i < p->count; i++) {
		const struct preflight_line *line = &p->lines[i];

		json_line(&j, 2);
		json_object(&j, NULL);
		json_string(&j, "what", line->what);
		json_string(&j, "name", line->name);
		json_string(&j, "address", line->address);
		json_bool(&j, "ok", !line->failed);
		json_string(&j, "words", line->words);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	text_add(&out, "\n", 1);
	text_print(&out, stdout);
	text_free(&out);
}

static void print_table(const struct preflight *p, bool failed_only)
{
	const bool colour = terminal_wants_colour(STDOUT_FILENO);
	int name_width = 4, address_width = 7;

	for (size_t i = 0; i < p->count; i++) {
		const int name = (int)strlen(p->lines[i].name), address = (int)strlen(p->lines[i].address);

		name_width = name > name_width ? name : name_width;
		address_width = address > address_width && address <= 40 ? address : address_width;
	}
	for (size_t i = 0; i < p->count; i++) {
		const struct preflight_line *line = &p->lines[i];
		const char *mark = line->failed ? "FAILED" : "OK";

		if (failed_only && !line->failed)
			continue;
		printf("%-8s %-*s  %-*s  %s%s%s%s%s\n", line->what, name_width, line->name, address_width,
		       line->address, colour ? (line->failed ? "\x1b[31m" : "\x1b[32m") : "", mark,
		       colour ? "\x1b[0m" : "",
		       line->words[0] == '\0' ? "" : line->failed ? "  " : "      ", line->words);
	}
}

/* Startup looks these names up before it binds. */
static void preflight_owner(struct preflight *p)
{
	const char *unknown = NULL;
	struct privileges found;
	struct preflight_line *line;

	if (privileges_find(&p->config->global, &found, &unknown) == 0)
		return;
	line = preflight_add(p, "user");
	if (line == NULL)
		return;
	(void)snprintf(line->name, sizeof(line->name), "global");
	(void)snprintf(line->address, sizeof(line->address), "%s", unknown); /* a cut name is unknown too */
	preflight_fail(p, line, "there is no such user or group on this machine");
}

/* Startup creates a socket for each kind of server before it accepts clients. */
static void preflight_options(struct preflight *p)
{
	const struct config_backend *b = NULL;
	char why[OPTION_ERROR_MAX];
	struct preflight_line *line;

	if (socket_preflight_backends(p->config, &b, why, sizeof(why)) == 0)
		return;
	line = preflight_add(p, "options");
	if (line == NULL)
		return;
	(void)snprintf(line->name, sizeof(line->name), "%s", b->name); /* always fits */
	preflight_fail(p, line, "%s", why);
}

/* Startup creates a ring per worker and fails without them. Here they are created as the current user, who
 * may be root. */
static void preflight_driver(struct preflight *p)
{
	const unsigned workers = limits_count_workers(&p->config->global);
	char why[URING_WHY_MAX];
	struct preflight_line *line;

	if (p->config->global.driver != CONFIG_DRIVER_IO_URING)
		return;
	line = preflight_add(p, "driver");
	if (line == NULL)
		return;
	(void)snprintf(line->name, sizeof(line->name), "global"); /* fits */
	(void)snprintf(line->address, sizeof(line->address), "io_uring"); /* fits */
	limits_raise_locked(); /* as startup does */
	if (uring_rehearse(workers, why, sizeof(why)) != 0)
		preflight_fail(p, line, "%u worker%s: %s", workers, workers == 1 ? "" : "s", why);
}

static void preflight_resolver(struct preflight *p)
{
	struct preflight_line *line;
	char why[LOG_RECORD_MAX];

	if (set_watches_validate(p->config, why, sizeof(why)) == 0)
		return;
	line = preflight_add(p, "resolver");
	if (line == NULL)
		return;
	(void)snprintf(line->name, sizeof(line->name), "global"); /* fits */
	preflight_fail(p, line, "%s", why);
}

/* A program may do anything; nobody has asked for that. */
static void preflight_programs(struct preflight *p)
{
	for (size_t i = 0; i < p->config->backend_count; i++) {
		const struct config_backend *b = &p->config->backends[i];
		struct preflight_line *line;

		if (b->check.kind != CONFIG_CHECK_EXEC)
			continue;
		line = preflight_add(p, "program");
		if (line == NULL)
			return;
		(void)snprintf(line->name, sizeof(line->name), "%s", b->name); /* fits */
		(void)snprintf(line->address, sizeof(line->address), "%s", b->check.program); /* may be cut */
		(void)snprintf(line->words, sizeof(line->words), "not run: only a daemon runs it"); /* fits */
	}
}

enum exit_code preflight_run(const struct cli_args *a, const struct config *c)
{
	struct preflight p = {.config = c};

	(void)limits_raise_fds(); /* all servers are tried at once, which may exceed a lower limit */
	preflight_owner(&p);
	preflight_driver(&p);
	preflight_resolver(&p);
	preflight_binds(&p);
	preflight_options(&p);
	preflight_servers(&p);
	preflight_programs(&p);
	if (p.no_memory)
		fputs("weir: no memory for all the probes\n", stderr);
	if (a->json)
		print_json(&p);
	else
		print_table(&p, a->quiet);
	free(p.lines);
	return p.failed > 0 || p.no_memory ? EXIT_ENVIRONMENT : EXIT_FINE;
}
